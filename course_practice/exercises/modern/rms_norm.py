import torch
from torch.nn import functional as F

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def rms_norm(x, gain, eps=1e-6):
    """gain · x / √(mean of the squares + eps), for each token alone.

    >>> rms_norm(torch.tensor([1.0, 7.0]), gain=torch.ones(2))
    tensor([0.2000, 1.4000])
    """
    mean_square = x.square().mean(dim=-1, keepdim=True)
    return gain * x / (mean_square + eps).sqrt()


def with_pytorchs_function(x, gain, eps=1e-6):
    return F.rms_norm(x, x.shape[-1:], gain, eps)


def _cases():
    one = torch.ones(4)
    return [
        case(torch.tensor([[1.0, 7.0], [-3.0, 4.0]]), torch.ones(2), about="two tokens by hand"),
        case(torch.tensor([[2.0, -2.0, 2.0, 2.0]]), torch.tensor([3.0, 1.0, 6.0, 9.0]), about="a gain"),
        case(3 * randn(2, 3, 5, seed=1) + 5, randn(5, seed=2), about="all sizes different"),
        case(randn(4, 4, 4, seed=4) - 2, randn(4, seed=5), about="all sizes equal"),
        case(randn(3, 7, seed=7) * 1e-3, torch.ones(7), about="tokens of tiny numbers"),
        case(randn(2, 5, seed=8), torch.ones(5), eps=3.0, about="a large eps"),
        case(torch.zeros(2, 4), one, about="tokens of zeros"),
        case(randn(2, 3, 4, 6, seed=9), randn(6, seed=10), about="four axes"),
    ]


EXERCISE = Exercise(reference=rms_norm, cases=_cases, alternatives=(with_pytorchs_function,), trained=True)
