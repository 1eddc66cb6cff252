"""Byte-pair encoding: words from pieces.

First the plain forms, which say what BPE is: `pair_counts`, `merge`, `train_bpe`, `apply_merges`. Then `BPE`, a
tokenizer that gives the same merges and ids faster, loses no character, and decodes to exactly what it encoded.
Source: Sennrich, Haddow and Birch 2016, "Neural Machine Translation of Rare Words with Subword Units".
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain, pairwise

from course_lib.bpe.fast import Pair
from course_lib.bpe.subwords import Subwords

MARK = "</w>"  # end of word: part of a word's last symbol, so that "est" inside a word and at its end are two tokens
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))

Symbols = tuple[str, ...]


def word_symbols(word: str) -> Symbols:
    """The characters of a word, the last one with the end-of-word mark.

    >>> word_symbols("low")
    ('l', 'o', 'w</w>')
    """
    return (*word[:-1], word[-1:] + MARK)


def pair_counts(words: dict[Symbols, int]) -> Counter[Pair]:
    """How often each pair of neighbors occurs, overlapping pairs too.

    `words` maps the symbols of each word to its frequency.

    >>> counts = pair_counts({("l", "o", "w</w>"): 5, ("l", "o", "g</w>"): 2})
    >>> counts["l", "o"]
    7
    """
    counts: Counter[Pair] = Counter()
    for symbols, frequency in words.items():
        for pair in pairwise(symbols):
            counts[pair] += frequency
    return counts


def merge(symbols: Symbols, pair: Pair) -> Symbols:
    """Join every occurrence of `pair`, from left to right.

    >>> merge(("n", "e", "w", "e", "s", "t</w>"), ("e", "s"))
    ('n', 'e', 'w', 'es', 't</w>')
    """
    merged, i = [], 0
    while i < len(symbols):
        width = 2 if symbols[i : i + 2] == pair else 1
        merged.append("".join(symbols[i : i + width]))
        i += width
    return tuple(merged)


def train_bpe(frequencies: dict[str, int], n_merges: int) -> list[Pair]:
    """Merge the commonest pair, `n_merges` times; returns the merges in order.

    Of equally common pairs, the one whose symbols are older comes first:
    letters in alphabetical order, letters at the end of a word after those,
    then what earlier merges made. The first symbol decides, then the second.

    >>> train_bpe({"low": 5, "lower": 2, "newest": 6, "widest": 3}, 3)
    [('e', 's'), ('es', 't</w>'), ('l', 'o')]
    """
    words = {word_symbols(word): frequency for word, frequency in frequencies.items()}
    alphabet = {symbol for symbols in words for symbol in symbols}
    age = {symbol: i for i, symbol in enumerate(sorted(alphabet, key=lambda s: (s.endswith(MARK), s)))}
    merges: list[Pair] = []
    while len(merges) < n_merges and (counts := pair_counts(words)):
        best = min(counts, key=lambda pair: (-counts[pair], age[pair[0]], age[pair[1]]))
        merges.append(best)
        age.setdefault("".join(best), len(age))
        words = {merge(symbols, best): frequency for symbols, frequency in words.items()}
    return merges


def apply_merges(word: str, merges: Sequence[Pair]) -> Symbols:
    """Encode a word: join the pair of lowest rank, again and again.

    A merge's rank is its place in the list. Of equal pairs, the left one
    comes first. This also holds for lists that no training would give.

    >>> apply_merges("lowest", [("e", "s"), ("es", "t</w>"), ("l", "o")])
    ('lo', 'w', 'est</w>')
    """
    ranks = {pair: rank for rank, pair in reversed([*enumerate(merges)])}
    symbols = word_symbols(word)
    while True:
        pairs = enumerate(pairwise(symbols))
        found = [(ranks[pair], i) for i, pair in pairs if pair in ranks]
        if not found:
            return symbols
        _rank, i = min(found)
        joined = symbols[i] + symbols[i + 1]
        symbols = (*symbols[:i], joined, *symbols[i + 2 :])


class BPE(Subwords):
    """A tokenizer with an end-of-word mark: words are what stands between single spaces.

    `vocab` maps tokens to ids, `merges` are pairs of tokens in the order of their rank, `specials` are ids that text
    never has: "<bos>" in a text is five characters, unless `special=True` asks for the id. Characters that training did
    not see become their UTF-8 bytes ("<0xC3>"), so every string comes back exactly, spaces and line feeds too. The
    first character of the mark is always spelled by its byte: no text can imitate a mark, a byte or a special token.

    >>> tokenizer = BPE.train(["low low lower newest newest widest"], n_merges=6)
    >>> tokenizer.tokens(tokenizer.encode("low west"))
    ['low</w>', 'w', 'est</w>']
    >>> tokenizer.decode(tokenizer.encode("Été:  <bos>"))
    'Été:  <bos>'
    """

    kind = "characters"

    @staticmethod
    def split(text: str) -> list[str]:
        return text.split(" ") if text else []

    @staticmethod
    def base_tokens(words: Iterable[str]) -> list[str]:
        """256 bytes, the mark alone, the characters of `words`, and those at the end of a word with the mark."""
        characters = sorted(set(chain.from_iterable(words)) - {MARK[0]})
        ends = sorted({word[-1] for word in words if word} - {MARK[0]})
        return [*BYTES, MARK, *characters, *(character + MARK for character in ends)]

    def spell(self, word: str) -> str:
        vocab = self.vocab
        last = word[-1:] + MARK
        symbols = []
        for token in [*word[:-1], last] if last in vocab else [*word, MARK]:
            if token in vocab:
                symbols.append(vocab[token])
            elif BYTES[0] in vocab:
                symbols += [vocab[BYTES[byte]] for byte in token.encode("utf-8", "surrogatepass")]
            elif token != MARK:
                symbols.append(self.specials["<unk>"])
        return "".join(map(chr, symbols))

    def unmet(self, text: str) -> list[str]:
        """The characters that have no token where they are, inside of a word or at its end: bytes spell them.

        The first character of the mark counts as met, for it never has a token.

        >>> BPE.train(["low lower"], n_merges=2).unmet("lol wow!")
        ['l', '!']
        """
        found = []
        for word in filter(None, self.split(text)):
            found += [letter for letter in word[:-1] if letter not in self.vocab]
            found += [word[-1]] * (word[-1] + MARK not in self.vocab)
        return [letter for letter in found if letter != MARK[0]]

    def mergeable(self, word: str) -> list[str]:
        symbols = self.spell(word)
        if MARK[0] not in word:
            return [symbols]
        first, last = (re.escape(chr(self.vocab[BYTES[i]])) for i in (0, -1))
        return re.split(f"[{first}-{last}]", symbols)

    def token_bytes(self, token: str) -> bytes:
        if token in BYTES:
            return bytes([BYTES.index(token)])
        text = token.removesuffix(MARK) + " " if token.endswith(MARK) else token
        return text.encode("utf-8", "surrogatepass")

    def join(self, ids: Sequence[int]) -> bytes:
        """Bytes of the ids; the space of a last word's mark is not part of the text."""
        data = super().join(ids)
        return data[:-1] if ids and self.token_of[ids[-1]].endswith(MARK) else data

    def check(self) -> None:
        super().check()
        if not set(BYTES) <= self.vocab.keys() and "<unk>" not in self.specials:
            raise ValueError(
                "expected 256 byte tokens '<0x00>' … '<0xFF>' or a special token '<unk>', got neither: "
                "unknown characters would be lost, so add one of the two"
            )
        for left, right in self.merges:
            if left.endswith(MARK) or (left + right).endswith(MARK) != right.endswith(MARK):
                raise ValueError(
                    f"expected merges that keep {MARK!r} at the end of a word, got {left!r} + {right!r}: "
                    "train on words without the mark"
                )

    def word_index(self, ids: Sequence[int]) -> list[int]:
        """For every id, the number of its word: the position in `text.split(" ")`.

        >>> tokenizer = BPE.train(["low lower"], n_merges=2)
        >>> tokenizer.word_index(tokenizer.encode("lower low"))
        [0, 0, 0, 1, 1]
        """
        return list(accumulate((token.endswith(MARK) for token in self.tokens(ids)), initial=0))[:-1]
