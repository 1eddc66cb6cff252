"""Exercise: put parts into a machine, and take them out again."""

import importlib
import sys
from contextlib import ExitStack, contextmanager, suppress
from types import ModuleType
from unittest.mock import patch

from course_practice.engine import Exercise, Mistake, case
from course_practice.own.wrong_parts import put_in


class AsAClass:
    def __init__(self, parts):
        self.parts = parts

    def __enter__(self):
        self.before = {}
        for place, part in self.parts.items():
            module, name = place.rsplit(".", 1)
            self.before[place] = getattr(importlib.import_module(module), name)
            setattr(importlib.import_module(module), name, part)
        return self

    def __exit__(self, *error):
        for place, part in self.before.items():
            module, name = place.rsplit(".", 1)
            setattr(sys.modules[module], name, part)


@contextmanager
def with_an_exit_stack(parts):
    with ExitStack() as stack:
        for place, part in parts.items():
            module, _, name = place.rpartition(".")
            owner = importlib.import_module(module)
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, part)
        yield


@contextmanager
def with_mock(parts):
    patches = [patch(place, part) for place, part in parts.items()]
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in reversed(patches):
            one.stop()


@contextmanager
def all_read_first(parts):
    places = [(importlib.import_module(".".join(p.split(".")[:-1])), p.split(".")[-1]) for p in parts]
    before = [getattr(owner, name) for owner, name in places]
    for (owner, name), part in zip(places, parts.values(), strict=True):
        owner.__dict__[name] = part
    try:
        yield places
    finally:
        for (owner, name), part in zip(places, before, strict=True):
            owner.__dict__[name] = part


@contextmanager
def _workshop():
    """A small machine: `workshop.machine` uses two parts that `workshop.parts` defines."""
    package, parts, machine = (ModuleType(name) for name in ("workshop", "workshop.parts", "workshop.machine"))
    package.parts, package.machine, package.__path__ = parts, machine, []
    machine.defined = parts

    def double(x):
        return 2 * x

    def more(x):
        return x + 1

    for part in (double, more):
        part.__module__ = "workshop.parts"
        setattr(parts, part.__name__, part)
        setattr(machine, part.__name__, part)
    made = {module.__name__: module for module in (package, parts, machine)}
    before = {name: sys.modules.get(name) for name in made}
    sys.modules.update(made)
    try:
        yield machine
    finally:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module


def _ten_times(x):
    return 10 * x


def _less(x):
    return x - 1


def _thousand_times(x):
    return 1000 * x


DOUBLE, MORE = "workshop.machine.double", "workshop.machine.more"


PARTS = {
    "one part": {DOUBLE: _ten_times},
    "two parts": {DOUBLE: _ten_times, MORE: _less},
    "an error in the block": {DOUBLE: _ten_times},
    "a machine that has another part already": {DOUBLE: _ten_times},
    "no parts": {},
}


def _run(obj, given):
    """What the machine makes of 5 (11 with its own parts) in the block and behind it, in words."""
    (about,) = given.args
    with _workshop() as machine:

        def now():
            try:
                return machine.more(machine.double(5))
            except AttributeError:
                return "an error"

        if "already" in about:
            machine.double = _thousand_times
        manager = obj(PARTS[about])
        if manager is None:
            return None
        found = []
        try:
            with manager:
                found.append(f"in the block {now()}, and as defined {machine.defined.double(5)}")
                if "error" in about:
                    raise KeyError("from the block")
            if "error" in about:
                found.append("the error is lost")
        except KeyError:
            found.append("the error comes through")
        except UnboundLocalError:
            found.append("a name that was never given a value")
        return ", ".join([*found, f"behind it {now()}"])


def _owners(parts):
    for place, part in parts.items():
        module, _, name = place.rpartition(".")
        yield importlib.import_module(module), name, part


@contextmanager
def _never_put_back(parts):
    for owner, name, part in _owners(parts):
        setattr(owner, name, part)
    yield


@contextmanager
def _not_after_an_error(parts):
    before = []
    for owner, name, part in _owners(parts):
        before.append((owner, name, getattr(owner, name)))
        setattr(owner, name, part)
    yield
    for owner, name, part in before:
        setattr(owner, name, part)


@contextmanager
def _error_swallowed(parts):
    with put_in(parts), suppress(Exception):
        yield


@contextmanager
def _first_part_only(parts):
    with put_in(dict(list(parts.items())[:1])):
        yield


@contextmanager
def _last_part_only(parts):
    with put_in(dict(list(parts.items())[-1:])):
        yield


@contextmanager
def _last_put_back_only(parts):
    owner = None
    for owner, name, part in _owners(parts):
        old = getattr(owner, name)
        setattr(owner, name, part)
    try:
        yield
    finally:
        if owner is not None:
            setattr(owner, name, old)


