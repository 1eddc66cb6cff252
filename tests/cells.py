"""Notebooks for tests, written as text.

A line `%% code my-id tag-a tag-b` or `%% markdown my-id` starts a cell; everything up to the next such line is its
source.
"""

import re

import nbformat
from nbformat import NotebookNode

from tools.form import normal_form

MARK = re.compile(r"^%% (code|markdown)(?: +(\S+))?(.*)$")


def to_text(nb: NotebookNode) -> str:
    """Every cell with its kind, id and tags on a line of its own before its source."""
    lines = []
    for cell in nb.cells:
        lines += [" ".join(["%%", cell.cell_type, cell.id, *cell.metadata.get("tags", [])]), cell.source, ""]
    return "\n".join(lines)


def from_text(text: str) -> NotebookNode:
    """The notebook a text describes, without outputs."""
    cells: list[NotebookNode] = []
    for number, line in enumerate(text.split("\n"), start=1):
        mark = MARK.match(line)
        if mark:
            kind, cell_id, tags = mark.groups()
            new = {"cell_type": kind, "id": cell_id or "00000000", "metadata": {"tags": tags.split()}, "source": ""}
            cells.append(nbformat.from_dict(new | ({"execution_count": None, "outputs": []} if kind == "code" else {})))
        elif cells:
            cells[-1].source += line + "\n"
        elif line.strip():
            raise ValueError(f"line {number}: expected a line like '%% markdown title' first, got {line!r}: add one")
    for cell in cells:
        cell.source = cell.source.strip("\n")
    return normal_form(nbformat.v4.new_notebook(cells=cells))
