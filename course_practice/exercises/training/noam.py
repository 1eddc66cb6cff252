import math

from course_lib.training import noam
from course_practice.engine import Exercise, case


def in_two_pieces(step, d_model, warmup):
    if step < warmup:
        return step / (warmup * math.sqrt(warmup * d_model))
    return 1 / math.sqrt(d_model * step)


EXERCISE = Exercise(
    reference=noam,
    cases=lambda: [
        case(4, 16, 4, about="the peak: 1/8"),
        case(1, 16, 4, about="the first update: 1/32"),
        case(2, 16, 4, about="half way up: 1/16"),
        case(16, 16, 4, about="falling: 1/16"),
        case(64, 16, 4, about="falling further: 1/32"),
        case(9, 16, 9, about="another peak"),
        case(9, 9, 9, about="all three equal"),
        case(1, 512, 4000, about="the base model's first update"),
        case(4000, 512, 4000, about="the base model's peak"),
        case(100_000, 512, 4000, about="the base model's last update"),
        case(3, 100, 1, about="no warm-up to speak of"),
    ],
    alternatives=(in_two_pieces,),
    atol=1e-9,
)
