"""The nearest repair: small changes of the learner's own code are tried until every case is right.

One search, from wrong code to sentence. A learner's softmax divides by the sums of the columns, not of the rows:

>>> def shares(x):
...     exps = x.exp()
...     return exps / exps.sum(dim=0, keepdim=True)

1. `code` reads it as a tree, and `safety` says whether that may be run in variants: not where it touches a file, a
   process, or the network.
2. `observed` runs it with a recorder around every expression, and the reference as well. `location` compares them:
   the reference has the values of `exps`, too, so they are right; those of `exps.sum(dim=0, keepdim=True)` are the
   first that it has not.
3. `patterns` is the table of what may be meant where something is written; `operators` and `statements` hold what no
   template says, and `snippets` are pieces of the reference. All of them give *edits* with a cost: `dim=0` may be
   `dim=-1`, `True` may be `False`, `/` may be `*`, `x` may be `exps`. An edit costs less where the values first go
   wrong, and more where they are right.
4. `search` applies one edit after the other, the cheapest first, lets `variants` run the first wrong case, and undoes
   it. With `dim=-1` the case is right, so all others are tried, and then the `fresh` ones that no check shows: other
   numbers, other sizes.
5. `soundness` asks what a teacher would: has a step of the learner's no effect now? Does a mask hide nothing?
6. The line and a question are told. The change itself is the last hint.

>>> from course_practice.engine.model import Exercise, case
>>> from course_practice.exercises.inputs import randn
>>> def softmax(x):
...     exps = x.exp()
...     return exps / exps.sum(dim=-1, keepdim=True)
>>> exercise = Exercise(
...     title="Softmax", task="", reference=softmax, cases=lambda: [case(randn(2, 3)), case(randn(3, 3))],
...     mistakes=(), hints=("", "", ""), alternatives=(), difficulty=1, minutes=1)
>>> cases = list(exercise.cases())
>>> found = nearest_repair(exercise, shares, cases, expected=[softmax(*each.args) for each in cases], wrong=[0, 1])
>>> print(found.sentence)
One small change makes every case right. Look at line 3: along which axis does `exps.sum(dim=0, keepdim=True)` go?
>>> print(found.hint)
Line 3: `return exps / exps.sum(dim=-1, keepdim=True)`.
"""

import contextlib
import functools
import importlib
import warnings
from dataclasses import dataclass
from typing import Any

from course_practice.engine.answers import SEED
from course_practice.engine.model import Budget, Case, Exercise, Mistake
from course_practice.engine.run import Limit
from course_practice.suggest.code import Part, code_of
from course_practice.suggest.edits import Edit, applied
from course_practice.suggest.search import Known, Search
from course_practice.suggest.variants import Variants

__all__ = ["Budget", "Repair", "nearest_repair"]


@dataclass(frozen=True)
class Repair:
    """A small change that makes every case right, or one after which a known mistake remains."""

    edit: Edit
    parts: tuple[Part, ...]  # the definitions that were looked at, the object's own last
    remaining: Mistake | None = None

    @property
    def kind(self) -> str:
        """The kind of the change."""
        return self.edit.operator

    @property
    def lines(self) -> tuple[int, ...]:
        """The numbers of the lines to look at, in the cell or file of the code."""
        return self.edit.lines

    @property
    def sentence(self) -> str:
        """Where to look, and at what."""
        asked = f"{self._where}: {self.edit.question}"
        if self.remaining is not None:
            return f"Look, besides, at {asked}"
        return f"One small change makes every case right. Look at {asked}"

    @property
    def quotes(self) -> tuple[tuple[str, str], ...]:
        """The lines to look at, as the learner wrote them."""
        return tuple((self._name(line).capitalize(), self.edit.part.text(line)) for line in self.lines)

    @property
    def hint(self) -> str:
        """The change itself."""
        with applied(self.edit):
            return f"{self._name(self.edit.line).capitalize()}: {self.edit.words}."

    @property
    def _where(self) -> str:
        if len(self.lines) == 1:
            return self._name(self.edit.line)
        return f"lines {_listed(self.lines)}{self._inside}"

    @property
    def _inside(self) -> str:
        """The name of a helper, where the change is in one."""
        return "" if self.edit.part is self.parts[-1] else f" (in `{self.edit.part.tree.name}`)"

    def _name(self, line: int) -> str:
        return f"line {line}{self._inside}"


def nearest_repair(
    exercise: Exercise,
    obj: Any,
    cases: list[Case],
    expected: list[Any],
    wrong: list[int],
    error_line: int | None = None,
    seed: int = SEED,
    keeps_inputs: bool = False,
    line: int | None = None,
    budget: Budget | None = None,
    known: tuple[Known, ...] = (),
) -> Repair | None:
    """The nearest repair of an object that answers the cases with the numbers `wrong` wrongly, or None.

    Of `wrong`, the first is tried with every change. With `keeps_inputs` the answers are right, and it is the inputs
    that change. `line` is one where a change is likelier than elsewhere. `known` are mistakes with their answers: one
    may remain after a change. None also where the source is not known, is too long, or touches files,
    processes, or the network: such code is never run in variants.
    """
    budget = budget or Budget()
    try:
        code = code_of(obj) if budget.work else None
    except Exception:  # an object that does not let itself be looked at
        code = None
    if code is None:
        return None
    _load_what_pytorch_loads_late()
    variants = Variants(exercise, code, cases, expected, budget, Limit(budget.seconds), seed, keeps_inputs)
    search = Search(variants, wrong, error_line, line)
    search.known = known
    edit = search.repair()
    if edit is None:
        return None
    remaining = search.partly[0] if search.partly is not None and search.partly[1] is edit else None
    return Repair(edit, tuple(code.parts), remaining)


@functools.cache
def _load_what_pytorch_loads_late() -> None:
    """Half a second, once: the search has short limits, which an import would go beyond."""
    with contextlib.suppress(ImportError), warnings.catch_warnings():
        importlib.import_module("torch.fx.experimental.symbolic_shapes")  # nn.MultiheadAttention looks at masks with it


def _listed(numbers: tuple[int, ...]) -> str:
    *first, last = map(str, numbers)
    return f"{', '.join(first)}{',' * (len(first) > 1)} and {last}"
