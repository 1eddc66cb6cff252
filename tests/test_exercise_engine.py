"""The check engine: whatever a learner's code does, the notebook goes on and hears a plain sentence."""

import contextlib
import functools
import importlib
import inspect
import json
import os
import random
import re
import signal
import sys
import threading
import time
from math import inf
from pathlib import Path

import numpy as np
import pytest
import torch

from course_lib.encoder import EncoderLayer
from course_lib.multi_head import MultiHeadAttention
from course_practice import engine, exercises
from course_practice.engine import Exercise, Mistake, case, run
from course_practice.engine.changes import Change, Hunk, hunks_of
from course_practice.engine.compare import as_tensor, brief, difference, pattern
from course_practice.engine.explain import explain
from course_practice.engine.progress import rebuild
from course_practice.engine.run import Limit, clock_watched, run_safely
from course_practice.engine.source import runnable_source, same_code, standalone_source, unfinished_line
from course_practice.engine.texts import with_text
from course_practice.exercises import check, kept_solution, mine, progress_file, registry, show_solution
from course_practice.suggest import Budget, nearest_repair

check_exercise = functools.partial(engine.check_exercise, search=nearest_repair)


def double(x):
    """Twice x."""
    return 2 * x


def _cases():
    return [case(torch.arange(float(n)), about=f"{n} numbers") for n in (3, 5, 7)]


def exercise(**changes):
    """A small exercise that is not in the registry."""
    fields = {
        "id": "toy.double",
        "title": "Double",
        "task": "Return twice x.",
        "reference": double,
        "cases": _cases,
        "mistakes": (Mistake("squares", lambda x: x**2, "You squared `x`."),),
        "hints": ("One.", "Two.", "Three."),
        "alternatives": (lambda x: x + x,),
        "difficulty": 1,
        "minutes": 1,
    }
    return Exercise(**{**fields, **changes})


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_COURSE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def judge(answer, **options):
    return check_exercise(exercise(), answer, **options)


# Nonsense


class Hostile:
    """An answer whose every method raises."""

    def __repr__(self):
        raise RuntimeError("no repr")

    def __eq__(self, other):
        raise RuntimeError("no eq")

    __hash__ = None


def _circular():
    circle = []
    circle.append(circle)
    return circle


class Quitter:
    """An answer that ends Python when it is shown or compared."""

    def __repr__(self):
        raise SystemExit

    def __eq__(self, other):
        raise SystemExit

    __hash__ = None


NONSENSE = {
    "text": "2 * x",
    "function": double,
    "module": torch,
    "type": torch.Tensor,
    "dict": {"x": 1},
    "set": {1.0, 2.0},
    "empty list": [],
    "ragged list": [[1.0], [1.0, 2.0]],
    "circular list": _circular(),
    "object array": np.array([None, 1], dtype=object),
    "text array": np.array(["a", "b"]),
    "sparse": torch.eye(3).to_sparse(),
    "meta": torch.ones(3, device="meta"),
    "complex": torch.ones(3, dtype=torch.complex64),
    "empty tensor": torch.empty(0),
    "hostile": Hostile(),
    "quitter": Quitter(),
    "list of quitters": [Quitter(), Quitter()],
    "generator": (x for x in range(3)),
    "huge int": 10**400,
    "nan": float("nan"),
    "infinite": torch.full((3,), float("inf")),
    "bytes": b"123",
}


@pytest.mark.parametrize("answer", NONSENSE.values(), ids=NONSENSE.keys())
def test_nonsense_is_refused_in_a_plain_sentence(answer):
    result = judge(lambda x: answer)
    assert result.attempted
    assert not result.passed
    assert result.message[0].isupper()
    assert len(str(result)) < 2_000
    assert "Traceback" not in str(result)
    assert result._repr_html_().count("<div") == 1


@pytest.mark.parametrize(
    "raises", [ValueError("bad"), SystemExit(1), RecursionError("maximum recursion depth exceeded"), MemoryError()]
)
def test_any_exception_becomes_a_result(raises):
    def answer(x):
        raise raises

    result = judge(answer)
    assert result.diagnosis == "raised"
    assert dict(result.details)["Your line"] == "raise raises"
    assert type(raises).__name__ in dict(result.details)["Error"]


def test_exception_with_hostile_text_becomes_a_result():
    class Odd(Exception):
        def __str__(self):
            raise RuntimeError

    def answer(x):
        raise Odd

    assert judge(answer).diagnosis == "raised"


def test_exception_that_quits_when_it_is_read_becomes_a_result():
    class Odd(Exception):
        def __str__(self):
            raise SystemExit

    def answer(x):
        raise Odd

    assert judge(answer).diagnosis == "raised"


def test_an_input_that_quits_when_it_is_compared_becomes_a_result():
    puzzle = exercise(cases=lambda: [case(Quitter())], reference=lambda x: 1)
    assert check_exercise(puzzle, lambda x: 1).passed


