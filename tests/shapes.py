"""The type checker that tests lay over the library: beartype, where an int will do for a float.

A check costs more than most calls that it checks, and loops make thousands. So in each test a function is checked the
first 20 times, and from then on where its arguments have types or shapes that are new, up to 200 of them.
"""

import functools
import inspect
from collections import Counter
from collections.abc import Callable

import jaxtyping
import torch
from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
jaxtyped = jaxtyping.jaxtyped
ALWAYS, MOST, MADE = 20, 200, 5

calls: Counter[Callable] = Counter()
kinds: dict[Callable, set] = {}
made: Counter = Counter()  # how often a function inside another one was made: laying a check over it takes long, too


def begin() -> None:
    """A test begins: everything is checked again."""
    calls.clear(), kinds.clear(), made.clear()


def kind(value: object) -> object:
    return (value.shape, value.dtype) if isinstance(value, torch.Tensor) else type(value)


def sparing(*, typechecker: Callable) -> Callable:
    """As `jaxtyping.jaxtyped`, whose place it takes while the library is imported."""

    def lay(function: Callable) -> Callable:
        if not inspect.isfunction(function):
            return jaxtyped(function, typechecker=typechecker)
        if "<locals>" in function.__qualname__:
            made[function.__code__] += 1
            if made[function.__code__] > MADE:
                return function
        checked = jaxtyped(function, typechecker=typechecker)

        @functools.wraps(function)
        def called(*arguments, **named):
            calls[function] += 1
            if calls[function] > ALWAYS:
                known = kinds.setdefault(function, set())
                if len(known) >= MOST:
                    return function(*arguments, **named)
                new = (*map(kind, arguments), *map(kind, named.values()))
                if new in known:
                    return function(*arguments, **named)
                known.add(new)
            return checked(*arguments, **named)

        return called

    return lay
