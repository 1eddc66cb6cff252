"""Byte-pair encoding of bytes, as GPT-2 does it: no unknown character, no end-of-word mark, spaces begin words.

Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.2.
"""

import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from itertools import accumulate, chain
from pathlib import Path

from course_lib.bpe import BPE
from course_lib.bpe.subwords import Subwords, read_json

# GPT-2 writes each byte as one visible character: itself if it is one, else the next code point from 256 on. The order
# of the characters is the order of the ids, so byte 33 ("!") comes first.
VISIBLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
BYTE_ORDER = VISIBLE + [byte for byte in range(256) if byte not in VISIBLE]
CHARACTER_OF = {byte: chr(byte if i < len(VISIBLE) else 256 + i - len(VISIBLE)) for i, byte in enumerate(BYTE_ORDER)}
BYTE_OF = {character: byte for byte, character in CHARACTER_OF.items()}

# `\s` of GPT-2's pattern; \p{L} (letters) and \p{N} (numbers), which Python's `re` lacks too, are made below.
SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"


@cache
def word_pattern(n_characters: int) -> re.Pattern:
    """GPT-2's pattern, true for the first `n_characters` code points, by the Unicode tables of this Python.

    Letters stand first because they are the commonest; the alternatives begin with different characters, so that the
    order between them is free (except for the last two).
    """
    letters, numbers = character_sets("LN", n_characters)
    return re.compile(
        f" ?[{letters}]+|'(?:[sdmt]|ll|ve|re)| ?[{numbers}]+| ?[^{SPACES}{letters}{numbers}]+"
        f"|[{SPACES}]+(?![^{SPACES}])|[{SPACES}]+"
    )


def character_sets(categories: str, n_characters: int) -> list[str]:
    """For each general category ("L" letters, "N" numbers) its code points as ranges, for a set in a pattern.

    >>> character_sets("LN", 128)
    ['A-Za-z', '0-9']
    """
    all_of_them = "".join(map(unicodedata.category, map(chr, range(n_characters))))[::2]  # "Lu", "Nd" → "L", "N"
    runs = ([run.span() for run in re.finditer(f"{category}+", all_of_them)] for category in categories)
    return ["".join(f"{chr(start)}-{chr(stop - 1)}" for start, stop in spans) for spans in runs]


# Sets of characters beyond 16 bits are slow to search, and few texts have one: such a text gets a pattern of its own.
WIDE = re.compile("[\U00010000-\U0010ffff]")
narrow_words = word_pattern(0x10000).findall


class ByteBPE(Subwords):
    """A byte-level tokenizer with GPT-2's splitting into words: " the" is a word, "'s" is one, "123" is one.

    Tokens are written in GPT-2's alphabet: "Ġthe" is " the". Every string comes back exactly. `specials` as in `BPE`.

    >>> tokenizer = ByteBPE.train(["the cat and the hat and the bat"], n_merges=4)
    >>> tokenizer.tokens(tokenizer.encode("the rat"))
    ['the', 'Ġ', 'r', 'at']
    >>> tokenizer.decode(tokenizer.encode("한글\\n <eos>"))
    '한글\\n <eos>'
    """

    kind = "bytes"

    @staticmethod
    def split(text: str) -> list[str]:
        """
        >>> ByteBPE.split("I've 2 cats,  ok")
        ['I', "'ve", ' 2', ' cats', ',', ' ', ' ok']
        """
        if text.isascii() or not WIDE.search(text):
            return narrow_words(text)
        return word_pattern(sys.maxunicode + 1).findall(text)

    @staticmethod
    def base_tokens(words: Iterable[str]) -> list[str]:
        return [CHARACTER_OF[byte] for byte in BYTE_ORDER]

    def spell(self, word: str) -> str:
        return "".join(map(self.symbol_of_byte.__getitem__, word.encode("utf-8", "surrogatepass")))

    @cached_property
    def symbol_of_byte(self) -> list[str]:
        return [chr(self.vocab[CHARACTER_OF[byte]]) for byte in range(256)]

    def token_bytes(self, token: str) -> bytes:
        return bytes(BYTE_OF[character] for character in token)

    def check(self) -> None:
        super().check()
        self.check_bytes()
        if foreign := [token for token in self.vocab if not set(token) <= BYTE_OF.keys()]:
            raise ValueError(
                f"expected tokens in GPT-2's alphabet of bytes, got {foreign[0]!r}: make it a special token "
                "or use `BPE`"
            )

    def check_bytes(self) -> None:
        """Refuse a vocabulary that cannot write every byte."""
        if missing := BYTE_OF.keys() - self.vocab.keys():
            raise ValueError(
                f"expected a token for each of the 256 bytes, got {256 - len(missing)}: without them some text "
                "has no ids, so add them or use `BPE`"
            )

    def word_index(self, ids: Sequence[int]) -> list[int]:
        """For every id, the number of its word: how many spaces began a token so far.

        >>> tokenizer = ByteBPE.train(["a bc"], n_merges=0)
        >>> tokenizer.word_index(tokenizer.encode("bc a"))
        [0, 0, 1, 1]
        """
        space = CHARACTER_OF[ord(" ")]
        return list(accumulate((token.startswith(space) for token in self.tokens(ids)), initial=0))[1:]


class DigitBPE(ByteBPE):
    """Byte-level too, with each digit a word of its own, as in SmolLM2; rare bytes may have no token.

    A vocabulary from elsewhere may lack the bytes that its training text never had. Text with one of them is refused.

    >>> tokenizer = DigitBPE.train(["in 1999 and 1998"], n_merges=9)
    >>> tokenizer.tokens(tokenizer.encode("in 199"))
    ['in', 'Ġ', '1', '9', '9']
    """

    kind = "bytes and digits"

    @staticmethod
    def split(text: str) -> list[str]:
        """
        >>> DigitBPE.split("I've 12 cats,  ok")
        ['I', "'ve", ' ', '1', '2', ' cats', ',', ' ', ' ok']
        """
        parts = one_number().split(text)
        return list(chain.from_iterable(map(ByteBPE.split, parts)))

    def spell(self, word: str) -> str:
        symbols = [*map(self.symbol_of_byte.__getitem__, word.encode("utf-8", "surrogatepass"))]
        if "" in symbols:
            raise ValueError(
                f"expected text whose bytes all have tokens, got {word!r}, one of whose bytes this vocabulary lacks: "
                "leave the rare letter out"
            )
        return "".join(symbols)

    @cached_property
    def symbol_of_byte(self) -> list[str]:
        ids = (self.vocab.get(CHARACTER_OF[byte]) for byte in range(256))
        return ["" if i is None else chr(i) for i in ids]

    def check_bytes(self) -> None:
        """Bytes may be missing."""


@cache
def one_number() -> re.Pattern:
    """A digit, or another character that is a number by itself; as a group, so that splitting keeps it."""
    (numbers,) = character_sets("N", sys.maxunicode + 1)
    return re.compile(f"([{numbers}])")


def load_tokenizer(path: str | Path) -> BPE | ByteBPE:
    """The tokenizer of a file, of whichever kind it was when it was saved."""
    saved = read_json(path).get("kind")
    return next((kind for kind in (ByteBPE, DigitBPE) if kind.kind == saved), BPE).load(path)
