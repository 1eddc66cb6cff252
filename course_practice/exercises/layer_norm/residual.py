import torch
from torch.nn import functional as F

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


class Named:
    """A function of a tensor, with a name that a message can show."""

    def __init__(self, name, f):
        self.name, self.f = name, f

    def __call__(self, x):
        return self.f(x)

    def __repr__(self):
        return f"<{self.name}>"


def residual(x, f, norm, norm_first):
    """One step of the stream: x + f(norm(x)) with the norm first (pre-norm), else norm(x + f(x)) (post-norm).

    >>> residual(torch.tensor([1.0, 3.0]), lambda y: 10 * y, norm=lambda y: y - y.mean(), norm_first=True)
    tensor([-9., 13.])
    """
    if norm_first:
        return x + f(norm(x))
    return norm(x + f(x))


def in_one_line(x, f, norm, norm_first):
    return x + f(norm(x)) if norm_first else norm(x + f(x))


def _layer_norm(x):
    return F.layer_norm(x, x.shape[-1:])


def _cases():
    norm = Named("layer norm", _layer_norm)
    by_hand = torch.tensor([[1.0, 3.0, 1.0, 3.0]])
    adds = Named("adds (-2, 2, 4, 0)", lambda y: y + torch.tensor([-2.0, 2.0, 4.0, 0.0]))
    ten, silent = Named("10 times", lambda y: 10 * y), Named("zeros", torch.zeros_like)
    shift = Named("halves and adds 1", lambda y: y / 2 + 1)
    weight = randn(5, 5, seed=1)
    bent = Named("a linear layer and a tanh", lambda y: torch.tanh(y @ weight))
    reverse = Named("reverses the tokens", lambda y: 3 * y.flip(1) + 1)
    found = []
    for norm_first in (True, False):
        where = "norm first" if norm_first else "norm after"
        found += [
            case(by_hand, adds, norm, norm_first, about=f"by hand, {where}"),
            case(by_hand * 2, ten, norm, norm_first, about=f"f multiplies by 10, {where}"),
            case(3 * randn(2, 3, 4, seed=2) + 1, silent, norm, norm_first, about=f"f gives zeros, {where}"),
            case(2 * randn(2, 3, 5, seed=3) + 1, bent, norm, norm_first, about=f"all sizes different, {where}"),
            case(randn(4, 4, 4, seed=4) + 2, reverse, norm, norm_first, about=f"all sizes equal, {where}"),
            case(randn(2, 3, seed=5) + 2, ten, shift, norm_first, about=f"another norm, {where}"),
        ]
    return found


EXERCISE = Exercise(reference=residual, cases=_cases, alternatives=(in_one_line,), trained=True)
