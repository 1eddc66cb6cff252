"""`check`: run the learner's object on an exercise's cases and say what is wrong with it."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from course_practice.engine import progress
from course_practice.engine.answers import difference_in, run
from course_practice.engine.compare import Difference, brief, is_a_list_of_tensors, is_not_a_tensor, is_zero_one
from course_practice.engine.explain import explain
from course_practice.engine.inputs import input_of
from course_practice.engine.model import Budget, Exercise, Search
from course_practice.engine.report import Result
from course_practice.engine.run import (
    Limit,
    Outcome,
    OutOfTime,
    clock_watched,
    in_time,
    is_out_of_memory,
    is_under_a_limit,
    memory_limit,
)
from course_practice.engine.source import forget_marks, same_code, standalone_source, unfinished_line
from course_practice.engine.trial import HIGH, LOW, TIME_LIMIT, Trial, failed, right_answers

LONGEST = 86_400  # seconds: a day
ALL = 10  # times its limit may a whole check take
_TOO_SLOW = "It did not finish within {:g} seconds. Is there a loop that never ends?"


def check_exercise(
    exercise: Exercise,
    obj: Any,
    time_limit: float = TIME_LIMIT,
    budget: Budget | None = None,
    search: Search | None = None,
) -> Result:
    """Judge an object by an exercise, record the attempt, and never raise because of what the object does.

    `search` finds the line that has to change, within `budget`; without it, no line is looked for.
    """
    if isinstance(time_limit, bool) or not isinstance(time_limit, int | float) or not 0 < time_limit <= LONGEST:
        raise ValueError(
            f"expected time_limit in seconds, above 0 and at most {LONGEST:,}, got {time_limit!r}: "
            f"leave it out, and it is {TIME_LIMIT:g}"
        )
    if is_under_a_limit():
        raise RuntimeError("expected `check` behind the answer, got it inside: move it out, to the left margin")
    forget_marks()
    elsewhere = torch.get_default_device().type != "cpu"
    with clock_watched(), _as_usual(), torch.device("cpu") if elsewhere else contextlib.nullcontext():
        result = _not_attempted(exercise, obj) or _judge(exercise, obj, time_limit, budget or Budget(), search)
        if not result.attempted:
            return result
        kept = _keepable(exercise, obj) if result.passed else None
    trouble = progress.record(exercise.id, result.passed, result.diagnosis, kept)
    return replace(result, details=(*result.details, ("Note", trouble))) if trouble else result


@contextlib.contextmanager
def _as_usual() -> Iterator[None]:
    """With gradients, float32, and one thread: on a busy machine, several wait longer than they work."""
    before, dtype = torch.get_num_threads(), torch.get_default_dtype()
    if before > 1:
        torch.set_num_threads(1)
    torch.set_default_dtype(torch.float32)  # the inputs are drawn in it
    try:
        with torch.inference_mode(False), torch.enable_grad(), torch.autocast("cpu", enabled=False):
            yield
    finally:
        torch.set_default_dtype(dtype)
        if before > 1:
            torch.set_num_threads(before)


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


def _judge(exercise: Exercise, obj: Any, time_limit: float, budget: Budget, search: Search | None) -> Result:
    """What an object answers, and why that is wrong; what is too large to be looked at is an error as well."""
    try:
        with memory_limit():
            limit = Limit(ALL * max(time_limit, TIME_LIMIT))
            return in_time(limit, _judge_answers, exercise, obj, time_limit, budget, search)
    except OutOfTime:
        return failed(exercise, Difference("too-slow", _TOO_SLOW.format(time_limit)))
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        return failed(exercise, Difference("raised", f"It stopped with an error. {explain(error)}"))


def _judge_answers(exercise: Exercise, obj: Any, time_limit: float, budget: Budget, search: Search | None) -> Result:
    if not callable(obj):
        wanted = f"a function with the parameters ({', '.join(exercise.parameters)})"
        sentence = f"Expected {wanted}, got {brief(obj)}. Pass the function itself, without calling it."
        return failed(exercise, Difference("not-a-function", sentence))
    cases = list(exercise.cases())
    expected, limit = right_answers(exercise, cases), Limit(time_limit)
    outcomes: list[Outcome] = []
    for given in cases:
        outcomes.append(run(exercise, obj, given, limit))
        if _is_unwritten(outcomes[-1]):
            return _waiting(exercise, "Write the function, then run the cell again.")
        if outcomes[-1].out_of_time:
            return failed(exercise, Difference("too-slow", _TOO_SLOW.format(time_limit)), input_of(exercise, given))
        if isinstance(outcomes[-1].error, KeyboardInterrupt):
            return failed(exercise, Difference("stopped", explain(outcomes[-1].error)), input_of(exercise, given))
    trial = Trial(exercise, obj, cases, expected, outcomes, budget, search)
    if trial.differences:
        return trial.wrong_answer()
    if any(outcome.changed for outcome in outcomes):
        return trial.changed_input()
    looks = Limit(time_limit)
    for number, seed in ((0, LOW), (len(cases) - 1, HIGH), (len(cases) - 1, LOW)):
        again = run(exercise, obj, cases[number], looks, seed)
        if again.out_of_time:
            break
        if difference_in(exercise, trial.expected[number], again):
            return trial.other_the_second_time(number)
    if mistake := trial.excluded(time_limit):
        return mistake
    cut = trial.cut_gradient(time_limit)
    if isinstance(cut, Result):
        return cut
    if trial.has(is_zero_one):
        note = _ZERO_ONE
    elif trial.has(is_not_a_tensor):
        note = _NOT_A_TENSOR.format("stack" if trial.has(is_a_list_of_tensors) else "tensor")
    else:
        note = cut or trial.remark(time_limit)
    return Result(exercise.id, True, True, f"passed, {len(cases)} of {len(cases)} cases.{note}", kind="passed")


def _is_unwritten(outcome: Outcome) -> bool:
    """A `...` or a NotImplementedError of the stub's, not the one PyTorch raises for a type it does not support."""
    raised = isinstance(outcome.error, NotImplementedError)
    return outcome.value is ... or (raised and "not implemented for" not in outcome.said)


_ZERO_ONE = (
    " Valid, but here masks are boolean, and PyTorch *adds* a mask of numbers: end with `.bool()` and check again,"
    " then it is also kept for your own Transformer."
)

_NOT_A_TENSOR = (
    " Valid, but a list or an array: make it a tensor (`torch.{}(…)`) and check again, then it is also kept for"
    " your own Transformer."
)


def _keepable(exercise: Exercise, obj: Any) -> str | None:
    """The solution's source, if it runs and passes on its own, outside the notebook it was written in."""
    try:
        source = standalone_source(obj)
        rebuilt = progress.rebuild(source) if source is not None else None
    except Exception:
        return None
    if rebuilt is None:
        return None
    limit, cases = Limit(TIME_LIMIT), list(exercise.cases())
    for given, want in zip(cases, right_answers(exercise, cases), strict=True):
        outcome = run(exercise, rebuilt, given, limit)
        if difference_in(exercise, want, outcome):
            return None
        if is_zero_one(want, outcome.value) or is_not_a_tensor(want, outcome.value):
            return None
    return source


def _waiting(exercise: Exercise, what_to_do: str) -> Result:
    message = f"not attempted yet. {what_to_do}"
    return Result(exercise.id, passed=False, attempted=False, message=message, kind="waiting")
