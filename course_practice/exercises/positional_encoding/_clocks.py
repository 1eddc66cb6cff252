"""The steps of a sinusoidal table, each in its right form and in those that people write instead."""

import math

import torch

from course_practice.exercises.inputs import randn


def places(n, first=0):
    return torch.arange(first, first + n, dtype=torch.float64)[:, None]


def pairs(d):
    return torch.arange((d + 1) // 2, dtype=torch.float64)


def speeds(d, exponent=2.0, base=10000.0):
    """10000^(−exponent · i / d) for each pair i."""
    return base ** (-exponent * pairs(d) / d)


def interleaved(even, odd, d):
    """Columns 0, 2, 4 … from one table, 1, 3, 5 … from the other, cut to d columns."""
    return torch.stack([even, odd], dim=-1).flatten(1)[:, :d].float()


def table_of(angle, d):
    return interleaved(angle.sin(), angle.cos(), d)


def by_log10(d):
    return torch.exp(-math.log10(10000.0) * 2 * pairs(d) / d)


def to_the_end(d):
    """As the authors' own code: the slowest pair turns by exactly 1/10000."""
    last = max(len(pairs(d)) - 1, 1)
    return 10000.0 ** (-pairs(d) / last)


def words(*shape, seed=0):
    return randn(*shape, seed=seed)
