"""The search: change the learner's trees here and there, and look whether every case passes."""

import ast
import itertools
import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from course_practice.engine.clock import alarm_ready
from course_practice.engine.model import Case
from course_practice.engine.sandbox import Outcome, learner_line, sealed
from course_practice.repair.code import VARIANT
from course_practice.repair.graft import Grafts
from course_practice.repair.indices import INDICES
from course_practice.repair.lines import line_edits
from course_practice.repair.order import ORDERS
from course_practice.repair.places import Around, Edit, Place, Slot, places, take_back
from course_practice.repair.seen import Seen, recorder, variables, with_recorder
from course_practice.repair.steps import (
    added,
    another_argument,
    arguments,
    dropped,
    in_place,
    methods,
    names,
    turned,
)
from course_practice.repair.values import VALUES
from course_practice.repair.variants import RIGHT, Variants

SEEDS = 12  # of the edits that bring the answer nearer, so many are tried together with every other one,
STEP = 60  # and with so many of those at a time
SIMPLE = 3.5  # the cost of edits that say something by themselves, even when more is to be done


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
        self.nearer: list[_Seed] = []

    def repair(self, simple: bool = False) -> tuple[Edit, ...]:
        """The edits that make every case right, one or two of them; none where there are none in time.

        A `simple` search tries single edits alone, and none that takes something from the reference.
        """
        with warnings.catch_warnings(), sealed(), alarm_ready():
            warnings.simplefilter("ignore")
            begun, code = time.process_time(), self.variants.compiled()
            as_is = RIGHT if code is None else self.variants.rate(code, self.first)
            self.variants.limit = max(0.1, 10 * (time.process_time() - begun))
            # Right: the mistake depends on something that is not in these trees.
            return () if as_is == RIGHT else self._search(as_is, simple)

    def _search(self, as_is: float, simple: bool) -> tuple[Edit, ...]:
        around = self._around()
        spots = [place for part in self.code.parts for place in places(part, around)]
        edits: list[Edit] = []
        later: list[Edit] = []
        kinds = (self._small(spots, around), self._steps(spots), self._grafts(spots, around))
        for dearest, more in list(zip((2.0, 3.0, math.inf), kinds, strict=True))[: 2 if simple else 3]:
            found = [*later, *more]
            later = [edit for edit in found if edit.cost >= dearest]
            found = sorted((edit for edit in found if edit.cost < dearest), key=self._order)
            for edit in found:
                if self.variants.is_late:
                    return ()
                if self._tries(edit, as_is):
                    return () if simple and self._elsewhere_as_well(edit, found) else (edit,)
            edits += found
        alike = self._everywhere(edits)
        return alike if alike or simple or self.undefined else self._pairs(edits)

    def half(self) -> tuple[Edit | None, int]:
        """After a search in vain: the simple edit after which most of the cases are right, and how many."""
        best: tuple[Edit | None, int] = (None, 0)
        with warnings.catch_warnings(), sealed(), alarm_ready():
            warnings.simplefilter("ignore")
            for seed in filter(_says_something, self._seeds()):
                undo = seed.edit.make()
                code = self.code.compiled()
                right = sum(self.variants.rate(code, number) == RIGHT for number in range(len(self.variants.cases)))
                take_back(undo)
                if right > best[1]:
                    best = seed.edit, right
        return best

    def _seeds(self) -> list[_Seed]:
        return sorted(self.nearer, key=lambda seed: (seed.rate, seed.edit.cost))[:SEEDS]

    # What is tried

    def _small(self, spots: list[Place], around: Around) -> Iterator[Edit]:
        for place in spots:
            for kind in INDICES if place.is_target else (*VALUES, *ORDERS, *INDICES, in_place, turned):
                yield from kind.edits(place)
        for part in self.code.parts:
            yield from line_edits(part, around, self.variants.exercise.reference)

    def _steps(self, spots: list[Place]) -> Iterator[Edit]:
        for place in spots:
            for kind in () if place.is_target else (names, methods, dropped, arguments):
                yield from kind.edits(place)

    def _grafts(self, spots: list[Place], around: Around) -> Iterator[Edit]:
        spots = [place for place in spots if not place.is_target]
        for place in spots:
            yield from added.edits(place)
            yield from another_argument.edits(place)
        tree = self.code.parts[-1].tree
        if self.undefined or not isinstance(tree, ast.FunctionDef):
            return  # where a name is undefined, the reference's names may be all that is missing
        parameters = [arg.arg for arg in tree.args.args]
        exercise = self.variants.exercise
        grafts = Grafts(exercise.reference, parameters, around, self._answer_of)
        taken = {place.node.id for place in spots if isinstance(place.node, ast.Name)} & grafts.needs.keys()
        if any(self.code.scope.get(name, grafts.needs[name]) is not grafts.needs[name] for name in taken):
            return
        self.code.scope.update({name: value for name, value in grafts.needs.items() if name not in self.code.scope})
        for place in spots:
            if place.part is self.code.parts[-1]:
                yield from grafts.edits(place)

    def _answer_of(self, obj: object) -> object:
        exercise, about = self.variants.exercise, self.variants.cases[self.first].about
        return self.variants.answer(lambda *a, **k: exercise.run(obj, Case(a, k, about)), self.first).value

    def _order(self, edit: Edit) -> float:
        """Cheap edits first, and first those in the line where an error occurred, and in the object itself."""
        elsewhere = 0.0 if edit.part is self.code.parts[-1] else 0.3
        return edit.cost + elsewhere - 0.8 * (edit.line == self.error_line)

    def _elsewhere_as_well(self, edit: Edit, others: list[Edit]) -> bool:
        """Would the same change do in another line? Then neither line is the one that a known mistake is in."""
        return edit.before is not None and any(
            self._passes((other,), self.first)
            for other in others
            if other.line != edit.line and other.before is not None and other.signature == edit.signature
        )

    # How it is tried

    def _tries(self, edit: Edit, as_is: float) -> bool:
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
                self.nearer.append(_Seed(edit, rate, number))
            return number is None
        finally:
            take_back(undo)

    def _everywhere(self, edits: list[Edit]) -> tuple[Edit, ...]:
        """The same edit in places like one another: the lines of query, key, and value are written alike."""
        alike: dict[tuple, list[Edit]] = {}
        for edit in edits:
            if edit.cost < SIMPLE and edit.before is not None:
                alike.setdefault(edit.signature, []).append(edit)
        for group in alike.values():
            group.sort(key=lambda edit: (edit.line, edit.before.col_offset))
            if self.variants.is_late:
                return ()
            some = range(len(group) if len(group) <= 6 else 0)
            for begin, end in sorted(itertools.combinations([*some, len(some)], 2), key=lambda cut: cut[0] - cut[1]):
                if end - begin > 1 and self._passes(tuple(group[begin:end]), self.first):
                    return tuple(group[begin:end])
        return ()

    def _pairs(self, edits: list[Edit]) -> tuple[Edit, ...]:
        """Two edits: first those of which one brings the answer nearer, then the likely ones of all."""
        seeds = self._seeds()
        for start in range(0, len(edits), STEP):
            for seed in seeds:
                found = self._with(seed, edits[start : start + STEP])
                if found or self.variants.is_late:
                    return found
        likely = sorted(edits, key=self._order)
        for both in range(1, 2 * len(likely)):  # the likely with the likely first
            for one in range(max(0, both - len(likely) + 1), (both + 1) // 2):
                pair = (likely[one], likely[both - one])
                if self.variants.is_late:
                    return ()
                if self._passes(pair, self.first):
                    return pair
        return ()

    def _with(self, seed: _Seed, others: list[Edit]) -> tuple[Edit, ...]:
        undo = seed.edit.make()
        try:
            for second in others:
                if self.variants.is_late:
                    return ()
                if self._passes((second,), seed.number):
                    return (seed.edit, second)
            return ()
        finally:
            take_back(undo)

    def _passes(self, edits: tuple[Edit, ...], number: int) -> bool:
        undo: list[Slot] = []
        try:
            for edit in edits:
                made = edit.make()
                if made is None:
                    return False
                undo += made
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
        return Around(found, variables(trees, found, self.code.scope), self.code.scope)


def _says_something(seed: _Seed) -> bool:
    """Is an edit worth telling even when more is to be done?"""
    return seed.edit.cost < SIMPLE and not isinstance(seed.edit.about, ast.FunctionDef)
