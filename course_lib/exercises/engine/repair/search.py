"""The search: change the learner's trees here and there, and look whether every case passes."""

import ast
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from course_lib.exercises.engine.model import Case
from course_lib.exercises.engine.repair.code import VARIANT
from course_lib.exercises.engine.repair.graft import Grafts
from course_lib.exercises.engine.repair.indices import INDICES
from course_lib.exercises.engine.repair.lines import line_edits
from course_lib.exercises.engine.repair.places import Around, Edit, Place, places, take_back
from course_lib.exercises.engine.repair.seen import Seen, recorder, with_recorder
from course_lib.exercises.engine.repair.steps import added, arguments, dropped, in_place, methods, names, turned
from course_lib.exercises.engine.repair.values import VALUES
from course_lib.exercises.engine.repair.variants import ERROR, RIGHT, Variants
from course_lib.exercises.engine.sandbox import Outcome, learner_line, sealed

SEEDS = 12  # of the edits that bring the answer nearer, so many are tried together with every other one,
STEP = 60  # and with so many of those at a time


@dataclass(frozen=True)
class _Seed:
    """An edit that brings the answer nearer: how near, and a case that is still wrong after it."""

    edit: Edit
    rate: float
    number: int | None


class Search:
    """A search for the nearest repair of code that answers some cases wrongly; `wrong` are their numbers."""

    def __init__(self, variants: Variants, wrong: list[int], error_line: int | None = None):
        self.variants, self.code, self.first = variants, variants.code, wrong[0]
        self.error_line, self.undefined = error_line, False

    def repair(self) -> tuple[Edit, ...]:
        """The edits that make every case right, one or two of them; none where there are none in time."""
        with warnings.catch_warnings(), sealed():
            warnings.simplefilter("ignore")
            begun, code = time.monotonic(), self.variants.compiled()
            as_is = RIGHT if code is None else self.variants.rate(code, self.first)
            self.variants.limit = max(0.1, 10 * (time.monotonic() - begun))
            # Right: the mistake depends on something that is not in these trees.
            return () if as_is == RIGHT else self._search(as_is)

    def _search(self, as_is: float) -> tuple[Edit, ...]:
        around = self._around()
        spots = [place for part in self.code.parts for place in places(part, around)]
        edits: list[Edit] = []
        nearer: list[_Seed] = []
        for more in (self._small(spots, around), self._steps(spots), self._grafts(spots)):
            found = sorted(more, key=self._order)
            for edit in found:
                if self.variants.is_late:
                    return ()
                if self._tries(edit, as_is, nearer):
                    return (edit,)
            edits += found
        return () if self.undefined else self._pairs(edits, nearer)

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

    def _grafts(self, spots: list[Place]) -> Iterator[Edit]:
        for place in spots:
            yield from added.edits(place)
        tree = self.code.parts[-1].tree
        if self.undefined or not isinstance(tree, ast.FunctionDef):
            return  # where a name is undefined, the reference's names may be all that is missing
        parameters = [arg.arg for arg in tree.args.args]
        exercise = self.variants.exercise
        grafts = Grafts(exercise.reference, parameters, self._answer_of)
        taken = {place.node.id for place in spots if isinstance(place.node, ast.Name)} & grafts.needs.keys()
        if any(self.code.scope.get(name, grafts.needs[name]) is not grafts.needs[name] for name in taken):
            return
        self.code.scope.update({name: value for name, value in grafts.needs.items() if name not in self.code.scope})
        for place in spots:
            if place.part is self.code.parts[-1]:
                yield from grafts.edits(place)

    def _answer_of(self, obj: object) -> object:
        exercise = self.variants.exercise
        return self.variants.answer(lambda *a, **k: exercise.run(obj, Case(a, k)), self.first).value

    def _order(self, edit: Edit) -> float:
        """Cheap edits first, and first those in the line where an error occurred, and in the object itself."""
        elsewhere = 0.0 if edit.part is self.code.parts[-1] else 0.3
        return edit.cost + elsewhere - 0.8 * (edit.line == self.error_line)

    # How it is tried

    def _tries(self, edit: Edit, as_is: float, nearer: list[_Seed]) -> bool:
        undo = edit.make()
        try:
            code = self.variants.compiled()
            if code is None:
                return False
            number, rate = self.first, self.variants.rate(code, self.first)
            if rate == RIGHT:
                number, passed = self.variants.first_wrong(code)
                rate = -passed
            if rate < as_is:
                nearer.append(_Seed(edit, rate, number))
            return number is None
        finally:
            take_back(undo)

    def _pairs(self, edits: list[Edit], nearer: list[_Seed]) -> tuple[Edit, ...]:
        """Two edits: first those of which one brings the answer nearer, then the likely ones of all."""
        seeds = sorted(nearer, key=lambda seed: (seed.rate, seed.edit.cost))[:SEEDS]
        for start in range(0, len(edits), STEP):
            for seed in seeds:
                found = self._with(seed, edits[start : start + STEP])
                if found or self.variants.is_late:
                    return found
        cheap = [edit for edit in edits if edit.cost < 1.6]
        for number, first in enumerate(cheap):
            found = self._with(_Seed(first, ERROR, self.first), cheap[number + 1 :])
            if found or self.variants.is_late:
                return found
        return ()

    def _with(self, seed: _Seed, others: list[Edit]) -> tuple[Edit, ...]:
        undo = seed.edit.make()
        try:
            for second in others:
                if self.variants.is_late:
                    return ()
                if self._passes(second, seed.number):
                    return (seed.edit, second)
            return ()
        finally:
            take_back(undo)

    def _passes(self, edit: Edit, number: int) -> bool:
        undo = edit.make()
        if undo is None:
            return False
        try:
            code = self.variants.compiled()
            if code is None or self.variants.rate(code, number) != RIGHT:
                return False
            return self.variants.first_wrong(code)[0] is None
        finally:
            take_back(undo)

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
        outcome = self.variants.run(code, self.first, **recorder(marked, found)) if code else Outcome()
        self.undefined = isinstance(outcome.error, NameError)
        if outcome.error is not None and self.error_line is None:
            line = learner_line(outcome.error, VARIANT)
            self.error_line = line[0] if line else None
        return Around(found, _variables(trees, found), self.code.scope)


def _variables(trees: list[ast.AST], found: dict[int, Seen]) -> dict[str, Seen | None]:
    """Parameters and variables, and the attributes of `self`, each with a value that was seen."""
    names: dict[str, Seen | None] = {}
    nodes = [node for tree in trees for node in ast.walk(tree)]
    for node in nodes:
        if isinstance(node, ast.arg) and node.arg != "self":
            names.setdefault(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.setdefault(node.id)
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "self":
            names.setdefault(f"self.{node.attr}")
    for node in nodes:
        name = getattr(node, "id", None) or (f"self.{node.attr}" if isinstance(node, ast.Attribute) else None)
        if name in names and id(node) in found:
            names[name] = names[name] or found[id(node)]
    return names
