"""Run a learner's object so that an accident stays its own: a loop, a giant, an exception, a changed input or setting.

It works on copies, within limits of time and memory; what it prints is caught, and seeds, number types, and gradient
modes are afterwards as they were. This is for accidents. Code that attacks the check reaches it, as it reaches all of
the notebook's kernel, and deceives its own author.
"""

import builtins
import contextlib
import copy
import ctypes
import functools
import io
import pdb
import random
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, process_time
from types import FrameType
from typing import Any

import numpy as np
import torch

from course_practice.engine.values import plain, safe_text

try:
    import resource
except ImportError:  # Windows
    resource = None

TICK = 0.02  # seconds between two looks at the clock
PATIENCE = 4.0  # code that sleeps or waits uses no processor: on the wall it has so many times its seconds
IMPORT = 30.0  # an import is let finish, unless it takes so many seconds more than the limit
MEMORY_LIMIT = 4 * 2**30  # bytes more than at the start of a call: the inputs of exercises are small
PRINT_LIMIT = 2_000
TAKES_LISTS = ("tensor", "as_tensor", "asarray")  # of PyTorch: Python ends where one gets a list that holds itself


class OutOfTime(BaseException):
    """Raised inside the learner's code; no `except Exception` swallows it."""


class Limit:
    """Seconds that some calls have together. The processor's count, so that a busy machine changes nothing.

    `rounds` are those of all loops that are counted (see `rounds`): the seconds are for what is not.

    >>> limit = Limit(10.0)
    >>> limit.is_over, limit.left > 9
    (False, True)
    """

    def __init__(self, seconds: float, rounds: float = float("inf")):
        self.rounds = rounds
        self.went_round = 0
        self.struck = False
        self.seconds = seconds
        self._wall = monotonic()
        self._processor = process_time()

    @property
    def left(self) -> float:
        """The seconds left; below 0 after the end."""
        wall = monotonic() - self._wall
        used = min(wall, process_time() - self._processor)  # several threads use more than the wall's
        asleep = (wall - 1) / PATIENCE
        return self.seconds - max(used, asleep)

    @property
    def is_over(self) -> bool:
        """Is the time over? Never before it is on the wall; to ask for the processor's is a call of the system."""
        return monotonic() - self._wall > self.seconds and self.left < 0


_here = threading.local()  # the limits under which code runs in this thread, the innermost last


def _limits() -> list[Limit]:
    if not hasattr(_here, "limits"):
        _here.limits = []
    return _here.limits


def is_under_a_limit() -> bool:
    """Is this code that `in_time` runs?"""
    return bool(_limits())


def next_round() -> None:
    """Count a round of a loop, and raise OutOfTime when it is one too many."""
    for limit in _limits()[-1:]:
        limit.went_round += 1
        if limit.went_round > limit.rounds:
            raise OutOfTime


