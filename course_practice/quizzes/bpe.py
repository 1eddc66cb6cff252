"""Questions of chapter 12, byte-pair encoding."""

from course_lib.bpe import apply_merges, merge, pair_counts, train_bpe, word_symbols

CLASSIC = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
WORDS = {word_symbols(word): frequency for word, frequency in CLASSIC.items()}
RANKED = [("b", "c</w>"), ("a", "b")]


def _cut(symbols):
    return " | ".join(symbols)


def _saved():
    before = sum(len(symbols) * n for symbols, n in WORDS.items())
    after = sum(len(merge(symbols, ("e", "s"))) * n for symbols, n in WORDS.items())
    return before - after
