"""Exercise: count the pairs."""

from collections import Counter
from itertools import combinations, pairwise

from course_lib.bpe import pair_counts, word_symbols
from course_practice.engine import Convention, Exercise, Mistake, case
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


def as_a_sum_of_counters(words):
    def of_one(symbols, frequency):
        once = Counter(pairwise(symbols))
        return Counter({pair: n * frequency for pair, n in once.items()})

    return sum((of_one(*item) for item in words.items()), Counter())


def with_repeated_elements(words):
    return Counter(pair for symbols, n in words.items() for pair in pairwise(symbols) for _ in range(n))


def _count(pairs, weigh=lambda frequency: frequency):
    """Count other pairs, or weigh them otherwise."""

    def count(words):
        counts = Counter()
        for symbols, frequency in words.items():
            for pair in pairs(symbols):
                counts[pair] += weigh(frequency)
        return counts

    return count


def _without_overlap(symbols):
    pairs, i = [], 0
    while i < len(symbols) - 1:
        pairs.append(symbols[i : i + 2])
        i += 2 if i + 2 < len(symbols) and symbols[i : i + 2] == symbols[i + 1 : i + 3] else 1
    return pairs


def _overwritten(words):
    return {pair: frequency for symbols, frequency in words.items() for pair in pairwise(symbols)}


def _begins_with_its_frequency(words):
    counts = {}
    for symbols, frequency in words.items():
        for pair in pairwise(symbols):
            counts[pair] = counts.get(pair, frequency) + frequency
    return counts


def _across_words(words):
    counts, row = pair_counts(words), list(words.items())
    for (one, frequency), (other, _other_frequency) in pairwise(row):
        counts[one[-1], other[0]] += frequency
    return counts


def _keys_joined(words):
    counts = Counter()
    for pair, n in pair_counts(words).items():
        counts["".join(pair)] += n
    return counts


def _words(frequencies):
    return {word_symbols(word): frequency for word, frequency in frequencies.items()}


EXERCISE = Exercise(
    title="Count the pairs",
    task="`words` maps the symbols of a word to its frequency. Return a dictionary: how often each pair of neighbors "
    "occurs in the corpus. Pairs that overlap count, too: (a, a, a) has two pairs (a, a).",
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
    mistakes=(
        Mistake(
            "frequency-forgotten",
            _count(pairwise, lambda frequency: 1),
            "You count each word once, however often it occurs. A word of frequency 5 brings each of its pairs 5 "
            "times.",
        ),
        Mistake(
            "once-a-word",
            _count(lambda symbols: set(pairwise(symbols))),
            "A pair that stands twice in a word is counted once. In b a n a n a, (a, n) occurs twice.",
        ),
        Convention(
            "without-overlap",
            _count(_without_overlap),
            "Valid where overlapping pairs count once. Here, as in the original algorithm, they all count: "
            "(a, a, a) has two pairs (a, a).",
        ),
        Mistake(
            "letters-of-the-word",
            _count(lambda symbols: pairwise("".join(symbols))),
            "These are pairs of characters. The symbols are what earlier merges made, and the mark belongs to the "
            "last of them: do not join the word again.",
        ),
        Mistake(
            "across-words",
            _across_words,
            "You also count the last symbol of one word with the first of the next. No pair crosses the border of a "
            "word.",
        ),
        Mistake(
            "any-two",
            _count(lambda symbols: combinations(symbols, 2)),
            "You count any two symbols of a word. Only neighbors can be merged.",
        ),
        Mistake(
            "last-pair-missing",
            _count(lambda symbols: list(pairwise(symbols))[:-1]),
            "The last pair of each word is missing. A word of n symbols has n − 1 pairs.",
        ),
        Mistake(
            "order-ignored",
            _count(lambda symbols: [tuple(sorted(pair)) for pair in pairwise(symbols)]),
            "The pairs (e, s) and (s, e) come out as one. A merge joins its symbols in their order.",
        ),
        Mistake(
            "overwritten",
            _overwritten,
            "A pair of two words has the frequency of one of them. Add to what is there already.",
        ),
        Mistake(
            "first-one-twice",
            _begins_with_its_frequency,
            "The first occurrence of each pair counts twice. A pair that is new begins at 0, and then `frequency` is "
            "added.",
        ),
        Mistake(
            "single-symbols",
            _count(lambda symbols: symbols),
            "You count single symbols. Which two stand side by side?",
        ),
        Mistake(
            "keys-joined",
            _keys_joined,
            "Your keys are joined strings. Keep the two symbols apart, as a tuple: later, (a, bc) and (ab, c) are "
            "different merges of the same letters.",
        ),
        Mistake(
            "last-word-alone",
            lambda words: pair_counts(dict(list(words.items())[-1:])),
            "Only the pairs of the last word are there. Does the dictionary begin anew with each word?",
        ),
        Mistake(
            "first-word-alone",
            lambda words: pair_counts(dict(list(words.items())[:1])),
            "Only the pairs of the first word are there. Does the `return` stand inside the loop?",
        ),
        Mistake(
            "pairs-without-overlap",
            _count(lambda symbols: zip(symbols[::2], symbols[1::2], strict=False)),
            "You cut the word into twos, so every second pair is missing. A symbol is the right neighbor of one and "
            "the left neighbor of another.",
        ),
        Mistake(
            "around-the-end",
            _count(lambda symbols: zip(symbols[-1:] + symbols[:-1], symbols, strict=True)),
            "The last symbol of a word is also paired with its first. An index of -1 is the end of the list: begin "
            "with the second symbol.",
        ),
    ),
    hints=(
        "Take one word of frequency 5: which pairs does it have, and what does each of them add to its count?",
        "The pairs of a word are (symbols[0], symbols[1]), (symbols[1], symbols[2]), …; each adds the word's "
        "frequency.",
        "`for i in range(len(symbols) - 1)`, `pair = symbols[i], symbols[i + 1]`, and "
        "`counts[pair] = counts.get(pair, 0) + frequency`.",
    ),
    alternatives=(with_plain_dict, as_a_sum_of_counters, with_repeated_elements),
    difficulty=1,
    minutes=8,
)
