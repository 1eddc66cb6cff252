import math

from course_practice.engine import Exercise, case


def geometric_mean(precisions):
    """The n-th root of the product of n numbers."""
    return math.prod(precisions) ** (1 / len(precisions))


def with_logarithms(precisions):
    if min(precisions) == 0:
        return 0.0
    return math.exp(sum(math.log(p) for p in precisions) / len(precisions))


EXERCISE = Exercise(
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
    alternatives=(with_logarithms,),
)
