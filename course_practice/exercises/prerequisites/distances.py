import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def distances(x, y):
    """The squared distance of every row of x (n, d) from every row of y (m, d), as a table (n, m).

    >>> distances(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [1.0, 0.0]]))
    tensor([[25.,  1.]])
    """
    return (x[:, None] - y).square().sum(dim=-1)


def row_by_row(x, y):
    return torch.stack([torch.stack([((row - other) ** 2).sum() for other in y]) for row in x])


def _rows(n, m, d, about, seed=0):
    return case(randn(n, d, seed=seed), randn(m, d, seed=seed + 1), about=about)


EXERCISE = Exercise(
    reference=distances,
    cases=lambda: [
        case(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [1.0, 0.0]]), about="one row against two"),
        _rows(3, 5, 2, "all sizes different", seed=2),
        _rows(4, 2, 7, "fewer rows in y than in x", seed=4),
        _rows(3, 3, 3, "all sizes equal", seed=6),
        _rows(2, 4, 1, "a single feature", seed=8),
    ],
    alternatives=(row_by_row,),
)
