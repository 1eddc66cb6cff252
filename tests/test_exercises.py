"""The truth table of every exercise: what must pass passes, what must fail fails with its own words."""

import ast
import copy
import functools
import inspect
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from course_practice.engine import Convention, check_exercise
from course_practice.engine.compare import as_tensor
from course_practice.exercises import registry, show_solution
from course_practice.suggest import Budget

# As in a reader's notebook; what a mistake answers is kept, and the other files want it like this, too.
pytestmark = pytest.mark.usefixtures("unchecked")
EXERCISES = list(registry().values())
each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.id)
# What is asked of the engine, not of an exercise, is asked of one exercise of each kind: of a whole number, of tensors,
# of lists, of text, of a module, and of code with bugs.
KINDS = [
    "masks.causal",
    "attention.scaled_dot_product",
    "bleu.modified_precision",
    "bpe.pair_counts",
    "encoder.layer",
    "seq2seq.repair",
]
each_kind = pytest.mark.parametrize("exercise", [registry()[name] for name in KINDS], ids=lambda e: e.id)
each_alternative = pytest.mark.parametrize(
    ("exercise", "answer"),  # the first is judged where it is shown: test_exercises_in_place.py
    [pytest.param(e, a, id=f"{e.id}-{a.__name__}") for e in EXERCISES for a in e.alternatives[1:]],
)


def test_pads_alone_cost_nothing_by_the_library_the_other_way_and_the_hint():
    exercise = registry()["training.smoothed_loss"]
    losses, mean, real = (code for code in exercise.hints[2].split("`")[1::2])
    first = "log_probs = logits.log_softmax(dim=-1)\npicked = log_probs.gather(-1, targets[..., None])[..., 0]\n"
    given = {"logits": torch.randn(2, 3, 5), "targets": torch.zeros(2, 3).long(), "smoothing": 0.1, "PAD": 0}
    exec(f"{first}{losses}\n{real}\nanswer = {mean}", given)
    ways = [way(given["logits"], given["targets"]) for way in (exercise.reference, *exercise.alternatives)]
    assert [given["answer"].item(), *map(float, ways)] == [0.0] * (2 + len(exercise.alternatives))


def check(name, obj, time_limit=10.0):
    """What is said of a wrong answer is asked here, not where its nearest repair is: test_exercises_answers.py does."""
    return check_exercise(registry()[name], obj, time_limit, budget=Budget(work=0))


@functools.cache
def of_one_case(name):
    """The exercise with its first case alone, and no known mistakes, whose hundreds of pairs take long to run."""
    exercise = registry()[name]
    first = [*exercise.cases()][:1]
    return replace(exercise, cases=lambda: first, mistakes=())


def check_alone(name, obj):
    """Is it refused? That must not hang on what is known, nor, where the first case tells, on the others."""
    for exercise in (of_one_case(name), replace(registry()[name], mistakes=())):
        result = check_exercise(exercise, obj, budget=Budget(work=0))
        if not result.passed:
            break
    return result


def changed(exercise, change):
    """The reference with its answer changed; of a module that it makes, the module's outputs."""

    def answer(*args, **kwargs):
        made = exercise.reference(*args, **kwargs)
        return _Changed(made, change) if isinstance(made, nn.Module) else change(made)

    return answer


class _Changed(nn.Module):
    """A module whose outputs are changed; its parts are still there."""

    def __init__(self, module, change):
        super().__init__()
        self.module, self.change = module, change

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("module"), name)

    def forward(self, *args, **kwargs):
        return self.change(self.module(*args, **kwargs))


def through(function):
    """Apply a function to a tensor or to each tensor of a tuple."""
    return lambda value: tuple(map(function, value)) if isinstance(value, tuple) else function(value)


def assert_refused(result, diagnosis=None):
    assert result.attempted
    assert not result.passed
    assert result.diagnosis is not None
    assert diagnosis in (None, result.diagnosis), str(result)
    assert result.message[0].isupper()
    assert "Traceback" not in str(result)


def of_each(named, holds):
    """Does it hold of each of them? All of which it does not are told, by name."""
    told = []
    for name, one in named:
        try:
            holds(one)
        except Exception as error:
            told.append(f"{name}: {type(error).__name__}: {error}")
    if told:
        pytest.fail(f"{len(told)} of {len(named)}:\n\n" + "\n\n".join(told), pytrace=False)


# What must pass


@each_exercise
def test_reference_passes(exercise):
    result = check(exercise.id, exercise.reference)
    assert result.passed, str(result)
    assert result.diagnosis is None


@each_alternative
def test_right_answer_written_another_way_passes(exercise, answer):
    result = check(exercise.id, answer)
    assert result.passed, str(result)


