"""A notebook as plain text, for editing without a browser.

    python -m tools.cells unpack chapters/05_masks.ipynb masks.txt    from notebook to text
    python -m tools.cells pack masks.txt chapters/05_masks.ipynb      from text to notebook
    python -m tools.cells show chapters/05_masks.ipynb                the text with the stored outputs, to read

A line `%% code my-id tag-a tag-b` or `%% markdown my-id` starts a cell; everything up to the next such line is its
source. A cell that the notebook holds with the same id and source keeps its outputs; `make notebooks` makes the others.
"""

import re
import sys
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools.form import normal_form, read, text_of

MARK = re.compile(r"^%% (code|markdown)(?: +(\S+))?(.*)$")


def to_text(nb: NotebookNode, outputs: bool = False) -> str:
    """Every cell with its kind, id and tags on a line of its own before its source."""
    lines = []
    for cell in nb.cells:
        lines += [" ".join(["%%", cell.cell_type, cell.id, *cell.metadata.get("tags", [])]), cell.source, ""]
        if outputs and cell.cell_type == "code":
            lines += [f"    >>> {line}" for output in cell.outputs for line in _lines(output)] + [""]
    return "\n".join(lines)


def _lines(output: NotebookNode) -> list[str]:
    if output.output_type == "stream":
        return output.text.rstrip("\n").split("\n")
    if output.output_type == "error":
        return [f"{output.ename}: {output.evalue}"]
    kinds = {kind: len(str(data)) for kind, data in output.data.items() if kind != "text/plain"}
    also = [f"(and {size} characters of {kind})" for kind, size in kinds.items()]
    return output.data.get("text/plain", "").split("\n") + also


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


def with_outputs(nb: NotebookNode, stored: NotebookNode) -> NotebookNode:
    """The notebook with the stored outputs of each code cell that has not changed."""
    outputs = {(cell.id, cell.source): cell.outputs for cell in stored.cells if cell.cell_type == "code"}
    for cell in nb.cells:
        if cell.cell_type == "code":
            cell.outputs = outputs.get((cell.id, cell.source), [])
    return nb


def main(command: str = "", source: str = "", target: str = "") -> int:
    if command == "pack" and source and target:
        nb, path = from_text(Path(source).read_text(encoding="utf-8")), Path(target)
        path.write_text(text_of(with_outputs(nb, read(path)) if path.exists() else nb), encoding="utf-8")
    elif command == "unpack" and source and target:
        Path(target).write_text(to_text(read(Path(source))), encoding="utf-8")
    elif command == "show" and source:
        print(to_text(read(Path(source)), outputs=True))
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
