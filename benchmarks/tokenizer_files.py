"""Tokenizers in other libraries' form: the JSON file of `tokenizers`, the arguments of `tiktoken.Encoding`.

The benchmark of subwords loads a file of ours in `tokenizers`, and the tests compare ids with both libraries. Neither
is needed here. An exported file gives the same ids; an imported one is refused if `BPE` or `ByteBPE` would encode
its ordinary texts differently: those with single spaces between words, and with known characters at the ends of words
where the file has no bytes.
"""

import re
from pathlib import Path

from course_lib.bpe import BPE, BYTES, MARK
from course_lib.bpe.byte_level import BYTE_OF, ByteBPE
from course_lib.bpe.fast import Pair
from course_lib.bpe.subwords import checked_model, read_json, write_json
from course_lib.corpus import lines_of

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
GPT2_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"  # of the `regex` library
SPACE = {"type": "Split", "pattern": {"String": " "}, "behavior": "Removed", "invert": False}


def export_tokenizers(tokenizer: BPE | ByteBPE, path: str | Path) -> None:
    """Write a file for `tokenizers.Tokenizer.from_file`.

    It encodes to the same ids: a `ByteBPE` every text (of letters that this Python knows as such, for the two libraries
    have Unicode tables of their own), a `BPE` those with single spaces between words, and with known
    characters at the ends of words (for others, that library writes the mark in bytes too). Special tokens are in the
    vocabulary, but their names in a text stay plain text.
    """
    byte_level = isinstance(tokenizer, ByteBPE)
    for token in [*tokenizer.vocab, *tokenizer.specials]:
        if re.search("[\ud800-\udfff]", token):
            raise ValueError(
                f"expected tokens of whole characters, got {token!r}, half of one: `tokenizers` reads no such file, so "
                "train without it"
            )
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": "<unk>" if "<unk>" in tokenizer.specials else None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None if byte_level else MARK,
        "fuse_unk": False,
        "byte_fallback": not byte_level,
        "ignore_merges": False,
        "vocab": tokenizer.vocab | tokenizer.specials,
        "merges": tokenizer.merges,
    }
    fallback = {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "BPEDecoder", "suffix": MARK}]}
    data = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None}
    data |= {"pre_tokenizer": BYTE_LEVEL if byte_level else SPACE, "post_processor": None}
    write_json(path, data | {"decoder": BYTE_LEVEL if byte_level else fallback, "model": model})


def import_tokenizers(path: str | Path) -> BPE | ByteBPE:
    """Read a file of the `tokenizers` library: a byte-level BPE becomes a `ByteBPE`, one with </w> a `BPE`."""
    data = read_json(path)
    model = data.get("model")
    if not isinstance(model, dict) or model.get("type", "BPE") != "BPE":
        refuse(path, "a BPE model", type(model).__name__ if not isinstance(model, dict) else model.get("type"))
    for name in ("dropout", "continuing_subword_prefix", "fuse_unk", "ignore_merges"):
        if model.get(name):
            refuse(path, f"a model without {name!r}", model[name])
    if data.get("normalizer"):
        refuse(path, "no normalizer", data["normalizer"])
    for name in ("truncation", "padding"):
        if data.get(name):
            refuse(path, f"no {name}", data[name])
    if (data.get("post_processor") or {"type": "ByteLevel"}).get("type") != "ByteLevel":
        refuse(path, "no post-processor that adds tokens", data["post_processor"])
    kind = kind_of(data, path)
    added = data.get("added_tokens") or []
    if not isinstance(added, list) or not all(isinstance(token, dict) for token in added):
        refuse(path, "a list of added tokens", added)
    for token in added:
        if any(token.get(name) for name in ("single_word", "lstrip", "rstrip")):
            refuse(path, "added tokens that take no spaces", token)
        if token.get("special") is False:
            refuse(path, "no added tokens but special ones", token)
        if not isinstance(token.get("content"), str):
            refuse(path, "added tokens with their text as 'content'", token)
    specials = {token.get("content"): token.get("id") for token in added}
    vocab, merges, specials = checked_model(model.get("vocab"), pairs(model.get("merges")), specials)
    if kind is BPE:
        check_unknown(model, vocab, specials, path)
    return assembled(kind, vocab, merges, specials)


