"""The table of edits: what is written, what may have been meant, how far that is, and what to ask.

How a template is read stands in `templates`. A letter that stands in a replacement alone is a variable of the
learner's: `V` any, `T` a tensor, `N` a number, and `W` one that is used but never set. Several templates are separated
by `;`. An edit costs more the stranger the slip would be: cheap ones are tried first. `where` is a condition on the
place, by its name in `CONDITIONS`, or a word of it and a number of axes: `tensor 3` has three axes or more.
"""

import ast
import functools
from collections.abc import Callable, Iterator
from typing import NamedTuple

from course_practice.repair.edits import Context, Edit, Place
from course_practice.repair.observed import Observed
from course_practice.repair.operators import AXIS, REDUCE, whole_number
from course_practice.repair.templates import (
    Bindings,
    expression,
    fill,
    in_context,
    matches,
)

NAMES = {
    "REDUCE": REDUCE,
    "SUM": {"sum", "mean", "amax"},
    "ALONG": REDUCE | {"softmax", "log_softmax", "stack", "cat", "argmax", "squeeze", "flip", "chunk"},
    "TRIANGLE": {"tril", "triu"},
    "TURN": {"t", "transpose", "permute", "swapaxes", "swapdims", "movedim", "flip", "view", "reshape", "adjoint"},
    "RANGE": {"range", "arange"},
    "SQRT": {"sqrt"},
}


class Pattern(NamedTuple):
    """One line of the table."""

    operator: str
    cost: float
    pattern: str
    replacements: str
    question: str
    where: str = ""


SIGN, TRUE = "is the sign of {it} right?", "{it}: is True what should be True?"
OPERATOR, COMPARISON = (
    "in {it}, is the operator the right one?",
    "in {it}, is the comparison the right one, also where both are equal?",
)
ROOT, POWER = "is the root in {it} right?", "is the power in {it} right?"
ROOTED = "is {it} itself meant, or a root or a power of it?"
ORDER, STEPS = "in {it}, does the order matter, and is it right?", "in {it}, which step comes first?"
GROUPS = "in {it}, what belongs together, and are there parentheses around it?"
CONDITION = "in {it}, what does the condition choose between: is all of it meant?"
BOUNDS = "in {it}, where does it begin, and where does it end?"
BRACKETS = "in {it}, what does each place between the brackets stand for?"
COUNT = "is {it} the right count: where does it begin, where does it end?"
TURNED = "in {it}, which axes should change places?"
NEEDED, ARGUMENTS = "is every step of {it} needed?", "are the arguments of {it} right?"
CHOICE = "does the condition in {it} choose rightly?"
COMPLETE = "are the arguments of {it} complete?"
KEPT_AXES = "how many axes has {it}, and how many are needed?"
MISSING = "is a step missing right after {it}?"
RESULTS = "what exactly does {it} give: one result, or several?"

_COMPARED = "X < Y; X <= Y; X > Y; X >= Y; X == Y; X != Y"


def _bounds(cost: float, old: str, *new: str) -> Pattern:
    """Other bounds of one part of an index."""
    replacements = "; ".join(f"X[*P, {part}, *Q]" for part in new)
    return Pattern("bounds", cost, f"X[*P, {old}, *Q]", replacements, BOUNDS)


# Of what is between brackets: these are also tried where something is written.
BRACKET_PATTERNS = (
    _bounds(1.1, "A:B", "A:B + 1", "A:B - 1", "A + 1:B", "A - 1:B", "B:A", ":B", "A:"),
    _bounds(1.1, ":B", ":B + 1", ":B - 1", "B:"),
    _bounds(1.1, "A:", "A + 1:", "A - 1:", ":A"),
    _bounds(1.1, ":", "0", "-1", ":-1", "1:"),
    _bounds(1.1, "A::B", "A * B:(A + 1) * B", "A:", "::B"),
    _bounds(1.1, "::B", ":B", "1::B"),
    _bounds(1.1, "A", ":A", "A:", ":A + 1", "A:A + 1", ":"),
    Pattern("new-axis", 1.3, "X[*P, S, *Q, U, *R]", "X[*P, U, *Q, S, *R]", BRACKETS, "no shape"),
    Pattern("new-axis", 1.45, "X[*P, *Q]", "X[*P, None, *Q]; X[*P, :, *Q]", BRACKETS, "no shape"),
    Pattern("new-axis", 1.45, "X[*P, S, *Q]", "X[*P, *Q]", BRACKETS, "no shape"),
    Pattern("new-axis", 1.45, "X[*P]", "X[..., *P]; X[*P, ...]; X[:, *P, None]", BRACKETS, "no shape"),
    Pattern(
        "rows",
        1.3,
        "X[:, Y]",
        "X[range(len(Y)), Y]",
        "{it} means each of these columns in *every* row: is that what is wanted?",
        "Y is a row of numbers",
    ),
)

