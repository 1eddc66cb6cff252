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
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from ctypes import string_at
from itertools import chain
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import torch

from course_practice.engine.settings import OUTER, SETTINGS, STATES, put_back

_LOADED = type("Loaded", (), {})()
_LOADED.__dict__ = sys.modules  # all modules, as names
_MODULES = (
    *(builtins, collections, contextlib, copy, decimal, functools, gc, inspect, itertools, json, logging, math),
    *(operator, os, random, re, signal, sys, threading, time, warnings, np, torch, torch.nn),
    *(torch.nn.functional, torch.nn.init, torch.linalg, torch.special, torch.fft, torch.optim, torch.nn.modules.module),
    *(torch.__future__, np.random, np.linalg),
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


_JUDGES = ("course_lib", "course_practice.engine", "course_practice.repair")
_here = threading.local()
alone = threading.RLock()  # all of it is the whole process's: two threads that read it and put it back would mix it up


@contextlib.contextmanager
def names_read() -> Iterator[None]:
    """Around many blocks of `state_restored`: names are read once, and so are settings that change no answer."""
    with alone, put_back(() if (before := getattr(_here, "names", None)) else OUTER):
        _here.names = before or (_Names(), _insides())
        try:
            yield
        finally:
            _here.names = before


@functools.lru_cache(1)
def _functions(_loaded: tuple[int, str]) -> list[FunctionType]:
    """Those that judge answers, of the library and the engine, in classes too. Looked for after imports."""
    modules = [module for name, module in sys.modules.copy().items() if name.startswith(_JUDGES)]
    own = [value for m in modules for value in vars(m).values() if getattr(value, "__module__", "") == m.__name__]
    inside = [value for one in own if isinstance(one, type) for value in vars(one).values()]
    found = [getattr(one, "__func__", getattr(one, "fget", one)) for one in (*own, *inside)]
    found += [one.__wrapped__ for one in found if hasattr(one, "__wrapped__")]
    return [one for one in found if type(one) is FunctionType]


def _insides() -> list[tuple]:
    """What these functions do, and the values they begin with."""
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
    with contextlib.nullcontext() if inside else names_read(), put_back(SETTINGS):
        states = [read() for read, _put in STATES]
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
            for (_read, put), before in zip(STATES, states, strict=True):
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
