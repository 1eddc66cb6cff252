"""What every test stands on: checked shapes, the fixed variables and a home of its own, repeatable random cases."""

import os
import re
import shutil
import signal
import tempfile
import time
from pathlib import Path

from tools.environment import environment

HOME = tempfile.mkdtemp(prefix="transformer-course-")
os.environ.update(environment(HOME))  # a test never touches the reader's own progress
os.environ.setdefault("MPLBACKEND", "Agg")

import jaxtyping
import pytest
import shapes
import torch
from hypothesis import settings

# The shape annotations of the library's modules hold at run time, here and only here. Practice is left out: its wrong
# implementations must give wrong answers, not type errors. The stage of the exercises, which runs the library as a
# reader's notebook does, checks none (a third of its time).
LIBRARY = Path(__file__).resolve().parents[1] / "course_lib"
CHECKED = {path.stem for path in LIBRARY.iterdir()} - {"__init__", "figures", "__pycache__"}
if "SHAPES_UNCHECKED" not in os.environ:
    jaxtyping.jaxtyped = shapes.sparing
    jaxtyping.install_import_hook([f"course_lib.{name}" for name in sorted(CHECKED)], "shapes.check")

torch.set_num_threads(1)
os.fsync = lambda file: None  # the files of a test need not outlast a power failure

# In CI the random cases are the same on every run; at home each run looks at new ones. A slow machine is no failure.
settings.register_profile("home", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "home")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of an exercise run one after the other: what its known mistakes answer is worked out once for all."""

    def order(item: pytest.Item) -> tuple[str, str]:
        name = str(item.path)
        exercise = re.search(r"\[(\w+\.\w+)", item.name) if item.path.name.startswith("test_exercise") else None
        return (f"{item.path.parent / 'test_exercises'}", exercise[1]) if exercise else (name, "")

    items.sort(key=order)


def pytest_runtest_setup(item: pytest.Item) -> None:
    shapes.begin()
    if item.path.name.startswith("test_exercise"):  # a check reads and writes what was passed: all of it takes long
        Path(HOME, "progress.json").unlink(missing_ok=True)


def pytest_unconfigure() -> None:
    shutil.rmtree(HOME, ignore_errors=True)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> Path:
    """The package, built once."""
    from tools.colab import build_wheel

    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def unchecked(monkeypatch) -> None:
    """No annotation is checked, as in a reader's notebook."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.fixture
def pass_by(monkeypatch):
    """A call lets seconds go by on the clock of the time limits, and on no other: no machine is too slow for a test.

    It ends when the limits have been looked at since, so one that is over then has struck.
    """
    from course_practice.engine import run as clock

    now, looks = {"wall": 0.0, "processor": 0.0}, []

    def look() -> float:
        looks.append(now["wall"])
        return now["wall"]

    def go_by(wall: float, processor: float | None = None) -> None:
        now["wall"] += wall
        now["processor"] += wall if processor is None else processor
        seen = len(looks)
        while len(looks) < seen + 5:  # four looks, then a limit that is over strikes
            time.sleep(0.001)

    monkeypatch.setattr(clock, "TICK", 0.001)
    monkeypatch.setattr(clock, "monotonic", look)
    monkeypatch.setattr(clock, "process_time", lambda: now["processor"])
    return go_by


@pytest.fixture
def interruptible():
    """Signals arrive, also in the background of a shell and under `nohup`, which let processes ignore them."""
    from course_lib.training.interrupts import SIGNALS

    kept = {number: signal.signal(number, signal.SIG_DFL) for number in SIGNALS}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, before in kept.items():
        signal.signal(number, before)
