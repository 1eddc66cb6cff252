"""Exercise: count the matches."""

from collections import Counter

from course_lib.bleu import modified_precision, ngrams
from course_practice.engine import Exercise, Mistake, case


def gram_by_gram(hypothesis, references, n):
    matched = 0
    for gram, count in ngrams(hypothesis, n).items():
        matched += min(count, max(ngrams(reference, n)[gram] for reference in references))
    return matched, max(len(hypothesis) - n + 1, 0)


def crossed_out(hypothesis, references, n):
    left = Counter()
    for reference in references:
        left |= ngrams(reference, n)
    matched, everything = 0, [tuple(hypothesis[i : i + n]) for i in range(len(hypothesis) - n + 1)]
    for gram in everything:
        if left[gram]:
            left[gram] -= 1
            matched += 1
    return matched, len(everything)


def what_is_too_much(hypothesis, references, n):
    counts = ngrams(hypothesis, n)
    too_much = counts.copy()
    for reference in references:
        too_much &= counts - ngrams(reference, n)
    return counts.total() - too_much.total(), counts.total()


def _over_all(counted, hypothesis, n):
    return counted, ngrams(hypothesis, n).total()


def _largest(references, n):
    most = Counter()
    for reference in references:
        most |= ngrams(reference, n)
    return most


def _not_clipped(hypothesis, references, n):
    most = _largest(references, n)
    return _over_all(sum(count for gram, count in ngrams(hypothesis, n).items() if gram in most), hypothesis, n)


def _clipped_by(combine):
    """Clip by another combination of the references' counts."""

    def count(hypothesis, references, n):
        most = combine([ngrams(reference, n) for reference in references])
        return _over_all((ngrams(hypothesis, n) & most).total(), hypothesis, n)

    return count


def _least(counters):
    least = counters[0]
    for other in counters[1:]:
        least = least & other
    return least


def _best_alone(hypothesis, references, n):
    return max((modified_precision(hypothesis, [reference], n) for reference in references), key=lambda found: found[0])


def _recall(hypothesis, references, n):
    matched, _total = modified_precision(hypothesis, references, n)
    return matched, _largest(references, n).total()


def _different(hypothesis, references, n):
    mine = ngrams(hypothesis, n)
    return len(mine.keys() & _largest(references, n).keys()), len(mine)


def _once_each(hypothesis, references, n):
    return _over_all(_different(hypothesis, references, n)[0], hypothesis, n)


def _fraction(hypothesis, references, n):
    matched, total = modified_precision(hypothesis, references, n)
    return matched / total if total else 0.0


THREE = [["the", "a", "the"], ["the"], ["the", "b", "a"]]


def _added_up(hypothesis, references, n):
    counted = sum(modified_precision(hypothesis, [reference], n)[0] for reference in references)
    return _over_all(counted, hypothesis, n)


def _fraction_that_stops(hypothesis, references, n):
    matched, total = modified_precision(hypothesis, references, n)
    return matched / total


EXERCISE = Exercise(
    title="Count the matches",
    task="Return two numbers: how many n-grams of the hypothesis match, and how many it has. An n-gram matches as "
    "often as it occurs in the reference that has it most often.",
    reference=modified_precision,
    cases=lambda: [
        case(["the", "the", "the", "cat"], [["the", "cat", "sat"]], 1, about="a word too often"),
        case(["the", "the", "the", "the"], THREE, 1, about="three references"),
        case(["the", "the", "cat", "sat"], [["the", "cat"], ["the", "the", "sat"]], 1, about="each has a part"),
        case(["a", "rose", "is", "a", "rose"], [["a", "rose", "is", "red"]], 2, about="pairs of words"),
        case(["a", "b", "a", "b", "a", "b"], [["a", "b", "c", "a", "b"], ["b", "a", "b"]], 2, about="repeated pairs"),
        case(["a", "b", "c", "d"], [["x", "b", "c", "d", "y"], ["a", "b", "c"]], 3, about="three words in a row"),
        case(["a", "b"], [["a", "b", "c", "d"]], 4, about="a hypothesis shorter than n"),
        case([], [["a", "b"]], 1, about="an empty hypothesis"),
        case(["a", "b", "a"], [["b", "a"], ["c"]], 1, about="the second reference shares nothing"),
        case(["a", "a", "b", "b"], [["a", "b"], ["a", "a"]], 1, about="two references, each twice of one"),
    ],
    mistakes=(
        Mistake(
            "not-clipped",
            _not_clipped,
            "The matches come out without clipping: a word that occurs once in the reference counts each time the "
            "hypothesis repeats it.",
        ),
        Mistake(
            "sum-of-the-references",
            _clipped_by(lambda counters: sum(counters, Counter())),
            "The counts of the references come out added up. An n-gram may match as often as in *one* reference: the "
            "one that has it most often.",
        ),
        Mistake(
            "first-reference-only",
            _clipped_by(lambda counters: counters[0]),
            "Only the first reference counts. Take, for each n-gram, the largest count among all of them.",
        ),
        Mistake(
            "last-reference-only",
            _clipped_by(lambda counters: counters[-1]),
            "Only the last reference counts. Does the loop begin anew with each reference?",
        ),
        Mistake(
            "least-count",
            _clipped_by(_least),
            "An n-gram matches only if every reference has it. One reference suffices: take the largest count.",
        ),
        Mistake(
            "best-reference-alone",
            _best_alone,
            "All matches come from the one reference that fits best. The largest count is taken for each n-gram by "
            "itself, so different n-grams may match in different references.",
        ),
        Mistake(
            "recall",
            _recall,
            "Your second number counts the n-grams of the references. A precision divides by those of the hypothesis.",
        ),
        Mistake(
            "different-ones-only",
            _different,
            "Both numbers count different n-grams, each of them once. One that occurs twice counts twice.",
        ),
        Mistake(
            "matches-counted-once",
            _once_each,
            "The matches count each different n-gram once. If the reference has it twice, it may match twice.",
        ),
        Mistake(
            "fraction",
            _fraction,
            "This is the fraction. Return both numbers, because a corpus adds up the matches and the totals first.",
        ),
        Mistake(
            "single-words",
            lambda hypothesis, references, n: modified_precision(hypothesis, references, 1),
            "These are the counts of single words, for every n.",
        ),
        Mistake(
            "last-one-missing",
            lambda hypothesis, references, n: modified_precision(
                hypothesis[:-1], [reference[:-1] for reference in references], n
            ),
            "The last n-gram is missing: a text of L words has L − n + 1 of them.",
        ),
        Mistake(
            "exchanged",
            lambda hypothesis, references, n: modified_precision(hypothesis, references, n)[::-1],
            "The two numbers are exchanged: the matches come first.",
        ),
        Mistake(
            "fraction-that-stops",
            _fraction_that_stops,
            "This is the fraction, and it stops with an error where the hypothesis has no n-gram. Return both numbers, "
            "because a corpus adds up the matches and the totals first.",
        ),
        Mistake(
            "matches-added",
            _added_up,
            "The matches with each reference are added up, so an n-gram that stands in two of them counts twice. Take, "
            "for each n-gram, the largest count among the references.",
        ),
    ),
    hints=(
        "Count the n-grams of the hypothesis, then those of each reference. Which of the references' counts is the "
        "limit for an n-gram?",
        "`|` of two Counters keeps the larger count, and `&` the smaller one.",
        "Begin with an empty `Counter()`, take `most |= ngrams(reference, n)` for each reference, and count "
        "`(counts & most).total()`.",
    ),
    alternatives=(gram_by_gram, crossed_out, what_is_too_much),
    difficulty=2,
    minutes=10,
)
