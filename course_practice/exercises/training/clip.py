"""Exercise: clip the gradient."""

import math

import torch
from torch import nn

from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def clip(grads, most):
    """The gradients, scaled by one factor so that the norm of all of them together is at most `most`."""
    norm = torch.sqrt(sum(grad.square().sum() for grad in grads))
    factor = min(1.0, most / norm)
    return tuple(factor * grad for grad in grads)


def as_one_vector(grads, most):
    norm = torch.cat([grad.flatten() for grad in grads]).norm().item()
    return [grad * (most / norm) if norm > most else grad.clone() for grad in grads]


def norm_of_norms(grads, most):
    norms = torch.stack([torch.linalg.vector_norm(grad) for grad in grads])
    return [grad * (most / (norms.norm() + 1e-6)).clamp(max=1.0) for grad in grads]


def with_pytorchs_function(grads, most):
    parameters = [nn.Parameter(torch.zeros_like(grad)) for grad in grads]
    for parameter, grad in zip(parameters, grads, strict=True):
        parameter.grad = grad.clone()
    nn.utils.clip_grad_norm_(parameters, most)
    return [parameter.grad for parameter in parameters]


def _scaled(factor):
    """Every gradient times `factor(norm of all, most)`."""

    def answer(grads, most):
        norm = math.sqrt(sum(grad.double().square().sum().item() for grad in grads))
        return tuple(grad * factor(norm, most) for grad in grads)

    return answer


def _by_size(size):
    """Clipped by another measure of how large the gradients are."""

    def answer(grads, most):
        return tuple(grad * min(1.0, most / size(torch.cat([g.flatten() for g in grads])).item()) for grad in grads)

    return answer


def _each_alone(grads, most):
    return tuple(clip([grad], most)[0] for grad in grads)


def _by_value(grads, most):
    return tuple(grad.clamp(-most, most) for grad in grads)


def _sum_of_norms(grads, most):
    factor = min(1.0, most / sum(grad.norm().item() for grad in grads))
    return tuple(grad * factor for grad in grads)


def _largest_norm(grads, most):
    factor = min(1.0, most / max(grad.norm().item() for grad in grads))
    return tuple(grad * factor for grad in grads)


def _cases():
    return [
        case([torch.tensor([2.0]), torch.tensor([3.0, 6.0])], 1.0, about="norm 7, to 1"),
        case([torch.tensor([2.0]), torch.tensor([3.0, 6.0])], 8.0, about="norm 7, at most 8"),
        case([torch.tensor([2.0]), torch.tensor([3.0, 6.0])], 7.0, about="exactly as large as allowed"),
        case([torch.tensor([0.3, 0.4])], 0.25, about="norm ½, to ¼"),
        case([torch.tensor([0.3, 0.4])], 1.0, about="norm ½, at most 1"),
        case([randn(3, 5, seed=1), randn(5, seed=2), randn(2, 2, 2, seed=3)], 1.5, about="three tensors"),
        case([torch.tensor([-3.0]), torch.tensor([0.0, -4.0])], 1.0, about="negative gradients"),
        case([torch.tensor([1e3, 2e3]), torch.tensor([2e3])], 1.0, about="one spoiled batch"),
    ]


EXERCISE = Exercise(
    title="Clip the gradient",
    task="Return the gradients scaled by one common factor, so that the norm of all their numbers together is at most "
    "`most`; smaller ones stay as they are.",
    reference=clip,
    cases=_cases,
    mistakes=(
        Mistake(
            "each-tensor-alone",
            _each_alone,
            "You clip each tensor by its own norm, so that the direction of the step changes: small tensors gain "
            "weight against large ones. There is one norm, of all the numbers together.",
        ),
        Mistake(
            "by-value",
            _by_value,
            "You cut each number at ±most, which turns the direction of the step. Scale all the numbers by one factor.",
        ),
        Mistake(
            "small-ones-scaled-up",
            _scaled(lambda norm, most: most / norm),
            "Right where the norm is too large. Where it is smaller than `most`, your gradients grow: the factor is at "
            "most 1.",
        ),
        Mistake(
            "to-norm-one",
            _scaled(lambda norm, most: 1 / norm if norm > most else 1.0),
            "A gradient that is too large comes out with norm 1. It should have the norm `most`.",
        ),
        Mistake(
            "times-most",
            _scaled(lambda norm, most: min(1.0, most * norm) if norm > most else 1.0),
            "Your factor grows with the norm: it is `most` divided by the norm.",
        ),
        Mistake(
            "only-small-ones",
            _scaled(lambda norm, most: max(1.0, most / norm)),
            "Your factor is never below 1, so large gradients stay large and small ones grow: of 1 and most / norm, "
            "take the smaller.",
        ),
        Mistake(
            "squared-norm",
            _by_size(lambda numbers: numbers.square().sum()),
            "You compare the *square* of the norm with `most`: take its root.",
        ),
        Mistake(
            "sum-of-absolute-values",
            _by_size(lambda numbers: numbers.abs().sum()),
            "Your norm is the sum of the absolute values. Here it is the root of the sum of squares.",
        ),
        Mistake(
            "largest-number",
            _by_size(lambda numbers: numbers.abs().max()),
            "You measure by the largest number. Here the norm is the root of the sum of squares.",
        ),
        Mistake(
            "root-mean-square",
            _by_size(lambda numbers: numbers.square().mean().sqrt()),
            "You take the *mean* of the squares. The norm is the root of their sum.",
        ),
        Mistake(
            "plain-sum",
            _by_size(lambda numbers: numbers.sum().abs()),
            "You add up the numbers themselves, and their signs cancel. Square them first.",
        ),
        Mistake(
            "sum-of-norms",
            _sum_of_norms,
            "You add up the norms of the tensors, which is more than the norm of all together: add up their squares, "
            "then take one root.",
        ),
        Mistake(
            "largest-norm",
            _largest_norm,
            "You measure by the largest of the tensors alone. The norm is over all the numbers together.",
        ),
        Mistake(
            "thrown-away",
            _scaled(lambda norm, most: 1.0 if norm <= most else 0.0),
            "A gradient that is too large comes out as 0. It should keep its direction, and have the norm `most`.",
        ),
        Mistake(
            "one-long-tensor",
            lambda grads, most: torch.cat([grad.flatten() for grad in clip(grads, most)]),
            "The numbers are right, but they stand in one long tensor. Each gradient keeps its shape: return a list.",
        ),
        Mistake(
            "norm-handed-back",
            lambda grads, most: torch.sqrt(sum(grad.square().sum() for grad in grads)),
            "You return the norm. Return the gradients, each multiplied by the factor.",
        ),
    ),
    hints=(
        "One number decides: the norm of *all* the gradients, as if they were one long vector.",
        "Its square is the sum of `grad.square().sum()` over all tensors. The factor is most / norm, but never above "
        "1.",
        "`factor = min(1.0, most / norm)`, and then a list with `factor * grad` for each tensor.",
    ),
    alternatives=(as_one_vector, norm_of_norms, with_pytorchs_function),
    difficulty=1,
    minutes=8,
)
