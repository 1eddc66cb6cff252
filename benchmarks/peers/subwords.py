"""Subword tokenizers, ours and others', behind one small form: train on a file, save, load, encode lines.

This module runs in processes of its own (`alone`), so it imports what it measures and little else.
"""

import contextlib
import hashlib
import importlib
import io
import json
import time
from pathlib import Path
from typing import Any


def lines_of(path: str) -> list[str]:
    """The lines of a text file."""
    return Path(path).read_text(encoding="utf-8").split("\n")


class Subwords:
    """A tokenizer of some library, which may use `threads` threads."""

    module: str

    def __init__(self, threads: int = 1):
        self.threads = threads
        self.library = importlib.import_module(self.module)


class CourseBytes(Subwords):
    """`ByteBPE`: words as GPT-2 has them. It gives the merges and the ids of `Tokenizers`."""

    module = "benchmarks.tokenizer_files"

    def train(self, path: str, n_merges: int) -> None:
        self.tokenizer = self.library.ByteBPE.train(lines_of(path), n_merges)

    def merges(self) -> list:
        return [list(pair) for pair in self.tokenizer.merges]

    def save(self, folder: str) -> None:
        self.library.export_tokenizers(self.tokenizer, f"{folder}/bytes.json")

    def load(self, folder: str) -> None:
        self.tokenizer = self.library.import_tokenizers(f"{folder}/bytes.json")

    def encode(self, lines: list[str]) -> list[list[int]]:
        return self.tokenizer.encode_batch(lines)


class CourseCharacters(CourseBytes):
    """`BPE`: words are what stands between spaces, with a mark at their end, as in the paper."""

    def train(self, path: str, n_merges: int) -> None:
        self.tokenizer = self.library.BPE.train(lines_of(path), n_merges)

    def save(self, folder: str) -> None:
        self.tokenizer.save(f"{folder}/characters.json")

    def load(self, folder: str) -> None:
        self.tokenizer = self.library.BPE.load(f"{folder}/characters.json")


class Tokenizers(Subwords):
    """The `tokenizers` library, written in Rust; it loads the file that `CourseBytes` saves."""

    module = "tokenizers"

    def train(self, path: str, n_merges: int) -> None:
        library = self.library
        self.tokenizer = library.Tokenizer(library.models.BPE())
        self.tokenizer.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = library.pre_tokenizers.ByteLevel.alphabet()
        size = len(alphabet) + n_merges
        trainer = library.trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
        self.tokenizer.train([path], trainer)

    def merges(self) -> list:
        return [list(pair) for pair in json.loads(self.tokenizer.to_str())["model"]["merges"]]

    def load(self, folder: str) -> None:
        self.tokenizer = self.library.Tokenizer.from_file(f"{folder}/bytes.json")

    def encode(self, lines: list[str]) -> list[list[int]]:
        return [found.ids for found in self.tokenizer.encode_batch(lines, add_special_tokens=False)]


class TokenizersNoOffsets(Tokenizers):
    """The same without the places of the tokens in the text, which its usual call keeps."""

    def encode(self, lines: list[str]) -> list[list[int]]:
        return [found.ids for found in self.tokenizer.encode_batch_fast(lines, add_special_tokens=False)]


class SentencePiece(Subwords):
    """`sentencepiece`, written in C++: BPE on whole lines, the space a character; unknown ones become bytes."""

    module = "sentencepiece"

    def train(self, path: str, n_merges: int) -> None:
        model = io.BytesIO()
        self.library.SentencePieceTrainer.train(
            input=path,
            model_writer=model,
            model_type="bpe",
            vocab_size=256 + n_merges,
            hard_vocab_limit=False,
            byte_fallback=True,
            character_coverage=1.0,
            normalization_rule_name="identity",
            max_sentence_length=100_000,
            num_threads=self.threads,
            minloglevel=2,
        )
        self.tokenizer = self.library.SentencePieceProcessor(model_proto=model.getvalue())

    def merges(self) -> list:
        return [self.tokenizer.id_to_piece(i) for i in range(256, self.tokenizer.get_piece_size())]

    def save(self, folder: str) -> None:
        Path(folder, "sentencepiece.model").write_bytes(self.tokenizer.serialized_model_proto())

    def load(self, folder: str) -> None:
        self.tokenizer = self.library.SentencePieceProcessor(model_file=f"{folder}/sentencepiece.model")

    def encode(self, lines: list[str]) -> list[list[int]]:
        return self.tokenizer.encode(lines, num_threads=self.threads)


class SubwordNMT(Subwords):
    """`subword-nmt`, the program of the paper, in Python. It learns; its encoder gives no ids."""

    module = "subword_nmt.learn_bpe"

    def train(self, path: str, n_merges: int) -> None:
        codes = io.StringIO()
        with open(path, encoding="utf-8") as text, contextlib.redirect_stderr(io.StringIO()):
            self.library.learn_bpe(text, codes, n_merges)
        self.codes = codes.getvalue().splitlines()[1:]

    def merges(self) -> list:
        return [code.split(" ") for code in self.codes]


def train(contender: str, threads: int, path: str, n_merges: int, folder: str = "") -> dict[str, Any]:
    """Learn merges from a file: the time, how many, and which. Keep the tokenizer where there is a folder."""
    tokenizer = globals()[contender](threads)
    begun = time.perf_counter()
    tokenizer.train(path, n_merges)
    taken = time.perf_counter() - begun
    if folder and hasattr(tokenizer, "save"):
        tokenizer.save(folder)
    merges = tokenizer.merges()
    return {"seconds": taken, "number": len(merges), "digest": digest(merges)}


def encode(contender: str, threads: int, path: str, folder: str) -> dict[str, Any]:
    """Encode the lines of a file with the tokenizer in `folder`: the time, how many tokens, and which."""
    tokenizer, lines = globals()[contender](threads), lines_of(path)
    tokenizer.load(folder)
    begun = time.perf_counter()
    ids = tokenizer.encode(lines)
    taken = time.perf_counter() - begun
    return {"seconds": taken, "number": sum(map(len, ids)), "digest": digest(ids)}


def digest(values: Any) -> str:
    """A short text that equal results share, whatever process made them.

    >>> digest([[1, 2], [3]]) == digest([[1, 2], [3]]), digest([[1, 2], [3]]) == digest([[1], [2, 3]])
    (True, False)
    """
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]
