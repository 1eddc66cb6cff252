"""Exercises that check themselves and say what is wrong. An exercise's id is its path: masks.causal is masks/causal.md
(its text and the mistakes people make) with masks/causal.py (its cases and right answers).

>>> from course_practice.exercises import check
>>> result = check("masks.causal", lambda n: torch.ones(n, n).tril(-1).bool())    # doctest: +SKIP
"""

import dataclasses
import difflib
import functools
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from course_practice.engine import Exercise, Result, Solution, check_exercise, kept_solution, progress_file
from course_practice.engine.texts import with_text
from course_practice.suggest import nearest_repair

__all__ = ["Exercise", "Result", "check", "kept_solution", "mine", "progress_file", "registry", "show_solution"]


def registry() -> dict[str, Exercise]:
    """All exercises by id, `<subject>.<name>`, as their files are called; a file `_….py` is no exercise."""
    return {name: _load(name) for name in _names()}


@functools.cache
def _names() -> tuple[str, ...]:
    files = sorted(Path(__file__).parent.glob("*/[a-z]*.py"))
    return tuple(f"{path.parent.name}.{path.stem}" for path in files)


@functools.cache
def _load(exercise_id: str) -> Exercise:
    """The exercise of one file: a check loads the one that it is about."""
    module = f"{__name__}.{exercise_id}"
    exercise = getattr(importlib.import_module(module), "EXERCISE", None)
    if exercise is None:
        where = f"exercises/{exercise_id.replace('.', '/')}.py"
        raise ValueError(f"expected EXERCISE = Exercise(…) in {where}, got none: end the file with it")
    text = Path(__file__).parent.joinpath(*exercise_id.split(".")).with_suffix(".md")
    exercise = with_text(exercise, text, module) if text.exists() else exercise
    return dataclasses.replace(exercise, id=exercise_id)


def check(exercise_id: str, obj: Any, time_limit: float = 10.0) -> Result:
    """Check your function or class; the result says whether it passed and, if not, what is wrong.

    An unfinished stub is "not attempted". After `time_limit` seconds your code is stopped, but not within one step such
    as `sum(range(10**12))`: restart the kernel. A passed check is recorded in your progress file, with your solution.
    """
    return check_exercise(_get(exercise_id), obj, time_limit, search=nearest_repair)


def show_solution(exercise_id: str) -> Solution:
    """Three hints and the solution, folded away one by one.

    A name that the solution needs and that you have not imported where you call this comes with its import.
    """
    return Solution(_get(exercise_id), known=sys._getframe(1).f_globals)


def mine(exercise_id: str) -> Callable:
    """Your own solution of an exercise that you have passed, or else the course's.

    >>> mine("masks.causal")(2).int().tolist()
    [[1, 0], [1, 1]]
    """
    exercise = _get(exercise_id)
    try:
        return kept_solution(exercise_id)
    except (LookupError, RuntimeError):  # none is kept, or it needs what is not there any more
        return exercise.reference


def _get(exercise_id: str) -> Exercise:
    exercises = _names()
    if isinstance(exercise_id, str) and exercise_id in exercises:
        return _load(exercise_id)
    if callable(exercise_id):
        raise ValueError(f"expected the id of an exercise, got {exercise_id!r}: the id comes first, then your function")
    near = difflib.get_close_matches(str(exercise_id), exercises, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"registry() lists all {len(exercises)}"
    raise ValueError(f"expected the id of an exercise, got {exercise_id!r}: {hint}")
