"""Run a learner's object so that nothing it does reaches the notebook: copies, a time limit, captured output."""

import _signal
import builtins
import contextlib
import copy
import functools
import importlib
import io
import os
import pdb
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

from course_practice.engine.clock import DEEPEST, Limit, OutOfTime, alarm_ready, in_time
from course_practice.engine.plain import in_a_moment, plain, safe_text
from course_practice.engine.state import alone, forget_half_made, modules_now, state_restored

try:
    import resource
except ImportError:  # Windows
    resource = None

PRINT_LIMIT = 2_000
TAKES_LISTS = ("tensor", "as_tensor", "asarray")  # of PyTorch
MEMORY_LIMIT = 4 * 2**30  # bytes more than at the start of a call: the inputs of exercises are small
STACK = 2**30  # bytes: PyTorch goes into the lists of an index without counting how deep


@dataclass
class Outcome:
    """What one call did: a value or an exception, the inputs it changed, and what it printed."""

    value: Any = None
    error: BaseException | None = None
    changed: tuple[str, ...] = ()
    printed: str = ""

    @property
    def out_of_time(self) -> bool:
        return issubclass(type(self.error), OutOfTime)  # what it says of itself may be wrong, or not be said

    @functools.cached_property
    def said(self) -> str:
        """The error's words, as many as a page can show; nothing where there is none."""
        words = "" if self.error is None else safe_text(str, self.error)
        return words[:PRINT_LIMIT].encode("utf-8", "replace").decode("utf-8")


def run_safely(call: Callable[..., Any], args: tuple, kwargs: dict[str, Any], limit: Limit) -> Outcome:
    """Call on copies of the arguments; give back whatever happened, never raise (except for the reader's own stop).

    What the code sets for all of Python or PyTorch is as before afterwards (`state` lists it).

    >>> run_safely(lambda x: x.pop(), ([1, 2],), {}, Limit(1.0))
    Outcome(value=2, error=None, changed=('0',), printed='')
    """
    before, (args, kwargs) = (args, kwargs), _copied((args, kwargs))
    with alarm_ready(), sealed() as printed:
        outcome = call_in_time(call, args, kwargs, limit)
    outcome.changed = _changed(before, (args, kwargs))  # once nothing that the code has set is in the way
    outcome.printed = io.StringIO.getvalue(printed)
    return outcome


def _copied(given: tuple[tuple, dict[str, Any]]) -> tuple[tuple, dict[str, Any]]:
    """A deep copy. Tensors that share nothing are cloned: PyTorch's own deep copy takes twenty times as long."""
    values = [*given[0], *given[1].values()]
    tensors = {id(value): value for value in values if type(value) is torch.Tensor}
    whole = [t for t in tensors.values() if t.is_contiguous() and t.nbytes == t.untyped_storage().nbytes()]
    apart = len({t.data_ptr() for t in whole if not t.requires_grad}) == len(tensors)
    simple = apart and all(isinstance(value, torch.Tensor | int | float | str | None) for value in values)
    return copy.deepcopy(given, {name: t.clone() for name, t in tensors.items()} if simple else None)


@contextlib.contextmanager
def sealed() -> Iterator[io.StringIO]:
    """Catch what is printed, and put back whatever the code inside sets for all of Python or PyTorch."""
    printed = _Limited()
    with alone, state_restored(), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        known = [(vars(module), name, vars(module)[name], guard) for module, name, guard in _GUARDS]
        guards, main = {id(original): guard for _, _, original, guard in known}, vars(sys.modules["__main__"])
        known += [(main, name, one, guards[id(one)]) for name, one in main.items() if id(one) in guards]  # imported
        for names, name, original, guard in known:
            names[name] = guard(original)
        try:
            yield printed
        finally:
            for names, name, original, _guard in known:
                names[name] = original


def _of_finite_lists(original: Callable) -> Callable:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        _refuse_endless([*args, *kwargs.values()], (), set())
        return original(*args, **kwargs)

    return call


def _refuse_endless(value: list | tuple, inside: tuple[int, ...], seen: set[int]) -> None:
    if id(value) in inside:
        raise ValueError("expected numbers, got a list that holds itself: put a copy into it")
    for part in value if id(value) not in seen else ():
        if isinstance(part, list | tuple):
            _refuse_endless(part, (*inside, id(value)), seen)
    seen.add(id(value))


def _to_others(original: Callable) -> Callable:
    """A signal that nobody handles would end Python: here it is an error, unless it goes to another process."""

    def call(*args: Any) -> Any:
        other = original.__name__.startswith("kill") and args[0] > 0 and args[0] not in (os.getpid(), os.getpgrp())
        return original(*args) if other or _signal.getsignal(args[-1]) else sys.exit(args[-1])

    return call


def _nobody_types(_prompt: object = "") -> str:
    raise EOFError("nobody types while an answer is checked: what it needs, it gets as arguments")


