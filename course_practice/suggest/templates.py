"""Templates of code: match a tree against one, and write another with what was matched.

`X` (any single capital letter) stands for any expression, `*A` for any arguments or elements, `**K` for any named
arguments, `_1=X` for one of them, `f` and `g` for the name of any method, and `∘`, `∙`, `⋄` for any operator. `S` and
`U` also stand for what only an index can hold, such as `1:`. `F` and `G` stand for functions, which are no variables:
`torch.softmax` or `len`. A word in capitals, such as `REDUCE`, stands for one of the names in a table that is given.

>>> x = ast.parse("scores.softmax(dim=0) / t", mode="eval").body
>>> step, other = expression("X.f(*A, **K) ∘ Y"), expression("(X ∘ Y).f(*A, **K)")
>>> [ast.unparse(fill(other, found, x)) for found in matches(step, x)]
['(scores / t).softmax(dim=0)']
"""

import ast
import copy
import functools
from collections.abc import Iterator, Mapping
from typing import Any

Bindings = dict[str, Any]
_SYMBOLS = {"∘": "<<", "∙": ">>", "⋄": "^"}
_OPERATORS = {ast.LShift: "∘", ast.RShift: "∙", ast.BitXor: "⋄"}
_LIBRARIES = {"torch", "F", "nn", "np", "math", "functional"}
_IGNORED = {"ctx", "kind", "type_comment"}


@functools.cache
def expression(text: str) -> ast.expr:
    """The tree of an expression's template."""
    return ast.parse(_with_symbols(text), mode="eval").body


@functools.cache
def statement(text: str) -> ast.stmt:
    """The tree of a statement's template."""
    return ast.parse(_with_symbols(text)).body[0]


def _with_symbols(text: str) -> str:
    for symbol, operator in _SYMBOLS.items():
        text = text.replace(symbol, operator)
    return text.strip()


def is_hole(name: str) -> bool:
    """Does a name stand for something else in a template?"""
    return len(name) == 1 and name.isupper()


def matches(
    template: Any, node: Any, names: Mapping[str, set[str]] | None = None, bound: Bindings | None = None
) -> Iterator[Bindings]:
    """All ways in which a tree is what a template says: by letter, what it stands for."""
    names, bound = names or {}, bound or {}
    if isinstance(template, list):
        yield from _lists(template, node, names, bound)
    elif isinstance(template, ast.Name) and is_hole(template.id):
        if _may_be(template.id, node) and (template.id not in bound or _alike(bound[template.id], node)):
            yield {**bound, template.id: node}
    elif isinstance(template, ast.Name) and template.id in names:
        if getattr(node, "id", getattr(node, "attr", "")) in names[template.id]:
            yield {**bound, template.id: node}
    elif isinstance(template, ast.operator) and type(template) in _OPERATORS:
        if isinstance(node, ast.operator):
            yield {**bound, _OPERATORS[type(template)]: node}
    elif isinstance(template, ast.AST):
        if type(template) is type(node):
            found = [bound]
            for name in template._fields:
                if name not in _IGNORED:
                    pair = (
                        _elements(template, node) if name == "slice" else (getattr(template, name), getattr(node, name))
                    )
                    found = [more for each in found for more in _field(name, *pair, names, each)]
                    if not found:
                        return
            yield from found
    elif template == node and type(template) is type(node):
        yield bound


def _field(name: str, template: Any, node: Any, names: Mapping[str, set[str]], bound: Bindings) -> Iterator[Bindings]:
    word = name == "attr" and (template in ("f", "g") or template in names)
    if word or (name == "arg" and isinstance(template, str) and template.startswith("_")):
        if (
            node is not None
            and (template not in names or node in names[template])
            and bound.get(template, node) == node
        ):
            yield {**bound, template: node}
    else:
        yield from matches(template, node, names, bound)


