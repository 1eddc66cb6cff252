"""Does a right answer also learn? Its gradients, beside those of the reference.

Numbers can be right where nothing would ever be trained: `.detach()`, `.item()`, or `torch.no_grad()` cut the path that
gradients take back from the result. So where an exercise is `trained`, its cases run once more with gradients.
"""

import ast
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from course_practice.engine.compare import Difference
from course_practice.engine.model import Case, Exercise
from course_practice.engine.source import first_line, tree_of

# How far two right gradients may be apart, relative to the largest number, and in all.
RTOL, ATOL = 2e-3, 1e-5
# What takes the numbers of a tensor and forgets where they came from, and how a reader knows it.
_CUTS = {
    "detach": "`.detach()`",
    "detach_": "`.detach_()`",
    "item": "`.item()`",
    "tolist": "`.tolist()`",
    "numpy": "`.numpy()`",
    "data": "`.data`",
    "no_grad": "`torch.no_grad()`",
    "inference_mode": "`torch.inference_mode()`",
    "tensor": "`torch.tensor(…)`",
    "Tensor": "`torch.Tensor(…)`",
    "FloatTensor": "`torch.FloatTensor(…)`",
}


def gradients(exercise: Exercise, obj: Any, given: Case) -> tuple[tuple[str, Any], ...]:
    """How the answer to a case moves with its inputs: for each, by name, the gradient, or None where there is none.

    Of a module it is how many of its numbers get a gradient, and the names of the parameters that get none.
    """
    if callable(exercise.trained):
        output, inputs = exercise.trained(obj, given)
    else:
        inputs = {}
        given = _with_gradients(exercise, given, inputs)
        output = exercise.run(obj, given)
    tensors = [value for value in inputs.values() if isinstance(value, Tensor)]
    modules = {name: value for name, value in inputs.items() if isinstance(value, nn.Module)}
    parameters = [parameter for module in modules.values() for parameter in module.parameters()]
    moved = _one_number(output)
    if moved.requires_grad:
        found = torch.autograd.grad(moved, [*tensors, *parameters], allow_unused=True)
    else:
        found = (None,) * (len(tensors) + len(parameters))
    by_tensor = {id(tensor): gradient for tensor, gradient in zip([*tensors, *parameters], found, strict=True)}
    told: list[tuple[str, Any]] = []
    for name, value in inputs.items():
        if isinstance(value, Tensor):
            told.append((name, by_tensor[id(value)]))
        else:
            named = [*value.named_parameters()]
            trained = sum(parameter.numel() for _, parameter in named if by_tensor[id(parameter)] is not None)
            without = ", ".join(f"`{inside}`" for inside, one in named if by_tensor[id(one)] is None)
            told.append((name, (trained, without)))
    return tuple(told)


def _with_gradients(exercise: Exercise, given: Case, inputs: dict[str, Tensor]) -> Case:
    """The case with inputs that ask for a gradient; they are noted by name."""

    def asked(name: str, value: Any) -> Any:
        counts = exercise.trained is True or name in exercise.trained
        if counts and isinstance(value, Tensor) and value.is_floating_point():
            inputs[name] = value.detach().clone().requires_grad_()
            return inputs[name]
        return value

    names = exercise.all_parameters
    args = tuple(asked(names[place] if place < len(names) else str(place), v) for place, v in enumerate(given.args))
    return Case(args, {name: asked(name, value) for name, value in given.kwargs.items()}, given.about)


def _one_number(output: Any) -> Tensor:
    """A weighted sum of all results that are finite numbers, so that each of them counts differently."""
    total = torch.zeros((), dtype=torch.float64)
    for number, tensor in enumerate(_tensors(output)):
        weights = torch.linspace(0.5, 1.5, max(tensor.numel(), 1), dtype=torch.float64)[: tensor.numel()]
        weights = weights[torch.randperm(tensor.numel(), generator=torch.Generator().manual_seed(number))]
        finite = torch.where(tensor.isfinite(), tensor, torch.zeros_like(tensor))
        total = total + (finite.double().flatten() * weights).sum()
    return total


def _tensors(output: Any) -> Iterator[Tensor]:
    if isinstance(output, Tensor) and output.is_floating_point():
        yield output
    elif isinstance(output, list | tuple):
        for part in output:
            yield from _tensors(part)


def tells_something(expected: tuple[tuple[str, Any], ...]) -> bool:
    """Are the reference's gradients all finite, and is one of them not 0?"""
    numbers = [value for _, value in expected if isinstance(value, Tensor)]
    return all(bool(n.isfinite().all()) for n in numbers) and (not numbers or any(bool(n.any()) for n in numbers))


def gradient_difference(expected: tuple[tuple[str, Any], ...], got: tuple[tuple[str, Any], ...]) -> Difference | None:
    """What is wrong with the gradients of an answer whose numbers are right."""
    pairs = [(name, want, have) for (name, want), (_, have) in zip(expected, got, strict=True)]
    tensors = [(name, want, have) for name, want, have in pairs if isinstance(want, Tensor) and bool(want.any())]
    if cut := [name for name, want, have in tensors if have is None or not bool(have.any())]:
        return Difference(
            "no-gradient",
            f"Your numbers are right, but no gradient flows back to {_listed(cut)}: what comes before would never "
            "learn.",
        )
    if other := [name for name, want, have in tensors if bool(have.isfinite().all()) and not _near(want, have)]:
        return Difference(
            "no-gradient",
            f"Your numbers are right, but the gradient of {_listed(other)} is not: part of it is lost on the way back.",
        )
    for _, want, have in pairs:
        if isinstance(want, tuple) and have[0] < want[0]:
            return Difference(
                "no-gradient",
                f"Your numbers are right, but no gradient reaches {have[1] or 'some parameters'}: they would never "
                "learn.",
            )
    return None


def not_finite(got: tuple[tuple[str, Any], ...]) -> str:
    """The names of inputs whose gradient holds NaN or infinity, ready to be told; nothing where there are none."""
    found = [name for name, have in got if isinstance(have, Tensor) and not bool(have.isfinite().all())]
    return _listed(found) if found else ""


def _near(want: Tensor, have: Tensor) -> bool:
    if want.shape != have.shape:
        return False
    far = (want.double() - have.double()).abs().max()
    return bool(far <= RTOL * want.double().abs().max() + ATOL)


def _listed(names: list[str]) -> str:
    *first, last = (name if " " in name else f"`{name}`" for name in names)
    return f"{', '.join(first)} and {last}" if first else last


def cut_at(obj: Any) -> tuple[int, str] | None:
    """The line and the words that cut the path of gradients, where exactly one place of the code may do so."""
    tree, first = tree_of(obj), first_line(obj)
    if tree is None or first is None:
        return None
    made_of = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    found: dict[int, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in _CUTS:
            call = made_of.get(id(node))
            if ast.unparse(node.value) != "torch" or call is None or not call.args or not _is_written(call.args[0]):
                found[node.lineno] = _CUTS[node.attr]
    if len(found) != 1:
        return None
    ((line, words),) = found.items()
    return first + line - 1, words


def _is_written(node: ast.AST) -> bool:
    """Is this a value that is written down, as in `torch.tensor(0.5)`?"""
    return not any(isinstance(part, ast.Name | ast.Call) for part in ast.walk(node))