# What would end Python, and the notebook with it, is an error; where code would wait for a debugger, it goes on.
# Modules have it from one another.
_MODULES = (os, sys.modules[os.name], signal, _signal)
_ENDS = {name: lambda _: sys.exit for name in ("_exit", "abort")}
_ENDS |= dict.fromkeys(("kill", "killpg", "raise_signal", "pthread_kill"), _to_others)
_DEBUGGERS = ((sys, "breakpointhook"), (pdb, "set_trace"))
_GUARDS: list[tuple[ModuleType, str, Callable[[Callable], Callable]]] = [
    *((torch, name, _of_finite_lists) for name in TAKES_LISTS),
    (sys, "setrecursionlimit", lambda original: lambda n: original(min(n, DEEPEST))),
    *((module, name, lambda _: lambda *args, **kwargs: None) for module, name in _DEBUGGERS),
    (builtins, "input", lambda _: _nobody_types),
    *((module, name, _ENDS[name]) for module in _MODULES for name in _ENDS if hasattr(module, name)),
]


def call_in_time(call: Callable[..., Any], args: tuple, kwargs: dict[str, Any], limit: Limit) -> Outcome:
    """Call on the arguments themselves until the limit, inside `sealed()`; the outcome's value is a plain one."""
    outcome, modules = Outcome(), modules_now()
    try:
        with memory_limit():
            outcome.value = in_time(limit, _answer, call, args, kwargs)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        outcome.error = error
        forget_half_made(modules)
    return outcome


def _answer(call: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    try:
        return plain(call(*args, **kwargs))
    except BaseException as error:  # its frames hold what was too large, and what may go on when it dies
        traceback.clear_frames(error.__traceback__)
        raise


@functools.cache
def load_what_pytorch_loads_late() -> None:
    """Half a second, once: the search has short limits, which an import would go beyond."""
    with contextlib.suppress(ImportError), warnings.catch_warnings():
        importlib.import_module("torch.fx.experimental.symbolic_shapes")  # nn.MultiheadAttention looks at masks with it


def is_out_of_memory(error: BaseException) -> bool:
    """Python and NumPy say so by the type, PyTorch in its words."""
    words = error.args[0] if type(error) is RuntimeError and error.args else ""
    return issubclass(type(error), MemoryError) or (type(words) is str and "can't allocate memory" in words)


def learner_line(error: BaseException, filename: str | None) -> tuple[int, str] | None:
    """Line number and text of the last line of the learner's own file that took part in an error."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if filename and frame.filename == filename]
    return (own[-1].lineno or 0, own[-1].line or "") if own else None


class _Limited(io.StringIO):
    """Keeps the first characters of a flood and forgets the rest; it stays open."""

    def close(self) -> None:
        pass

    def write(self, text: str) -> int:
        room = PRINT_LIMIT - self.tell()
        if room > 0:
            super().write(text[:room])
        return len(text)


def memory_limit() -> contextlib.AbstractContextManager[None]:
    """No more than `MEMORY_LIMIT` of new memory, on Linux: else the system may kill the notebook, or others.

    Inside of one another, the first counts.
    """
    return contextlib.nullcontext() if _in_force else _limited()


_in_force: list[bool] = []  # a limit of memory


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[5])
        before, stack = (resource.getrlimit(kind) for kind in (resource.RLIMIT_DATA, resource.RLIMIT_STACK))
        wanted = pages * resource.getpagesize() + MEMORY_LIMIT
        resource.setrlimit(resource.RLIMIT_DATA, (_least(wanted, *before), before[1]))
        resource.setrlimit(resource.RLIMIT_STACK, (_least(STACK, stack[1]), stack[1]))
    except (AttributeError, OSError, ValueError):  # another system
        yield
        return
    _in_force.append(True)
    try:
        yield
    finally:
        _in_force.clear()
        resource.setrlimit(resource.RLIMIT_DATA, before)
        resource.setrlimit(resource.RLIMIT_STACK, stack)


def _least(*limits: int) -> int:
    return min(limit for limit in limits if limit != resource.RLIM_INFINITY)


def _changed(before: tuple[tuple, dict], after: tuple[tuple, dict]) -> tuple[str, ...]:
    named_before = {**{str(i): v for i, v in enumerate(before[0])}, **before[1]}
    named_after = {**{str(i): v for i, v in enumerate(after[0])}, **after[1]}
    return tuple(name for name in named_before if not same_value(named_before[name], named_after.get(name)))


def same_value(a: Any, b: Any) -> bool:
    """Equal to the last bit, NaN equal to NaN, through lists, dictionaries and modules."""
    if isinstance(a, torch.Tensor):
        alike = isinstance(b, torch.Tensor) and a.shape == b.shape and a.dtype == b.dtype
        return alike and (torch.equal(a, b) or bool(((a == b) | ((a != a) & (b != b))).all()))
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and same_value(torch.from_numpy(a), torch.from_numpy(b))
    if isinstance(a, torch.nn.Module):
        return isinstance(b, torch.nn.Module) and same_value(dict(a.state_dict()), dict(b.state_dict()))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same_value(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same_value, a, b))
    if callable(a):
        return True
    if type(a) is type(b) and type(a) in (int, bool, str, float, type(None)):
        return a == b or (a != a and b != b)
    return in_a_moment(lambda: bool(a == b or (a != a and b != b)), otherwise=type(a) is type(b))
