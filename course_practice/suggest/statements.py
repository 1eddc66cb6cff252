"""Edits of whole statements: a result not kept, printed or not returned, a line in another place or too much."""

import ast
import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from course_practice.suggest.code import Part
from course_practice.suggest.edits import Change, Context, Edit, is_docstring, statements
from course_practice.suggest.matching import replacements
from course_practice.suggest.patterns import RETURNED, STATEMENT_PATTERNS, WRITTEN
from course_practice.suggest.templates import Bindings, located, statement

_KEEP = "who keeps the result of {it}?"
_INDENT = "how far is {it} indented: does it belong to the block above?"
_NO_LINES = ast.FunctionDef | ast.Import | ast.ImportFrom | ast.ClassDef


def statement_edits(part: Part, context: Context, reference: Callable) -> Iterator[Edit]:
    """All edits of statements in a definition that should do what a reference does."""
    for owner in statements(part.tree):
        for field in ("body", "orelse"):
            body = getattr(owner, field, None)
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                block = _Block(part, context, owner, field, body)
                yield from _edits_of_block(block)
                if isinstance(owner, ast.FunctionDef) and field == "body":
                    yield from _without_return(block)
                    yield from _parameters(block, reference)


@dataclass(frozen=True)
class _Block:
    """A list of statements, and the field of a statement that it stands in."""

    part: Part
    context: Context
    owner: ast.AST
    field: str
    body: list[ast.stmt]

    def edit(
        self, operator: str, cost: float, asks: str, at: ast.stmt, *changes: Change, after: ast.AST | str, also: int = 0
    ) -> Edit:
        """An edit told at a statement, and at the line `also`."""
        before = None if isinstance(after, str) else at
        line = at.end_lineno if "return" in str(after) else at.lineno  # a return is missing at the end
        lines = tuple(sorted({line, also or line}))
        return Edit(operator, cost, asks, at, self.part, lines, changes, before, after)

    def replace(self, operator: str, cost: float, asks: str, number: int, new: ast.stmt) -> Edit:
        """Another statement in the place of one."""
        old = self.body[number]
        new = ast.fix_missing_locations(ast.copy_location(new, old))
        return self.edit(operator, cost, asks, old, Change(self.owner, self.field, number, old, new), after=new)

    def becomes(self, new: list[ast.stmt]) -> Change:
        """Another list of statements."""
        return Change(self.owner, self.field, None, self.body, new)


def _edits_of_block(b: _Block) -> Iterator[Edit]:
    for number, node in enumerate(b.body):
        if is_docstring(node):
            continue
        for pattern in STATEMENT_PATTERNS:
            for new in replacements(pattern, node, statement, b.context, lambda bound: _holds(b, pattern.where, bound)):  # noqa: B023
                yield b.replace(pattern.operator, pattern.cost, pattern.question, number, new)
        if isinstance(node, ast.Expr):
            yield from _kept(b, number, node.value)
        if isinstance(node, ast.If):
            for branch in filter(None, (node.body, node.orelse)):
                body, words = (
                    [*b.body[:number], *branch, *b.body[number + 1 :]],
                    f"without the question in line {node.lineno}",
                )
                yield b.edit("line", 2.0, "{it}: when is this so?", node, b.becomes(body), after=words)
        if isinstance(node, ast.For | ast.While | ast.With | ast.If):
            yield from _indented(b, number, node)
        if not isinstance(node, _NO_LINES):
            nothing = Change(b.owner, b.field, number, node, located(ast.Pass(), node))
            yield b.edit("line", 2.2, "is {it} needed?", node, nothing, after=f"without line {node.lineno}")
    for one, two in itertools.pairwise(b.body):
        if not is_docstring(one) and not any(isinstance(node, _NO_LINES | ast.Return) for node in (one, two)):
            rest = [node for node in b.body if node is not one and node is not two]
            words = f"without lines {one.lineno} and {two.lineno}"
            change = b.becomes(rest or [located(ast.Pass(), one)])
            yield b.edit("line", 2.4, "are both of them needed?", one, change, after=words, also=two.lineno)
    yield from _in_another_order(b)


def _holds(b: _Block, where: str, bound: Bindings) -> bool:
    if where == "in a loop":
        return isinstance(b.owner, ast.For | ast.While)
    return where != "one name" or not isinstance(bound["X"], ast.Tuple)


