"""Settings of Python and PyTorch that code of the learner's may change: how each is read, and put back."""

import contextlib
import decimal
import gc
import locale
import logging
import os
import random
import signal
import sys
import warnings
from _signal import getsignal  # the one of `signal` makes an enum of each answer, which takes longer than the question
from collections.abc import Callable, Iterator
from ctypes import string_at
from typing import Any

import numpy as np
import torch
from torch.utils import _python_dispatch

try:
    import resource
except ImportError:  # Windows
    resource = None


def _folder() -> str | None:
    with contextlib.suppress(OSError):  # somebody has deleted it
        return os.getcwd()


def _put_environment(variables: dict) -> None:
    os.environ.clear()
    os.environ.update({os.environ.decodekey(key): os.environ.decodevalue(value) for key, value in variables.items()})


_SIGNALS, _TIMERS = (
    [getattr(signal, name) for name in names.split() if hasattr(signal, name)]  # Windows has few
    for names in ("SIGINT SIGTERM SIGALRM SIGCHLD SIGHUP SIGUSR1 SIGUSR2", "ITIMER_REAL ITIMER_VIRTUAL ITIMER_PROF")
)


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


Settings = tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...]  # (read it, put it back)
# Put back unseen, which is faster than to look whether they differ.
STATES: Settings = ((torch.get_rng_state, torch.set_rng_state), (random.getstate, random.setstate))
SETTINGS: Settings = (
    (torch.get_default_device, lambda device: torch.set_default_device(device if device.type != "cpu" else None)),
    (lambda: (torch._C._len_torch_dispatch_stack(), torch._C._len_torch_function_stack()), _without_modes),
    (lambda: torch.is_autocast_enabled("cpu"), lambda on: torch.set_autocast_enabled("cpu", on)),
    (lambda: torch.get_autocast_dtype("cpu"), lambda dtype: torch.set_autocast_dtype("cpu", dtype)),
    (np.geterr, lambda kept: np.seterr(**kept)),
    (np.get_printoptions, lambda kept: np.set_printoptions(**kept)),
    (lambda: vars(torch._tensor_str.PRINT_OPTS).copy(), vars(torch._tensor_str.PRINT_OPTS).update),
    (lambda: sys.path.copy(), lambda kept: sys.path.__setitem__(slice(None), kept)),
    (_numpys_random, lambda kept: np.random.set_state((kept[0], np.frombuffer(kept[1], np.uint32), *kept[2:]))),
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.is_grad_enabled, torch._C._set_grad_enabled),
    (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    (torch.get_num_threads, torch.set_num_threads),
    (
        lambda: (torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()),
        lambda mode: torch.use_deterministic_algorithms(mode[0], warn_only=mode[1]),
    ),
    (gc.isenabled, lambda on: gc.enable() if on else gc.disable()),
    (lambda: list(warnings.filters), lambda kept: (warnings.resetwarnings(), warnings.filters.extend(kept))),
    (_folder, os.chdir),
    (lambda: {number: getsignal(number) for number in _SIGNALS}, _put_handlers),
    *([(_blocked, lambda mask: signal.pthread_sigmask(signal.SIG_SETMASK, mask))] if _blocked() is not None else []),
    *(((lambda t=timer: signal.getitimer(t)), (lambda left, t=timer: signal.setitimer(t, *left))) for timer in _TIMERS),
)

# Looked at once in a check: they change no answer.
OUTER: Settings = (
    (lambda: dict(os.environ._data), _put_environment),  # as Python keeps them: to decode a hundred values takes long
    (lambda: (sys.meta_path.copy(), sys.path_hooks.copy()), _put_finders),
    (sys.getswitchinterval, sys.setswitchinterval),
    (lambda: locale.setlocale(locale.LC_ALL), lambda kept: locale.setlocale(locale.LC_ALL, kept)),
    *([(sys.get_int_max_str_digits, sys.set_int_max_str_digits)] if hasattr(sys, "get_int_max_str_digits") else []),
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


@contextlib.contextmanager
def put_back(settings: Settings) -> Iterator[None]:
    """Around a block after which these settings are as before."""
    kept = [read() for read, _put in settings]
    try:
        yield
    finally:
        for (read, put), before in zip(settings, kept, strict=True):
            with contextlib.suppress(Exception):  # what cannot be put back does not stop the notebook
                if read() != before:
                    put(before)
