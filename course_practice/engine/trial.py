"""What came out of all cases of an exercise, and what there is to say about it."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch

from course_practice.engine.answers import SEED, canonical, difference_in, run, same_outcome
from course_practice.engine.changes import Change
from course_practice.engine.compare import (
    Difference,
    as_tensor,
    brief,
    first_lines,
    is_not_a_tensor,
    other_numbers,
    pattern,
)
from course_practice.engine.explain import explain
from course_practice.engine.gradients import cut_at, gradient_difference, gradients, not_finite, tells_something
from course_practice.engine.inputs import input_of, inputs, size
from course_practice.engine.model import Budget, Case, Convention, Exercise, Mistake, Repair, Search
from course_practice.engine.naming import at_once, authors_lines, guilty_lines
from course_practice.engine.report import Result, failed
from course_practice.engine.run import Limit, Outcome, clock_watched, is_out_of_memory, learner_line, put_back
from course_practice.engine.source import file_of, line_of, unread

TIME_LIMIT = 10.0
LOW, HIGH = 3719, 8861  # seeds after which Python, PyTorch, and NumPy draw a number below 0.04, or above 0.96, first
ROUNDS = 20_000  # of all loops, in a case, of two mistakes at once, which may make one that never ends
_ANSWERS: dict[tuple, Outcome] = {}
_EXPECTED: dict[tuple, list[Any]] = {}
_NEW_TENSOR = "Work on a copy (`.clone()`), or make a new tensor where you write into the given one."
_NEW_LIST = (
    "Work on a copy (`copy.deepcopy`), or make a new list where you change the given one: `[*old, new]` for `append`, "
    "`sorted(old)` for `sort`."
)
_NOT_FINITE = (
    " Valid, but in some cases the gradient of {} is not finite: where that happens in training, every weight before "
    "it becomes NaN."
)
_RANDOM = (
    "The same input gives another answer each time: something in your code draws random numbers, and they reach the "
    "answer."
)


def right_answers(exercise: Exercise, cases: list[Case]) -> list[Any]:
    """What the reference answers; it runs once, since the cases are the same at every check."""
    key = (exercise.cases, exercise.call, exercise.reference)
    if key not in _EXPECTED:
        _EXPECTED[key] = [exercise.run(exercise.reference, given) for given in cases]
    return _EXPECTED[key]


def right_gradients(exercise: Exercise, cases: list[Case]) -> list[Any]:
    """The reference's gradients for each case of what is trained; they are computed once."""
    key = (exercise.cases, exercise.call, exercise.reference, "gradients")
    if key not in _EXPECTED:
        _EXPECTED[key] = [gradients(exercise, exercise.reference, given) for given in cases]
    return _EXPECTED[key]


