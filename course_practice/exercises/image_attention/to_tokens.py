"""Exercise: an image as tokens."""

import torch

from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import counting, randn


def to_tokens(x):
    """(batch, channels, height, width) → (batch, height · width, channels)

    >>> to_tokens(torch.tensor([[[[1, 2]], [[10, 20]]]]))    # 1 × 2 pixels
    tensor([[[ 1, 10],
             [ 2, 20]]])
    """
    return x.flatten(start_dim=2).mT


def with_permute(x):
    batch, channels, height, width = x.shape
    return x.permute(0, 2, 3, 1).reshape(batch, height * width, channels)


def with_einsum(x):
    return torch.einsum("bchw->bhwc", x).flatten(1, 2)


def pixel_by_pixel(x):
    _batch, _channels, height, width = x.shape
    return torch.stack([x[:, :, row, column] for row in range(height) for column in range(width)], dim=1)


EXERCISE = Exercise(
    title="An image as tokens",
    task="Turn an image (batch, channels, height, width) into tokens (batch, height · width, channels), row after "
    "row: token row · width + column holds the channels of that pixel.",
    reference=to_tokens,
    cases=lambda: [
        case(counting(1, 2, 1, 3), about="a row of three pixels with two channels"),
        case(counting(1, 3, 2, 2), about="2 × 2 pixels"),
        case(randn(2, 3, 5, 7, seed=1), about="all sizes different"),
        case(randn(4, 4, 4, 4, seed=2), about="all sizes equal"),
        case(randn(3, 1, 2, 5, seed=3), about="a single channel"),
        case(randn(2, 6, 2, 3, seed=4), about="as many channels as pixels"),
    ],
    mistakes=(
        Mistake(
            "cut-without-moving",
            lambda x: x.reshape(x.shape[0], -1, x.shape[1]),
            "The shape is right, but the numbers are only cut anew in their old order, so token 0 holds the first "
            "pixels of channel 0. The channels have to *move* to the end.",
        ),
        Mistake(
            "channels-first",
            lambda x: x.flatten(2),
            "Your result is (batch, channels, height · width): its rows are channels. The rows should be pixels.",
        ),
        Mistake(
            "column-after-column",
            lambda x: x.transpose(2, 3).flatten(2).mT,
            "Your tokens run down the columns. Row after row, the token after pixel (0, 0) is pixel (0, 1).",
        ),
        Mistake(
            "not-joined",
            lambda x: x.permute(0, 2, 3, 1),
            "The channels are last, as they should be. Height and width are still two axes: join them.",
        ),
        Mistake(
            "batch-joined-too",
            lambda x: x.permute(0, 2, 3, 1).reshape(-1, x.shape[1]),
            "The images of the batch have run together. Only height and width should be joined.",
        ),
        Mistake(
            "everything-joined",
            lambda x: x.flatten(1),
            "All numbers of an image are in one row now. Join only height and width.",
        ),
        Mistake(
            "channels-averaged",
            lambda x: x.double().mean(dim=1).flatten(1),
            "You take the mean of the channels. A token keeps all of them, as its vector.",
        ),
        Mistake(
            "first-image-alone",
            lambda x: x[0].flatten(1).T,
            "Only the first image of the batch comes back. The batch stays as the first axis.",
        ),
        Mistake(
            "rows-from-below",
            lambda x: x.flip(2).flatten(2).mT,
            "Your first token is the pixel at the bottom left. Token 0 is pixel (0, 0), the first of the first row.",
        ),
        Mistake(
            "channels-mirrored",
            lambda x: x.flip(1).flatten(2).mT,
            "The pixels are in order, but the channels of each come out in reverse.",
        ),
    ),
    hints=(
        "Two steps: join two neighboring axes, and exchange two axes.",
        "`flatten(start_dim=2)` leaves (batch, channels, height · width). Which two axes change places?",
        "`x.flatten(start_dim=2)`, and then `.mT`, or `.transpose(1, 2)`, exchanges the last two axes.",
    ),
    alternatives=(with_permute, with_einsum, pixel_by_pixel),
    difficulty=1,
    minutes=5,
)
