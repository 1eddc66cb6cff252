from collections import Counter
from functools import partial
from itertools import pairwise

from course_lib.bpe import merge, pair_counts, word_symbols
from course_practice.engine import Exercise, case
from course_practice.exercises.bpe._forms import replayed


def train_lower_case(frequencies, n_merges):
    """Merges of the words in lower case: The and the are one word, whose frequencies are added."""
    words = Counter()
    for word, frequency in frequencies.items():
        words[word_symbols(word.lower())] += frequency
    merges = []
    while len(merges) < n_merges:
        counts = Counter()
        for symbols, frequency in words.items():
            for pair in pairwise(symbols):
                counts[pair] += frequency
        if not counts:
            break
        best = sorted(counts, key=counts.get)[-1]
        merges.append(best)
        words = {merge(symbols, best): frequency for symbols, frequency in words.items()}
    return merges


def starter_repair(frequencies, n_merges):
    words = {word_symbols(word.lower()): n for word, n in frequencies.items()}
    merges = []
    while len(merges) < n_merges:
        counts = Counter()
        for symbols, n in words.items():
            for pair in pairwise(symbols):
                counts[pair] = n
        if not counts:
            break
        best = sorted(counts, key=counts.get)[0]
        merges.append(best)
        old, new = " ".join(best), "".join(best)
        words = {tuple(" ".join(symbols).replace(old, new).split(" ")): n for symbols, n in words.items()}
    return merges


def with_defaults(frequencies, n_merges):
    words = {}
    for word, n in frequencies.items():
        key = word_symbols(word.lower())
        words[key] = words.get(key, 0) + n
    merges = []
    for _step in range(n_merges):
        top = pair_counts(words).most_common(1)
        if not top:
            break
        merges.append(top[0][0])
        words = {merge(symbols, top[0][0]): n for symbols, n in words.items()}
    return merges


EXERCISE = Exercise(
    reference=train_lower_case,
    starter=starter_repair,
    call=partial(replayed, spell=str.lower),
    cases=lambda: [
        case({"low": 5, "lower": 2}, 1, about="two words, one merge"),
        case({"The": 5, "these": 17, "rest": 13, "the": 13}, 3, about="The and the"),
        case({"choose": 9, "sea": 17, "set": 8, "these": 12}, 2, about="four words, two merges"),
        case({"choose": 2, "sea": 20, "tea": 3, "the": 5, "geese": 7}, 3, about="five words, three merges"),
        case({"geese": 9, "set": 13, "less": 14, "mess": 15, "eat": 2, "seat": 5}, 4, about="six words, four merges"),
        case({"THE": 9, "the": 1, "ten": 5, "tan": 2}, 1, about="THE and the"),
        case({"ab": 1}, 9, about="fewer pairs than merges wanted"),
        case({"papaya": 9, "gap": 2}, 3, about="a pair twice in a row"),
        case({"tomatoes": 5, "toes": 4}, 3, about="a pair at two places of a word"),
    ],
    alternatives=(with_defaults,),
)
