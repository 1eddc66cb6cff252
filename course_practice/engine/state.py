"""What code of the learner's may set for all of Python or PyTorch: read before a call, and put back after it."""

import builtins
import collections
import contextlib
import copy
import decimal
import functools
import gc
import inspect
import itertools
import json
import logging
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
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from ctypes import string_at
from itertools import chain
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import torch
from torch.utils import _python_dispatch

try:
    import resource
except ImportError:  # Windows
    resource = None

_LOADED = type("Loaded", (), {})()
_LOADED.__dict__ = sys.modules  # all modules, as names
_MODULES = (
    *(builtins, collections, contextlib, copy, decimal, functools, gc, inspect, itertools, json, logging, math),
    *(operator, os, random, re, signal, sys, threading, time, warnings, np, torch, torch.nn),
    *(torch.nn.functional, torch.linalg, torch.optim, torch.nn.modules.module, torch.__future__),
)


def _classes(modules: Iterable[Any], packages: tuple[str, ...]) -> list[type]:
    """The classes of packages that modules name."""
    found = dict.fromkeys(one for module in modules for one in vars(module).values() if type(one) is type)
    return [one for one in found if one.__module__.startswith(packages)]


# Their names are put back, patched or deleted, with what stands in a list or a dictionary, and those of the engine's
# and the library's own modules.
_NAMESPACES = (
    *(_LOADED, torch.Tensor, Path, gc.callbacks, logging.root.handlers, logging.root.filters, *_MODULES),
    *(each for each in vars(torch.nn.modules.module).values() if type(each) is OrderedDict),  # of hooks for all
    *_classes(_MODULES, ("torch.nn", "torch.optim", "collections", "logging")),
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


def _umask() -> int:
    mask = os.umask(0o077)  # it can only be read by setting it
    os.umask(mask)
    return mask


def _put_finders(kept: tuple[list, list]) -> None:
    for now, before in zip((sys.meta_path, sys.path_hooks), kept, strict=True):
        if now[: len(before)] != before:  # a library may have added its own behind
            now[:] = before


def _soft(limit: int) -> tuple[Callable, Callable]:
    hard = lambda: resource.getrlimit(limit)[1]  # noqa: E731
    return lambda: resource.getrlimit(limit)[0], lambda soft: resource.setrlimit(limit, (soft, hard()))


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

# Looked at once in a check: they change no answer.
_OUTER: _Settings = (
    (_environment, _put_environment),
    (lambda: (sys.meta_path.copy(), sys.path_hooks.copy()), _put_finders),
    (sys.getswitchinterval, sys.setswitchinterval),
    (gc.get_threshold, lambda kept: gc.set_threshold(*kept)),
    (gc.get_debug, gc.set_debug),
    (_umask, os.umask),
    (lambda: decimal.getcontext().__reduce__(), lambda kept: decimal.setcontext(kept[0](*kept[1]))),
    (lambda: logging.root.level, logging.root.setLevel),
    (lambda: logging.root.manager.disable, logging.disable),
    (lambda: sys.float_info.min / 2 > 0, lambda tiny: torch.set_flush_denormal(not tiny)),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (torch._C._get_mkldnn_enabled, torch._C._set_mkldnn_enabled),
    (torch._C._get_math_sdp_enabled, torch._C._set_sdp_use_math),
    (torch._C._get_flash_sdp_enabled, torch._C._set_sdp_use_flash),
    (torch._C._get_deterministic_fill_uninitialized_memory, torch._C._set_deterministic_fill_uninitialized_memory),
    *map(_soft, {getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")}),
)


_here = threading.local()
alone = threading.RLock()  # all of it is the whole process's: two threads that read it and put it back would mix it up


@contextlib.contextmanager
def names_read() -> Iterator[None]:
    """Around many blocks of `state_restored`: names are read once, and so are settings that change no answer."""
    with alone, _put_back(() if (before := getattr(_here, "names", None)) else _OUTER):
        _here.names = before or (_Names(), _insides())
        try:
            yield
        finally:
            _here.names = before


@contextlib.contextmanager
def _put_back(settings: _Settings) -> Iterator[None]:
    kept = [read() for read, _put in settings]
    try:
        yield
    finally:
        for (read, put), before in zip(settings, kept, strict=True):
            with contextlib.suppress(Exception):  # what cannot be put back does not stop the notebook
                if read() != before:
                    put(before)


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


class _Names:
    """All namespaces, as they are now."""

    def __init__(self):
        own = [m for name, m in sys.modules.copy().items() if name.startswith((__package__, "course_lib"))]
        self.owners = [*_NAMESPACES, *own, *_classes(own, (__package__, "course_lib"))]
        insides = [owner if type(owner) in (list, OrderedDict) else vars(owner) for owner in self.owners]
        self.kept = [inside.copy() for inside in insides]
        self.values = [inside if type(inside) is list else inside.values() for inside in insides]
        self.places = self._places_now()

    def _places_now(self) -> bytes:
        """Where the values lie in memory: thousands are compared at once, and none of them is asked."""
        values = tuple(chain.from_iterable(self.values))
        return string_at(id(values) + tuple.__basicsize__, tuple.__itemsize__ * len(values))

    def put_back(self) -> None:
        """Undo what code has patched. A module's new names stay: libraries load parts of themselves when first used."""
        if self._places_now() != self.places:
            for owner, before in zip(self.owners, self.kept, strict=True):
                _put_names_back(owner, before)
            self.__init__()


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
    with contextlib.nullcontext() if inside else names_read(), _put_back(_SETTINGS):
        states = [read() for read, _put in _STATES]
        _here.inside = True
        try:
            yield
        finally:
            _here.inside = inside
            names, insides = (None, ()) if inside else _here.names
            if names:
                names.put_back()
            for name, functions, values in insides:
                if not all(map(operator.is_, map(operator.attrgetter(name), functions), values)):
                    for one, value in zip(functions, values, strict=True):
                        setattr(one, name, value)
            for (_read, put), before in zip(_STATES, states, strict=True):
                put(before)


def _put_names_back(owner: Any, before: Any) -> None:
    if type(owner) is list:
        owner[:] = before
    elif type(owner) is OrderedDict:
        owner.clear(), owner.update(before)
    else:
        now = vars(owner)
        for name in [name for name, value in before.items() if now.get(name) is not value]:
            setattr(owner, name, before[name])
        for name in [name for name in now if isinstance(owner, type) and name not in before]:
            delattr(owner, name)  # it hid what the class above has


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
