"""Code under a limit: an accident stays its own, and no answer makes the check itself raise."""

import functools
import itertools
import json
import pathlib
import pdb
import random
import re
import signal
import sys
import textwrap
import threading
import time
from dataclasses import replace
from functools import partial

import forked
import numpy as np
import pytest
import torch
from test_exercise_engine import double, endless, exercise, judge

from course_practice import engine
from course_practice.engine import progress, run
from course_practice.engine.run import Limit, OutOfTime, in_time, run_safely
from course_practice.exercises import check, registry
from course_practice.suggest import nearest_repair

check_exercise = functools.partial(engine.check_exercise, search=nearest_repair)
UNIX = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no alarms on Windows")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_COURSE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


# Imports


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package whose import does `work` between its two parts, and is forgotten after the test."""

    def write(work):
        folder = tmp_path / "late_package"
        folder.mkdir()
        lines = ["import late_package.core", textwrap.dedent(work), "DONE = late_package.core.HALF"]
        (folder / "__init__.py").write_text("\n".join(lines))
        (folder / "core.py").write_text("HALF = 2\n")
        monkeypatch.syspath_prepend(tmp_path)

    yield write
    for name in [name for name in sys.modules if name.startswith("late_package")]:
        del sys.modules[name]


def uses_it(x):
    import late_package

    return x * late_package.core.HALF


@pytest.mark.parametrize("threads", [False, True])
def test_an_import_is_let_finish(package, threads):
    package("import time\nend = time.process_time() + 0.6\nwhile time.process_time() < end:\n    pass")
    if threads:
        thread = threading.Thread(target=judge, args=(uses_it,), kwargs={"time_limit": 0.2})
        thread.start(), thread.join()
    else:
        judge(uses_it, time_limit=0.2)
    assert sys.modules["late_package"].DONE == 2
    assert judge(uses_it).passed


WRONG_ANSWERS_OF_MASKS = """
    import random, sys
    assert "sympy" not in sys.modules
    from types import ModuleType
    import torch
    from tests.measure_suggestions import run_cell
    from tests.stored_answers import ANSWERS
    from course_practice.engine import check_exercise
    from course_practice.exercises import check, registry
    from course_practice.suggest import Budget
    torch.set_num_threads(1)
    notebook = sys.modules["notebook"] = ModuleType("notebook")
    from torch.nn import functional as F
    vars(notebook).update(torch=torch, F=F)
    wrong = [one for one in ANSWERS if one.kind == "Wrong" and one.exercise == "masks.for_pytorch"]
    random.Random(int(sys.argv[1])).shuffle(wrong)
    for answer in wrong[:2]:
        check_exercise(registry()[answer.exercise], run_cell(notebook, answer.code), budget=Budget(work=500))
    right = '''def right(real, order):
        both = real[:, None, None, :] & order
        return tuple(torch.zeros(m.shape).masked_fill(~m, -torch.inf) for m in (real, order, both))'''
    result = check("masks.for_pytorch", run_cell(notebook, right))
    assert result.passed, str(result)
