"""How long code that is not ours may take: a limit in seconds of the processor, and `in_time`, which runs such code.

Under a limit that code may change anything, `time` and the builtins too: what runs beside it looks nothing up.
"""

import builtins
import contextlib
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from os import _exit, getpid
from sys import getprofile, getrecursionlimit, gettrace, setprofile, setrecursionlimit, settrace
from time import monotonic, process_time
from types import FrameType
from typing import Any

TICK = 0.02  # between two looks at the clock, in seconds
AGAIN = 0.5  # should the first exception be swallowed
PATIENCE = 4.0  # code that sleeps or waits uses no processor: on the wall it has so many times its seconds
DEEPEST = 2_000  # calls inside of one another: where each goes through C, a few times as many end Python
IMPORT = 30.0  # an import is let finish, unless it takes so much longer than the limit

_ALARM = getattr(signal, "SIGALRM", None)
_BUILTINS = vars(builtins)
_frames, _send = sys._current_frames, getattr(signal, "pthread_kill", None)
_raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc


class OutOfTime(BaseException):
    """Raised inside the learner's code; no `except Exception` swallows it."""


class Limit:
    """Seconds that some calls have together. The processor's count, so that a busy machine changes nothing.

    `rounds` are those of all loops that are counted (see `rounds.py`): the seconds are for what is not.

    >>> limit = Limit(10.0)
    >>> limit.is_over, limit.left > 9
    (False, True)
    """

    def __init__(self, seconds: float, rounds: float = float("inf")):
        self.rounds, self.went_round, self.struck = rounds, 0, False
        self.seconds, self._wall, self._processor = seconds, monotonic(), process_time()

    @property
    def left(self) -> float:
        """The seconds left; below 0 after the end."""
        wall, processor = monotonic() - self._wall, process_time() - self._processor
        used = wall if wall < processor else processor  # several threads use more than the wall's
        asleep = (wall - 1) / PATIENCE
        return self.seconds - (used if used > asleep else asleep)

    @property
    def is_over(self) -> bool:
        """Is the time over? Never before it is on the wall; to ask for the processor's is a call of the system."""
        return monotonic() - self._wall > self.seconds and self.left < 0


def next_round() -> None:
    """Count a round of a loop, and raise OutOfTime when it is one too many."""
    for limit in getattr(getattr(_here, "watched", None), "limits", ())[-1:]:
        limit.went_round += 1
        if limit.went_round > limit.rounds:
            raise OutOfTime


