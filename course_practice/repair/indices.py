"""Edits of what is between brackets and of letters: slices, ranges, new axes, the letters of an einsum."""

import ast
import itertools
from collections.abc import Iterator

from course_practice.repair.kinds import To, kind
from course_practice.repair.places import Place, fill, located, name_of
from course_practice.repair.values import whole_number

_BOUNDS = "in {it}, where does it begin, and where does it end?"
LETTERS = "in {it}, which letters are shared, which are summed over, and in which order do they come out?"
_WHERE = "in {it}, what does each place between the brackets stand for?"


@kind("bounds", cost=1.1)
def slices(place: Place) -> Iterator[To]:
    """The bounds of a slice."""
    node = place.node
    if not isinstance(node, ast.Subscript):
        return
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for number, part in enumerate(parts):
        for other in _other_parts(part, node):
            changed = [*parts[:number], other, *parts[number + 1 :]]
            index = changed[0] if len(changed) == 1 else located(ast.Tuple(changed, ast.Load()), node)
            yield To(located(ast.Subscript(node.value, index, node.ctx), node), _BOUNDS)


def _other_parts(part: ast.expr, at: ast.AST) -> Iterator[ast.expr]:
    def cut(lower: ast.expr | None, upper: ast.expr | None, step: ast.expr | None = None) -> ast.expr:
        return located(ast.Slice(lower, upper, step), at)

    def shifted(bound: ast.expr) -> list[ast.expr]:
        return [fill(form, at, X=bound) for form in ("X + 1", "X - 1")]

    if isinstance(part, ast.Slice):
        lower, upper, step = part.lower, part.upper, part.step
        yield from (cut(lower, new, step) for new in (shifted(upper) if upper else ()))
        yield from (cut(new, upper, step) for new in (shifted(lower) if lower else ()))
        if upper is None and lower is None and step is None:
            yield from (located(ast.Constant(0), at), fill("-1", at), cut(None, fill("-1", at)))
            yield cut(located(ast.Constant(1), at), None)
            return
        yield cut(upper, lower, step)
        yield from (cut(None, upper, step), cut(lower, None, step), cut(lower, upper))
        if step is not None and upper is None and lower is not None:
            yield from (cut(fill("X * S", at, X=lower, S=step), fill("(X + 1) * S", at, X=lower, S=step)),)
    elif not isinstance(part, ast.Constant) or (part.value is not None and part.value is not ...):
        yield from (cut(None, part), cut(part, None), cut(None, fill("X + 1", at, X=part)))
        yield cut(part, fill("X + 1", at, X=part))
        yield located(ast.Slice(None, None, None), at)


@kind("new-axis", cost=1.3)
def new_axes(place: Place) -> Iterator[To]:
    """Where in an index the None, the colon, and the dots stand."""
    node = place.node
    if not isinstance(node, ast.Subscript) or getattr(node.value, "attr", "") == "shape":
        return
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    nothing, colon, dots = (located(new, node) for new in (ast.Constant(None), ast.Slice(), ast.Constant(...)))
    found: list[list[ast.expr]] = []
    for a, b in itertools.combinations(range(len(parts)), 2):
        swapped = list(parts)
        swapped[a], swapped[b] = parts[b], parts[a]
        found.append(swapped)
    for number in range(len(parts) + 1):
        found += [[*parts[:number], new, *parts[number:]] for new in (nothing, colon)]
    found += [[*parts[:number], *parts[number + 1 :]] for number in range(len(parts)) if len(parts) > 1]
    found += [[dots, *parts], [*parts, dots], [colon, *parts, nothing]]
    for elements in found:
        if any(isinstance(element, ast.Starred) for element in elements):
            continue
        index = elements[0] if len(elements) == 1 else located(ast.Tuple(elements, ast.Load()), node)
        more = 0.15 * abs(len(elements) - len(parts))
        yield To(located(ast.Subscript(node.value, index, node.ctx), node), _WHERE, more=more)