def test_an_answer_that_the_reader_stops_is_told_as_such():
    def answer(x):
        raise KeyboardInterrupt

    result = judge(answer)
    assert result.diagnosis == "stopped"
    assert "Is there a loop that never ends?" in result.message


def test_the_reader_can_stop_a_search():
    def search(*_given, **_options):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.check_exercise(exercise(mistakes=()), lambda x: 3 * x, search=search)


# The time limit


def endless(x):
    while True:
        pass


def sleeper(x):
    time.sleep(86_400)


def stubborn(x):
    while True:
        try:
            while True:
                pass
        except Exception:  # does not hold the time limit back: it is no Exception
            pass


@pytest.mark.parametrize("answer", [endless, sleeper, stubborn])
def test_endless_code_is_stopped(answer):
    result = judge(answer, time_limit=0.3)
    assert result.diagnosis == "too-slow"
    assert "0.3 seconds" in result.message


def test_endless_code_is_stopped_in_a_thread_too():
    results = []
    thread = threading.Thread(target=lambda: results.append(judge(endless, time_limit=0.3)))
    thread.start()
    thread.join()
    assert [result.diagnosis for result in results] == ["too-slow"]


def grows(x):
    while True:
        x = torch.cat([x, x])


def lists(x):
    rows = [1]
    while True:
        rows += rows


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
@pytest.mark.parametrize("answer", [grows, lists, lambda x: np.ones(10**10), lambda x: torch.ones(10**10)])
def test_code_that_wants_all_memory_is_stopped(answer, monkeypatch):
    monkeypatch.setattr(run, "MEMORY_LIMIT", 2**28)  # the machine of the test may be small
    search = lambda *_, **__: pytest.fail("its variants want as much")  # noqa: E731
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    result = judge(answer, time_limit=20.0, search=search)
    assert result.diagnosis == "raised"
    assert "more than 4 GiB of memory" in result.message
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


ITSELF = [1]
ITSELF.append(ITSELF)


def deep():
    """10**60 numbers in little memory: no machine is fast enough to look at all of them."""
    return functools.reduce(lambda inner, _: [inner] * 1000, range(20), 0)


@pytest.mark.parametrize(
    "make",
    [lambda: [0] * 10**8, lambda: [[0] * 1000] * 10**6, lambda: [torch.ones(2)] * 10**6, lambda: [[ITSELF]], deep],
)
def test_endless_lists_are_no_tensors_and_are_told_in_short(make):
    value = make()
    assert as_tensor(value) is None
    assert len(brief(value)) < 100


@pytest.mark.parametrize("answer", [lambda x: [0] * 10**7, lambda x: [[0] * 1000] * 10**5, lambda x: [x] * 10**6])
def test_an_endless_answer_is_told_in_short(answer):
    result = judge(answer)
    assert result.diagnosis == "wrong-type"
    assert "too long to be shown" in str(result)


def looks_forever(obj, given):
    return endless(*given.args)


def fails_on_a_second_look(obj, given):
    raise ValueError("no such table")


@pytest.mark.parametrize(("excluded", "diagnosis"), [(looks_forever, "too-slow"), (fails_on_a_second_look, "raised")])
def test_a_second_look_that_does_not_end_well_is_no_pass(excluded, diagnosis):
    result = check_exercise(exercise(excluded=excluded), double, time_limit=0.3)
    assert (result.passed, result.diagnosis) == (False, diagnosis)


def test_nothing_is_interrupted_after_the_check():
    judge(double, time_limit=0.2)
    time.sleep(0.4)


def test_a_right_answer_that_is_slow_passes(pass_by):
    """The three cases take most of the time there is; the run that asks whether it answers twice alike has its own."""
    calls = []

    def answer(x):
        calls.append(x)
        pass_by(0.2)
        return 2 * x

    assert judge(answer, time_limit=0.7).passed
    assert len(calls) == 6
    assert judge(answer, time_limit=0.5).diagnosis == "too-slow"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no alarms on Windows")
def test_an_alarm_that_comes_at_another_time_reaches_nobody():
    with clock_watched():
        signal.raise_signal(signal.SIGALRM)  # no limit runs
        assert run_safely(lambda: signal.raise_signal(signal.SIGALRM), (), {}, Limit(5)).error is None
        assert run_safely(lambda: signal.raise_signal(signal.SIGALRM), (), {}, Limit(-1)).out_of_time
        signal.raise_signal(signal.SIGALRM)


def test_an_answer_too_slow_to_be_asked_twice_passes():
    calls = []

    def answer(x):
        calls.append(1)
        while len(calls) > 3:
            pass
        return 2 * x

    assert judge(answer, time_limit=0.2).passed
    assert len(calls) == 4


# Nothing reaches the notebook


