"""Exercise: a convolution, as attention with fixed weights."""

import torch
from torch.nn import functional as F

from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn


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


def by_pytorch(x, weight, bias):
    return F.conv2d(x, weight, bias, padding=1)


def by_shifting_the_image(x, weight, bias):
    wide = F.pad(x, (1, 1, 1, 1))
    height, width = x.shape[2:]
    total = torch.zeros(x.shape[0], weight.shape[0], height, width)
    for i in range(3):
        for j in range(3):
            shifted = wide[:, :, i : i + height, j : j + width]
            total = total + torch.einsum("bchw,oc->bohw", shifted, weight[:, :, i, j])
    return total + bias[:, None, None]


def with_unfold(x, weight, bias):
    patches = F.unfold(x, 3, padding=1)
    return (weight.flatten(1) @ patches + bias[:, None]).unflatten(2, x.shape[2:])


def _variant(flip=False, swap=False, wrap=False, bias_times=1, mean=False, first_only=False, padded_mean=False):
    def wrong(x, weight, bias):
        kernel = weight.flip(2, 3) if flip else weight.mT if swap else weight
        if first_only:
            kernel = torch.zeros_like(kernel)
            kernel[:, :, 1, 1] = weight[:, :, 1, 1]
        if wrap:
            height, width = x.shape[2:]
            wide = torch.cat([x[:, :, -1:], x, x[:, :, :1]], dim=2)
            wide = torch.cat([wide[..., -1:], wide, wide[..., :1]], dim=3)
            result = F.conv2d(wide, kernel)[:, :, :height, :width]
        else:
            result = F.conv2d(x, kernel, padding=1)
        if mean:
            result = result / 9
        if padded_mean:
            result = result / F.conv2d(torch.ones_like(x[:, :1]), torch.ones(1, 1, 3, 3), padding=1)
        return result + bias_times * bias[:, None, None]

    return wrong


def _flat_wrap(x, weight, bias):
    """Numbers of pixels shifted by i · width + j: the ends of rows wrap around."""
    height, width = x.shape[2:]
    n, tokens, output = height * width, x.flatten(2).mT, bias
    for i in range(3):
        for j in range(3):
            shift = (i - 1) * width + j - 1
            pixels = torch.arange(n)
            weights = (pixels[None, :] == pixels[:, None] + shift).to(x.dtype)
            output = output + weights @ tokens @ weight[:, :, i, j].T
    return output.mT.unflatten(2, (height, width))


def _not_centered(x, weight, bias):
    """Table (i, j) looks i rows below and j columns to the right."""
    return F.conv2d(F.pad(x, (0, 2, 0, 2)), weight, bias)


def _border_repeated(x, weight, bias):
    return F.conv2d(F.pad(x, (1, 1, 1, 1), mode="replicate"), weight, bias)


def _not_turned_back(x, weight, bias):
    image = convolution(x, weight, bias)
    return image.flatten(2).mT.reshape(image.shape)


def _by_softmax(x, weight, bias):
    """Rows of the tables that should be all 0 spread a weight of 1 over all pixels."""
    inside = F.unfold(torch.ones_like(x), 3, padding=1).unflatten(1, (x.shape[1], 9))
    means = (1 - inside) * x.mean(dim=(2, 3))[:, :, None, None]
    return convolution(x, weight, bias) + torch.einsum("bckn,ock->bon", means, weight.flatten(2)).view(
        x.shape[0], -1, *x.shape[2:]
    )


def _one_kernel_for_all(x, weight, bias):
    neighbors = F.conv2d(x, torch.ones(x.shape[1], 1, 3, 3), padding=1, groups=x.shape[1])
    return torch.einsum("bchw,oc->bohw", neighbors, weight.mean(dim=(2, 3))) + bias[:, None, None]


def _case(batch, channels, out, height, width, about, seed):
    weight = randn(out, channels, 3, 3, seed=seed + 1, scale=0.5)
    return case(randn(batch, channels, height, width, seed=seed), weight, randn(out, seed=seed + 2), about=about)


