"""What code of the learner's may set for all of Python or PyTorch: read before a call, and put back after it."""

import builtins
import contextlib
import copy
import gc
import json
import math
import operator
import os
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils import _python_dispatch

# Their names are put back: patched, or deleted.
_NAMESPACES = (
    *(builtins, sys, os, copy, json, math, operator, random, signal, threading, time, warnings, np),
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
        if signal.getsignal(number) is not handler and handler is not None:
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


# (read it, put it back)
_Settings = tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...]
_LARGE: _Settings = (
    (sys.modules.copy, sys.modules.update),
    (_environment, _put_environment),
)
_SETTINGS: _Settings = (
    (torch.get_default_device, lambda device: torch.set_default_device(device if device.type != "cpu" else None)),
    (lambda: (torch._C._len_torch_dispatch_stack(), torch._C._len_torch_function_stack()), _without_modes),
    (lambda: (torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")), _put_autocast),
    (np.geterr, lambda kept: np.seterr(**kept)),
    (torch.get_rng_state, torch.set_rng_state),
    (random.getstate, random.setstate),
    (np.random.get_state, np.random.set_state),
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
    (lambda: {number: signal.getsignal(number) for number in _SIGNALS}, _put_handlers),
    *([(_blocked, lambda mask: signal.pthread_sigmask(signal.SIG_SETMASK, mask))] if _blocked() is not None else []),
    *(((lambda t=timer: signal.getitimer(t)), (lambda left, t=timer: signal.setitimer(t, *left))) for timer in _TIMERS),
)


_here = threading.local()


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
    namespaces, kept = ((), _SETTINGS) if inside else (_NAMESPACES, _LARGE + _SETTINGS)
    names = [dict(vars(namespace)) for namespace in namespaces]
    settings = [read() for read, _put in kept]
    _here.inside = True
    try:
        yield
    finally:
        _here.inside = inside
        for namespace, before in zip(namespaces, names, strict=True):
            _put_names_back(namespace, before)
        for (read, put), before in zip(kept, settings, strict=True):
            with contextlib.suppress(Exception):  # what cannot be put back does not stop the notebook
                if not _same(read(), before):
                    put(before)


def _same(now: Any, before: Any) -> bool:
    try:
        return bool(now == before)
    except (RuntimeError, ValueError):  # states of random numbers are tensors and arrays
        return False


def _put_names_back(namespace: Any, before: dict[str, Any]) -> None:
    """Undo what code has patched. A module's new names stay: libraries load parts of themselves when first used."""
    now = vars(namespace)
    if len(now) == len(before) and all(map(operator.is_, now.values(), before.values())):
        return
    for name, value in before.items():
        if now.get(name) is not value:
            setattr(namespace, name, value)
    for name in [name for name in now if isinstance(namespace, type) and name not in before]:
        delattr(namespace, name)  # it hid what the class above has


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
