"""The main path of a chapter and its asides: what a reader needs, and what is one fold away."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tools import template
from tools.cost import minutes_to_read
from tools.gates.parsing import (
    Placed,
    calls,
    markdown,
    markdown_parts,
    nodes,
    placed,
    read,
    tags,
    words,
)

ASIDE = f"### {template.ASIDE}"
PRINTED = re.compile(r"(?<![\w.])[-−]?\d[\d,]*(?:\.\d+)?")


def asides(path: Path) -> list[str]:
    """An aside asks a question and answers it at once; nothing outside needs what is inside."""
    cells, found = [*placed(read(path))], []
    for there in cells:
        cell, where = there.cell, f"{path.name}, cell {there.cell.id!r}"
        source = cell.source if cell.cell_type == "markdown" else ""
        headings = [part.text for part in markdown_parts(source) if part.kind in {"h1", "h2", "h3"}]
        any_aside = any(text.startswith(template.ASIDE) for text in headings)
        if any_aside and (len(headings) > 1 or not source.startswith(ASIDE)):
            found.append(
                f"{where}: an aside begins and ends with a cell: give its heading the first line of a cell of its own"
            )
        elif source.startswith(ASIDE):
            found += [f"{where}: {complaint}" for complaint in _form(there)]
        if there.aside and cell.cell_type == "code" and calls(cell.source, "check", "quiz", "warm_up"):
            found.append(f"{where}: practice in an aside, which readers may skip: move it to the main path")
    return found + [f"{path.name}, {complaint}" for complaint in _needed(cells)]


def _form(there: Placed) -> Iterator[str]:
    heading, *texts = [token.content for token in markdown(there.cell.source) if token.type == "inline"]
    if not heading.endswith("?"):
        yield f"expected a question after '{ASIDE}', got {heading!r}"
    if not texts:
        yield "expected the answer in the same cell, in one paragraph: the page shows it beside the question"
    elif words(texts[0]) > template.ANSWER_WORDS:
        got = f"the answer has {words(texts[0])} words, at most {template.ANSWER_WORDS}"
        yield f"{got}: say it in one sentence, then begin a new paragraph"
    if there.section in template.NO_ASIDES:
        yield f"an aside in '## {there.section}': put it into the section that it is about"


def _needed(cells: list[Placed]) -> Iterator[str]:
    """Names that only an aside sets and the main path reads: a reader who skips it would get a NameError."""
    road: set[str] = set()
    aside: dict[str, str] = {}
    for there in cells:
        cell = there.cell
        if cell.cell_type != "code":
            continue
        every = nodes(cell.source)
        names = [node for node in every if isinstance(node, ast.Name)]
        bound = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        bound |= {node.name for node in every if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        imports = [node for node in every if isinstance(node, ast.Import | ast.ImportFrom)]
        bound |= {(each.asname or each.name).partition(".")[0] for node in imports for each in node.names}
        bound |= {node.arg for node in every if isinstance(node, ast.arg)}
        if there.aside:
            aside |= {name: cell.id for name in bound - road if name not in aside}
            continue
        for name in sorted({name.id for name in names if isinstance(name.ctx, ast.Load)} - bound):
            if name in aside:
                yield f"cell {cell.id!r}: needs {name!r} of the aside in cell {aside[name]!r}: set it on the main path"
        road |= bound
        aside = {name: at for name, at in aside.items() if name not in bound}


def size(path: Path) -> tuple[int, int, int]:
    """The words, shown lines of code, and printed numbers of the main path."""
    prose = lines = numbers = 0
    for there in placed(read(path)):
        cell = there.cell
        if there.aside or there.heading.startswith("Exercise: ") or there.section in template.APART:
            continue
        if cell.cell_type == "markdown":
            prose += words(template.COMPUTED_ROW.sub("", cell.source))
        elif template.SET_UP_TAG not in tags(cell):
            if template.HIDE_INPUT not in tags(cell):
                lines += sum(1 for line in cell.source.split("\n") if line.strip())
            if template.HIDE_OUTPUT not in tags(cell):
                numbers += sum(len(PRINTED.findall(output.get("text", ""))) for output in cell.outputs)
    return prose, lines, numbers


def in_practice(path: Path) -> list[str]:
    """What one writes today is told in short, and its code runs."""
    inside = [there.cell for there in placed(read(path)) if there.section == template.PRACTICE]
    text = sum(words(cell.source) for cell in inside if cell.cell_type == "markdown")
    code = [cell.source for cell in inside if cell.cell_type == "code"]
    lines = sum(1 for source in code for line in source.split("\n") if line.strip())
    where, found = f"{path.name}, ## {template.PRACTICE}", []
    if inside and not code:
        found.append(f"{where}: no cell that runs: compare it with the chapter's own")
    for what, got, most in (
        ("words", text, template.PRACTICE_WORDS),
        ("lines of code", lines, template.PRACTICE_LINES),
    ):
        if got > most:
            found.append(f"{where}: {got} {what}, at most {most}: leave out what is no habit")
    return found


def budget(path: Path) -> list[str]:
    """The main path can be read in one sitting."""
    most = {"words": template.ROAD_WORDS, "lines of code": template.ROAD_LINES, "numbers": template.ROAD_NUMBERS}
    most["minutes of reading"] = template.ROAD_MINUTES
    found = (*size(path), minutes_to_read(read(path)))
    return [
        f"{path.name}: {got:,} {what} on the main path, at most {limit:,}: fold into an aside what need not be there"
        for (what, limit), got in zip(most.items(), found, strict=True)
        if got > limit
    ]
