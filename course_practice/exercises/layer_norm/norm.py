import torch

from course_lib.layer_norm import layer_norm
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def with_var_mean(x, gain, bias, eps=1e-5):
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    return (x - mean) * torch.rsqrt(variance + eps) * gain + bias


def _cases():
    one, zero = torch.ones(4), torch.zeros(4)
    return [
        case(torch.tensor([[1.0, 3.0, 1.0, 3.0], [4.0, 4.0, 0.0, 0.0]]), one, zero, about="two tokens by hand"),
        case(torch.tensor([[0.0, 8.0, 6.0, 6.0]]), torch.tensor([3.0, 1.0, 6.0, 9.0]), one, about="gain and bias"),
        case(3 * randn(2, 3, 5, seed=1) + 5, randn(5, seed=2), randn(5, seed=3), about="all sizes different"),
        case(randn(4, 4, 4, seed=4) - 2, randn(4, seed=5), randn(4, seed=6), about="all sizes equal"),
        case(randn(3, 7, seed=7) * 1e-3, torch.ones(7), torch.zeros(7), about="tokens of tiny numbers"),
        case(randn(2, 5, seed=8), torch.ones(5), torch.zeros(5), eps=3.0, about="a large eps"),
        case(torch.full((2, 4), 7.0), one, torch.tensor([1.0, 2.0, 3.0, 4.0]), about="a token of equal numbers"),
        case(torch.tensor([[0.1, 8.3, 0.7, 7.9], [1.2, 5.4, 0.9, 6.1]]) + 1e3, one, zero, about="far from zero"),
    ]


EXERCISE = Exercise(reference=layer_norm, cases=_cases, alternatives=(with_var_mean,), trained=True)
