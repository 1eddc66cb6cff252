"""Edits of whole statements: a result not kept, printed or not returned, a line in another place or too much."""

import ast
import inspect
import itertools
from collections.abc import Callable, Iterator

from course_practice.repair.code import Part
from course_practice.repair.places import Around, Edit, fill, is_words, located, statements

_KEEP = "who keeps the result of {it}?"
_RETURN = "what does the function give back to whoever calls it?"
_OTHERS = "does {it} write into a tensor that others still use?"
_INDENT = "how far is {it} indented: does it belong to the block above?"


def line_edits(part: Part, around: Around, reference: Callable) -> Iterator[Edit]:
    """All edits of statements in a definition that should do what a reference does."""
    for owner in statements(part.tree):
        for field in ("body", "orelse"):
            body = getattr(owner, field, None)
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                yield from _edits_of_body(_Body(part, around, owner, field, body, reference))


class _Body:
    """A list of statements, and ways to write an edit of it."""

    def __init__(
        self, part: Part, around: Around, owner: ast.AST, field: str, body: list[ast.stmt], reference: Callable
    ):
        self.part, self.around, self.owner, self.field, self.body = part, around, owner, field, body
        self.reference = reference

    @property
    def unknown(self) -> list[str]:
        """Names that are used and never set."""
        nodes = list(ast.walk(self.part.tree))
        known = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        known |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        return [name for name in self.around.variables if name not in known and "." not in name]

    def edit(self, kind: str, cost: float, asks: str, at: ast.stmt, *slots: tuple, after: ast.AST | str) -> Edit:
        before = None if isinstance(after, str) else at
        line = at.end_lineno if "return" in str(after) else at.lineno  # a return is missing at the end
        return Edit(kind, asks, at, self.part, line, slots, cost, before, after)

    def instead(self, kind: str, cost: float, asks: str, number: int, new: ast.stmt) -> Edit:
        """Another statement in the place of one."""
        old = self.body[number]
        new = ast.fix_missing_locations(ast.copy_location(new, old))
        return self.edit(kind, cost, asks, old, (self.owner, self.field, number, new), after=new)

    def whole(self, kind: str, cost: float, asks: str, at: ast.stmt, new: list[ast.stmt], words: str) -> Edit:
        """Another list of statements."""
        return self.edit(kind, cost, asks, at, (self.owner, self.field, None, new), after=words)


def _edits_of_body(b: _Body) -> Iterator[Edit]:
    for number, node in enumerate(b.body):
        if is_words(node):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield from _kept(b, number, node.value)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.BinOp | ast.UnaryOp | ast.Subscript):
            for name in dict.fromkeys(n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)):
                if name in b.around.variables:
                    new = ast.Assign([ast.Name(name, ast.Store())], node.value)
                    yield b.instead("not-kept", 0.8, _KEEP, number, new)
        if isinstance(node, ast.Return):
            yield from _returned(b, number, node)
        if isinstance(node, ast.AugAssign):
            yield from _augmented(b, number, node)
        if isinstance(node, ast.Assign):
            yield from _assigned(b, number, node)
        if isinstance(node, ast.If):
            yield from _chosen(b, number, node)
        if isinstance(node, ast.For | ast.While | ast.With | ast.If):
            yield from _indented(b, number, node)
        if not isinstance(node, ast.FunctionDef | ast.Import | ast.ImportFrom | ast.ClassDef):
            empty = located(ast.Pass(), node)
            slot = (b.owner, b.field, number, empty)
            yield b.edit("line", 2.2, "is {it} needed?", node, slot, after=f"without line {node.lineno}")
    yield from _in_another_order(b)
    if isinstance(b.owner, ast.FunctionDef) and b.field == "body":
        yield from _without_return(b)
        yield from _parameters(b)


def _base(node: ast.expr) -> ast.Name | None:
    """The variable that a chain of calls begins with: `x` of `x.view(2).add_(1)`."""
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node if isinstance(node, ast.Name) else None