"""


@UNIX
@pytest.mark.parametrize("order", [0, 3])
def test_a_right_answer_passes_after_wrong_ones_in_a_fresh_kernel(order, tmp_path):
    """PyTorch imports sympy when it first looks at masks, and that may be in the middle of a search."""
    assert forked.lines_of(WRONG_ANSWERS_OF_MASKS, tmp_path / "printed", str(order)) == []


# The processor's seconds


def test_a_busy_machine_makes_no_answer_too_slow(monkeypatch):
    """It has a fifth of the processor: of the three seconds on the wall, six tenths of a second are its own."""
    monkeypatch.setattr(run, "monotonic", lambda: 5 * time.process_time())

    def answer(x):
        spin(0.2)
        return 2 * x

    assert judge(answer, time_limit=1.5).passed


def test_a_clock_that_is_set_right_changes_no_limit(monkeypatch):
    jumps, now = itertools.cycle([86_400, -86_400]), time.time
    monkeypatch.setattr(time, "time", lambda: now() + next(jumps))
    assert judge(double, time_limit=5.0).passed
    assert judge(endless, time_limit=0.2).diagnosis == "too-slow"


def test_no_limit_strikes_where_its_call_has_just_ended():
    """It is still in force for a moment. An exception there would leave it in force for all that follows."""
    of_in_time = in_time(Limit(10.0), lambda: sys._getframe(1))
    assert run._would_harm(of_in_time, Limit(-1.0))
    assert not run._would_harm(sys._getframe(), Limit(-1.0))


def test_code_that_sleeps_has_a_limit_on_the_wall():
    begun = time.monotonic()
    with pytest.raises(OutOfTime):
        in_time(Limit(0.1), lambda: time.sleep(60))
    assert time.monotonic() - begun < 20


@UNIX
@pytest.mark.parametrize(
    "step", [lambda: re.match("(a+)+$", "a" * 60 + "b"), lambda: 3 ** (10**9)], ids=["regex", "power"]
)
def test_a_step_that_lets_no_other_thread_run_is_stopped_where_it_looks_for_signals(step):
    begun = time.process_time()
    assert judge(lambda x: step(), time_limit=0.5).diagnosis == "too-slow"
    assert time.process_time() - begun < 30


@pytest.mark.parametrize("thread", [False, True])
def test_a_limit_that_the_code_swallows_once_is_told_all_the_same(thread):
    def answer(x):
        try:
            while True:
                pass
        except:  # noqa: E722
            return 2 * x

    results = []
    work = lambda: results.append(judge(answer, time_limit=0.2))  # noqa: E731
    if thread:
        other = threading.Thread(target=work)
        other.start()
        other.join()
    else:
        work()
    assert results[0].diagnosis == "too-slow"
    assert judge(double).passed


@pytest.mark.parametrize("limit", [float("inf"), float("nan"), 1e10, "3", 0, -1.0, True, None])
def test_a_time_limit_that_is_none_is_refused(limit):
    with pytest.raises(ValueError, match=r"expected time_limit in seconds, above 0 and at most 86,400, got"):
        judge(double, time_limit=limit)
    assert not progress.progress_file().exists()


@pytest.mark.parametrize("off", [torch.no_grad, torch.inference_mode])
def test_gradients_that_the_reader_has_switched_off_are_on_in_a_check(off):
    def slope(x):
        x = x.double().requires_grad_()
        (x * x).sum().backward()
        return x.grad

    with off():
        assert check_exercise(replace(exercise(), reference=slope), double).passed
        assert not torch.is_grad_enabled()


def test_half_precision_that_the_reader_has_switched_on_is_off_in_a_check():
    with torch.autocast("cpu", torch.bfloat16):
        assert judge(lambda x: None if torch.is_autocast_enabled("cpu") else double(x)).passed


# What a learner's code leaves behind


def _settings():
    return {
        "threads": torch.get_num_threads(),
        "dtype": torch.get_default_dtype(),
        "gradients": torch.is_grad_enabled(),
        "random": (torch.get_rng_state().tolist(), random.getstate(), np.random.get_state()[1].tolist()),
        "printing": (sys.stdout, sys.stderr, input, sys.breakpointhook),
        "alarm": signal.getsignal(getattr(signal, "SIGALRM", signal.SIGINT)),
        "timer": signal.getitimer(signal.ITIMER_REAL) if hasattr(signal, "getitimer") else None,
    }


LEAVES = {
    "threads": lambda: torch.set_num_threads(2),
    "dtype": lambda: torch.set_default_dtype(torch.float64),
    "gradients": lambda: torch.set_grad_enabled(False),
    "seed of PyTorch": lambda: torch.manual_seed(7),
    "seed of Python": lambda: random.seed(7),
    "seed of NumPy": lambda: np.random.seed(7),
    "drawn numbers": lambda: (torch.rand(3), random.random(), np.random.rand(3)),
    "an error": lambda: torch.set_default_dtype(torch.float64) or 1 / 0,
    "no end": lambda: torch.set_grad_enabled(False) and endless(0),
}


@pytest.mark.parametrize("leaves", LEAVES.values(), ids=LEAVES.keys())
def test_nothing_stays_behind(leaves):
    def answer(x):
        y = 3 * x
        leaves()
        return y

    before = _settings()
    result = judge(partial(answer), time_limit=0.3)  # without source, so without a repair
    after = _settings()
    assert not result.passed
    assert {name: after[name] == before[name] for name in after} == dict.fromkeys(after, True)
    assert judge(lambda x: x + x).passed


def test_a_setting_that_one_call_changes_is_as_before_in_the_next():
    seen = []

    def answer(x):
        seen.append((torch.is_grad_enabled(), torch.get_default_dtype()))
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float64)
        return 2 * x

    assert judge(answer).passed
    assert set(seen) == {(True, torch.float32)}


def test_a_flood_of_output_is_cut():
    outcome = run_safely(lambda: print("x" * 10_000), (), {}, Limit(5.0))
    assert len(outcome.printed) == run.PRINT_LIMIT


# Whatever is answered


class CannotBeShown:
    """A class whose author has made a slip in `__repr__`."""

    def __repr__(self):
        return self.nmae

    __str__ = __repr__


class CannotBeCompared:
    """As an array of several numbers, it is neither equal nor not."""

    def __eq__(self, other):
        raise ValueError("ambiguous")

    __hash__ = None


class WordlessError(Exception):
    """An error of the learner's own, with a slip where it says what it is."""

    def __str__(self):
        return self.nmae


