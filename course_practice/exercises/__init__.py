"""Exercises that check themselves and say what is wrong. An exercise's id is its path: masks.causal is masks/causal.py.

>>> from course_practice.exercises import check
>>> result = check("masks.causal", lambda n: torch.ones(n, n).tril(-1).bool())    # doctest: +SKIP
"""

import dataclasses
import difflib
import functools
import importlib
import pkgutil
import sys
from typing import Any

from course_practice.engine import Exercise, Result, Solution, check_exercise, kept_solution, progress_file

__all__ = ["Exercise", "Result", "check", "kept_solution", "progress_file", "registry", "show_solution"]


@functools.cache
def registry() -> dict[str, Exercise]:
    """All exercises by id, `<subject>.<name>`, as their files are called; a file `_….py` is no exercise."""
    found: dict[str, Exercise] = {}
    for subject in sorted(m.name for m in pkgutil.iter_modules(__path__) if m.ispkg and m.name != "engine"):
        folder = importlib.import_module(f"{__name__}.{subject}").__path__
        for name in sorted(m.name for m in pkgutil.iter_modules(folder) if not m.name.startswith("_")):
            exercise = getattr(importlib.import_module(f"{__name__}.{subject}.{name}"), "EXERCISE", None)
            if exercise is None:
                where = f"exercises/{subject}/{name}.py"
                raise ValueError(f"expected EXERCISE = Exercise(…) in {where}, got none: end the file with it")
            found[f"{subject}.{name}"] = dataclasses.replace(exercise, id=f"{subject}.{name}")
    return found


def check(exercise_id: str, obj: Any, time_limit: float = 10.0) -> Result:
    """Check your function or class; the result says whether it passed and, if not, what is wrong.

    An unfinished stub is "not attempted", and nothing that your code does stops the notebook. `time_limit` is in
    seconds. A passed check is recorded in your progress file, with the source of your solution.
    """
    return check_exercise(_get(exercise_id), obj, time_limit)


def show_solution(exercise_id: str) -> Solution:
    """Three hints and the solution, folded away one by one.

    A name that the solution needs and that you have not imported where you call this comes with its import.
    """
    return Solution(_get(exercise_id), known=sys._getframe(1).f_globals)


def _get(exercise_id: str) -> Exercise:
    exercises = registry()
    if isinstance(exercise_id, str) and exercise_id in exercises:
        return exercises[exercise_id]
    if callable(exercise_id):
        raise ValueError(f"expected the id of an exercise, got {exercise_id!r}: the id comes first, then your function")
    near = difflib.get_close_matches(str(exercise_id), exercises, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"registry() lists all {len(exercises)}"
    raise ValueError(f"expected the id of an exercise, got {exercise_id!r}: {hint}")
