import torch

from course_lib.multi_head import split_heads
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import counting, randn


def split_heads_starter(x, n_heads):
    d_k = x.shape[-1] // n_heads
    cut = x.unflatten(-1, (..., d_k))
    return cut.transpose(..., ...)


def chunk_and_stack(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


EXERCISE = Exercise(
    reference=split_heads,
    starter=split_heads_starter,
    cases=lambda: [
        case(counting(1, 2, 4), 2, about="two tokens, two heads of two features"),
        case(counting(1, 3, 6), 2, about="two heads of three features"),
        case(randn(2, 5, 21), 3, about="three heads of seven features"),
        case(randn(3, 4, 10, seed=1), 5, about="five heads of two features"),
        case(randn(4, 4, 4, seed=2), 2, about="as many sentences as tokens as features"),
        case(randn(2, 3, 12, seed=3), 3, about="as many heads as tokens"),
        case(randn(2, 3, 5, seed=4), 1, about="one head"),
    ],
    alternatives=(chunk_and_stack,),
    trained=True,
)
