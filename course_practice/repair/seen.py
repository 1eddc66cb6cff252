"""What stood where: the kind of value of every expression, from one run with a recorder around each."""

import ast
import builtins
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

_RECORDER = "_what_stood_here"


@dataclass(frozen=True)
class Seen:
    """One value in a few words: "tensor", "number", "truth", "text", "several" or "other"; of a tensor its axes."""

    what: str
    value: Any = None
    axes: int = 0
    boolean: bool = False


def seen_as(value: Any) -> Seen:
    """Describe a value.

    >>> seen_as(3), seen_as((1, 2)).what
    (Seen(what='number', value=3, axes=0, boolean=False), 'several')
    """
    if isinstance(value, Tensor | np.ndarray | np.generic):
        boolean = str(value.dtype).endswith("bool")
        return Seen("tensor", value, value.ndim, boolean)
    if isinstance(value, bool):
        return Seen("truth", value, boolean=True)
    if isinstance(value, int | float):
        return Seen("number", value)
    if isinstance(value, str):
        return Seen("text", value)
    return Seen("several" if isinstance(value, tuple | list) else "other", value)


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


def recorder(marked: list[ast.expr], found: dict[int, Seen]) -> dict[str, Callable]:
    """The function that marked trees call: it fills `found`, by the identity of the expression, and lets values pass.

    The first value counts, of a tensor a copy: it may be changed later.
    """

    def note(number: int, value: Any) -> Any:
        node = id(marked[number])
        if node not in found:
            found[node] = seen_as(value.detach().clone() if isinstance(value, Tensor) else value)
        return value

    return {_RECORDER: note}


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


def variables(trees: list[ast.AST], found: dict[int, Seen], scope: dict[str, Any]) -> dict[str, Seen | None]:
    """Parameters and variables, also those that are never set, and attributes of `self`, with a value that was seen."""
    names: dict[str, Seen | None] = {}
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
