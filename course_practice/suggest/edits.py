"""Places in a tree where something can be changed, and edits: they are applied, tried, and undone."""

import ast
import contextlib
import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from course_practice.suggest.code import Part
from course_practice.suggest.observed import Observed


@dataclass(frozen=True)
class Context:
    """What is known around a place: the values observed, of expressions and of variables, and all names in reach."""

    observed: dict[int, Observed]
    variables: dict[str, Observed | None]
    undefined: set[str]  # variables that are never set
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
    context: Context = field(repr=False)

    def observed(self, node: ast.expr | None = None) -> Observed | None:
        """What stood here, or at another expression of the same tree."""
        return self.context.observed.get(id(self.node if node is None else node))

    @property
    def line(self) -> int:
        """Where a reader looks for it: in a chain of calls over several lines, the line of the last call."""
        node = self.node.func if isinstance(self.node, ast.Call) else self.node
        if isinstance(node, ast.Attribute):
            return node.end_lineno
        return node.right.lineno if isinstance(node, ast.BinOp) else node.lineno

    @property
    def shown(self) -> ast.AST:
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
    def is_called(self) -> bool:
        """Is this the function of a call?"""
        return isinstance(self.parent, ast.Call) and self.field == "func"

    @property
    def call(self) -> ast.Call | None:
        """The call of which this is an argument, or part of one."""
        above = self.parent if isinstance(self.parent, ast.Call) else self.above and self.above.parent
        return above if isinstance(above, ast.Call) and self.node is not above.func else None

    @property
    def called(self) -> str:
        """The name of the function or method of which this is an argument, else nothing."""
        return name_of(self.call) if self.call is not None else ""

    def may_be(self, *kinds: str) -> bool:
        """Was the value of one of these kinds? Where nothing was observed, it may have been."""
        return self.observed() is None or self.observed().kind in kinds

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
        """How many axes the tensor here has; None where no tensor was observed."""
        seen = self.observed()
        return seen.axes if seen is not None and seen.kind == "tensor" else None

    def edit(self, operator: str, cost: float, question: str, new: ast.expr, about: ast.AST | None = None) -> "Edit":
        """The edit that puts something else in this place; `{it}` in the question is this place, or `about`."""
        return Edit(
            operator=operator,
            cost=cost + 0.01 * min(self.size, 30),
            asks=question,
            about=about or self.node,
            part=self.part,
            lines=(self.line,),
            changes=(Change(self.parent, self.field, self.index, self.node, new),),
            before=self.node,
            after=new,
            statement=self.statement,
            place=self,
        )


class Change(NamedTuple):
    """What becomes of one field of a tree, or of one element of it."""

    owner: ast.AST
    field: str
    index: int | None
    old: Any
    new: Any

    def stands(self) -> bool:
        """Is the old still there?"""
        value = getattr(self.owner, self.field)
        if self.index is not None:
            value = value[self.index] if self.index < len(value) else None
        return value is self.old

    def put(self, value: Any) -> None:
        """Put the old or the new there."""
        if self.index is None:
            setattr(self.owner, self.field, value)
        else:
            getattr(self.owner, self.field)[self.index] = value


@dataclass(frozen=True)
class Edit:
    """A small change of a tree: what is put where, in which line, and what to ask whoever wrote that line.

    `operator` is the kind of change. `{it}` in the question is `about`; `before` becomes `after`, or `after` tells it.
    """

    operator: str
    cost: float
    asks: str
    about: ast.AST
    part: Part
    lines: tuple[int, ...]
    changes: tuple[Change, ...]
    before: ast.AST | None
    after: ast.AST | str
    statement: ast.AST | None = None
    place: Place | None = field(default=None, repr=False)

    @property
    def line(self) -> int:
        """The first line to look at."""
        return self.lines[0]

    def apply(self) -> bool:
        """Change the tree; False where another edit has changed the place."""
        if not all(change.stands() for change in self.changes):
            return False
        for change in self.changes:
            change.put(change.new)
        return True

    def undo(self) -> None:
        """Make the tree what it was."""
        for change in reversed(self.changes):
            change.put(change.old)

    @property
    def question(self) -> str:
        """What to ask: it says at what to look, and not what to write."""
        return self.asks.replace("{it}", f"`{self.part.quote(self.about)}`")

    @property
    def words(self) -> str:
        """The line as it becomes, or what becomes of it; asked while the edit is applied."""
        if isinstance(self.after, str):
            return self.after
        changed = self.after if self.statement is None else self.statement
        return f"`{ast.unparse(ast.fix_missing_locations(changed)).splitlines()[0]}`"


@contextlib.contextmanager
def applied(edit: Edit) -> Iterator[bool]:
    """The tree with this edit; False where another one has changed the place. Afterwards it is what it was."""
    done = edit.apply()
    try:
        yield done
    finally:
        if done:
            edit.undo()


def places(part: Part, context: Context) -> Iterator[Place]:
    """All expressions of a definition whose value the program uses, from the top down."""
    for statement in statements(part.tree):
        yield from _below(part, statement, None, statement, context)


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """A statement and all that stand inside it."""
    yield node
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(node, name, None)
        for child in inner if isinstance(inner, list) else ():
            yield from statements(child)


_NO_VALUES = {"annotation", "returns", "decorator_list", "type_params", "pattern", "body", "orelse", "finalbody"}
_NO_VALUES |= {"handlers", "cases", "bases"}


def _below(part: Part, node: ast.AST, above: Place | None, statement: ast.stmt, context: Context) -> Iterator[Place]:
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Delete) or is_docstring(node):
        return
    for name, value in ast.iter_fields(node):
        if (name in _NO_VALUES and isinstance(value, list)) or name in ("annotation", "returns"):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else ((None, value),):
            if not isinstance(child, ast.AST):
                continue
            here = above
            if isinstance(child, ast.Subscript) or (isinstance(child, ast.expr) and not _has_no_value(child)):
                here = Place(part, child, node, name, index, above, statement, context)
                yield here
            yield from _below(part, child, here, statement, context)


def _has_no_value(node: ast.expr) -> bool:
    """Is it the target of an assignment, or what only stands between brackets, such as `:` and `:, None`?"""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    target = not isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
    return target or any(isinstance(part, ast.Slice) for part in parts)


def is_docstring(node: ast.AST) -> bool:
    """Is this a docstring, or another statement that says something and does nothing?"""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def name_of(call: ast.Call) -> str:
    """The last name of what a call calls: `softmax` of `torch.softmax(x)` and of `x.softmax()`.

    >>> name_of(ast.parse("x.softmax(-1)", mode="eval").body)
    'softmax'
    """
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def size(node: ast.AST) -> int:
    """How many names, numbers, and operations an expression has."""
    return sum(isinstance(part, ast.expr) for part in ast.walk(node))
