"""Code under a limit: no clock harms the kernel, nothing stays behind, and no answer makes the check itself raise."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from test_exercise_engine import double, endless, judge

from course_practice.engine import clock, progress
from course_practice.engine.clock import Limit, OutOfTime, in_time

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
        lines = ["from late_package import core", textwrap.dedent(work), "DONE = core.HALF"]
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


FIRST_TIME = """
    from pathlib import Path
    begun = Path(__file__).with_name("begun")
    if not begun.exists():
        begun.touch()
        {}
"""


@pytest.mark.parametrize("work", ["while True: pass", "raise MemoryError", "(f := lambda: f())()"])
def test_a_half_imported_package_is_forgotten(package, work, monkeypatch):
    monkeypatch.setattr(clock, "IMPORT", 0.2)
    package(FIRST_TIME.format(work))
    assert not judge(uses_it, time_limit=0.2).passed
    assert judge(uses_it).passed


WRONG_ANSWERS_OF_MASKS = """
    import random, sys
    from types import ModuleType
    import torch
    from tests.repairs import run_cell
    from tests.test_exercises_answers import ANSWERS
    from course_practice.exercises import check
    torch.set_num_threads(1)
    notebook = sys.modules["notebook"] = ModuleType("notebook")
    from torch.nn import functional as F
    vars(notebook).update(torch=torch, F=F)
    wrong = [one for one in ANSWERS if one.kind == "Wrong" and one.exercise == "masks.for_pytorch"]
    random.Random(int(sys.argv[1])).shuffle(wrong)
    for answer in wrong[:2]:
        check(answer.exercise, run_cell(notebook, answer.code))
    right = '''def right(real, order):
        both = real[:, None, None, :] & order
        return tuple(torch.zeros(m.shape).masked_fill(~m, -torch.inf) for m in (real, order, both))'''
    result = check("masks.for_pytorch", run_cell(notebook, right))
    assert result.passed, str(result)
"""


@pytest.mark.parametrize("order", [0, 3])
def test_a_right_answer_passes_after_wrong_ones_in_a_fresh_kernel(order):
    """PyTorch imports sympy when it first looks at masks, and that may be in the middle of a search."""
    root = os.path.dirname(os.path.dirname(__file__))
    command = [sys.executable, "-c", textwrap.dedent(WRONG_ANSWERS_OF_MASKS), str(order)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


# The processor's seconds


def test_a_busy_machine_makes_no_answer_too_slow(monkeypatch):
    """It has a fifth of the processor: of the three seconds on the wall, six tenths of a second are its own."""
    monkeypatch.setattr(clock, "monotonic", lambda: 5 * time.process_time())

    def answer(x):
        spin(0.2)
        return 2 * x

    assert judge(answer, time_limit=1.5).passed


def test_code_that_sleeps_has_a_limit_on_the_wall():
    begun = time.monotonic()
    with pytest.raises(OutOfTime):
        in_time(Limit(0.1), lambda: time.sleep(60))
    assert time.monotonic() - begun < 20


@UNIX
@pytest.mark.parametrize(
    "hinder",
    [
        lambda: signal.setitimer(signal.ITIMER_REAL, 0),
        lambda: signal.signal(signal.SIGALRM, signal.SIG_IGN),
        lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM}),
    ],
    ids=["timer off", "ignored", "blocked"],
)
def test_a_loop_that_switches_alarms_off_is_stopped(hinder):
    def answer(x):
        hinder()
        while True:
            pass

    assert judge(answer, time_limit=0.2).diagnosis == "too-slow"
    assert judge(endless, time_limit=0.2).diagnosis == "too-slow"


@pytest.mark.parametrize("limit", [float("inf"), float("nan"), 1e10, "3", 0, -1.0, True, None])
def test_a_time_limit_that_is_none_is_refused(limit):
    with pytest.raises(ValueError, match=r"expected time_limit in seconds, above 0 and at most 86,400, got"):
        judge(double, time_limit=limit)
    assert not progress.progress_file().exists()
