"""The table of edits: what is written, what may have been meant, how far that is, and what to ask.

How a template is read stands in `templates`. A letter that stands in a replacement alone is a variable of the
learner's: `V` any, `T` a tensor, `N` a number, and `W` one that is used but never set. Several templates are separated
by `;`. An edit costs more the stranger the slip would be: cheap ones are tried first. `where` is a condition on the
place, by its name in `matching`, or a word of it and a number of axes: `tensor 3` has three axes or more.
"""

from typing import NamedTuple

from course_practice.suggest.operators import AXIS, REDUCE

NAMES = {
    "REDUCE": REDUCE,
    "SUM": {"sum", "mean", "amax"},
    "ALONG": REDUCE | {"softmax", "log_softmax", "stack", "cat", "argmax", "squeeze", "flip", "chunk"},
    "TRIANGLE": {"tril", "triu"},
    "TURN": {"t", "transpose", "permute", "swapaxes", "swapdims", "movedim", "flip", "view", "reshape", "adjoint"},
    "RANGE": {"range", "arange"},
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
OPERATOR = "in {it}, is the operator the right one?"
COMPARISON = "in {it}, is the comparison the right one, also where both are equal?"
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
OF_ROWS = "over how many numbers does {it} go, and how many should it give?"
MISSING = "is a step missing right after {it}?"
RESULTS = "what exactly does {it} give: one result, or several?"

_TURNED = "X.mT; X.T; X.transpose(0, 1); X.transpose(1, 2); X.transpose(2, 3); X.transpose(1, 3)"
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
    Pattern("comparison", 1.0, _COMPARED, _COMPARED, COMPARISON, "no texts"),
    Pattern("comparison", 1.0, "X == Y; X != Y", "X == Y; X != Y", COMPARISON),
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
    Pattern("bounds", 1.1, "RANGE(1, X + 1)", "RANGE(X)", BOUNDS),
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
    Pattern("turned", 1.2, "X.T; X.mT; X.H; X.TURN(*A, **K); torch.TURN(X, *A, **K)", _TURNED, TURNED),
    # a second tensor
    Pattern(
        "in-place", 1.0, "X", "X.clone()", "{it}: is this a second tensor, or another name for the same one?", "renamed"
    ),
)

# Edits that are less likely, tried after those above.
MORE_PATTERNS = (
    # a step too much
    Pattern("too-much", 2.0, "X.f(*A, **K)", "X", NEEDED),
    Pattern("too-much", 2.1, "X(*A, Y, *B, **K)", "Y", NEEDED),
    Pattern("too-much", 2.1, "X(*A, Y, *B, **K)", "X(*A, *B, **K)", ARGUMENTS),
    Pattern("too-much", 2.0, "X(*A, **K, _1=Y, **L)", "X(*A, **K, **L)", ARGUMENTS),
    Pattern("too-much", 2.0, "X.T; X.mT; X.f", "X", NEEDED, "no function"),
    Pattern("too-much", 2.0, "X ∘ Y", "X; Y", NEEDED),
    Pattern("too-much", 2.1, "(X ∘ Y) ∙ Z", "X", NEEDED),
    Pattern("too-much", 2.0, "X and Y; X or Y", "X; Y", NEEDED),
    Pattern("too-much", 2.0, "X[*P]", "X", NEEDED),
    Pattern("too-much", 2.0, "X < Y; X > Y; X == Y; X != Y", "X", NEEDED, "no texts"),
    Pattern("too-much", 2.0, "X if C else Y", "X; Y", CHOICE),
    Pattern("choice", 1.5, "X if C else Y", "Y if C else X", CHOICE),
    Pattern("argument", 2.1, "X(*A, **K, _1=Y, **L)", "X(*A, **K, _1=None, **L)", ARGUMENTS),
    # an argument that is missing
    Pattern("argument", 1.9, "X.max()", "X.amax(dim=-1, keepdim=True); X.amax(dim=0, keepdim=True)", OF_ROWS),
    Pattern("argument", 1.9, "X.min()", "X.amin(dim=-1, keepdim=True); X.amin(dim=0, keepdim=True)", OF_ROWS),
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
PER_ROUND = "in which round of the loop does {it} end the function?"
UNPACKED = "in {it}, is there a name for each value on the right?"
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
    Pattern("indentation", 1.0, "return X", "if X: return X; if X: return True", PER_ROUND, "in a loop"),
    Pattern("in-place", 1.0, "X ∘= Y", "X = X ∘ Y", WRITTEN),
    Pattern("operator", 1.4, "X ∘= Y", "X = Y", BEFORE),
    Pattern("operator", 1.1, "X ∘= Y", _AUGMENTED, OPERATOR),
    Pattern("operator", 1.6, "X = Y", "X += Y; X &= Y; X |= Y; X *= Y", BEFORE, "one name"),
    Pattern("not-kept", 2.6, "X = Y", "V = Y", "is {it} kept under the right name?", "one name"),
    Pattern(
        "order", 3.2, "(*A, X, *B, Y, *C) = Z", "(*A, Y, *B, X, *C) = Z", "in {it}, in which order do the names come?"
    ),
    Pattern("results", 1.1, "(*A, *B) = Z", "(*A, _, *B) = Z; (*A, W, *B) = Z", UNPACKED),
    Pattern("results", 1.4, "(*A, X, *B) = Z", "(*A, *B) = Z", "in {it}, is there a value for each name on the left?"),
)
