"""Exercise: the sinusoidal table."""

import math

import torch

from course_lib.positional_encoding import sinusoidal_encoding
from course_practice.engine import Convention, Exercise, Mistake, case
from course_practice.exercises.positional_encoding._clocks import (
    by_log10,
    interleaved,
    pairs,
    places,
    speeds,
    table_of,
    to_the_end,
)


def by_stacking(n_positions, d_model):
    angle = torch.arange(n_positions)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :d_model]


def as_a_phase(n_positions, d_model):
    channel = torch.arange(d_model)
    angle = torch.arange(n_positions)[:, None] / 10000 ** ((channel - channel % 2) / d_model)
    return torch.sin(angle + math.pi / 2 * (channel % 2))


def by_complex_numbers(n_positions, d_model):
    angle = places(n_positions) * speeds(d_model)
    turned = torch.polar(torch.ones_like(angle), math.pi / 2 - angle)  # real part: sine, imaginary part: cosine
    return torch.view_as_real(turned).flatten(1)[:, :d_model].float()


def with_two_loops(n_positions, d_model):
    table = torch.zeros(n_positions, d_model)
    for p in range(n_positions):
        for channel in range(d_model):
            angle = p / 10000 ** (2 * (channel // 2) / d_model)
            table[p, channel] = math.cos(angle) if channel % 2 else math.sin(angle)
    return table


def _table(speed=speeds, first=0, even=torch.sin, odd=torch.cos):
    def table(n_positions, d_model):
        angle = places(n_positions, first) * speed(d_model)
        return interleaved(even(angle), odd(angle), d_model)

    return table


def _by_position(n_positions, d_model):
    angle = (places(n_positions) * speeds(d_model)).repeat_interleave(2, dim=1)[:, :d_model]
    return torch.where(torch.arange(n_positions)[:, None] % 2 == 0, angle.sin(), angle.cos()).float()


def _halves(n_positions, d_model):
    angle = places(n_positions) * speeds(d_model)
    return torch.cat([angle.sin(), angle[:, : d_model // 2].cos()], dim=1).float()


def _halves_too_wide(n_positions, d_model):
    angle = places(n_positions) * speeds(d_model)
    return torch.cat([angle.sin(), angle.cos()], dim=1).float()


def _by_channel(exponent):
    def table(n_positions, d_model):
        channel = torch.arange(d_model, dtype=torch.float64)
        angle = places(n_positions) / 10000 ** (exponent(channel) / d_model)
        return torch.where(channel % 2 == 0, angle.sin(), angle.cos()).float()

    return table


def _angle_itself(n_positions, d_model):
    angle = places(n_positions) * speeds(d_model)
    return interleaved(angle, angle, d_model)


def _odd_cut(n_positions, d_model):
    return table_of(places(n_positions) * speeds(d_model), d_model + d_model % 2)


def _odd_dropped(n_positions, d_model):
    return table_of(places(n_positions) * speeds(d_model), d_model - d_model % 2)


def _odd_stops(n_positions, d_model):
    angle = places(n_positions) * speeds(d_model)
    table = torch.zeros(n_positions, d_model)
    table[:, 0::2], table[:, 1::2] = angle.sin(), angle.cos()
    return table


def _odd_ends_with_zero(n_positions, d_model):
    table = table_of(places(n_positions) * speeds(d_model), d_model)
    if d_model % 2:
        table[:, -1] = 0.0
    return table


def _even_width(n_positions, d_model):
    """The speeds of the next even width, cut."""
    return table_of(places(n_positions) * speeds(d_model + d_model % 2)[: (d_model + 1) // 2], d_model)


def _odd_ends_with_cosine(n_positions, d_model):
    angle = places(n_positions) * speeds(d_model)
    table = table_of(angle, d_model)
    if d_model % 2:
        table[:, -1] = angle[:, -1].cos()
    return table


def _counted_in_half_precision(n_positions, d_model):
    return table_of(places(n_positions).bfloat16().double() * speeds(d_model), d_model)


def _share_of_the_sentence(n_positions, d_model):
    return table_of(places(n_positions) / n_positions * speeds(d_model), d_model)


EXERCISE = Exercise(
    title="The sinusoidal table",
    task="Return PE (n_positions, d_model): sin(p / 10000^(2i / d_model)) in channel 2i, the cosine of the same angle "
    "in channel 2i + 1. An odd d_model ends with a sine.",
    reference=sinusoidal_encoding,
    cases=lambda: [
        case(3, 4, about="3 positions, 4 channels"),
        case(2, 2, about="a single clock"),
        case(5, 8, about="5 positions, 8 channels"),
        case(6, 6, about="as many channels as positions"),
        case(4, 5, about="an odd width"),
        case(3, 1, about="a single channel"),
        case(50, 16, about="a long sentence"),
        case(300, 2, about="300 positions"),
    ],
    mistakes=(
        Mistake(
            "two-sines",
            _table(odd=torch.sin),
            "Every number stands there twice, because the odd channels hold the sine, too. They hold the *cosine*: "
            "row 0 should read 0, 1, 0, 1, …",
        ),
        Mistake(
            "two-cosines",
            _table(even=torch.cos),
            "The even channels hold the cosine, too. They hold the *sine*: row 0 should read 0, 1, 0, 1, …",
        ),
        Mistake(
            "sine-and-cosine-swapped",
            _table(even=torch.cos, odd=torch.sin),
            "Sine and cosine have changed places: row 0 should read 0, 1, 0, 1, …",
        ),
        Convention(
            "halves",
            _halves,
            "Valid in other programs, which put all sines on the left and all cosines on the right. A model can be "
            "trained with either, but not with one and used with the other. Here they alternate.",
        ),
        Mistake(
            "halves-and-one-column-too-many",
            _halves_too_wide,
            "Two things. You put all sines on the left and all cosines on the right, which is valid in other programs; "
            "here they alternate. And with an odd width you have one column too many: cut the last cosine.",
        ),
        Mistake(
            "channel-for-pair",
            _by_channel(lambda channel: 2 * channel),
            "Your exponents grow from channel to channel and reach almost 2. In 2i / d_model, i counts *pairs*: "
            "channels 2i and 2i + 1 share it.",
        ),
        Mistake(
            "odd-channels-with-their-own-exponent",
            _by_channel(lambda channel: channel),
            "The sines are right, but each cosine has a speed of its own. Channels 2i and 2i + 1 share one angle, so "
            "that sin² + cos² = 1.",
        ),
        Mistake(
            "odd-channels-one-pair-further",
            _by_channel(lambda channel: channel + channel % 2),
            "The sines are right, but each cosine has the speed of the next pair. Channels 2i and 2i + 1 share one "
            "angle.",
        ),
        Mistake(
            "by-position",
            _by_position,
            "Your rows alternate: one has the sines, the next the cosines. The *channels* alternate, in every row.",
        ),
        Mistake(
            "starts-at-one",
            _table(first=1),
            "Your first position is 1. Positions count from 0, so row 0 should read 0, 1, 0, 1, …",
        ),
        Mistake(
            "clocks-speed-up",
            _table(lambda d: 1 / speeds(d)),
            "Your angles grow from left to right; they should shrink. Is a minus missing, or a division?",
        ),
        Mistake(
            "log10",
            _table(by_log10),
            "Your clocks slow down, but not enough: their speeds are powers of e⁴ instead of 10000. Which logarithm "
            "undoes `exp`?",
        ),
        Mistake(
            "base-1000",
            _table(lambda d: speeds(d, base=1000.0)),
            "Your clocks slow down, but not enough: their speeds are powers of 1000 instead of 10000.",
        ),
        Mistake(
            "counted-in-half-precision",
            _counted_in_half_precision,
            "Right up to position 256. `bfloat16` has no 257, so neighbors get the same row: count in single or double "
            "precision, and convert the sines.",
        ),
        Mistake(
            "odd-width-ends-with-a-cosine",
            _odd_ends_with_cosine,
            "Even widths are right. With an odd width your last column is a cosine: it should be the sine of that "
            "angle.",
        ),
        Mistake(
            "exponent-doubled",
            _table(lambda d: speeds(d, exponent=4.0)),
            "Your exponents are twice as large. The numbers 0, 2, 4, … of the even channels are 2i already.",
        ),
        Mistake(
            "exponent-halved",
            _table(lambda d: speeds(d, exponent=1.0)),
            "Your exponents are half as large: pair i needs 2i / d_model.",
        ),
        Convention(
            "last-clock-at-1-over-10000",
            _table(to_the_end),
            "Valid in the program of the paper's authors, whose last clock turns by exactly 1/10000. The formula of "
            "the paper, and of this course, divides 2i by d_model.",
        ),
        Mistake(
            "one-speed-for-all",
            _table(lambda d: torch.ones_like(pairs(d))),
            "All your pairs turn at the same speed. Does `//` cut the exponents to whole numbers?",
        ),
        Mistake(
            "share-of-the-sentence",
            _share_of_the_sentence,
            "Your table depends on how long the sentence is: position 1 has another row in a longer one. Do not "
            "divide the position by n_positions.",
        ),
        Mistake(
            "angles-alone",
            _angle_itself,
            "These are the angles themselves, and they grow without limit. Take their sine and cosine.",
        ),
        Mistake(
            "odd-width-stops",
            _odd_stops,
            "Even widths are right. An odd width stops with an error, because it has one sine more than cosines: cut "
            "the last angle before you take the cosines.",
        ),
        Mistake(
            "one-column-too-many",
            _odd_cut,
            "Even widths are right. With an odd width you have one column too many: cut the last cosine.",
        ),
        Mistake(
            "one-column-short",
            _odd_dropped,
            "Even widths are right. With an odd width you have one column too few: there is one sine more than "
            "cosines.",
        ),
        Mistake(
            "odd-width-ends-with-zeros",
            _odd_ends_with_zero,
            "Even widths are right. With an odd width your last column is 0: it should hold the last sine.",
        ),
        Mistake(
            "speeds-of-the-next-even-width",
            _even_width,
            "Even widths are right. With an odd width you divide 2i by d_model + 1: take the speeds from d_model "
            "itself, then cut the last cosine.",
        ),
    ),
    hints=(
        "Begin with the angles of the previous exercise, one for each position and pair.",
        "Make an empty table and fill its even columns (`table[:, 0::2]`) with sines, its odd ones with cosines. An "
        "odd width has one sine more than cosines.",
        "`table[:, 1::2] = angle[:, : d_model // 2].cos()`, where `angle` comes from `torch.arange(0, d_model, 2)`.",
    ),
    alternatives=(by_stacking, as_a_phase, by_complex_numbers, with_two_loops),
    difficulty=2,
    minutes=10,
)
