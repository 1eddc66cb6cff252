"""What a module that a learner wrote is made of, whatever its parts are called."""

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

LINEAR = (nn.Linear, nn.modules.conv._ConvNd)
TURNED = (torch.Tensor.T.__get__, torch.Tensor.mT.__get__, Tensor.t, Tensor.transpose, torch.t, torch.transpose)


def module_of(made: object) -> nn.Module:
    """What was made, if it is a module; else an error that says what was expected."""
    if isinstance(made, nn.Module):
        return made
    what = f"the class {made.__name__} itself" if isinstance(made, type) else f"a {type(made).__name__}"
    raise TypeError(f"expected a module, an object of a subclass of nn.Module, got {what}")


def refuse_plain_lists(module: nn.Module) -> None:
    """Say so where parts stand in a list that PyTorch does not look into."""
    known = set(module.modules())
    for owner in known:
        for name, value in vars(owner).items():
            if name.startswith("_") or not isinstance(value, list | tuple | dict):
                continue
            parts = value.values() if isinstance(value, dict) else value
            if any(isinstance(part, nn.Module) and part not in known for part in parts):
                raise TypeError(
                    f"expected the parts in nn.ModuleList, got a plain {type(value).__name__} `{name}`: PyTorch does "
                    "not find their parameters, so no optimizer would train them; wrap it in nn.ModuleList"
                )


def refuse_chance(run: Callable[[], Any]) -> None:
    """Say so where a module in evaluation answers the same input in two ways."""
    once, again = run(), run()
    if not all(isinstance(made, Tensor) for made in (once, again)) or once.shape != again.shape:
        return
    if not torch.allclose(once, again, equal_nan=True):
        raise ValueError(
            "expected the same output each time in evaluation, got another one: numbers are dropped there, too; use "
            "nn.Dropout, or hand `training=self.training` to `F.dropout`"
        )


def is_attention(module: nn.Module) -> bool:
    """PyTorch's, or the course's: four linear layers under its names, whichever notebook defines the class."""
    parts = module._modules
    ours = parts.keys() == {"w_q", "w_k", "w_v", "w_o"} and all(isinstance(part, nn.Linear) for part in parts.values())
    return ours or isinstance(module, nn.MultiheadAttention)


def is_norm(module: nn.Module) -> bool:
    """A gain and a bias, two vectors of one length, and nothing else."""
    own = [] if module._modules else [p.shape for p in module._parameters.values() if p is not None]
    return len(own) == 2 and own[0] == own[1] and len(own[0]) == 1  # a search asks it thousands of times


def gain_and_bias(norm: nn.Module) -> list[nn.Parameter]:
    """The two vectors of a fresh norm; the gain is the one of ones, whatever their order."""
    return sorted(norm.parameters(), key=lambda vector: not bool((vector == 1).all()))


def layers_of(module: nn.Module, d_model: int, d_ff: int) -> list[nn.Module]:
    """The encoder layers in a module, each once: the smallest parts that hold square matrices and those of d_ff.

    They may be registered, or stand in a plain list, where an optimizer does not find them.
    """
    held = [value for value in vars(module).values() if isinstance(value, list | tuple | dict)]  # one has the children
    held = [part for value in held for part in (value.values() if isinstance(value, dict) else value)]
    parts = {id(part): part for part in held if isinstance(part, nn.Module)}
    found = {id(layer): layer for part in parts.values() for layer in layers_of(part, d_model, d_ff)}
    if found:
        return list(found.values())
    shapes = [sorted(parameter.squeeze().shape) for parameter in module.parameters()]
    square = any([d_model, n * d_model] in shapes for n in (1, 2, 3))
    return [module] if square and sorted((d_model, d_ff)) in shapes else []


def same_parts(a: nn.Module, b: nn.Module) -> bool:
    """The same parameters under the same names: what a class has that a notebook defines anew. The first tell most."""
    named = (((name, p.shape) for name, p in module.named_parameters()) for module in (a, b))
    return all(one == other for one, other in itertools.zip_longest(*named))


def bare_parameters(module: nn.Module) -> list[nn.Parameter]:
    """The parameters of the modules in which `nn.Parameter` matrices stand, and of no linear layer or attention."""
    if isinstance(module, (*LINEAR, nn.MultiheadAttention)):
        return []
    own = list(module.parameters(recurse=False))
    own = own if any(parameter.squeeze().dim() > 1 for parameter in own) else []
    return own + [parameter for child in module.children() for parameter in bare_parameters(child)]


def in_order(
    parts: Iterable[nn.Module], run_once: Callable, bare: Iterable[nn.Parameter] = (), turned: set[int] | None = None
) -> list:
    """Parts and bare parameters in the order in which they are first used; those that never are come last.

    `turned` gets the ids of the bare matrices that are used transposed, as nn.Linear uses its weight.
    """
    parts, bare = list(parts), list(bare)
    ran: list[Any] = []

    def note(part: Any, *_inputs: Any) -> None:
        if not any(part is other for other in ran):
            ran.append(part)

    class Uses(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            if any(isinstance(leaf, Tensor) for leaf in pytree.tree_leaves(result)):
                used = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if any(leaf is p for p in bare)]
                for parameter in used:
                    note(parameter)
                    if turned is not None and (func in TURNED or func is nn.functional.linear):
                        turned.add(id(parameter))
            return result

    handles = [part.register_forward_pre_hook(note) for part in parts]
    try:
        if bare:
            with Uses():
                run_once()
        else:
            run_once()
    finally:
        for handle in handles:
            handle.remove()
    return [*ran, *(part for part in [*parts, *bare] if not any(part is other for other in ran))]
