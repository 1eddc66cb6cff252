"""Code and printed lines fit the page: nobody scrolls sideways to read."""

import unicodedata
from collections.abc import Iterator
from pathlib import Path

from nbformat import NotebookNode

from tools.environment import LIBRARY
from tools.gates.definitions import is_definition_cell, module_of
from tools.gates.parsing import read, tags
from tools.template import COLUMNS, SET_UP_TAG


def columns(path: Path, library: Path = LIBRARY) -> list[str]:
    """No line of code and no printed line is wider than the page."""
    found = []
    for cell in read(path).cells:
        if cell.cell_type != "code" or SET_UP_TAG in tags(cell):
            continue
        where = f"{path.name}, cell {cell.id!r}"
        module = module_of(path, library, cell)
        there = f" in {module.name}, then make sync" if is_definition_cell(cell, module) else ""
        for kind, text, advice in [
            ("code", cell.source, f"write it shorter{there}"),
            *(("output", text, "print less in a line") for text in _printed(cell)),
        ]:
            wide = [line for line in text.split("\n") if width(line) > COLUMNS]
            if wide:
                found.append(f"{where}: {kind} of {width(wide[0])} columns, at most {COLUMNS}: {advice}: {wide[0]!r}")
    return found


def width(line: str) -> int:
    """How many columns a line takes: a letter of Korean takes two.

    >>> width("mask"), width("나는")
    (4, 4)
    """
    if line.isascii():
        return len(line)
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in line)


def _printed(cell: NotebookNode) -> Iterator[str]:
    """What a page shows as text; where an output has another form as well, the text is not what is shown."""
    for output in cell.outputs:
        if output.output_type == "stream":
            yield output.text
        elif set(output.get("data", {})) == {"text/plain"} and not output.data["text/plain"].startswith("Figure: "):
            yield output.data["text/plain"]
