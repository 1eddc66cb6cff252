import torch
from torch.nn import functional as F

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn
from course_practice.exercises.layer_norm.residual import Named


def pre_norm_stack(x, sublayers):
    """A pre-norm stack: each of the functions `sublayers` reads the normalized stream; gains are 1, biases 0."""

    def norm(x):
        mean = x.mean(dim=-1, keepdim=True)
        variance = x.var(dim=-1, keepdim=True, unbiased=False)
        return (x - mean) / (variance + 1e-5).sqrt()

    for f in sublayers:
        x = x + f(norm(x))
    return norm(x)


def with_pytorchs_function(x, sublayers):
    for f in sublayers:
        x = x + f(F.layer_norm(x, x.shape[-1:]))
    return F.layer_norm(x, x.shape[-1:])


def _cases():
    def mixes(d, seed):
        weight = randn(d, d, seed=seed)
        return Named("a linear layer and a tanh", lambda y: 2 * torch.tanh(y @ weight) + 0.5)

    adds = Named("adds (-2, 2, 4, 0)", lambda y: y + torch.tensor([-2.0, 2.0, 4.0, 0.0]))
    zeros, reverse = Named("zeros", torch.zeros_like), Named("reverses the tokens", lambda y: 3 * y.flip(1) + 1)
    return [
        case(torch.tensor([[[1.0, 3.0, 1.0, 3.0], [0.0, 8.0, 6.0, 6.0]]]), [adds], about="one layer"),
        case(3 * randn(2, 3, 4, seed=1) + 1, [zeros, zeros], about="two layers that add nothing"),
        case(2 * randn(2, 3, 5, seed=2) - 1, [mixes(5, 3), mixes(5, 4)], about="all sizes different"),
        case(randn(3, 3, 3, seed=5) + 2, [mixes(3, 6), reverse], about="all sizes equal"),
        case(randn(1, 4, 6, seed=7), [mixes(6, 8), reverse, mixes(6, 9)], about="three layers"),
        case(0.01 * randn(1, 3, 4, seed=10), [zeros], about="small numbers, and a layer that adds nothing"),
    ]


EXERCISE = Exercise(reference=pre_norm_stack, cases=_cases, alternatives=(with_pytorchs_function,), trained=True)
