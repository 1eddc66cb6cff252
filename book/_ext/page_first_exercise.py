"""Sphinx extension: `{course-first-exercise}`, an exercise that is solved by clicks, on the front page.

The cells are the causal mask of a few words. The page answers with the messages of the exercise itself, each looked up
by the table that its mistake makes. A table that is no known mistake is answered by what its wrong cells do.
"""

import json
from functools import cache
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from torch import Tensor

from course_practice.engine import Convention
from course_practice.engine.answers import canonical
from course_practice.exercises import registry
from course_practice.markup import inline_html

EXERCISE = "masks.causal"
CHAPTER = "chapters/05_masks"
SECTION = "the-causal-mask"
WORDS = ("a", "girl", "reads", "books")
TASK = (
    "A model writes from left to right. While a word (a row) is being read, which words (the columns) may it see? Its "
    "future must stay hidden, since that is what the model has to guess. Click the cells (✓: may see)."
)


def bits(table: Tensor) -> str:
    """A table of 0 and 1 as one word, row by row.

    >>> import torch
    >>> bits(torch.tensor([[True, False], [True, True]]))
    '1011'
    """
    return "".join(str(int(cell)) for cell in table.flatten().tolist())


@cache
def answers() -> tuple[str, dict[str, tuple[str, str]]]:
    """The right table, and for the table of each mistake its mark and its message."""
    exercise = registry()[EXERCISE]
    n = len(WORDS)
    right = bits(exercise.reference(n))
    found = {}
    for mistake in exercise.mistakes:
        table = canonical(exercise, mistake.implementation(n))
        is_of_cells = table.shape == (n, n) and ((table == 0) | (table == 1)).all()
        if is_of_cells and bits(table) not in (right, *found):
            mark = "≈" if isinstance(mistake, Convention) else "✗"
            found[bits(table)] = (mark, inline_html(mistake.message))
    return right, found


def grid() -> str:
    """The table of buttons: rows are the words that ask, columns those that may be seen. At first each sees all."""
    heads = "".join(f'<th scope="col">{word}</th>' for word in WORDS)
    rows = []
    for i, query in enumerate(WORDS):
        cells = "".join(
            f'<td><button type="button" aria-pressed="true" data-query="{i}" data-key="{j}" '
            f'aria-label="{query} may see {key}"></button></td>'
            for j, key in enumerate(WORDS)
        )
        rows.append(f'<tr><th scope="row">{query}</th>{cells}</tr>')
    return f"<table><thead><tr><td></td>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


class FirstExercise(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        folder = Path(self.env.srcdir) / "course_practice" / "exercises"
        self.env.note_dependency(str(folder.joinpath(*EXERCISE.split(".")).with_suffix(".md")))
        right, found = answers()
        uri = self.env.app.builder.get_relative_uri(self.env.docname, CHAPTER)
        html = (
            f'<div class="course-first-exercise" role="group" aria-label="An exercise to solve here" '
            f'data-exercise="{EXERCISE}" data-right="{right}" data-words="{" ".join(WORDS)}" '
            f'data-mistakes="{escape(json.dumps(found, ensure_ascii=False))}">'
            f"<p>{TASK}</p>"
            f'{grid()}<p class="course-buttons"><button type="button" data-check>Check</button></p>'
            f'<p role="status"></p><p data-after hidden>In chapter 05 you write it in one line, and the '
            f'check reads your code: <a href="{uri}#{SECTION}">look inside</a>.</p></div>'
        )
        return [nodes.raw("", html, format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("course-first-exercise", FirstExercise)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
