"""Fresh cases: the inputs of an exercise with other numbers and, where that makes sense, other sizes."""

from collections.abc import Callable, Iterator
from typing import Any

from course_practice.engine import answers
from course_practice.engine.model import Case, Exercise
from course_practice.engine.run import Limit, Outcome, same_value
from course_practice.inputs import other_inputs

SEEDS = (1_000, 2_000)
MIXED = 12  # cases with an argument of another
SECONDS = 5.0  # for one answer
_MADE: dict[tuple, list[tuple[Case, Any]]] = {}


def fresh_cases(exercise: Exercise, seeds: tuple[int, ...] = SEEDS) -> list[tuple[Case, Any]]:
    """Cases that the exercise does not show, with what the reference answers; they are made once.

    Where the inputs are written by hand, they are cases with an argument of another one. A case counts where all right
    answers of the exercise agree on it: where a size is also given as a number, they do not agree on another size.
    """
    key = (exercise.cases, exercise.reference, exercise.call, seeds)
    if key not in _MADE:
        found = [(given, _answer(exercise, exercise.reference, given)) for given in _inputs_like(exercise, seeds)]
        _MADE[key] = [(given, answer.value) for given, answer in found if _is_clear(exercise, given, answer)]
    return _MADE[key]


def _inputs_like(exercise: Exercise, seeds: tuple[int, ...]) -> list[Case]:
    """The exercise's cases with other numbers and other sizes, or with arguments of one another."""
    shown, found = list(exercise.cases()), []
    for seed, larger in (*((seed, 0) for seed in seeds), (seeds[0], 1)):
        try:
            with other_inputs(seed, larger):
                made = list(exercise.cases())
        except Exception:  # sizes that do not fit together
            continue
        found += [case for case, before in zip(made, shown, strict=False) if _is_other(case, before)]
    if found or exercise.call is not None:  # how it is called may depend on what a case is about
        return found
    return [case for case in _mixed(shown) if all(_is_other(case, other) for other in shown)][:MIXED]


def _is_other(case: Case, than: Case) -> bool:
    """Are these other inputs? Of models it is not known."""
    inputs = [*case.args, *case.kwargs.values()]
    return any(map(callable, inputs)) or not same_value([case.args, case.kwargs], [than.args, than.kwargs])


def _mixed(shown: list[Case]) -> Iterator[Case]:
    """Each case with one argument of another, nearest neighbors first, where arguments are plain."""
    plain = (int, float, str, list, tuple, dict)
    shown = [case for case in shown if all(isinstance(value, plain) for value in [*case.args, *case.kwargs.values()])]
    for distance in range(1, len(shown)):
        for one, other in zip(shown, shown[distance:], strict=False):
            for place in range(min(len(one.args), len(other.args)) if len(one.args) > 1 else 0):
                yield Case((*one.args[:place], other.args[place], *one.args[place + 1 :]), one.kwargs, one.about)


def _answer(exercise: Exercise, obj: Callable, given: Case) -> Outcome:
    return answers.run(exercise, obj, given, Limit(SECONDS))


def _is_clear(exercise: Exercise, given: Case, answer: Outcome) -> bool:
    """Do all right answers agree on a case?"""
    if answer.error is not None:
        return False
    others = (_answer(exercise, other, given) for other in exercise.alternatives)
    return all(answers.difference_in(exercise, answer.value, other) is None for other in others)