def in_time(limit: Limit, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call, and raise OutOfTime inside the call once the limit is over.

    A time limit reaches Python code between two of its steps: a single step that never ends, such as
    `sum(range(10**12))`, and a loop that catches everything can only be stopped by restarting the kernel.

    >>> in_time(Limit(1.0), max, 3, 4)
    4
    """
    limits = _limits()
    with clock_watched():
        limits.append(limit)
        try:
            result = call(*args, **kwargs)
        finally:
            limits.pop()
        if limit.struck:  # the code has swallowed it
            raise OutOfTime
        return result


@contextlib.contextmanager
def clock_watched() -> Iterator[None]:
    """Look at the clock again and again; around thousands of calls, this is begun once.

    An alarm does it, which also strikes while no other thread may run. On Windows, and in a thread that is not the main
    one, another thread looks.
    """
    if getattr(_here, "watched", False):
        yield
        return
    _here.watched = True
    main = threading.current_thread() is threading.main_thread()
    try:
        with _alarm() if main and hasattr(signal, "setitimer") else _watching_thread():
            yield
    finally:
        _here.watched = False


@contextlib.contextmanager
def _alarm() -> Iterator[None]:
    limits = _limits()

    def strike(_signal: int, frame: FrameType | None) -> None:
        if limits and limits[-1].is_over and not _would_harm(frame, limits[-1]):
            limits[-1].struck = True
            raise OutOfTime

    before = signal.signal(signal.SIGALRM, strike)
    timer = signal.setitimer(signal.ITIMER_REAL, TICK, TICK)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, before if before is not None else signal.SIG_DFL)


@contextlib.contextmanager
def _watching_thread() -> Iterator[None]:
    limits, asked, done = _limits(), threading.get_ident(), threading.Event()

    def look() -> None:
        struck = None
        while not done.wait(TICK):
            for limit in limits[-1:]:
                frame = sys._current_frames().get(asked)
                if limit is not struck and limit.is_over and not _would_harm(frame, limit):
                    struck = limit
                    limit.struck = True
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(asked), ctypes.py_object(OutOfTime))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _would_harm(frame: FrameType | None, limit: Limit) -> bool:
    """Has the call just ended, or would a module stay half imported?"""
    if frame is not None and frame.f_code is in_time.__code__:
        return True
    while frame is not None and frame.f_code is not in_time.__code__:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return limit.left > -IMPORT
        frame = frame.f_back
    return False


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

    @functools.cached_property
    def said(self) -> str:
        """The error's words, as many as a page can show; nothing where there is none."""
        words = "" if self.error is None else safe_text(str, self.error)
        return words[:PRINT_LIMIT].encode("utf-8", "replace").decode("utf-8")


def run_safely(call: Callable[..., Any], args: tuple, kwargs: dict[str, Any], limit: Limit) -> Outcome:
    """Call on copies of the arguments; give back whatever happened, and never raise.

    >>> run_safely(lambda x: x.pop(), ([1, 2],), {}, Limit(1.0))
    Outcome(value=2, error=None, changed=('0',), printed='')
    """
    before, (args, kwargs) = (args, kwargs), _copied((args, kwargs))
    with clock_watched(), put_back() as printed:
        outcome = call_in_time(call, args, kwargs, limit)
    outcome.changed = _changed(before, (args, kwargs))
    outcome.printed = printed.getvalue()
    return outcome


def call_in_time(call: Callable[..., Any], args: tuple, kwargs: dict[str, Any], limit: Limit) -> Outcome:
    """Call on the arguments themselves until the limit, inside `put_back()`; the outcome's value is a plain one."""
    outcome = Outcome()
    dtype, grad = torch.get_default_dtype(), torch.is_grad_enabled()
    try:
        with memory_limit():
            outcome.value = in_time(limit, _answer, call, args, kwargs)
    except BaseException as error:  # SystemExit and KeyboardInterrupt, too: they are told as any other
        outcome.error = error
    torch.set_default_dtype(dtype)
    torch.set_grad_enabled(grad)
    return outcome


def _answer(call: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    try:
        return plain(call(*args, **kwargs))
    except BaseException as error:  # its frames hold what was too large
        traceback.clear_frames(error.__traceback__)
        raise


@contextlib.contextmanager
def put_back() -> Iterator[io.StringIO]:
    """Catch what is printed, and put back the seeds, the default type, the gradient mode, and the threads.

    Code that waits for somebody who types is told so; a debugger does not begin. Of several, the outer one counts.

    >>> with put_back():
    ...     torch.set_default_dtype(torch.float64)
    >>> torch.ones(2).dtype
    torch.float32
    """
    printed = _Limited()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        if getattr(_here, "inside", False):
            yield printed
            return
        kept = [(put, read()) for read, put in _SETTINGS]
        guarded = [(owner, name, getattr(owner, name)) for owner, name, _ in _GUARDS]
        for owner, name, guard in _GUARDS:
            setattr(owner, name, guard)
        for name, guard in _FINITE.items():
            setattr(torch, name, guard)
        _here.inside = True
        try:
            yield printed
        finally:
            _here.inside = False
            for owner, name, value in guarded:
                setattr(owner, name, value)
            for name, guard in _FINITE.items():
                setattr(torch, name, guard.__wrapped__)
            for put, value in kept:
                put(value)


def _put_device_back(device: torch.device) -> None:
    if torch.get_default_device() != device:
        torch.set_default_device(device if device.type != "cpu" else None)


def _nobody_types(_prompt: object = "") -> str:
    raise EOFError("nobody types while an answer is checked: what it needs, it gets as arguments")


def _goes_on(*_args: Any, **_kwargs: Any) -> None:
    """In the place of a debugger."""


def _of_finite_lists(original: Callable) -> Callable:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        _refuse_endless([*args, *kwargs.values()], (), set())
        return original(*args, **kwargs)

    return call


def _refuse_endless(value: list | tuple, inside: tuple[int, ...], seen: set[int]) -> None:
    if id(value) in inside:
        raise ValueError("expected numbers, got a list that holds itself: put a copy into it")
    for part in value if id(value) not in seen else ():
        if isinstance(part, list | tuple):
            _refuse_endless(part, (*inside, id(value)), seen)
    seen.add(id(value))


_GUARDS = ((builtins, "input", _nobody_types), (sys, "breakpointhook", _goes_on), (pdb, "set_trace", _goes_on))
_FINITE = {name: _of_finite_lists(getattr(torch, name)) for name in TAKES_LISTS}
_SETTINGS: tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...] = (
    (torch.get_rng_state, torch.set_rng_state),
    (random.getstate, random.setstate),
    (np.random.get_state, np.random.set_state),
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.is_grad_enabled, torch.set_grad_enabled),
    (torch.get_default_device, _put_device_back),
    (torch.get_num_threads, lambda count: torch.get_num_threads() == count or torch.set_num_threads(count)),
)


