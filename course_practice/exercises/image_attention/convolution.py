import torch
from torch.nn import functional as F

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn
from course_practice.exercises.watched import operations


def convolution(x, weight, bias):
    """A 3×3 convolution with zero padding, as nine tables of weights that are 0 or 1.

    x (batch, channels, height, width), weight (out, channels, 3, 3), bias (out,)

    >>> x, weight = torch.ones(1, 1, 2, 2), torch.ones(1, 1, 3, 3)
    >>> convolution(x, weight, torch.zeros(1))
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """
    _batch, _channels, height, width = x.shape
    pixels = torch.arange(height * width)
    row, column = pixels // width, pixels % width
    tokens = x.flatten(start_dim=2).mT
    output = bias
    for i in range(3):
        for j in range(3):
            same_row = row[None, :] == row[:, None] + i - 1
            same_column = column[None, :] == column[:, None] + j - 1
            weights = (same_row & same_column).to(x.dtype)
            output = output + weights @ tokens @ weight[:, :, i, j].T
    return output.mT.unflatten(2, (height, width))


def by_shifting_the_image(x, weight, bias):
    wide = F.pad(x, (1, 1, 1, 1))
    height, width = x.shape[2:]
    total = torch.zeros(x.shape[0], weight.shape[0], height, width)
    for i in range(3):
        for j in range(3):
            shifted = wide[:, :, i : i + height, j : j + width]
            total = total + torch.einsum("bchw,oc->bohw", shifted, weight[:, :, i, j])
    return total + bias[:, None, None]


def _case(batch, channels, out, height, width, about, seed):
    weight = randn(out, channels, 3, 3, seed=seed + 1, scale=0.5)
    return case(randn(batch, channels, height, width, seed=seed), weight, randn(out, seed=seed + 2), about=about)


def _calls_a_convolution(obj, given):
    return "calls-a-convolution" if torch.ops.aten.convolution in operations(obj, *given.args) else ""


EXERCISE = Exercise(
    reference=convolution,
    cases=lambda: [
        _case(1, 1, 1, 3, 3, "one channel, 3 × 3 pixels", 0),
        _case(2, 3, 5, 4, 7, "all sizes different", 10),
        _case(4, 4, 4, 4, 4, "all sizes equal", 20),
        _case(2, 2, 3, 1, 5, "a single row", 30),
        _case(1, 3, 2, 6, 2, "two columns", 40),
        _case(1, 2, 2, 1, 1, "a single pixel", 50),
    ],
    excluded=_calls_a_convolution,
    alternatives=(by_shifting_the_image,),
)
