"""Sphinx extension: the table of what is taught where, written from data.

In book/systems.md, `<!-- systems -->` becomes the rows of book/systems.yml: one section for each chapter.
"""

from itertools import groupby
from pathlib import Path

import yaml
from page_map import title_of
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def page(env: BuildEnvironment) -> str:
    """All rows, a list for each chapter."""
    path = Path(env.srcdir) / "book" / "systems.yml"
    env.note_dependency(str(path))
    lines = []
    for _, rows in groupby(yaml.safe_load(path.read_text(encoding="utf-8")), key=lambda row: row["at"][:2]):
        rows = list(rows)
        name = rows[0]["at"].partition("#")[0]
        lines += [f"## {title_of(env, name)}", ""]
        lines += [line(row) for row in rows]
        lines.append("")
    return "\n".join(lines)


def line(row: dict) -> str:
    """One row: what it is, a link to where it is taught, and below it the places that the row has."""
    chapter, _, heading = row["at"].partition("#")
    parts = [f"* [{row['what']}](/chapters/{chapter}.ipynb#{heading})"]
    for kind in ("code", "tests", "exercises"):
        if row[kind]:
            parts.append(f"  * {kind}: " + " ".join(f"`{place}`" for place in row[kind]))
    return "\n".join(parts)


def fill(app: Sphinx, docname: str, source: list[str]) -> None:
    if docname == "book/systems":
        source[0] = source[0].replace("<!-- systems -->", page(app.env))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
