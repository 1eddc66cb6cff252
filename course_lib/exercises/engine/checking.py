"""`check`: run the learner's object on an exercise's cases and say what is wrong with it."""

import time
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from course_lib.exercises.engine import progress
from course_lib.exercises.engine.compare import Difference, as_tensor, brief, difference, pattern, safe_text
from course_lib.exercises.engine.explain import explain
from course_lib.exercises.engine.model import Case, Convention, Exercise, Mistake
from course_lib.exercises.engine.report import Result
from course_lib.exercises.engine.sandbox import Outcome, learner_line, run_safely
from course_lib.exercises.engine.source import file_of, same_code, standalone_source, unfinished_line

TIME_LIMIT = 10.0


def check_exercise(exercise: Exercise, obj: Any, time_limit: float = TIME_LIMIT) -> Result:
    """Judge an object by an exercise, record the attempt, and never raise because of what the object does."""
    result = _not_attempted(exercise, obj) or _judge(exercise, obj, time_limit)
    if not result.attempted:
        return result
    kept = _keepable(exercise, obj) if result.passed else None
    trouble = progress.record(exercise.id, result.passed, result.diagnosis, kept)
    return replace(result, details=(*result.details, ("Note", trouble))) if trouble else result


def _not_attempted(exercise: Exercise, obj: Any) -> Result | None:
    if obj is ...:
        return _waiting(exercise, "Replace the `...`, then run the cell again.")
    if not callable(obj):
        return None
    if exercise.starter is not None and same_code(obj, exercise.starter):
        return _waiting(exercise, "This is the code as it was given: change it, then run the cell again.")
    if line := unfinished_line(obj):
        return _waiting(exercise, f"Line {line} of your code is still open: write it, then run the cell again.")
    return None


def _judge(exercise: Exercise, obj: Any, time_limit: float) -> Result:
    if not callable(obj):
        wanted = f"a function with the parameters ({', '.join(exercise.parameters)})"
        sentence = f"Expected {wanted}, got {brief(obj)}. Pass the function itself, without calling it."
        return _failed(exercise, Difference("not-a-function", sentence))
    cases = list(exercise.cases())
    deadline = time.monotonic() + time_limit
    outcomes: list[Outcome] = []
    for given in cases:
        outcomes.append(_run(exercise, obj, given, deadline))
        if _is_unwritten(outcomes[-1]):
            return _waiting(exercise, "Write the function, then run the cell again.")
        if outcomes[-1].out_of_time:
            sentence = f"It did not finish within {time_limit:g} seconds. Is there a loop that never ends?"
            return _failed(exercise, Difference("too-slow", sentence), _input_of(exercise, given))
    trial = _Trial(exercise, obj, cases, [exercise.run(exercise.reference, given) for given in cases], outcomes)
    if trial.wrong:
        return trial.wrong_answer()
    if any(outcome.changed for outcome in outcomes):
        return trial.changed_input()
    if _difference_in(exercise, trial.expected[0], _run(exercise, obj, cases[0], deadline)):
        sentence = "The same input gave another answer the second time: it depends on something outside the function."
        return _failed(exercise, Difference("not-repeatable", sentence), _input_of(exercise, cases[0]))
    for given in cases if exercise.excluded else ():
        name = _run(replace(exercise, call=exercise.excluded), obj, given, time.monotonic() + time_limit).value
        if mistake := next((mistake for mistake in exercise.mistakes if mistake.name == name), None):
            return _failed(exercise, Difference(name, mistake.message), _input_of(exercise, given), "convention")
    message = f"passed, {len(cases)} of {len(cases)} cases."
    return Result(exercise.id, True, True, message + (_ZERO_ONE if trial.zero_one else ""), kind="passed")


def _is_unwritten(outcome: Outcome) -> bool:
    """A `...` or a NotImplementedError of the stub's, not the one PyTorch raises for a type it does not support."""
    raised = isinstance(outcome.error, NotImplementedError)
    return outcome.value is ... or (raised and "not implemented for" not in safe_text(str, outcome.error))


_ZERO_ONE = (
    " Valid, but here masks are boolean, and PyTorch *adds* a mask of numbers: end with `.bool()` and check again,"
    " then it is also kept for your own Transformer."
)


