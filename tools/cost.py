"""What a chapter costs: measured by `make notebooks`, kept in book/results/chapters.json, shown in the chapter's table.

The row of the table is prose, not an output: a timing among the outputs would differ on every run, and a cell that
printed it from a file would be compared with a number that the same run rewrites. Coarse steps keep the row true, and
still, from one machine to the next; the results page shows the measurements themselves.
"""

import json

from nbformat import NotebookNode

from tools.environment import RESULTS
from tools.template import COST, COST_ROW

SECONDS = (5, 10, 20, 30, 60, 90, 120, 180, 300, 600)
MEGABYTES = (300, 500, 750, 1000, 1500, 2000, 3000, 4000, 8000, 16000)


def measured() -> dict[str, dict]:
    """The stored cost of every chapter, by the chapter's file name without `.ipynb`."""
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def in_words(cost: dict) -> str:
    """What the opening table says.

    >>> in_words({"seconds": 3.2, "memory_mb": 402, "cores": 2})
    'under 5 seconds and under 500 MB of memory, measured on 2 CPU cores'
    """
    seconds, memory = _next_step(cost["seconds"], SECONDS), _next_step(cost["memory_mb"], MEGABYTES)
    return f"under {seconds} seconds and under {memory} MB of memory, measured on {cost['cores']} CPU cores"


def row(cost: dict) -> str:
    """The row of the opening table, written from a measurement."""
    return f"| {COST} | {in_words(cost)} |"


def with_row(nb: NotebookNode, cost: dict) -> NotebookNode:
    """The notebook with the row of its opening table written from the measurement."""
    for cell in nb.cells:
        if cell.cell_type == "markdown" and COST_ROW.search(cell.source):
            cell.source = COST_ROW.sub(row(cost), cell.source)
            break
    return nb


def _next_step(value: float, steps: tuple[int, ...]) -> int:
    return next((step for step in steps if value < step), round(value))
