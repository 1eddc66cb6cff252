"""The type checker that tests lay over the library: beartype, where an int will do for a float.

A check costs more than most calls that it checks, and loops make thousands. So in each test a function is checked the
first 20 times, and from then on where its arguments have types or shapes that are new: up to 200 of them, in its first
2,000 calls.
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
ALWAYS, MOST_KINDS, LOOKED_AT = 20, 200, 2000
MADE = 5  # a function inside another one is made at each call of that one: laying a check over it takes long, too

counts: list[tuple[list[int], set]] = []  # of each function: its calls, and the types and shapes that it had
made: Counter = Counter()


def begin() -> None:
    """A test begins: everything is checked again."""
    for calls, kinds in counts:
        calls[0] = 0
        kinds.clear()
    made.clear()


def kind(value: object) -> object:
    return (value.shape, value.dtype) if isinstance(value, torch.Tensor) else type(value)


def sparing(*, typechecker: Callable) -> Callable:
    """As `jaxtyping.jaxtyped`, whose place it takes while the library is imported."""

    def lay(function: Callable) -> Callable:
        if not inspect.isfunction(function):
            return jaxtyped(function, typechecker=typechecker)
        calls, kinds = [0], set()
        if "<locals>" in function.__qualname__:
            made[function.__code__] += 1
            if made[function.__code__] > MADE:
                return function
        else:
            counts.append((calls, kinds))

        @functools.cache
        def checked() -> Callable:  # laid at the first call: most functions have none in a worker
            return jaxtyped(function, typechecker=typechecker)

        @functools.wraps(function)
        def called(*arguments, **named):
            if calls[0] >= LOOKED_AT:
                return function(*arguments, **named)
            calls[0] += 1
            if calls[0] > ALWAYS:
                new = (*map(kind, arguments), *map(kind, named.values()))
                if new in kinds or len(kinds) == MOST_KINDS:
                    return function(*arguments, **named)
                kinds.add(new)
            return checked()(*arguments, **named)

        return called

    return lay