PATTERNS = (
    # signs and negations
    Pattern("sign", 1.1, "-X", "X", "is the minus in {it} right?", "no constant"),
    Pattern("sign", 1.1, "~X; not X", "X", "is the negation in {it} right?"),
    Pattern("sign", 1.4, "X", "-X", SIGN, "signed"),
    Pattern("sign", 1.3, "X", "~X", TRUE, "booleans"),
    Pattern("sign", 1.3, "X", "not X", TRUE, "truth"),
    # operators
    Pattern("operator", 1.0, "X ∘ Y", "X + Y; X - Y; X * Y; X / Y", OPERATOR, "counts nothing"),
    Pattern("operator", 1.6, "X ∘ 1", "X + 1; X - 1", OPERATOR),
    Pattern("operator", 1.0, "X ∘ Y", "X @ Y; X & Y; X | Y", OPERATOR, "tensor"),
    Pattern("operator", 1.0, "X ∘ Y", "X // Y; X % Y", OPERATOR, "number"),
    Pattern("operator", 1.0, "X // Y", "-(-X // Y)", "is {it} right where the division leaves a rest?"),
    Pattern("operator", 1.0, "X and Y", "X or Y; X & Y; X | Y", OPERATOR),
    Pattern("operator", 1.0, "X or Y", "X and Y; X & Y; X | Y", OPERATOR),
    Pattern("comparison", 1.0, _COMPARED, _COMPARED, COMPARISON),
    Pattern("comparison", 1.0, "X in Y", "X not in Y", COMPARISON),
    Pattern("comparison", 1.0, "X not in Y", "X in Y", COMPARISON),
    # roots and powers
    Pattern("root", 1.3, "F(X)", "X", ROOT, "sqrt"),
    Pattern("root", 1.3, "X.sqrt()", "X", ROOT),
    Pattern("root", 1.8, "X.sqrt(); math.sqrt(X); torch.sqrt(X)", "X ** 0.5", "is one root enough in {it}?"),
    Pattern("root", 1.3, "X ** Y", "X ** 0.5; X ** -0.5; X; X ** 2; X ** -1", POWER),
    Pattern("root", 1.6, "X", "math.sqrt(X)", ROOTED, "rooted number"),
    Pattern("root", 1.6, "X", "X ** 0.5", ROOTED, "rooted"),
    Pattern("root", 1.9, "X", "X ** 2", ROOTED, "rooted"),
    Pattern("factor", 1.85, "X", "2 * X; X / 2", "is a factor missing at {it}, or is there one too many?", "rooted"),
    # order
    Pattern("order", 1.2, "X ∘ Y", "Y ∘ X", ORDER, "not commutative"),
    Pattern("order", 1.2, "X(*A, Y, *B, Z, *C, **K)", "X(*A, Z, *B, Y, *C, **K)", ORDER),
    Pattern("order", 1.2, "X(Y, Z, Z, *A, **K)", "X(Z, Y, Y, *A, **K)", ORDER),
    Pattern("order", 1.2, "X(Y, Z, Y, *A, **K)", "X(Z, Y, Z, *A, **K)", ORDER),
    Pattern("order", 1.2, "X(Y, Y, Z, *A, **K)", "X(Z, Z, Y, *A, **K)", ORDER),
    Pattern("order", 1.5, "X(*A, **K, _1=Y, **L, _2=Z, **M)", "X(*A, **K, _1=Z, **L, _2=Y, **M)", ORDER),
    Pattern("order", 1.5, "X.f(Y, **K)", "Y.f(X, **K)", ORDER),
    Pattern("order", 1.2, "(*A, X, *B, Y, *C)", "(*A, Y, *B, X, *C)", ORDER),
    Pattern("order", 1.2, "[*A, X, *B, Y, *C]", "[*A, Y, *B, X, *C]", ORDER),
    Pattern("order", 1.5, "X.f(*A, **K) ∘ Y; X ∘ Y.f(*A, **K)", "(X ∘ Y).f(*A, **K)", STEPS),
    Pattern("order", 1.5, "F(X, *A, **K) ∘ Y; X ∘ F(Y, *A, **K)", "F(X ∘ Y, *A, **K)", STEPS),
    Pattern("order", 1.5, "(X ∘ Y).f(*A, **K)", "X.f(*A, **K) ∘ Y; X ∘ Y.f(*A, **K)", STEPS),
    Pattern("order", 1.5, "F(X ∘ Y, *A, **K)", "F(X, *A, **K) ∘ Y; X ∘ F(Y, *A, **K)", STEPS),
    Pattern("order", 1.5, "X.f(*A, **K).g(*B, **L)", "X.g(*B, **L).f(*A, **K)", STEPS),
    Pattern("order", 1.5, "F(X.f(*A, **K), *B, **L)", "F(X, *B, **L).f(*A, **K)", STEPS),
    Pattern("order", 1.5, "F(X, *A, **K).f(*B, **L)", "F(X.f(*B, **L), *A, **K)", STEPS),
    Pattern("order", 1.5, "F(G(X, *A, **K), *B, **L)", "G(F(X, *B, **L), *A, **K)", STEPS),
    # parentheses
    Pattern("grouping", 1.2, "X ∘ Y ∙ Z", "X ∘ (Y ∙ Z)", GROUPS),
    Pattern("grouping", 1.2, "(X ∘ Y) ∙ Z", "X ∘ (Y ∙ Z)", GROUPS),
    Pattern("grouping", 1.2, "((X ∘ Y) ∙ Z) ⋄ C", "X ∘ ((Y ∙ Z) ⋄ C)", GROUPS),
    Pattern("grouping", 1.3, "X ∘ (Y ∙ Z)", "(X ∘ Y) ∙ Z", GROUPS),
    Pattern("grouping", 1.2, "X ∘ Y if C else Z", "X ∘ (Y if C else Z)", CONDITION),
    Pattern("grouping", 1.2, "X if C else Y ∘ Z", "(X if C else Y) ∘ Z", CONDITION),
    Pattern("grouping", 1.2, "-X < Y", "-(X < Y)", CONDITION),
    Pattern("grouping", 1.2, "~X == Y", "~(X == Y)", CONDITION),
    Pattern("grouping", 1.2, "~X != Y", "~(X != Y)", CONDITION),
    # counts
    Pattern("bounds", 1.1, "RANGE(X)", "RANGE(X + 1); RANGE(X - 1); RANGE(1, X); RANGE(1, X + 1)", BOUNDS),
    Pattern("bounds", 1.1, "RANGE(X, Y, *A)", "RANGE(Y, *A); RANGE(0, Y, *A)", BOUNDS),
    Pattern("bounds", 1.1, "RANGE(X, Y, *A)", "RANGE(X, Y + 1, *A); RANGE(X, Y - 1, *A)", BOUNDS),
    Pattern("bounds", 1.1, "RANGE(X, Y, *A)", "RANGE(X + 1, Y, *A); RANGE(X - 1, Y, *A)", BOUNDS),
    Pattern("bounds", 1.1, "RANGE(X, Y, Z)", "RANGE(X, Y)", BOUNDS),
    Pattern("bounds", 1.0, "X + 1; X - 1", "X", COUNT, "number"),
    Pattern("bounds", 1.4, "X", "X + 1; X - 1", COUNT, "counted"),
    # words
    Pattern("letters", 1.0, "'ij'", "'xy'", "is {it} the order that is meant?"),
    Pattern("letters", 1.0, "'xy'", "'ij'", "is {it} the order that is meant?"),
    Pattern("letters", 1.0, "'mean'; 'sum'; 'none'", "'mean'; 'sum'; 'none'", "is {it} what is wanted?"),
    # axes that change places
    Pattern("turned", 1.2, "X.T; X.mT; X.H; X.mH", "X.mT; X.T; X.transpose(0, 1)", TURNED),
    Pattern("turned", 1.2, "X.T; X.mT", "X.transpose(1, 2); X.transpose(2, 3); X.transpose(1, 3)", TURNED),
    Pattern("turned", 1.2, "X.TURN(*A, **K); torch.TURN(X, *A, **K)", "X.mT; X.T; X.transpose(0, 1)", TURNED),
    Pattern(
        "turned",
        1.2,
        "X.TURN(*A, **K); torch.TURN(X, *A, **K)",
        "X.transpose(1, 2); X.transpose(2, 3); X.transpose(1, 3)",
        TURNED,
    ),
    # a second tensor
    Pattern(
        "in-place", 1.0, "X", "X.clone()", "{it}: is this a second tensor, or another name for the same one?", "renamed"
    ),
)

