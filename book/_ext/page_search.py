"""Sphinx extension: the search shows what a place says, from a file that the page of the search alone loads.

For each page, in order, its places and the first prose of each: no formulas, code, outputs, or lists of contents.
"""

import json
from pathlib import Path
from textwrap import shorten

from docutils import nodes
from sphinx.application import Sphinx

FILE, LENGTH = "course-places.js", 160
APART = (nodes.list_item, nodes.table, nodes.footnote, nodes.section)
UNSAID = (nodes.math, nodes.raw, nodes.comment, nodes.footnote_reference)


def said(section: nodes.section) -> str:
    """The first paragraph of a section without a formula, else the first one, without its formulas; "" without any.

    >>> one = nodes.paragraph("", "", nodes.Text("It is "), nodes.math("", r"\\sqrt{x}"), nodes.Text("."))
    >>> said(nodes.section("", nodes.title("", "Of roots"), one))
    'It is …'
    >>> said(nodes.section("", one, nodes.paragraph("", "All in words.")))
    'All in words.'
    """
    paragraphs = [part for part in section.findall(nodes.paragraph) if place_of(part) is section]
    plain = [part for part in paragraphs if not list(part.findall(nodes.math))]
    text = "".join(map(words, (plain or paragraphs)[:1])).replace("….", "…")
    return shorten(text, LENGTH, placeholder=" …")


def place_of(part: nodes.Node) -> nodes.Node | None:
    """What the part stands in: a section, or what is no prose of one, as a list or the output of a cell."""
    while part is not None and not isinstance(part, APART) and "cell_output" not in part.get("classes", ()):
        part = part.parent
    return part


def words(part: nodes.Node) -> str:
    if isinstance(part, UNSAID):
        return "…" if isinstance(part, nodes.math) else ""
    return part.astext() if isinstance(part, nodes.Text) else "".join(map(words, part.children))


def places(page: nodes.document) -> list[tuple[str, str]]:
    """The anchor of each section, the page's own without one, and what is said there."""
    sections = [part for part in page.findall(nodes.section) if part["ids"]]
    return [(part["ids"][0] if number else "", said(part)) for number, part in enumerate(sections)]


def write(app: Sphinx, page: str, template: str, context: dict, doctree: object) -> None:
    if page == "search" and app.builder.name == "html":
        found = {name: places(app.env.get_doctree(name)) for name in sorted(app.env.found_docs)}
        text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
        Path(app.outdir, "_static", FILE).write_text(f"coursePlaces = {text};\n", encoding="utf-8")
        app.add_js_file(FILE)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
