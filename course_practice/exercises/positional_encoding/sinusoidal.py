import math

import torch

from course_lib.positional_encoding import sinusoidal_encoding
from course_practice.engine import Exercise, case


def by_stacking(n_positions, d_model):
    angle = torch.arange(n_positions)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :d_model]


def as_a_phase(n_positions, d_model):
    channel = torch.arange(d_model)
    angle = torch.arange(n_positions)[:, None] / 10000 ** ((channel - channel % 2) / d_model)
    return torch.sin(angle + math.pi / 2 * (channel % 2))


EXERCISE = Exercise(
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
    alternatives=(by_stacking, as_a_phase),
)
