"""Sphinx extension: each figure of a chapter has a number, and under or beside it the words that say what it shows.

The words are those that stand for the figure where it is not seen: they state what can be seen in it.
"""

import re
from html import escape, unescape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

FIGURE = re.compile(r'<(?:figure|div)\b[^>]*\bclass="course-figure"')
WORDS = re.compile(r'\baria-label="([^"]*)"')
TOLD = re.compile(r'\bdata-text="([^"]*)"')
SHOWN = " Shown: "  # in a figure with controls, what follows changes with them
MOVES = 'data-course="explore"'
SHAPES = re.compile(r" × \d+\) (?:equals|becomes, by|times) ")  # the picture itself, read out


class Captions(SphinxPostTransform):
    """Number the figures of a chapter in their order, once its outputs are chosen."""

    default_priority = 901
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        folder, _, chapter = self.env.docname.rpartition("/")
        found = [raw for raw in self.document.findall(nodes.raw) if FIGURE.search(raw.astext())]
        for number, raw in enumerate(found if folder == "chapters" else (), 1):
            raw.children = [nodes.Text(captioned(raw.astext(), f"Figure {int(chapter[:2])}.{number}"))]


def captioned(html: str, number: str) -> str:
    """The figure with its caption. Who hears the figure has heard the words: the number is enough."""
    found = (MOVES in html and TOLD.search(html)) or WORDS.search(html)
    words, shown, _ = unescape(found[1]).partition(SHOWN) if found else ("", "", "")
    if MOVES in html and not shown:
        words = ""  # they would hold for the first of its pictures alone
    words = "Shapes, step by step." if SHAPES.search(words) else words
    heard = any(words in unescape(label) for label in WORDS.findall(html))
    silent = ' aria-hidden="true"' if heard else ""
    text = f"<b>{number}</b> <span{silent}>{escape(words)}</span>"
    return f'<div class="course-captioned">{html}<p class="course-caption">{text}</p></div>'


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_post_transform(Captions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
