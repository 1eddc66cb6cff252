"""The search: change the learner's trees here and there, and look whether every case passes."""

import ast
import copy
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

import torch
from torch import Tensor

from course_lib.exercises.engine import answers
from course_lib.exercises.engine.compare import as_tensor
from course_lib.exercises.engine.model import Case, Exercise
from course_lib.exercises.engine.repair.code import VARIANT, Code
from course_lib.exercises.engine.repair.graft import Grafts
from course_lib.exercises.engine.repair.indices import INDICES
from course_lib.exercises.engine.repair.lines import line_edits
from course_lib.exercises.engine.repair.places import Around, Edit, Place, places, take_back
from course_lib.exercises.engine.repair.seen import Seen, recorder, with_recorder
from course_lib.exercises.engine.repair.steps import added, arguments, dropped, in_place, methods, names, turned
from course_lib.exercises.engine.repair.values import VALUES
from course_lib.exercises.engine.sandbox import Outcome, call_in_time, learner_line, same_value, sealed

SEEDS = 12  # of the edits that bring the answer nearer, so many are tried together with every other one,
STEP = 60  # and with so many of those at a time
RIGHT = 0.0


@dataclass(frozen=True)
class _Seed:
    """An edit that brings the answer nearer: how near, and a case that is still wrong after it."""

    edit: Edit
    rate: float
    number: int | None


