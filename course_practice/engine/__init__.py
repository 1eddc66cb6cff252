"""The check engine: it knows exercises as data, and no exercise in particular."""

from course_practice.engine.checking import check_exercise
from course_practice.engine.model import Budget, Case, Convention, Exercise, Mistake, case
from course_practice.engine.progress import kept_solution, progress_file
from course_practice.engine.report import Result, Solution

__all__ = [
    "Budget",
    "Case",
    "Convention",
    "Exercise",
    "Mistake",
    "Result",
    "Solution",
    "case",
    "check_exercise",
    "kept_solution",
    "progress_file",
]
