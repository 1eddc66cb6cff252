r"""By-hand arithmetic, worked out again: `3 · 4 = 12` in a sentence, `\frac{3}{4} \cdot 8 = 6` in a formula.

A chain is cut at its equals signs. Sides that hold letters say nothing here; the others must agree, as far as the
digits go that are written: `2/3 = 0.67` is true, `2/3 = 0.66` is not.
"""

import itertools
import math
import re
from collections.abc import Iterator
from typing import NamedTuple

NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:e[-−]?\d+)?|\.\d+"
TOKEN = re.compile(rf"\s*({NUMBER}|\\[A-Za-z]+_?|ln|\S)")
CONSTANTS = {"½": 1 / 2, "⅓": 1 / 3, "⅔": 2 / 3, "¼": 1 / 4, "¾": 3 / 4, "e": math.e, r"\pi": math.pi, "π": math.pi}
TIMES, MINUS = {"*", "·", "×", r"\cdot", r"\times"}, {"-", "−"}
SPACES = re.compile(r"\\[,;:! ]|\\(left|right|bigl?|bigr|quad|qquad|displaystyle)(?![A-Za-z])|[&~]")
SHORT_FRACTION = re.compile(r"\\[td]?frac\s*(\d)\s*(\d)")
EQUALS = re.compile(r"=|≈|\\approx(?![A-Za-z])")
# What a side is made of in a sentence.
SIDE = r"(?:ln |[\d(√½⅓⅔¼¾.−-])(?:[\d\s.,()·×*/+−√^½⅓⅔¼¾%-]|ln |(?<=\d)e(?=\d))*"
CHAIN = re.compile(rf"(?<![\w.)])(?<!ln )(?:{SIDE}[=≈]\s*)+{SIDE}")

Value = float | tuple[float, ...]


class Side(NamedTuple):
    """One side of an equation: where it stands, its value, and the decimals of a side that is a number alone."""

    start: int
    end: int
    value: Value
    places: int | None


class Equation(NamedTuple):
    """Two neighboring sides, and whether they agree."""

    left: Side
    right: Side
    text: str

    @property
    def true(self) -> bool:
        """Do they agree as far as their digits go?"""
        places = [side.places for side in (self.left, self.right) if side.places is not None]
        rounds = min(places, default=0) or re.search(r"≈|\\approx", self.text)
        return self._within(0.5 * 10.0 ** -min(places, default=12) if rounds else 0)

    @property
    def exact(self) -> bool:
        """Do they agree without any rounding, so that no number of theirs could be another?"""
        return self._within(0)

    def _within(self, slack: float) -> bool:
        one, other = (v if isinstance(v, tuple) else (v,) for v in (self.left.value, self.right.value))
        return len(one) == len(other) and all(
            abs(a - b) <= slack + 1e-9 * max(1, abs(a)) for a, b in zip(one, other, strict=True)
        )


def equations(text: str) -> Iterator[Equation]:
    r"""The equations of a sentence whose two sides are numbers and operations alone.

    >>> [equation.true for equation in equations("It takes 3 · 4 = 12 steps, and 2/3 = 0.66.")]
    [True, False]
    """
    for chain in CHAIN.finditer(text):
        yield from _pairs(chain[0], chain.start())


def rows(text: str) -> Iterator[str]:
    """Neighboring cells of a table's row of which one works out the other.

    >>> list(rows("4 · 8 + 8 + 8 · 4 + 4 | 76")), list(rows("3 + 4 | 8"))
    (['4 · 8 + 8 + 8 · 4 + 4 | 76'], [])
    """
    for left, right in itertools.pairwise(text.split(" | ")):
        try:
            equal = evaluate(left) == evaluate(right)
        except (ValueError, ZeroDivisionError, OverflowError):
            continue
        if equal and re.search(r"[·×*/+^]", left + right):
            yield f"{left} | {right}"


def formula_equations(formula: str) -> Iterator[Equation]:
    r"""The same for a formula.

    >>> [equation.true for equation in formula_equations(r"\alpha = \frac12 \ln 2 = 0.35")]
    [True]
    >>> [equation.true for equation in formula_equations(r"\frac47 (0, 21) + \frac17 (21, 21) = (3, 14)")]
    [False]
    """
    yield from _pairs(formula)


def _pairs(text: str, offset: int = 0) -> Iterator[Equation]:
    cuts = [*EQUALS.finditer(text)]
    starts, ends = [0, *(cut.end() for cut in cuts)], [*(cut.start() for cut in cuts), len(text)]
    for number, _cut in enumerate(cuts):
        left = _side(text, starts[number], ends[number], last=True)
        right = _side(text, starts[number + 1], ends[number + 1], last=False)
        if left and right:
            piece = " ".join(text[left.start : right.end].split())
            moved = (Side(offset + s.start, offset + s.end, s.value, s.places) for s in (left, right))
            yield Equation(*moved, piece)


