"""What code of the learner's may set for all of Python or PyTorch: read before a call, and put back after it."""

import builtins
import contextlib
import copy
import functools
import gc
import inspect
import json
import math
import operator
import os
import random
import re
import signal
import sys
import threading
import time
import warnings
from _signal import getsignal  # the one of `signal` makes an enum of each answer, which takes longer than the question
from collections.abc import Callable, Iterator
from ctypes import string_at
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import torch
from torch.utils import _python_dispatch

_LOADED = type("Loaded", (), {})()
_LOADED.__dict__ = sys.modules  # all modules, as names
# Their names are put back, patched or deleted, and those of the engine's own modules.
_NAMESPACES = (
    _LOADED,
    *(builtins, sys, os, copy, inspect, json, math, operator, random, re, signal, threading, time, warnings, Path, np),
    *(torch, torch.Tensor, torch.nn, torch.nn.Module, torch.nn.functional, torch.linalg),
)


def _put_folder(folder: str | None) -> None:
    if folder is not None:
        os.chdir(folder)


def _folder() -> str | None:
    with contextlib.suppress(OSError):  # somebody has deleted it
        return os.getcwd()


def _put_warnings(filters: list) -> None:
    warnings.resetwarnings()  # tells Python that the filters change
    warnings.filters.extend(filters)


def _environment() -> dict:
    """What Python keeps behind `os.environ`: to decode a hundred values takes longer than most calls."""
    return dict(os.environ._data)


def _put_environment(variables: dict) -> None:
    os.environ.clear()
    os.environ.update({os.environ.decodekey(key): os.environ.decodevalue(value) for key, value in variables.items()})


def _of_signal(*names: str) -> list[int]:
    return [getattr(signal, name) for name in names if hasattr(signal, name)]  # Windows has few


_SIGNALS = _of_signal("SIGINT", "SIGTERM", "SIGALRM", "SIGCHLD", "SIGUSR1")
_TIMERS = _of_signal("ITIMER_REAL", "ITIMER_VIRTUAL", "ITIMER_PROF")


def _put_handlers(handlers: dict[int, Any]) -> None:
    for number, handler in handlers.items():
        if getsignal(number) is not handler and handler is not None:
            signal.signal(number, handler)


def _blocked() -> set[int] | None:
    return signal.pthread_sigmask(signal.SIG_BLOCK, ()) if hasattr(signal, "pthread_sigmask") else None


def _without_modes(kept: tuple[int, int]) -> None:
    """Leave the modes of PyTorch that code has entered and not left: each sees every operation."""
    for _ in range(torch._C._len_torch_dispatch_stack() - kept[0]):
        _python_dispatch._pop_mode()
    for _ in range(torch._C._len_torch_function_stack() - kept[1]):
        torch.overrides._pop_mode()


def _put_autocast(kept: tuple[bool, torch.dtype]) -> None:
    torch.set_autocast_enabled("cpu", kept[0])
    torch.set_autocast_dtype("cpu", kept[1])


_last: list[tuple[bytes, tuple]] = [(b"", ())]  # the last state of NumPy's random numbers, with its bytes in memory


def _numpys_random() -> tuple:
    """NumPy takes longer to tell them than most calls do. Besides its bytes, half a pair of `randn` may wait."""
    generator = np.random.get_bit_generator()
    memory = string_at(generator.ctypes.state_address, 625 * 4) if isinstance(generator, np.random.MT19937) else None
    if memory == _last[0][0]:
        return _last[0][1]
    name, key, place, waits, half = np.random.get_state()
    state = name, key.tobytes(), place, waits, half
    _last[0] = _last[0] if waits or memory is None else (memory, state)
    return state


def _put_numpys_random(state: tuple) -> None:
    name, key, *rest = state
    np.random.set_state((name, np.frombuffer(key, np.uint32), *rest))


