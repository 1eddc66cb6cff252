import numpy as np
import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def interval(base, arm, t=2.776):
    """The mean difference arm − base of losses paired by seed, and half the width of its interval: t · s / √n."""
    differences = torch.tensor(arm) - torch.tensor(base)
    half = t * differences.std() / len(differences) ** 0.5
    return differences.mean(), half


def from_the_squares(base, arm, t=2.776):
    d, n = [a - b for a, b in zip(arm, base, strict=True)], len(base)
    mean = sum(d) / n
    variance = sum((x - mean) ** 2 for x in d) / (n - 1)
    return mean, t * (variance / n) ** 0.5


def _as_pair(obj, given):
    """An array or a tensor of two numbers is a pair as well."""
    found = obj(*given.args, **given.kwargs)
    return tuple(found) if isinstance(found, np.ndarray | torch.Tensor) and found.shape == (2,) else found


def _cases():
    base = [0.5, 0.6, 0.4, 0.7, 0.3]
    return [
        case(base, [0.6, 0.8, 0.5, 0.9, 0.45], about="differences .1 .2 .1 .2 .15"),
        case(base, [0.75, 0.85, 0.65, 0.95, 0.55], about="the same difference five times"),
        case(base, base[::-1], about="no difference on average"),
        case([1.0, 3.0], [2.0, 6.0], t=12.706, about="two seeds"),
        case(randn(10, seed=1).tolist(), randn(10, seed=2).tolist(), t=2.262, about="ten seeds"),
        case([9.0, 8.0, 7.5, 9.5, 8.5], [7.0, 7.5, 6.0, 7.0, 8.0], t=1.0, about="an arm that is better"),
    ]


EXERCISE = Exercise(reference=interval, call=_as_pair, cases=_cases, alternatives=(from_the_squares,))
