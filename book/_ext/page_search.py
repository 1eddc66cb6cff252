"""Sphinx extension: what the search looks through, a file that the page of the search alone loads.

For each page, in order, its places: anchor, title, prose, and the words of its code and formulas, each once. No outputs
and no lists of contents. `course-search.js` finds and shows them.
"""

import json
import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

FILE, SCRIPT = "course-places.js", "course-search.js"
APART = (nodes.footnote, nodes.section)
CODE = re.compile(r"[^\W\d]\w*(?:\.\w+)*|√|∞")


def place_of(part: nodes.Node) -> nodes.Node | None:
    """The section that the part stands in, or what is none of its text, as the output of a cell."""
    while part is not None and not isinstance(part, APART) and "cell_output" not in part.get("classes", ()):
        part = part.parent
    return part


def prose(section: nodes.section) -> str:
    r"""The paragraphs, lists, and tables of a section, not those of the sections in it; a formula is "…".

    >>> one = nodes.paragraph("", "", nodes.Text("It is "), nodes.math("", r"\sqrt{x}"), nodes.Text("."))
    >>> prose(nodes.section("", nodes.title("", "Of roots"), one, nodes.paragraph("", "All in words.")))
    'It is …. All in words.'
    """
    parts = [part for part in section.findall(nodes.paragraph) if place_of(part) is section]
    return " ".join(" ".join(map(words, parts)).split())


def words(part: nodes.Node) -> str:
    if isinstance(part, nodes.raw | nodes.comment | nodes.footnote_reference):
        return ""
    if isinstance(part, nodes.math):
        return "…"
    return part.astext() if isinstance(part, nodes.Text) else "".join(map(words, part.children))


def code(section: nodes.section) -> str:
    r"""The words of a section's code and formulas, each once.

    >>> formula = nodes.math("", r"\frac{QK^T}{\sqrt{d_k}}")
    >>> code(nodes.section("", nodes.paragraph("", "", formula), nodes.literal_block("", "x = x.sum(dim=-1)")))
    'frac QK T √ d_k x x.sum dim'
    """
    found = []
    for part in section.findall(lambda node: isinstance(node, nodes.math | nodes.math_block | nodes.literal_block)):
        if place_of(part) is section:
            found += CODE.findall(part.astext().replace(r"\sqrt", "√ ").replace(r"\infty", "∞ ").replace(r"\top", "T "))
    return " ".join(dict.fromkeys(found))


def places(page: nodes.document) -> list[tuple[str, str, str, str]]:
    """The anchor of each section, the page's own without one, its title, and what stands there."""
    sections = [part for part in page.findall(nodes.section) if part["ids"]]
    return [
        (part["ids"][0] if number else "", part[0].astext(), prose(part), code(part))
        for number, part in enumerate(sections)
    ]


def write(app: Sphinx, page: str, template: str, context: dict, doctree: object) -> None:
    if page == "search" and app.builder.name == "html":
        found = {name: places(app.env.get_doctree(name)) for name in sorted(app.env.found_docs)}
        text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
        Path(app.outdir, "_static", FILE).write_text(f"coursePlaces = {text};\n", encoding="utf-8")
        app.add_js_file(FILE)
        app.add_js_file(SCRIPT)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