def in_time(limit: Limit, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call, and raise OutOfTime inside the call once the limit is over.

    A time limit reaches Python code between two of its steps: one single step that never ends, such as
    `sum(range(10**12))`, sleep in a loop that catches everything, or a thread that the code itself begins, can only be
    stopped by restarting the kernel. A process that the call forks off ends where the call ends.

    >>> in_time(Limit(1.0), max, 3, 4)
    4
    """
    process, known = getpid(), _BUILTINS.copy()
    trace, profile, depth = gettrace(), getprofile(), getrecursionlimit()
    with alarm_ready() as watched:
        watched.limits.append(limit)
        try:
            setrecursionlimit(min(depth, DEEPEST))
            try:
                return call(*args, **kwargs)
            finally:  # first what would hinder the next lines
                if gettrace() is not trace:
                    settrace(trace)
                if getprofile() is not profile:
                    setprofile(profile)
                if limit.struck:  # swallowed by the code, or by Python, as all that is raised while an object dies
                    raise OutOfTime
        finally:
            watched.limits.pop()
            _BUILTINS.update(known)
            if getpid() != process:
                _exit(0)
            if getrecursionlimit() != depth:
                setrecursionlimit(depth)
            watched.settle()


@contextlib.contextmanager
def alarm_ready() -> Iterator["_Watched"]:
    """Begin to look at the clock; around thousands of calls, this is done once."""
    watched = getattr(_here, "watched", None)
    if watched is not None:
        yield watched
        return
    _here.watched = watched = _Watched()
    if watched.has_alarm:  # the timer strikes also while one step, such as a regular expression's, lets no thread look
        previous, timer = signal.signal(_ALARM, watched.on_alarm), signal.setitimer(signal.ITIMER_REAL, 1, 1)
    threading.Thread(target=watched.look, daemon=True).start()
    try:
        yield watched
    finally:
        _here.watched = None
        watched.done.release()
        for child in watched.children:  # one that nobody has waited for is still this process's, and its number, too
            with contextlib.suppress(ChildProcessError):
                if not os.waitpid(child, os.WNOHANG)[0]:
                    os.kill(child, signal.SIGKILL), os.waitpid(child, 0)
        if watched.has_alarm:
            signal.setitimer(signal.ITIMER_REAL, *timer), signal.signal(_ALARM, previous or signal.SIG_DFL)


_here = threading.local()


def is_under_a_limit() -> bool:
    """Is this code that `in_time` runs?"""
    return bool(getattr(getattr(_here, "watched", None), "limits", ()))


class _Watched:
    """A thread in which limits run, the innermost last. Another thread looks at the clock, and strikes when it is over.

    It wakes this thread by an alarm, whose handler sees what it would interrupt. Where there are no alarms (Windows, a
    thread that is not the main one) or the code has switched them off, it plants the exception.
    """

    def __init__(self):
        self.limits: list[Limit] = []
        self.children: list[int] = []
        self.done, self._lock, self._planted = threading.Lock(), threading.Lock(), False
        self.done.acquire()
        self._thread = threading.get_ident()
        self.has_alarm = threading.current_thread() is threading.main_thread() and None not in (_send, _ALARM)

    def look(self) -> None:
        """Look at the clock until all is done."""
        struck, strikes, following = None, 0, 0.0
        while not self.done.acquire(timeout=TICK):
            try:
                with self._lock:
                    for limit in self.limits[-1:]:
                        if limit is not struck:
                            struck, strikes, following = limit, 0, 0.0
                        if limit.is_over and monotonic() > following:
                            strikes, following = strikes + 1, monotonic() + AGAIN
                            if self.has_alarm:
                                _send(self._thread, _ALARM)
                            if not self.has_alarm or strikes > 2:
                                self._plant(limit)
            except Exception:  # the code has all of the memory, or has patched this module
                pass

    def on_alarm(self, signum: int, frame: FrameType | None) -> None:
        """Raise, unless nobody waits for it (any code can send an alarm) or it would do harm: then there is another."""
        for limit in self.limits[-1:]:
            if limit.is_over and not _would_harm(frame, limit):
                limit.struck = True
                raise OutOfTime

    def settle(self) -> None:
        """Let what is planted be raised here, if it has not been.

        Taken back, it would leave a mark in Python 3.11, with which the next function under a profiler never begins.
        """
        with self._lock:
            planted, self._planted = self._planted, False
        if planted:
            try:
                _raise_in(ctypes.c_ulong(self._thread), ctypes.py_object(OutOfTime))
                while True:
                    monotonic()
            except OutOfTime:
                pass

    def _plant(self, limit: Limit) -> None:
        if not _would_harm(_frames().get(self._thread), limit):
            self._planted = limit.struck = True
            _raise_in(ctypes.c_ulong(self._thread), ctypes.py_object(OutOfTime))


def _would_harm(frame: FrameType | None, limit: Limit) -> bool:
    """Would an exception in this frame reach nobody, or leave a module half imported?"""
    if frame is not None and frame.f_code is in_time.__code__:
        return True  # the call has ended: the limit would never be taken away
    if frame is not None and frame.f_code.co_filename.endswith(("weakref.py", "_weakrefset.py")):
        return True  # Python clears away dead objects
    while frame is not None and frame.f_code is not in_time.__code__:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return limit.left > -IMPORT
        frame = frame.f_back
    return False


def _end_with_the_limit() -> None:
    """In a process that code under a limit has just forked off: nobody looks at the clock there."""
    for limit in getattr(getattr(_here, "watched", None), "limits", ()):
        signal.signal(_ALARM, signal.SIG_DFL)
        signal.alarm(int(max(limit.left, 0)) + 1)


def _note_child() -> None:
    """Code under a limit has just forked off a process: Linux tells which, the last of this thread's."""
    if watched := getattr(_here, "watched", None):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{threading.get_native_id()}/children") as numbers:
            watched.children += map(int, numbers.read().split()[-1:])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_end_with_the_limit, after_in_parent=_note_child)
