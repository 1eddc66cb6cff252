import importlib
import sys
from contextlib import contextmanager
from types import ModuleType

from course_practice.assembly.wrong_parts import put_in
from course_practice.engine import Exercise, case


class _Part:
    """A part to put in, which a message shows by what it computes."""

    def __init__(self, words, function):
        self.words, self.function = words, function

    def __call__(self, x):
        return self.function(x)

    def __repr__(self):
        return f"<{self.words}>"


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


TEN_TIMES = {"workshop.machine.double": _Part("10 * x", lambda x: 10 * x)}
PARTS = {
    "one part": TEN_TIMES,
    "two parts": {**TEN_TIMES, "workshop.machine.more": _Part("x - 1", lambda x: x - 1)},
    "an error in the block": TEN_TIMES,
    "an interrupt in the block": TEN_TIMES,
    "a machine that has another part already": TEN_TIMES,
    "no parts": {},
}


def _run(obj, given):
    """What the machine makes of 5 (11 with its own parts) in the block and behind it, in words."""
    (parts,), about = given.args, given.about
    with _workshop() as machine:

        def now():
            try:
                return machine.more(machine.double(5))
            except AttributeError:
                return "an error"

        if "already" in about:
            machine.double = lambda x: 1000 * x
        manager = obj(dict(parts))
        if manager is None:
            return None
        if not hasattr(manager, "__enter__"):
            raise TypeError(
                f"expected a context manager, which `with` can enter, got a {type(manager).__name__}: write "
                "`@contextmanager` above the function, and `yield` where the block runs"
            )
        found = []
        try:
            with manager:
                found.append(f"in the block {now()}, and as defined {machine.defined.double(5)}")
                if error := {"error": KeyError, "interrupt": KeyboardInterrupt}.get(about.split()[1]):
                    raise error("from the block")
            if error is KeyError:
                found.append("the error is lost")
        except KeyError:
            found.append("the error comes through")
        except KeyboardInterrupt:
            pass
        except UnboundLocalError:
            found.append("a name that was never given a value")
        return ", ".join([*found, f"behind it {now()}"])


EXERCISE = Exercise(
    reference=put_in,
    call=_run,
    cases=lambda: [case(parts, about=about) for about, parts in PARTS.items()],
    alternatives=(AsAClass,),
)