@each_kind
def test_arrays_and_double_precision_pass(exercise):
    def widen(tensor):
        tensor = tensor.double() if tensor.is_floating_point() else tensor
        return tensor.numpy()

    if all(isinstance(t, torch.Tensor) for t in _flat(_first_answer(exercise))):
        result = check(exercise.id, changed(exercise, through(widen)))
        # A machine that answers in arrays cannot be trained; functions that do are told to make a tensor.
        assert result.passed or exercise.id == "transformer.assemble", str(result)


# What is not an attempt


def _bare_stub(*args, **kwargs):
    """A docstring alone."""
    ...


def _raising_stub(*args, **kwargs):
    raise NotImplementedError


def _half_done(*args, **kwargs):
    value = ...
    return value


STUBS = {"bare": _bare_stub, "raises": _raising_stub, "half": _half_done, "dots": ..., "lambda": lambda *a, **k: ...}


@each_kind
def test_stubs_are_not_an_attempt(exercise):
    def holds(stub):
        result = check(exercise.id, stub)
        assert (result.passed, result.attempted, result.diagnosis) == (False, False, None)
        assert "not attempted yet" in str(result)

    of_each([*STUBS.items()], holds)


@pytest.mark.parametrize("exercise", [e for e in EXERCISES if e.starter], ids=lambda e: e.id)
def test_starter_is_not_an_attempt(exercise):
    result = check(exercise.id, exercise.starter)
    assert not result.attempted, str(result)


# What must fail


@each_exercise
def test_mistakes_fail_with_their_own_diagnosis(exercise):
    def holds(mistake):
        result = check(exercise.id, mistake.implementation)
        if not result.attempted and mistake.message.startswith("None of "):
            return  # all bugs, as they were given
        assert_refused(result, mistake.name)
        assert result.message == mistake.message
        assert result.kind == ("convention" if isinstance(mistake, Convention) else "failed")

    of_each([(mistake.name, mistake) for mistake in exercise.mistakes], holds)


HUNTS = [e for e in EXERCISES if any(mistake.message.startswith("None of ") for mistake in e.mistakes)]


@pytest.mark.parametrize("exercise", HUNTS, ids=lambda e: e.id)
def test_a_bug_hunt_asks_its_questions_where_nothing_is_found_yet(exercise):
    given = exercise.starter
    other = type("Other", (given,), {}) if isinstance(given, type) else lambda *args, **kwargs: given(*args, **kwargs)
    result = check(exercise.id, other)
    assert result.message.startswith("None of "), str(result)


@each_kind
def test_something_that_is_no_function_fails(exercise):
    objects = [(repr(obj), obj) for obj in (None, 3, "causal", torch.ones(2, 2))]
    of_each(objects, lambda obj: assert_refused(check(exercise.id, obj), "not-a-function"))


@each_kind
def test_none_fails(exercise):
    result = check(exercise.id, lambda *args, **kwargs: None)
    assert_refused(result, "returned-none")
    assert "`return`" in result.message


@each_kind
def test_handing_back_an_input_fails(exercise):
    assert_refused(check_alone(exercise.id, lambda *args, **kwargs: [*args, *kwargs.values()][0]))


@each_kind
def test_emptying_what_is_given_fails(exercise):
    emptied = []

    def empties(*args, **kwargs):
        made = exercise.reference(*args, **kwargs)
        made = copy.deepcopy(made)
        for value in [*args, *kwargs.values()]:
            if isinstance(value, list | dict | set) and value:
                value.clear(), emptied.append(value)
            elif isinstance(value, np.ndarray):
                value.fill(7), emptied.append(value)
        return made

    result = check(exercise.id, empties)
    if emptied:
        assert_refused(result, "changes-input")


@each_kind
def test_zeros_nan_another_type_and_another_shape_fail(exercise):
    first = _first_answer(exercise)
    changes = {
        "zeros": lambda t: torch.zeros_like(as_tensor(t)),
        "NaN": lambda t: as_tensor(t).double() * float("nan"),
        "complex numbers": lambda t: as_tensor(t).double() * 1j,
        "twice": lambda t: torch.stack([as_tensor(t)] * 2),
    }
    if not isinstance(first, str):  # the text of a text is the same
        changes["texts"] = str
    if any(t is not None and t.is_floating_point() for t in map(as_tensor, _flat(first))):
        changes["whole numbers"] = lambda t: as_tensor(t).long()
    of_each([*changes.items()], lambda made: assert_refused(check_alone(exercise.id, changed(exercise, through(made)))))