@dataclass(frozen=True)
class _Trial:
    """What came out of all cases, beside what was expected."""

    exercise: Exercise
    obj: Any
    cases: list[Case]
    expected: list[Any]
    outcomes: list[Outcome]

    @property
    def wrong(self) -> list[int]:
        """Numbers of the cases with a wrong answer, errors first, then by size of input."""
        pairs = enumerate(zip(self.expected, self.outcomes, strict=True))
        found = [n for n, (want, outcome) in pairs if _difference_in(self.exercise, want, outcome)]
        return sorted(found, key=lambda n: (self.outcomes[n].error is None, _size(self.cases[n])))

    @property
    def zero_one(self) -> bool:
        return any(_is_zero_one(want, o.value) for want, o in zip(self.expected, self.outcomes, strict=True))

    def wrong_answer(self) -> Result:
        for mistake in self.exercise.mistakes:
            if self.is_like(mistake):
                kind = "convention" if isinstance(mistake, Convention) else "failed"
                return _failed(self.exercise, Difference(mistake.name, mistake.message), kind=kind)
        first = self.wrong[0]
        given, outcome = self.cases[first], self.outcomes[first]
        found = _difference_in(self.exercise, self.expected[first], outcome)
        details = self.details(given, outcome)
        if found.kind not in ("raised", "returned-none"):
            details += (("Expected", brief(self.expected[first])), ("Got", brief(outcome.value)))
            found = self.pattern() or found
        if len(self.cases) > 1:
            found = replace(
                found, sentence=f"{found.sentence} ({len(self.wrong)} of {len(self.cases)} cases are wrong.)"
            )
        return _failed(self.exercise, found, details)

    def is_like(self, mistake: Mistake) -> bool:
        """Does the learner's object do on every case what this wrong implementation does?"""
        deadline = time.monotonic() + TIME_LIMIT
        theirs = (_run(self.exercise, mistake.implementation, given, deadline) for given in self.cases)
        return all(_same_outcome(self.exercise, a, b) for a, b in zip(theirs, self.outcomes, strict=True))

    def pattern(self) -> Difference | None:
        """What all wrong cases have in common, where that says more than the first of them."""
        seen = [
            pattern(self.expected[n], _canonical(self.exercise, self.outcomes[n].value), _inputs(self.cases[n]))
            for n in self.wrong
        ]
        return seen[0] if None not in seen and len({found.kind for found in seen}) == 1 else None

    def details(self, given: Case, outcome: Outcome) -> tuple[tuple[str, str], ...]:
        found: tuple[tuple[str, str], ...] = ()
        if outcome.error is not None:
            line = learner_line(outcome.error, file_of(self.obj))
            found += (("Your line", line[1]),) if line else ()
            said = f"{type(outcome.error).__name__}: {safe_text(str, outcome.error)}"
            found += (("Error", said.splitlines()[0]),)
        found += _input_of(self.exercise, given)
        return (*found, ("Printed by your code", _first_lines(outcome.printed))) if outcome.printed else found

    def changed_input(self) -> Result:
        number = next(n for n, outcome in enumerate(self.outcomes) if outcome.changed)
        named = self.exercise.all_parameters
        names = [f"`{named[int(name)] if name.isdigit() else name}`" for name in self.outcomes[number].changed]
        sentence = (
            f"The answer is right, but your code changes its input {' and '.join(names)} in place, and the caller goes "
            "on with other numbers. Use the form without the trailing underscore, or work on a copy."
        )
        return _failed(
            self.exercise, Difference("changes-input", sentence), _input_of(self.exercise, self.cases[number])
        )


def _run(exercise: Exercise, obj: Any, given: Case, deadline: float) -> Outcome:
    return run_safely(lambda *a, **k: exercise.run(obj, Case(a, k, given.about)), given.args, given.kwargs, deadline)


def _difference_in(exercise: Exercise, expected: Any, outcome: Outcome) -> Difference | None:
    if outcome.error is not None:
        return Difference("raised", f"It stopped with an error. {explain(outcome.error)}".strip())
    expected, got = _canonical(exercise, expected), _canonical(exercise, outcome.value)
    return difference(expected, got, exercise.rtol, exercise.atol)


def _same_outcome(exercise: Exercise, a: Outcome, b: Outcome) -> bool:
    if a.error is not None or b.error is not None:
        return type(a.error) is type(b.error) and safe_text(str, a.error) == safe_text(str, b.error)
    if a.value is None or b.value is None:
        return a.value is b.value
    return _difference_in(exercise, a.value, b) is None


def _canonical(exercise: Exercise, value: Any) -> Any:
    tensor = as_tensor(value)
    return value if exercise.canonical is None or tensor is None else exercise.canonical(tensor)


def _is_zero_one(expected: Any, got: Any) -> bool:
    want, have = as_tensor(expected), as_tensor(got)
    return want is not None and have is not None and want.dtype == torch.bool and have.dtype != torch.bool


def _keepable(exercise: Exercise, obj: Any) -> str | None:
    """The solution's source, if it runs and passes on its own, outside the notebook it was written in."""
    source = standalone_source(obj)
    if source is None:
        return None
    try:
        rebuilt = progress.rebuild(source)
    except Exception:
        return None
    deadline = time.monotonic() + TIME_LIMIT
    for given in exercise.cases():
        expected, outcome = exercise.run(exercise.reference, given), _run(exercise, rebuilt, given, deadline)
        if _difference_in(exercise, expected, outcome) or _is_zero_one(expected, outcome.value):
            return None
    return source


def _inputs(given: Case) -> list[Any]:
    return [*given.args, *given.kwargs.values()]


def _size(given: Case) -> int:
    return sum(tensor.numel() for value in _inputs(given) if (tensor := as_tensor(value)) is not None)


def _input_of(exercise: Exercise, given: Case) -> tuple[tuple[str, str], ...]:
    named = [*zip(exercise.all_parameters, given.args, strict=False), *given.kwargs.items()]
    lines = [f"{name} = {_short(value)}" for name, value in named]
    return ((f"Input ({given.about})" if given.about else "Input", "\n".join(lines)),)


def _short(value: Any) -> str:
    if isinstance(value, Tensor) and value.numel() > 12:
        return f"a tensor of shape {tuple(value.shape)}"
    return brief(value)


def _first_lines(text: str, count: int = 10) -> str:
    lines = text.splitlines()
    return "\n".join(lines[:count] + ["…"] * (len(lines) > count))


def _waiting(exercise: Exercise, what_to_do: str) -> Result:
    message = f"not attempted yet. {what_to_do}"
    return Result(exercise.id, passed=False, attempted=False, message=message, kind="waiting")


def _failed(
    exercise: Exercise, found: Difference, details: tuple[tuple[str, str], ...] = (), kind: str = "failed"
) -> Result:
    return Result(
        exercise.id,
        passed=False,
        attempted=True,
        message=found.sentence,
        diagnosis=found.kind,
        kind=kind,
        details=details,
        hints=exercise.hints,
    )
