from course_lib.bpe import pair_counts, word_symbols
from course_practice.engine import Exercise, case
from course_practice.exercises.bpe._forms import CLASSIC, as_counts


def pair_counts_starter(words):
    """How often each pair of neighbors occurs."""
    counts = {}
    for symbols, frequency in words.items():
        for i in range(len(symbols) - 1):
            pair = symbols[i], ...
            counts[pair] = ... + frequency
    return counts


def with_plain_dict(words):
    counts = {}
    for symbols, frequency in words.items():
        for i in range(len(symbols) - 1):
            pair = symbols[i], symbols[i + 1]
            counts[pair] = counts.get(pair, 0) + frequency
    return counts


def _words(frequencies):
    return {word_symbols(word): frequency for word, frequency in frequencies.items()}


EXERCISE = Exercise(
    reference=pair_counts,
    starter=pair_counts_starter,
    call=as_counts,
    cases=lambda: [
        case(_words({"low": 5, "log": 2}), about="two words"),
        case(_words(CLASSIC), about="low, lower, newest, and widest"),
        case({("a", "a", "a", "b</w>"): 3, ("a", "b</w>"): 2}, about="pairs that overlap"),
        case({("b", "a", "n", "a", "n", "a</w>"): 4}, about="a pair twice in a word"),
        case({("a</w>",): 7, ("b", "a</w>"): 1}, about="a word of one symbol"),
        case({("lo", "w", "est</w>"): 2, ("n", "ew", "est</w>"): 4, ("lo", "w</w>"): 3}, about="after some merges"),
        case(_words({"ses": 3, "es": 5}), about="the same two letters in both orders"),
    ],
    alternatives=(with_plain_dict,),
)
