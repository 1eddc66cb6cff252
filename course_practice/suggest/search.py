"""The search: apply edits to the learner's trees, here and there, and look whether every case passes."""

import ast
import itertools
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import itemgetter, length_hint
from types import CodeType

from course_practice.engine.model import Case, Mistake
from course_practice.engine.run import clock_watched, learner_line, put_back
from course_practice.engine.values import MOST_NUMBERS
from course_practice.suggest.beside import Known, Left, keeps_names, puts_in
from course_practice.suggest.code import VARIANT
from course_practice.suggest.donors import INSTEAD, Donors, Reference
from course_practice.suggest.edits import Context, Edit, Place, applied, places
from course_practice.suggest.location import Location
from course_practice.suggest.matching import edits_at
from course_practice.suggest.observed import Recording, variables
from course_practice.suggest.operators import FIRST_OPERATORS, LATER_OPERATORS
from course_practice.suggest.patterns import ADDING_PATTERNS, BRACKET_PATTERNS, MORE_PATTERNS, PATTERNS, SIGN
from course_practice.suggest.soundness import Soundness
from course_practice.suggest.statements import statement_edits
from course_practice.suggest.variants import RIGHT, Variants

SEEDS = 12  # of the edits that bring the answer nearer, so many are tried together with every other one,
STEP = 60  # and with so many of those at a time
SHARES = (1.0, 1.0, 0.7)  # of the budget that is spent after trying the likely edits, the others, and new code
SIMPLE = 3.5  # the cost of edits that say something by themselves, even when more is to be done
LOOKED_AT = 4  # wrong cases whose values are compared with the reference's
ROUNDS, MORE_ROUNDS = 200, 20  # a variant may go round so often, and so many times as often as the code as it is
PREFERRED, ERROR_LINE, HELPER = -1.5, -0.8, 0.3  # what an edit costs more in such a line


@dataclass(frozen=True)
class _Seed:
    """An edit that brings the answer nearer: how near, and a case that is still wrong after it."""

    edit: Edit
    rate: float
    number: int


