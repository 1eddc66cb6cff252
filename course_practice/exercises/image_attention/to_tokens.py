from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import counting, randn


def to_tokens(x):
    """(batch, channels, height, width) → (batch, height · width, channels)

    >>> import torch
    >>> to_tokens(torch.tensor([[[[1, 2]], [[10, 20]]]]))    # 1 × 2 pixels
    tensor([[[ 1, 10],
             [ 2, 20]]])
    """
    return x.flatten(start_dim=2).mT


def with_permute(x):
    batch, channels, height, width = x.shape
    return x.permute(0, 2, 3, 1).reshape(batch, height * width, channels)


EXERCISE = Exercise(
    reference=to_tokens,
    cases=lambda: [
        case(counting(1, 2, 1, 3), about="a row of three pixels with two channels"),
        case(counting(1, 3, 2, 2), about="2 × 2 pixels"),
        case(randn(2, 3, 5, 7, seed=1), about="all sizes different"),
        case(randn(4, 4, 4, 4, seed=2), about="all sizes equal"),
        case(randn(3, 1, 2, 5, seed=3), about="a single channel"),
        case(randn(2, 6, 2, 3, seed=4), about="as many channels as pixels"),
    ],
    alternatives=(with_permute,),
)
