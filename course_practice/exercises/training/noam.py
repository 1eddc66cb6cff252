"""Exercise: the paper's learning rate."""

import math

from course_lib.training import inverse_sqrt, noam
from course_practice.engine import Convention, Exercise, Mistake, case


def in_two_pieces(step, d_model, warmup):
    if step < warmup:
        return step / (warmup * math.sqrt(warmup * d_model))
    return 1 / math.sqrt(d_model * step)


def from_the_peak(step, d_model, warmup):
    peak = 1 / math.sqrt(d_model * warmup)
    return peak * min(step / warmup, math.sqrt(warmup / step))


def from_the_library(step, d_model, warmup):
    return inverse_sqrt(step, (d_model * warmup) ** -0.5, warmup)


def with_powers(step, d_model, warmup):
    return pow(d_model, -1 / 2) * min(pow(step, -1 / 2), step * pow(warmup, -3 / 2))


def _noam(choose=min, width=-0.5, fall=-0.5, rise=-1.5, first=0):
    """The formula with one of its parts exchanged."""

    def answer(step, d_model, warmup):
        step = step + first
        return d_model**width * choose(step**fall, step * warmup**rise)

    return answer


def _width_on_the_way_up_alone(step, d_model, warmup):
    return noam(step, d_model, warmup) if step < warmup else step**-0.5


EXERCISE = Exercise(
    title="The paper's learning rate",
    task="Return d_model^(-1/2) · min(step^(-1/2), step · warmup^(-3/2)), with step counted from 1.",
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
    mistakes=(
        Mistake(
            "the-larger-one",
            _noam(choose=max),
            "Your rate is largest at the start and falls up to the end of the warm-up, then it grows without end: of "
            "the two numbers, take the smaller.",
        ),
        Mistake(
            "width-above-the-line",
            _noam(width=0.5),
            "Your rates come out d_model times too large: the width's exponent is −1/2, so a wider model takes smaller "
            "steps.",
        ),
        Mistake(
            "width-without-the-root",
            _noam(width=-1.0),
            "Your rates come out too small by a factor of √d_model: divide by the root of the width.",
        ),
        Mistake(
            "width-left-out",
            _noam(width=0.0),
            "The width plays no part, so that your rates are √d_model times too large, 22.6 times for d_model = 512.",
        ),
        Mistake(
            "warm-up-too-steep",
            _noam(rise=-0.5),
            "Right once it falls, but the warm-up is over at once. With step · warmup^(−3/2), the two curves meet at "
            "step = warmup.",
        ),
        Mistake(
            "warm-up-too-flat",
            _noam(rise=-2.0),
            "Your warm-up lasts too long. The two curves should meet at step = warmup: is the exponent −3/2?",
        ),
        Mistake(
            "one-over-warmup",
            _noam(rise=-1.0),
            "On the way up your rate is step / warmup, which reaches 1. It should reach warmup^(−1/2), where the other "
            "curve begins: step · warmup^(−3/2).",
        ),
        Mistake(
            "counted-from-zero",
            lambda step, d_model, warmup: noam(step - 1, d_model, warmup) if step > 1 else 0.0,
            "You are one update behind: `step` counts from 1 here, and the rate of the first update is not 0.",
        ),
        Mistake(
            "one-update-ahead",
            _noam(first=1),
            "You are one update ahead: `step` counts from 1 already, so nothing has to be added.",
        ),
        Mistake(
            "no-warm-up",
            lambda step, d_model, warmup: (d_model * step) ** -0.5,
            "Your rate only falls. During the warm-up it should rise: min(…, step · warmup^(−3/2)).",
        ),
        Mistake(
            "never-falls",
            lambda step, d_model, warmup: (d_model * warmup) ** -0.5 * min(step / warmup, 1.0),
            "Your rate stays at its peak. After the warm-up it should fall with 1/√step.",
        ),
        Mistake(
            "rises-for-ever",
            lambda step, d_model, warmup: d_model**-0.5 * step * warmup**-1.5,
            "Your rate rises for ever. Take the smaller of this and step^(−1/2).",
        ),
        Mistake(
            "falls-with-the-step",
            _noam(fall=-1.0),
            "Your rate falls with 1/step. It should fall with 1/√step: a step four times as late has half the rate.",
        ),
        Mistake(
            "falls-with-the-step-from-the-peak",
            lambda step, d_model, warmup: (d_model * warmup) ** -0.5 * min(step / warmup, warmup / step),
            "The way up is right. Behind the peak your rate falls with warmup / step, and it should fall with the "
            "*root* of that: a step four times as late has half the rate.",
        ),
        Mistake(
            "exponent-without-brackets",
            lambda step, d_model, warmup: d_model**-0.5 * min(step**-0.5, step / warmup**3 / 2),
            "In Python `warmup**3/2` is warmup³ / 2, because a power comes before a division. Put the exponent into "
            "parentheses, `warmup**(3/2)`, or write `warmup**1.5`.",
        ),
        Mistake(
            "all-exponents-without-brackets",
            lambda step, d_model, warmup: d_model**-1 / 2 * min(step**-1 / 2, step * warmup**-3 / 2),
            "In Python `d_model**-1/2` is half of 1 / d_model, because a power comes before a division. Put the "
            "exponents into parentheses, `d_model**(-1/2)`, or write `d_model**-0.5`.",
        ),
        Mistake(
            "warm-up-not-scaled",
            lambda step, d_model, warmup: d_model**-0.5 * step**-0.5 * min(1.0, step / warmup),
            "On the way up your rate grows with √step. It should grow with step itself: is step^(−1/2) multiplied in "
            "there as well?",
        ),
        Convention(
            "peak-of-one",
            lambda step, d_model, warmup: min(step / warmup, (warmup / step) ** 0.5),
            "The shape is right, and its peak is 1: a common form, to be multiplied by a peak of your choice. In the "
            "paper the peak is (d_model · warmup)^(−1/2).",
        ),
        Mistake(
            "width-multiplies-one-of-them",
            lambda step, d_model, warmup: min(d_model**-0.5 * step**-0.5, step * warmup**-1.5),
            "Right once it falls. On the way up, the width plays no part: the factor belongs to both, outside the "
            "minimum.",
        ),
        Mistake(
            "width-on-the-way-up-alone",
            _width_on_the_way_up_alone,
            "Right on the way up. Once it falls, the width plays no part: the factor d_model^(−1/2) belongs to both.",
        ),
        Mistake(
            "times-three-halves",
            lambda step, d_model, warmup: d_model**-0.5 * min(step**-0.5, step / warmup * 1.5),
            "On the way up your rate is 3/2 · step / warmup. The 3/2 is an exponent: step / warmup^(3/2).",
        ),
        Mistake(
            "three-halves-of-the-step",
            lambda step, d_model, warmup: d_model**-0.5 * min(step**-0.5, warmup * step**-1.5),
            "Step and warmup have changed places in the second number: it is step · warmup^(−3/2).",
        ),
    ),
    hints=(
        "Two curves cross at step = warmup: one falls, one rises along a line. Which one holds at step 1, and which "
        "at step 100,000?",
        "The falling curve is step^(−1/2), the rising one step · warmup^(−3/2). The rate is the smaller of them, "
        "divided by √d_model.",
        "`d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)`",
    ),
    alternatives=(in_two_pieces, from_the_peak, from_the_library, with_powers),
    difficulty=1,
    minutes=5,
    atol=1e-9,
)