class Search:
    """A search for the nearest repair of code that answers some cases wrongly; `wrong` are their numbers."""

    def __init__(self, variants: Variants, wrong: list[int], error_line: int | None = None, line: int | None = None):
        self.known: tuple[Known, ...] = ()
        self.beside: tuple[Mistake, Edit] | None = None  # a known mistake that is left after a single edit
        self.variants, self.code, self.first = variants, variants.code, wrong[0]
        self.looked_at = wrong[:LOOKED_AT]
        self.right = [number for number in range(len(variants.cases)) if number not in wrong]
        self.error_line, self.line = error_line, line
        self.nearer: list[_Seed] = []
        self.error: BaseException | None = None
        self.soundness: Soundness | None = None

    def repair(self) -> tuple[Edit, ...]:
        """The edits that make every case right, one or two of them; none where the budget knows of none."""
        with warnings.catch_warnings(), put_back(), clock_watched():
            warnings.simplefilter("ignore")
            code = self.variants.compiled()
            as_is = RIGHT if code is None else self.variants.rate(code, self.first)
            for number in range(len(self.variants.cases) if as_is != RIGHT else 0):
                self.variants.run(code, number)
            self.variants.rounds = ROUNDS + MORE_ROUNDS * self.variants.went_round
            # Right: the mistake depends on something that is not in these trees.
            return () if as_is == RIGHT else self._search(code, as_is)

    def _search(self, code: CodeType, as_is: float) -> tuple[Edit, ...]:
        self.left = Left(self.variants, self.known, code, self.right)
        context = self._observe(code)
        others = (seen.value for seen in context.observed.values() if seen.kind == "other")
        if any(map(_is_endless, others)):
            return ()
        spots = [place for part in self.code.parts for place in places(part, context)]
        edits: list[Edit] = []
        waiting: list[tuple[float, Edit]] = []
        stages = (self._likely(spots, context), self._less_likely(spots), self._adding(spots, context))
        for dearest, share, more in zip((2.0, 3.0, math.inf), SHARES, stages, strict=True):
            waiting = sorted([*waiting, *((self._cost(edit), edit) for edit in more)], key=itemgetter(0))
            found = [edit for cost, edit in waiting if cost < dearest]
            for edit in found:
                if self.variants.has_spent(share):
                    break
                if self._tries(edit, as_is):
                    return (self._asked_truly(edit),)
            waiting = waiting[len(found) :]
            edits += found
            if share == SHARES[1] and (alike := self._everywhere(edits)):
                return alike
        if self.beside is not None:
            return (self.beside[1],)
        return () if context.undefined else self._pairs(edits)

    def _asked_truly(self, edit: Edit) -> Edit:
        """What is right for some inputs is asked about for every one."""
        if edit.asks != INSTEAD or not self.soundness.was_right_at_times(edit):
            return edit
        return replace(edit, asks=f"{INSTEAD[:-1]}, for every input?")

    def half(self) -> tuple[Edit | None, int]:
        """After a search in vain: the simple edit after which most of the cases are right, and how many."""
        best: tuple[Edit | None, int] = (None, 0)
        with warnings.catch_warnings(), put_back(), clock_watched():
            warnings.simplefilter("ignore")
            for seed in filter(_says_something, self._seeds()):
                with applied(seed.edit):
                    code = self.code.compiled()
                    right = sum(self.variants.rate(code, number) == RIGHT for number in range(len(self.variants.cases)))
                if right > best[1] and self._is_sound((seed.edit,)):
                    best = seed.edit, right
        return best

    def _seeds(self) -> list[_Seed]:
        return sorted(self.nearer, key=lambda seed: (seed.rate, seed.edit.cost))[:SEEDS]

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
        donors = Donors(self.reference, [arg.arg for arg in tree.args.args], context)
        if self.code.can_take(donors.imports):
            for place in spots:
                if place.part is self.code.parts[-1]:
                    yield from donors.edits(place)

    def _cost(self, edit: Edit) -> float:
        """Cheap edits first, and those where the values go wrong or an error occurred, and in the object itself."""
        helper = HELPER * (edit.part is not self.code.parts[-1])
        in_line = ERROR_LINE * (edit.line == self.error_line) + PREFERRED * (edit.line == self.line)
        return edit.cost + helper + in_line + self.location.cost(edit)

    def _tries(self, edit: Edit, as_is: float) -> bool:
        mistake = None
        with applied(edit) as done:
            code = self.variants.compiled() if done else None
            if code is None:
                return False
            number, rate = self.first, self.variants.rate(code, self.first)
            if rate == RIGHT:
                number, passed = self.variants.first_wrong(code)
                rate = -passed
            if rate < as_is and number is not None:
                self.nearer.append(_Seed(edit, rate, number))
            if number is not None and self.beside is None and not _hides(edit, bool(self.variants.exercise.starter)):
                mistake = self.left.after(code, number)
        if mistake and not puts_in(edit, mistake) and self._is_sound((edit,)):
            self.beside = (mistake, edit)
        return number is None and self._is_sound((edit,))

    def _is_sound(self, edits: tuple[Edit, ...]) -> bool:
        if self.soundness is None:
            self.soundness = Soundness(self.variants, self.reference.found)
        return not self.soundness.flaw(edits)

    def _everywhere(self, edits: list[Edit]) -> tuple[Edit, ...]:
        """The same edit in places like one another: the lines of query, key, and value are written alike."""
        alike: dict[tuple, list[Edit]] = {}
        for edit in edits:
            if edit.cost < SIMPLE and edit.before is not None:
                alike.setdefault(edit.signature, []).append(edit)
        for group in alike.values():
            group.sort(key=lambda edit: (edit.line, edit.before.col_offset))
            if self.variants.has_spent():
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
                for second in edits[start : start + STEP]:
                    if self.variants.has_spent():
                        return ()
                    if self._passes((seed.edit, second), seed.number):
                        return (seed.edit, second)
        likely = sorted(edits, key=self._cost)
        for both in range(1, 2 * len(likely)):  # the likely with the likely first
            for one in range(max(0, both - len(likely) + 1), (both + 1) // 2):
                if self.variants.has_spent():
                    return ()
                pair = (likely[one], likely[both - one])
                if self._passes(pair, self.first):
                    return pair
        return ()

    def _passes(self, edits: tuple[Edit, ...], number: int) -> bool:
        with applied(*edits) as done:
            code = self.variants.compiled() if done else None
            if code is None or self.variants.rate(code, number) != RIGHT:
                return False
            if self.variants.first_wrong(code)[0] is not None:
                return False
        return self._is_sound(edits)

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


def _says_something(seed: _Seed) -> bool:
    """Is an edit worth telling even when more is to be done?"""
    return seed.edit.cost < SIMPLE and not isinstance(seed.edit.about, ast.FunctionDef)


def _hides(edit: Edit, hunt: bool) -> bool:
    """May another slip be hidden, as by a new minus, or without a name? In a hunt, one may go that stands elsewhere."""
    return edit.cost >= SIMPLE or edit.asks == SIGN or not keeps_names(edit, elsewhere=hunt)


def _is_endless(value: object) -> bool:
    """Would Python go through all of its items in one step, which no limit ends?"""
    try:
        return type(value) is type(iter(int, 1)) or length_hint(value) > MOST_NUMBERS
    except Exception:
        return True