class _Limited(io.StringIO):
    """Keeps the first characters of a flood and forgets the rest; it stays open."""

    def close(self) -> None:
        pass

    def write(self, text: str) -> int:
        room = PRINT_LIMIT - self.tell()
        if room > 0:
            super().write(text[:room])
        return len(text)


@contextlib.contextmanager
def memory_limit() -> Iterator[None]:
    """No more than `MEMORY_LIMIT` of new memory, on Linux: else the system may end the notebook, or others.

    Inside of one another, the outer one counts.
    """
    if getattr(_here, "memory", False) or resource is None or not Path("/proc/self/statm").exists():
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_DATA)
    pages = int(Path("/proc/self/statm").read_text().split()[5])
    wanted = pages * resource.getpagesize() + MEMORY_LIMIT
    limits = [limit for limit in (wanted, *before) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), before[1]))
    _here.memory = True
    try:
        yield
    finally:
        _here.memory = False
        resource.setrlimit(resource.RLIMIT_DATA, before)


def is_out_of_memory(error: BaseException | None) -> bool:
    """Python and NumPy say so by the type, PyTorch in its words."""
    return isinstance(error, MemoryError) or (type(error) is RuntimeError and "can't allocate memory" in str(error))


def learner_line(error: BaseException, filename: str | None) -> tuple[int, str] | None:
    """Line number and text of the last line of the learner's own file that took part in an error."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if filename and frame.filename == filename]
    return (own[-1].lineno or 0, own[-1].line or "") if own else None


def _copied(given: tuple[tuple, dict[str, Any]]) -> tuple[tuple, dict[str, Any]]:
    """A deep copy. Tensors that share nothing are cloned: PyTorch's own deep copy takes twenty times as long."""
    values = [*given[0], *given[1].values()]
    tensors = {id(value): value for value in values if type(value) is torch.Tensor}
    whole = [t for t in tensors.values() if t.is_contiguous() and t.nbytes == t.untyped_storage().nbytes()]
    apart = len({t.data_ptr() for t in whole if not t.requires_grad}) == len(tensors)
    simple = apart and all(isinstance(value, torch.Tensor | int | float | str | None) for value in values)
    return copy.deepcopy(given, {name: t.clone() for name, t in tensors.items()} if simple else None)


def _changed(before: tuple[tuple, dict], after: tuple[tuple, dict]) -> tuple[str, ...]:
    named_before = {**{str(i): v for i, v in enumerate(before[0])}, **before[1]}
    named_after = {**{str(i): v for i, v in enumerate(after[0])}, **after[1]}
    return tuple(name for name in named_before if not same_value(named_before[name], named_after.get(name)))


def same_value(a: Any, b: Any) -> bool:
    """Equal to the last bit, NaN equal to NaN, through lists, dictionaries and modules."""
    if isinstance(a, torch.Tensor):
        alike = isinstance(b, torch.Tensor) and a.shape == b.shape and a.dtype == b.dtype
        return alike and (torch.equal(a, b) or bool(((a == b) | ((a != a) & (b != b))).all()))
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
    except (Exception, SystemExit):
        return type(a) is type(b)
