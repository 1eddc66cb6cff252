import math

import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def rotate_pairs(x, positions, base=10000.0):
    """Turn pair i, the features i and i + d_k / 2, by the angle p / base^(2i / d_k).

    x is (…, seq_len, d_k), and `positions` says where each token stands.

    >>> x = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    >>> rotate_pairs(x, positions=torch.tensor([0, 1])).round(decimals=2)
    tensor([[1.0000, 0.0000],
            [0.5400, 0.8400]])
    """
    d_k = x.shape[-1]
    angles = positions[:, None] / base ** (torch.arange(0, d_k, 2) / d_k)
    first, second = x.chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


def with_the_turned_half(x, positions, base=10000.0):
    d_k = x.shape[-1]
    speed = torch.exp(-math.log(base) * torch.arange(0, d_k, 2) / d_k)
    angles = torch.outer(positions.float(), speed).repeat(1, 2)
    first, second = x[..., : d_k // 2], x[..., d_k // 2 :]
    return x * angles.cos() + torch.cat([-second, first], dim=-1) * angles.sin()


def _cases():
    def rows(*positions):
        return torch.tensor(positions)

    return [
        case(torch.tensor([[2.0, 1.0], [2.0, 1.0]]), rows(0, 1), about="one pair, at positions 0 and 1"),
        case(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), rows(1), about="two pairs, at position 1"),
        case(randn(3, 6, seed=1), rows(0, 1, 2), about="three tokens, three pairs"),
        case(randn(2, 3, 5, 8, seed=2), rows(0, 1, 2, 3, 4), about="sentences and heads, all sizes different"),
        case(randn(4, 4, 4, 4, seed=3), rows(0, 1, 2, 3), about="all sizes equal"),
        case(randn(2, 3, 4, seed=4), rows(7, 8, 9), about="tokens that stand elsewhere"),
        case(randn(1, 2, 1, 6, seed=5), rows(40), about="one new token at position 40"),
        case(randn(2, 3, 8, seed=6), rows(5, 0, 2), 100.0, about="another base, and positions in any order"),
    ]


EXERCISE = Exercise(reference=rotate_pairs, cases=_cases, alternatives=(with_the_turned_half,), trained=True)
