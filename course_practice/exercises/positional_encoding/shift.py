import math

import torch

from course_practice.engine import Exercise, case


def shift(distance, d_model):
    """The matrix that moves every row: PE[p] @ shift(r, d) = PE[p + r].

    >>> from course_lib.positional_encoding import sinusoidal_encoding
    >>> pe = sinusoidal_encoding(10, 4)
    >>> torch.allclose(pe[2] @ shift(5, 4), pe[7], atol=1e-6)
    True
    """
    blocks = []
    for i in range(d_model // 2):
        angle = distance / 10000 ** (2 * i / d_model)
        sin, cos = math.sin(angle), math.cos(angle)
        blocks.append(torch.tensor([[cos, -sin], [sin, cos]]))
    return torch.block_diag(*blocks)


def by_filling(distance, d_model):
    angle = distance * 10000 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    even = torch.arange(0, d_model, 2)
    matrix = torch.zeros(d_model, d_model, dtype=torch.float64)
    matrix[even, even] = matrix[even + 1, even + 1] = angle.cos()
    matrix[even, even + 1], matrix[even + 1, even] = -angle.sin(), angle.sin()
    return matrix


EXERCISE = Exercise(
    reference=shift,
    cases=lambda: [
        case(1, 2, about="one clock, one step"),
        case(1, 4, about="two clocks, one step"),
        case(3, 6, about="three steps"),
        case(0, 4, about="no step at all"),
        case(-2, 4, about="two steps back"),
        case(7, 10, about="seven steps, five clocks"),
        case(4, 4, about="as many steps as channels"),
    ],
    alternatives=(by_filling,),
)
