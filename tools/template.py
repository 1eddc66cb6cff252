"""The form of a chapter, written once: what stands in every notebook, and in which order."""

import re

# The sections every chapter has, in this order. Between "The question" and "Pitfalls, measured" stand its own.
BEFORE = ("Warm-up", "The question")
AFTER = ("Pitfalls, measured", "Exercises", "Quiz", "Recap", "What now", "Further reading")

# What a reader may skip is an aside: a heading of the third level, a question, and what follows up to the next heading.
ASIDE = "Aside: "
NO_ASIDES = ("Warm-up", "Exercises", "Quiz", "Recap", "What now", "Further reading")
# What the rest of a chapter, its main path, holds at most, its pitfalls, exercises, and reading list apart.
ROAD_WORDS, ROAD_LINES, ROAD_NUMBERS = 2600, 200, 120
ROAD_MINUTES = 60  # to read it, at most, its pitfalls included: tools/cost.py computes them
APART = ("Pitfalls, measured", "Exercises", "Quiz", "Further reading")
ANSWER_WORDS = 52  # of an aside, at most

# A last section of its own that a chapter may have: what one writes today in PyTorch.
PRACTICE, PRACTICE_WORDS, PRACTICE_LINES = "In practice", 150, 12  # at most

PITFALLS = (3, 5)  # at least, at most
EXERCISES, JOINING_EXERCISES = 4, 1  # at least: in the whole chapter, under its heading "Exercises"
QUIZ_QUESTIONS, RECAP_LINES = 5, 6  # at least; at most
WORDS_TO_FIRST_EXERCISE = 1200  # at most
# At most; tools/notebooks.py measures them.
YARDSTICKS, LONG_TRAINING = 45, {"17_translation": 100}
MEMORY_MB, LARGE_MODEL = 1024, {"21_real_model": 1280}
COLUMNS = 80  # of code and of printed text: what a page, a phone held sideways and a half screen show uncut

TITLE = "{number} · {name}"

# The first column of the table under the title. `make notebooks` writes the last two rows, from the chapter itself and
# from what running it took.
BUILD, NEED, READER, MACHINE = "You will build", "You need first", "It takes you", "It takes the machine"
COMPUTED_ROW = re.compile(rf"^\| *(?:{READER}|{MACHINE}) *\|.*\|\n?", re.MULTILINE)

EXERCISE_HEADING = "Exercise: {title} · {stars} · {minutes} min"

PREDICTION = "**Predict, then run.**"
SAW = "What you saw"
FOLD = "<details><summary>{summary}</summary>"

# The tags that fold, and what JupyterLab and VS Code call the same thing. The set-up cell the book leaves out.
HIDE_INPUT, HIDE_OUTPUT, SET_UP_TAG = "hide-input", "hide-output", "remove-cell"
FOLDED_IN_JUPYTER = {HIDE_INPUT: "source_hidden", HIDE_OUTPUT: "outputs_hidden", SET_UP_TAG: "source_hidden"}

SET_UP = """\
# Installs the course where it is missing, as in Colab. Figures move after Run.
import importlib.util
import subprocess
import sys
from pathlib import Path

# Where pip finds the course; "" while it is not published.
ADDRESS = ""


class CourseLibMissing(ModuleNotFoundError):
    def _render_traceback_(self):  # a notebook shows the sentence alone
        return [str(self)]


if importlib.util.find_spec("course_lib") is None:
    wheel = max(Path().resolve().glob("course_lib-*.whl"), default=ADDRESS)
    problem = "it is not installed here"
    if wheel:
        print("Installing course_lib, the library of this course …")
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
        pip += ["install", "--quiet", "--no-color"]
        done = subprocess.run([*pip, wheel], capture_output=True, text=True)
        importlib.invalidate_caches()
        words = done.stderr.strip().splitlines() or ["none"]
        problem = f"pip could not install it (its last words: {words[-1]})"
    if importlib.util.find_spec("course_lib") is None:
        raise CourseLibMissing(
            "This notebook needs course_lib, the library of the course, but"
            f" {problem}: put the course_lib-….whl that `make bundle` writes"
            " beside this notebook, and run this cell again."
        )
"""


def set_up_cell(url: str) -> str:
    """The source of every notebook's first cell of code: it installs the library, or says what to do.

    It stands below the title, folded in JupyterLab and VS Code, which show its first line.

    `url` is the public address of the course, or "" where it has none.
    """
    address = f"course-lib @ git+{url}" if url else ""
    return SET_UP.replace('ADDRESS = ""', f'ADDRESS = "{address}"').rstrip("\n")


def title(stem: str, name: str) -> str:
    """How a chapter is called everywhere.

    >>> title("05_masks", "Masks")
    '05 · Masks'
    """
    return TITLE.format(number=stem[:2], name=name)


def exercise_heading(title: str, difficulty: int, minutes: int) -> str:
    """The heading an exercise has in its chapter.

    >>> exercise_heading("Hide the future", difficulty=1, minutes=5)
    'Exercise: Hide the future · ★☆☆ · 5 min'
    """
    return EXERCISE_HEADING.format(title=title, stars="★" * difficulty + "☆" * (3 - difficulty), minutes=minutes)
