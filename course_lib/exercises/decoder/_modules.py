"""Give a layer that a learner wrote the same numbers as the reference's, whatever its parts are called."""

from collections.abc import Callable

import torch
from torch import nn

from course_lib.exercises.inputs import randn


def module_of(made: object) -> nn.Module:
    """What was made, if it is a module; else an error that says what was expected."""
    if isinstance(made, nn.Module):
        return made
    what = f"the class {made.__name__} itself" if isinstance(made, type) else f"a {type(made).__name__}"
    raise TypeError(f"expected a module, an object of a subclass of nn.Module, got {what}")


@torch.no_grad()
def fill(module: nn.Module, run_once: Callable, d_model: int, d_ff: int) -> None:
    """Number the square matrices and the norms in the order in which they run, and fill each by its number.

    Two parts that should be two and are one get one number, so that the layer's output tells.
    """
    _refuse_plain_lists(module)
    square, norm = 0, 0
    for part in _in_order(module, run_once):
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


def _refuse_plain_lists(module: nn.Module) -> None:
    """Say so where parts stand in a list that PyTorch does not look into."""
    known = set(module.modules())
    for owner in known:
        for name, value in vars(owner).items():
            parts = list(value.values()) if isinstance(value, dict) else value
            if name.startswith("_") or not isinstance(parts, list | tuple):
                continue
            if any(isinstance(part, nn.Module) and part not in known for part in parts):
                raise TypeError(
                    f"expected the parts in nn.ModuleList, got a plain {type(value).__name__} `{name}`: PyTorch does "
                    "not find their parameters, so no optimizer would train them; wrap it in nn.ModuleList"
                )


def _square(number: int, d_model: int) -> torch.Tensor:
    return randn(d_model, d_model, seed=10 + number, scale=1.5 * d_model**-0.5)


def _bias(number: int, d_model: int) -> torch.Tensor:
    return randn(d_model, seed=50 + number, scale=0.3)


def _fill(parameter: nn.Parameter | None, parts: list[torch.Tensor]) -> None:
    if parameter is not None:
        parameter.copy_(torch.cat(parts))


def _in_order(module: nn.Module, run_once: Callable) -> list[nn.Module]:
    """The parts that hold parameters, in the order in which they first run; those that never run come last."""
    found = _holders(module)
    ran: list[nn.Module] = []

    def note(part: nn.Module, _inputs: tuple) -> None:
        if part not in ran:
            ran.append(part)

    handles = [part.register_forward_pre_hook(note) for part in found]
    try:
        run_once()
    finally:
        for handle in handles:
            handle.remove()
    return [*ran, *(part for part in found if part not in ran)]


def _holders(module: nn.Module) -> list[nn.Module]:
    if isinstance(module, nn.MultiheadAttention):
        return [module]
    own = list(module.named_parameters(recurse=False))
    matrices = [name for name, parameter in own if parameter.dim() > 1]
    if matrices and not isinstance(module, nn.Linear):
        raise TypeError(
            f"expected matrices in modules such as nn.Linear or MultiHeadAttention, got the parameter "
            f"`{matrices[0]}` in {type(module).__name__}: build the layer from modules, so that it can be given weights"
        )
    found = [module] if own else []
    return found + [part for child in module.children() for part in _holders(child)]