@dataclass
class Search:
    """A search for the nearest repair of code that answers some cases wrongly; `wrong` are their numbers."""

    exercise: Exercise
    code: Code
    cases: list[Case]
    expected: list[Any]
    wrong: list[int]
    deadline: float
    error_line: int | None = None
    seed: int | None = None  # where the answer depends on random numbers, that of a repair must not
    keeps_inputs: bool = False  # the answers are right, but an input changes
    tried: int = 0

    def __post_init__(self) -> None:
        self.known: set[CodeType] = set()
        self.limit = 1.0

    def repair(self) -> tuple[Edit, ...]:
        """The edits that make every case right, one or two of them; none where there are none in time."""
        with warnings.catch_warnings(), sealed():
            warnings.simplefilter("ignore")
            begun = time.monotonic()
            as_is = self._rate(self._compiled(), self.wrong[0])
            self.limit = max(0.1, 10 * (time.monotonic() - begun))
            if as_is == RIGHT:  # it depends on something that is not in these trees
                return ()
            return self._search(as_is)

    def _search(self, as_is: float) -> tuple[Edit, ...]:
        around = self._around()
        spots = [place for part in self.code.parts for place in places(part, around)]
        edits: list[Edit] = []
        nearer: list[_Seed] = []
        for more in (self._small(spots, around), self._steps(spots), self._grafts(spots)):
            found = sorted(more, key=self._order)
            for edit in found:
                if self._is_late():
                    return ()
                if self._tries(edit, as_is, nearer):
                    return (edit,)
            edits += found
        return self._pairs(edits, nearer)

    # What is tried

    def _small(self, spots: list[Place], around: Around) -> Iterator[Edit]:
        for place in spots:
            for kind in (*VALUES, *INDICES, in_place, turned):
                yield from kind.edits(place)
        for part in self.code.parts:
            yield from line_edits(part, around)

    def _steps(self, spots: list[Place]) -> Iterator[Edit]:
        for place in spots:
            for kind in (names, methods, dropped, arguments):
                yield from kind.edits(place)

    def _order(self, edit: Edit) -> float:
        """Cheap edits first, and first those in the line where an error occurred, and in the object itself."""
        elsewhere = 0.0 if edit.part is self.code.parts[-1] else 0.3
        return edit.cost + elsewhere - 0.8 * (edit.line == self.error_line)

    def _grafts(self, spots: list[Place]) -> Iterator[Edit]:
        for place in spots:
            yield from added.edits(place)
        tree = self.code.parts[-1].tree
        if self.undefined or not isinstance(tree, ast.FunctionDef):
            return  # where a name is undefined, the reference's names may be all that is missing
        parameters = [arg.arg for arg in tree.args.args]
        grafts = Grafts(self.exercise.reference, parameters, lambda obj: self._call(obj, self.wrong[0]).value)
        taken = {place.node.id for place in spots if isinstance(place.node, ast.Name)} & grafts.needs.keys()
        if any(self.code.scope.get(name, grafts.needs[name]) is not grafts.needs[name] for name in taken):
            return
        self.code.scope.update({name: value for name, value in grafts.needs.items() if name not in self.code.scope})
        for place in spots:
            if place.part is self.code.parts[-1]:
                yield from grafts.edits(place)

    def _pairs(self, edits: list[Edit], nearer: list["_Seed"]) -> tuple[Edit, ...]:
        """Two edits: first those of which one brings the answer nearer, then the likely ones of all."""
        if self.undefined:
            return ()
        nearer = sorted(nearer, key=lambda seed: (seed.rate, seed.edit.cost))[:SEEDS]
        for start in range(0, len(edits), STEP):
            for seed in nearer:
                found = self._with(seed, edits[start : start + STEP])
                if found or self._is_late():
                    return found
        cheap = [edit for edit in edits if edit.cost < 1.6]
        for number, first in enumerate(cheap):
            found = self._with(_Seed(first, 1.0, self.wrong[0]), cheap[number + 1 :])
            if found or self._is_late():
                return found
        return ()

    def _with(self, seed: "_Seed", others: list[Edit]) -> tuple[Edit, ...]:
        undo = seed.edit.make()
        try:
            for second in others:
                if self._is_late():
                    return ()
                if self._passes(second, seed.number):
                    return (seed.edit, second)
            return ()
        finally:
            take_back(undo)

    # Trying

    def _tries(self, edit: Edit, as_is: float, nearer: list["_Seed"]) -> bool:
        undo = edit.make()
        try:
            code = self._compiled()
            if code is None:
                return False
            number, rate = self.wrong[0], self._rate(code, self.wrong[0])
            if rate == RIGHT:
                number, passed = self._first_wrong(code)
                rate = -passed
            if rate < as_is:
                nearer.append(_Seed(edit, rate, number))
            return number is None
        finally:
            take_back(undo)

    def _passes(self, edit: Edit, number: int) -> bool:
        undo = edit.make()
        if undo is None:
            return False
        try:
            code = self._compiled()
            return code is not None and self._rate(code, number) == RIGHT and self._first_wrong(code)[0] is None
        finally:
            take_back(undo)

    def _compiled(self) -> CodeType | None:
        """The code as it is now; None where it is no Python, or was tried before."""
        code = self.code.compiled()
        if code is None or code in self.known:
            return None
        self.known.add(code)
        return code

    def _rate(self, code: CodeType, number: int) -> float:
        self.tried += 1
        outcome = self._run(code, number)
        return max(badness(self.exercise, self.expected[number], outcome), 0.05 if outcome.changed else RIGHT)

    def _run(self, code: CodeType, number: int, **extra: Any) -> Outcome:
        def call(*args: Any, **kwargs: Any) -> Any:
            torch.default_generator.manual_seed(0)  # torch.manual_seed takes a thousand times as long
            obj = self.code.built(code, **extra)
            return self.exercise.run(obj, Case(args, kwargs))

        given = self.cases[number]
        args, kwargs = _copied(given.args), dict(zip(given.kwargs, _copied(given.kwargs.values()), strict=True))
        outcome = call_in_time(call, args, kwargs, min(self.deadline, time.monotonic() + self.limit))
        if self.keeps_inputs and not same_value([*args, *kwargs.values()], [*given.args, *given.kwargs.values()]):
            outcome.changed = ("an input",)
        return outcome

    def _call(self, obj: Any, number: int) -> Outcome:
        given = self.cases[number]
        args, kwargs = _copied(given.args), dict(zip(given.kwargs, _copied(given.kwargs.values()), strict=True))
        return call_in_time(lambda *a, **k: self.exercise.run(obj, Case(a, k)), args, kwargs, self.deadline)

    def _first_wrong(self, code: CodeType) -> tuple[int | None, int]:
        """The first case that is not right, or None, and how many are.

        Right is also that no input changes, and the same answer in another random state, where one is used.
        """
        numbers = list(range(len(self.cases)))
        for passed, number in enumerate(numbers):
            if self._rate(code, number) != RIGHT:
                return number, passed
        for number, given in enumerate(self.cases):
            outcome = answers.run(self.exercise, self.code.built(code), given, time.monotonic() + 2.0, self.seed)
            if outcome.changed or answers.difference_in(self.exercise, self.expected[number], outcome):
                return number, 0
        return None, len(numbers)

    def _is_late(self) -> bool:
        return time.monotonic() > self.deadline

    # What is known

    def _around(self) -> Around:
        """Run the code once with a recorder around every expression."""
        found: dict[int, Seen] = {}
        trees = [part.tree for part in self.code.parts]
        try:
            recorded, marked = with_recorder(trees)
            code = compile(ast.Module(recorded, []), VARIANT, "exec")
        except (SyntaxError, ValueError, TypeError):
            code, marked = None, []
        outcome = self._run(code, self.wrong[0], **recorder(marked, found)) if code else Outcome()
        self.undefined = isinstance(outcome.error, NameError)
        if outcome.error is not None and self.error_line is None:
            line = learner_line(outcome.error, VARIANT)
            self.error_line = line[0] if line else None
        return Around(found, _variables(trees, found), self.code.scope)


