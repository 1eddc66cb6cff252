"""The form of a chapter, written once: what stands in every notebook, and in which order."""

import re

# The sections every chapter has, in this order. Between "The question" and "Pitfalls, measured" stand its own.
BEFORE = ("Warm-up", "The question")
AFTER = ("Pitfalls, measured", "Exercises", "Quiz", "Recap", "Further reading")

PITFALLS, EXERCISES, QUIZ_QUESTIONS, RECAP_LINES = 4, 4, 5, 6  # at least; the recap: at most

# The first column of the table under the title. `make notebooks` writes the last row from its measurement.
BUILD, NEED, COST = "You will build", "You need first", "It costs"
COST_ROW = re.compile(rf"^\| *{COST} *\|.*\|$", re.MULTILINE)

EXERCISE_HEADING = "Exercise: {title} · {stars} · {minutes} min"

SET_UP_TAG = "remove-cell"  # the book leaves the cell out, Jupyter and Colab show it
SET_UP = """\
import importlib.util

if importlib.util.find_spec("course_lib") is None:
    print("course_lib, the library of this course, is not installed here. Installing it now (about a minute) …")
    %pip install --quiet "course-lib @ git+{url}"
"""


def set_up_cell(url: str) -> str:
    """The source of every notebook's first cell: it installs the package where it is missing, and says so."""
    return SET_UP.format(url=url).rstrip("\n")


def exercise_heading(title: str, difficulty: int, minutes: int) -> str:
    """The heading an exercise has in its chapter.

    >>> exercise_heading("Hide the future", difficulty=1, minutes=5)
    'Exercise: Hide the future · ★☆☆ · 5 min'
    """
    return EXERCISE_HEADING.format(title=title, stars="★" * difficulty + "☆" * (3 - difficulty), minutes=minutes)
