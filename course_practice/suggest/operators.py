"""Edits that no template says: numbers by the part they play, names that are written for one another, letters.

A mutation operator is a generator over one place. It gives, cheapest first, what may stand there instead.
"""

import ast
import builtins
import itertools
from collections.abc import Iterator

from course_practice.suggest.edits import Edit, Place
from course_practice.suggest.templates import is_named_constant, located, written

REDUCE = {"sum", "mean", "amax", "amin", "max", "min", "prod", "std", "var", "norm", "any", "all", "logsumexp"}
_AXIS_WORDS = {"dim", "axis", "dims", "axes", "dim0", "dim1", "axis0", "axis1", "start_dim", "end_dim", "source"}
_REORDER = {"transpose", "swapaxes", "swapdims", "permute", "movedim", "moveaxis"}
_ALONG = {"softmax", "log_softmax", "argmax", "argmin", "cumsum", "cumprod", "sort", "flip", "chunk", "split", "cat"}
_ALONG |= {"stack", "unbind", "flatten", "unflatten", "gather", "select", "narrow", "softmin", "cosine_similarity"}
_NEW_AXIS = {"unsqueeze", "squeeze", "expand_dims"}
_TRIANGLE = {"tril", "triu", "diag", "diagonal", "tri"}
AXIS = "along which axis does {it} go?"
_AXIS_QUESTIONS = [
    ({"shape"}, "which axis does the size {it} come from?"),
    ({"part"}, "in {it}, is the count right: where does it begin, where does it end?"),
    (_REORDER, "in {it}, which axes should change places?"),
    (_NEW_AXIS, "in {it}, at which place does the axis belong?"),
    (_TRIANGLE, "in {it}, where does the triangle end: is the diagonal in or out?"),
]

# Names that are written for one another; the first line holds pairs that are each other's opposite.
_OPPOSITES = ("min max", "amin amax", "argmin argmax", "minimum maximum", "tril triu", "any all", "stack cat")
_OPPOSITES += ("chunk split", "view reshape", "sin cos")
_ALIKE = (
    *_OPPOSITES,
    "softmax log_softmax sigmoid softmin exp",
    "sum mean prod max amax min amin logsumexp norm std var median numel",
    "any all max min sum",
    "zeros ones empty eye rand randn full",
    "zeros_like ones_like empty_like rand_like randn_like",
    "view reshape transpose permute",
    "transpose permute flip swapaxes",
    "stack cat concat hstack vstack",
    "split tensor_split",
    "exp log sqrt square exp2 log1p expm1 rsqrt",
    "tanh sigmoid relu gelu sin cos softmax",
    "argmax argmin max min",
    "maximum minimum fmax fmin",
    "add sub mul div matmul mm bmm dot mv einsum",
    "squeeze unsqueeze flatten",
    "repeat expand tile repeat_interleave expand_as",
    "eq ne lt le gt ge",
    "equal not_equal less less_equal greater greater_equal",
    "logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor",
    "float double half int long bool",
    "size shape",
    "ceil floor round trunc",
    "append extend insert",
    "min max sum len any all abs",
    "range reversed enumerate list",
    "clone detach contiguous",
    "values indices",
    "masked_fill masked_fill_",
    "min tiny max eps",
    "keys values items",
    "zip product",
)