def _lists(template: list, nodes: Any, names: Mapping[str, set[str]], bound: Bindings) -> Iterator[Bindings]:
    """Arguments or elements: a star takes as many as it likes."""
    if not isinstance(nodes, list):
        return
    if not template:
        if not nodes:
            yield bound
        return
    first, rest = template[0], template[1:]
    if _is_star(first):
        most, least = len(nodes), sum(not _is_star(other) for other in rest)
        for count in range(most - least + 1) if any(map(_is_star, rest)) else [most - least] if most >= least else []:
            yield from _lists(rest, nodes[count:], names, {**bound, _star(first): nodes[:count]})
    elif nodes and not isinstance(nodes[0], ast.Starred):
        for more in matches(first, nodes[0], names, bound):
            yield from _lists(rest, nodes[1:], names, more)


def _is_star(node: Any) -> bool:
    return isinstance(node, ast.Starred) or (isinstance(node, ast.keyword) and node.arg is None)


def _star(node: ast.Starred | ast.keyword) -> str:
    return f"*{getattr(node.value, 'id', '')}"


def _elements(template: ast.Subscript, node: ast.Subscript) -> tuple[list[ast.expr], list[ast.expr]]:
    """What stands between the brackets, one by one."""
    return tuple(of.slice.elts if isinstance(of.slice, ast.Tuple) else [of.slice] for of in (template, node))


def _may_be(hole: str, node: Any) -> bool:
    if hole in "FG":
        if isinstance(node, ast.Attribute):
            return getattr(node.value, "id", getattr(node.value, "attr", "")) in _LIBRARIES
        return isinstance(node, ast.Name)
    return isinstance(node, ast.expr) and (hole in "SU" or not isinstance(node, ast.Slice))


def _alike(a: ast.AST, b: ast.AST) -> bool:
    return ast.unparse(a) == ast.unparse(b)


def fill(template: ast.AST, bound: Bindings, at: ast.AST) -> Any:
    """A template with what its letters stand for, at the place of a node; what was matched is taken as it is."""
    if isinstance(template, ast.Name) and template.id in bound:
        return in_context(bound[template.id], getattr(template, "ctx", ast.Load()))
    if isinstance(template, ast.operator):
        return bound.get(_OPERATORS.get(type(template)), template)
    if not isinstance(template, ast.AST) or isinstance(template, ast.expr_context):
        return template
    made = type(template)()
    for name in template._fields:
        value = getattr(template, name, None)
        if isinstance(value, list):
            value = [part for each in value for part in _filled_parts(each, bound, at)]
        elif isinstance(value, str):
            value = bound.get(value, value) if name in ("attr", "arg") else value
            value = getattr(value, "attr", getattr(value, "id", value))
        elif name == "slice":
            value = _index(value, bound, at)
        else:
            value = fill(value, bound, at)
        setattr(made, name, value)
    return located(made, at)


def _filled_parts(part: ast.AST, bound: Bindings, at: ast.AST) -> list[ast.AST]:
    return bound[_star(part)] if _is_star(part) and _star(part) in bound else [fill(part, bound, at)]


def _index(index: ast.expr, bound: Bindings, at: ast.AST) -> ast.expr:
    parts = [part for each in getattr(index, "elts", [index]) for part in _filled_parts(each, bound, at)]
    return parts[0] if len(parts) == 1 else located(ast.Tuple(parts, ast.Load()), at)


def in_context(node: ast.AST, context: ast.expr_context) -> ast.AST:
    """The same expression to be read, or to be written to."""
    if not hasattr(node, "ctx") or type(node.ctx) is type(context):
        return node
    other = copy.copy(node)
    other.ctx = context
    if isinstance(node, ast.Tuple | ast.List):
        other.elts = [in_context(part, context) for part in node.elts]
    return other


def located(node: ast.AST, at: ast.AST) -> ast.AST:
    """Give a new node the position of another."""
    node.lineno = node.end_lineno = getattr(at, "lineno", 1)
    node.col_offset = node.end_col_offset = 0
    return node


def written(text: str, at: ast.AST, **parts: ast.expr) -> ast.expr:
    """An expression written as text, with expressions of a tree in the place of its letters.

    >>> ast.unparse(written("X.transpose(-2, -1)", ast.Name("k"), X=ast.Name("key")))
    'key.transpose(-2, -1)'
    """
    return fill(expression(text), parts, at)


def is_named_constant(node: ast.AST) -> bool:
    """Is it a name in capitals, such as `EOS`? What it stands for is no size, and no root of it means anything."""
    return isinstance(node, ast.Name) and len(node.id) > 1 and node.id.isupper()
