"""Give a layer that a learner wrote the same numbers as the reference's, whatever its parts are called."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from course_practice.assembly.modules import bare_parameters, in_order, refuse_plain_lists
from course_practice.assembly.weights import weights_by_role
from course_practice.exercises.inputs import randn


@torch.no_grad()
def fill(module: nn.Module, run_once: Callable, d_model: int, d_ff: int) -> None:
    """Number the square matrices and the norms in the order in which they run, and fill each by its number.

    Two parts that should be two and are one get one number, so that the layer's output tells.
    """
    refuse_plain_lists(module)
    packed = [(n * d_model, d_model) for n in (2, 3) if n * d_model != d_ff]
    if bare_parameters(module) or any(p.shape in packed for p in _weights_of_linears(module)):
        _fill_by_role(weights_by_role(module, run_once, d_model, d_ff), d_model)
        return
    square, norm = 0, 0
    for part in in_order(_holders(module), run_once):
        if isinstance(part, nn.MultiheadAttention):
            _fill(part.in_proj_weight, [_square(square + i, d_model) for i in range(3)])
            _fill(part.in_proj_bias, [_bias(square + i, d_model) for i in range(3)])
            _fill(part.out_proj.weight, [_square(square + 3, d_model)])
            _fill(part.out_proj.bias, [_bias(square + 3, d_model)])
            square += 4
        elif isinstance(part, nn.Linear):
            shape = tuple(part.weight.shape)
            if shape == (d_model, d_model):
                weight, bias = _square(square, d_model), _bias(square, d_model)
                square += 1
            else:
                weight, bias = randn(*shape, seed=90, scale=shape[1] ** -0.5), randn(shape[0], seed=91, scale=0.5)
            _fill(part.weight, [weight])
            _fill(part.bias, [bias])
        else:
            norm += 1
            for parameter in part.parameters(recurse=False):
                gain = bool((parameter == 1).all())
                noise = randn(*parameter.shape, seed=100 + 2 * norm + gain, scale=0.3)
                parameter.copy_(1 + noise if gain else noise)


def _weights_of_linears(module: nn.Module) -> list[Tensor]:
    return [part.weight for part in module.modules() if isinstance(part, nn.Linear)]


def _fill_by_role(weights: dict[str, Tensor], d_model: int) -> None:
    """The same numbers for a layer with bare matrices, or with several matrices in one linear layer."""
    for name, weight in weights.items():
        number = int(name.split()[-1]) if name[-1].isdigit() and " " in name else 0
        if name.startswith("square matrix"):
            weight.copy_(_square(number - 1, d_model))
        elif name.startswith("its bias"):
            weight.copy_(_bias(number - 1, d_model))
        elif "norm" in name:
            gain = "gain" in name
            weight.copy_(randn(*weight.shape, seed=100 + 2 * number + gain, scale=0.3) + gain)
        elif name.startswith("W"):
            weight.copy_(randn(*weight.shape, seed=90, scale=weight.shape[1] ** -0.5))
        else:
            weight.copy_(randn(*weight.shape, seed=91, scale=0.5))


def _square(number: int, d_model: int) -> Tensor:
    return randn(d_model, d_model, seed=10 + number, scale=1.5 * d_model**-0.5)


def _bias(number: int, d_model: int) -> Tensor:
    return randn(d_model, seed=50 + number, scale=0.3)


def _fill(parameter: nn.Parameter | None, parts: list[Tensor]) -> None:
    if parameter is not None:
        parameter.copy_(torch.cat(parts))


def _holders(module: nn.Module) -> list[nn.Module]:
    if isinstance(module, nn.MultiheadAttention):
        return [module]
    found = [module] if next(module.parameters(recurse=False), None) is not None else []
    return found + [part for child in module.children() for part in _holders(child)]
