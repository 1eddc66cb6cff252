"""The memory of the machine: how much there is, and that of one step of training or search, kept for the next."""

import ctypes
import math
import os
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

# Names and numbers of glibc's malloc.h.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3
LARGEST = 2**30
SPARE = 2**27


def keep_freed_memory() -> bool:
    """Let the process keep what PyTorch frees on the CPU, instead of asking the system again; say whether it could.

    By default glibc gives a large block back at once. Every step then gets its activations as new pages, which the
    system fills with zeros first: a fifth of the time of a small model's step. Nothing is computed differently.
    Other systems manage memory their own way; there the function does nothing.

    >>> keep_freed_memory() in (True, False)
    True
    """
    return set_malloc({M_MMAP_THRESHOLD: LARGEST, M_TRIM_THRESHOLD: 2**31 - 1, M_TOP_PAD: SPARE})


def memory_of(device: torch.device) -> float:
    """The bytes of memory that a device has in all; infinity where the system does not say.

    >>> memory_of(torch.device("cpu")) > 1e6
    True
    """
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows, for one
        return math.inf


def shapes_of(model_class: Callable[[Any], nn.Module], config: Any) -> dict[str, torch.Size]:
    """The shapes of all weights of the model that `config` describes. However large it is, none is made.

    >>> shapes_of(lambda n: nn.Linear(n, n), 10**9)["weight"]
    torch.Size([1000000000, 1000000000])
    """
    with torch.device("meta"):  # shapes without numbers
        return {name: weight.shape for name, weight in model_class(config).state_dict().items()}


def set_malloc(settings: dict[int, int]) -> bool:
    """Set parameters of glibc's `malloc`, by their numbers; False, and nothing done, where the C library is another.

    >>> set_malloc({}) in (True, False)
    True
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries have none
    if mallopt is None:
        return False
    return all([mallopt(name, value) == 1 for name, value in settings.items()])
