"""Exercise: the angles of the clocks."""

import math

import torch

from course_practice.engine import Convention, Exercise, Mistake, case
from course_practice.exercises.positional_encoding._clocks import by_log10, pairs, places, speeds, to_the_end


def angles(n_positions, d_model):
    """How far clock i has turned at position p: p / 10000^(2i / d_model).

    >>> angles(n_positions=3, d_model=4)
    tensor([[0.0000, 0.0000],
            [1.0000, 0.0100],
            [2.0000, 0.0200]])
    """
    position = torch.arange(n_positions)[:, None]
    pair = torch.arange(d_model // 2)
    return position / 10000 ** (2 * pair / d_model)


def by_exponential_and_logarithm(n_positions, d_model):
    speed = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    return torch.outer(torch.arange(n_positions).float(), speed)


def by_one_ratio(n_positions, d_model):
    ratio = torch.full((d_model // 2,), 10000 ** (-2 / d_model), dtype=torch.float64)
    ratio[0] = 1.0
    return places(n_positions) * ratio.cumprod(dim=0)


def with_two_loops(n_positions, d_model):
    return torch.tensor(
        [[p / 10000 ** (2 * i / d_model) for i in range(d_model // 2)] for p in range(n_positions)], dtype=torch.float64
    )


def step_by_step(n_positions, d_model):
    speed = 1e4 ** -(torch.arange(0, d_model, 2) / d_model)
    return speed.repeat(n_positions, 1).cumsum(dim=0) - speed


def _angles(speed, first=0):
    return lambda n_positions, d_model: places(n_positions, first) * speed(d_model)


def _whole_exponents(n_positions, d_model):
    return places(n_positions) / 10000.0 ** (2 * torch.arange(d_model // 2) // d_model)


def _share_of_the_sentence(n_positions, d_model):
    return places(n_positions) / n_positions * speeds(d_model)


EXERCISE = Exercise(
    title="The angles of the clocks",
    task="Return a table (n_positions, d_model / 2): the angle p / 10000^(2i / d_model) of clock i at position p, both "
    "counted from 0. d_model is even.",
    reference=angles,
    cases=lambda: [
        case(3, 4, about="3 positions, 2 clocks"),
        case(2, 2, about="a single clock"),
        case(5, 6, about="5 positions, 3 clocks"),
        case(4, 8, about="as many clocks as positions"),
        case(7, 16, about="7 positions, 8 clocks"),
        case(1, 6, about="a single position"),
        case(200, 10, about="a long sentence"),
    ],
    mistakes=(
        Mistake(
            "starts-at-one",
            _angles(speeds, first=1),
            "Your first position is 1. Positions count from 0, so all angles in row 0 are 0.",
        ),
        Mistake(
            "clocks-speed-up",
            _angles(lambda d: 1 / speeds(d)),
            "Your clocks get faster from left to right; they should get slower. Is 10000^(2i / d_model) a factor, or "
            "a divisor?",
        ),
        Mistake(
            "log10",
            _angles(by_log10),
            "Your clocks slow down, but not enough: their speeds are powers of e⁴ instead of 10000. Which logarithm "
            "undoes `exp`?",
        ),
        Mistake(
            "base-1000",
            _angles(lambda d: speeds(d, base=1000.0)),
            "Your clocks slow down, but not enough: their speeds are powers of 1000 instead of 10000.",
        ),
        Mistake(
            "exponent-doubled",
            _angles(lambda d: speeds(d, exponent=4.0)),
            "Your exponents are twice as large: clock 1 should turn by 10000^(−2 / d_model). Is the factor 2 counted "
            "twice, once in 0, 2, 4, … or in d_model / 2, and once more?",
        ),
        Mistake(
            "exponent-halved",
            _angles(lambda d: speeds(d, exponent=1.0)),
            "Your exponents are half as large: clock i needs 2i / d_model.",
        ),
        Convention(
            "last-clock-at-1-over-10000",
            _angles(to_the_end),
            "Valid in the program of the paper's authors, whose last clock turns by exactly 1/10000. The formula of "
            "the paper, and of this course, divides 2i by d_model.",
        ),
        Mistake(
            "one-column-a-channel",
            lambda n_positions, d_model: (
                places(n_positions) / 10000.0 ** (2 * torch.arange(d_model, dtype=torch.float64) / d_model)
            ),
            "You have d_model columns. A clock fills two channels of the encoding later, so d_model channels need "
            "d_model / 2 clocks.",
        ),
        Mistake(
            "two-equal-columns-a-clock",
            lambda n_positions, d_model: (places(n_positions) * speeds(d_model)).repeat_interleave(2, dim=1),
            "Every clock stands there twice. One column a clock is enough here: sine and cosine come later.",
        ),
        Mistake(
            "one-speed-for-all",
            _whole_exponents,
            "All your clocks turn at the same speed. Does `//` cut the exponents to whole numbers?",
        ),
        Mistake(
            "share-of-the-sentence",
            _share_of_the_sentence,
            "Your angles depend on how long the sentence is: position 1 has another angle in a longer one. Do not "
            "divide the position by n_positions.",
        ),
        Mistake(
            "full-turns",
            _angles(lambda d: 2 * math.pi * speeds(d)),
            "Your angles are 2π times as large. The first clock turns by 1 radian a position, not by a full turn.",
        ),
        Mistake(
            "speeds-alone",
            lambda n_positions, d_model: speeds(d_model).expand(n_positions, -1),
            "Every row is the same: these are the speeds. Multiply them by the position.",
        ),
        Mistake(
            "speeds-in-one-row",
            lambda n_positions, d_model: speeds(d_model),
            "These are the speeds, one for each clock. Multiply them by a column of positions.",
        ),
        Mistake(
            "clocks-from-one",
            _angles(lambda d: 10000.0 ** (-2 * (pairs(d) + 1) / d)),
            "Your clocks are counted from 1, so the first is as slow as the second should be. Clock 0 turns by 1 "
            "radian at each position.",
        ),
        Mistake(
            "no-brackets",
            lambda n_positions, d_model: places(n_positions) / 10000.0**2 * pairs(d_model) / d_model,
            "The exponent comes out as 2 alone, because `**` is taken before `*` and `/`. Put brackets around "
            "2i / d_model.",
        ),
        Mistake(
            "no-brackets-in-the-divisor",
            lambda n_positions, d_model: places(n_positions) / (10000.0**2 * pairs(d_model) / d_model),
            "Your divisor is 10000² times i / d_model, which is 0 for clock 0: `**` is taken before `*` and `/`. Put "
            "brackets around 2i / d_model.",
        ),
        Mistake(
            "slower-by-100",
            _angles(lambda d: 100.0 ** -pairs(d)),
            "Each of your clocks is 100 times slower than the one before. That is so for d_model = 4 alone: the factor "
            "is 10000^(2 / d_model).",
        ),
        Mistake(
            "linear-speeds",
            _angles(lambda d: 1 - 2 * pairs(d) / d),
            "Your clocks slow down by the same amount from one to the next. They should slow down by the same "
            "*factor*: 2i / d_model is an exponent.",
        ),
    ),
    hints=(
        "One column of positions, one row of speeds, and broadcasting makes the table.",
        "The positions are 0 … n_positions − 1, shape (n_positions, 1). The clocks are 0 … d_model / 2 − 1, and "
        "clock i turns by 1 / 10000^(2i / d_model) at each position.",
        "`position / 10000 ** (2 * pair / d_model)`, where `position = torch.arange(n_positions)[:, None]` and "
        "`pair = torch.arange(d_model // 2)`.",
    ),
    alternatives=(by_exponential_and_logarithm, by_one_ratio, with_two_loops, step_by_step),
    difficulty=1,
    minutes=5,
)
