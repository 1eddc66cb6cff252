"""The normal form of a stored notebook: the same content always gives the same bytes."""

import re
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools.template import ASIDE, FOLDED_IN_JUPYTER

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# Widget views point into the memory of a kernel that is gone; the text/html above them is what a page shows.
DROPPED_OUTPUT_TYPES = {"application/vnd.jupyter.widget-view+json"}
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# JupyterLab names new cells with 8 random hex digits, other editors with a UUID.
RANDOM_ID = re.compile(r"^(?=.*\d)[0-9a-f]{8}(-[0-9a-f]{4}){0,3}(-[0-9a-f]{12})?$|^cell-\d+$")


def read(path: Path) -> NotebookNode:
    """Read a notebook without changing it."""
    return nbformat.read(path, as_version=4)


def text_of(nb: NotebookNode) -> str:
    """The bytes a notebook is stored as: one space of indentation, sorted keys, a newline at the end."""
    return nbformat.writes(nb, version=4).rstrip("\n") + "\n"


def normal_form(nb: NotebookNode) -> NotebookNode:
    """The same notebook with readable cell ids and nothing that changes from one run to the next."""
    taken = {cell.id for cell in nb.cells if "id" in cell and not RANDOM_ID.match(cell.id)}
    cells = []
    for cell in nb.cells:
        cell_id = cell.get("id", "")
        if not cell_id or RANDOM_ID.match(cell_id):
            cell_id = _free(_slug(cell), taken)
            taken.add(cell_id)
        metadata = _metadata(cell.metadata.get("tags", []))
        source = "\n".join(line.rstrip() for line in cell.source.strip("\n").split("\n"))
        if cell.cell_type == "markdown" and source.startswith(f"### {ASIDE}"):
            metadata["jp-MarkdownHeadingCollapsed"] = True
        new = {"cell_type": cell.cell_type, "id": cell_id, "metadata": metadata, "source": source}
        if cell.cell_type == "code":
            outputs = [_clean(output) for output in cell.outputs]
            outputs = [output for output in outputs if output.get("data", True)]  # nothing but a view is left out
            new |= {"execution_count": None, "outputs": _merge_streams(outputs)}
        cells.append(nbformat.from_dict(new))  # it is checked as a whole
    normal = nbformat.v4.new_notebook(cells=cells, metadata=METADATA)
    normal.nbformat_minor = 5
    return normal


def _metadata(tags: list[str]) -> dict:
    """The tags, and for JupyterLab and VS Code what of the cell is folded."""
    folded = {FOLDED_IN_JUPYTER[tag]: True for tag in tags if tag in FOLDED_IN_JUPYTER}
    return ({"jupyter": folded} if folded else {}) | ({"tags": sorted(tags)} if tags else {})


def _slug(cell: NotebookNode) -> str:
    """A readable id from what the cell says first: its heading, its definition, or its first words."""
    source = cell.source
    heading = re.search(r"^#+ +(.+)$", source, re.MULTILINE) if cell.cell_type == "markdown" else None
    definition = re.search(r"^(?:def|class) +(\w+)", source, re.MULTILINE) if cell.cell_type == "code" else None
    words = (heading or definition).group(1) if heading or definition else " ".join(re.findall(r"\w+", source)[:5])
    slug = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:40].strip("-")
    return slug if slug and not RANDOM_ID.match(slug) else f"{cell.cell_type}-cell"


def _free(slug: str, taken: set[str]) -> str:
    """The slug itself, or with the first number that is not taken yet."""
    if slug not in taken:
        return slug
    return next(f"{slug}-{n}" for n in range(2, 10_000) if f"{slug}-{n}" not in taken)


def _clean(output: NotebookNode) -> NotebookNode:
    """One output without counters, metadata, widget views and terminal colors."""
    output = nbformat.from_dict(dict(output))
    if output.output_type == "stream":
        output.text = ANSI.sub("", output.text)
    elif "data" in output:
        output.data = {
            kind: _plain(kind, data) for kind, data in output.data.items() if kind not in DROPPED_OUTPUT_TYPES
        }
        output.metadata = {}
        if output.output_type == "execute_result":
            output.execution_count = None
    return output


def _plain(kind: str, data: object) -> object:
    return ANSI.sub("", data) if kind.startswith("text/") and isinstance(data, str) else data


def _merge_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Join neighboring pieces of one stream: where a print is cut in two depends on the machine's speed."""
    merged: list[NotebookNode] = []
    for output in outputs:
        last = merged[-1] if merged else None
        if last is not None and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            merged.append(output)
    return merged