def _variables(trees: list[ast.AST], found: dict[int, Seen]) -> dict[str, Seen | None]:
    """Parameters and variables, and the attributes of `self`, each with a value that was seen."""
    names: dict[str, Seen | None] = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.arg) and node.arg != "self":
                names.setdefault(node.arg)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.setdefault(node.id)
            elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "self":
                names.setdefault(f"self.{node.attr}")
    for tree in trees:
        for node in ast.walk(tree):
            name = getattr(node, "id", None) or (f"self.{node.attr}" if isinstance(node, ast.Attribute) else None)
            if name in names and id(node) in found:
                names[name] = names[name] or found[id(node)]
    return names


_ERROR, _LATE = 3.0, 4.0


def badness(exercise: Exercise, expected: Any, outcome: Outcome) -> float:
    """How far an outcome is from what was expected: 0 right, below 1 wrong numbers, then wrong shapes, then errors."""
    if outcome.out_of_time:
        return _LATE
    try:
        found = answers.difference_in(exercise, expected, outcome)
    except Exception:
        return _ERROR
    if found is None:
        return RIGHT
    if found.kind == "raised":
        return _ERROR
    if found.kind in ("returned-none", "wrong-type"):
        return 2.5
    if found.kind == "wrong-shape":
        return 1.5
    got, want = answers.canonical(exercise, outcome.value), answers.canonical(exercise, expected)
    pairs = zip(want, got, strict=True) if isinstance(want, tuple) else [(want, got)]
    shares = [_share_of_wrong(as_tensor(w), as_tensor(g)) for w, g in pairs]
    return 0.1 + 0.8 * sum(shares) / len(shares)


def _share_of_wrong(want: Tensor | None, got: Tensor | None) -> float:
    if want is None or got is None or want.shape != got.shape or not want.numel():
        return 1.0
    return 1.0 - torch.isclose(want.double(), got.double(), rtol=1e-3, atol=1e-4).double().mean().item()


def _copied(values: Any) -> tuple:
    return tuple(value.clone() if isinstance(value, Tensor) else _again(value) for value in values)


def _again(value: Any) -> Any:
    if isinstance(value, list | tuple | set | dict) or hasattr(value, "__dict__"):
        return copy.deepcopy(value)
    return value