def _kept(b: _Body, number: int, call: ast.Call) -> Iterator[Edit]:
    targets = [base] if (base := _base(call.func)) is not None and base.id in b.around.variables else []
    targets += [arg for arg in call.args if isinstance(arg, ast.Name)]
    for target in targets:
        new = ast.Assign([ast.Name(target.id, ast.Store())], call)
        yield b.instead("not-kept", 0.8, _KEEP, number, new)
        if isinstance(call.func, ast.Attribute) and call.func.attr.endswith("_"):
            func = located(ast.Attribute(call.func.value, call.func.attr[:-1], ast.Load()), call)
            new = ast.Assign(
                [ast.Name(target.id, ast.Store())], located(ast.Call(func, call.args, call.keywords), call)
            )
            yield b.instead("in-place", 0.9, _OTHERS, number, new)
    value = call
    if getattr(call.func, "id", "") == "print" and call.args:
        value = call.args[0] if len(call.args) == 1 else ast.Tuple(call.args, ast.Load())
    yield b.instead("not-returned", 0.9, _RETURN, number, ast.Return(value))


def _returned(b: _Body, number: int, node: ast.Return) -> Iterator[Edit]:
    value = node.value
    if isinstance(value, ast.Tuple):
        for element in value.elts:
            yield b.instead("results", 1.0, "how many results are wanted?", number, ast.Return(element))
    elif value is not None:
        for name, seen in b.around.variables.items():
            if seen is None or seen.what in ("tensor", "number"):
                other = ast.Name(name, ast.Load())
                for pair in ([value, other], [other, value]):
                    new = ast.Return(ast.Tuple(pair, ast.Load()))
                    yield b.instead("results", 2.5, "how many results are wanted, in which order?", number, new)
    if isinstance(b.owner, ast.For | ast.While) and value is not None:
        for given in (value, ast.Constant(True)):
            new = ast.If(value, [ast.Return(given)], [])
            yield b.instead("indentation", 1.0, "in which round of the loop does {it} end the function?", number, new)
    if value is None:
        for name in b.around.variables:
            yield b.instead("not-returned", 1.0, _RETURN, number, ast.Return(ast.Name(name, ast.Load())))


def _augmented(b: _Body, number: int, node: ast.AugAssign) -> Iterator[Edit]:
    here = ast.parse(ast.unparse(node.target), mode="eval").body  # the same expression, to be read
    here = ast.fix_missing_locations(ast.copy_location(here, node))
    value = ast.BinOp(here, node.op, node.value)
    yield b.instead("in-place", 1.0, _OTHERS, number, ast.Assign([node.target], value))
    asks = "in {it}, what becomes of the value from before?"
    yield b.instead("operator", 1.4, asks, number, ast.Assign([node.target], node.value))
    for op in (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.BitAnd, ast.BitOr):
        if not isinstance(node.op, op):
            asks = "in {it}, is the operator the right one?"
            yield b.instead("operator", 1.1, asks, number, ast.AugAssign(node.target, op(), node.value))


def _assigned(b: _Body, number: int, node: ast.Assign) -> Iterator[Edit]:
    target = node.targets[0]
    if isinstance(target, ast.Tuple):
        for a, c in itertools.combinations(range(len(target.elts)), 2):
            swapped = list(target.elts)
            swapped[a], swapped[c] = target.elts[c], target.elts[a]
            new = ast.Assign([ast.Tuple(swapped, ast.Store())], node.value)
            yield b.instead("order", 1.3, "in {it}, in which order do the names come?", number, new)
        for spot, name in itertools.product(range(len(target.elts) + 1), ["_", *b.unknown]):
            names = [*target.elts[:spot], ast.Name(name, ast.Store()), *target.elts[spot:]]
            new = ast.Assign([ast.Tuple(names, ast.Store())], node.value)
            yield b.instead("results", 1.1, "in {it}, is there a name for each value on the right?", number, new)
        for spot in range(len(target.elts) * (len(target.elts) > 1)):
            names = [*target.elts[:spot], *target.elts[spot + 1 :]]
            new = ast.Assign([ast.Tuple(names, ast.Store())], node.value)
            yield b.instead("results", 1.4, "in {it}, is there a value for each name on the left?", number, new)
    elif isinstance(node.value, ast.BinOp | ast.Call | ast.Name | ast.Subscript | ast.Constant):
        for op in (ast.Add, ast.BitAnd, ast.BitOr, ast.Mult):
            asks = "in {it}, what becomes of the value from before?"
            yield b.instead("operator", 1.6, asks, number, ast.AugAssign(target, op(), node.value))
        if isinstance(target, ast.Name):
            for name in b.around.variables:
                if name != target.id and "." not in name:
                    new = ast.Assign([ast.Name(name, ast.Store())], node.value)
                    yield b.instead("not-kept", 2.6, "is {it} kept under the right name?", number, new)