def import_gpt2(vocab: str | Path, merges: str | Path) -> ByteBPE:
    """Read `vocab.json` and `merges.txt` as GPT-2 came with them, and many byte-level models since."""
    first, *others = lines_of(Path(merges).read_bytes(), merges)
    lines = others if first.startswith("#version") else [first, *others]
    return assembled(ByteBPE, *checked_model(read_json(vocab), pairs(list(filter(None, lines))), {}))


def pairs(merges: object) -> object:
    """Merges that are written as "a b" as pairs; what is written otherwise as it is."""
    if not isinstance(merges, list):
        return merges
    return [merge.split(" ") if isinstance(merge, str) else merge for merge in merges]


def assembled(
    kind: type[BPE | ByteBPE], vocab: dict[str, int], merges: list[Pair], specials: dict[str, int]
) -> BPE | ByteBPE:
    """The tokenizer of a file in which ordinary and special tokens are one table."""
    made = {left + right for left, right in merges} | ordinary_tokens(kind, vocab)
    specials |= {token: i for token, i in vocab.items() if token not in made}
    return kind({token: i for token, i in vocab.items() if token not in specials}, merges, specials)


def kind_of(data: dict, path: str | Path) -> type[BPE | ByteBPE]:
    """The class that splits texts as the file's pre-tokenizer does."""
    splitter = data.get("pre_tokenizer") or {}
    suffix = data["model"].get("end_of_word_suffix")
    if not isinstance(splitter, dict):
        refuse(path, "one pre-tokenizer", splitter)
    if splitter.get("type") == "ByteLevel" and not suffix:
        if splitter.get("add_prefix_space") or not splitter.get("use_regex", True):
            refuse(path, "ByteLevel with GPT-2's pattern and no added space", splitter)
        return ByteBPE
    at_spaces = splitter.get("type") == "WhitespaceSplit" or {"invert": False, **splitter} == SPACE
    if not at_spaces or suffix != MARK:
        refuse(path, f"ByteLevel, or words split at spaces with the suffix {MARK!r}", (splitter, suffix))
    return BPE


def check_unknown(model: dict, vocab: dict[str, int], specials: dict[str, int], path: str | Path) -> None:
    """Refuse a file that treats characters without a token otherwise than `BPE`: bytes where there are, else <unk>."""
    bytes_there = sum(byte in vocab for byte in BYTES)
    if bytes_there not in (0, 256) or (bytes_there and not model.get("byte_fallback")):
        refuse(path, "all 256 byte tokens and byte_fallback, or no bytes", f"{bytes_there} byte tokens")
    if not bytes_there and "<unk>" in vocab | specials and model.get("unk_token") != "<unk>":
        refuse(path, "unk_token '<unk>'", model.get("unk_token"))


def ordinary_tokens(kind: type[BPE | ByteBPE], vocab: dict[str, int]) -> set[str]:
    """Tokens that text may start from before any merge; what is neither these nor merged is a special token."""
    if kind is ByteBPE:
        return set(BYTE_OF)
    single = {token for token in vocab if len(token.removesuffix(MARK)) <= 1}
    return single | (set(BYTES) if set(BYTES) <= vocab.keys() else set())


def refuse(path: str | Path, expected: str, got: object) -> None:
    """Say what the file would have to have, what it has, and what to do."""
    raise ValueError(
        f"expected {expected} in {path}, got {str(got)[:90]}: course_lib would encode otherwise, "
        "so use the `tokenizers` library for this file"
    )


def tiktoken_arguments(tokenizer: ByteBPE, name: str = "course_lib") -> dict:
    """Keyword arguments for `tiktoken.Encoding`, which then encodes to the same ids.

    That library joins any two pieces that spell a token, whichever merge made it, in the order of the ids: the same as
    here for what `ByteBPE.train` learned, if no two merges spell the same token.
    """
    if not isinstance(tokenizer, ByteBPE):
        raise TypeError(f"expected a ByteBPE, got a {type(tokenizer).__name__}: tiktoken knows bytes alone")
    ranks = {tokenizer.token_bytes(token): i for token, i in tokenizer.vocab.items()}
    return {
        "name": name,
        "pat_str": GPT2_PATTERN,
        "mergeable_ranks": ranks,
        "special_tokens": dict(tokenizer.specials),
    }
