"""The search: apply edits to the learner's trees, here and there, and look whether every case passes."""

import ast
import math
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import replace
from operator import itemgetter, length_hint
from types import CodeType

from course_practice.engine.model import Case, Mistake
from course_practice.engine.run import clock_watched, learner_line, put_back
from course_practice.engine.values import MOST_NUMBERS
from course_practice.suggest.code import VARIANT
from course_practice.suggest.edits import Context, Edit, Place, applied, places
from course_practice.suggest.location import Location
from course_practice.suggest.matching import edits_at
from course_practice.suggest.observed import Recording, variables
from course_practice.suggest.operators import FIRST_OPERATORS, LATER_OPERATORS
from course_practice.suggest.patterns import ADDING_PATTERNS, BRACKET_PATTERNS, MORE_PATTERNS, PATTERNS, SIGN
from course_practice.suggest.remaining import Known, Remaining, keeps_names, puts_in
from course_practice.suggest.snippets import INSTEAD, Reference, Snippets
from course_practice.suggest.soundness import Soundness
from course_practice.suggest.statements import statement_edits
from course_practice.suggest.variants import RIGHT, Variants

SIMPLE = 3.5  # the cost of edits that say something by themselves, even when a known mistake remains
LOOKED_AT = 4  # wrong cases whose values are compared with the reference's
ROUNDS, MORE_ROUNDS = 200, 20  # a variant may go round so often, and so many times as often as the code as it is
PREFERRED, ERROR_LINE, HELPER = -1.5, -0.8, 0.3  # what an edit costs more in such a line