EXERCISE = Exercise(
    title="A convolution, as attention",
    task="Compute a 3×3 convolution with zero padding from nine tables of attention weights, one for each place in the "
    "kernel: in table (i, j), every pixel gives the weight 1 to its neighbor i − 1 rows below and j − 1 columns to the "
    "right, and 0 to all others. x (batch, channels, height, width), weight (out, channels, 3, 3), bias (out,).",
    reference=convolution,
    cases=lambda: [
        _case(1, 1, 1, 3, 3, "one channel, 3 × 3 pixels", 0),
        _case(2, 3, 5, 4, 7, "all sizes different", 10),
        _case(4, 4, 4, 4, 4, "all sizes equal", 20),
        _case(2, 2, 3, 1, 5, "a single row", 30),
        _case(1, 3, 2, 6, 2, "two columns", 40),
        _case(1, 2, 2, 1, 1, "a single pixel", 50),
    ],
    mistakes=(
        Mistake(
            "kernel-flipped",
            _variant(flip=True),
            "Your kernel is turned by 180°: weight (0, 0) belongs to the neighbor above and to the left.",
        ),
        Mistake(
            "rows-and-columns-exchanged",
            _variant(swap=True),
            "Rows and columns of the kernel are exchanged: weight[:, :, i, j] has its row first.",
        ),
        Mistake(
            "border-wraps",
            _variant(wrap=True),
            "Your image has no border: a pixel at the left edge takes its left neighbor from the right edge. Beyond "
            "the border there is nothing, so those rows of the table are all 0.",
        ),
        Mistake(
            "numbers-wrap",
            _flat_wrap,
            "Your neighbors are found by the numbers of the pixels alone, so the end of a row runs on into the next "
            "row. Compare rows and columns.",
        ),
        Mistake(
            "not-centered",
            _not_centered,
            "Your table (i, j) looks i rows below and j columns to the right. The middle of the kernel, (1, 1), is the "
            "pixel itself: i − 1 and j − 1.",
        ),
        Mistake(
            "border-repeated",
            _border_repeated,
            "At the border your pixels take the nearest pixel of the image for the neighbor that is missing. With zero "
            "padding nothing comes from there: that row of the table is all 0.",
        ),
        Mistake(
            "bias-nine-times",
            _variant(bias_times=9),
            "The bias is added nine times, once for each table. Once is enough.",
        ),
        Mistake("bias-forgotten", _variant(bias_times=0), "The bias is missing."),
        Mistake(
            "mean-of-the-nine",
            _variant(mean=True),
            "You take the mean of the nine tables' outputs. A convolution adds them up.",
        ),
        Mistake(
            "mean-of-the-neighbors",
            _variant(padded_mean=True),
            "You divide by the number of neighbors. A convolution adds them up.",
        ),
        Mistake(
            "one-matrix-for-all",
            _one_kernel_for_all,
            "All neighbors pass through the same matrix. Each place (i, j) in the kernel has its own, "
            "weight[:, :, i, j].",
        ),
        Mistake(
            "not-turned-back",
            _not_turned_back,
            "The sum is right, but it is (batch, height · width, out), and a reshape alone puts the channels of a "
            "pixel side by side as if they were pixels. Exchange the axes first.",
        ),
        Mistake(
            "outside-becomes-the-mean",
            _by_softmax,
            "Where the neighbor lies outside, your row of the table sums to 1 like every row of a softmax, so the mean "
            "of all pixels arrives. With zero padding that row is all 0.",
        ),
        Mistake(
            "last-table-alone",
            lambda x, weight, bias: F.conv2d(F.pad(x, (0, 1, 0, 1)), weight[:, :, 2:, 2:], bias)[:, :, 1:, 1:],
            "Only the last table arrives, that of the neighbor below and to the right. Add up all nine.",
        ),
        Mistake(
            "four-tables",
            lambda x, weight, bias: F.conv2d(F.pad(x, (1, 0, 1, 0)), weight[:, :, :2, :2], bias),
            "Only four of the nine places arrive: 0 and 1 in each direction. i and j run up to 2.",
        ),
        Mistake(
            "middle-alone",
            _variant(first_only=True),
            "Only the pixel itself arrives. The other eight tables are missing.",
        ),
    ),
    hints=(
        "One table first: write the (n, n) table in which each pixel looks at the pixel above it.",
        "Row and column of each pixel are `pixels // width` and `pixels % width`. Table (i, j) is 1 where the key's "
        "row is the query's row + i − 1 and the key's column is the query's column + j − 1.",
        "`weights @ tokens @ weight[:, :, i, j].T` is what table (i, j) adds. Sum over the nine, add the bias once, "
        "and return to an image with `.mT.unflatten(2, (height, width))`.",
    ),
    alternatives=(by_shifting_the_image, with_unfold, by_pytorch),
    difficulty=3,
    minutes=20,
)
