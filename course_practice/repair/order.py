"""Edits of order: operands, arguments, and steps that change places, and parentheses."""

import ast
import itertools
from collections.abc import Callable, Iterator

from course_practice.repair.kinds import To, kind
from course_practice.repair.places import Place, keyword, located


@kind("order", cost=1.2)
def order(place: Place) -> Iterator[To]:
    """Operands, arguments, or elements in another order."""
    node, asks = place.node, "in {it}, does the order matter, and is it right?"
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Add | ast.Mult | ast.BitAnd | ast.BitOr):
        yield To(located(ast.BinOp(node.right, node.op, node.left), node), asks)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield To(located(ast.Compare(node.comparators[0], node.ops, [node.left]), node), asks, more=0.3)
    elif isinstance(node, ast.Call):
        for args in (*_swaps(node.args), *_exchanges(node.args)):
            yield To(located(ast.Call(node.func, args, node.keywords), node), asks)
        for values in _swaps([word.value for word in node.keywords]):
            words = [keyword(word.arg, value) for word, value in zip(node.keywords, values, strict=True)]
            yield To(located(ast.Call(node.func, node.args, words), node), asks, more=0.3)
        if isinstance(node.func, ast.Attribute) and len(node.args) == 1 and not isinstance(node.args[0], ast.Starred):
            turned = located(ast.Attribute(node.args[0], node.func.attr, ast.Load()), node)
            if place.kind(node.func.value) is not None:
                yield To(located(ast.Call(turned, [node.func.value], node.keywords), node), asks, more=0.3)
    elif isinstance(node, ast.Tuple | ast.List):
        for elements in _swaps(node.elts):
            yield To(located(type(node)(elements, ast.Load()), node), asks)


@kind("order", cost=1.5)
def order_of_steps(place: Place) -> Iterator[To]:
    """Two steps that follow one another, the other way round: a division after the softmax, or before it."""
    node, asks = place.node, "in {it}, which step comes first?"
    if isinstance(node, ast.BinOp):
        for again, of in _calls(node.left):
            yield To(again(located(ast.BinOp(of, node.op, node.right), node)), asks)
        for again, of in _calls(node.right):
            yield To(again(located(ast.BinOp(node.left, node.op, of), node)), asks)
    for again, of in _calls(node):
        if isinstance(of, ast.BinOp):
            yield To(located(ast.BinOp(again(of.left), of.op, of.right), node), asks)
            yield To(located(ast.BinOp(of.left, of.op, again(of.right)), node), asks, more=0.1)
        yield from (To(outer(again(inner)), asks) for outer, inner in _calls(of))


@kind("grouping", cost=1.2)
def grouping(place: Place) -> Iterator[To]:
    """Parentheses that are missing: a factor of the first term alone, a condition that chooses more than it should."""
    node, asks = place.node, "in {it}, what belongs together, and are there parentheses around it?"
    if isinstance(node, ast.BinOp):
        spine: list[ast.BinOp] = [node]  # from the top down to the left
        while isinstance(spine[-1].left, ast.BinOp):
            spine.append(spine[-1].left)
        for depth in range(1, len(spine)):
            first = spine[depth]
            rest = first.right
            for outer in reversed(spine[:depth]):
                rest = located(ast.BinOp(rest, outer.op, outer.right), node)
            yield To(located(ast.BinOp(first.left, first.op, rest), node), asks)
        if isinstance(node.right, ast.BinOp):
            inner = located(ast.BinOp(node.left, node.op, node.right.left), node)
            yield To(located(ast.BinOp(inner, node.right.op, node.right.right), node), asks, more=0.1)
    elif isinstance(node, ast.IfExp):
        asks = "in {it}, what does the condition choose between: is all of it meant?"
        if isinstance(node.body, ast.BinOp):
            chosen = located(ast.IfExp(node.test, node.body.right, node.orelse), node)
            yield To(located(ast.BinOp(node.body.left, node.body.op, chosen), node), asks)
        if isinstance(node.orelse, ast.BinOp):
            chosen = located(ast.IfExp(node.test, node.body, node.orelse.left), node)
            yield To(located(ast.BinOp(chosen, node.orelse.op, node.orelse.right), node), asks)
    elif isinstance(node, ast.Compare) and isinstance(node.left, ast.UnaryOp):
        compared = located(ast.Compare(node.left.operand, node.ops, node.comparators), node)
        yield To(located(ast.UnaryOp(node.left.op, compared), node), asks)


def _calls(node: ast.expr) -> Iterator[tuple[Callable[[ast.expr], ast.expr], ast.expr]]:
    """The same call of something else, and what it is a call of: the object of a method, or a first argument."""
    if not isinstance(node, ast.Call):
        return
    args, words = node.args, node.keywords
    if isinstance(node.func, ast.Attribute):
        name = node.func.attr
        yield (
            lambda of: located(ast.Call(located(ast.Attribute(of, name, ast.Load()), of), args, words), of),
            node.func.value,
        )
    if args and not isinstance(args[0], ast.Starred):
        yield lambda of: located(ast.Call(node.func, [of, *args[1:]], words), of), args[0]


def _swaps(parts: list[ast.expr]) -> Iterator[list[ast.expr]]:
    """All ways to let two of at most six parts change places."""
    if len(parts) <= 6:
        for a, b in itertools.combinations(range(len(parts)), 2):
            swapped = list(parts)
            swapped[a], swapped[b] = parts[b], parts[a]
            yield swapped


def _exchanges(args: list[ast.expr]) -> Iterator[list[ast.expr]]:
    """Two variables in each other's place, of which one is given more than once: `f(y, x, x)` for `f(x, y, y)`."""
    given = [arg.id for arg in args if isinstance(arg, ast.Name)]
    for a, b in itertools.combinations(dict.fromkeys(given), 2):
        if given.count(a) + given.count(b) > 2:
            other = {a: b, b: a}
            yield [
                located(ast.Name(other[arg.id], ast.Load()), arg)
                if isinstance(arg, ast.Name) and arg.id in other
                else arg
                for arg in args
            ]


ORDERS = (order, order_of_steps, grouping)
