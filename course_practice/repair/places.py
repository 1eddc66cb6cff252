"""Places in a tree where something can be changed, and changes: they are made, tried, and taken back."""

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from course_practice.repair.code import Part
from course_practice.repair.seen import Seen

_NAME = re.compile(r"(?<![\w.\"'])[A-Za-z_]\w*(?!\w*\()")
Slot = tuple[ast.AST, str, int | None, Any]


@dataclass(frozen=True)
class Around:
    """What is known around a place: the values seen by expression, those of variables, the names in reach."""

    seen: dict[int, Seen]
    variables: dict[str, Seen | None]
    scope: dict[str, Any]


@dataclass(frozen=True)
class Place:
    """An expression, where it hangs in the tree, and what stood there when the code ran (None: it was not reached)."""

    part: Part
    node: ast.expr
    parent: ast.AST
    field: str
    index: int | None
    above: "Place | None"
    statement: ast.stmt
    around: Around = field(repr=False)

    def kind(self, node: ast.expr | None = None) -> Seen | None:
        """What stood here, or at another expression of the same tree."""
        return self.around.seen.get(id(self.node if node is None else node))

    @property
    def line(self) -> int:
        """Where a reader looks for it: in a chain of calls over several lines, the line of the last call."""
        node = self.node.func if isinstance(self.node, ast.Call) else self.node
        if isinstance(node, ast.Attribute):
            return node.end_lineno
        return node.right.lineno if isinstance(node, ast.BinOp) else node.lineno

    @property
    def around_it(self) -> ast.AST:
        """The nearest expression that this is a part of and that a reader can be pointed to."""
        above = self.above
        while above is not None and isinstance(above.node, ast.Tuple | ast.Slice | ast.Starred):
            above = above.above
        return self.node if above is None else above.node

    @property
    def is_target(self) -> bool:
        """Is this written to, as `mask[i]` is in `mask[i] = True`?"""
        return not isinstance(getattr(self.node, "ctx", ast.Load()), ast.Load)

    @property
    def call(self) -> ast.Call | None:
        """The call of which this is an argument, or part of one."""
        above = self.parent if isinstance(self.parent, ast.Call) else self.above and self.above.parent
        return above if isinstance(above, ast.Call) and self.node is not above.func else None

    @property
    def called(self) -> str:
        """The name of the function or method of which this is an argument, else nothing."""
        return name_of(self.call) if self.call is not None else ""

    def may_be(self, *whats: str) -> bool:
        """Was the value of one of these kinds? Where nothing was seen, it may have been."""
        return self.kind() is None or self.kind().what in whats

    @property
    def is_asked(self) -> bool:
        """Is this only asked for its shape, or the like? Then its numbers make no difference."""
        return isinstance(self.parent, ast.Attribute) and self.parent.attr in ("shape", "size", "dim", "ndim", "dtype")

    @functools.cached_property
    def size(self) -> int:
        """How many names, numbers, and operations stand here."""
        return size(self.node)

    @property
    def axes(self) -> int | None:
        """How many axes the tensor here has; None where no tensor was seen."""
        return self.kind().axes if self.kind() is not None and self.kind().what == "tensor" else None


@dataclass(frozen=True)
class Edit:
    """A small change of a tree: what is put where, in which line, and what to ask whoever wrote that line.

    `{it}` in the question is `about`; `before` becomes `after`, or `after` says in words what changes.
    """

    kind: str
    asks: str
    about: ast.AST
    part: Part
    line: int
    slots: tuple[Slot, ...]
    cost: float
    before: ast.AST | None
    after: ast.AST | str
    statement: ast.AST | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "_found", [_at(*slot[:3]) for slot in self.slots])

    def make(self) -> list[Slot] | None:
        """Change the tree; gives back what takes the change back, or None where another edit has changed the place."""
        if any(_at(*slot[:3]) is not found for slot, found in zip(self.slots, self._found, strict=True)):
            return None
        return [_put(*slot) for slot in self.slots]

    @property
    def signature(self) -> tuple[str, str, str]:
        """What edits of the same form have in common; names count where a name is what changes."""
        before, after = ast.unparse(self.before), self.after if isinstance(self.after, str) else ast.unparse(self.after)
        if self.kind != "name":
            before, after = (_NAME.sub("_", text) for text in (before, after))
        return self.kind, before, after

    @property
    def question(self) -> str:
        """What to ask: it says at what to look, and not what to write."""
        return self.asks.replace("{it}", f"`{self.part.quote(self.about)}`")

    @property
    def words(self) -> str:
        """The line as it becomes, or what becomes of it; asked while the edit is made."""
        if isinstance(self.after, str):
            return self.after
        statement = self.after if self.statement is None else self.statement
        return f"`{ast.unparse(ast.fix_missing_locations(statement)).splitlines()[0]}`"


