import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn as words


def add_positions(x, table, offset=0):
    """x (batch, n, d_model) plus rows offset … offset + n − 1 of the table.

    >>> table = torch.tensor([[0.0], [10.0], [20.0], [30.0]])
    >>> add_positions(torch.tensor([[[1.0], [2.0]]]), table, offset=1)
    tensor([[[11.],
             [22.]]])
    """
    n = x.shape[1]
    return x + table[offset : offset + n]


def by_gathering(x, table, offset=0):
    position = torch.arange(offset, offset + x.size(1))
    return x + table[position].unsqueeze(0)


EXERCISE = Exercise(
    reference=add_positions,
    cases=lambda: [
        case(words(1, 3, 2), words(5, 2, seed=1), about="one sentence"),
        case(words(2, 4, 3, seed=2), words(7, 3, seed=3), about="two sentences"),
        case(words(2, 1, 3, seed=4), words(9, 3, seed=5), offset=5, about="one new token after five"),
        case(words(3, 3, 4, seed=6), words(10, 4, seed=7), offset=2, about="as many sentences as tokens"),
        case(words(2, 2, 3, seed=8), words(6, 3, seed=9), offset=4, about="the last rows of the table"),
        case(words(4, 4, 4, seed=10), words(4, 4, seed=11), about="all sizes equal"),
        case(words(4, 6, 2, seed=12), words(6, 2, seed=13), 0, about="as many positions as the table has"),
    ],
    alternatives=(by_gathering,),
    trained=("x",),
)
