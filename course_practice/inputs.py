"""Numbers for the cases of exercises: the same every time, unless other ones are asked for."""

import contextlib
import functools
from collections.abc import Iterator
from contextvars import ContextVar

import torch
from torch import Tensor

_SHIFT: ContextVar[int] = ContextVar("shift", default=0)
_LARGER: ContextVar[int] = ContextVar("larger", default=0)


@contextlib.contextmanager
def other_inputs(seed: int, larger: int = 0) -> Iterator[None]:
    """Inside, every seed is another one, and every size above 2 of `randn` larger.

    >>> with other_inputs(seed=7, larger=1):
    ...     print(randn(1, 2, 3).shape, bool((randn(2) == randn(2)).all()))
    torch.Size([1, 2, 4]) True
    """
    shift, size = _SHIFT.set(seed), _LARGER.set(larger)
    try:
        yield
    finally:
        _SHIFT.reset(shift)
        _LARGER.reset(size)


def seeded(seed: int = 0) -> torch.Generator:
    """A source of random numbers for inputs."""
    return torch.Generator().manual_seed(seed + _SHIFT.get())


def randn(*shape: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    """Normal numbers that a seed decides.

    >>> randn(2, 3).shape
    torch.Size([2, 3])
    """
    shape = tuple(size + _LARGER.get() if size > 2 else size for size in shape)
    return _drawn(shape, seed + _SHIFT.get()) * scale


@functools.lru_cache(2**10)  # a search asks for the same ones thousands of times
def _drawn(shape: tuple[int, ...], seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float32)


def counting(*shape: int) -> Tensor:
    """0, 1, 2 …, row by row: in a result, each number says where it came from.

    >>> counting(2, 2)
    tensor([[0., 1.],
            [2., 3.]])
    """
    return torch.arange(float(torch.Size(shape).numel())).view(shape)