# Edits that are less likely, tried after those above.
MORE_PATTERNS = (
    # a step too much
    Pattern("too-much", 2.0, "X.f(*A, **K)", "X", NEEDED),
    Pattern("too-much", 2.1, "F(*A, X, *B, **K)", "X", NEEDED),
    Pattern("too-much", 2.1, "X(*A, Y, *B, **K)", "X(*A, *B, **K)", ARGUMENTS),
    Pattern("too-much", 2.0, "X(*A, **K, _1=Y, **L)", "X(*A, **K, **L)", ARGUMENTS),
    Pattern("too-much", 2.0, "X.T; X.mT; X.f", "X", NEEDED, "no function"),
    Pattern("too-much", 2.0, "X ∘ Y", "X; Y", NEEDED),
    Pattern("too-much", 2.1, "(X ∘ Y) ∙ Z", "X", NEEDED),
    Pattern("too-much", 2.0, "X and Y; X or Y", "X; Y", NEEDED),
    Pattern("too-much", 2.0, "X[*P]", "X", NEEDED),
    Pattern("too-much", 2.0, "X < Y; X > Y; X == Y; X != Y", "X", NEEDED),
    Pattern("too-much", 2.0, "X if C else Y", "X; Y", CHOICE),
    Pattern("choice", 1.5, "X if C else Y", "Y if C else X", CHOICE),
    Pattern("argument", 2.1, "X(*A, **K, _1=Y, **L)", "X(*A, **K, _1=None, **L)", ARGUMENTS),
    # an argument that is missing
    Pattern(
        "argument",
        1.9,
        "X.max()",
        "X.amax(dim=-1, keepdim=True); X.amax(dim=-2, keepdim=True); X.amax(dim=0, keepdim=True)",
        "over how many numbers does {it} go, and how many should it give?",
    ),
    Pattern(
        "argument",
        1.9,
        "X.min()",
        "X.amin(dim=-1, keepdim=True); X.amin(dim=-2, keepdim=True); X.amin(dim=0, keepdim=True)",
        "over how many numbers does {it} go, and how many should it give?",
    ),
    Pattern("argument", 2.0, "X.REDUCE(*A, **K)", "X.REDUCE(*A, **K, keepdim=True)", KEPT_AXES),
    Pattern("argument", 2.0, "X.ALONG(*A, **K)", "X.ALONG(*A, **K, dim=-1); X.ALONG(*A, **K, dim=0)", AXIS),
    Pattern("argument", 2.0, "X.ALONG(*A, **K)", "X.ALONG(*A, **K, dim=1); X.ALONG(*A, **K, dim=-2)", AXIS),
    Pattern("argument", 2.0, "X.ALONG(*A, **K)", "X.ALONG(*A, **K, dim=2)", AXIS),
    Pattern("argument", 2.5, "X.SUM(**K)", "X.SUM(**K, dim=-1, keepdim=True); X.SUM(**K, dim=-2, keepdim=True)", AXIS),
    Pattern("argument", 2.5, "X.SUM(**K)", "X.SUM(**K, dim=0, keepdim=True); X.SUM(**K, dim=1, keepdim=True)", AXIS),
    Pattern("argument", 2.0, "X.TRIANGLE(Y)", "X.TRIANGLE(Y, diagonal=1); X.TRIANGLE(Y, diagonal=-1)", COMPLETE),
    Pattern("argument", 2.0, "X.TRIANGLE()", "X.TRIANGLE(diagonal=1); X.TRIANGLE(diagonal=-1)", COMPLETE),
    Pattern("argument", 2.0, "X.flatten()", "X.flatten(1); X.flatten(2); X.flatten(-2); X.flatten(3)", COMPLETE),
    Pattern("argument", 2.0, "torch.meshgrid(*A)", "torch.meshgrid(*A, indexing='xy')", COMPLETE),
    Pattern("argument", 2.0, "torch.meshgrid(*A)", "torch.meshgrid(*A, indexing='ij')", COMPLETE),
)

