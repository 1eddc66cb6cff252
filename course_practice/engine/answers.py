"""Run an answer on a case, and compare it with what was expected, as the exercise wants it compared."""

import random
import re
from typing import Any

import numpy as np
import torch

from course_practice.engine.compare import Difference, as_tensor, difference
from course_practice.engine.explain import explain
from course_practice.engine.model import Case, Exercise
from course_practice.engine.run import Limit, Outcome, run_safely

SEED = 20_170_612  # none that the inputs of a case are drawn with: an edit by random numbers would change nothing


def run(exercise: Exercise, obj: Any, given: Case, limit: Limit, seed: int = SEED) -> Outcome:
    """Run an object on a case in the sandbox, from one random state: the same code draws, and answers, the same."""

    def call(*args: Any, **kwargs: Any) -> Any:
        torch.default_generator.manual_seed(seed), random.seed(seed)
        if seed != SEED:  # else as it is, which no run changes: to set it takes longer than most calls
            np.random.seed(seed)
        return exercise.run(obj, Case(args, kwargs, given.about))

    return run_safely(call, given.args, given.kwargs, limit)


def difference_in(exercise: Exercise, expected: Any, outcome: Outcome) -> Difference | None:
    """Why an outcome is not the expected one, or None where it is right."""
    if outcome.error is not None:
        return Difference("raised", f"It stopped with an error. {explain(outcome.error, outcome.said)}".strip())
    expected, got = canonical(exercise, expected), canonical(exercise, outcome.value)
    return difference(expected, got, exercise.rtol, exercise.atol)


def same_outcome(exercise: Exercise, a: Outcome, b: Outcome) -> bool:
    """Did two calls end alike: with the same answer, or with the same error?"""
    if a.error is not None or b.error is not None:
        return type(a.error) is type(b.error) and _said(a) == _said(b)
    if a.value is None or b.value is None:
        return a.value is b.value
    return difference_in(exercise, a.value, b) is None


def _said(outcome: Outcome) -> str:
    """An error's words, without what depends on the learner's own form.

    einsum complains in the learner's own letters, and any letters say the same. So does an index that points past its
    axis, whichever axis that is: a tensor of one head lacks the axis of the heads.
    """
    if outcome.said.startswith("einsum():") and "number of dimensions" not in outcome.said:
        return "einsum():"
    return re.sub(r"(is out of bounds) for (?:dimension|axis) \d+", r"\1", outcome.said)


def canonical(exercise: Exercise, value: Any) -> Any:
    """An answer in the one form in which the exercise compares answers."""
    tensor = None if exercise.canonical is None else as_tensor(value)
    if tensor is None:
        return value
    try:
        return exercise.canonical(tensor)
    except (IndexError, RuntimeError):  # complex numbers, another number of axes
        return value
