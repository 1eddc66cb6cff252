"""Run a learner's object so that nothing it does reaches the notebook: copies, a time limit, captured output."""

import contextlib
import copy
import ctypes
import io
import math
import operator
import random
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

try:
    import resource
except ImportError:  # Windows
    resource = None

PRINT_LIMIT = 2_000
MEMORY_LIMIT = 4 * 2**30  # bytes more than at the start of a call: the inputs of exercises are small


class OutOfTime(BaseException):
    """Raised inside the learner's code; no `except Exception` swallows it."""


@dataclass
class Outcome:
    """What one call did: a value or an exception, the inputs it changed, and what it printed."""

    value: Any = None
    error: BaseException | None = None
    changed: tuple[str, ...] = ()
    printed: str = ""

    @property
    def out_of_time(self) -> bool:
        return isinstance(self.error, OutOfTime)


def run_safely(call: Callable[..., Any], args: tuple, kwargs: dict[str, Any], deadline: float) -> Outcome:
    """Call on copies of the arguments; give back whatever happened, never raise (except for the reader's own stop).

    `deadline` is a time of `time.monotonic()`. Random state, default dtype, default device, gradient mode, and the
    functions of PyTorch, NumPy, and math are as before afterwards.
    """
    args, kwargs = copy.deepcopy((args, kwargs))
    before = copy.deepcopy((args, kwargs))
    with sealed() as printed:
        outcome = call_in_time(call, args, kwargs, deadline)
    outcome.changed = _changed(before, (args, kwargs))
    outcome.printed = printed.getvalue()
    return outcome


@contextlib.contextmanager
def sealed() -> Iterator[io.StringIO]:
    """Catch what is printed, and put back whatever the code inside sets for all of Python or PyTorch."""
    printed = _Limited()
    with _state_restored(), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        yield printed


def call_in_time(call: Callable[..., Any], args: tuple, kwargs: dict[str, Any], deadline: float) -> Outcome:
    """Call on the arguments themselves until the deadline, inside `sealed()`.

    A time limit reaches Python code between two of its steps: one single step that never ends, such as
    `sum(range(10**12))`, or a thread that the code itself begins, can only be stopped by restarting the kernel.
    """
    outcome = Outcome()
    try:
        with memory_limit(), _time_limit(max(deadline - time.monotonic(), 0.01)):
            outcome.value = call(*args, **kwargs)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        outcome.error = error
        if is_out_of_memory(error) or outcome.out_of_time:
            traceback.clear_frames(error.__traceback__)  # they hold what was too large
    return outcome


def is_out_of_memory(error: BaseException) -> bool:
    """Python and NumPy say so by the type, PyTorch in its words."""
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and "can't allocate memory" in str(error))


def learner_line(error: BaseException, filename: str | None) -> tuple[int, str] | None:
    """Line number and text of the last line of the learner's own file that took part in an error."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if filename and frame.filename == filename]
    return (own[-1].lineno or 0, own[-1].line or "") if own else None


class _Limited(io.StringIO):
    """Keeps the first characters of a flood and forgets the rest."""

    def write(self, text: str) -> int:
        room = PRINT_LIMIT - self.tell()
        if room > 0:
            super().write(text[:room])
        return len(text)


_LIBRARIES = (torch, torch.Tensor, torch.nn.functional, torch.linalg, np, math, random, time)


@contextlib.contextmanager
def _state_restored() -> Iterator[None]:
    python, numpy, dtype = random.getstate(), np.random.get_state(), torch.get_default_dtype()
    device, libraries = torch.get_default_device(), [dict(vars(library)) for library in _LIBRARIES]
    try:
        with torch.random.fork_rng(devices=[]), torch.set_grad_enabled(torch.is_grad_enabled()):
            yield
    finally:
        for library, before in zip(_LIBRARIES, libraries, strict=True):
            _put_back(library, before)
        random.setstate(python)
        np.random.set_state(numpy)
        torch.set_default_dtype(dtype)
        if torch.get_default_device() != device:
            torch.set_default_device(device if device.type != "cpu" else None)


def _put_back(library: Any, before: dict[str, Any]) -> None:
    """Undo what code has patched. A module's new names stay: libraries load parts of themselves when first used."""
    now = vars(library)
    if len(now) == len(before) and all(map(operator.is_, now.values(), before.values())):
        return
    for name, value in before.items():
        if now.get(name) is not value:
            setattr(library, name, value)
    for name in [name for name in now if isinstance(library, type) and name not in before]:
        delattr(library, name)  # it hid what the class above has


