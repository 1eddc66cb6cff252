"""Sphinx extension: `{course-first-figure}`, the attention of a trained translator, live on the first page.

book/first_figure.py trains that translator and stores its weights in book/results/first_figure.json.
"""

import json
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from course_lib.figures import attention_view

FILE = Path("book/results/first_figure.json")
# Who sees this figure first does not know yet what queries and keys are.
PLAIN = {
    'make("legend", {}, "queries")': 'make("legend", {}, "it writes")',
    '{ class: "course-title" }, "keys")': '{ class: "course-title" }, "it looks at")',
}


def figure(stored: dict) -> str:
    """The HTML of the figure: lines from each English word to the Korean words it was translated from."""
    weights = [[[[w / 1000 for w in row] for row in head] for head in layer] for layer in stored["thousandths"]]
    view = attention_view(
        stored["queries"],
        weights,
        keys=stored["keys"],
        layer=stored["start"]["layer"],
        head=stored["start"]["head"],
        query=stored["start"]["query"],
        alt="Lines lead from each English word to the Korean words that the model looks at before it writes it.",
    )
    html = view.page()
    for term, plain in PLAIN.items():
        if html.count(term) != 1:
            raise ValueError(f"expected {term} once in the script of the attention view, got {html.count(term)}")
        html = html.replace(term, plain)
    return html


def caption(stored: dict) -> str:
    """What the reader sees, with the numbers of the run that made it."""
    return (
        f"A small Transformer of this course's parts, whose tokens are whole words, after {stored['training_seconds']} "
        "seconds of training on the course's own corpus, reads a Korean sentence that it was never trained on. It "
        f"writes “{stored['translation']}”. "
        '<span class="course-screen" data-paper="From each English word, the lines lead">Point at an English word, or '
        "choose it with the keyboard: the lines lead</span> to the Korean words that the model looks at before it "
        "writes it."
    )


class FirstFigure(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        path = Path(self.env.srcdir) / FILE
        self.env.note_dependency(str(path))
        stored = json.loads(path.read_text(encoding="utf-8"))
        html = f'<div class="course-first-figure">{figure(stored)}<p>{caption(stored)}</p></div>'
        return [nodes.raw("", html, format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("course-first-figure", FirstFigure)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