class Search:
    """A search for the nearest repair of code that answers some cases wrongly; `wrong` are their numbers."""

    def __init__(self, variants: Variants, wrong: list[int], error_line: int | None = None, line: int | None = None):
        self.known: tuple[Known, ...] = ()
        self.partly: tuple[Mistake, Edit] | None = None  # an edit after which a known mistake remains
        self.variants, self.code, self.first = variants, variants.code, wrong[0]
        self.looked_at = wrong[:LOOKED_AT]
        self.right = [number for number in range(len(variants.cases)) if number not in wrong]
        self.error_line, self.line = error_line, line
        self.error: BaseException | None = None
        self.soundness: Soundness | None = None

    def repair(self) -> Edit | None:
        """The edit that makes every case right; None where the budget knows of none."""
        with warnings.catch_warnings(), put_back(), clock_watched():
            warnings.simplefilter("ignore")
            code = self.variants.compiled()
            as_is = RIGHT if code is None else self.variants.rate(code, self.first)
            for number in range(len(self.variants.cases) if as_is != RIGHT else 0):
                self.variants.run(code, number)
            self.variants.rounds = ROUNDS + MORE_ROUNDS * self.variants.went_round
            # Right: the mistake depends on something that is not in these trees.
            return None if as_is == RIGHT else self._search(code)

    def _search(self, code: CodeType) -> Edit | None:
        self.remaining = Remaining(self.variants, self.known, code, self.right)
        context = self._observe(code)
        others = (seen.value for seen in context.observed.values() if seen.kind == "other")
        if any(map(_is_endless, others)):
            return None
        spots = self._reached([place for part in self.code.parts for place in places(part, context)])
        for edit in self._in_order(spots, context):
            if self.variants.has_spent:
                break
            if self._tries(edit):
                return self._asked_for_every_input(edit)
        return self.partly[1] if self.partly is not None else None

    def _in_order(self, spots: list[Place], context: Context) -> Iterator[Edit]:
        """All edits, cheap ones first; those of a later stage are made only when they are asked for."""
        waiting: list[tuple[float, Edit]] = []
        stages = (self._likely(spots, context), self._less_likely(spots), self._adding(spots, context))
        for dearest, more in zip((2.0, 3.0, math.inf), stages, strict=True):
            waiting = sorted([*waiting, *((self._cost(edit), edit) for edit in more)], key=itemgetter(0))
            found = [edit for cost, edit in waiting if cost < dearest]
            waiting = waiting[len(found) :]
            yield from found

    def _reached(self, spots: list[Place]) -> list[Place]:
        """The places in statements that the first wrong case reaches: no change elsewhere makes it right."""
        observed = {id(place.statement) for place in spots if place.observed() is not None}
        stopped = _lines_of(self.error) if self.error is not None else set()
        if self.error is not None and not stopped:
            return spots

        def is_reached(statement: ast.stmt) -> bool:
            lines = range(statement.lineno, statement.end_lineno + 1)
            return id(statement) in observed or not stopped.isdisjoint(lines)

        return [place for place in spots if is_reached(place.statement)]

    def _asked_for_every_input(self, edit: Edit) -> Edit:
        """What is right for some inputs is asked about for every one."""
        if edit.asks != INSTEAD or not self.soundness.was_right_at_times(edit):
            return edit
        return replace(edit, asks=f"{INSTEAD[:-1]}, for every input?")

    def _likely(self, spots: list[Place], context: Context) -> Iterator[Edit]:
        for place in spots:
            yield from edits_at(place, BRACKET_PATTERNS)
            if not place.is_target:
                yield from edits_at(place, PATTERNS)
                for operator in FIRST_OPERATORS:
                    yield from operator(place)
        for part in self.code.parts:
            yield from statement_edits(part, context, self.variants.exercise.reference)

    def _less_likely(self, spots: list[Place]) -> Iterator[Edit]:
        for place in spots:
            if not place.is_target:
                yield from edits_at(place, MORE_PATTERNS)
                for operator in LATER_OPERATORS:
                    yield from operator(place)

    def _adding(self, spots: list[Place], context: Context) -> Iterator[Edit]:
        spots = [place for place in spots if not place.is_target]
        for place in spots:
            yield from edits_at(place, ADDING_PATTERNS)
        tree = self.code.parts[-1].tree
        if context.undefined or not isinstance(tree, ast.FunctionDef):
            return  # where a name is undefined, the reference's names may be all that is missing
        snippets = Snippets(self.reference, [arg.arg for arg in tree.args.args], context)
        if self.code.can_take(snippets.imports):
            for place in spots:
                if place.part is self.code.parts[-1]:
                    yield from snippets.edits(place)

    def _cost(self, edit: Edit) -> float:
        """Cheap edits first, and those where the values go wrong or an error occurred, and in the object itself."""
        helper = HELPER * (edit.part is not self.code.parts[-1])
        in_line = ERROR_LINE * (edit.line == self.error_line) + PREFERRED * (edit.line == self.line)
        return edit.cost + helper + in_line + self.location.cost(edit)

    def _tries(self, edit: Edit) -> bool:
        """Does an edit make every case right, in a way that a teacher would sign?"""
        mistake = None
        with applied(edit) as done:
            code = self.variants.compiled() if done else None
            if code is None:
                return False
            number: int | None = self.first
            if self.variants.rate(code, self.first) == RIGHT:
                number = self.variants.first_wrong(code)
            if number is not None and self.partly is None and not _hides(edit, bool(self.variants.exercise.starter)):
                mistake = self.remaining.after(code, number)
        if mistake and not puts_in(edit, mistake) and self._is_sound(edit):
            self.partly = (mistake, edit)
        return number is None and self._is_sound(edit)

    def _is_sound(self, edit: Edit) -> bool:
        if self.soundness is None:
            self.soundness = Soundness(self.variants, self.reference.found)
        return not self.soundness.flaw(edit)

    def _observe(self, code: CodeType) -> Context:
        """Run the code with a recorder around every expression, on a few of the wrong cases, and the reference, too."""
        variants, trees = self.variants, [part.tree for part in self.code.parts]
        recording, runs = Recording(trees), []
        for number in self.looked_at:
            recording.found, recording.steps = {}, 0
            outcome = variants.run(recording.code, number, **recording.names)
            runs.append(recording.found)
            if number == self.first:
                variants.set_price(code, number, recording.steps)
                self.error = outcome.error
        if self.error is not None:
            line = learner_line(self.error, VARIANT)
            self.error_line = self.error_line or (line and line[0])

        def call(obj: object, number: int) -> object:
            given = variants.cases[number]
            run = lambda *args, **kwargs: variants.exercise.run(obj, Case(args, kwargs, given.about))  # noqa: E731
            return variants.answer(run, given).value

        self.reference = Reference(variants.exercise.reference, call, self.looked_at)
        self.location = Location(trees, list(zip(runs, self.reference.runs, strict=False)))
        undefined = {self.error.name} if issubclass(type(self.error), NameError) else set()
        return Context(runs[0], variables(trees, runs[0], self.code.scope), undefined, self.code.scope)


def _lines_of(error: BaseException) -> set[int]:
    """The lines of the variant in which an error was raised, or passed on."""
    steps = traceback.walk_tb(error.__traceback__)
    return {line for frame, line in steps if frame.f_code.co_filename == VARIANT}


def _hides(edit: Edit, hunt: bool) -> bool:
    """May another slip be hidden, as by a new minus, or without a name? In a hunt, one may go that stands elsewhere."""
    return edit.cost >= SIMPLE or edit.asks == SIGN or not keeps_names(edit, elsewhere=hunt)


def _is_endless(value: object) -> bool:
    """Would Python go through all of its items in one step, which no limit ends?"""
    try:
        return type(value) is type(iter(int, 1)) or length_hint(value) > MOST_NUMBERS
    except Exception:
        return True
