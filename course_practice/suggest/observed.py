"""What was observed where: the values of every expression, from one run with a recorder around each."""

import ast
import builtins
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_practice.engine.compare import as_tensor
from course_practice.engine.rounds import COUNTER, counted
from course_practice.suggest.code import VARIANT

_RECORDER = "_what_stood_here"
_KEPT = 8  # values of one expression, where it is in a loop


@dataclass
class Observed:
    """The first value of an expression: "tensor", "number", "truth", "text", "several", "other"; and all its values."""

    kind: str
    value: Any = None
    axes: int = 0
    boolean: bool = False
    values: list[Any] = field(default_factory=list, repr=False)


def observed_as(value: Any) -> Observed:
    """Describe a value.

    >>> observed_as(3), observed_as((1, 2)).kind
    (Observed(kind='number', value=3, axes=0, boolean=False), 'several')
    """
    if isinstance(value, Tensor | np.ndarray | np.generic):
        boolean = str(value.dtype).endswith("bool")
        return Observed("tensor", value, value.ndim, boolean, [value])
    kind = {bool: "truth", int: "number", float: "number", str: "text", tuple: "several", list: "several"}
    return Observed(kind.get(type(value), "other"), value, 0, isinstance(value, bool), [value])


def with_recorder(trees: list[ast.AST]) -> tuple[list[ast.AST], list[ast.expr]]:
    """Copies of trees that note the value of each expression, and those expressions of the originals by number."""
    marked: list[ast.expr] = []
    copies = copy.deepcopy(trees)
    origins = {
        id(twin): node
        for tree, double in zip(trees, copies, strict=True)
        for node, twin in zip(ast.walk(tree), ast.walk(double), strict=True)
    }
    return [_Marker(origins, marked).visit(tree) for tree in copies], marked


Found = dict[int, Observed]


class Recording:
    """The values of expressions in one run, by the identity of the expression, and how many values there were.

    The first values count, and those with nothing in them; of a tensor a copy is kept: it may be changed later. The
    value of the expression `changed` becomes another one.
    """

    def __init__(self, trees: list[ast.AST], changed: ast.AST | None = None):
        self.found: Found = {}
        self.steps = 0
        self.changed = changed
        copies, self.marked = with_recorder(trees)
        with counted(copies):
            self.code = compile(ast.Module(copies, []), VARIANT, "exec")

    @property
    def names(self) -> dict[str, Callable]:
        """The functions that the code calls: one that lets values pass, and one that counts rounds."""
        return {_RECORDER: self._note, **COUNTER}

    def _note(self, number: int, value: Any) -> Any:
        node = self.marked[number]
        self.steps += 1
        if node is self.changed:
            return another(value)
        seen = self.found.get(id(node))
        if seen is None or len(seen.values) < _KEPT or (len(seen.values) < 2 * _KEPT and is_empty(value)):
            kept = value.detach().clone() if isinstance(value, Tensor) else value
            if seen is None:
                self.found[id(node)] = observed_as(kept)
            else:
                seen.values.append(kept)
        return value


def another(value: Any) -> Any:
    """Another value of the same kind and shape."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, Tensor | np.ndarray) and str(value.dtype).endswith("bool"):
        return ~value
    if isinstance(value, Tensor) and value.is_floating_point():
        return value * 1.5 + torch.linspace(0.5, 1.5, value.numel(), dtype=value.dtype).view(value.shape)
    if isinstance(value, Tensor):
        return 2 * value + torch.arange(value.numel()).view(value.shape)  # the differences are others, too
    if isinstance(value, np.ndarray):
        return 2 * value + np.arange(value.size).reshape(value.shape)
    return None  # whoever uses it notices


def is_empty(value: Any) -> bool:
    """Is this a list, a text, or a tensor with nothing in it?"""
    return (
        isinstance(value, list | tuple | str | Tensor)
        and (value.numel() if isinstance(value, Tensor) else len(value)) == 0
    )


def same_numbers(a: Any, b: Any) -> bool:
    """Are these equal tensors, lists, or numbers?

    >>> same_numbers(torch.ones(2), torch.ones(2)), same_numbers(torch.ones(2), torch.ones(1, 2))
    (True, False)
    """
    if isinstance(a, Tensor | np.ndarray) or isinstance(b, Tensor | np.ndarray):
        one, other = as_tensor(a), as_tensor(b)
        if one is None or other is None or one.shape != other.shape:
            return False
        return bool(torch.isclose(one.double(), other.double(), rtol=1e-4, atol=1e-6, equal_nan=True).all())
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(same_numbers, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-6 * max(abs(a), abs(b), 1e-300)
    try:
        return type(a) is type(b) and bool(a == b)
    except Exception:
        return False


class _Marker(ast.NodeTransformer):
    def __init__(self, origins: dict[int, ast.AST], marked: list[ast.expr]):
        self.origins, self.marked = origins, marked

    def visit(self, node: ast.AST) -> ast.AST:
        for owner, name, value in _inner(node):
            if isinstance(value, list):
                value[:] = [self.visit(part) if isinstance(part, ast.AST) else part for part in value]
            elif isinstance(value, ast.AST):
                setattr(owner, name, self.visit(value))
        if not isinstance(node, ast.expr) or isinstance(node, ast.Slice | ast.Starred | ast.JoinedStr):
            return node
        if isinstance(node, ast.Tuple) and any(isinstance(part, ast.Slice) for part in node.elts):
            return node
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load) or id(node) not in self.origins:
            return node
        self.marked.append(self.origins[id(node)])
        call = ast.Call(ast.Name(_RECORDER, ast.Load()), [ast.Constant(len(self.marked) - 1), node], [])
        return ast.fix_missing_locations(ast.copy_location(call, node))


def _inner(node: ast.AST) -> Iterator[tuple[ast.AST, str, Any]]:
    """The fields below a node whose expressions are values of the program: no annotations, decorators, or patterns."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "bases", "pattern", "format_spec"):
            continue
        if isinstance(node, ast.JoinedStr | ast.Raise | ast.Delete):
            continue
        if not isinstance(node, ast.Call) or name != "func":
            yield node, name, value
        elif isinstance(value, ast.Attribute):  # a function is no value here, but that of which it is a method is one
            yield value, "value", value.value


def variables(trees: list[ast.AST], found: Found, scope: dict[str, Any]) -> dict[str, Observed | None]:
    """Parameters and variables, also those that are never set, and attributes of `self`, with an observed value."""
    names: dict[str, Observed | None] = {}
    nodes = [node for tree in trees for node in ast.walk(tree)]
    for node in nodes:
        if isinstance(node, ast.arg) and node.arg != "self":
            names.setdefault(node.arg)
        elif isinstance(node, ast.Name) and (isinstance(node.ctx, ast.Store) or _is_unknown(node.id, scope)):
            names.setdefault(node.id)
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "self":
            names.setdefault(f"self.{node.attr}")
    for node in nodes:
        name = getattr(node, "id", None) or (f"self.{node.attr}" if isinstance(node, ast.Attribute) else None)
        if name in names and id(node) in found:
            names[name] = names[name] or found[id(node)]
    return names


def _is_unknown(name: str, scope: dict[str, Any]) -> bool:
    return name not in scope and not hasattr(builtins, name)
