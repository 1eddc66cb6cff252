"""What a learner's code gives back, as ordinary values: tensors, numbers, and texts, in lists and tuples."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor

MOST_NUMBERS = 2**18  # in lists, or letters: no exercise asks for nearly as many
DEEPEST_LIST = 64  # lists in lists: a tensor has no more axes
# Types that PyTorch and NumPy only keep, or do not share, and those that hold the same numbers.
_WIDER = {torch.uint16: torch.int64, torch.uint32: torch.int64, torch.uint64: torch.float64}
_SHARED = {np.dtype(np.longdouble): np.dtype(np.float64), np.dtype(np.clongdouble): np.dtype(np.complex128)}
_DTYPES = {
    *_WIDER,
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128),
}


@dataclass(frozen=True)
class Unsupported:
    """What no exercise asks for, in the words in which it is shown."""

    text: str

    def __repr__(self) -> str:
        return self.text


def plain(value: Any) -> Any:
    """An answer as ordinary tensors, arrays, numbers, and texts, in lists and tuples; all else is `Unsupported`.

    >>> plain([1, torch.ones(2, requires_grad=True)])
    [1, tensor([1., 1.])]
    >>> plain((torch.ones(2).to(torch.float8_e4m3fn), {"a": 1}))
    (a tensor of torch.float8_e4m3fn, {'a': 1})
    """
    if isinstance(value, list | tuple):
        room = [MOST_NUMBERS]
        try:
            return _plain_list(value, DEEPEST_LIST, room)
        except _TooMuch as much:
            return Unsupported(f"a {'list' if isinstance(value, list) else 'tuple'} {much}")
    return _plain(value)


class _TooMuch(Exception):
    """A list that no exercise asks for; says what is too much of it."""


def _plain_list(value: list | tuple, depth: int, room: list[int]) -> list | tuple:
    room[0] -= len(value)
    if depth == 0:
        raise _TooMuch(f"with lists inside of one another, more than {DEEPEST_LIST} deep")
    if room[0] < 0:
        raise _TooMuch(f"of {len(value):,} items, too long to be shown")
    parts = [_plain_list(p, depth - 1, room) if isinstance(p, list | tuple) else _plain(p) for p in value]
    return parts if isinstance(value, list) else tuple(parts)


def _plain(value: Any) -> Any:
    if value is None or value is ... or isinstance(value, Unsupported):
        return value
    if isinstance(value, Tensor):
        return _plain_tensor(value)
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufc":
        return value
    for kind in (bool, int, float, complex, str, Fraction):
        if isinstance(value, kind):
            return value if type(value) is kind else kind(value)
    return Unsupported(safe_text(repr, value))


def _plain_tensor(value: Tensor) -> Tensor | Unsupported:
    known = type(value) in (Tensor, torch.nn.Parameter, torch.nn.Buffer)
    name = "a tensor" if known else f"a tensor of the class {type(value).__name__}"
    try:
        if value.dtype not in _DTYPES or value.is_quantized or value.is_nested:
            return Unsupported(f"{name} of {value.dtype}{', nested' * value.is_nested}")
        if value.is_meta:
            return Unsupported(f"{name} without numbers (device='meta')")
        if value.layout is not torch.strided:
            return Unsupported(f"{name} of the layout {value.layout}, not a dense one: end with `.to_dense()`")
        bare = value.as_subclass(Tensor).detach().cpu()
        return bare.to(_WIDER.get(bare.dtype, bare.dtype))
    except Exception:  # a class of its own
        return Unsupported(name)


def safe_text(form: Callable[[Any], str], value: Any) -> str:
    """`str` or `repr` of a value of the learner's, or its type's name where even that raises."""
    try:
        return form(value)[:MOST_NUMBERS]
    except (Exception, SystemExit):
        name = type(value).__name__
        return f"a{'n' * name.startswith(tuple('aeiou'))} {name}"


def shared(value: np.ndarray | np.generic) -> Tensor:
    """A tensor of an array's numbers, in a copy; those in the other order of bytes or of more digits, too."""
    dtype = value.dtype.newbyteorder("=")
    return plain(torch.from_numpy(np.array(value, _SHARED.get(dtype, dtype))))