# Edits that bring something new.
ADDING_PATTERNS = (
    Pattern("argument", 3.0, "X(*A, *B, **K)", "X(*A, V, *B, **K)", COMPLETE, "few arguments"),
    Pattern("missing", 3.0, "X", "X.mT; X.transpose(0, 1)", MISSING, "tensor 2"),
    Pattern("missing", 5.0, "X", "X.T", MISSING, "tensor 2"),
    Pattern("missing", 3.0, "X", "X.transpose(1, 2)", MISSING, "tensor 3"),
    Pattern("missing", 3.0, "X", "X.transpose(1, 3); X.transpose(0, 2)", MISSING, "tensor 4"),
    Pattern(
        "missing", 3.0, "X", "X[..., None]; X[..., None, :]; X[None]; X[:, None]; X[:, :, None]", MISSING, "tensor"
    ),
    Pattern("missing", 3.0, "X", "X[:, None, None]; X.squeeze(-1); X.squeeze(1); X[0]; X.clone()", MISSING, "tensor"),
    Pattern("missing", 3.0, "X", "X.bool(); X.float(); X.any(); X.all()", MISSING, "tensor"),
    Pattern("missing", 3.0, "X", "X.flatten(0)", MISSING, "tensor 2"),
    Pattern("missing", 3.0, "X", "X.flatten(1)", MISSING, "tensor 3"),
    Pattern("missing", 3.0, "X", "X.flatten(2)", MISSING, "tensor 4"),
    Pattern("missing", 3.8, "X", "X * T; X / T; X + T; X - T", MISSING, "tensor"),
    Pattern("missing", 4.5, "X", "X.abs(); X.exp(); X.softmax(dim=-1); X.nan_to_num(0.0); X.log()", MISSING, "numbers"),
    Pattern("missing", 4.5, "X", "X.tanh(); X.int(); X.max(); X.sum(); X.mean(); X.sqrt()", MISSING, "numbers"),
    Pattern("missing", 4.5, "X", "X.item(); X.detach(); bool(X); len(X); list(X)", MISSING, "numbers"),
    Pattern("missing", 4.5, "X", "X.sum(dim=-1); X.mean(dim=-1); X.amax(dim=-1)", MISSING, "numbers"),
    Pattern("missing", 4.5, "X", "X.sum(dim=-1, keepdim=True); X.amax(dim=-1, keepdim=True)", MISSING, "numbers"),
    Pattern("missing", 4.5, "X", "X.sum(dim=-2); X.mean(dim=-2); X.amax(dim=-2)", MISSING, "numbers 2"),
    Pattern("missing", 4.5, "X", "X.sum(dim=-2, keepdim=True); X.amax(dim=-2, keepdim=True)", MISSING, "numbers 2"),
    Pattern("missing", 4.5, "X", "X.sum(dim=-3); X.mean(dim=-3); X.flatten(0, 1)", MISSING, "numbers 3"),
    Pattern("missing", 4.5, "X", "X.flatten(0, 2)", MISSING, "numbers 4"),
    Pattern("missing", 3.0, "X", "int(X); 1 / X", MISSING, "number"),
    Pattern("missing", 3.3, "X", "X * N; X // N", "is {it} the right number?", "number"),
    Pattern("missing", 3.0, "X", "X[0]; X[1]; X[-1]; list(X)", RESULTS, "several"),
    Pattern("missing", 3.0, "X", "torch.stack(X); torch.cat(X); torch.stack(X, dim=1)", RESULTS, "several"),
    Pattern("missing", 3.0, "X", "torch.tensor(X); torch.cat(X, dim=-1); torch.stack(X, dim=-1)", MISSING, "several"),
    Pattern("missing", 3.0, "X", "any(X); all(X); sum(X)", MISSING, "several"),
)

