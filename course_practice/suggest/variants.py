"""Running variants of a learner's code on the cases, fast: is this one right, or at least nearer?"""

import copy
import math
import sys
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import Any

import torch
from torch import Tensor

from course_practice.engine import answers
from course_practice.engine.compare import as_tensor
from course_practice.engine.model import Budget, Case, Exercise
from course_practice.engine.run import Limit, Outcome, call_in_time, same_value
from course_practice.suggest.code import Code
from course_practice.suggest.fresh import fresh_cases

RIGHT, CHANGES_INPUT, WRONG_SHAPE, WRONG_TYPE, ERROR, LATE = 0.0, 0.05, 1.5, 2.5, 3.0, 4.0
LATE_RUNS, STUCK_RUNS = 25, 250  # what a variant that never ends takes of the budget; one that goes round in no loop
A_RUN, AN_EXPRESSION, A_CALL = 0.5, 0.0003, 0.0003  # of the budget; about a millisecond is 1


@dataclass
class Variants:
    """The cases, and a judge for code that is compiled anew again and again; used inside `put_back()`."""

    exercise: Exercise
    code: Code
    cases: list[Case]
    expected: list[Any]
    budget: Budget
    time: Limit  # the last one
    seed: int = answers.SEED  # another where the answer depends on random numbers, that of a repair must not
    keeps_inputs: bool = False  # the answers are right, but an input changes
    limit: float = 0.4  # seconds of the processor for one variant, for what goes round in no loop
    rounds: float = math.inf  # of the loops of one variant
    price: float = 0.5  # of what one run does
    spent: float = 0.0
    went_round: int = 0  # most rounds of a variant until now
    rounds_of_last: int = 0  # variant
    usual_rounds: int = 1
    outcome: Outcome | None = None  # the last one that was rated
    tried: set[CodeType] = field(default_factory=set)
    large: set[int] | None = None  # numbers in the code as it is

    @property
    def has_spent(self) -> bool:
        """Is the budget used up?"""
        return self.spent > self.budget.work or self.time.is_over

    def compiled(self) -> CodeType | None:
        """The code as it is now; None where it is no Python, or was tried before."""
        code = self.code.compiled()
        if code is None or code in self.tried:
            return None
        self.large = _large(code) if self.large is None else self.large
        if not _large(code) <= self.large:
            return None
        self.tried.add(code)
        return code

    def rate(self, code: CodeType, number: int) -> float:
        """How far the answer to a case is from right: 0 right, below 1 wrong numbers, then shapes, then errors."""
        return self._rate(code, self.cases[number], self.expected[number])

    def _rate(self, code: CodeType, given: Case, expected: Any) -> float:
        outcome = self.outcome = self._run(code, given)
        if outcome.out_of_time:
            return LATE
        if outcome.error is not None:
            return ERROR
        try:
            found = answers.difference_in(self.exercise, expected, outcome)
        except Exception:
            return ERROR
        if found is None:
            return CHANGES_INPUT if outcome.changed else RIGHT
        kinds = {"returned-none": WRONG_TYPE, "wrong-type": WRONG_TYPE, "wrong-shape": WRONG_SHAPE}
        return kinds[found.kind] if found.kind in kinds else self._share_of_wrong(expected, outcome)

    def run(self, code: CodeType, number: int, **extra: Any) -> Outcome:
        """What the code answers to a case."""
        return self._run(code, self.cases[number], **extra)

    def _run(self, code: CodeType, given: Case, **extra: Any) -> Outcome:
        def call(*args: Any, **kwargs: Any) -> Any:
            torch.default_generator.manual_seed(0)  # torch.manual_seed takes a thousand times as long
            return self.exercise.run(self.code.built(code, **extra), Case(args, kwargs, given.about))

        return self.answer(call, given)

    def set_price(self, code: CodeType, number: int, steps: int) -> None:
        """What a run takes of the budget from now on, after one in which all calls of functions are counted.

        A run that goes round more often takes more. Under a profiler no calls are counted: nobody but itself can
        switch it on again.
        """
        calls, is_free = 0, sys.getprofile() is None

        def note(_frame: Any, event: str, _called: Any) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        def call(*args: Any, **kwargs: Any) -> Any:
            return self.exercise.run(self.code.built(code), Case(args, kwargs, self.cases[number].about))

        if is_free:
            sys.setprofile(note)
        try:
            self.answer(call, self.cases[number])
        finally:
            if is_free:
                sys.setprofile(None)
        self.price = round(AN_EXPRESSION * steps + A_CALL * calls, 1)
        self.usual_rounds = max(self.rounds_of_last, 1)

    def answer(self, call: Any, given: Case) -> Outcome:
        """What a function answers to a case, given copies of the inputs."""
        args, kwargs = _copied(given.args), dict(zip(given.kwargs, _copied(given.kwargs.values()), strict=True))
        limit = Limit(self.limit, self.rounds)
        outcome = call_in_time(call, args, kwargs, limit)
        if isinstance(outcome.error, KeyboardInterrupt):
            raise outcome.error  # the reader wants to go on
        self.rounds_of_last = limit.went_round
        self.went_round = max(self.went_round, limit.went_round)
        late = outcome.out_of_time and (LATE_RUNS if limit.went_round > limit.rounds else STUCK_RUNS)
        rounds = limit.went_round / self.usual_rounds if self.usual_rounds > 1 else max(limit.went_round, 1)
        self.spent += late or A_RUN + self.price * rounds
        if self.keeps_inputs and not same_value([*args, *kwargs.values()], [*given.args, *given.kwargs.values()]):
            outcome.changed = ("an input",)
        return outcome

    def first_wrong(self, code: CodeType) -> int | None:
        """The first case that is not right, or None.

        Right is also that no input changes, the same answer in another random state, where one is used, and the right
        answer to fresh cases.
        """
        for number in range(len(self.cases)):
            if self.rate(code, number) != RIGHT:
                return number
        for number, given in enumerate(self.cases):
            outcome = answers.run(self.exercise, self.code.built(code), given, Limit(2.0), self.seed)
            if outcome.changed or answers.difference_in(self.exercise, self.expected[number], outcome):
                return number
            if self.exercise.excluded is not None and self._is_excluded(code, given):
                return number
        if any(self._rate(code, given, expected) != RIGHT for given, expected in fresh_cases(self.exercise)):
            return 0
        return None

    def how_wrong(self, code: CodeType) -> tuple[float, float]:
        """Over all cases, the rates, and how far the numbers are from the right ones: 0 right, 1 as far as can be."""
        rates, far = 0.0, 0.0
        for number, expected in enumerate(self.expected):
            rates += self.rate(code, number)
            pairs = self._pairs(expected, self.outcome)
            far += sum(_far(as_tensor(want), as_tensor(got)) for want, got in pairs) / len(pairs)
        return rates, far

    def _is_excluded(self, code: CodeType, given: Case) -> bool:
        """Is the answer made in a way that the exercise excludes?"""
        asked = replace(self.exercise, call=self.exercise.excluded)
        name = answers.run(asked, self.code.built(code), given, Limit(2.0)).value
        return any(mistake.name == name for mistake in self.exercise.mistakes)

    def _share_of_wrong(self, expected: Any, outcome: Outcome) -> float:
        shares = [_wrong(as_tensor(want), as_tensor(got)) for want, got in self._pairs(expected, outcome)]
        return 0.1 + 0.8 * sum(shares) / len(shares)

    def _pairs(self, expected: Any, outcome: Outcome) -> list[tuple[Any, Any]]:
        """What was expected and what was answered, result by result."""
        want, got = (answers.canonical(self.exercise, v) for v in (expected, outcome.value))
        if not isinstance(want, tuple):
            return [(want, got)]
        several = got if isinstance(got, tuple | list) and len(got) == len(want) else [None] * len(want)
        return list(zip(want, several, strict=True))


def _large(code: CodeType) -> set[int]:
    """Whole numbers above a million: what counts to such a one is a single step for Python, which no limit ends."""
    inside = (_large(one) for one in code.co_consts if isinstance(one, CodeType))
    return {one for one in code.co_consts if type(one) is int and one > 10**6}.union(*inside)


def _wrong(want: Tensor | None, got: Tensor | None) -> float:
    if want is None or got is None or want.shape != got.shape or not want.numel():
        return 1.0
    return 1.0 - torch.isclose(want.double(), got.double(), rtol=1e-3, atol=1e-4).double().mean().item()


def _far(want: Tensor | None, got: Tensor | None) -> float:
    if want is None or got is None or want.shape != got.shape or not want.numel():
        return 1.0
    want, got = want.double(), got.double()
    return ((want - got).norm() / (want.norm() + got.norm()).clamp(min=1e-30)).item()


def _copied(values: Any) -> tuple:
    return tuple(value.clone() if isinstance(value, Tensor) else copy.deepcopy(value) for value in values)
