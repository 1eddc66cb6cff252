"""Exercise: the brevity penalty."""

import math

from course_lib.bleu import brevity_penalty
from course_practice.engine import Exercise, Mistake, case


def inside_the_exponent(hyp_len, ref_len):
    return math.exp(min(0.0, 1 - ref_len / hyp_len)) if hyp_len else 0.0


def smaller_of_two(hyp_len, ref_len):
    if hyp_len == 0:
        return 0.0
    return min(1.0, math.e / math.exp(ref_len / hyp_len))


def by_the_lack(hyp_len, ref_len):
    if hyp_len == 0:
        return 0.0
    lack = max(0, ref_len - hyp_len)
    return math.exp(-lack / hyp_len)


def _penalty(short=lambda c, r: math.exp(1 - r / c), long=lambda c, r: 1.0, empty=0.0):
    """The penalty with one of its branches exchanged."""

    def penalty(hyp_len, ref_len):
        if not hyp_len:
            return empty
        return long(hyp_len, ref_len) if hyp_len >= ref_len else short(hyp_len, ref_len)

    return penalty


def _no_guard(hyp_len, ref_len):
    return 1.0 if hyp_len >= ref_len else math.exp(1 - ref_len / hyp_len)


def _upside_down(hyp_len, ref_len):
    return 1.0 if hyp_len >= ref_len else math.exp(1 - hyp_len / ref_len)


EXERCISE = Exercise(
    title="The brevity penalty",
    task="Return 1 if the translation (`hyp_len` tokens) is at least as long as the reference (`ref_len` tokens), else "
    "exp(1 − ref_len / hyp_len). An empty translation has the penalty 0.",
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
    mistakes=(
        Mistake(
            "upside-down",
            _upside_down,
            "The fraction is upside down: 1 − hyp_len / ref_len is positive for a short translation, and exp of it is "
            "a bonus.",
        ),
        Mistake(
            "no-cap",
            lambda hyp_len, ref_len: math.exp(1 - ref_len / hyp_len) if hyp_len else 0.0,
            "A translation that is longer than the reference gets a bonus here. The penalty is at most 1.",
        ),
        Mistake(
            "linear",
            lambda hyp_len, ref_len: min(1.0, hyp_len / ref_len),
            "This is the share of the length. The penalty falls faster: half the length costs a factor of e.",
        ),
        Mistake(
            "cap-on-the-wrong-side",
            lambda hyp_len, ref_len: 1.0 if hyp_len <= ref_len else math.exp(1 - ref_len / hyp_len),
            "The two cases are exchanged: short translations go free, and long ones get a bonus.",
        ),
        Mistake(
            "punishes-long-ones",
            lambda hyp_len, ref_len: 1.0 if hyp_len <= ref_len else math.exp(1 - hyp_len / ref_len),
            "Long translations are punished, and short ones go free. It is the other way round: hyp_len belongs below, "
            "and a long translation loses precision already.",
        ),
        Mistake(
            "both-sides",
            _penalty(long=lambda c, r: math.exp(1 - c / r)),
            "Long translations are punished, too. They lose precision already, so the penalty is 1 for them.",
        ),
        Mistake(
            "one-missing",
            _penalty(short=lambda c, r: math.exp(-r / c)),
            "The 1 in the exponent is missing. At equal lengths exp(1 − 1) must be 1, so that nothing jumps there.",
        ),
        Mistake(
            "exp-missing",
            _penalty(short=lambda c, r: 1 - r / c),
            "This is the exponent, a negative number. `math.exp` is missing.",
        ),
        Mistake(
            "empty-is-free",
            _penalty(empty=1.0),
            "An empty translation goes free. It has the penalty 0.",
        ),
        Mistake(
            "stops-at-an-empty-one",
            _no_guard,
            "An empty translation divides by 0. It has the penalty 0.",
        ),
        Mistake(
            "no-penalty",
            lambda hyp_len, ref_len: 1.0,
            "This is always 1, so two words out of twelve would be a perfect translation.",
        ),
        Mistake(
            "two-to-the-power",
            _penalty(short=lambda c, r: 2 ** (1 - r / c)),
            "The base is 2. BLEU takes e, the base of the natural logarithm.",
        ),
    ),
    hints=(
        "There are three cases: nothing was written, too short, and long enough.",
        "With half the length the fraction in the exponent is 2, so that the exponent is −1.",
        "`return 1.0` if hyp_len >= ref_len, `0.0` if hyp_len is 0, else `math.exp(1 - ref_len / hyp_len)`.",
    ),
    alternatives=(inside_the_exponent, smaller_of_two, by_the_lack),
    difficulty=1,
    minutes=6,
)