@contextlib.contextmanager
def memory_limit() -> Iterator[None]:
    """No more than `MEMORY_LIMIT` of new memory, on Linux: else the system may kill the notebook, or others."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[5])
        before = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = pages * resource.getpagesize() + MEMORY_LIMIT
        allowed = [wanted, *(limit for limit in before if limit != resource.RLIM_INFINITY)]
        resource.setrlimit(resource.RLIMIT_DATA, (min(allowed), before[1]))
    except (AttributeError, OSError, ValueError):  # another system
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in this thread after `seconds`, and again every half second should it be swallowed."""
    with _alarm(seconds) if _has_alarm() else _async_raise(seconds):
        yield


def _has_alarm() -> bool:
    return threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")


_READY: list[bool] = []
_WATCHED: list[float] = []  # holds the time limit, while one runs


@contextlib.contextmanager
def alarm_ready() -> Iterator[None]:
    """Make ready for time limits; around thousands of them, this is done once."""
    if _READY or not _has_alarm():
        yield
        return
    previous = signal.signal(signal.SIGALRM, _raise_out_of_time)
    _READY.append(True)
    try:
        yield
    finally:
        _READY.pop()
        signal.signal(signal.SIGALRM, previous)


def _raise_out_of_time(signum: int, frame: Any) -> None:
    # What is raised while Python clears away dead objects reaches nobody; the alarm comes again soon. And an alarm
    # that went off at the last moment may arrive when nobody waits for it any more. Libraries load parts of themselves
    # when first used: cut off, these would stay broken until Python is restarted, so the time begins anew.
    files = [place.f_code.co_filename for place, _line in traceback.walk_stack(frame)]
    if _WATCHED and "<frozen importlib._bootstrap>" in files:
        signal.setitimer(signal.ITIMER_REAL, _WATCHED[-1], 0.5)
    elif _WATCHED and not files[0].endswith(("weakref.py", "_weakrefset.py")):
        raise OutOfTime


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    with alarm_ready():
        _WATCHED.append(seconds)
        signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
        try:
            yield
        finally:
            try:
                _WATCHED.clear()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                _WATCHED.clear()


@contextlib.contextmanager
def _async_raise(seconds: float) -> Iterator[None]:
    """The same where there is no alarm (Windows, a thread): a second thread plants the exception."""
    target, finished, lock = ctypes.c_ulong(threading.get_ident()), threading.Event(), threading.Lock()

    def watch() -> None:
        wait = seconds
        while not finished.wait(wait):
            with lock:
                if not finished.is_set():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(target, ctypes.py_object(OutOfTime))
            wait = 0.5

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        with lock:
            finished.set()
            ctypes.pythonapi.PyThreadState_SetAsyncExc(target, None)


def _changed(before: tuple[tuple, dict], after: tuple[tuple, dict]) -> tuple[str, ...]:
    named_before = {**{str(i): v for i, v in enumerate(before[0])}, **before[1]}
    named_after = {**{str(i): v for i, v in enumerate(after[0])}, **after[1]}
    return tuple(name for name in named_before if not same_value(named_before[name], named_after.get(name)))


def same_value(a: Any, b: Any) -> bool:
    """Equal to the last bit, NaN equal to NaN, through lists, dictionaries and modules."""
    if isinstance(a, torch.Tensor):
        return (
            isinstance(b, torch.Tensor)
            and a.shape == b.shape
            and a.dtype == b.dtype
            and bool(((a == b) | ((a != a) & (b != b))).all())
        )
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and same_value(torch.from_numpy(a), torch.from_numpy(b))
    if isinstance(a, torch.nn.Module):
        return isinstance(b, torch.nn.Module) and same_value(dict(a.state_dict()), dict(b.state_dict()))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same_value(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same_value, a, b))
    if callable(a):
        return True
    try:
        return bool(a == b or (a != a and b != b))
    except KeyboardInterrupt:
        raise
    except BaseException:  # it does not let itself be compared
        return type(a) is type(b)
