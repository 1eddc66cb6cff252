"""A contender in a process of its own: as its user would run it, untouched by the settings and threads of others.

In one process all would share one OpenMP library, which wakes threads more slowly as soon as it holds more of them
than there are processors, and what the course asks of the memory allocator would help everybody.
"""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import torch

from benchmarks.timing import Settings, seconds


class Apart:
    """The object `make(*arguments)`, in a process of its own; with `settings.quick`, in this one.

    Its methods are called by name; what they take and give must be what pickle can hold.

    >>> apart = Apart(Settings(quick=True), list, (1, 2))
    >>> apart.call("count", 2), 0 <= apart.seconds("count", 2) < 1
    (1, True)
    """

    def __init__(self, settings: Settings, make: Callable[..., Any], *arguments: Any):
        self.settings = settings
        self.process = None if settings.quick else ProcessPoolExecutor(1, mp_context=get_context("spawn"))
        if self.process:
            self.process.submit(hold, settings, make, arguments).result()
        else:
            torch.set_num_threads(settings.threads)
            self.held = make(*arguments)

    def call(self, method: str, *arguments: Any) -> Any:
        """What the method gives."""
        if self.process:
            return self.process.submit(call, method, arguments).result()
        return getattr(self.held, method)(*arguments)

    def seconds(self, method: str, *arguments: Any) -> float:
        """What one run of the method takes there."""
        if self.process:
            return self.process.submit(timed, self.settings, method, arguments).result()
        return seconds(lambda: self.call(method, *arguments), self.settings)()

    def close(self) -> None:
        """End the process."""
        if self.process:
            self.process.shutdown()


def hold(settings: Settings, make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Make the object of this process."""
    global held
    torch.set_num_threads(settings.threads)
    held = make(*arguments)


def call(method: str, arguments: tuple[Any, ...]) -> Any:
    """Call a method of the object of this process."""
    return getattr(held, method)(*arguments)


def timed(settings: Settings, method: str, arguments: tuple[Any, ...]) -> float:
    """The same, for its time."""
    return seconds(lambda: call(method, arguments), settings)()