def _groups(lines: tuple[str, ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for names in map(str.split, lines):
        for name in names:
            found[name] = list(dict.fromkeys([*found.get(name, []), *(other for other in names if other != name)]))
    return found


_OPPOSITE_OF, _ALIKE_TO = _groups(_OPPOSITES), _groups(_ALIKE)


def whole_number(node: ast.AST) -> int | None:
    """The value of an integer constant, also of a negative one."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = whole_number(node.operand)
        return None if inner is None else -inner
    is_int = isinstance(node, ast.Constant) and type(node.value) is int
    return node.value if is_int else None


def role(place: Place) -> str:
    """What an integer constant says: the name of the function whose axis it is, "shape", "part", or nothing."""
    inner = place.above if isinstance(place.parent, ast.UnaryOp | ast.Tuple | ast.List) else None
    outer = place if inner is None else inner
    if isinstance(outer.parent, ast.Subscript) and outer.field == "slice":
        return "shape" if getattr(outer.parent.value, "attr", "") == "shape" else "part"
    counted = place.above if isinstance(place.parent, ast.BinOp) else place
    if isinstance(counted.parent, ast.Slice) or counted.called in ("range", "arange"):
        return "part"
    if isinstance(outer.parent, ast.keyword):
        call = outer.above.node if outer.above is not None else None
        name = place.called or (call and getattr(getattr(call, "func", None), "attr", ""))
        return (name or "axis") if outer.parent.arg in _AXIS_WORDS else ""
    called = outer.called
    if called == "size":
        return "shape"
    if called in vars(builtins) and isinstance(outer.call.func, ast.Name):
        return ""  # Python's own `min` and `sum` have no axis
    return called if called in _REORDER | REDUCE | _ALONG | _NEW_AXIS | _TRIANGLE else ""


def _number(value: float, at: ast.AST) -> ast.expr:
    if value == float("-inf"):
        return written('float("-inf")', at)
    made = located(ast.Constant(abs(value)), at)
    return located(ast.UnaryOp(ast.USub(), made), at) if value < 0 else made


def constants(place: Place) -> Iterator[Edit]:
    """Another axis, another number, True for False."""
    node, value, question = place.node, whole_number(place.node), "is {it} the right number?"
    if isinstance(place.parent, ast.UnaryOp) and isinstance(place.parent.op, ast.USub):
        return  # the whole negative number is a place of its own
    if value is not None:
        part = role(place)
        others = (-1, -2, 0, 1, 2, 3, -3)
        if part in ("", "part") or part in _TRIANGLE:
            others = dict.fromkeys((value - 1, value + 1, -value, 0, 1, -1, 2, 2 * value))
        if part:
            question = next(
                (asked for names, asked in _AXIS_QUESTIONS if part in names), "along which axis does {it} go?"
            )
        about = (_call_around(place) if part else None) or node
        for other in others:
            if other != value:
                cost = 1.0 + 0.02 * abs(other - value) + 0.4 * (other < 0 <= value and not part)
                yield place.edit("constant", cost, question, _number(other, node), about)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield place.edit("constant", 1.0, "should this be {it}?", located(ast.Constant(not node.value), node))
    elif isinstance(node, ast.Constant) and isinstance(node.value, float):
        for other in dict.fromkeys((0.0, 1.0, -node.value, 0.5, 2.0, float("-inf"), node.value * 1e-3)):
            if other != node.value:
                yield place.edit("constant", 1.0, question, _number(other, node))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        question = "is {it} the right number, whatever the input?"
        yield place.edit("constant", 1.1, question, _number(float("-inf"), node))


def _call_around(place: Place) -> ast.AST | None:
    """The call or index that a constant stands in: what a reader would point at."""
    above = place.above
    while above is not None and not isinstance(above.node, ast.Call | ast.Subscript):
        above = above.above
    return above.node if above is not None else None


def sizes(place: Place) -> Iterator[Edit]:
    """A size, or its root, where a number stands that suits one size only."""
    node = place.node
    is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value >= 2
    is_power = isinstance(place.parent, ast.BinOp) and isinstance(place.parent.op, ast.Pow) and place.field == "right"
    if not is_number or is_power or isinstance(place.parent, ast.UnaryOp) or role(place):
        return
    for name, seen in place.context.variables.items():
        if seen is not None and seen.kind in ("number", "tensor"):
            size = name if seen.kind == "number" else f"{name}.shape[-1]"
            for form, cost in ((size, 1.6), (f"{size} ** 0.5", 1.9)):
                yield place.edit("fixed", cost, "is {it} right, whatever the sizes are?", written(form, node))


def names(place: Place) -> Iterator[Edit]:
    """One variable for another, first those of the same kind; one attribute of `self` for another."""
    node, context, shown = place.node, place.context, place.shown
    question = "is {it} the one that is meant here?"
    if shown is not node:
        question = f"in {{it}}, is `{ast.unparse(node)}` the one that is meant?"
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float | None):
        number = type(node.value) in (int, float)
        for name, seen in context.variables.items():
            if "." not in name and (seen is None or not number or seen.kind == "number"):
                yield place.edit("name", 2.3, "is {it} right for every input?", written(name, node))
    elif isinstance(node, ast.Name) and not place.is_called and not callable(context.scope.get(node.id)):
        here = place.observed()
        for name in filter(str.isupper, context.scope if is_named_constant(node) else ()):
            if name != node.id and type(context.scope[name]) is type(context.scope.get(node.id)):
                yield place.edit("name", 1.2, question, located(ast.Name(name, ast.Load()), node), shown)
        for name, seen in context.variables.items():
            alike = here is None or seen is None or seen.kind == here.kind or isinstance(place.parent, ast.Attribute)
            if name != node.id:
                cost = 2.0 if alike else 2.6
                yield place.edit("name", cost, question, located(ast.Name(name, ast.Load()), node), shown)
    elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self":
        for name in (name for name in context.variables if name.startswith("self.")):
            if name != f"self.{node.attr}":
                yield place.edit("name", 2.0, question, written(name, node), shown)


def alike(place: Place) -> Iterator[Edit]:
    """One function or method for another."""
    node = place.node
    about = place.above.node if place.is_called and place.above is not None else node
    question = "is {it} the right function here?" if place.is_called else "is {it} what is wanted here?"
    if isinstance(node, ast.Attribute):
        called = node.attr.rstrip("_")
    elif isinstance(node, ast.Name) and place.is_called and node.id not in place.context.variables:
        called = node.id
    else:
        return
    for name in _ALIKE_TO.get(called, ()):
        load = ast.Load()
        new = ast.Attribute(node.value, name, load) if isinstance(node, ast.Attribute) else ast.Name(name, load)
        cost = 0.95 if name in _OPPOSITE_OF.get(called, ()) else 2.1
        yield place.edit("method", cost, question, located(new, node), about)


def in_place(place: Place) -> Iterator[Edit]:
    """Write into a tensor, or make a new one."""
    node = place.node
    if not isinstance(node, ast.Attribute) or not place.is_called:
        return
    name, cost, question = f"{node.attr}_", 2.5, "does {it} change anything, or only make something new?"
    if node.attr.endswith("_"):
        name, cost, question = node.attr[:-1], 1.0, "does {it} write into a tensor that others still use?"
    about = place.above.node if place.above is not None else node
    yield place.edit("in-place", cost, question, located(ast.Attribute(node.value, name, ast.Load()), node), about)


LETTERS = "in {it}, which letters are shared, which are summed over, and in which order do they come out?"


def letters(place: Place) -> Iterator[Edit]:
    """The letters of an einsum, and the words of einops."""
    node = place.node
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and (place.called == "einsum" or "->" in node.value)
    ):
        words = " " in node.value.split("->")[0].split(",")[0].strip()
        for text, more in _other_words(node.value) if words else _other_letters(node.value):
            yield place.edit("letters", 1.0 + more, LETTERS, located(ast.Constant(text), node))


def _other_letters(text: str) -> Iterator[tuple[str, float]]:
    known = sorted({letter for letter in text if letter.isalpha()})
    free = next(letter for letter in "zyxwvuts" if letter not in known)
    spots = [number for number, letter in enumerate(text) if letter.isalpha()]
    for a, b in itertools.combinations(spots, 2):
        if text[a] != text[b] and not any(mark in text[a:b] for mark in ",>"):
            yield f"{text[:a]}{text[b]}{text[a + 1 : b]}{text[a]}{text[b + 1 :]}", 0.0
    for spot in spots:
        yield from ((f"{text[:spot]}{new}{text[spot + 1 :]}", 0.1) for new in [*known, free] if new != text[spot])
        yield f"{text[:spot]}{text[spot + 1 :]}", 0.2
    for spot in range(len(text) + 1):
        yield from ((f"{text[:spot]}{new}{text[spot:]}", 0.3) for new in known)
    inputs, arrow, output = text.partition("->")
    first, comma, second = inputs.partition(",")
    if comma and "," not in second:
        yield f"{second},{first}{arrow}{output}", 0.4
    for a, b in itertools.combinations(known, 2) if arrow else ():  # two letters for one another in one part
        table = str.maketrans({a: b, b: a})
        yield f"{inputs}->{output.translate(table)}", 0.4
        yield f"{first.translate(table)}{comma}{second}{arrow}{output}", 0.5
        yield f"{first}{comma}{second.translate(table)}{arrow}{output}", 0.5


def _other_words(text: str) -> Iterator[tuple[str, float]]:
    inputs, _, output = (part.strip() for part in text.partition("->"))
    for side, words in enumerate((inputs.split(), output.split())):
        for a, b in itertools.combinations(range(len(words)), 2):
            swapped = list(words)
            swapped[a], swapped[b] = words[b], words[a]
            yield (f"{inputs} -> {' '.join(swapped)}" if side else f"{' '.join(swapped)} -> {output}"), 0.0


FIRST_OPERATORS = (constants, letters, in_place, sizes, alike)
LATER_OPERATORS = (names,)
