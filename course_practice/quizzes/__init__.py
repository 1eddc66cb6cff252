"""Questions with feedback for every option: one file per subject, named as its chapter.

>>> from course_practice.quizzes import quiz
>>> quiz("prerequisites.softmax_sum")
Quiz
1. What do the entries of softmax(x) add up to?
   - 1
   - the number of entries of x
   - the sum of the entries of x
"""

import difflib
import functools
import importlib
from pathlib import Path

from course_practice.quizzes.engine import Option, Question, Quiz, read

__all__ = ["Option", "Question", "Quiz", "bank", "quiz", "registry", "warm_up"]


def quiz(*ids: str) -> Quiz:
    """Show the questions with these ids, in this order. Put it on the last line of a cell."""
    return Quiz("Quiz", "", _questions(ids))


def warm_up(*ids: str) -> Quiz:
    """Show questions from earlier chapters, for the start of a chapter: the options are covered until asked for."""
    return Quiz("Warm-up", "Recall the answer, then open the options.", _questions(ids), True)


@functools.cache
def bank(subject: str) -> dict[str, Question]:
    """The questions of one subject by id, from its Markdown file; the `.py` beside it has the names that it needs."""
    text = Path(__file__).with_name(f"{subject}.md")
    names = text.with_suffix(".py")
    scope = vars(importlib.import_module(f"{__name__}.{subject}")) if names.exists() else {}
    return read(subject, text.read_text(encoding="utf-8"), scope)


def registry() -> dict[str, Question]:
    """All questions by id, in the order of their files."""
    return {id: question for subject in _subjects() for id, question in bank(subject).items()}


def _subjects() -> list[str]:
    return sorted(path.stem for path in Path(__file__).parent.glob("*.md"))


def _questions(ids: tuple[str, ...]) -> tuple[Question, ...]:
    if not ids:
        raise ValueError('expected at least one question id, got none: write quiz("masks.polarity")')
    repeated = sorted({id for id in ids if ids.count(id) > 1})
    if repeated:
        raise ValueError(f"expected each question once, got {', '.join(map(repr, repeated))} twice: leave one out")
    return tuple(_get(id) for id in ids)


def _get(id: str) -> Question:
    subject = id.partition(".")[0] if isinstance(id, str) else ""
    if subject in _subjects() and id in bank(subject):
        return bank(subject)[id]
    known = registry()
    near = difflib.get_close_matches(str(id), known, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"registry() lists all {len(known)}"
    raise ValueError(f"expected the id of a question, got {id!r}: {hint}")
