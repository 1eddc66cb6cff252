"""What is folded: the answers to predictions, and the code that the reader need not read."""

import ast
import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from nbformat import NotebookNode

from tools.gates.parsing import calls, nodes, read, tags
from tools.template import FOLD, HIDE_INPUT, HIDE_OUTPUT, PREDICTION, SAW

DRAWS_NOTHING = {"apply_style"}  # of what course_lib.figures offers
PLAYED = "play"  # a function that a reader drives is the reader's to change
FOLDED_CALLS = ("quiz", "warm_up", "show_solution")
SAW_OPENLY = re.compile(rf"^\**{SAW}", re.MULTILINE)
OPEN = FOLD.format(summary=SAW)


def predictions(path: Path) -> list[str]:
    """A prediction ends its cell; the output that answers it is folded, and then what the reader saw."""
    cells, found, answers = read(path).cells, [], set()
    for number, cell in enumerate(cells):
        where = f"{path.name}, cell {cell.id!r}"
        if cell.cell_type == "markdown" and SAW_OPENLY.search(cell.source):
            found.append(f"{where}: '{SAW}' stands outside of its fold: write '{OPEN}', blank line, text, '</details>'")
        if cell.cell_type != "markdown" or PREDICTION not in cell.source:
            continue
        if not cell.source.rstrip().split("\n\n")[-1].startswith(PREDICTION):
            found.append(f"{where}: '{PREDICTION}' is not its last paragraph: begin a new cell after it")
        code = list(takewhile(lambda cell: cell.cell_type == "code", cells[number + 1 :]))
        folded = {cell.id for cell in code if HIDE_OUTPUT in tags(cell)}
        answers |= folded
        open_ones = [c.id for c in code if c.outputs and c.id not in folded and not calls(c.source, "quiz")]
        after = cells[number + 1 + len(code) :][:1]
        if open_ones or not folded:
            found.append(
                f"{where}: expected code with the tag {HIDE_OUTPUT!r} after the prediction, "
                f"got {repr(open_ones[0]) if open_ones else 'none'}: what answers it stays folded"
            )
        if not (after and after[0].cell_type == "markdown" and after[0].source.startswith(OPEN)):
            found.append(f"{where}: expected a cell that begins with '{OPEN}' after the code that answers it: add it")
    for cell in cells:
        if HIDE_OUTPUT in tags(cell) and cell.id not in answers:
            found.append(f"{path.name}, cell {cell.id!r}: {HIDE_OUTPUT!r} without '{PREDICTION}' before it: show it")
    return found


def folded_inputs(path: Path) -> list[str]:
    """Code that draws, asks questions or shows solutions is folded away: it teaches nothing of the subject."""
    nb, found = read(path), []
    drawing = set(_drawing_names(nb))
    for cell in nb.cells:
        where = f"{path.name}, cell {cell.id!r}"
        if "hide-cell" in tags(cell):
            found.append(f"{where}: the tag 'hide-cell' is not used: fold its input with {HIDE_INPUT!r}")
        if cell.cell_type != "code" or HIDE_INPUT in tags(cell) or calls(cell.source, PLAYED):
            continue
        called = [call.func.id for call in calls(cell.source, *FOLDED_CALLS, *drawing)]
        if called:
            found.append(
                f"{where}: {called[0]}(…) without the tag {HIDE_INPUT!r}: add it, and leave what the reader should "
                "read in a cell of its own"
            )
    return found


def _drawing_names(nb: NotebookNode) -> Iterator[str]:
    """The names that the notebook has from course_lib.figures, whatever it calls them."""
    for cell in nb.cells:
        for node in nodes(cell.source) if cell.cell_type == "code" else ():
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("course_lib.figures"):
                yield from (alias.asname or alias.name for alias in node.names if alias.name not in DRAWS_NOTHING)


def folds_hold_markdown(path: Path) -> list[str]:
    """A fold in a markdown cell is written so that every viewer renders what is inside of it."""
    found = []
    for cell in read(path).cells:
        if cell.cell_type != "markdown" or "<details" not in cell.source:
            continue
        lines = ["", *cell.source.split("\n"), ""]
        for before, line, after in zip(lines, lines[1:], lines[2:], strict=False):
            opens, closes = "<details" in line, "</details>" in line
            wrong = opens and not (line.startswith(FOLD.split("{")[0]) and line.endswith("</summary>") and not after)
            if wrong or (closes and (line != "</details>" or before)):
                found.append(
                    f"{path.name}, cell {cell.id!r}: {line.strip()!r}: expected '{FOLD.format(summary='…')}' or "
                    "'</details>' alone on its line, with a blank line inside of the fold: else its markdown shows raw"
                )
        if cell.source.count("<details") != cell.source.count("</details>"):
            found.append(f"{path.name}, cell {cell.id!r}: a fold is not closed: add '</details>'")
    return found