def test_state_of_the_notebook_is_untouched():
    def answer(x):
        torch.manual_seed(5)
        random.seed(5)
        np.random.seed(5)
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        print("flood " * 100_000)
        print("to stderr", file=sys.stderr)
        return 2 * x

    torch.manual_seed(1), random.seed(1), np.random.seed(1)
    expected = torch.rand(1), random.random(), np.random.rand()
    torch.manual_seed(1), random.seed(1), np.random.seed(1)
    assert judge(answer).passed
    assert (torch.rand(1), random.random(), np.random.rand()) == expected
    assert torch.get_default_dtype() == torch.float32
    assert torch.is_grad_enabled()


def test_a_default_device_does_not_stay():
    def answer(x):
        torch.set_default_device("meta")
        return 2 * x

    assert judge(answer).passed
    assert torch.get_default_device().type == "cpu"


def test_the_notebooks_own_default_device_makes_no_difference():
    torch.set_default_device("meta")
    try:
        assert judge(lambda x: torch.ones(len(x), dtype=x.dtype) * x * 2).passed
        assert torch.get_default_device().type == "meta"
    finally:
        torch.set_default_device(None)


def test_prints_are_captured_and_the_first_lines_shown(capsys):
    def answer(x):
        for number in range(1_000):
            print("line", number)
        return x**3

    shown = dict(judge(answer).details)["Printed by your code"].splitlines()
    assert (shown[0], shown[-1], len(shown)) == ("line 0", "…", 11)
    assert capsys.readouterr() == ("", "")


def test_inputs_given_by_the_exercise_stay_as_they_are():
    def answer(x):
        return x.mul_(2)

    result = judge(answer)
    assert result.diagnosis == "changes-input"
    assert "`x`" in result.message
    assert judge(double).passed


# What it says


def test_a_known_mistake_is_named():
    result = judge(lambda x: x * x)
    assert (result.diagnosis, result.message) == ("squares", "You squared `x`.")
    assert "<code>x</code>" in result._repr_html_()


PRAISE = re.compile(r"(?i)(almost|right|correct|everything else)\b|[^.:]*\b(is|are) right(,|;| but| and)")


def test_no_fault_begins_with_what_is_right_and_would_be_told_beside_another_mistake():
    faults = [(name, mistake) for name, asked in registry().items() for mistake in asked.mistakes]
    assert [(name, mistake.name) for name, mistake in faults if PRAISE.match(mistake.fault)] == []


def keeps_signs(x):
    """Gives x back, over two steps that hide a wrong sign in the first."""
    signs = x.sign() + 1
    signs = signs - 1
    return signs * signs * x + 1


def _slip(name, old, new):
    return Mistake(name, Change(keeps_signs, keeps_signs, (Hunk((old,), (new,)),), __name__), f"This is {name}.")


def test_two_mistakes_are_named_only_where_both_are_seen():
    """The sign alone makes no difference, and nobody knows whether who answers like both has it."""
    slips = (
        _slip("sign", "signs = signs - 1", "signs = 1 - signs"),
        _slip("square", "return signs * signs * x + 1", "return signs * x + 1"),
        _slip("one-off", "signs = x.sign() + 1", "signs = x.sign() + 1.5"),
    )
    asked = exercise(reference=keeps_signs, mistakes=slips, cases=lambda: [case(torch.arange(-3.0, 4.0))])
    seen = check_exercise(asked, lambda x: (x.sign() + 0.5) * x + 1, budget=Budget(work=0))
    assert (seen.diagnosis, seen.message) == ("square-and-one-off", "Two things. This is square. And: This is one-off.")
    assert check_exercise(asked, lambda x: 1 - x.abs(), budget=Budget(work=0)).diagnosis == "wrong-values"


@pytest.mark.parametrize(
    ("answers", "diagnosis"),
    [
        ((0.25, 2.25, 9.0, 16.0, 11.0), "squares"),
        ((1.0, 2.25, 9.0, 16.0, 25.0), "wrong-values"),  # right in a case in which squares are wrong
        ((0.25, 2.25, 9.0, 17.0, 11.0), "wrong-values"),  # too few are alike
    ],
)
def test_a_known_mistake_is_named_where_most_of_the_wrong_cases_show_it(answers, diagnosis):
    numbers = (0.5, 1.5, 3.0, 4.0, 5.0)
    asked = exercise(cases=lambda: [case(torch.tensor(n)) for n in numbers])
    table = dict(zip(numbers, answers, strict=True))
    seen = check_exercise(asked, lambda x: torch.tensor(table[x.item()]), budget=Budget(work=1))
    assert seen.diagnosis == diagnosis
    assert ("In 4 of the 5 wrong cases" in seen.message) == (diagnosis == "squares"), seen.message