def _chosen(b: _Body, number: int, node: ast.If) -> Iterator[Edit]:
    asks = "{it}: when is this so?"
    opposite = fill("not X", node, X=node.test)
    yield b.edit("sign", 1.2, asks, node, (node, "test", None, opposite), after=f"`if {ast.unparse(opposite)}:`")
    for branch in (node.body, node.orelse):
        if branch:
            body = [*b.body[:number], *branch, *b.body[number + 1 :]]
            yield b.whole("line", 2.0, asks, node, body, f"without the question in line {node.lineno}")


def _indented(b: _Body, number: int, block: ast.stmt) -> Iterator[Edit]:
    """The last line of a block moved behind it, the line behind a block moved into it."""
    last = block.body[-1]
    inner = block.body[:-1] or [located(ast.Pass(), last)]
    outer = [*b.body[: number + 1], last, *b.body[number + 1 :]]
    slots = ((block, "body", None, inner), (b.owner, b.field, None, outer))
    cost = 1.0 if isinstance(last, ast.Return) else 1.8
    yield b.edit("indentation", cost, _INDENT, last, *slots, after=f"line {last.lineno} one level further out")
    if number + 1 < len(b.body):
        following = b.body[number + 1]
        slots = ((block, "body", None, [*block.body, following]),)
        slots += ((b.owner, b.field, None, [*b.body[: number + 1], *b.body[number + 2 :]]),)
        yield b.edit(
            "indentation", 2.0, _INDENT, following, *slots, after=f"line {following.lineno} one level further in"
        )


def _in_another_order(b: _Body) -> Iterator[Edit]:
    asks = "at which point must {it} happen: before or after the lines next to it?"
    first = 1 if is_words(b.body[0]) else 0
    for start in range(first, len(b.body)):
        for end in range(first, len(b.body)):
            if start in (end, end + 1) or abs(start - end) > 3 or isinstance(b.body[end], ast.Return):
                continue
            moved = [*b.body[:start], *b.body[start + 1 :]]
            moved.insert(end, b.body[start])
            where = "behind" if end > start else "before"
            line = b.body[end].lineno
            words = f"line {b.body[start].lineno} {where} line {line}"
            yield b.whole("order", 1.5 + 0.2 * abs(start - end), asks, b.body[start], moved, words)


def _without_return(b: _Body) -> Iterator[Edit]:
    last = b.body[-1]
    if isinstance(last, ast.Return):
        return
    own = [n.id for n in ast.walk(last) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    for name in dict.fromkeys([*own, *(name for name in b.around.variables if "." not in name)]):
        new = ast.fix_missing_locations(ast.copy_location(ast.Return(ast.Name(name, ast.Load())), last))
        yield b.whole("not-returned", 1.0 + 0.5 * (name not in own), _RETURN, last, [*b.body, new], f"`return {name}`")


def _parameters(b: _Body) -> Iterator[Edit]:
    args = b.owner.args
    own = [arg.arg for arg in args.args]
    in_order = own == _wanted(b)
    for a, c in itertools.combinations(range(own[:1] == ["self"], len(own)), 2):
        swapped = list(args.args)
        swapped[a], swapped[c] = args.args[c], args.args[a]
        slot = (args, "args", None, swapped)
        if in_order:  # then it is the lines below that take one for the other
            both = {own[a], own[c]}
            asks = f"do `{own[a]}` and `{own[c]}` stand in each other's place, here and below?"
            first = next((node for node in b.body if both & {getattr(n, "id", "") for n in ast.walk(node)}), b.owner)
            yield b.edit("order", 2.0, asks, first, slot, after=f"`{own[a]}` and `{own[c]}` exchanged, here and below")
        else:
            words = f"`def {b.owner.name}({', '.join(arg.arg for arg in swapped)}):`"
            asks = "in which order does the exercise give the parameters?"
            yield b.edit("order", 2.0, asks, b.owner, slot, after=words)


def _wanted(b: _Body) -> list[str]:
    """The parameters of the reference, or of its method of the same name."""
    of = b.reference if b.owner is b.part.tree else getattr(b.reference, b.owner.name, None)
    try:
        return list(inspect.signature(of).parameters)
    except (TypeError, ValueError):
        return []
