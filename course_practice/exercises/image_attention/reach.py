"""Exercise: how far a stack of convolutions sees."""

import torch
from torch.nn import functional as F

from course_practice.engine import Convention, Exercise, Mistake, case


def reach(kernels, dilations):
    """How many pixels to each side one output sees, for layers of odd kernel sizes.

    >>> reach([3, 3], [1, 1])
    2
    """
    return sum((kernel - 1) // 2 * dilation for kernel, dilation in zip(kernels, dilations, strict=True))


def from_the_width_of_the_field(kernels, dilations):
    field = 1
    for layer in range(len(kernels)):
        field += (kernels[layer] - 1) * dilations[layer]
    return field // 2


def with_tensors(kernels, dilations):
    return int((torch.tensor(kernels) // 2 * torch.tensor(dilations)).sum())


def with_an_impulse(kernels, dilations):
    y = torch.zeros(1, 1, 401, dtype=torch.float64)
    y[0, 0, 200] = 1
    for kernel, dilation in zip(kernels, dilations, strict=True):
        ones = torch.ones(1, 1, kernel, dtype=torch.float64)
        y = F.conv1d(y, ones, padding=kernel // 2 * dilation, dilation=dilation)
    return int(y[0, 0].nonzero().max()) - 200


def _pairs(count):
    return lambda kernels, dilations: sum(count(k, d) for k, d in zip(kernels, dilations, strict=True))


def _product(kernels, dilations):
    total = 1
    for kernel, dilation in zip(kernels, dilations, strict=True):
        total *= (kernel - 1) // 2 * dilation
    return total


def _seen(kernels, dilations):
    """Half of the number of pixels that are seen."""
    seen = {0}
    for kernel, dilation in zip(kernels, dilations, strict=True):
        seen = {place + step * dilation for place in seen for step in range(-(kernel // 2), kernel // 2 + 1)}
    return len(seen) // 2


EXERCISE = Exercise(
    title="How far does it see?",
    task="`kernels` and `dilations` are lists with one number for each layer; the kernel sizes are odd. Return how "
    "many pixels away from its own pixel, in each direction, an output can see.",
    reference=reach,
    cases=lambda: [
        case([3], [1], about="one 3×3 layer"),
        case([3, 3, 3], [1, 1, 1], about="three 3×3 layers"),
        case([5], [1], about="one 5×5 layer"),
        case([1], [1], about="a 1×1 layer"),
        case([3], [4], about="one dilated layer"),
        case([3, 3, 3], [1, 2, 4], about="three dilated layers"),
        case([7, 1, 5, 3], [1, 1, 3, 2], about="different kernels and dilations"),
    ],
    mistakes=(
        Mistake(
            "both-directions",
            _pairs(lambda k, d: (k - 1) * d),
            "You counted both directions together. How far is it to *one* side?",
        ),
        Convention(
            "whole-field",
            lambda kernels, dilations: 1 + _pairs(lambda k, d: (k - 1) * d)(kernels, dilations),
            "Valid as the *receptive field*, the width of everything that is seen. Here the distance to one side is "
            "wanted.",
        ),
        Mistake(
            "sum-of-kernels",
            _pairs(lambda k, d: k * d),
            "You add up whole kernels. Of a kernel of 3, how many pixels lie on one side of the middle?",
        ),
        Mistake(
            "sum-of-kernels-without-dilation",
            _pairs(lambda k, d: k),
            "You add up whole kernels, without the dilations. Of a kernel of 3, how many pixels lie on one side of the "
            "middle, and how far away is the outermost when the kernel is dilated?",
        ),
        Mistake(
            "dilation-ignored",
            _pairs(lambda k, d: (k - 1) // 2),
            "Right without dilation. With dilation 4, the neighbors of a 3×3 kernel lie 4 pixels away.",
        ),
        Mistake(
            "dilations-alone",
            _pairs(lambda k, d: d),
            "Right for kernels of 3. A kernel of 5 has two pixels on each side, and a kernel of 1 has none.",
        ),
        Mistake(
            "layers-multiplied",
            _product,
            "You multiply the reaches of the layers. The second layer goes on from where the first one ends, so they "
            "add up.",
        ),
        Mistake(
            "itself-counted",
            lambda kernels, dilations: 1 + reach(kernels, dilations),
            "One too many: the pixel itself is at distance 0.",
        ),
        Mistake(
            "widest-layer-alone",
            lambda kernels, dilations: max((k - 1) // 2 * d for k, d in zip(kernels, dilations, strict=True)),
            "That is the reach of the widest layer alone. The layers come one after another, so their reaches add up.",
        ),
        Mistake(
            "last-layer-alone",
            lambda kernels, dilations: (kernels[-1] - 1) // 2 * dilations[-1],
            "That is the reach of the last layer. What does the pixel that it reads see in turn?",
        ),
        Mistake(
            "layers-counted",
            lambda kernels, dilations: len(kernels),
            "You count the layers. That is right for kernels of 3 without dilation.",
        ),
        Mistake(
            "half-the-kernel-too-wide",
            _pairs(lambda k, d: (k + 1) // 2 * d),
            "One too many in each layer: a kernel of 3 has *one* pixel on each side of the middle.",
        ),
        Mistake(
            "dilation-after-the-sum",
            lambda kernels, dilations: sum((k - 1) // 2 for k in kernels) * sum(dilations),
            "You multiply the two sums. Each layer's own dilation stretches its own kernel.",
        ),
        Mistake(
            "one-taken-off-once",
            lambda kernels, dilations: (_pairs(lambda k, d: k * d)(kernels, dilations) - 1) // 2,
            "You take 1 off and halve at the end. Each kernel has a middle of its own: (k − 1) / 2 of its pixels lie "
            "on one side, d apart.",
        ),
        Mistake(
            "pixels-counted",
            _seen,
            "You count the pixels that it sees. A dilated kernel leaves pixels out, so the outermost is farther away "
            "than their number.",
        ),
        Mistake(
            "dilation-between-only",
            _pairs(lambda k, d: (k - 1) // 2 + d - 1),
            "Right for kernels of 3. In a kernel of 5 both steps on a side are stretched by the dilation.",
        ),
    ),
    hints=(
        "How far does one 3×3 layer see? And two of them, where the second reads what the first has seen?",
        "A kernel of k pixels has (k − 1) / 2 on each side, and dilation d puts them d pixels apart. Reaches add up.",
        "`(kernel - 1) // 2 * dilation`, summed over `zip(kernels, dilations)`.",
    ),
    alternatives=(from_the_width_of_the_field, with_tensors, with_an_impulse),
    difficulty=1,
    minutes=8,
)
