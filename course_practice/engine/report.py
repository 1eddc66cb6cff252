"""Results and solutions in two forms: text for terminals and comparisons, HTML for notebooks and the book."""

import html
from collections.abc import Collection
from dataclasses import dataclass, field

from course_practice.engine.compare import Difference
from course_practice.engine.model import Exercise
from course_practice.engine.source import runnable_source
from course_practice.markup import inline_html

_COLORS = {"passed": "#009E73", "failed": "#D55E00", "waiting": "#767676", "convention": "#0072B2"}
_MARKS = {"passed": "✓", "failed": "✗", "waiting": "○", "convention": "≈"}


@dataclass(frozen=True)
class Result:
    """What `check` found.

    `diagnosis` is a slug (a mistake's name, "wrong-shape", …), None when passed or not tried. Where a small change of
    the learner's own code makes every case right, `lines` are the lines to look at, and `repair` is the kind of change.
    """

    exercise: str
    passed: bool
    attempted: bool
    message: str
    diagnosis: str | None = None
    kind: str = "failed"
    details: tuple[tuple[str, str], ...] = ()
    hints: tuple[str, ...] = field(default=(), repr=False)
    lines: tuple[int, ...] = ()
    repair: str | None = None

    def __str__(self) -> str:
        lines = [f"{_MARKS[self.kind]} {self.exercise}: {self.message}"]
        for name, text in self.details:
            lines.append(f"  {name}:" + "".join(f"\n    {line}" for line in text.splitlines()))
        if self.hints:
            lines.append(f"  Stuck? show_solution({self.exercise!r}) has hints, one at a time, before the solution.")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        details = "".join(
            f'<dt style="font-weight:600">{inline_html(name)}</dt><dd style="margin:0 0 .4em 1em">{_block(text)}</dd>'
            for name, text in self.details
        )
        mark = f'<span aria-hidden="true" style="font-weight:700">{_MARKS[self.kind]}</span>'
        style = f"border-left:4px solid {_COLORS[self.kind]};padding:.3em .8em;margin:.4em 0"
        return (
            f'<div class="course-result" role="status" style="{style}">'
            f'<p style="margin:.2em 0">{mark} <code>{self.exercise}</code>: {inline_html(self.message)}</p>'
            f"{f'<dl style=margin:0>{details}</dl>' if details else ''}{_folded_hints(self.hints)}</div>"
        )


class Solution:
    """Hints, the solution, and one other way of one exercise, each folded until it is opened.

    `known` are the names of the place where it is shown: what a solution needs beyond them stands above it.
    """

    def __init__(self, exercise: Exercise, known: Collection[str] = ()):
        self.exercise = exercise
        shown = (exercise.reference, *exercise.alternatives[:1])
        self.sources = [runnable_source(obj, known) for obj in shown]

    def __repr__(self) -> str:
        hints = [f"Hint {n}: {hint}" for n, hint in enumerate(self.exercise.hints, start=1)]
        return "\n".join([f"Hints and solution of {self.exercise.id}", *hints, "", *self.sources])

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """What a notebook shows and keeps; a viewer that strips its HTML shows no solution."""
        id = self.exercise.id
        plain = f"Hints and solution of {id}, folded in a notebook. print(show_solution({id!r})) shows all."
        return {"text/plain": plain, "text/html": self._repr_html_()}

    def _repr_html_(self) -> str:
        titles = ("Solution", "Another way")
        solutions = "".join(map(_folded, titles, map(_code, self.sources)))
        return (
            f'<div class="course-solution" role="group" aria-label="Hints and solution of {self.exercise.id}">'
            f"{_folded_hints(self.exercise.hints)}{solutions}</div>"
        )


def _folded_hints(hints: tuple[str, ...]) -> str:
    return "".join(
        _folded(f"Hint {number} of {len(hints)}", f'<p style="margin:.2em 1em">{inline_html(hint)}</p>')
        for number, hint in enumerate(hints, start=1)
    )


def _folded(title: str, body: str) -> str:
    # JupyterLab would take the keys of a focused summary as its own: Enter would edit the cell instead of unfolding.
    summary = f'<summary data-lm-suppress-shortcuts="true" style="cursor:pointer">{title}</summary>'
    return f'<details style="margin:.2em 0">{summary}{body}</details>'


def _code(source: str) -> str:
    escaped = html.escape(source, quote=False)
    return f'<pre tabindex="0" style="overflow-x:auto;margin:.3em 0 .6em"><code>{escaped}</code></pre>'


def _block(text: str) -> str:
    escaped = html.escape(text, quote=False)
    return f'<pre tabindex="0" style="overflow-x:auto;margin:0;background:none;border:0;padding:0">{escaped}</pre>'


def failed(
    exercise: Exercise, found: Difference, details: tuple[tuple[str, str], ...] = (), kind: str = "failed"
) -> Result:
    """The result of an attempt that did not pass."""
    return Result(exercise.id, False, True, found.sentence, found.kind, kind, details, exercise.hints)
