"""The table of edits at work: which of its lines may be meant at a place, and what they put there."""

import ast
import functools
from collections.abc import Callable, Iterator

import torch

from course_practice.suggest.edits import Context, Edit, Place
from course_practice.suggest.observed import Observed
from course_practice.suggest.operators import whole_number
from course_practice.suggest.patterns import MISSING, NAMES, Pattern
from course_practice.suggest.templates import Bindings, expression, fill, in_context, is_named_constant, matches


def _observed(*kinds: str) -> Callable[[Place, Bindings], bool]:
    return lambda place, bound: place.may_be(*kinds)


def _signed(place: Place, bound: Bindings) -> bool:
    boolean = place.observed() is not None and place.observed().boolean
    return _plain(place, bound) and place.may_be("tensor", "number") and not boolean


def _booleans(place: Place, bound: Bindings) -> bool:
    boolean = place.observed() is None or place.observed().boolean
    return _plain(place, bound) and place.may_be("tensor") and boolean


def _renamed(place: Place, bound: Bindings) -> bool:
    return isinstance(place.parent, ast.Assign) and isinstance(place.node, ast.Name) and place.may_be("tensor")


def _rooted(place: Place, bound: Bindings) -> bool:
    fixed = isinstance(place.node, ast.Constant | ast.Tuple | ast.Slice) or is_named_constant(place.node)
    value, parent = place.observed() and place.observed().value, place.parent
    in_a_sum = isinstance(getattr(parent, "op", parent), ast.Add | ast.Sub | ast.FloorDiv | ast.Slice | ast.Subscript)
    counts = type(value) is int and in_a_sum
    ids = isinstance(value, torch.Tensor) and not value.is_floating_point() and isinstance(parent, ast.Call)
    return place.may_be("tensor", "number") and not (fixed or counts or ids)


def _plain(place: Place, bound: Bindings) -> bool:
    others = ast.Constant | ast.Tuple | ast.List | ast.Dict | ast.Starred | ast.GeneratorExp | ast.UnaryOp
    return not isinstance(place.node, others)


def _counted(place: Place, bound: Bindings) -> bool:
    counts = isinstance(place.parent, ast.Slice | ast.Compare | ast.Call | ast.Subscript | ast.BinOp | ast.Assign)
    fixed = isinstance(place.node, ast.Constant | ast.Slice | ast.Starred) or is_named_constant(place.node)
    return counts and place.may_be("number") and not fixed


def _row_of_numbers(place: Place, bound: Bindings) -> bool:
    seen = place.observed(bound["Y"])
    return seen is not None and seen.kind == "tensor" and seen.axes == 1 and not seen.boolean


def _no_function(place: Place, bound: Bindings) -> bool:
    seen = place.observed(bound["X"])
    return not place.is_called and seen is not None and seen.kind != "other"


def _can_be_followed(place: Place) -> bool:
    others = ast.Constant | ast.Tuple | ast.Starred | ast.Slice
    return not isinstance(place.node, others) and not place.is_called and not place.is_asked


_COMMUTATIVE = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr)
_CONDITIONS: dict[str, Callable[[Place, Bindings], bool]] = {
    "": lambda place, bound: True,
    "no shape": lambda place, bound: getattr(place.node.value, "attr", "") != "shape",
    "no constant": lambda place, bound: not isinstance(bound["X"], ast.Constant),
    "no function": _no_function,
    "counts nothing": lambda place, bound: whole_number(bound["Y"]) != 1,
    "not commutative": lambda place, bound: not isinstance(bound["∘"], _COMMUTATIVE),
    "signed": _signed,
    "booleans": _booleans,
    "truth": lambda p, b: _plain(p, b) and p.may_be("truth"),
    "tensor": _observed("tensor"),
    "number": _observed("number"),
    "several": _observed("several", "other"),
    "numbers": lambda place, bound: place.may_be("tensor") and not (place.observed() and place.observed().boolean),
    "rooted": _rooted,
    "rooted number": lambda p, b: "math" in p.context.scope and p.axes is None and _rooted(p, b),
    "no texts": lambda place, bound: not isinstance(getattr(bound["Y"], "value", None), str),
    "sqrt": lambda place, bound: "sqrt" in ast.unparse(bound["F"]),
    "counted": _counted,
    "renamed": _renamed,
    "few arguments": lambda place, bound: len(place.node.args) <= 4,
    "Y is a row of numbers": _row_of_numbers,
}


def edits_at(place: Place, table: tuple[Pattern, ...]) -> Iterator[Edit]:
    """The edits of a table at a place."""
    for pattern in table:
        if pattern.question is not MISSING or _can_be_followed(place):
            holds = functools.partial(_holds, pattern, place)
            for new in replacements(pattern, place.node, expression, place.context, holds):
                new = in_context(new, getattr(place.node, "ctx", ast.Load()))
                yield place.edit(pattern.operator, pattern.cost, pattern.question, new)


def replacements(
    pattern: Pattern, node: ast.AST, read: Callable[[str], ast.AST], context: Context, holds: Callable[[Bindings], bool]
) -> Iterator[ast.AST]:
    """What a line of a table puts in the place of a node; `read` makes trees of its templates."""
    for template in _templates(pattern.pattern, read):
        if type(template) is type(node) or isinstance(template, ast.Name):
            for bound in filter(holds, matches(template, node, NAMES)):
                for other in _templates(pattern.replacements, read):
                    for all_bound in _with_variables(other, bound, context):
                        yield fill(other, all_bound, node)


@functools.cache
def _templates(texts: str, read: Callable[[str], ast.AST]) -> list[ast.AST]:
    return [read(text) for text in texts.split(";")]


def _holds(pattern: Pattern, place: Place, bound: Bindings) -> bool:
    name, _, axes = pattern.where.rpartition(" ") if pattern.where[-1:].isdigit() else (pattern.where, "", "0")
    enough = place.axes is None or place.axes >= int(axes)
    return enough and _CONDITIONS[name](place, bound)


def _with_variables(template: ast.AST, bound: Bindings, context: Context) -> Iterator[Bindings]:
    """What was matched, and each variable for the letter that stands for one."""
    letter = next((name for name in _letters_of(template) if name not in bound), None)
    if letter is None:
        yield bound
        return
    for name, seen in context.variables.items():
        if name != getattr(bound.get("X"), "id", None) and _VARIABLES[letter](name, seen, context):
            yield {**bound, letter: expression(name)}


_VARIABLES: dict[str, Callable[[str, Observed | None, Context], bool]] = {
    "V": lambda name, seen, context: True,
    "T": lambda name, seen, context: seen is not None and seen.kind == "tensor" and not seen.boolean,
    "N": lambda name, seen, context: seen is None or seen.kind == "number",
    "W": lambda name, seen, context: name in context.undefined,
}


@functools.cache
def _letters_of(template: ast.AST) -> list[str]:
    return [node.id for node in ast.walk(template) if isinstance(node, ast.Name) and node.id in _VARIABLES]
