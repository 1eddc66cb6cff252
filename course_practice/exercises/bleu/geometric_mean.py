"""Exercise: the geometric mean."""

import math

import torch

from course_practice.engine import Convention, Exercise, Mistake, case


def geometric_mean(precisions):
    """The n-th root of the product of n numbers."""
    return math.prod(precisions) ** (1 / len(precisions))


def with_logarithms(precisions):
    if min(precisions) == 0:
        return 0.0
    return math.exp(sum(math.log(p) for p in precisions) / len(precisions))


def with_torch(precisions):
    return torch.tensor(precisions, dtype=torch.float64).log().mean().exp()


def root_by_root(precisions):
    result = 1.0
    for p in precisions:
        result *= p ** (1 / len(precisions))
    return result


def _logs(precisions):
    return [math.log(p) for p in precisions if p > 0]


def _zeros_left_out(precisions):
    return math.exp(sum(_logs(precisions)) / len(_logs(precisions))) if _logs(precisions) else 0.0


def _log_of_zero(precisions):
    return math.exp(sum(math.log(p) for p in precisions) / len(precisions))


def _base_ten(precisions):
    return math.exp(sum(math.log10(p) for p in precisions) / len(precisions)) if min(precisions) else 0.0


EXERCISE = Exercise(
    title="The geometric mean",
    task="Return the geometric mean of a list of precisions between 0 and 1. If one of them is 0, the mean is 0.",
    reference=geometric_mean,
    cases=lambda: [
        case([0.8, 0.6, 0.4, 0.3], about="four precisions"),
        case([1.0, 1.0, 1.0, 1.0], about="a perfect translation"),
        case([0.25, 1.0], about="two precisions"),
        case([0.5], about="one precision"),
        case([0.9, 0.5, 0.1, 0.0], about="no 4-gram matches"),
        case([0.0, 0.0, 0.0, 0.0], about="nothing matches"),
        case([7 / 8, 5 / 7, 3 / 6, 1 / 5], about="one wrong word of eight"),
        case([0.2, 0.9, 0.7], about="three precisions"),
    ],
    mistakes=(
        Mistake(
            "arithmetic",
            lambda precisions: sum(precisions) / len(precisions),
            "This is the plain mean. The geometric mean is the root of the product, or the mean of the logarithms.",
        ),
        Mistake(
            "log-missing",
            lambda precisions: math.exp(sum(precisions) / len(precisions)),
            "The logarithm is missing: exp of a mean of precisions lies between 1 and e. Four precisions of 1 must "
            "give 1.",
        ),
        Mistake(
            "root-missing",
            lambda precisions: math.prod(precisions),
            "This is the product. Its n-th root is missing, where n is how many precisions there are.",
        ),
        Mistake(
            "always-four",
            lambda precisions: math.prod(precisions) ** (1 / 4),
            "The root is the fourth one always. Take the n-th, where n is how many precisions there are.",
        ),
        Mistake(
            "square-root",
            lambda precisions: math.sqrt(math.prod(precisions)),
            "This is the square root of the product. Take the n-th root, where n is how many precisions there are.",
        ),
        Mistake(
            "exp-missing",
            lambda precisions: sum(_logs(precisions)) / len(precisions) if min(precisions) else 0.0,
            "This is the mean of the logarithms: a negative number. `exp` brings it back.",
        ),
        Mistake(
            "zeros-left-out",
            _zeros_left_out,
            "A precision of 0 is left out, and the mean is taken over the others. A zero makes the product zero.",
        ),
        Mistake(
            "zeros-skipped",
            lambda precisions: math.exp(sum(_logs(precisions)) / len(precisions)) if any(precisions) else 0.0,
            "A precision of 0 counts as if it were 1: its logarithm is left out of the sum, which adds 0. A zero makes "
            "the product zero.",
        ),
        Mistake(
            "log-of-zero",
            _log_of_zero,
            "The logarithm of 0 does not exist, so this stops with an error when a precision is 0. Return 0 there.",
        ),
        Mistake(
            "two-bases",
            _base_ten,
            "The logarithm has base 10, and `exp` has base e. The two must belong together.",
        ),
        Mistake(
            "harmonic",
            lambda precisions: len(precisions) / sum(1 / p for p in precisions) if min(precisions) else 0.0,
            "This is the harmonic mean. The geometric mean is the root of the product.",
        ),
        Mistake(
            "smallest",
            min,
            "This is the smallest precision. All of them count.",
        ),
        Convention(
            "percent",
            lambda precisions: 100 * geometric_mean(precisions),
            "Valid where scores are in percent. Here the precisions lie between 0 and 1, and so does their mean.",
        ),
    ),
    hints=(
        "What is the product of four equal numbers, and how do you get back to one of them?",
        "Multiply all of them (`math.prod`), then take the n-th root, which is the power 1/n.",
        "`math.prod(precisions) ** (1 / len(precisions))`.",
    ),
    alternatives=(with_logarithms, with_torch, root_by_root),
    difficulty=1,
    minutes=6,
)
