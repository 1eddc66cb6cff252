"""Exercise: is a difference real? An interval from paired runs."""

import statistics

import numpy as np
import torch

from course_practice.engine import Convention, Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def interval(base, arm, t=2.776):
    """The mean difference arm − base of losses paired by seed, and half the width of its interval: t · s / √n."""
    differences = torch.tensor(arm) - torch.tensor(base)
    half = t * differences.std() / len(differences) ** 0.5
    return differences.mean(), half


def with_plain_python(base, arm, t=2.776):
    differences = [float(a) - float(b) for a, b in zip(arm, base, strict=True)]
    return statistics.mean(differences), t * statistics.stdev(differences) / len(differences) ** 0.5


def with_numpy(base, arm, t=2.776):
    differences = np.asarray(arm) - np.asarray(base)
    return differences.mean(), t * differences.std(ddof=1) / np.sqrt(differences.size)


def from_the_squares(base, arm, t=2.776):
    d, n = [a - b for a, b in zip(arm, base, strict=True)], len(base)
    mean = sum(d) / n
    variance = sum((x - mean) ** 2 for x in d) / (n - 1)
    return mean, t * (variance / n) ** 0.5


def _interval(spread=lambda d: d.std(), root=lambda n: n**0.5, sign=1.0, factor=lambda t: t):
    """The interval with one of its parts exchanged."""

    def answer(base, arm, t=2.776):
        d = sign * (torch.tensor(arm) - torch.tensor(base))
        return d.mean(), factor(t) * spread(d) / root(len(d))

    return answer


def _unpaired(base, arm, t=2.776):
    base, arm = torch.tensor(base), torch.tensor(arm)
    return arm.mean() - base.mean(), t * ((base.var() + arm.var()) / len(base)) ** 0.5


def _arm_alone(base, arm, t=2.776):
    mean, _ = interval(base, arm, t)
    return mean, t * torch.tensor(arm).std() / len(arm) ** 0.5


def _ends(base, arm, t=2.776):
    mean, half = interval(base, arm, t)
    return mean - half, mean + half


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


EXERCISE = Exercise(
    title="Is the difference real?",
    task="Return the mean of the differences arm − base, paired by seed, and t · s / √n, where s is their standard "
    "deviation with n − 1.",
    reference=interval,
    call=_as_pair,
    cases=_cases,
    mistakes=(
        Mistake(
            "not-paired",
            _unpaired,
            "Your half width comes from the spread of each arm by itself. Runs with the same seed share their start "
            "and their batches: take the differences first, then *their* standard deviation.",
        ),
        Mistake(
            "divided-by-n",
            _interval(spread=lambda d: d.std(correction=0)),
            "Your standard deviation divides by n. Here, as for every sample, divide by n − 1.",
        ),
        Mistake(
            "no-root-of-n",
            _interval(root=lambda n: 1.0),
            "That is how far single seeds scatter. The mean of n seeds scatters less: divide by √n.",
        ),
        Mistake(
            "n-without-the-root",
            _interval(root=lambda n: n),
            "You divide by n. The mean of n seeds scatters √n times less.",
        ),
        Mistake(
            "variance",
            _interval(spread=lambda d: d.var()),
            "You use the variance. Its root is in the unit of the losses.",
        ),
        Mistake(
            "base-minus-arm",
            _interval(sign=-1.0),
            "The sign is turned: the difference is arm − base, so that + means a higher loss than the base's.",
        ),
        Mistake(
            "t-left-out",
            _interval(factor=lambda t: 1.0),
            "Your half width is one standard error. Multiply it by t: with few seeds, one standard error is missed "
            "far too often.",
        ),
        Mistake(
            "made-for-five-seeds",
            _interval(factor=lambda t: 2.776, root=lambda n: 5**0.5),
            "Right for five seeds alone. Take the argument `t` instead of 2.776, and the number of the differences "
            "instead of 5.",
        ),
        Mistake(
            "whole-width",
            _interval(factor=lambda t: 2 * t),
            "That is the whole width of the interval. Return half of it, what stands after ±.",
        ),
        Convention(
            "the-two-ends",
            _ends,
            "Right, as the two ends of the interval. Here we want its middle and half of its width, as in .15 ± .06.",
        ),
        Mistake(
            "spread-of-the-arm",
            _arm_alone,
            "Your half width comes from the arm alone. Take the standard deviation of the *differences*.",
        ),
    ),
    hints=(
        "Seed by seed: by how much does the arm differ from the base? These few differences are all that you need.",
        "`differences = torch.tensor(arm) - torch.tensor(base)`. Their `mean()` is the first result. PyTorch's `std()` "
        "divides by n − 1.",
        "`half = t * differences.std() / len(differences) ** 0.5`",
    ),
    alternatives=(from_the_squares, with_plain_python, with_numpy),
    difficulty=1,
    minutes=6,
)
