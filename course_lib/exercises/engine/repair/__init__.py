"""The nearest repair: small changes of the learner's own code are tried until every case is right.

`code` holds the trees, `safety` says which may be run at all, `places` and `kinds` how a change is written down.
`values`, `steps`, `indices`, `lines`, and `graft` are the changes, `seen` is what is known of each expression, and
`search` tries them on the cases by way of `variants`. What is told is the line and a question; the change itself is the
last hint.
"""

import time
from dataclasses import dataclass
from typing import Any

from course_lib.exercises.engine.model import Case, Exercise
from course_lib.exercises.engine.repair.code import code_of
from course_lib.exercises.engine.repair.places import Edit
from course_lib.exercises.engine.repair.search import Search
from course_lib.exercises.engine.repair.variants import Variants

__all__ = ["SECONDS", "Repair", "nearest_repair"]

SECONDS = 2.8  # for one search: what follows it must end within three


@dataclass(frozen=True)
class Repair:
    """One or two small changes that make every case right."""

    edits: tuple[Edit, ...]
    object_name: str

    @property
    def kind(self) -> str:
        """The kind of the change, or of both."""
        return "-and-".join(dict.fromkeys(edit.kind for edit in self._in_order()))

    @property
    def lines(self) -> tuple[int, ...]:
        """The numbers of the lines to look at, in the cell or file of the code."""
        return tuple(dict.fromkeys(edit.line for edit in sorted(self.edits, key=lambda edit: edit.line)))

    @property
    def sentence(self) -> str:
        """Where to look, and at what."""
        asked = [f"{self._where(edit)}: {edit.question}" for edit in self._in_order()]
        if len(asked) == 1:
            return f"One small change makes every case right. Look at {asked[0]}"
        if asked[0] == asked[1]:
            return f"Two small changes make every case right. Look, twice, at {asked[0]}"
        return f"Two small changes make every case right. Look at {asked[0]} And at {asked[1]}"

    @property
    def quotes(self) -> tuple[tuple[str, str], ...]:
        """The lines to look at, as the learner wrote them."""
        quoted = {self._where(edit).capitalize(): edit.part.text(edit.line) for edit in self._in_order()}
        return tuple(quoted.items())

    @property
    def hint(self) -> str:
        """The change itself."""
        return " ".join(f"{self._where(edit).capitalize()}: {edit.words}." for edit in self._in_order())

    def _in_order(self) -> list[Edit]:
        return sorted(self.edits, key=lambda edit: edit.line)

    def _where(self, edit: Edit) -> str:
        own = edit.part.tree.name == self.object_name
        return f"line {edit.line}" if own else f"line {edit.line} (in `{edit.part.tree.name}`)"


def nearest_repair(
    exercise: Exercise,
    obj: Any,
    cases: list[Case],
    expected: list[Any],
    wrong: list[int],
    error_line: int | None = None,
    seed: int | None = None,
    keeps_inputs: bool = False,
    seconds: float | None = None,
) -> Repair | None:
    """The nearest repair of an object that answers the cases with the numbers `wrong` wrongly, or None.

    Of `wrong`, the first is tried with every change; with `keeps_inputs` the answers are right, and it is the inputs
    that change. None also where the source is not known, is too long, or
    touches files, processes, or the network: such code is never run in variants.
    """
    deadline = time.monotonic() + (SECONDS if seconds is None else seconds)
    code = code_of(obj)
    if code is None:
        return None
    variants = Variants(exercise, code, cases, expected, deadline, seed, keeps_inputs)
    edits = Search(variants, wrong, error_line).repair()
    return Repair(edits, code.name) if edits else None
