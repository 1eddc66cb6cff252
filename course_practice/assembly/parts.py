"""Your own Transformer: your kept answers in place of the library's parts, where they can stand in.

>>> parts = OwnParts()
>>> with parts:  # inside, the library's Transformer is made of them
...     pass
"""

import importlib
import textwrap
from types import TracebackType
from typing import Any

from torch import nn

from course_practice.assembly.trials import PARTS, CutPathError, MisfitError, Part
from course_practice.assembly.weights import copy_layer
from course_practice.engine import kept_solution
from course_practice.engine.compare import Difference, difference
from course_practice.engine.explain import explain
from course_practice.engine.run import Limit, run_safely
from course_practice.exercises import registry
from course_practice.inputs import randn

TIME_LIMIT = 10.0


class OwnParts:
    """Which parts of the machine your kept answers supply; a `with` block in which the library uses them.

    It shows itself as a list: for each part whose it is and, where yours is kept but cannot stand in, why not. Outside
    of the block the library has its own parts again, so build the machine and run it inside.
    """

    def __init__(self, parts: tuple[Part, ...] = PARTS):
        self.parts = parts
        self.own: dict[str, Any] = {}
        self.trouble: dict[str, str] = {}
        self.left_out: dict[str, str] = {}
        self._before: list[tuple[Any, str, Any]] = []
        with self:  # a later answer may be made of an earlier one
            for part in parts:
                self._add(part)

    def to_compare(self) -> "OwnParts":
        """The same parts without those whose weights cannot be copied to PyTorch's layers.

        `left_out` says of each why not.
        """
        compared = OwnParts(())
        compared.parts = self.parts
        for part in self.parts:
            if part.name not in self.own:
                continue
            compared.own[part.name] = self.own[part.name]
            if part.name in LAYERS:
                try:
                    with compared:
                        _copy_a_fresh_layer(part.name)
                except Exception as error:
                    del compared.own[part.name]
                    compared.left_out[part.name] = str(error)
        return compared

    def answer(self, part: Part) -> tuple[Any, str]:
        """What can stand in for a part, and who made it.

        Yours, where it is among `own`; else the first other solution of the course that fits, if there is one.
        """
        if part.name in self.own:
            return self.own[part.name], "you"
        fitting = (other for other in registry()[part.exercise].alternatives if misfit(part, other) is None)
        other = next(fitting, None)
        return (_in_use(part), "the library") if other is None else (other, "the course")

    def _add(self, part: Part) -> None:
        try:
            answer = kept_solution(part.exercise)
        except LookupError:
            return
        except RuntimeError as error:
            self.trouble[part.name] = f"its kept source does not run ({error.__cause__!r})."
            return
        found = misfit(part, answer)
        if found is None:
            self.own[part.name] = answer
            self._put_in(part)
        else:
            self.trouble[part.name] = f"the machine calls {part.call}. {found.sentence}"

    def _put_in(self, part: Part) -> None:
        for place in part.used:
            module, _, name = place.rpartition(".")
            owner = importlib.import_module(module)
            self._before.append((owner, name, getattr(owner, name)))
            setattr(owner, name, self.own[part.name])

    def __enter__(self) -> "OwnParts":
        for part in self.parts:
            if part.name in self.own:
                self._put_in(part)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        while self._before:
            owner, name, value = self._before.pop()
            setattr(owner, name, value)

    def __repr__(self) -> str:
        rows = [("your answer to", "stands in for", "made by")]
        rows += [(part.exercise, part.name, "you" if part.name in self.own else "the library") for part in self.parts]
        wide = [max(len(row[column]) for row in rows) for column in (0, 1)]
        lines = [f"{exercise:{wide[0]}}  {name:{wide[1]}}  {maker}" for exercise, name, maker in rows]
        for part in self.parts:
            if part.name in self.trouble:
                words = f"Your answer to {part.exercise} cannot stand in: {self.trouble[part.name]} {part.advice}"
                lines += ["", *textwrap.wrap(words, 78)]
        return "\n".join(lines)


# A layer of the library that holds the part, and the layer of PyTorch that does the same.
LAYERS = {
    "FeedForward": ("EncoderLayer", nn.TransformerEncoderLayer, 1),
    "EncoderLayer": ("EncoderLayer", nn.TransformerEncoderLayer, 1),
    "DecoderLayer": ("DecoderLayer", nn.TransformerDecoderLayer, 2),
}


def _copy_a_fresh_layer(name: str) -> None:
    layer, pytorchs, n_streams = LAYERS[name]
    owner = importlib.import_module(f"course_lib.{layer.removesuffix('Layer').lower()}")
    sizes = (6, 3, 11, 0.0)
    streams = [randn(2, n, 6, seed=n).double() for n in (5, 7)[:n_streams]]
    copy_layer(getattr(owner, layer)(*sizes).double(), pytorchs(*sizes, batch_first=True).double(), *streams)


def misfit(part: Part, answer: Any) -> Difference | None:
    """Why an answer cannot stand in for a part of the library, or None where it can."""
    expected, got = (run_safely(part.trial, (obj,), {}, Limit(TIME_LIMIT)) for obj in (_in_use(part), answer))
    if isinstance(got.error, CutPathError):
        return Difference("no-gradient", str(got.error))
    if isinstance(got.error, MisfitError):
        return Difference("type", f"There yours gives another result. {got.error}")
    if got.error is not None:
        said = explain(got.error) or f"{type(got.error).__name__}: {got.error}."
        return Difference("raised", f"There yours stops with an error. {said}")
    found = difference(expected.value, got.value, rtol=1e-4, atol=1e-5)
    return found and Difference(found.kind, f"There yours gives another result. {found.sentence}")


def _in_use(part: Part) -> Any:
    module, _, name = part.used[0].rpartition(".")
    return getattr(importlib.import_module(module), name)