@pytest.mark.parametrize(
    ("diff", "words"),
    [
        ("+ z = 1", "expected a line of the right answer with '+ z = 1', got none: add it, with '- '"),
        ("z = 1", "expected a line that begins with '- ', '+ ' or two spaces, got 'z = 1': mark it"),
    ],
)
def test_a_diff_that_is_not_complete_is_refused(diff, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        hunks_of(diff)


def test_what_is_right_without_a_fault_is_refused(tmp_path):
    text = Path(exercises.__file__).with_name("masks") / "causal.md"
    (tmp_path / text.name).write_text(text.read_text("utf-8").replace("**Fault:** ", ""), "utf-8")
    with pytest.raises(ValueError, match="expected a name, an indented diff, and a message under"):
        with_text(registry()["masks.causal"], tmp_path / text.name, "course_practice.exercises.masks.causal")


def test_a_mistake_means_the_same_wherever_its_block_stands(tmp_path):
    for name, asked in registry().items():
        path = Path(exercises.__file__).parent.joinpath(*name.split(".")).with_suffix(".md")
        head, blocks = path.read_text("utf-8").split("## Mistakes\n")
        blocks = re.split(r"^(?=### )", blocks, flags=re.MULTILINE)
        (tmp_path / path.name).write_text(f"{head}## Mistakes\n{''.join(reversed(blocks))}", "utf-8")
        module = importlib.import_module(f"{exercises.__name__}.{name}")
        moved = with_text(module.EXERCISE, tmp_path / path.name, module.__name__).mistakes
        assert {*moved} == {*asked.mistakes}, name


def test_the_smallest_failing_case_is_shown():
    result = judge(functools.partial(torch.add, other=1))  # without source, so without a repair
    details = dict(result.details)
    assert details["Input (3 numbers)"] == "x = [0., 1., 2.]"
    assert details["Expected"] == "[0., 2., 4.]"
    assert details["Got"] == "[1., 2., 3.]"
    assert "(3 of 3 cases are wrong.)" in result.message


@pytest.mark.parametrize(
    ("answer", "diagnosis"),
    [
        (lambda x: x, "returns-input"),
        (lambda x: 3 * x, "scaled"),
        (lambda x: torch.full_like(x, 4), "constant"),
        (lambda x: (2 * x)[None], "wrong-shape"),
        (lambda x: torch.stack([2 * x, 2 * x]), "wrong-shape"),
        (lambda x: torch.full_like(x, float("nan")), "not-finite"),
        (lambda x: (2 * x, x), "wrong-type"),
    ],
)
def test_patterns_known_in_every_exercise(answer, diagnosis):
    assert judge(answer).diagnosis == diagnosis


def test_a_wrong_shape_in_any_case_is_told_before_wrong_numbers_in_a_small_one():
    answer = functools.partial(lambda x, y: x + y if len(x) < 7 else x[None] + y, y=1)  # without a source
    result = judge(answer)
    assert result.diagnosis == "wrong-shape"
    assert "Expected the shape (7,), got (1, 7)." in result.message
    assert "Input (7 numbers)" in dict(result.details)


def test_a_number_that_happens_to_be_an_input_is_not_called_one():
    puzzle = exercise(cases=lambda: [case(torch.tensor([1.0])), case(torch.tensor([2.0]))])
    assert check_exercise(puzzle, functools.partial(torch.mul, other=1)).diagnosis != "returns-input"


def test_a_list_that_is_changed_is_not_told_to_clone():
    def answer(numbers):
        numbers.append(1)
        return len(numbers)

    puzzle = exercise(reference=lambda numbers: len(numbers) + 1, cases=lambda: [case([3, 4])])
    result = check_exercise(puzzle, functools.partial(answer))  # without a source, so without a repair
    assert result.diagnosis == "changes-input"
    assert "`[*old, new]`" in result.message
    assert "clone" not in result.message


def test_what_changes_the_input_is_not_guessed():
    def answer(x):
        return x.__imul__(2)

    result = judge(answer)
    assert result.diagnosis == "changes-input"
    assert "underscore" not in result.message
    assert "Work on a copy" in result.message


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: (2 * x).tolist(),
        lambda x: (2 * x).numpy(),
        lambda x: np.float64(2) * x.numpy().astype(np.float64),
        lambda x: (2 * x).half(),
        lambda x: (2 * x).bfloat16(),
        lambda x: (2 * x).long(),
        lambda x: tuple(2 * v for v in x.tolist()),
        lambda x: [2 * v for v in x],
        lambda x: torch.nn.Parameter(2 * x),
    ],
)
def test_right_values_pass_in_any_container(answer):
    result = judge(answer)
    assert result.passed, str(result)


def test_transposed_answers_are_named():
    expected = torch.arange(6.0).view(2, 3)
    assert pattern(expected, expected.T, []).kind == "transposed"
    assert pattern(expected, expected, [expected]).kind == "returns-input"