@pytest.mark.parametrize("exercise", [e for e in EXERCISES if e.trained], ids=lambda e: e.id)
def test_right_numbers_without_gradients_fail_where_they_would_be_trained(exercise):
    def cut(tensor):
        return tensor.detach()

    result = check(exercise.id, changed(exercise, through(cut)))
    assert_refused(result, "no-gradient")
    assert result.message.startswith("Your numbers are right, but no gradient ")
    (line,) = result.lines or (None,)
    assert line is None or "`.detach()`" in result.message


@each_kind
def test_exception_is_shown_with_the_learners_own_line(exercise):
    def breaks(*args, **kwargs):
        return undefined_name + 1  # noqa: F821

    result = check(exercise.id, breaks)
    assert_refused(result, "raised")
    assert "undefined_name + 1" in dict(result.details)["Your line"]
    assert "`undefined_name` means nothing here" in result.message


@each_kind
def test_endless_loop_is_stopped(exercise):
    def loops(*args, **kwargs):
        while True:
            pass

    assert_refused(check(exercise.id, loops, time_limit=0.05), "too-slow")


@each_kind
def test_changing_an_input_fails(exercise):
    takes_tensors = any(isinstance(v, torch.Tensor) for c in exercise.cases() for v in (*c.args, *c.kwargs.values()))

    def changes(*args, **kwargs):
        answer = exercise.reference(*args, **kwargs)
        if not takes_tensors:
            return answer  # sizes, words: they cannot be changed in place
        answer = through(lambda t: as_tensor(t).clone())(answer)
        for value in (*args, *kwargs.values()):
            if isinstance(value, torch.Tensor) and value.numel():
                value.fill_(0)
        return answer

    result = check(exercise.id, changes)
    if takes_tensors:
        assert_refused(result, "changes-input")
        assert any(f"`{name}`" in result.message for name in inspect.signature(exercise.reference).parameters)
    else:
        assert result.passed


@each_kind
def test_another_answer_at_the_second_call_fails(exercise):
    calls, once = [], None

    def moody(*args, **kwargs):
        calls.append(1)
        answer = exercise.reference(*args, **kwargs)
        return answer if once is None or len(calls) <= 2 * once else through(another)(answer)

    for given in exercise.cases():
        exercise.run(moody, given)  # how often it is called when every case is asked once
    once = len(calls)
    assert_refused(check(exercise.id, moody), "not-repeatable")


def another(value):
    tensor = as_tensor(value)
    return -7 if tensor is None else tensor * 0 - 7


# The data themselves


@each_exercise
def test_cases_have_all_sizes_different_and_all_sizes_equal(exercise):
    sizes = [
        [size for value in (*c.args, *c.kwargs.values()) if isinstance(value, torch.Tensor) for size in value.shape]
        for c in exercise.cases()
    ]
    sizes = [[size for size in found if size > 1] for found in sizes if len(found) > 1]
    if sizes:
        assert any(len(set(found)) == 1 for found in sizes), "no case has all sizes equal"
        shapes = [
            v.shape for c in exercise.cases() for v in (*c.args, *c.kwargs.values()) if isinstance(v, torch.Tensor)
        ]
        if all(shape[-1:] == shape[-2:-1] for shape in shapes):  # attention of a text to itself: its length counts once
            shapes = [shape[:-1] for shape in shapes]
        assert any(len(shape) >= 2 and len(set(shape)) == len(shape) for shape in shapes), (
            "no case has all sizes different"
        )


@each_exercise
def test_cases_are_the_same_every_time(exercise):
    first, second = ([as_tensor(v) for c in exercise.cases() for v in (*c.args, *c.kwargs.values())] for _ in range(2))
    assert all(a is b is None or torch.equal(a, b) for a, b in zip(first, second, strict=True))


@each_exercise
def test_solution_is_the_references_own_source(exercise):
    solution = show_solution(exercise.id)
    text, page = repr(solution), solution._repr_html_()
    source = inspect.getsource(exercise.reference)
    assert source.rstrip() in text
    assert source.rstrip() not in solution._repr_mimebundle_()["text/plain"], "what a viewer shows that strips HTML"
    shown = [inspect.getsource(answer).rstrip() in text for answer in exercise.alternatives]
    assert shown == [True] + [False] * (len(shown) - 1)
    assert page.count("<details") == 5
    assert "open" not in page.split("<summary")[0]
    ast.parse(source)


def _first_answer(exercise):
    given = next(iter(exercise.cases()))
    return exercise.run(exercise.reference, given)


def _flat(value):
    return list(value) if isinstance(value, tuple | list) else [value]


def test_numpy_scalars_count_as_numbers():
    assert as_tensor(np.float32(2.5)).item() == 2.5


def test_a_table_that_is_too_small_fails():
    table = torch.ones(64, 64).tril().bool()
    assert not check_exercise(registry()["masks.causal"], lambda n: table[:n, :n]).passed