@dataclass(frozen=True)
class Trial:
    """An object, the cases, what was expected, and what it answered."""

    exercise: Exercise
    obj: Any
    cases: list[Case]
    expected: list[Any]
    outcomes: list[Outcome]
    budget: Budget = field(default_factory=Budget)  # of each search for a repair
    search: Search | None = None

    @cached_property
    def differences(self) -> dict[int, Difference]:
        """What is wrong, by the number of the case: errors first, then wrong shapes, and small inputs first."""
        found = self._wrong(self.outcomes)
        ranks = {"raised": 0, "returned-none": 1, "wrong-shape": 2, "wrong-type": 3, "coarser": 5}
        return {n: found[n] for n in sorted(found, key=lambda n: (ranks.get(found[n].kind, 4), size(self.cases[n])))}

    def _wrong(self, outcomes: list[Outcome]) -> dict[int, Difference]:
        """What is wrong with the outcomes of all cases, by the number of the case."""
        pairs = enumerate(zip(self.expected, outcomes, strict=True))
        return {n: found for n, pair in pairs if (found := difference_in(self.exercise, *pair))}

    def has(self, oddity: Callable[[Any, Any], bool]) -> bool:
        """Has an answer this oddity, beside what was expected?"""
        return any(map(oddity, self.expected, (outcome.value for outcome in self.outcomes)))

    def wrong_answer(self) -> Result:
        """What is wrong with the answer, and that an input changes, where it does besides."""
        mistake, singles = self._known()
        result = self._named(mistake, singles) if mistake else self._not_known()
        changed = [n for n, outcome in enumerate(self.outcomes) if outcome.changed and outcome.error is None]
        if not changed or (mistake and any(self._answer_of(mistake, n).changed for n in changed)):
            return result
        also = f"Besides, your code changes its input {self._changed(changed[0])} in place: work on a copy."
        return replace(result, message=f"{result.message} {also}")

    def _not_known(self) -> Result:
        """The nearest repair of a wrong answer, else what all wrong cases share, else the first of them."""
        first, found = next(iter(self.differences.items()))
        outcome, details = self.outcomes[first], self._details(self.cases[first], self.outcomes[first])
        if found.kind not in ("raised", "returned-none"):
            details += (("Expected", brief(self.expected[first])), ("Got", brief(outcome.value)))
            if found.kind == "coarser":
                return failed(self.exercise, found, details)
            found = self._pattern() or found
        random = self.is_random(first)
        if random:
            found = Difference("random", _RANDOM)
        known = () if random or outcome.error is not None or not self._searches else self._with_answers()
        single = tuple(each for each in known if not each[0].message.startswith("Two things."))  # a third is a guess
        repair = self._repair_of(outcome, seed=1 if random else SEED, known=single)
        if repair is not None and repair.remaining is not None:
            found = Difference(repair.remaining.name, f"Two things. {repair.remaining.beside_another}")
        if repair is not None:
            return with_repair(self.exercise, found, repair, details)
        return failed(self.exercise, self._partly(known) or self._counted(found, outcome), details)

    def _repair_of(self, outcome: Outcome, **options: Any) -> Repair | None:
        """The nearest repair; `outcome` is that of the first wrong case."""
        if outcome.error is not None and is_out_of_memory(outcome.error):
            return None  # each variant would want as much
        line = learner_line(outcome.error, file_of(self.obj)) if outcome.error is not None else None
        return self._repair(list(self.differences), line and line[0], **options)

    def _counted(self, found: Difference, outcome: Outcome) -> Difference:
        """What is wrong, with the parameters that the code never reads, and how many cases are wrong."""
        sentence = found.sentence
        if outcome.error is None and (names := unread(self.obj, self.exercise.reference)):
            sentence += f" Your code never reads `{'` and `'.join(names)}`."
        if len(self.cases) > 1:
            are = "is" if len(self.differences) == 1 else "are"
            sentence += f" ({len(self.differences)} of {len(self.cases)} cases {are} wrong.)"
        return Difference(found.kind, sentence)

    def _known(self) -> tuple[Mistake | None, tuple[Mistake, ...]]:
        """A known mistake that answers as the learner's object does, or two at once, and which those are."""
        with put_back(), clock_watched():
            if mistake := next(filter(self.is_like, self.exercise.mistakes), None):
                return mistake, (mistake,)
            if all(outcome.value is None for outcome in self.outcomes):
                return None, ()  # an error tells of one mistake at most, and so does no answer
            several = at_once(self.exercise.mistakes, most=3 if self.exercise.starter else 2)
            alike = (found for found in several if self.is_like(found[0], ROUNDS))
            return next((found for found in alike if all(map(self._shows, found[1]))), (None, ()))

    def _shows(self, single: Mistake) -> bool:
        """Is a part of several mistakes at once seen: does it alone give a wrong answer, or the learner's error?

        No single one answers like the learner's object; where one makes no difference, nobody knows that it is there.
        """
        alone = [self._answer_of(single, n) for n in range(len(self.cases))]
        return any(
            alone[n].error is None or same_outcome(self.exercise, alone[n], self.outcomes[n])
            for n in self._wrong(alone)
        )

    def _with_answers(self) -> tuple[tuple[Mistake, list[Outcome]], ...]:
        """The known mistakes whose answers are numbers enough to be told apart, with these answers."""
        numbers, found = range(len(self.cases)), []
        with put_back(), clock_watched():
            for mistake in self.exercise.mistakes:
                answers = [self._answer_of(mistake, number) for number in numbers]
                values = [as_tensor(o.value[0] if isinstance(o.value, tuple) else o.value) for o in answers]
                few = any(value is None or value.dtype == torch.bool for value in values)
                if not few and all(outcome.error is None for outcome in answers):
                    found.append((mistake, answers))
        return tuple(found)

    def _partly(self, known: tuple[tuple[Mistake, list[Outcome]], ...]) -> Difference | None:
        """A known mistake with the learner's answers to most of the wrong cases, and right ones elsewhere."""
        for mistake, answers in known:
            same = sum(same_outcome(self.exercise, answers[n], self.outcomes[n]) for n in self.differences)
            if self._wrong(answers).keys() <= self.differences.keys() and same >= max(2, len(self.differences) * 2 / 3):
                said = f"In {same} of the {len(self.differences)} wrong cases, you answer as with a known mistake."
                return Difference(mistake.name, f"{said} {mistake.beside_another}")
        return None

    def _named(self, mistake: Mistake, singles: tuple[Mistake, ...]) -> Result:
        """A known mistake, the learner's lines that it is about where they are clear, and how a right answer has it."""
        result = failed(self.exercise, Difference(mistake.name, mistake.message), kind=_kind(mistake))
        if not isinstance(mistake.wrong, Change):
            return result
        lines = dict(sorted(line for single in singles for line in guilty_lines(single.wrong, self.obj).items()))
        error = self.outcomes[next(iter(self.differences))].error
        quotes = tuple((f"Line {line}", text) for line, text in lines.items()) or self._line_of(error)
        hint = authors_lines(mistake.wrong, self.obj)
        return replace(result, lines=tuple(lines), details=quotes, hints=(*result.hints, *([hint] if hint else [])))

    def _line_of(self, error: BaseException | None) -> tuple[tuple[str, str], ...]:
        """The learner's line at which an error stops the code, where there is one."""
        line = learner_line(error, file_of(self.obj)) if error is not None else None
        return (("Your line", line[1]),) if line else ()

    def is_like(self, mistake: Mistake, rounds: float = math.inf) -> bool:
        """Does the learner's object do on every case what this wrong implementation does? Wrong cases tell at once."""
        numbers = [*self.differences, *(n for n in range(len(self.cases)) if n not in self.differences)]
        theirs = (self._answer_of(mistake, n, rounds) for n in numbers)
        return all(same_outcome(self.exercise, a, self.outcomes[n]) for a, n in zip(theirs, numbers, strict=True))

    def _answer_of(self, mistake: Mistake, number: int, rounds: float = math.inf) -> Outcome:
        """What a known mistake answers to a case; it runs once, since the cases are the same at every check."""
        key = (self.exercise.cases, self.exercise.call, mistake.implementation, number)
        if key in _ANSWERS:
            return _ANSWERS[key]
        limit = Limit(TIME_LIMIT, rounds)
        own = mistake.implementation is self.obj  # a test asks what is said of a mistake
        outcome = self.outcomes[number] if own else run(self.exercise, key[2], self.cases[number], limit)
        if not outcome.out_of_time or limit.went_round > limit.rounds:  # seconds depend on the machine
            _ANSWERS[key] = outcome
        return outcome

    def is_random(self, number: int) -> bool:
        """Does the answer to a case depend on the state of the random numbers, and on nothing else?"""
        limit = Limit(TIME_LIMIT)
        a, b, c = (run(self.exercise, self.obj, self.cases[number], limit, seed).value for seed in (LOW, HIGH, LOW))
        return other_numbers(a, b) and not other_numbers(a, c)

    def changed_input(self) -> Result:
        """The answer is right, but what was given is no longer the same."""
        number = next(n for n, outcome in enumerate(self.outcomes) if outcome.changed)
        found = Difference(
            "changes-input",
            f"The answer is right, but your code changes its input {self._changed(number)} in place, and the caller "
            "goes on with other numbers.",
        )
        details = input_of(self.exercise, self.cases[number])
        if repair := self._repair([number], keeps_inputs=True):
            return with_repair(self.exercise, found, repair, details)
        given, changed = self.cases[number], self.outcomes[number].changed
        written = [given.args[int(name)] if name.isdigit() else given.kwargs[name] for name in changed]
        advice = _NEW_TENSOR if all(isinstance(value, torch.Tensor) for value in written) else _NEW_LIST
        return failed(self.exercise, Difference(found.kind, f"{found.sentence} {advice}"), details)

    def _changed(self, number: int) -> str:
        """The names of the inputs that a case does not leave as they were."""
        named = self.exercise.all_parameters
        names = [named[int(name)] if name.isdigit() else name for name in self.outcomes[number].changed]
        return " and ".join(f"`{name}`" for name in names)

    def other_the_second_time(self, number: int) -> Result:
        """Every answer is right, and the next one to the same input is not."""
        sentence = "The same input gave another answer the second time: it depends on something outside the function."
        found = Difference("random", _RANDOM) if self.is_random(number) else Difference("not-repeatable", sentence)
        return failed(self.exercise, found, input_of(self.exercise, self.cases[number]))

    def excluded(self, time_limit: float) -> Result | None:
        """The answer is right, but made in a way that the exercise excludes."""
        for given in self.cases if self.exercise.excluded else ():
            asked, where = replace(self.exercise, call=self.exercise.excluded), input_of(self.exercise, given)
            outcome = run(asked, self.obj, given, Limit(time_limit))
            if outcome.out_of_time:  # the first look of a busy machine also loads what it looks with
                outcome = run(asked, self.obj, given, Limit(time_limit))
            if outcome.out_of_time:
                sentence = f"The answer is right, but a second look at how it is made took over {time_limit:g} seconds."
                return failed(self.exercise, Difference("too-slow", sentence + " Run the cell again."), where)
            if outcome.error is not None:
                return failed(self.exercise, difference_in(self.exercise, "", outcome), where)
            if mistake := next((mistake for mistake in self.exercise.mistakes if mistake.name == outcome.value), None):
                return failed(self.exercise, Difference(mistake.name, mistake.message), kind=_kind(mistake))
        return None

    def remark(self, time_limit: float) -> str:
        """What the exercise has to say about a right answer in an unusual form, most often nothing."""
        for given in self.cases if self.exercise.remark else ():
            asked = replace(self.exercise, call=self.exercise.remark)
            outcome = run(asked, self.obj, given, Limit(time_limit))
            if isinstance(outcome.value, str) and outcome.value:
                return f" {outcome.value}"
        return ""

    def cut_gradient(self, time_limit: float) -> Result | str:
        """The answer is right, but a gradient that the reference sends back is lost, so that nothing is trained.

        Else a note for whoever passes, most often an empty one.
        """
        note = ""
        if not self.exercise.trained or self.has(is_not_a_tensor):
            return note
        asked = replace(self.exercise, call=lambda obj, given: gradients(self.exercise, obj, given))
        limit = Limit(time_limit)
        for given, want in zip(self.cases, right_gradients(self.exercise, self.cases), strict=True):
            if not tells_something(want):
                continue
            outcome = run(asked, self.obj, given, limit)
            if outcome.out_of_time:
                break
            if found := _of_gradients(want, outcome):
                result = failed(self.exercise, found, self._details(given, outcome))
                return _with_the_cut(result, self.obj)
            if outcome.error is None and (names := not_finite(outcome.value)):
                note = _NOT_FINITE.format(names)
        return note

    @property
    def _searches(self) -> bool:
        return self.search is not None and self.budget.work > 0

    def _repair(self, wrong: list[int], error_line: int | None = None, **options: Any) -> Repair | None:
        if not self._searches:
            return None
        options["budget"] = self.budget
        return self.search(self.exercise, self.obj, self.cases, self.expected, wrong, error_line, **options)

    def _pattern(self) -> Difference | None:
        """What all wrong cases have in common, where that says more than the first of them."""
        seen = [
            pattern(self.expected[n], canonical(self.exercise, self.outcomes[n].value), inputs(self.cases[n]))
            for n in self.differences
        ]
        return seen[0] if None not in seen and len({found.kind for found in seen}) == 1 else None

    def _details(self, given: Case, outcome: Outcome) -> tuple[tuple[str, str], ...]:
        found: tuple[tuple[str, str], ...] = ()
        if outcome.error is not None:
            found += self._line_of(outcome.error)
            found += (("Error", f"{type(outcome.error).__name__}: {outcome.said}".splitlines()[0]),)
        found += input_of(self.exercise, given)
        return (*found, ("Printed by your code", first_lines(outcome.printed))) if outcome.printed else found


