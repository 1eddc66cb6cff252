import math

import torch

from course_practice.engine import Exercise, case


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


EXERCISE = Exercise(
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
    alternatives=(by_exponential_and_logarithm,),
)
