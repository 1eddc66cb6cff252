"""Exercise: which length of several."""

from statistics import mean

from course_lib.bleu import closest_length
from course_practice.engine import Exercise, Mistake, case


def sorted_first(length, reference_lengths):
    return min(sorted(reference_lengths), key=lambda candidate: abs(candidate - length))


def by_a_loop(length, reference_lengths):
    best = reference_lengths[0]
    for candidate in reference_lengths[1:]:
        if abs(candidate - length) < abs(best - length):
            best = candidate
        elif abs(candidate - length) == abs(best - length):
            best = min(best, candidate)
    return best


def as_a_pair(length, reference_lengths):
    _distance, best = min((abs(candidate - length), candidate) for candidate in reference_lengths)
    return best


def _by(key):
    return lambda length, reference_lengths: min(reference_lengths, key=lambda r: key(r, length))


def _place_of_the_first(length, reference_lengths):
    return min(range(len(reference_lengths)), key=lambda i: abs(reference_lengths[i] - length))


def _place(length, reference_lengths):
    return reference_lengths.index(closest_length(length, reference_lengths))


EXERCISE = Exercise(
    title="Which length?",
    task="Return the reference length that is closest to `length`, the length of the hypothesis. If two of them are "
    "equally close, return the shorter one.",
    reference=closest_length,
    cases=lambda: [
        case(10, [13, 9, 12], about="three references"),
        case(10, [12, 8], about="a tie, the longer one first"),
        case(10, [8, 12], about="a tie, the shorter one first"),
        case(4, [1, 6, 9], about="a short hypothesis"),
        case(9, [7], about="one reference"),
        case(5, [9, 5, 4], about="an equal length"),
        case(20, [3, 15, 11], about="longer than all"),
        case(2, [8, 6, 7], about="shorter than all"),
        case(11, [14, 8, 12, 9], about="four references"),
    ],
    mistakes=(
        Mistake(
            "first-of-a-tie",
            _by(lambda r, length: abs(r - length)),
            "Of two lengths that are equally close, yours is the one that stands first. It should be the shorter one, "
            "so that the order of the references does not matter.",
        ),
        Mistake(
            "last-of-a-tie",
            lambda length, reference_lengths: min(reversed(reference_lengths), key=lambda r: abs(r - length)),
            "Of two lengths that are equally close, yours is the one that stands last. It should be the shorter one.",
        ),
        Mistake(
            "longer-of-a-tie",
            _by(lambda r, length: (abs(r - length), -r)),
            "Of two lengths that are equally close, yours is the longer one. It should be the shorter one.",
        ),
        Mistake(
            "place-of-the-first",
            _place_of_the_first,
            "This is a place in the list, and of a tie the first. Return the length itself, and of a tie the shorter.",
        ),
        Mistake(
            "only-shorter-ones",
            lambda length, reference_lengths: max(r for r in reference_lengths if r <= length),
            "References that are longer than the hypothesis are left out, and with `max` of nothing it stops where all "
            "of them are. A longer one may be the closest.",
        ),
        Mistake(
            "mean-rounded",
            lambda length, reference_lengths: round(mean(reference_lengths)),
            "This is the rounded mean of the lengths, whatever the hypothesis. Return one of the references' own "
            "lengths, the closest.",
        ),
        Mistake(
            "shortest",
            lambda length, reference_lengths: min(reference_lengths),
            "This is the shortest reference, whatever the hypothesis. The closest one is asked for: the smallest "
            "distance, without its sign.",
        ),
        Mistake(
            "longest",
            lambda length, reference_lengths: max(reference_lengths),
            "This is the longest reference, whatever the hypothesis. The closest one is asked for.",
        ),
        Mistake(
            "mean-length",
            lambda length, reference_lengths: mean(reference_lengths),
            "This is the mean length of the references. The closest one is asked for.",
        ),
        Mistake(
            "first-reference",
            lambda length, reference_lengths: reference_lengths[0],
            "This is the length of the first reference, whatever the others are.",
        ),
        Mistake(
            "distance-returned",
            lambda length, reference_lengths: min(abs(r - length) for r in reference_lengths),
            "This is the distance. Return the length that has it.",
        ),
        Mistake(
            "place-returned",
            _place,
            "This is the place in the list. Return the length that stands there.",
        ),
        Mistake(
            "never-longer",
            lambda length, reference_lengths: max(
                (r for r in reference_lengths if r <= length), default=min(reference_lengths)
            ),
            "Only references that are not longer than the hypothesis count. A longer one may be closer.",
        ),
    ),
    hints=(
        "The distance of two lengths has no sign. What decides if two distances are equal?",
        "Pairs are compared by their first part, then by their second: take the smallest (distance, length).",
        "Return `min(reference_lengths, key=lambda r: (abs(r - length), r))`.",
    ),
    alternatives=(sorted_first, by_a_loop, as_a_pair),
    difficulty=1,
    minutes=5,
)
