"""Sphinx extension: tuples, percentages, products, a formula with its comma, and how a chapter's name begins are not
broken across lines; √d_k has its subscript, and so has d_k in a heading or a pitfall.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

WHOLE = re.compile(r"\([−\d./]+(?:, [−\d./]+)+\)|(?<=\d) (?:%|[·×±] (?=[−\d]))")
NAME, ROOT = (re.compile(rf"({root}[dW])_([A-Za-z]+)(?![A-Za-z0-9_])") for root in ("√?", "√"))
AS_WRITTEN = (nodes.raw, nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.comment)
# A browser breaks the line after a formula, whatever sign follows (formulas.py writes a word joiner between them).
FORMULA = re.compile(r'(<math display="inline">(?:(?!</math>).)*</math>)\u2060([.,;:!?)’”]+)', re.DOTALL)

CHAPTER = re.compile(r">(\d\d) · ")  # a heading or a link begins with it, in the text and in the frame of the page


class Together(SphinxTransform):
    """Before the contents are collected (at 880), which show the headings as they are here."""

    default_priority = 870

    def apply(self, **kwargs: object) -> None:
        pitfalls = self.env.docname == "book/pitfalls"
        for text in list(self.document.findall(nodes.Text)):
            if not isinstance(text.parent, AS_WRITTEN):
                whole = WHOLE.sub(lambda found: found[0].replace(" ", "\u00a0"), text)
                pattern = NAME if pitfalls or isinstance(text.parent, nodes.title) else ROOT
                if whole != text or pattern.search(text):
                    text.parent.replace(text, list(pieces(whole, pattern)))


def pieces(text: str, pattern: re.Pattern):
    """The text, with what follows the underscore of a name as a subscript."""
    for number, piece in enumerate(pattern.split(text)):
        if piece:
            yield nodes.subscript("", piece) if number % 3 == 2 else nodes.Text(piece)


def tie(app: Sphinx, page: str, template: str, context: dict, doctree: object) -> None:
    context["body"] = FORMULA.sub(r'<span class="course-tied">\1\2</span>', context.get("body", ""))


def name_chapters(app: Sphinx, problem: Exception | None) -> None:
    """In the finished pages: what looks names up, such as the search, knows them as they are written."""
    for path in Path(app.outdir).rglob("*.html") if problem is None and app.builder.name == "html" else ():
        path.write_text(CHAPTER.sub(">\\1\u00a0·\u00a0", path.read_text(encoding="utf-8")), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(Together)
    app.connect("html-page-context", tie)
    app.connect("build-finished", name_chapters)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
