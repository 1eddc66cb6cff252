"""Mistakes as diffs: which lines of a right answer somebody writes differently."""

import ast
import functools
import inspect
import itertools
import linecache
import math
import pkgutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from course_practice.engine.rounds import COUNTER, counted

_NUMBERS = itertools.count(1)
_EVERYWHERE = {"math": math, "torch": torch, "nn": nn, "F": F}  # what any answer may use


@dataclass(frozen=True)
class Hunk:
    """Lines that stand in a right answer, and the lines that a mistake has in their place."""

    old: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """A right answer with some lines of one definition changed; or, without hunks, a whole answer of its own.

    `base` is the definition whose lines change, and `answer` the right answer that is built anew with it: most often
    the same. `scope` names the module whose imports and helpers the new lines may use.
    """

    answer: Callable
    base: Callable
    hunks: tuple[Hunk, ...]
    scope: str
    text: str = ""

    @functools.cached_property
    def function(self) -> Callable:
        """The wrong answer, ready to be called."""
        namespace = {**_EVERYWHERE, **vars(sys.modules[self.scope]), **vars(sys.modules[self.base.__module__])}
        if self.text:
            return _defined(self.text, namespace)
        changed = _defined("\n".join(self.lines), namespace)
        if self.answer is self.base:
            return changed
        namespace[self.base.__name__] = changed
        return _defined("\n".join(code_of(self.answer)), namespace)

    @functools.cached_property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """For each hunk, where its old lines begin and end among the lines of the base."""
        return tuple(span(code_of(self.base), hunk) for hunk in self.hunks)

    @functools.cached_property
    def lines(self) -> list[str]:
        """The base's lines with the hunks applied."""
        return applied(code_of(self.base), self.hunks)

    def with_other(self, other: "Change") -> "Change | None":
        """Both changes at once, or None where they touch the same lines or different answers."""
        if not self.hunks or not other.hunks or (self.answer, self.base) != (other.answer, other.base):
            return None
        spans = sorted((*self.spans, *other.spans))
        if any(stop > start for (_, stop), (start, _) in itertools.pairwise(spans)):
            return None
        return Change(self.answer, self.base, self.hunks + other.hunks, self.scope)


@functools.cache
def code_of(definition: Callable) -> tuple[str, ...]:
    """The lines of a function or class, its docstrings left empty.

    >>> code_of(Hunk)[0]
    '@dataclass(frozen=True)'
    """
    lines = textwrap.dedent(inspect.getsource(inspect.unwrap(definition))).splitlines()
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            words = node.body[0]
            lines[words.lineno - 1 : words.end_lineno] = [""] * (words.end_lineno - words.lineno + 1)
    return tuple(lines)


def hunks_of(diff: str) -> tuple[Hunk, ...]:
    """The hunks of a diff, whose lines have a `-`, a `+`, or a space before them; a `-` after a `+` begins a new hunk.

    >>> hunks_of("- x = 1\\n+ x = 2\\n- return x\\n+ return -x")
    (Hunk(old=('x = 1',), new=('x = 2',)), Hunk(old=('return x',), new=('return -x',)))
    >>> hunks_of("+ x = 2 * x\\n  return x")
    (Hunk(old=('return x',), new=('x = 2 * x', 'return x')),)
    """
    found: list[tuple[list[str], list[str]]] = []
    before = "+"
    for line in diff.splitlines():
        mark, rest = line[:1] or " ", line[2:].rstrip()
        if mark not in "-+ " or line[1:2].strip():
            raise ValueError(f"expected a line that begins with '- ', '+ ' or two spaces, got {line!r}: mark it")
        if not found or (before == "+" and mark == "-"):
            found.append(([], []))
        if mark != "+":
            found[-1][0].append(rest)
        if mark != "-":
            found[-1][1].append(rest)
        before = mark
    hunks = []
    for old, new in found:
        if not old:
            raise ValueError(f"expected a line of the right answer with '+ {new[0]}', got none: add it, with '- '")
        margin = min((len(line) - len(line.lstrip()) for line in old if line), default=0)
        hunks.append(Hunk(*(tuple(line[margin:] for line in lines) for lines in (old, new))))
    return tuple(hunks)


def applied(lines: Sequence[str], hunks: Sequence[Hunk]) -> list[str]:
    """The lines with the hunks in the place of what they replace.

    >>> applied(["def f(x):", "    return x"], hunks_of("- return x\\n+ return -x"))
    ['def f(x):', '    return -x']
    """
    changed = list(lines)
    for (start, stop), hunk in sorted(((span(lines, hunk), hunk) for hunk in hunks), reverse=True, key=lambda p: p[0]):
        margin = _margin(changed[start:stop])
        changed[start:stop] = [margin + line if line else "" for line in hunk.new]
    return changed


def span(lines: Sequence[str], hunk: Hunk) -> tuple[int, int]:
    """Where the old lines of a hunk stand: once, and with the same indentation among themselves."""
    size = len(hunk.old)
    starts = []
    for start in range(len(lines) - size + 1):
        block = lines[start : start + size]
        margin = _margin(block)
        if size and tuple(line.removeprefix(margin) for line in block) == hunk.old:
            starts.append(start)
    if len(starts) != 1:
        quoted = "\n".join(hunk.old)
        raise ValueError(f"expected these lines once in the right answer, got them {len(starts)} times:\n{quoted}")
    return starts[0], starts[0] + size


def named(name: str, scope: str) -> Callable:
    """A definition of an exercise's module, or one with its whole path: `course_lib.layer_norm.Residual`."""
    return pkgutil.resolve_name(name) if "." in name else getattr(sys.modules[scope], name)


def _margin(block: Sequence[str]) -> str:
    filled = [line for line in block if line.strip()]
    return min((line[: len(line) - len(line.lstrip())] for line in filled), key=len, default="")


def _defined(text: str, namespace: dict[str, Any]) -> Callable:
    """What the last definition of a text defines. Its lines can be looked up, as those of a file can."""
    file = f"<mistake {next(_NUMBERS)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    tree = ast.parse(text)
    namespace.update(COUNTER)
    with counted([tree]):
        exec(compile(tree, file, "exec"), namespace)
    last = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)][-1]
    return namespace[last.name]
