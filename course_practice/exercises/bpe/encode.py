from itertools import pairwise

from course_lib.bpe import apply_merges, merge, train_bpe, word_symbols
from course_practice.engine import Exercise, case
from course_practice.exercises.bpe._forms import CLASSIC, as_line


def one_pass_in_order(word, merges):
    symbols = word_symbols(word)
    for pair in merges:
        symbols = merge(symbols, pair)
    return symbols


def best_pair_everywhere(word, merges):
    symbols, rank = word_symbols(word), {pair: i for i, pair in enumerate(merges)}
    while pairs := [pair for pair in pairwise(symbols) if pair in rank]:
        symbols = merge(symbols, min(pairs, key=rank.get))
    return list(symbols)


# Learned from words in which b c is commoner than a b.
BORDERS = (("b", "c"), ("a", "b"), ("ab", "c</w>"), ("bc", "d</w>"))


def _cases():
    thirteen = train_bpe(CLASSIC, 13)
    return [
        case("lowest", thirteen[:5], about="a word never seen, five merges"),
        case("lowest", [], about="no merges"),
        case("low", thirteen, about="a word of the corpus"),
        case("w", thirteen, about="a word of one letter"),
        case("lowest", thirteen, about="all thirteen merges"),
        case("newer", thirteen, about="another word never seen"),
        case("lolow", thirteen, about="a pair twice in a word"),
        case("esest", thirteen, about="a pair inside the word and at its end"),
        case("abcd", list(BORDERS), about="two merges that want the same letter"),
        case("abc", list(BORDERS), about="three letters, the last with its mark"),
        case("abcx", [("b", "c"), ("a", "b"), ("a", "bc")], about="a long token made of a late pair"),
        case("abcabcd", list(BORDERS), about="both in one word"),
        case("abc", [("a", "b"), ("b", "c</w>")], about="two merges that want the letter in the middle"),
        case("cbax", [("b", "a"), ("c", "b")], about="the right one of two was learned first"),
        case("abcde", [("a", "b"), ("ab", "c"), ("c", "d")], about="a long merge learned before a short one"),
    ]


EXERCISE = Exercise(
    reference=apply_merges, call=as_line, cases=_cases, alternatives=(one_pass_in_order, best_pair_everywhere)
)
