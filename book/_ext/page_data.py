"""Sphinx extension: a page written from data.

`<!-- results -->` in book/results.md becomes the tables of book/results/*.json.

A results file is `chapters.json` (what `make notebooks` measured), or a table of its own:
{"title": "…", "about": "…", "columns": ["…"], "rows": [["…"]]}. Other files are left to the pages that read them.
"""

import json
import re
from pathlib import Path

from page_map import exists, title_of
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def results(env: BuildEnvironment) -> str:
    """One section for every file of book/results that holds a table."""
    sections = []
    for path in sorted((Path(env.srcdir) / "book" / "results").glob("*.json")):
        env.note_dependency(str(path))
        stored = json.loads(path.read_text(encoding="utf-8"))
        if path.name == "chapters.json":
            stored = costs(env, stored)
        if isinstance(stored, dict) and {"title", "columns", "rows"} <= stored.keys():
            sections.append(table(stored))
    return "\n\n".join(sections) or "Nothing has been measured yet."


def costs(env: BuildEnvironment, measured: dict) -> dict:
    """What running each chapter takes, as a table."""
    known = {name: cost for name, cost in sorted(measured.items()) if exists(env, name)}
    return {
        "title": "What a chapter costs",
        "about": "We ran each notebook once from a fresh kernel, on one thread. Your machine will give other numbers.",
        "columns": ["chapter", "seconds", "peak memory (MB)", "Python", "torch"],
        "rows": [
            [f"[{title_of(env, name)}](/chapters/{name}.ipynb)"]
            + [str(cost.get(key, "")) for key in ("seconds", "memory_mb", "python", "torch")]
            for name, cost in known.items()
        ],
    }


def cell(value: object) -> str:
    """The Markdown of one cell; a range of numbers stays on one line, and a number beside its unit.

    A long name breaks between its words.
    """
    together = re.sub(r"(?<=\d)–(?=\d)", "\u2060–\u2060", str(value).replace("|", "\\|"))
    together = re.sub(r"^course\b", "**course**", together)
    together = re.sub(r"(?<=[a-z])(?=[A-Z][a-z]{7})", "<wbr>", together)  # Multihead|Attention
    return re.sub(r"(?<=\d) (?=[A-Za-z]+$)", "\u00a0", together)


def bar(value: str) -> str:
    """A cell that begins with a ratio, with a bar as long as it; the mark on it stands at 1.

    >>> bar("1.75 (1.46–2.49)")
    '<span class="course-ratio" style="--ratio: 1.75"></span>1.75 (1.46\u2060–\u20602.49)'
    """
    found = re.match(r"\d+(\.\d+)?", str(value))
    return (f'<span class="course-ratio" style="--ratio: {found[0]}"></span>' if found else "") + cell(value)


def table(stored: dict) -> str:
    """The Markdown of one table; ratios have bars."""
    columns = stored["columns"]
    kinds = [bar if column.startswith("ratio") else cell for column in columns]
    rows = [columns, ["---"] * len(columns), *stored["rows"]]
    body = "\n".join("| " + " | ".join(kind(one) for kind, one in zip(kinds, row, strict=True)) + " |" for row in rows)
    return f"## {stored['title']}\n\n{stored.get('about', '')}\n\n{body}"


def fill(app: Sphinx, docname: str, source: list[str]) -> None:
    if docname == "book/results":
        source[0] = source[0].replace("<!-- results -->", results(app.env))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