def test_differences_inside_a_tuple_say_which_result():
    expected = (torch.ones(2), torch.ones(3))
    assert difference(expected, [torch.ones(2), np.ones(3)], 1e-4, 1e-5) is None
    assert difference(expected, (torch.ones(2), torch.zeros(3)), 1e-4, 1e-5).sentence.startswith("Result 2 of 2: ")
    assert difference(expected, (torch.zeros(2), torch.ones(3)), 1e-4, 1e-5).sentence.startswith("Result 1 of 2: ")
    assert difference((1, 2, 3), (4, 5, 6), 1e-4, 1e-5).sentence == "Results 1, 2 and 3 of 3: The value is not right."
    assert "Expected 2 results" in difference(expected, torch.ones(2), 1e-4, 1e-5).sentence


def test_long_values_are_cut():
    assert len(brief(torch.rand(100, 100))) < 500
    assert brief("x" * 1_000).endswith(" …")


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (lambda: torch.ones(2, 3) @ torch.ones(2, 3), "2x3 meets 2x3"),
        (lambda: torch.ones(4, 2, 3) @ torch.ones(4, 2, 3), "Is a transpose missing, or"),
        (lambda: torch.ones(2) + torch.ones(3), "sizes 2 and 3 on axis 0"),
        (lambda: torch.ones(3).expand(2), "3 numbers cannot fill 2 places"),
        (lambda: torch.nn.Conv2d(1, 1, 3)(torch.ones(1, 2, 2)), "is the padding missing?"),
        (lambda: torch.ones(2, 3).T.view(6), "use `reshape`"),
        (lambda: torch.ones(2, 3).view(7), "6 numbers cannot be arranged as [7]"),
        (lambda: np.ones(6).reshape(-1, 4), "6 numbers cannot be arranged as (4)"),
        (lambda: np.array([[1, 2], [3]]), "Lists of different lengths"),
        (lambda: torch.tensor([[1, 2], [3]]), "Lists of different lengths"),
        (lambda: next({}), "something of type dict"),
        (lambda: _entered(0), "no `yield` is reached"),
        (lambda: _entered(2), "`yield` is reached a second time"),
        (lambda: {[1, 2]}, "make a tuple of it"),
        (lambda: ~torch.ones(2), "booleans"),
        (lambda: torch.ones(2).masked_fill(torch.ones(2), 0), "boolean mask"),
        (lambda: torch.ones(2).softmax(3), "That axis does not exist here"),
        (lambda: torch.ones(2, dtype=torch.half).masked_fill(torch.ones(2) > 0, -1e10), "half precision"),
        (lambda: torch.einsum("ij,jk->ik", torch.ones(2, 3), torch.ones(2, 3)), ""),  # its own words are the best
        (lambda: double(), "`double` was called with too few arguments, without 'x'"),
        (lambda: torch.nn.MultiheadAttention(2, 1)(torch.ones(1, 2)), "`MultiheadAttention.forward` was called"),
        (lambda: torch.tensor([torch.ones(2)]), "`torch.stack` makes"),
        (lambda: torch.ones(2, 1).add_(torch.ones(2, 2)), "must have its shape, [2, 1], and this has [2, 2]"),
        (lambda: torch.ones(2, 3)[torch.arange(2), torch.arange(3)], "these have the shapes [2], [3]"),
        (lambda: torch.ones(2, 3).gather(1, torch.tensor([0])), "an index with as many axes"),
        (lambda: torch.ones(2, 3)[torch.tensor([2])], "the shape of what it reads"),
        (lambda: double(1, 2), "2 were given"),
        (lambda: double(y=1), "no parameter named `y`"),
        (lambda: None.shape, "Something is None"),
        (lambda: torch.ones(2).shapes, "There is no `shapes`"),
        (lambda: torch.ones(2)(3), "of type Tensor is called like a function"),
        (lambda: setattr(torch.nn.Linear(2, 2), "weight", torch.ones(2, 2)), "assign the parameter itself"),
        (lambda: setattr(torch.nn.Linear(2, 2), "weight", torch.nn.Embedding(2, 2)), "its parameter is `.weight`"),
        (lambda: torch.ones(2, 2).double() @ torch.ones(2, 2), "different dtypes"),
        (lambda: bool(torch.ones(2) > 0), "`if`, `and`, `or`, and `not` want one"),
        (lambda: (lambda a, b: (a, b))(*torch.ones(3)), "It takes 2 arguments but 3 were given"),
        (lambda: _unpack(torch.ones(3)), "Too many values for the 2 names on the left"),
        (lambda: _unpack(torch.ones(1)), "Not enough values for the 2 names on the left"),
        (lambda: torch.ones(4).view(2, 4 / 2), "a fraction"),
        (lambda: torch.ones(4).reshape(4 / 2, 2), "`reshape` wants whole numbers"),
        (lambda: torch.zeros(4 / 2, 2), "`zeros` wants whole numbers"),
        (lambda: range(4 / 2), "a fraction"),
        (lambda: torch.ones(4).chunk(4 / 2), "a fraction"),
        (lambda: torch.ones(4)[: 4 / 2], "bounds of a slice"),
        (lambda: ~None, "Something is None"),
        (lambda: torch.ones(2).masked_fill(None, 0), "Something is None"),
        (lambda: _loaded(weight=(2, 3)), '`load_state_dict` does not find "bias"'),
        (lambda: _loaded(weight=(2, 3), bias=(2,), gain=(2,)), 'is given "gain", and the model has nothing'),
        (lambda: _loaded(weight=(3, 2), bias=(2,)), "is given (3, 2) for `weight`, and the model has (2, 3) there"),
    ],
)
def test_common_errors_are_explained(cause, words):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        cause()
    assert words in explain(caught.value), str(caught.value)