def nested(levels):
    found = []
    for _ in range(levels):
        found = [found]
    return found


def _fails(error):
    raise error


def calls_itself_through_c(x):
    return sorted([x], key=calls_itself_through_c)


def holds_itself():
    found = [1]
    found.append(found)
    return found


STRANGE = {
    "float8": lambda x: x.to(torch.float8_e4m3fn),
    "quantized": lambda x: torch.quantize_per_tensor(x.float(), 0.1, 0, torch.qint8),
    "nested": lambda x: torch.nested.nested_tensor([x.flatten(), x.flatten()[:1]]),
    "meta": lambda x: x.to("meta"),
    "complex": lambda x: x.to(torch.complex64),
    "a generator": lambda x: (one for one in x),
    "an endless one": lambda x: itertools.count(),
    "a dictionary": lambda x: {"answer": x},
    "a set": lambda x: {1, 2},
    "a module": lambda x: torch.nn.Linear(2, 2),
    "a class": lambda x: torch.nn.Linear,
    "an array of objects": lambda x: np.array([None, "a"], dtype=object),
    "cannot be shown": lambda x: CannotBeShown(),
    "a list of what cannot be shown": lambda x: [CannotBeShown(), x],
    "a pair of strange things": lambda x: (x.to(torch.float8_e4m3fn), CannotBeCompared()),
    "an error without words": lambda x: _fails(WordlessError()),
    "the end of Python": lambda x: sys.exit("done"),
    "lists in lists": lambda x: nested(100_000),
    "a list that holds itself": lambda x: holds_itself(),
    "everything": lambda x: torch.ones(1).expand(10**11),
    "calls without end": calls_itself_through_c,
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_what_the_notebook_has_set_draws_no_other_inputs(dtype):
    answer = registry()["attention.scaled_dot_product"].reference
    assert check("attention.scaled_dot_product", answer).passed
    torch.set_default_dtype(dtype)
    try:
        assert check("attention.scaled_dot_product", answer).passed
        assert torch.get_default_dtype() == dtype
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.filterwarnings("ignore::UserWarning")  # PyTorch's, about its prototypes
@pytest.mark.parametrize("strange", STRANGE.values(), ids=STRANGE.keys())
def test_no_answer_makes_the_check_raise(strange):
    answers = {
        "masks.causal": lambda n: strange(torch.ones(n, n).tril()),
        "masks.softmax": lambda scores, mask: strange(scores),
        "attention.scaled_dot_product": lambda q, k, v, mask=None: (strange(v), strange(q)),
        "bpe.merge": lambda *given: strange(torch.ones(2, 2)),
    }
    assert not judge(partial(strange)).passed
    for name, answer in answers.items():  # without source, so without a repair
        assert not check(name, partial(answer), time_limit=2.0).passed


@pytest.mark.parametrize("debug", [breakpoint, lambda: pdb.set_trace()])
def test_a_check_does_not_wait_for_a_debugger(debug):
    hook = sys.breakpointhook
    assert check("masks.causal", lambda n: (debug(), torch.ones(n, n, dtype=torch.bool).tril())[1]).passed
    assert sys.breakpointhook is hook


def test_an_answer_that_asks_somebody_to_type_is_told_at_once():
    assert "nobody types while an answer is checked" in str(check("masks.causal", lambda n: input(n)))


def test_a_check_inside_of_the_answer_is_sent_out_of_it():
    result = check("masks.causal", lambda n: check("masks.causal", torch.tril))
    assert "got it inside: move it out" in str(result)
    assert result.attempted
    assert not result.passed


def test_an_unusual_type_is_told_with_what_was_expected():
    result = check("masks.causal", lambda n: torch.ones(n, n).tril().to(torch.float8_e4m3fn))
    assert "Expected a tensor of booleans of shape (1, 1), got a tensor of torch.float8_e4m3fn." in result.message


@pytest.mark.parametrize("sparse", ["to_sparse", "to_mkldnn"])
def test_another_layout_is_told_with_the_way_back(sparse):
    result = judge(lambda x: getattr(2 * x.reshape(-1, 1), sparse)())
    assert re.search(
        r"got a tensor of the layout torch\.\w+, not a dense one: end with `.to_dense\(\)`", result.message
    )


def test_a_harmless_class_of_tensors_is_as_good_as_a_tensor():
    assert judge(lambda x: (2 * x).as_subclass(type("Named", (torch.Tensor,), {}))).passed


def test_an_input_that_cannot_be_compared_any_more_is_told_as_changed():
    outcome = run_safely(lambda x: x.__setitem__(0, CannotBeCompared()), ([1],), {}, Limit(5.0))
    assert outcome.changed == ("0",)


@pytest.mark.parametrize("kind", [">f4", ">i2", np.longdouble, np.uint16, np.uint32, np.uint64])
def test_numbers_of_every_size_and_order_are_numbers(kind):
    assert check("masks.causal", lambda n: np.tril(np.ones((n, n))).astype(kind)).passed
    assert not check("masks.causal", partial(lambda n: np.triu(np.ones((n, n))).astype(kind))).passed


# Progress and kept sources


ENTRY = '{"toy.double": {"attempts": 2, "passed": true, "diagnoses": {}%s}}'


def folder_of_progress():
    folder = progress.progress_file().parent
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_every_damaged_file_is_set_aside_under_a_name_of_its_own():
    folder = folder_of_progress()
    for content in ("first", "second", "third"):
        progress.progress_file().write_text(content)
        assert progress.load() == {}
    kept = [(folder / f"progress.damaged{number}.json").read_text() for number in ("", 2, 3)]
    assert kept == ["first", "second", "third"]


@pytest.mark.parametrize(
    "content",
    [
        "[" * 100_000,
        '{"toy.double": ' * 990 + "1" + "}" * 990,
        "1" * 5_000,
        ENTRY % (', "mood": ' + "1" * 5_000),
        ENTRY % r', "mood": "\ud800"',
        ENTRY.replace("2", "9" * 4_300) % "",
        ENTRY.replace("2", "-1") % "",
    ],
    ids=["brackets", "deep", "digits", "digits inside", "half a character", "many attempts", "fewer than none"],
)
def test_progress_of_any_shape_is_set_aside(content):
    folder = folder_of_progress()
    progress.progress_file().write_text(content)
    assert judge(double).passed
    assert progress.load()["toy.double"]["attempts"] == 1
    assert (folder / "progress.damaged.json").read_text() == content


def test_progress_that_notepad_has_saved_is_read(capsys):
    folder_of_progress()
    progress.progress_file().write_text(ENTRY % "", encoding="utf-8-sig")
    judge(double)
    assert progress.load()["toy.double"]["attempts"] == 3
    assert capsys.readouterr().out == ""


@UNIX
def test_a_reader_without_a_home_is_told_that_nothing_was_kept(monkeypatch):
    """As in a container that runs under a number which no list of users has."""

    def home(path):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("TRANSFORMER_COURSE_HOME")
    monkeypatch.setattr(pathlib.Path, "expanduser", home)
    result = judge(double)
    assert result.passed
    assert "set TRANSFORMER_COURSE_HOME to a writable folder" in dict(result.details)["Note"]


@pytest.mark.parametrize("content", [ENTRY % "", "damaged"])
def test_progress_that_is_a_link_stays_one(content, tmp_path):
    folder_of_progress()
    (tmp_path / "synced").mkdir()
    target = tmp_path / "synced" / "mine.json"
    target.write_text(content)
    progress.progress_file().symlink_to(target)
    judge(double)
    assert progress.progress_file().is_symlink()
    assert json.loads(target.read_text())["toy.double"]["attempts"] == (1 if content == "damaged" else 3)


@pytest.mark.parametrize("target", ["", "mine.json", "mine [1].json"])
def test_what_a_killed_process_has_left_goes_with_the_next_save(target, home, tmp_path):
    folder_of_progress()
    if target:  # it lies beside the file that the link names
        home, name = tmp_path, target
        progress.progress_file().symlink_to(tmp_path / target)
    else:
        name = "progress.json"
    left, other = home / f".{name}.0123456789abcdef.tmp", home / f".{name}.mine.tmp"
    for path in (left, other):
        path.touch()
    judge(double)
    assert [path.exists() for path in (left, other)] == [False, True]


@pytest.mark.parametrize(
    ("source", "error"),
    [("while True: pass", TimeoutError), ("raise SystemExit", RuntimeError), ("1 / 0", ZeroDivisionError)],
)
def test_kept_source_that_does_not_end_well_is_an_error(source, error, monkeypatch):
    monkeypatch.setattr(progress, "TIME_LIMIT", 0.2)
    with pytest.raises(error):
        progress.rebuild(source)
