import torch

from course_lib.masks import causal_mask
from course_practice.engine import Exercise, case
from course_practice.exercises.masks._shared import one_infinity


def by_comparing_positions(n):
    positions = torch.arange(n)
    return positions[None, :] <= positions[:, None]


EXERCISE = Exercise(
    reference=causal_mask,
    cases=lambda: [case(n, about=f"{n} token{'s' * (n != 1)}") for n in (1, 2, 3, 5, 8, 70)],
    canonical=one_infinity,
    alternatives=(by_comparing_positions,),
)