@contextmanager
def _last_put_back_without_care(parts):
    for owner, name, part in _owners(parts):
        old = getattr(owner, name)
        setattr(owner, name, part)
    try:
        yield
    finally:
        setattr(owner, name, old)


@contextmanager
def _called(parts):
    for owner, name, part in _owners(parts):
        setattr(owner, name, part())
    yield


@contextmanager
def _where_it_is_defined(parts):
    moved = {}
    for owner, name, part in _owners(parts):
        moved[f"{getattr(owner, name).__module__}.{name}"] = part
    with put_in(moved):
        yield


@contextmanager
def _deleted(parts):
    for owner, name, part in _owners(parts):
        setattr(owner, name, part)
    try:
        yield
    finally:
        for owner, name, _part in _owners(parts):
            delattr(owner, name)


@contextmanager
def _the_original(parts):
    """Put back what the defining module has."""
    for owner, name, part in _owners(parts):
        setattr(owner, name, part)
    try:
        yield
    finally:
        for owner, name, _part in _owners(parts):
            setattr(owner, name, getattr(sys.modules["workshop.parts"], name))


@contextmanager
def _changes_nothing(parts):
    yield


@contextmanager
def _first_part_unless_empty(parts):
    for owner, name, part in _owners(parts):
        with put_in({f"{owner.__name__}.{name}": part}):
            yield
        return


def _no_context_manager(parts):
    yield from put_in(parts).gen


EXERCISE = Exercise(
    title="Swap the parts",
    task="Write a context manager: inside the block every name of `parts`, such as 'workshop.machine.double', is the "
    "object beside it, and behind the block, also after an error, it is what it was before.",
    reference=put_in,
    call=_run,
    cases=lambda: [case(about, about=about) for about in PARTS],
    mistakes=(
        Mistake(
            "never-put-back",
            _never_put_back,
            "Behind the block the machine still has the new part. Remember what was there before you replace it, and "
            "put that back.",
        ),
        Mistake(
            "not-after-an-error",
            _not_after_an_error,
            "After an error inside the block the new part stays in the machine: what follows `yield` is skipped. Put "
            "the parts back in a `finally`.",
        ),
        Mistake(
            "error-swallowed",
            _error_swallowed,
            "An error inside the block disappears. Put the parts back and let the error go on: no `except` without a "
            "`raise`, no `return` in the `finally`, and no `__exit__` that returns True.",
        ),
        Mistake("first-part-only", _first_part_only, "Only the first of two parts gets into the machine."),
        Mistake("last-part-only", _last_part_only, "Only the last of two parts gets into the machine."),
        Mistake(
            "last-put-back-only",
            _last_put_back_only,
            "Of two parts only the last is put back. Remember all of the old ones, in a list.",
        ),
        Mistake(
            "where-it-is-defined",
            _where_it_is_defined,
            "The part is put into the module that *defines* it, and the machine keeps its own. A name is looked up in "
            "the module that uses it: the one that `parts` names.",
        ),
        Mistake(
            "deleted",
            _deleted,
            "Behind the block the name is gone from the machine. Set it to what it was instead of deleting it.",
        ),
        Mistake(
            "the-original-instead-of-the-one-before",
            _the_original,
            "The machine had another part already, and behind the block it has the original. Put back what was there "
            "before.",
        ),
        Mistake(
            "changes-nothing",
            _changes_nothing,
            "Inside the block the machine has its own parts. `setattr(module, name, part)` replaces one, and the part "
            "has to be there at the `yield`. The module is all that stands before the *last* dot of the place: "
            "`importlib.import_module` gives it, while `__import__('a.b')` gives a.",
        ),
        Mistake(
            "parts-called",
            _called,
            "You call the part while you put it in, so that its result would stand there. Put in the function itself.",
        ),
        Mistake(
            "last-put-back-or-none",
            _last_put_back_without_care,
            "Of two parts only the last is put back, and without parts there is no last one, so it stops with an "
            "error. Keep all of the old ones in a list.",
        ),
        Mistake(
            "first-part-and-stops",
            _first_part_unless_empty,
            "Only the first of two parts gets into the machine, and without parts nothing is yielded. Put in all "
            "parts first, then `yield` once.",
        ),
        Mistake(
            "no-context-manager",
            _no_context_manager,
            "A generator is no context manager yet. Write `@contextmanager` above the function.",
        ),
    ),
    hints=(
        "Three things: read the old part, set the new one, and later set the old one again, whatever happened.",
        "The place 'a.b.c' is the name c of the module a.b: `importlib.import_module` gives the module, `getattr` and "
        "`setattr` do the rest. `contextlib.contextmanager` makes a context manager of a function with one `yield`.",
        "`before.append((owner, name, getattr(owner, name)))`, then `setattr(owner, name, part)`; and around the "
        "`yield` a `try: … finally:` in which every old part is set again.",
    ),
    alternatives=(AsAClass, with_an_exit_stack, with_mock, all_read_first),
    difficulty=3,
    minutes=15,
)
