"""The check engine: it knows exercises as data, and no exercise in particular."""

from course_lib.exercises.engine.checking import check_exercise
from course_lib.exercises.engine.model import Case, Convention, Exercise, Mistake, case
from course_lib.exercises.engine.progress import kept_solution, progress_file
from course_lib.exercises.engine.report import Result, Solution

__all__ = [
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
