import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import counting


def relative_bias(n, table):
    """A table (n, n) for the scores: entry (i, j) depends on j − i alone.

    `table` holds 2c + 1 numbers, for the distances −c … c; what is farther
    away counts as −c or c.

    >>> relative_bias(3, torch.tensor([-1.0, 0.0, 1.0]))
    tensor([[ 0.,  1.,  1.],
            [-1.,  0.,  1.],
            [-1., -1.,  0.]])
    """
    c = len(table) // 2
    position = torch.arange(n)
    distance = position[None, :] - position[:, None]
    return table[distance.clamp(-c, c) + c]


def by_min_and_max(n, table):
    c = (table.shape[0] - 1) // 2
    return torch.stack([torch.stack([table[min(max(j - i, -c), c) + c] for j in range(n)]) for i in range(n)])


EXERCISE = Exercise(
    reference=relative_bias,
    cases=lambda: [
        case(3, counting(5) + 1.5, about="all distances in the table"),
        case(5, counting(5) + 1.5, about="distances beyond the table"),
        case(2, counting(3) - 3.5, about="two tokens"),
        case(7, counting(7).square() + 2.5, about="as many numbers as tokens"),
        case(4, counting(1) + 6.5, about="one number for all"),
        case(1, counting(9) + 1.5, about="a single token"),
        case(9, counting(3) - 5.5, about="far beyond the table"),
    ],
    alternatives=(by_min_and_max,),
    trained=True,
)
