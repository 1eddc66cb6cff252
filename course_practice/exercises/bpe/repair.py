"""Exercise: bug hunt: a trainer with four bugs."""

from collections import Counter
from functools import partial
from itertools import pairwise, product

from course_lib.bpe import merge, pair_counts, train_bpe, word_symbols
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.bpe._forms import folded, replayed


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


def from_the_library(frequencies, n_merges):
    lower = Counter()
    for word, n in frequencies.items():
        lower[word.lower()] += n
    return train_bpe(lower, n_merges)


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


def as_a_list_of_words(frequencies, n_merges):
    corpus = [(word_symbols(word.lower()), n) for word, n in frequencies.items()]
    merges = []
    while len(merges) < n_merges:
        counts = Counter()
        for symbols, n in corpus:
            for pair in pairwise(symbols):
                counts[pair] += n
        if not counts:
            return merges
        merges.append(max(counts, key=counts.get))
        corpus = [(merge(symbols, merges[-1]), n) for symbols, n in corpus]
    return merges


def _train(lower=False, counts=False, least=False, text=False, first=False, spell=str.lower):
    """The repaired listing with some of its bugs left in; of a tie, it takes the pair that came last, or first."""

    def train(frequencies, n_merges):
        spelled = [(word_symbols(spell(word)), n) for word, n in frequencies.items()]
        words = dict(spelled) if lower else folded(frequencies, spell)
        merges = []
        while len(merges) < n_merges:
            found = Counter()
            for symbols, n in words.items():
                for pair in pairwise(symbols):
                    found[pair] = n if counts else found[pair] + n
            if not found:
                break
            best = (min if least else max)(found, key=found.get)
            if not least and not first:
                best = sorted(found, key=found.get)[-1]
            merges.append(best)
            join = text if callable(text) else _as_text if text else merge
            words = {join(symbols, best): n for symbols, n in words.items()}
        return merges

    return train


def _as_text(symbols, pair):
    return tuple(" ".join(symbols).replace(" ".join(pair), "".join(pair)).split(" "))


_OPEN = {
    "lower": "two spellings of a word meet in lower case, and only one of their frequencies is kept",
    "counts": "a pair that stands in several words has the frequency of one of them",
    "least": "which of the sorted pairs is the commonest?",
    "text": "a merge joins symbols, and what stands there joins letters: try (th, e, se</w>) and the pair (e, s)",
}


def _with_shared_spaces(symbols, pair):
    text = f" {' '.join(symbols)} ".replace(f" {' '.join(pair)} ", f" {''.join(pair)} ")
    return tuple(text.strip(" ").split(" "))


def _first_occurrence(symbols, pair):
    return tuple(" ".join(symbols).replace(" ".join(pair), "".join(pair), 1).split(" "))


def _first_place(symbols, pair):
    places = [i for i, found in enumerate(pairwise(symbols)) if found == pair][:1]
    return (*symbols[: places[0]], "".join(pair), *symbols[places[0] + 2 :]) if places else symbols


def _larger_frequency(first):
    def train(frequencies, n_merges):
        words = {}
        for word, n in frequencies.items():
            words[word.lower()] = max(n, words.get(word.lower(), 0))
        return _train(first=first)(words, n_merges)

    return train


def _last_in_the_alphabet(frequencies, n_merges):
    words, merges = folded(frequencies, str.lower), []
    while len(merges) < n_merges and (counts := pair_counts(words)):
        merges.append(max(counts))
        words = {merge(symbols, merges[-1]): n for symbols, n in words.items()}
    return merges


_FIRST = " (Of a tie you take the pair that came first, which is right, too.)"


def _partial_repairs():
    found = ("Three of the four are repaired", "Two of four are repaired", "One of four is repaired")
    for left in product((False, True), repeat=4):
        names = [name for name, open_ in zip(_OPEN, left, strict=True) if open_]
        if 1 <= len(names) <= 3:
            clues = [f"({n}) {_OPEN[name]}" if len(names) > 1 else _OPEN[name] for n, name in enumerate(names, 1)]
            text = f"{found[len(names) - 1]}. Still open: {'; '.join(clues)}"
            for first in (False,) if "least" in names or names == ["text"] else (False, True):
                yield Mistake(
                    "-and-".join(f"{name}-left" for name in names) + "-first-of-a-tie" * first,
                    _train(**dict.fromkeys(names, True), first=first),
                    (text if text.endswith("?") else f"{text}.") + _FIRST * first,
                )


def _for_both_ties(name, implementation, message):
    """A mistake, with the last pair of a tie and with the first."""
    for first in (False, True):
        yield Mistake(name + "-first-of-a-tie" * first, implementation(first), message + _FIRST * first)


EXERCISE = Exercise(
    title="Bug hunt: a trainer with four bugs",
    task="Find and repair the four planted bugs. The trainer takes words and their frequencies, writes them in lower "
    "case, and returns the commonest pair of each step. Any rule for ties is right.",
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
    mistakes=(
        *_partial_repairs(),
        *_for_both_ties(
            "upper-case-kept",
            lambda first: _train(first=first, spell=str),
            "The merges are those of the words as they are written. Here The and the are one word: keep `.lower()`, "
            "and add the frequencies up.",
        ),
        *_for_both_ties(
            "spaces-shared",
            lambda first: _train(first=first, text=_with_shared_spaces),
            "Nearly: two occurrences of a pair in a row share the space between them, so the second one is not "
            "replaced, as in (p, a, p, a, y, a</w>). Compare whole symbols.",
        ),
        *_for_both_ties(
            "first-occurrence-alone",
            lambda first: _train(first=first, text=_first_occurrence),
            "Only the first occurrence in a word is joined, and what is joined may still be letters of longer symbols. "
            "A merge joins whole symbols, wherever the pair stands.",
        ),
        *_for_both_ties(
            "first-place-alone",
            lambda first: _train(first=first, text=_first_place),
            "Only the first occurrence in each word is joined. A merge joins its pair wherever it stands: in tomatoes, "
            "(t, o) stands twice.",
        ),
        *_for_both_ties(
            "the-larger-frequency",
            _larger_frequency,
            "Where two spellings of a word meet, you keep the larger frequency. Add them up.",
        ),
        Mistake(
            "last-in-the-alphabet",
            _last_in_the_alphabet,
            "You merge the pair that is last in the alphabet. The commonest one is meant: the sort needs `key`.",
        ),
    ),
    hints=(
        "Each of four lines holds one bug: the first one, the one that counts, the one that chooses, and the one that "
        "joins. Run each of them on two words by hand.",
        "What does a dictionary do when a key comes twice? Which end of a sorted list has the largest? What does "
        "`replace` know of the borders of symbols?",
        "A `Counter` with `+=` for the words and for the pairs, `[-1]`, and `merge(symbols, best)`.",
    ),
    alternatives=(with_defaults, as_a_list_of_words, from_the_library),
    difficulty=3,
    minutes=15,
)
