"""The one place that looks at what a learner's code gives back: everything behind it sees ordinary values alone."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_practice.engine.clock import Limit, OutOfTime, in_time

MOST_NUMBERS = 2**18  # in lists, or letters: no exercise asks for nearly as many
DEEPEST_LIST = 64  # lists in lists: a tensor has no more axes
MOMENT = 1.0  # seconds for an object to say what it is
# Types that PyTorch and NumPy only keep, or do not share, and those that hold the same numbers.
_WIDER = {torch.uint16: torch.int64, torch.uint32: torch.int64, torch.uint64: torch.float64}
_SHARED = {np.dtype(np.longdouble): np.dtype(np.float64), np.dtype(np.clongdouble): np.dtype(np.complex128)}
_DTYPES = {
    *_WIDER,
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128),
}
_ATOMS = {type(None), type(...), bool, int, float, complex, str, Fraction}
_BARE = {int: int.__int__, float: float.__float__, str: str.__str__}  # of an object of a class that is made of these


@dataclass(frozen=True)
class Foreign:
    """What no exercise asks for, in the words in which it is shown."""

    text: str

    def __repr__(self) -> str:
        return self.text


def plain(value: Any) -> Any:
    """An answer as ordinary tensors, arrays, numbers, and texts, in lists and tuples; all else is `Foreign`.

    Only its type says what a value is: its own methods may do anything. What they say is asked for a moment.

    >>> plain([1, torch.ones(2, requires_grad=True)])
    [1, tensor([1., 1.])]
    >>> plain((torch.ones(2).to(torch.float8_e4m3fn), {"a": 1}))
    (a tensor of torch.float8_e4m3fn, {'a': 1})
    """
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is Tensor:
        return _described(value, "a tensor")
    moment = functools.cache(lambda: Limit(MOMENT))  # begins with the first object that is asked
    try:
        if not (why := _unlooked_at(value)):
            return _plain(value, moment)
    except (KeyboardInterrupt, MemoryError, OutOfTime):
        raise
    except BaseException:  # a tensor whose own class does what it likes
        return Foreign(safe_text(repr, value, moment()))
    return Foreign(f"a {_container(value).__name__} {why}")


def name_of(value: Any) -> str:
    """The name of its type as Python keeps it: what a class of classes makes of `__name__` is code of the learner's."""
    return type.__dict__["__name__"].__get__(type(value))


def safe_text(form: Callable[[Any], str], value: Any, limit: Limit | None = None) -> str:
    """`str` or `repr` of a value of the learner's, or its type's name where even that raises, or does not end."""
    limit = limit or Limit(MOMENT)
    try:
        if not limit.is_over:
            return str.__str__(in_time(limit, form, value))[:MOST_NUMBERS]
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if issubclass(type(error), OutOfTime) and not limit.is_over:  # the time of the whole call
            raise
    return f"a{'n' * name_of(value).startswith(tuple('aeiou'))} {name_of(value)}"


def in_a_moment(ask: Callable[..., Any], *args: Any, otherwise: Any = None) -> Any:
    """What comes of asking the learner's objects, or `otherwise`: they may raise anything, and never come to an end."""
    try:
        return in_time(Limit(MOMENT), ask, *args)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return otherwise


def _container(value: Any) -> type | None:
    """Is it a list, or a tuple? Their own methods count its items, whatever its class makes of `len` and `for`."""
    return next((base for base in (list, tuple) if issubclass(type(value), base)), None)


def _unlooked_at(value: Any) -> str:
    """Why a list is not looked at, which is done level by level: what goes into each list in turn may not come back."""
    level, room = [value], MOST_NUMBERS
    for _ in range(DEEPEST_LIST):
        parts = (part for each in level if (base := _container(each)) for part in base.__iter__(each))
        level = list(islice(parts, room + 1))
        room -= len(level)
        if not level:
            return ""
        if room < 0:
            return f"of {_container(value).__len__(value):,} items, too long to be shown"
    return f"with lists inside of one another, more than {DEEPEST_LIST} deep"


def _plain(value: Any, moment: Callable[[], Limit]) -> Any:
    kind = type(value)
    if kind in _ATOMS or kind is Foreign:
        return value
    if issubclass(kind, Tensor):
        return _plain_tensor(value, moment)
    if issubclass(kind, np.ndarray | np.generic) and value.dtype.kind in "biufc":
        return value if kind.__module__ == "numpy" else np.array(value)
    if container := _container(value):
        return container(_plain(part, moment) for part in container.__iter__(value))
    bare = next((bare for base, bare in _BARE.items() if issubclass(kind, base)), None)
    return Foreign(safe_text(repr, value, moment())) if bare is None else bare(value)


def _plain_tensor(value: Tensor, moment: Callable[[], Limit]) -> Tensor | Foreign:
    if type(value) in (Tensor, torch.nn.Parameter, torch.nn.Buffer):
        return _described(value, "a tensor")
    with torch._C.DisableTorchFunctionSubclass():
        name = f"a tensor of the class {name_of(value)}"
        try:
            return in_time(moment(), _described, value, name)
        except OutOfTime:
            return Foreign(name)


def _described(value: Tensor, name: str) -> Tensor | Foreign:
    try:
        if value.dtype not in _DTYPES or value.is_quantized or value.is_nested:
            return Foreign(f"{name} of {value.dtype}{', nested' * value.is_nested}")
        if value.is_meta:
            return Foreign(f"{name} without numbers (device='meta')")
        if value.layout is not torch.strided:
            return Foreign(f"{name} of the layout {value.layout}, not a dense one: end with `.to_dense()`")
        bare = Tensor.as_subclass(value, Tensor).detach().cpu()
        return bare.to(_WIDER.get(bare.dtype, bare.dtype)) if type(bare) is Tensor else Foreign(name)
    except Exception:
        return Foreign(name)


def shared(value: np.ndarray | np.generic) -> Tensor:
    """A tensor of an array's numbers, in a copy; those in the other order of bytes or of more digits, too."""
    dtype = value.dtype.newbyteorder("=")
    return plain(torch.from_numpy(np.array(value, _SHARED.get(dtype, dtype))))
