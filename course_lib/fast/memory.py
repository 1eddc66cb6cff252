"""Memory: that of one step of training or search, kept for the next, and the shapes of a model that takes none."""

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3  # names and numbers of glibc's malloc.h
LARGEST = 2**30
SPARE = 2**27
MAKERS = {torch.empty, torch.zeros, torch.ones}


def keep_freed_memory() -> bool:
    """Let the process keep what PyTorch frees on the CPU, instead of asking the system again; say whether it could.

    By default glibc gives a large block back at once. Every step then gets its activations as new pages, which the
    system fills with zeros first: a fifth of the time of a small model's step. Other systems are left as they are.
    """
    return set_malloc({M_MMAP_THRESHOLD: LARGEST, M_TRIM_THRESHOLD: 2**31 - 1, M_TOP_PAD: SPARE})


def shapes_of(model_class: Callable[[Any], nn.Module], config: Any) -> dict[str, torch.Size]:
    """The shapes of all weights of the model that `config` describes. None is made, except for learned positions.

    >>> shapes_of(lambda n: nn.Linear(n, n), 10**9)["weight"]
    torch.Size([1000000000, 1000000000])
    """
    with _Unfilled():
        return {name: weight.shape for name, weight in model_class(config).state_dict().items()}


class _Unfilled(TorchFunctionMode):
    """Tensors of weights have a shape alone. (`torch.device("meta")`, or to scale one, loads the compiler: 2.5 s.)"""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {}, **{"device": "meta"} if func in MAKERS else {})
        draws = func.__name__ in ("normal_", "uniform_")
        return [*args, *kwargs.values()][0] if draws else func(*args, **kwargs)


def set_malloc(settings: dict[int, int]) -> bool:
    """Set parameters of glibc's `malloc`, by their numbers; False, and nothing done, where the C library is another."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform.startswith("linux") else None
    return mallopt is not None and all([mallopt(name, value) == 1 for name, value in settings.items()])