def _entered(n_yields):
    @contextlib.contextmanager
    def manager():
        for _ in range(n_yields):
            yield

    with manager():
        pass


def _loaded(**shapes):
    return torch.nn.Linear(3, 2).load_state_dict({name: torch.ones(shape) for name, shape in shapes.items()})


def _unpack(values):
    first, second = values
    return first + second


def test_a_list_is_made_a_tensor_by_the_function_that_takes_it():
    assert "`torch.stack(…)`" in judge(lambda x: list(2 * x)).message
    assert "`torch.tensor(…)`" in judge(lambda x: (2 * x).tolist()).message


@pytest.mark.usefixtures("unchecked")
def test_a_known_mistake_that_stops_with_an_error_shows_where():
    class MyLayer(EncoderLayer):
        def forward(self, x, mask=None):
            first, second = self.residuals
            attended = self.attention(x, x, x, mask)
            return second(first(x, attended), self.feed_forward)

    result = check("encoder.layer", MyLayer)
    assert result.diagnosis == "part-called-too-early"
    assert result.details == (("Your line", "return second(first(x, attended), self.feed_forward)"),)


def test_text_of_a_result_is_escaped_in_html():
    def answer(x):
        raise ValueError("<script>alert(1)</script>")

    page = judge(answer)._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_unknown_id_names_the_nearest():
    with pytest.raises(
        ValueError, match=r"expected the id of an exercise, got 'mask\.casual': did you mean 'masks\.causal'"
    ):
        check("mask.casual", double)
    with pytest.raises(ValueError, match=rf"registry\(\) lists all {len(registry())}"):
        show_solution("§")
    with pytest.raises(ValueError, match="expected the id of an exercise"):
        check(double, "masks.causal")


# What counts as unfinished


def slices_with_dots(x):
    return 2 * x[..., :]


def passes(x):
    pass


def gap(x):
    """Twice x."""
    y = ... * x
    return y


def einsum_with_lists(x):
    """An axis list of einsum may hold dots."""

    def unused():
        pass

    return torch.einsum(x, [..., 0], torch.tensor(2.0), [], [..., 0])


def test_dots_in_an_index_are_no_gap():
    assert judge(slices_with_dots).passed
    assert judge(einsum_with_lists).passed
    assert unfinished_line(slices_with_dots) is None
    assert unfinished_line(passes) == 2
    assert unfinished_line(gap) == 3


def test_starter_under_another_name_is_not_an_attempt():
    def starter(x):
        """Find the bug."""
        return x**2

    def mine(x):
        return x**2

    def changed(x):
        return 2 * x

    puzzle = exercise(starter=starter)
    assert not check_exercise(puzzle, mine).attempted
    assert check_exercise(puzzle, changed).passed
    assert same_code(starter, mine)


# Progress and kept solutions

FACTOR = 2


def helper(x):
    return FACTOR * x


def uses_helpers(x):
    return torch.as_tensor(np.asarray(helper(x)))


def gives_an_array(x):
    return np.asarray(helper(x))


class Doubler:
    """A class that answers."""

    def __init__(self):
        self.factor = FACTOR

    def double(self, x):
        return self.factor * x


def progress():
    return json.loads(progress_file().read_text(encoding="utf-8"))["toy.double"]


def test_progress_counts_attempts_and_diagnoses():
    for answer in (lambda x: x * x, lambda x: x * x, lambda x: x, double, passes):
        judge(answer)
    entry = progress()
    assert entry["attempts"] == 4
    assert entry["passed"]
    assert entry["passed_at_attempt"] == 4
    assert entry["diagnoses"] == {"squares": 2, "returns-input": 1}


def test_later_failure_does_not_undo_a_pass():
    judge(double)
    judge(lambda x: x)
    assert progress()["passed"]
    assert kept_solution("toy.double")(4) == 8


def test_solution_is_kept_with_what_it_needs():
    judge(uses_helpers)
    assert torch.equal(kept_solution("toy.double")(torch.ones(3)), torch.full((3,), 2.0))
    for line in ("import torch", "import numpy as np", "FACTOR = 2", "def helper(x):"):
        assert line in progress()["solution"]


