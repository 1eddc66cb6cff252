import math

import torch

from course_lib.positional_encoding import sinusoidal_encoding
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def embed(ids, words, max_len=50):
    """√d_model times the words' vectors, plus sinusoidal positions."""
    d = words.shape[1]
    x = words[ids] * math.sqrt(d)
    position = torch.arange(max_len)[:, None, None]
    angle = position / 10000 ** (torch.arange(0, d, 2) / d)
    table = torch.zeros(max_len, 1, d)
    table[..., 0::2] = angle.sin()
    table[..., 1::2] = angle.cos()
    x = x + table[: ids.shape[1], 0]
    return x


def embed_starter(ids, words, max_len=50):
    d = words.shape[1]
    x = words[ids] * math.sqrt(d)
    position = torch.arange(max_len)[:, None, None]
    angle = position / 10000 ** (2 * torch.arange(0, d, 2) / d)
    table = torch.zeros(max_len, 1, d)
    table[..., 0::2] = angle.sin()
    table[..., 1::2] = angle.sin()
    x + table[: ids.shape[0]]
    return x


def from_the_library(ids, words, max_len=50):
    return words[ids] * words.shape[1] ** 0.5 + sinusoidal_encoding(ids.shape[1], words.shape[1])


EXERCISE = Exercise(
    reference=embed,
    starter=embed_starter,
    cases=lambda: [
        case(torch.tensor([[3, 1, 4]]), randn(5, 4), about="one sentence"),
        case(torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]]), randn(10, 6, seed=1), about="two sentences"),
        case(torch.tensor([[2, 2, 2], [2, 2, 2], [2, 2, 2]]), randn(3, 8, seed=2), about="the same word everywhere"),
        case(torch.tensor([[7, 0], [1, 1], [0, 6], [5, 5]]), randn(8, 2, seed=3), about="more sentences than tokens"),
        case(torch.arange(12)[None] % 7, randn(7, 10, seed=4), about="twelve tokens"),
        case(torch.arange(16).view(4, 4) % 4, randn(4, 4, seed=5), about="all sizes equal"),
    ],
    alternatives=(from_the_library,),
    trained=True,
)
