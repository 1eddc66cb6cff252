"""The inputs of a case, counted and told in short."""

from typing import Any

import torch

from course_practice.engine.compare import as_tensor, brief
from course_practice.engine.model import Case, Exercise


def inputs(given: Case) -> list[Any]:
    """All of them, those that are given by name last."""
    return [*given.args, *given.kwargs.values()]


def size(given: Case) -> int:
    """How many numbers they hold."""
    return sum(tensor.numel() for value in inputs(given) if (tensor := as_tensor(value)) is not None)


def input_of(exercise: Exercise, given: Case) -> tuple[tuple[str, str], ...]:
    """The input of a case, name by name."""
    named = [*zip(exercise.all_parameters, given.args, strict=False), *given.kwargs.items()]
    lines = [f"{name} = {_short(value)}" for name, value in named]
    return ((f"Input ({given.about})" if given.about else "Input", "\n".join(lines)),)


def _short(value: Any) -> str:
    if isinstance(value, torch.Tensor) and value.numel() > 12:
        return f"a tensor of shape {tuple(value.shape)}"
    return brief(value)
