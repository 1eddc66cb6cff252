"""The nearest repair: small changes of the learner's own code are tried until every case is right.

`code` holds the trees, `safety` says which may be run at all, `places` and `kinds` how a change is written down.
`values`, `steps`, `indices`, `lines`, and `graft` are the changes, `seen` is what is known of each expression, and
`search` tries them on the cases by way of `variants`. What is told is the line and a question; the change itself is the
last hint.
"""

from dataclasses import dataclass
from typing import Any

from course_practice.engine.clock import Limit
from course_practice.engine.model import Case, Exercise
from course_practice.repair.code import code_of
from course_practice.repair.places import Edit, take_back
from course_practice.repair.search import Search
from course_practice.repair.variants import Variants

__all__ = ["SECONDS", "Repair", "nearest_repair"]

SECONDS = 2.5  # for one search: what follows it must end within three
MOMENT = 0.5
REST = 0.3  # for looking how far a single change leads


@dataclass(frozen=True)
class Repair:
    """One or two small changes that make every case right; or one that makes at least `right` of `cases` right."""

    edits: tuple[Edit, ...]
    object_name: str
    right: int
    cases: int

    @property
    def kind(self) -> str:
        """The kind of the change, or of both."""
        kinds = "-and-".join(dict.fromkeys(edit.kind for edit in self._in_order()))
        return kinds if self.right == self.cases else f"{kinds}-in-part"

    @property
    def lines(self) -> tuple[int, ...]:
        """The numbers of the lines to look at, in the cell or file of the code."""
        return tuple(dict.fromkeys(edit.line for edit in sorted(self.edits, key=lambda edit: edit.line)))

    @property
    def sentence(self) -> str:
        """Where to look, and at what."""
        first, *others = self._in_order()
        asked = f"{self._where(first)}: {first.question}"
        if self.right < self.cases:
            return f"One small change makes {self.right} of {self.cases} cases right, though not all. Look at {asked}"
        if not others:
            return f"One small change makes every case right. Look at {asked}"
        if len({edit.asks for edit in self.edits}) == 1 and len(self.lines) == len(self.edits):
            return f"The same small change in lines {_listed(self.lines)} makes every case right. Look at {asked}"
        if (others[0].line, others[0].question) == (first.line, first.question):
            return f"Two small changes make every case right. Look, twice, at {asked}"
        if others[0].line == first.line:
            return (
                f"Two small changes make every case right. Look at {asked} And in the same line: {others[0].question}"
            )
        also = f"{self._where(others[0])}: {others[0].question}"
        return f"Two small changes make every case right. Look at {asked} And at {also}"

    @property
    def quotes(self) -> tuple[tuple[str, str], ...]:
        """The lines to look at, as the learner wrote them."""
        quoted = {self._where(edit).capitalize(): edit.part.text(edit.line) for edit in self._in_order()}
        return tuple(quoted.items())

    @property
    def hint(self) -> str:
        """The change itself."""
        undo = [slot for edit in self.edits for slot in edit.make() or ()]
        told = {f"{self._where(edit).capitalize()}: {edit.words}.": None for edit in self._in_order()}
        take_back(undo)
        return " ".join(told)

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
    simple: bool = False,
) -> Repair | None:
    """The nearest repair of an object that answers the cases with the numbers `wrong` wrongly, or None.

    Of `wrong`, the first is tried with every change. With `keeps_inputs` the answers are right, and it is the inputs
    that change. `simple` repairs are one small change, found in a moment, and no piece of the reference. None also
    where the source is not known, is too long, or touches files, processes, or the network: such code is never run
    in variants.
    """
    time = Limit(MOMENT if simple else SECONDS)
    code = code_of(obj)
    if code is None:
        return None
    variants = Variants(exercise, code, cases, expected, time, seed, keeps_inputs)
    search = Search(variants, wrong, error_line)
    if edits := search.repair(simple):
        return Repair(edits, code.name, len(cases), len(cases))
    if simple:
        return None
    variants.time = Limit(REST)
    edit, right = search.half()
    now = len(cases) - len(wrong)
    enough = edit is not None and right >= len(cases) / 2 and right - now >= len(wrong) / 2
    return Repair((edit,), code.name, right, len(cases)) if enough else None


def _listed(numbers: tuple[int, ...]) -> str:
    *first, last = map(str, numbers)
    return f"{', '.join(first)}{',' * (len(first) > 1)} and {last}"