def take_back(undo: list[Slot]) -> None:
    """Put back what an edit's `make` replaced."""
    for slot in reversed(undo):
        _put(*slot)


def _at(parent: ast.AST, name: str, index: int | None) -> Any:
    value = getattr(parent, name)
    return value if index is None else value[index] if index < len(value) else None


def _put(parent: ast.AST, name: str, index: int | None, new: Any) -> Slot:
    if index is None:
        old = getattr(parent, name)
        setattr(parent, name, new)
    else:
        old = getattr(parent, name)[index]
        getattr(parent, name)[index] = new
    return parent, name, index, old


def places(part: Part, around: Around) -> Iterator[Place]:
    """All expressions of a definition whose value the program uses, from the top down."""
    for statement in statements(part.tree):
        yield from _below(part, statement, None, statement, around)


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """A statement and all that stand inside it."""
    yield node
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(node, name, None)
        for child in inner if isinstance(inner, list) else ():
            yield from statements(child)


_NO_VALUES = {"annotation", "returns", "decorator_list", "type_params", "pattern", "body", "orelse", "finalbody"}
_NO_VALUES |= {"handlers", "cases", "bases"}


def _below(part: Part, node: ast.AST, above: Place | None, statement: ast.stmt, around: Around) -> Iterator[Place]:
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Delete) or is_words(node):
        return
    for name, value in ast.iter_fields(node):
        if (name in _NO_VALUES and isinstance(value, list)) or name in ("annotation", "returns"):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else ((None, value),):
            if not isinstance(child, ast.AST):
                continue
            here = above
            if isinstance(child, ast.Subscript) or (isinstance(child, ast.expr) and not _has_no_value(child)):
                here = Place(part, child, node, name, index, above, statement, around)
                yield here
            yield from _below(part, child, here, statement, around)


def _has_no_value(node: ast.expr) -> bool:
    """Is it the target of an assignment, or what only stands between brackets, such as `:` and `:, None`?"""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    written = not isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
    return written or any(isinstance(part, ast.Slice) for part in parts)


def is_words(node: ast.AST) -> bool:
    """Is this a docstring, or another statement that says something and does nothing?"""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def keyword(name: str, value: ast.expr) -> ast.keyword:
    """An argument given by name."""
    return located(ast.keyword(name, value), value)


def name_of(call: ast.Call) -> str:
    """The last name of what a call calls: `softmax` of `torch.softmax(x)` and of `x.softmax()`.

    >>> name_of(ast.parse("x.softmax(-1)", mode="eval").body)
    'softmax'
    """
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def fill(text: str, at: ast.AST, **parts: ast.expr) -> ast.expr:
    """An expression written as text, with expressions of a tree in the place of some of its names.

    >>> ast.unparse(fill("X.transpose(-2, -1)", ast.Name("k"), X=ast.Name("key")))
    'key.transpose(-2, -1)'
    """
    made = ast.parse(text, mode="eval").body
    return parts[made.id] if isinstance(made, ast.Name) and made.id in parts else _filled(made, at, parts)


def _filled(node: ast.AST, at: ast.AST, parts: dict[str, ast.expr]) -> ast.AST:
    located(node, at)
    for name in node._fields:
        value = getattr(node, name, None)
        for index, child in enumerate(value) if isinstance(value, list) else ((None, value),):
            if isinstance(child, ast.Name) and child.id in parts:
                _put(node, name, index, parts[child.id])
            elif isinstance(child, ast.AST):
                _filled(child, at, parts)
    return node


def located(node: ast.AST, at: ast.AST) -> ast.AST:
    """Give a new node the position of another."""
    node.lineno = node.end_lineno = getattr(at, "lineno", 1)
    node.col_offset = node.end_col_offset = 0
    return node


def size(node: ast.AST) -> int:
    """How many names, numbers, and operations an expression has."""
    return sum(isinstance(part, ast.expr) for part in ast.walk(node))