def _side(text: str, start: int, end: int, last: bool) -> Side | None:
    """The side between two places; of a list its last item, or its first."""
    options = [(start, end)]
    commas = [*re.finditer(r"[,.;](?=\s|$|\\)", text[start:end])]
    if last:
        options += [(start + comma.end(), end) for comma in commas]
    else:
        options += [(start, start + comma.start()) for comma in reversed(commas)]
    if last:
        options += [(start + bracket.end(), end) for bracket in re.finditer(r"\(", text[start:end])]
    else:
        options += [(start, start + bracket.start()) for bracket in re.finditer(r"\)", text[start:end])]
    for low, high in options:
        piece = text[low:high].strip()
        try:
            value = evaluate(piece)
        except (ValueError, ZeroDivisionError, OverflowError):
            continue
        bare = re.fullmatch(rf"[−-]?({NUMBER})\s?%?", piece.replace("{,}", ","))
        places = len(bare[1].partition(".")[2]) + 2 * piece.endswith("%") if bare else None
        return Side(low, high, value, places)
    return None


def evaluate(text: str) -> Value:
    r"""The value of numbers and operations; ValueError where there is anything else.

    >>> evaluate("(9 − 1) / 2"), evaluate(r"2^{3} \cdot (1, 0)"), round(evaluate(r"\sqrt{2}"), 3)
    (4.0, (8.0, 0.0), 1.414)
    """
    text = SHORT_FRACTION.sub(r"\\frac{\1}{\2}", SPACES.sub(" ", text.replace("{,}", ",")))
    parser = _Parser(TOKEN.findall(text))
    value = parser.sum()
    if parser.tokens:
        raise ValueError(f"expected the end, got {parser.tokens[0]!r}")
    return value


class _Parser:
    """Reads tokens from the left; each method returns the value of what it has read."""

    def __init__(self, tokens: list[str]):
        self.tokens = tokens

    def peek(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def take(self, *expected: str) -> str:
        if not self.tokens or (expected and self.tokens[0] not in expected):
            raise ValueError(f"expected {expected or 'more'}, got {self.peek()!r}")
        return self.tokens.pop(0)

    def sum(self) -> Value:
        value = self.product()
        while self.peek() in {"+"} | MINUS:
            sign = 1 if self.take() == "+" else -1
            value = _each(value, self.product(), lambda a, b, sign=sign: a + sign * b)
        return value

    def product(self) -> Value:
        value = self.signed()
        while self.peek() in TIMES | {"/"} or self.peek() in {"(", r"\frac", r"\ln", "ln", r"\sqrt", r"\pi"}:
            divided = self.peek() == "/"
            if divided or self.peek() in TIMES:
                self.take()
            factor = self.signed()
            value = _scaled(value, 1 / _number(factor)) if divided else _scaled(value, factor)
        return value

    def signed(self) -> Value:
        if self.peek() in MINUS:
            self.take()
            return _scaled(self.signed(), -1.0)
        return self.power()

    def power(self) -> Value:
        value = self.atom()
        if self.peek() == "^":
            self.take()
            value = _number(value) ** _number(self.group() if self.peek() == "{" else self.signed())
        if self.peek() in {"%", r"\%"}:
            self.take()
            value = _number(value) / 100
        return value

    def group(self) -> Value:
        self.take("{")
        value = self.sum()
        self.take("}")
        return value

    def atom(self) -> Value:
        token = self.take()
        if token == "(":
            values = [self.sum()]
            while self.peek() == ",":
                self.take()
                values.append(self.sum())
            self.take(")")
            return values[0] if len(values) == 1 else tuple(map(_number, values))
        if token == r"\frac":
            return _scaled(self.group(), 1 / _number(self.group()))
        if token in {r"\sqrt", "√"}:
            return math.sqrt(_number(self.group() if self.peek() == "{" else self.atom()))
        if token in {r"\ln", "ln"}:
            return math.log(_number(self.power()))
        if token == r"\log_":
            base = _number(self.group() if self.peek() == "{" else self.atom())
            return math.log(_number(self.power()), base)
        if token in CONSTANTS:
            return CONSTANTS[token]
        return float(token.replace(",", "").replace("−", "-"))


def _number(value: Value) -> float:
    if isinstance(value, tuple):
        raise ValueError(f"expected a number, got the vector {value}")
    return value


def _each(one: Value, other: Value, operation) -> Value:
    if isinstance(one, tuple) != isinstance(other, tuple):
        raise ValueError("expected two numbers or two vectors, got one of each")
    if isinstance(one, tuple):
        return tuple(operation(a, b) for a, b in zip(one, other, strict=True))
    return operation(one, other)


def _scaled(one: Value, other: Value) -> Value:
    if isinstance(one, tuple) and isinstance(other, tuple):
        raise ValueError("expected a number beside a vector, got two vectors")
    if isinstance(other, tuple):
        one, other = other, one
    return tuple(a * other for a in one) if isinstance(one, tuple) else one * other
