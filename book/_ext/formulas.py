"""Sphinx extension: formulas are typeset when the book is built, as MathML, which a browser draws without a script.

Screen readers read MathML as it is. The shipped font Course Math has the shapes (`tools/fonts.py` cuts it).
"""

import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

# What the converter knows by another name. Words are one text: it would set \mathrm letter by letter.
CLOSING = (")", "]", "}", "∣")
ROWS = ("math", "mrow", "mstyle", "mtd")
SPELLED = (
    (re.compile(r"\\(begin|end)\{aligned\}"), r"\\\1{split}"),
    (re.compile(r"\\begin\{gathered\}"), r"\\begin{array}{c}"),
    (re.compile(r"\\end\{gathered\}"), r"\\end{array}"),
    (re.compile(r"(\\\\)\[\d\w*\]"), r"\1"),  # room below a row: a table's rows have some
    (re.compile(r"\\mathrm\{(\w{2,})\}"), r"\\text{\1}"),
)


def mathml(formula: str, display: str) -> str:
    r"""A TeX formula as MathML; `display` is "inline" or "block". ValueError where something of it is left as TeX.

    >>> mathml(r"x^2", "inline")
    '<math display="inline"><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow></math>'
    """
    spelled = formula.strip()
    for pattern, replacement in SPELLED:
        spelled = pattern.sub(replacement, spelled)
    tree = ElementTree.fromstring(convert(spelled, display=display, xmlns="").replace("<mi>&</mi>", "<mi>&amp;</mi>"))
    for part in tree.iter():
        if part.tag in ROWS:
            part[:] = spaced(list(part))
        if part.tag == "mtable" and part.find("mtr/mtd[@columnalign='center']") is not None:
            part.set("displaystyle", "true")
    found = ElementTree.tostring(tree, encoding="unicode", short_empty_elements=False)
    if left := re.search(r"\\[A-Za-z]+|<mi>&amp;</mi>", re.sub(r'"[^"]*"', "", found)):
        raise ValueError(
            f"expected a formula that latex2mathml knows, got {left[0]!r} in {formula!r}: write it otherwise"
        )
    return found


def spaced(parts: list[Element]) -> list[Element]:
    """A row with the spaces that TeX sets: around functions, none around a slash, none after a sign."""
    found: list[Element] = []
    for part in parts:
        text = part.text or ""
        if part.tag == "mo" and (text.isalpha() or text in "…∞"):
            part.tag = "mi"
        if part.tag == "mrow" and not len(part):
            part.tag = "mi"  # where a column ends: beside words alone, a browser takes an operator's space away
        is_sign = text in ("−", "+") and (not found or (found[-1].tag == "mo" and found[-1].text not in CLOSING))
        if text == "=":
            part.attrib.update(lspace="0.278em", rspace="0.278em")  # also where a column ends with it
        if text == "/" or is_sign:
            part.attrib.update(lspace="0", rspace="0")
        if found and (_is_function(part) or _is_function(found[-1])) and "mo" not in (part.tag, found[-1].tag):
            found.append(Element("mspace", width="0.167em"))
        found.append(part)
    return found


def _is_function(part: Element) -> bool:
    name = part[0] if part.tag in ("msub", "msup", "msubsup") else part
    return name.tag == "mi" and len(name.text or "") > 1


def _visit(self: nodes.NodeVisitor, node: nodes.Element, display: str, frame: tuple[str, str]) -> None:
    try:
        self.body.append(mathml(node.astext(), display).join(frame))
    except Exception as error:  # of many kinds, from the converter
        logging.getLogger(__name__).warning("%s", error, location=node)
    raise nodes.SkipNode


def inline(self: nodes.NodeVisitor, node: nodes.math) -> None:
    _visit(self, node, "inline", ("", "\u2060"))  # a comma or a period behind it stays in its line


def block(self: nodes.NodeVisitor, node: nodes.math_block) -> None:
    _visit(self, node, "block", ('<div class="course-formula">', "</div>\n"))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