@kind("rows", cost=1.3)
def row_by_row(place: Place) -> Iterator[To]:
    """Every row with an index of its own, in the place of all rows with all of the indices."""
    node = place.node
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple) or len(node.slice.elts) != 2:
        return
    rows, columns = node.slice.elts
    seen = place.kind(columns)
    is_all = isinstance(rows, ast.Slice) and rows.lower is rows.upper is rows.step is None
    if is_all and seen is not None and seen.what == "tensor" and seen.axes == 1 and not seen.boolean:
        pairs = located(ast.Tuple([fill("range(len(X))", node, X=columns), columns], ast.Load()), node)
        asks = "{it} means each of these columns in *every* row: is that what is wanted?"
        yield To(located(ast.Subscript(node.value, pairs, node.ctx), node), asks)


@kind("bounds", cost=1.1)
def ranges(place: Place) -> Iterator[To]:
    """The bounds of a range."""
    node = place.node
    if not isinstance(node, ast.Call) or name_of(node) not in ("range", "arange") or not node.args:
        return
    first = node.args[0]
    forms = ("X + 1", "X - 1") if whole_number(first) is None else ()
    changed = [[fill(form, node, X=first), *node.args[1:]] for form in forms]
    if len(node.args) == 1:
        changed += [[fill("1", node), first], [fill("1", node), fill("X + 1", node, X=first)]]
    else:
        changed += [node.args[1:], [fill("0", node), *node.args[1:]]]
        changed += [[first, fill(form, node, X=node.args[1]), *node.args[2:]] for form in ("X + 1", "X - 1")]
        changed += [node.args[:2]] * (len(node.args) > 2)
    for args in changed:
        yield To(located(ast.Call(node.func, args, node.keywords), node), _BOUNDS)


@kind("bounds", cost=1.4)
def off_by_one(place: Place) -> Iterator[To]:
    """One more or one less, where something is counted."""
    counted = isinstance(place.parent, ast.Slice | ast.Compare | ast.Call | ast.Subscript | ast.BinOp | ast.Assign)
    if counted and place.may_be("number") and not isinstance(place.node, ast.Constant | ast.Slice | ast.Starred):
        for form in ("X + 1", "X - 1"):
            new = fill(form, place.node, X=place.node)
            yield To(new, "is {it} the right count: where does it begin, where does it end?")


@kind("letters", cost=1.0)
def letters(place: Place) -> Iterator[To]:
    """The letters of an einsum, and the words of einops."""
    node = place.node
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return
    if place.called == "einsum" or "->" in node.value:
        words = " " in node.value.split("->")[0].split(",")[0].strip()
        for text, more in _other_words(node.value) if words else _other_letters(node.value):
            yield To(located(ast.Constant(text), node), LETTERS, more=more)
    elif node.value in ("ij", "xy"):
        yield To(located(ast.Constant("xy" if node.value == "ij" else "ij"), node), "is {it} the order that is meant?")
    elif node.value in ("mean", "sum", "none"):
        for other in {"mean", "sum", "none"} - {node.value}:
            yield To(located(ast.Constant(other), node), "is {it} what is wanted?")


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
    if arrow:  # two letters for one another everywhere in one part
        for a, b in itertools.combinations(known, 2):
            table = str.maketrans({a: b, b: a})
            yield f"{inputs}->{output.translate(table)}", 0.4
            yield f"{first.translate(table)}{comma}{second}{arrow}{output}", 0.5
            yield f"{first}{comma}{second.translate(table)}{arrow}{output}", 0.5


def _other_words(text: str) -> Iterator[tuple[str, float]]:
    inputs, _, output = text.partition("->")
    for side in (0, 1):
        words = (inputs, output)[side].split()
        for a, b in itertools.combinations(range(len(words)), 2):
            swapped = list(words)
            swapped[a], swapped[b] = words[b], words[a]
            changed = " ".join(swapped)
            yield (f"{changed} -> {output.strip()}" if side == 0 else f"{inputs.strip()} -> {changed}"), 0.0


INDICES = (slices, new_axes, row_by_row, ranges, off_by_one, letters)
