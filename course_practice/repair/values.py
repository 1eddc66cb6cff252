"""Edits of values: constants and axes, signs and negations, operators, comparisons, roots."""

import ast
import builtins
from collections.abc import Iterator

from course_practice.repair.kinds import To, kind
from course_practice.repair.places import Place, fill, located

_AXIS_WORDS = {"dim", "axis", "dims", "axes", "dim0", "dim1", "axis0", "axis1", "start_dim", "end_dim", "source"}
_REORDER = {"transpose", "swapaxes", "swapdims", "permute", "movedim", "moveaxis"}
_REDUCE = {"sum", "mean", "amax", "amin", "max", "min", "prod", "std", "var", "norm", "any", "all", "logsumexp"}
_ALONG = {"softmax", "log_softmax", "argmax", "argmin", "cumsum", "cumprod", "sort", "flip", "chunk", "split", "cat"}
_ALONG |= {"stack", "unbind", "flatten", "unflatten", "gather", "select", "narrow", "softmin", "cosine_similarity"}
_NEW_AXIS = {"unsqueeze", "squeeze", "expand_dims"}
_CUT = {"tril", "triu", "diag", "diagonal", "tri"}


def whole_number(node: ast.AST) -> int | None:
    """The value of an integer constant, also of a negative one."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = whole_number(node.operand)
        return None if inner is None else -inner
    is_int = isinstance(node, ast.Constant) and type(node.value) is int
    return node.value if is_int else None


def _role(place: Place) -> str:
    """What an integer constant says: the name of the function whose axis it is, "shape", "part", or nothing."""
    inner = place.above if isinstance(place.parent, ast.UnaryOp | ast.Tuple | ast.List) else None
    around = place if inner is None else inner
    if isinstance(around.parent, ast.Subscript) and around.field == "slice":
        of = around.parent.value
        return "shape" if getattr(of, "attr", "") == "shape" else "part"
    counted = place.above if isinstance(place.parent, ast.BinOp) else place
    if isinstance(counted.parent, ast.Slice) or counted.called in ("range", "arange"):
        return "part"
    if isinstance(around.parent, ast.keyword):
        call = around.above.node if around.above is not None else None
        name = place.called or (call and getattr(getattr(call, "func", None), "attr", ""))
        return (name or "axis") if around.parent.arg in _AXIS_WORDS else ""
    called = around.called
    if called == "size":
        return "shape"
    if called in vars(builtins) and isinstance(around.call.func, ast.Name):
        return ""  # Python's own `min` and `sum` have no axis
    return called if called in _REORDER | _REDUCE | _ALONG | _NEW_AXIS | _CUT else ""


def _asks_about(role: str) -> str:
    if role == "shape":
        return "which axis does the size {it} come from?"
    if role in _REORDER:
        return "in {it}, which axes should change places?"
    if role in _NEW_AXIS:
        return "in {it}, at which place does the axis belong?"
    if role in _CUT:
        return "in {it}, where does the triangle end: is the diagonal in or out?"
    if role == "part":
        return "in {it}, is the count right: where does it begin, where does it end?"
    return "along which axis does {it} go?" if role else "is {it} the right number?"


def _number(value: float, at: ast.AST) -> ast.expr:
    if value == float("-inf"):
        return fill('float("-inf")', at)
    made = located(ast.Constant(abs(value)), at)
    return located(ast.UnaryOp(ast.USub(), made), at) if value < 0 else made


@kind("constant", cost=1.0)
def constants(place: Place) -> Iterator[To]:
    """Another axis, another number, True for False."""
    node, value = place.node, whole_number(place.node)
    if isinstance(place.parent, ast.UnaryOp) and isinstance(place.parent.op, ast.USub):
        return  # the whole negative number is a place of its own
    if value is not None:
        role = _role(place)
        about = (_call_around(place) if role else None) or node
        if role and role != "part" and role not in _CUT:
            others = (-1, -2, 0, 1, 2, 3, -3)
        else:
            others = dict.fromkeys((value - 1, value + 1, -value, 0, 1, -1, 2, 2 * value))
        for other in others:
            if other != value:
                yield To(_number(other, node), _asks_about(role), about, more=0.02 * abs(other - value))
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield To(located(ast.Constant(not node.value), node), "should this be {it}?")
    elif isinstance(node, ast.Constant) and isinstance(node.value, float):
        for other in dict.fromkeys((0.0, 1.0, -node.value, 0.5, 2.0, float("-inf"), node.value * 1e-3)):
            if other != node.value:
                yield To(_number(other, node), "is {it} the right number?")
    elif isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        yield To(_number(float("-inf"), node), "is {it} the right number, whatever the input?", more=0.1)


@kind("fixed", cost=1.6)
def fixed(place: Place) -> Iterator[To]:
    """A number that suits one size only, where the size itself is meant, or its root."""
    node = place.node
    is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value >= 2
    is_power = isinstance(place.parent, ast.BinOp) and isinstance(place.parent.op, ast.Pow) and place.field == "right"
    if not is_number or is_power or isinstance(place.parent, ast.UnaryOp) or _role(place):
        return
    for name, seen in place.around.variables.items():
        if seen is not None and seen.what in ("number", "tensor"):
            size = name if seen.what == "number" else f"{name}.shape[-1]"
            for form, more in ((size, 0.0), (f"{size} ** 0.5", 0.3)):
                yield To(fill(form, node), "is {it} right, whatever the sizes are?", more=more)


def _call_around(place: Place) -> ast.AST | None:
    """The call or index that a constant stands in: what a reader would point at."""
    above = place.above
    while above is not None and not isinstance(above.node, ast.Call | ast.Subscript):
        above = above.above
    return above.node if above is not None else None


@kind("sign", cost=1.1)
def signs(place: Place) -> Iterator[To]:
    """A minus or a negation too much, or too few."""
    node = place.node
    if isinstance(node, ast.UnaryOp):
        if not isinstance(node.operand, ast.Constant) and not isinstance(node.op, ast.UAdd):
            word = "minus" if isinstance(node.op, ast.USub) else "negation"
            yield To(node.operand, f"is the {word} in {{it}} right?")
        return
    if isinstance(node, ast.Constant | ast.Tuple | ast.List | ast.Dict | ast.Starred | ast.GeneratorExp):
        return
    seen = place.kind()
    if seen is None or seen.boolean:
        tensor = seen is None or seen.what == "tensor"
        yield To(fill("~X" if tensor else "not X", node, X=node), "{it}: is True what should be True?", more=0.2)
    if place.may_be("tensor", "number") and not (seen and seen.boolean):
        yield To(fill("-X", node, X=node), "is the sign of {it} right?", more=0.3)
    if seen is None or seen.what == "truth":
        yield To(fill("not X", node, X=node), "{it}: is True what should be True?", more=0.2)


_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_LOGICAL = (ast.BitAnd, ast.BitOr, ast.BitXor)


def _other_operators(op: ast.operator, tensor: bool, number: bool) -> tuple[type[ast.operator], ...]:
    """The operators that are written for one by mistake, for tensors and for numbers."""
    if isinstance(op, _LOGICAL):
        return (*_LOGICAL, ast.Mult)
    logical = (ast.BitAnd, ast.BitOr) if isinstance(op, ast.Add | ast.Mult) else ()
    return (*_ARITHMETIC, *((ast.MatMult, *logical) * tensor), *((ast.FloorDiv, ast.Mod) * number))


@kind("operator", cost=1.0)
def operators(place: Place) -> Iterator[To]:
    """One operator for another."""
    node = place.node
    asks = "in {it}, is the operator the right one?"
    if isinstance(node, ast.BinOp):
        for other in _other_operators(node.op, place.may_be("tensor"), place.may_be("number")):
            if not isinstance(node.op, other):
                more = 0.6 * (whole_number(node.right) == 1)  # that counts something
                yield To(located(ast.BinOp(node.left, other(), node.right), node), asks, more=more)
        if isinstance(node.op, ast.FloorDiv):
            rounded = fill("-(-L // R)", node, L=node.left, R=node.right)
            yield To(rounded, "is {it} right where the division leaves a rest?")
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield To(located(ast.BoolOp(other, node.values), node), asks)
        if len(node.values) == 2:
            for op in ("&", "|"):
                yield To(fill(f"L {op} R", node, L=node.values[0], R=node.values[1]), asks)


_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


@kind("comparison", cost=1.0)
def comparisons(place: Place) -> Iterator[To]:
    """One comparison for another."""
    node = place.node
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], _COMPARISONS):
        for other in _COMPARISONS:
            if not isinstance(node.ops[0], other):
                made = located(ast.Compare(node.left, [other()], node.comparators), node)
                yield To(made, "in {it}, is the comparison the right one, also where both are equal?")


@kind("root", cost=1.3)
def roots(place: Place) -> Iterator[To]:
    """A root or a power too much, or too few."""
    node = place.node
    if isinstance(node, ast.Call) and "sqrt" in ast.unparse(node.func):
        of = node.args[0] if node.args else getattr(node.func, "value", None)
        if of is not None:
            yield To(of, "is the root in {it} right?")
            yield To(fill("X ** 0.5", node, X=node), "is one root enough in {it}?", more=0.5)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        for power in (0.5, -0.5, 1.0, 2.0, -1.0):
            yield To(fill(f"X ** {power}", node, X=node.left), "is the power in {it} right?")
    elif place.may_be("tensor", "number") and not isinstance(node, ast.Constant | ast.Tuple | ast.Slice):
        root = "math.sqrt(X)" if "math" in place.around.scope and place.axes is None else "X ** 0.5"
        yield To(fill(root, node, X=node), "is {it} itself meant, or a root or a power of it?", more=0.3)
        yield To(fill("X ** 2", node, X=node), "is {it} itself meant, or a root or a power of it?", more=0.6)


VALUES = (constants, fixed, signs, operators, comparisons, roots)