def _of_gradients(expected: Any, outcome: Outcome) -> Difference | None:
    """What is wrong with gradients, or why they cannot be computed."""
    if outcome.error is None:
        return gradient_difference(expected, outcome.value)
    if "in-place" in outcome.said or "inplace" in outcome.said:
        why = (
            "the way back fails, because your code writes into a tensor that a gradient needs. Make a new one: "
            "`masked_fill` for `masked_fill_`, `x = x + y` for `x += y`."
        )
    elif "requires grad" in outcome.said:
        why = "no gradient flows back: a tensor leaves PyTorch on the way, as by `.numpy()`."
    else:
        why = f"your code stops where gradients are computed. {explain(outcome.error, outcome.said)}".strip()
    return Difference("no-gradient", f"Your numbers are right, but {why}")


def _with_the_cut(result: Result, obj: Any) -> Result:
    """The result with the line to look at, where only one can be meant."""
    cut = cut_at(obj)
    if cut is None:
        return result
    line, words = cut
    text = line_of(obj, line)
    details = ((f"Line {line}", text), *(each for each in result.details if each[0] != "Your line"))
    message = f"{result.message} Look at line {line}: does {words} cut the path?"
    return replace(result, message=message, lines=(line,), details=details)


def _kind(mistake: Mistake) -> str:
    return "convention" if isinstance(mistake, Convention) else "failed"


def with_repair(
    exercise: Exercise, found: Difference, repair: Repair, details: tuple[tuple[str, str], ...] = ()
) -> Result:
    """The result of an attempt that a small change would make right: where to look, and the change as the last hint."""
    result = failed(exercise, Difference(found.kind, f"{found.sentence} {repair.sentence}"), details)
    shown = {text for _, text in repair.quotes}
    others = (each for each in result.details if each[0] != "Your line" or each[1] not in shown)
    details, hints = (*repair.quotes, *others), (*result.hints, repair.hint)
    return replace(result, details=details, hints=hints, lines=repair.lines, repair=repair.kind)