# (read it, put it back)
_Settings = tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...]
# Put back unseen, which is faster than to look whether they differ.
_STATES: _Settings = ((torch.get_rng_state, torch.set_rng_state), (random.getstate, random.setstate))
_SETTINGS: _Settings = (
    (torch.get_default_device, lambda device: torch.set_default_device(device if device.type != "cpu" else None)),
    (lambda: (torch._C._len_torch_dispatch_stack(), torch._C._len_torch_function_stack()), _without_modes),
    (lambda: (torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")), _put_autocast),
    (np.geterr, lambda kept: np.seterr(**kept)),
    (np.get_printoptions, lambda kept: np.set_printoptions(**kept)),
    (lambda: vars(torch._tensor_str.PRINT_OPTS).copy(), vars(torch._tensor_str.PRINT_OPTS).update),
    (lambda: sys.path.copy(), lambda kept: sys.path.__setitem__(slice(None), kept)),
    (_numpys_random, _put_numpys_random),
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.is_grad_enabled, torch._C._set_grad_enabled),
    (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    (torch.get_num_threads, torch.set_num_threads),
    (
        lambda: (torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()),
        lambda mode: torch.use_deterministic_algorithms(mode[0], warn_only=mode[1]),
    ),
    (gc.isenabled, lambda on: gc.enable() if on else gc.disable()),
    (lambda: list(warnings.filters), _put_warnings),
    (_folder, _put_folder),
    (lambda: {number: getsignal(number) for number in _SIGNALS}, _put_handlers),
    *([(_blocked, lambda mask: signal.pthread_sigmask(signal.SIG_SETMASK, mask))] if _blocked() is not None else []),
    *(((lambda t=timer: signal.getitimer(t)), (lambda left, t=timer: signal.setitimer(t, *left))) for timer in _TIMERS),
)


_here = threading.local()
alone = threading.RLock()  # all of it is the whole process's: two threads that read it and put it back would mix it up


@contextlib.contextmanager
def names_read() -> Iterator[None]:
    """Around many blocks of `state_restored`: names are read once, and the library's put back at the end."""
    with alone:
        before = getattr(_here, "names", None)
        _here.names = before or (_names(), _insides())
        loaded = sys.modules.copy().items()  # after each block, the library's names would make a check a tenth longer
        library = [_kept(module) for name, module in loaded if name.startswith("course_lib")]
        try:
            yield
        finally:
            for each in library:
                _put_names_back(each)
            _here.names = before


@functools.lru_cache(1)
def _functions(_loaded: tuple[int, str]) -> list[FunctionType]:
    """All of the library's that are loaded, those of its classes too: they judge answers. Looked for after imports."""
    modules = [module for name, module in sys.modules.copy().items() if name.startswith("course_lib")]
    own = [value for m in modules for value in vars(m).values() if getattr(value, "__module__", "") == m.__name__]
    inside = [value for one in own if isinstance(one, type) for value in vars(one).values()]
    found = [getattr(one, "__func__", getattr(one, "fget", one)) for one in (*own, *inside)]
    found += [one.__wrapped__ for one in found if hasattr(one, "__wrapped__")]
    return [one for one in found if type(one) is FunctionType]


def _insides() -> list[tuple]:
    """What the library's functions do, and the values they begin with."""
    functions = _functions(modules_now())
    return [
        (name, functions, [getattr(one, name) for one in functions])
        for name in ("__code__", "__defaults__", "__kwdefaults__")
    ]


def _names() -> list[list]:
    own = [module for name, module in sys.modules.copy().items() if name.startswith(__package__)]
    return [_kept(owner) for owner in (*_NAMESPACES, *own)]


def _kept(owner: Any) -> list:
    return [owner, names := vars(owner).copy(), _places(names)]


@contextlib.contextmanager
def state_restored() -> Iterator[None]:
    """Put back, after the block, whatever the code inside has set or patched.

    Inside another such block only settings are put back: names, which are many, wait for the outer one's end.

    >>> with state_restored():
    ...     torch.set_default_dtype(torch.float64)
    ...     torch.ones = None
    >>> torch.ones(2).dtype
    torch.float32
    """
    inside = getattr(_here, "inside", False)
    names, insides = ((), ()) if inside else getattr(_here, "names", None) or (_names(), _insides())
    kept = _SETTINGS if inside else (*_SETTINGS, (_environment, _put_environment))
    settings, states = ([read() for read, _put in some] for some in (kept, _STATES))
    _here.inside = True
    try:
        yield
    finally:
        _here.inside = inside
        for each in names:
            _put_names_back(each)
        for name, functions, values in insides:
            if not all(map(operator.is_, map(operator.attrgetter(name), functions), values)):
                for one, value in zip(functions, values, strict=True):
                    setattr(one, name, value)
        for (read, put), before in zip(kept, settings, strict=True):
            with contextlib.suppress(Exception):  # what cannot be put back does not stop the notebook
                if read() != before:
                    put(before)
        for (_read, put), before in zip(_STATES, states, strict=True):
            put(before)


def _put_names_back(kept: list) -> None:
    """Undo what code has patched. A module's new names stay: libraries load parts of themselves when first used."""
    owner, before, places = kept
    now = vars(owner)
    if _places(now) == places:
        return
    for name, value in before.items():
        if now.get(name) is not value:
            setattr(owner, name, value)
    for name in [name for name in now if isinstance(owner, type) and name not in before]:
        delattr(owner, name)  # it hid what the class above has
    kept[:] = _kept(owner)


def _places(names: dict[str, Any]) -> bytes:
    """Where the values lie in memory: thousands are compared at once, and none of them is asked."""
    values = tuple(names.values())
    return string_at(id(values) + tuple.__basicsize__, tuple.__itemsize__ * len(values))


def modules_now() -> tuple[int, str]:
    """How many modules are loaded, and the last: where these stay as they are, nothing was imported in between."""
    return len(sys.modules), next(reversed(sys.modules), "")


def forget_half_made(before: tuple[int, str]) -> None:
    """Take out of `sys.modules` what an interrupted import has left there: parts of a package that is not there itself.

    Python takes the package itself out, and with its parts still in it could never be imported again. `before` is what
    `modules_now` said; what came later stands behind.
    """
    for name in list(sys.modules)[before[0] :] if modules_now() != before else ():
        above = name.split(".")[:-1]
        if not all(".".join(above[: n + 1]) in sys.modules for n in range(len(above))):
            sys.modules.pop(name, None)
