"""What every byte-pair tokenizer has in common: training, encoding by rank, decoding, files.

`bpe.BPE` and `byte_level.ByteBPE` differ in how they split a text into words, and a word into its first symbols.
"""

import gc
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from operator import index
from pathlib import Path
from typing import SupportsIndex, TypeVar

from course_lib.bpe.fast import Pair, WordCache, learn_merges
from course_lib.files import read_file, sha256, written_whole
from course_lib.sizes import check_whole
from course_lib.tokens import BOS, EOS, PAD, UNK

SPECIALS = {"<pad>": PAD, "<bos>": BOS, "<eos>": EOS, "<unk>": UNK}
FORMAT = "course_lib.bpe 1"
LARGEST_ID = 0x10FFFF  # an id is also a code point in `bpe.fast`

Self = TypeVar("Self", bound="Subwords")


class Subwords:
    """A trained tokenizer: `vocab` (token to id), `merges` (pairs of tokens by rank), `specials` (name to id)."""

    kind: str

    def __init__(self, vocab: dict[str, int], merges: Sequence[Pair], specials: dict[str, int] = SPECIALS):
        self.vocab, self.merges, self.specials = checked_model(vocab, merges, specials)
        self.check()
        self.token_of = {i: token for token, i in [*self.vocab.items(), *self.specials.items()]}
        self.bytes_of = {i: self.token_bytes(token) for token, i in self.vocab.items()}
        symbol = {token: chr(i) for token, i in self.vocab.items()}
        pairs = [symbol[left] + symbol[right] for left, right in self.merges]
        ranks = {pair: rank for rank, pair in reversed([*enumerate(pairs)])}
        self.ids_of = WordCache(self.spell, ranks, [symbol[left + right] for left, right in self.merges])

    # --- what a kind of tokenizer decides

    @staticmethod
    def split(text: str) -> list[str]:
        """The words of a text. Each is encoded by itself: no merge crosses their borders."""
        raise NotImplementedError

    @staticmethod
    def base_tokens(words: Iterable[str]) -> list[str]:
        """The tokens before any merge, in the order of their ids."""
        raise NotImplementedError

    def spell(self, word: str) -> str:
        """The word before any merge, as a string of symbols: one character each, its code point the token's id."""
        raise NotImplementedError

    def mergeable(self, word: str) -> list[str]:
        """The parts of a spelled word in which training looks for pairs."""
        return [self.spell(word)]

    def unmet(self, text: str) -> list[str]:
        """The characters of a text that training never had where they are; none, if the kind cannot know it."""
        return []

    def token_bytes(self, token: str) -> bytes:
        """The UTF-8 bytes (of a piece) of a text that the token stands for."""
        raise NotImplementedError

    def join(self, ids: Sequence[int]) -> bytes:
        """The bytes of a text from its ids, without special ones."""
        return b"".join(map(self.bytes_of.__getitem__, ids))

    @classmethod
    def train(cls: type[Self], texts: Iterable[str], n_merges: int, specials: dict[str, int] = SPECIALS) -> Self:
        """Learn `n_merges` merges, fewer if no pair is left. Ids: specials, base tokens, merges; ties by the ids."""
        check_whole(0, n_merges=n_merges)
        words = Counter(chain.from_iterable(map(cls.split, several(texts))))
        first = 1 + max(specials.values(), default=-1)
        vocab = {token: i for i, token in enumerate(cls.base_tokens(words), start=first)}
        mergeable = cls(vocab, [], specials).mergeable
        parts: Counter[str] = Counter()
        for word, frequency in words.items():
            for part in mergeable(word):
                parts[part] += frequency
        return cls(vocab, learn_merges(parts, vocab, n_merges, set(specials)), specials)

    @property
    def vocab_size(self) -> int:
        """One more than the largest id: the number of rows of an embedding."""
        return 1 + max(self.token_of)

    def encode(self, text: str, special: bool = False) -> list[int]:
        """The ids of a text. With `special`, the names of special tokens in it become their ids, else plain text."""
        (text,) = several([text])
        if special and self.specials:
            names = "|".join(map(re.escape, sorted(self.specials, key=len, reverse=True)))
            parts = re.split(f"({names})", text)
            found = ([self.specials[part]] if part in self.specials else self.encode(part) for part in parts)
            return list(chain.from_iterable(found))
        return list(chain.from_iterable(map(self.ids_of.__getitem__, self.split(text))))

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """The ids of many texts. The garbage collector rests meanwhile: it would look through millions of numbers."""
        collecting = gc.isenabled()
        gc.disable()
        try:
            split, ids_of, flatten = self.split, self.ids_of.__getitem__, chain.from_iterable
            return [list(flatten(map(ids_of, split(text)))) for text in several(texts)]
        finally:
            if collecting:
                gc.enable()

    def decode(self, ids: Iterable[SupportsIndex], special: bool = False) -> str:
        """The text of the ids: exactly the one that was encoded. Special ids are left out, unless `special`.

        Ids that no text has (a model may write them) can end in the middle of a character: it becomes U+FFFD.
        """
        text = ""
        for of_text, run in groupby(self.known(ids), self.bytes_of.__contains__):
            ids_of_run = list(run)
            text += to_text(self.join(ids_of_run)) if of_text else "".join(self.tokens(ids_of_run)) * special
        return text

    def tokens(self, ids: Iterable[SupportsIndex]) -> list[str]:
        """The tokens of the ids, as they stand in the vocabulary."""
        return [self.token_of[i] for i in self.known(ids)]

    def known(self, ids: Iterable[SupportsIndex]) -> list[int]:
        """The ids as numbers; ids of another tokenizer, and what are no ids, are refused."""
        try:
            numbers = list(map(index, ids))
        except TypeError:
            raise TypeError(f"expected a list of ids, got {str(ids)[:60]}: give one text's ids at a time") from None
        if strange := set(numbers) - self.token_of.keys():
            wanted = f"expected ids from 0 to {self.vocab_size - 1}"
            raise ValueError(f"{wanted}, got {min(strange)}: is this another tokenizer?")
        return numbers

    def save(self, path: str | Path) -> None:
        """Write the tokenizer as JSON: whole or not at all."""
        data = {"format": FORMAT, "kind": self.kind, "specials": self.specials, "vocab": self.vocab}
        write_json(path, data | {"merges": self.merges})

    @classmethod
    def load(cls: type[Self], path: str | Path) -> Self:
        """Read what `save` wrote."""
        data = read_json(path)
        if data.get("format") != FORMAT or data.get("kind") != cls.kind:
            raise ValueError(
                f"expected {FORMAT!r} of kind {cls.kind!r} in {path}, got {data.get('format')!r} of kind "
                f"{data.get('kind')!r}: use the class that saved it"
            )
        return cls(*checked_model(data.get("vocab"), data.get("merges"), data.get("specials")))

    def check_course_ids(self) -> None:
        """Refuse a vocabulary in which a word has an id that batches, losses and searches give to PAD, BOS or EOS."""
        if words := {i: self.token_of[i] for i in (PAD, BOS, EOS) if i in self.bytes_of}:
            raise ValueError(
                f"expected no words with the ids {PAD}, {BOS}, and {EOS} of <pad>, <bos>, and <eos>, got {words}: "
                "train the vocabulary with the specials that are the default"
            )

    @property
    def checksum(self) -> str:
        """Another one for every tokenizer that encodes otherwise: by it a model knows the one of its training."""
        parts = [self.kind, sorted(self.specials.items()), sorted(self.vocab.items()), self.merges]
        return sha256(json.dumps(parts).encode())

    def check(self) -> None:
        """Refuse a vocabulary that cannot work."""
        every_id = [*self.vocab.values(), *self.specials.values()]
        if not every_id or len(set(every_id)) != len(every_id) or min(every_id) < 0 or max(every_id) > LARGEST_ID:
            raise ValueError(
                f"expected different ids from 0 to {LARGEST_ID}, got {len(every_id)} ids, {len(set(every_id))} of them "
                "different: give every token its own id"
            )
        if twice := sorted(self.vocab.keys() & self.specials.keys()):
            raise ValueError(
                f"expected special tokens with names of their own, got {twice[0]!r}, a token of the vocabulary too: "
                "choose another name"
            )
        for left, right in self.merges:
            if missing := [token for token in (left, right, left + right) if token not in self.vocab]:
                raise ValueError(
                    f"expected both parts and the result of every merge in the vocabulary, got {left!r} + {right!r} "
                    f"without {missing[0]!r}: the file is not complete"
                )


