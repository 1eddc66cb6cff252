"""How a quiz is shown: as text, and as HTML that folds each reason away until its option is chosen."""

import hashlib
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files

from course_practice.markup import inline_html
from course_practice.quizzes.engine.model import Option, Question

# JupyterLab leaves the keys to what is inside.
KEYS = 'data-lm-suppress-shortcuts="true"'


@dataclass(frozen=True)
class Quiz:
    """Questions to answer: its text form lists them, its HTML form also gives the feedback.

    Without its script (a page that strips scripts) each option unfolds its reason; with it, each question is a group of
    radio buttons or checkboxes. Where it is `covered`, options are shown on request, so that the reader recalls first.
    Nothing is sent anywhere; what was missed is remembered by the browser alone.
    """

    title: str
    lead: str
    questions: tuple[Question, ...]
    covered: bool = False

    def __repr__(self) -> str:
        lines = [self.title]
        for number, question in enumerate(self.questions, start=1):
            lines.append(f"{number}. {question.text}{' (several may be right)' if question.many else ''}")
            lines += [f"   - {option.text}" for option in question.shown]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        lead = f'<p class="course-quiz-lead">{inline_html(self.lead)}</p>' if self.lead else ""
        questions = "".join(
            _question(f"{number}. " if len(self.questions) > 1 else "", question, self.covered)
            for number, question in enumerate(self.questions, start=1)
        )
        key = "q" + hashlib.sha256(questions.encode()).hexdigest()[:10]
        return (
            f'<div class="course-quiz" role="group" aria-label="{escape(self.title)}" data-course-quiz="{key}" {KEYS}>'
            f"<style>{_read('quiz.css')}</style>{lead}{questions}</div>"
            f"<script>for (const root of document.querySelectorAll("
            f"'[data-course-quiz=\"{key}\"]:not([data-ready])')) {{\n{_read('quiz.js')}\n}}</script>"
        )


def _question(number: str, question: Question, covered: bool) -> str:
    options = "".join(_option(option, question.guess) for option in question.shown)
    if covered:
        options = _fold("Show the options", options)
    several = " <small>Several may be right.</small>" if question.many else ""
    name = question.id.replace(".", "-").replace("_", "-")
    kind = f"{' data-many' if question.many else ''}{' data-guess' if question.guess else ''}"
    return (
        f'<fieldset id="quiz-{name}" data-question="{question.id}"{kind}>'
        f"<legend>{number}{inline_html(question.text)}{several}</legend>{options}</fieldset>"
    )


def _option(option: Option, guess: bool) -> str:
    right = " data-right" if option.correct else ""
    mark, verdict = ("✓", "Right.") if option.correct else ("✗", "Not quite.")
    why = f'<p><b><span aria-hidden="true">{mark}</span> {verdict}</b> {inline_html(option.why)}</p>'
    if guess:
        why = f"<p>That is your guess. Now look at the output below.</p>{_fold('Compare with what you saw', why)}"
    return f"<details{right}><summary>{inline_html(option.text)}</summary><div>{why}</div></details>"


def _fold(title: str, html: str) -> str:
    return f'<details class="course-quiz-fold"><summary>{title}</summary>{html}</details>'


@cache
def _read(name: str) -> str:
    lines = files(__package__).joinpath(name).read_text(encoding="utf-8").splitlines()
    return "\n".join(line.strip() for line in lines)
