"""Read source code: is this still the stub, and what must be kept so that a solution runs without its notebook?"""

import ast
import builtins
import importlib
import inspect
import sys
import textwrap
from types import ModuleType
from typing import Any


def source_of(obj: Any) -> str | None:
    """The dedented source of a function or class, or None where Python has none (built-ins, wrapped objects)."""
    try:
        return textwrap.dedent(inspect.getsource(inspect.unwrap(obj)))
    except (OSError, TypeError, ValueError):
        return None


def file_of(obj: Any) -> str | None:
    """The name of the file or cell that an object's code stands in."""
    try:
        return inspect.getfile(inspect.unwrap(obj if inspect.isroutine(obj) or isinstance(obj, type) else type(obj)))
    except (OSError, TypeError):
        return None


def tree_of(obj: Any) -> ast.AST | None:
    """The syntax tree of a function's or class's own definition."""
    source = source_of(obj)
    try:
        return ast.parse(source).body[0] if source else None
    except SyntaxError:
        return None


def unfinished_line(obj: Any) -> int | None:
    """The line of the object's source that still holds a `...` or a bare `pass`, or None where it is finished.

    A `...` inside square brackets is an index, not a gap.
    """
    tree = tree_of(obj)
    if tree is None:
        return None
    indices = {id(part) for node in ast.walk(tree) if isinstance(node, ast.Subscript) for part in ast.walk(node.slice)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value is Ellipsis and id(node) not in indices:
            return node.lineno
        if isinstance(node, ast.Raise) and "NotImplementedError" in ast.dump(node):
            return node.lineno
        if isinstance(node, ast.FunctionDef) and all(_is_empty(line) for line in node.body):
            return node.lineno
    return None


def _is_empty(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def same_code(a: Any, b: Any) -> bool:
    """Two definitions with the same parameters and the same body; names, annotations and docstrings aside."""
    trees = [tree_of(obj) for obj in (a, b)]
    return None not in trees and _bare(trees[0]) == _bare(trees[1])


def _bare(tree: ast.AST) -> str:
    for node in ast.walk(tree):
        for name in ("returns", "annotation"):
            if hasattr(node, name):
                setattr(node, name, None)
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    tree.name = ""
    return ast.dump(tree)


def standalone_source(obj: Any) -> str | None:
    """The object's source with the imports, helpers and constants of its notebook that it needs, ready to execute."""
    lines: dict[str, str] = {}
    return "\n\n".join(lines.values()) if _collect(obj, lines) else None


def _collect(obj: Any, lines: dict[str, str]) -> bool:
    source = source_of(obj)
    is_definition = isinstance(obj, type) or (hasattr(obj, "__globals__") and obj.__name__ != "<lambda>")
    if source is None or not is_definition:
        return False
    scope = vars(sys.modules[obj.__module__]) if isinstance(obj, type) else obj.__globals__
    lines.setdefault(obj.__name__, "")
    for name in _names(ast.parse(source)):
        if name in lines or name not in scope or hasattr(builtins, name):
            continue
        line = _import_line(name, scope[name])
        if line is not None:
            lines[name] = line
        elif not _collect(scope[name], lines):
            return False
    lines[obj.__name__] = lines.pop(obj.__name__) or source.strip() + "\n"
    return True


def _names(tree: ast.AST) -> list[str]:
    return sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)})


def _import_line(name: str, value: Any) -> str | None:
    if isinstance(value, ModuleType):
        return f"import {value.__name__} as {name}"
    if isinstance(value, bool | int | float | str | tuple) or value is None:
        return f"{name} = {value!r}"
    home, own = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if home in (None, "__main__") or own is None:
        return None
    found = getattr(importlib.import_module(home), own, None)
    return f"from {home} import {own} as {name}" if found is value else None