def test_solution_is_kept_that_is_made_of_another_kept_one(monkeypatch):
    judge(double)
    monkeypatch.setitem(globals(), "my_double", kept_solution("toy.double"))
    rebuilt = rebuild(standalone_source(doubles_twice))
    assert rebuilt(3) == 12
    assert mine("masks.causal") is registry()["masks.causal"].reference  # none is kept


def doubles_twice(x):
    return my_double(my_double(x))  # noqa: F821


def test_class_is_kept_with_what_it_needs():
    scope = {}
    exec(standalone_source(Doubler), scope)
    assert scope["Doubler"]().double(3) == 6


def test_solution_is_shown_with_what_is_not_known_where_it_is_shown():
    shown = runnable_source(uses_helpers, known={"torch"})
    assert shown.startswith("import numpy as np\n\n\nFACTOR = 2\n\n\ndef helper(x):")
    scope = {"torch": torch}
    exec(shown, scope)
    assert torch.equal(scope["uses_helpers"](torch.ones(3)), torch.full((3,), 2.0))
    names = {"torch", "np", "helper", "uses_helpers"}
    assert runnable_source(uses_helpers, names) == inspect.getsource(uses_helpers).rstrip()


def test_what_the_library_defines_is_imported_and_a_local_name_is_not():
    shown = runnable_source(MultiHeadAttention, known={"nn", "Tensor", "Float", "Bool"}).split("\n\n\n")[0]
    assert shown.splitlines() == [
        "from course_lib.attention import scaled_dot_product_attention",
        "from course_lib.multi_head import split_heads",
        "from course_lib.multi_head import merge_heads",
    ]


def below(score):
    return score > -inf


def test_infinity_is_kept_as_a_constant():
    scope = {}
    exec(standalone_source(below), scope)
    assert scope["below"](-1e9)


@pytest.mark.parametrize("exercise", registry().values(), ids=lambda exercise: exercise.id)
def test_what_the_page_shows_as_the_solution_can_be_kept(exercise):
    assert callable(rebuild(standalone_source(exercise.reference)))


def test_lambda_passes_but_has_no_source_to_keep():
    assert judge(lambda x: x + x).passed
    with pytest.raises(LookupError, match=r"expected a kept solution of 'toy\.double', got none: pass its check first"):
        kept_solution("toy.double")


@pytest.mark.parametrize(
    ("source", "got"),
    [
        ("1 / 0", "ZeroDivisionError('division by zero')"),
        ("", "ValueError('it defines nothing')"),
        ("{}['a']", "KeyError('a')"),
        ("import sys\nsys.exit('no')", "RuntimeError(\"SystemExit('no')\")"),
    ],
)
def test_kept_source_that_does_not_run_is_told_in_a_sentence(source, got, monkeypatch):
    monkeypatch.setattr("course_practice.engine.progress.load", lambda: {"toy.double": {"solution": source}})
    words = f"expected kept source of toy.double that runs, got {got}: check it again"
    with pytest.raises(RuntimeError, match=re.escape(words)):
        kept_solution("toy.double")


@pytest.mark.parametrize(("said", "shown"), [(("wait for me",), "wait for me"), ((3,), "3"), ((), "without a word")])
def test_an_answer_that_asks_python_to_end_has_its_words_shown(said, shown):
    result = judge(lambda x: sys.exit(*said))
    assert f"It asks Python to end ({shown}): a function ends with `return`." in result.message


def test_an_array_passes_and_is_not_kept():
    assert "make it a tensor" in judge(gives_an_array).message
    assert "make it a tensor" not in judge(uses_helpers).message
    assert "np.asarray(helper(x)))" in progress()["solution"]


def test_damaged_progress_is_set_aside(capsys):
    judge(double)
    progress_file().write_text('{"toy.double": ', encoding="utf-8")
    judge(double)
    assert "set aside as progress.damaged.json" in capsys.readouterr().out
    assert progress()["attempts"] == 1
    assert progress_file().with_suffix(".damaged.json").read_text(encoding="utf-8") == '{"toy.double": '


@pytest.mark.parametrize(
    "content",
    [
        "[1, 2]",
        '"text"',
        '{"toy.double": 3}',
        '{"toy.double": {}}',
        '{"toy.double": {"attempts": "two", "passed": true, "diagnoses": {}}}',
        '{"toy.double": {"attempts": 2, "passed": true, "diagnoses": [1]}}',
        '{"toy.double": {"attempts": 2, "passed": true, "diagnoses": {"scaled": null}}}',
        '{"toy.double": {"attempts": 2, "passed": true, "diagnoses": {"scaled": true}}}',
        '{"toy.double": {"attempts": 2, "passed": true, "diagnoses": {}, "solution": 5}}',
        '{"other.program": {"theme": "dark"}}',
    ],
)
def test_progress_of_another_shape_is_set_aside(content, capsys):
    judge(double)
    progress_file().write_text(content, encoding="utf-8")
    judge(lambda x: x * x)
    assert "set aside as progress.damaged.json" in capsys.readouterr().out
    assert progress()["attempts"] == 1
    assert progress_file().with_suffix(".damaged.json").read_text(encoding="utf-8") == content


