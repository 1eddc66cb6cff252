"""Two slips of which one is a known mistake: after a change that repairs the other, the code answers like it."""

import ast
import re
from collections import Counter
from types import CodeType

from course_practice.engine import answers
from course_practice.engine.compare import as_tensor
from course_practice.engine.model import Mistake
from course_practice.engine.run import Outcome
from course_practice.suggest.edits import Edit
from course_practice.suggest.safety import names_in
from course_practice.suggest.variants import RIGHT, Variants

FARTHER, WORSE = 1.04, 1.25  # times as far from right, as wrong, may an answer be after one of two slips is repaired
Known = tuple[Mistake, list[Outcome]]  # a mistake, and what it answers to each case


class Remaining:
    """Known mistakes, one of which may remain in code after a change."""

    def __init__(self, variants: Variants, known: tuple[Known, ...], written: CodeType, right: list[int]):
        """`written` is the code as the learner wrote it, and `right` are the cases that it answers rightly."""
        self.variants, self.known, self.written, self.right = variants, known, written, right
        self.marks: dict[int, list[tuple]] = {}  # of what they answer to a case

    def after(self, code: CodeType, number: int) -> Mistake | None:
        """The mistake that remains in changed code, which has just answered the case `number`, wrongly."""
        exercise, got = self.variants.exercise, self.variants.outcome
        if not self.known or got.error is not None:
            return None
        if number not in self.marks:
            self.marks[number] = [mark_of(wanted[number]) for _mistake, wanted in self.known]
        mark = mark_of(got)
        near = [known for known, its in zip(self.known, self.marks[number], strict=True) if its == mark]
        if not any(answers.same_outcome(exercise, wanted[number], got) for _mistake, wanted in near):
            return None
        if not all(self.variants.rate(code, number) == RIGHT for number in self.right):
            return None  # it repairs nothing
        got = [self.variants.run(code, number) for number in range(len(self.variants.cases))]
        for mistake, wanted in near:
            same = (answers.same_outcome(exercise, a, b) for a, b in zip(wanted, got, strict=True))
            if all(same) and self._comes_nearer(code):
                return mistake
        return None

    def _comes_nearer(self, code: CodeType) -> bool:
        """Is the change a step to what is right? Else a step that was right may have been spoiled."""
        (rates, far), (now, still_far) = map(self.variants.how_wrong, (self.written, code))
        return now < rates or (still_far <= FARTHER * far and now <= WORSE * rates)


def puts_in(edit: Edit, mistake: Mistake) -> bool:
    """Does a change bring the very words that the mistake brings? Then it does not remain, but is made."""
    new = _words(ast.unparse(edit.after)) - _words(ast.unparse(edit.before)) if keeps_names(edit) else set()
    hunks = [(_words("\n".join(hunk.new)), _words("\n".join(hunk.old))) for hunk in getattr(mistake.wrong, "hunks", ())]
    return bool(new) and any(new <= wrong - right for wrong, right in hunks)


def _words(code: str) -> set[str]:
    return set(re.findall(r"\w+", code))


def mark_of(outcome: Outcome) -> tuple:
    """What tells most different answers apart at once: their shapes, and a rounded sum."""
    values = outcome.value if isinstance(outcome.value, tuple) else (outcome.value,)
    tensors = [tensor for tensor in map(as_tensor, values) if tensor is not None]
    return tuple((tensor.shape, f"{tensor.double().nan_to_num().abs().sum().item():.4g}") for tensor in tensors)


def keeps_names(edit: Edit, elsewhere: bool = False) -> bool:
    """Does every name that stood there stand there still, or `elsewhere` in the code?"""
    before, after = (
        [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)] if isinstance(tree, ast.AST) else []
        for tree in (edit.before, edit.after)
    )
    lost = set(Counter(before) - Counter(after))
    return isinstance(edit.after, ast.AST) and not lost.difference(names_in(edit.part.tree) if elsewhere else ())
