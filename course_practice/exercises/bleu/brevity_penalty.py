import math

from course_lib.bleu import brevity_penalty
from course_practice.engine import Exercise, case


def inside_the_exponent(hyp_len, ref_len):
    return math.exp(min(0.0, 1 - ref_len / hyp_len)) if hyp_len else 0.0


EXERCISE = Exercise(
    reference=brevity_penalty,
    cases=lambda: [
        case(6, 12, about="half the length"),
        case(12, 12, about="equal lengths"),
        case(15, 10, about="longer than the reference"),
        case(7, 8, about="one word short"),
        case(1, 8, about="one word"),
        case(0, 5, about="nothing was written"),
        case(900, 1000, about="a whole corpus"),
        case(40, 8, about="five times as long"),
    ],
    alternatives=(inside_the_exponent,),
)