@pytest.mark.parametrize("words", ["x" * 10_000_000, "half a letter: \ud800"])
def test_the_words_of_an_error_fit_on_a_page(words):
    def raises(x):
        raise ValueError(words)

    told = judge(raises)._repr_html_()
    assert len(told.encode("utf-8")) < 20_000


def test_progress_keeps_what_a_later_version_adds(capsys):
    entry = {"attempts": 2, "passed": True, "diagnoses": {"scaled": 1}, "mood": "good"}
    progress_file().parent.mkdir(parents=True)
    progress_file().write_text(json.dumps({"toy.double": entry}), encoding="utf-8")
    judge(double)
    assert (progress()["attempts"], progress()["mood"]) == (3, "good")
    assert capsys.readouterr().out == ""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes")
def test_progress_in_a_pipe_waits_for_no_reader():
    progress_file().parent.mkdir(parents=True)
    os.mkfifo(progress_file())
    assert "which is a pipe or a device" in dict(judge(double).details)["Note"]


def test_progress_that_cannot_be_saved_does_not_stop_the_check(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    monkeypatch.setenv("TRANSFORMER_COURSE_HOME", str(tmp_path / "file"))
    result = judge(double)
    assert result.passed
    assert "set TRANSFORMER_COURSE_HOME to a writable folder" in dict(result.details)["Note"]


def test_concurrent_checks_lose_nothing():
    threads = [threading.Thread(target=judge, args=(double,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert progress()["attempts"] == 8


def test_tolerance_is_that_of_the_expected_type():
    third = torch.tensor(1 / 3, dtype=torch.float64)
    assert difference(third.half(), third, 1e-4, 1e-5) is None
    assert difference(third, third.half(), 1e-4, 1e-5).kind == "coarser"
    assert difference(third, third + 1e-3, 1e-4, 1e-5).kind == "wrong-values"


def test_optional_input_given_by_position_is_named():
    def reference(x, mask=None):
        return 2 * x

    def changes(x, mask=None):
        mask.fill_(0)
        return 2 * x

    puzzle = exercise(reference=reference, cases=lambda: [case(torch.ones(3), torch.ones(3))])
    result = check_exercise(puzzle, changes)
    assert result.diagnosis == "changes-input"
    assert "`mask`" in result.message
    assert "mask = [1., 1., 1.]" in dict(check_exercise(puzzle, lambda x, mask: x).details)["Input"]


def test_an_input_that_is_never_read_is_named():
    def reference(x, factor, nobodys=None):
        return factor * x

    def squared(x, times, nobodys=None):
        return x * x + 1

    def added(x, times, nobodys=None):
        x += times
        return x + 1

    puzzle = exercise(reference=reference, cases=lambda: [case(torch.ones(3), 3.0), case(torch.ones(2), 5.0)])
    told = [check_exercise(puzzle, answer, budget=Budget(work=0)).message for answer in (squared, added)]
    assert "Your code never reads `times`. (2 of 2" in told[0]
    assert "never reads" not in told[1]


class Prickly:
    """A callable that raises whatever is asked of it."""

    def __call__(self, x):
        return 2 * x

    def __getattr__(self, name):
        raise self.error(name)


@pytest.mark.parametrize("error", [RuntimeError, AttributeError])
def test_prickly_object_is_judged_by_what_it_does(error, monkeypatch):
    monkeypatch.setattr(Prickly, "error", error, raising=False)
    assert judge(Prickly()).passed


def test_several_results_where_one_is_expected_are_counted():
    expected = "Expected a tensor of numbers of shape (3,), got a tuple of 2."
    assert judge(lambda x: (2 * x, x[:1])).message.startswith(expected)


def test_function_that_sometimes_returns_nothing_can_be_a_known_mistake():
    def forgets(x):
        if len(x) > 3:
            return 2 * x

    puzzle = exercise(mistakes=(Mistake("forgets", forgets, "You return only sometimes."),))
    assert check_exercise(puzzle, lambda x: 2 * x if len(x) > 3 else None).diagnosis == "forgets"


def test_stress_and_code_of_a_message_reach_the_page():
    puzzle = exercise(mistakes=(Mistake("squares", lambda x: x**2, "You *squared* `x`, x < 3."),))
    page = check_exercise(puzzle, lambda x: x * x)._repr_html_()
    assert "You <em>squared</em> <code>x</code>, x &lt; 3." in page
