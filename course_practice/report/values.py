"""The answers behind a verdict, on their way out of the process that ran the code: compared where no such code runs."""

import threading
from typing import Any

import torch

from course_practice.engine.answers import difference_in, run
from course_practice.engine.clock import Limit
from course_practice.engine.compare import as_tensor
from course_practice.engine.sandbox import Outcome
from course_practice.engine.trial import TIME_LIMIT, right_answers
from course_practice.exercises import registry

_ONE_AT_A_TIME = threading.Lock()  # references draw random numbers


def answers(exercise_id: str, obj: Any) -> list[Any]:
    """What an object answers to the cases of an exercise, in lists, dictionaries, numbers, and texts."""
    exercise, limit = registry()[exercise_id], Limit(TIME_LIMIT)
    return [_written(run(exercise, obj, given, limit).value) for given in exercise.cases()]


def are_right(exercise_id: str, written: list[Any]) -> bool:
    """Are these the right answers to all cases of an exercise?"""
    exercise = registry()[exercise_id]
    with _ONE_AT_A_TIME:
        expected = right_answers(exercise, list(exercise.cases()))
    try:
        outcomes = [Outcome(_read(value)) for value in written]
        return not any(difference_in(exercise, *pair) for pair in zip(expected, outcomes, strict=True))
    except Exception:  # the code may have written anything
        return False


def _written(value: Any) -> Any:
    """
    >>> _read(_written((torch.tensor([[1.5], [2]]), "a", None)))
    [tensor([[1.5000],
            [2.0000]]), 'a', None]
    """
    if isinstance(value, list | tuple):
        return [_written(part) for part in value]
    if value is None or isinstance(value, str | int | float) or (tensor := as_tensor(value)) is None:
        return value
    return {"dtype": str(tensor.dtype), "shape": list(tensor.shape), "numbers": tensor.flatten().tolist()}


def _read(written: Any) -> Any:
    if isinstance(written, dict):
        dtype = getattr(torch, written["dtype"].removeprefix("torch."))
        return torch.tensor(written["numbers"], dtype=dtype).reshape(written["shape"])
    return [_read(part) for part in written] if isinstance(written, list) else written