BEFORE = "in {it}, what becomes of the value from before?"
RETURNED = "what does the function give back to whoever calls it?"
WRITTEN = "does {it} write into a tensor that others still use?"
_AUGMENTED = "X += Y; X -= Y; X *= Y; X /= Y; X &= Y; X |= Y"

STATEMENT_PATTERNS = (
    Pattern("not-returned", 0.9, "print(X)", "return X", RETURNED),
    Pattern("not-returned", 0.9, "print(X, Y)", "return X, Y", RETURNED),
    Pattern("not-returned", 0.9, "X(*A, **K)", "return X(*A, **K)", RETURNED),
    Pattern("not-returned", 1.0, "return", "return V", RETURNED),
    Pattern("results", 1.0, "return (*A, X, *B)", "return X", "how many results are wanted?"),
    Pattern("results", 2.5, "return X", "return X, V; return V, X", "how many results are wanted, in which order?"),
    Pattern(
        "indentation",
        1.0,
        "return X",
        "if X: return X; if X: return True",
        "in which round of the loop does {it} end the function?",
        "in a loop",
    ),
    Pattern("in-place", 1.0, "X ∘= Y", "X = X ∘ Y", WRITTEN),
    Pattern("operator", 1.4, "X ∘= Y", "X = Y", BEFORE),
    Pattern("operator", 1.1, "X ∘= Y", _AUGMENTED, OPERATOR),
    Pattern("operator", 1.6, "X = Y", "X += Y; X &= Y; X |= Y; X *= Y", BEFORE, "one name"),
    Pattern("not-kept", 2.6, "X = Y", "V = Y", "is {it} kept under the right name?", "one name"),
    Pattern(
        "order", 3.2, "(*A, X, *B, Y, *C) = Z", "(*A, Y, *B, X, *C) = Z", "in {it}, in which order do the names come?"
    ),
    Pattern(
        "results",
        1.1,
        "(*A, *B) = Z",
        "(*A, _, *B) = Z; (*A, W, *B) = Z",
        "in {it}, is there a name for each value on the right?",
    ),
    Pattern("results", 1.4, "(*A, X, *B) = Z", "(*A, *B) = Z", "in {it}, is there a value for each name on the left?"),
)


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
    return place.may_be("tensor", "number") and not isinstance(place.node, ast.Constant | ast.Tuple | ast.Slice)


def _plain(place: Place, bound: Bindings) -> bool:
    others = ast.Constant | ast.Tuple | ast.List | ast.Dict | ast.Starred | ast.GeneratorExp | ast.UnaryOp
    return not isinstance(place.node, others)


def _counted(place: Place, bound: Bindings) -> bool:
    counts = isinstance(place.parent, ast.Slice | ast.Compare | ast.Call | ast.Subscript | ast.BinOp | ast.Assign)
    return counts and place.may_be("number") and not isinstance(place.node, ast.Constant | ast.Slice | ast.Starred)


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
CONDITIONS: dict[str, Callable[[Place, Bindings], bool]] = {
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
    pattern: Pattern,
    node: ast.AST,
    read: Callable[[str], ast.AST],
    context: Context,
    holds: Callable[[Bindings], bool],
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
    return enough and CONDITIONS[name](place, bound)


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