def several(texts: Iterable[str]) -> Iterator[str]:
    """The texts one by one: one text alone, whose letters would be taken for texts, and what is no text are refused."""
    if isinstance(texts, str) or not hasattr(texts, "__iter__"):
        got = "one text" if isinstance(texts, str) else repr(texts)
        raise TypeError(f"expected a list of texts, got {got}: write [text]")
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"expected texts, got {text!r} among them: leave it out, or write ''")
        yield text


def to_text(data: bytes) -> str:
    """UTF-8 with lone surrogates, which Python strings may hold; broken characters become U+FFFD."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def write_json(path: str | Path, data: dict | list, indent: int | None = 0) -> None:
    """Write data as JSON, whole or not at all."""
    with written_whole(path) as file:
        file.write((json.dumps(data, indent=indent) + "\n").encode("ascii"))


def read_json(path: str | Path) -> dict:
    """The object that a JSON file holds."""
    content = read_file(path)
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"expected JSON in {path}, got {error}: the file is broken, write it anew") from None
    if not isinstance(data, dict):
        raise ValueError(f"expected an object in {path}, got {type(data).__name__}: this is another file")
    return data


def checked_model(vocab: object, merges: object, specials: object) -> tuple[dict[str, int], list[Pair], dict[str, int]]:
    """Copies of the three parts of a model, which a file may hold, if they have the right types."""
    for name, table in (("vocab", vocab), ("specials", specials)):
        if not isinstance(table, dict) or not all(type(i) is int for i in table.values()):
            raise ValueError(f"expected ids by token in {name!r}, got {str(table)[:60]}: is the file broken?")
    if not isinstance(merges, list | tuple) or not all(isinstance(merge, list | tuple) for merge in merges):
        raise ValueError(f"expected a list of merges, got {str(merges)[:60]}: is the file broken?")
    if not all(len(merge) == 2 and all(isinstance(token, str) for token in merge) for merge in merges):
        raise ValueError("expected two tokens in every merge, got another number or type: is the file broken?")
    return dict(vocab), list(map(tuple, merges)), dict(specials)
