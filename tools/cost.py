"""What a chapter costs its reader and the machine: two rows of its opening table, written by `make notebooks`.

The reader's minutes are computed from the chapter itself: its words, its shown lines of code, its predictions and
questions, its exercises; asides and practice apart. The machine's time
and memory are measured and kept in book/results/chapters.json. That row is prose, not an output: a timing among the
outputs would differ on every run, and a cell that printed it from a file would be compared with a number that the same
run rewrites. Coarse steps keep the row true, and still, from one machine to the next; the results page shows the
measurements themselves.
"""

import json
import re
from collections.abc import Iterable

from nbformat import NotebookNode

from tools.environment import RESULTS
from tools.gates.parsing import Placed, calls, parts, placed, strings, tags, words
from tools.template import COMPUTED_ROW, HIDE_INPUT, MACHINE, NEED, PREDICTION, READER, SET_UP_TAG

SECONDS = (5, 10, 20, 30, 60, 90, 120, 180, 300, 600)
ASKED = ("Warm-up", "Quiz")
EXERCISE = "Exercise: "  # begins an exercise's heading
MEGABYTES = (300, 500, 750, 1000, 1500, 2000, 3000, 4000, 8000, 16000)
WORDS_A_MINUTE, SECONDS_A_LINE, MINUTES_STEP = 180, 9, 5
SECONDS_A_PREDICTION, SECONDS_A_QUESTION = 60, 30  # of a quiz or a warm-up; a prediction's options belong to it


def measured() -> dict[str, dict]:
    """The stored cost of every chapter, by the chapter's file name without `.ipynb`."""
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def minutes_to_read(nb: NotebookNode, asides: bool = False) -> int:
    """Of the main path, or of its asides, in steps of five."""
    seconds = seconds_to_read(there for there in placed(nb) if there.aside == asides)
    return MINUTES_STEP * -int(-seconds // (60 * MINUTES_STEP))


def seconds_to_read(places: Iterable[Placed]) -> float:
    """Words, lines of shown code, predictions and questions of these cells.

    An exercise, up to its solution, is no reading; what follows its solution, up to the next heading, is.
    """
    seconds, solved = 0.0, ""
    for cell, section, heading in places:
        if heading.startswith(EXERCISE) and heading != solved:
            solved = heading if calls(cell.source, "show_solution") else solved
            continue
        if cell.cell_type == "markdown":
            seconds += 60 * words(COMPUTED_ROW.sub("", cell.source)) / WORDS_A_MINUTE
            seconds += SECONDS_A_PREDICTION * cell.source.count(PREDICTION)
        elif asked := calls(cell.source, "quiz", "warm_up"):
            seconds += SECONDS_A_QUESTION * sum(len(strings(call)) for call in asked) * (section in ASKED)
        elif not {HIDE_INPUT, SET_UP_TAG} & set(tags(cell)):
            seconds += SECONDS_A_LINE * sum(1 for line in cell.source.split("\n") if line.strip())
    return seconds


def minutes_to_practice(headings: Iterable[str]) -> int:
    """The sum of what the exercises' headings say, which is what the registry says."""
    exercises = [heading for heading in headings if heading.startswith(EXERCISE)]
    return sum(int(minutes) for heading in exercises for minutes in re.findall(r"· (\d+) min$", heading))


def machine(cost: dict) -> str:
    """What the opening table says about time and memory.

    >>> machine({"seconds": 3.2, "memory_mb": 402})
    'under 5 seconds and under 500 MB of memory, measured on one thread'
    """
    seconds, memory = _next_step(cost["seconds"], SECONDS), _next_step(cost["memory_mb"], MEGABYTES)
    return f"under {seconds} seconds and under {memory} MB of memory, measured on one thread"


def rows(nb: NotebookNode, cost: dict) -> tuple[str, str]:
    """The two computed rows of the opening table."""
    aside = f", {minutes} for the asides" if (minutes := minutes_to_read(nb, asides=True)) else ""
    practice = minutes_to_practice(part.text for part in parts(nb) if part.kind == "h3")
    reader = f"{minutes_to_read(nb)} minutes to read{aside}, {practice} to practice"
    return f"| {READER} | {reader} |", f"| {MACHINE} | {machine(cost)} |"


def with_rows(nb: NotebookNode, cost: dict) -> NotebookNode:
    """The notebook with the computed rows in its opening table, below what one needs first."""
    for cell in nb.cells:
        if cell.cell_type == "markdown" and f"| {NEED} |" in cell.source:
            lines = COMPUTED_ROW.sub("", cell.source).rstrip("\n").split("\n")
            last = max(number for number, line in enumerate(lines) if line.startswith(f"| {NEED} |"))
            cell.source = "\n".join([*lines[: last + 1], *rows(nb, cost), *lines[last + 1 :]])
            break
    return nb


def _next_step(value: float, steps: tuple[int, ...]) -> int:
    return next((step for step in steps if value < step), round(value))