def _kept(b: _Block, number: int, value: ast.expr) -> Iterator[Edit]:
    """A result that nobody keeps: in a variable that it is made of."""
    used = dict.fromkeys(node.id for node in ast.walk(value) if isinstance(node, ast.Name))
    for name in used if isinstance(value, ast.Call | ast.BinOp | ast.UnaryOp | ast.Subscript) else ():
        if name not in b.context.variables:
            continue
        target = [ast.Name(name, ast.Store())]
        yield b.replace("not-kept", 0.8, _KEEP, number, ast.Assign(target, value))
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr.endswith("_"):
            func = located(ast.Attribute(value.func.value, value.func.attr[:-1], ast.Load()), value)
            call = located(ast.Call(func, value.args, value.keywords), value)
            yield b.replace("in-place", 0.9, WRITTEN, number, ast.Assign(target, call))


def _indented(b: _Block, number: int, block: ast.stmt) -> Iterator[Edit]:
    """The last line of a block moved behind it, the line behind a block moved into it."""
    last = block.body[-1]
    inner = Change(block, "body", None, block.body, block.body[:-1] or [located(ast.Pass(), last)])
    outer = b.becomes([*b.body[: number + 1], last, *b.body[number + 1 :]])
    cost = 1.0 if isinstance(last, ast.Return) else 1.8
    yield b.edit("indentation", cost, _INDENT, last, inner, outer, after=f"line {last.lineno} one level further out")
    if number + 1 < len(b.body):
        following = b.body[number + 1]
        inner = Change(block, "body", None, block.body, [*block.body, following])
        outer = b.becomes([*b.body[: number + 1], *b.body[number + 2 :]])
        words = f"line {following.lineno} one level further in"
        yield b.edit("indentation", 2.0, _INDENT, following, inner, outer, after=words)


def _in_another_order(b: _Block) -> Iterator[Edit]:
    asks = "which of the two must happen first?"
    first = 1 if is_docstring(b.body[0]) else 0
    for start, end in itertools.product(range(first, len(b.body)), repeat=2):
        if start in (end, end + 1) or abs(start - end) > 3 or isinstance(b.body[end], ast.Return):
            continue
        moved = [*b.body[:start], *b.body[start + 1 :]]
        moved.insert(end, b.body[start])
        this, other = b.body[start], b.body[end]
        words = f"line {this.lineno} {'behind' if end > start else 'before'} line {other.lineno}"
        cost = 1.5 + 0.2 * abs(start - end)
        yield b.edit("order", cost, asks, this, b.becomes(moved), after=words, also=other.lineno)


def _without_return(b: _Block) -> Iterator[Edit]:
    last = b.body[-1]
    if isinstance(last, ast.Return):
        return
    own = [n.id for n in ast.walk(last) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    for name in dict.fromkeys([*own, *(name for name in b.context.variables if "." not in name)]):
        new = ast.fix_missing_locations(ast.copy_location(ast.Return(ast.Name(name, ast.Load())), last))
        cost = 1.0 + 0.5 * (name not in own)
        yield b.edit("not-returned", cost, RETURNED, last, b.becomes([*b.body, new]), after=f"`return {name}`")


def _parameters(b: _Block, reference: Callable) -> Iterator[Edit]:
    args = b.owner.args
    own = [arg.arg for arg in args.args]
    in_order = own == _wanted(b, reference)
    for one, two in itertools.combinations(range(own[:1] == ["self"], len(own)), 2):
        swapped = list(args.args)
        swapped[one], swapped[two] = args.args[two], args.args[one]
        change = Change(args, "args", None, args.args, swapped)
        if in_order:  # then it is the lines below that take one for the other
            both = {own[one], own[two]}
            asks = f"do `{own[one]}` and `{own[two]}` stand in each other's place, here and below?"
            first = next((node for node in b.body if both & {getattr(n, "id", "") for n in ast.walk(node)}), b.owner)
            words = f"`{own[one]}` and `{own[two]}` exchanged, here and below"
            yield b.edit("order", 2.0, asks, first, change, after=words)
        else:
            words = f"`def {b.owner.name}({', '.join(arg.arg for arg in swapped)}):`"
            asks = "in which order does the exercise give the parameters?"
            yield b.edit("order", 2.0, asks, b.owner, change, after=words)


def _wanted(b: _Block, reference: Callable) -> list[str]:
    """The parameters of the reference, or of its method of the same name."""
    of = reference if b.owner is b.part.tree else getattr(reference, b.owner.name, None)
    try:
        return list(inspect.signature(of).parameters)
    except (TypeError, ValueError):
        return []
