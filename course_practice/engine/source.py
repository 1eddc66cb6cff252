"""Read source code: is this still the stub, and what does a solution need so that it runs somewhere else?"""

import __future__

import ast
import contextlib
import dis
import inspect
import linecache
import math
import sys
import textwrap
from collections.abc import Collection
from types import CodeType, ModuleType
from typing import Any


def source_of(obj: Any) -> str | None:
    """The dedented source of a function or class, or None where Python has none (built-ins, wrapped objects)."""
    lines, _first = _lines_of(obj)
    return textwrap.dedent("".join(lines)) if lines else None


def first_line(obj: Any) -> int | None:
    """The number of the first line of that source, in its file or cell."""
    return _lines_of(obj)[1]


def line_of(obj: Any, number: int) -> str:
    """The line of that number in its file or cell, as it is written."""
    lines, first = _lines_of(obj)
    return lines[number - first].strip() if first and 0 <= number - first < len(lines) else ""


def _lines_of(obj: Any) -> tuple[list[str], int | None]:
    try:
        return inspect.getsourcelines(inspect.unwrap(obj))
    except (Exception, SystemExit):  # an object of the learner's may raise anything when it is asked for its attributes
        return _lines_of_class(obj) if isinstance(obj, type) else ([], None)


def _lines_of_class(cls: type) -> tuple[list[str], int | None]:
    """A class from a notebook: Python does not know in which cell it stands, but its methods do."""
    for code in _codes_of(cls):
        lines = linecache.getlines(code.co_filename)
        with contextlib.suppress(SyntaxError, ValueError):
            for node in ast.walk(ast.parse("".join(lines))):
                if isinstance(node, ast.ClassDef) and node.name == cls.__name__:
                    first = min([node.lineno, *(part.lineno for part in node.decorator_list)])
                    if first <= code.co_firstlineno <= node.end_lineno:
                        return lines[first - 1 : node.end_lineno], first
    return [], None


def _codes_of(cls: type) -> list[CodeType]:
    return [method.__code__ for method in vars(cls).values() if inspect.isfunction(method)]


def file_of(obj: Any) -> str | None:
    """The name of the file or cell that an object's code stands in."""
    with contextlib.suppress(Exception):
        owner = inspect.unwrap(obj if inspect.isroutine(obj) or isinstance(obj, type) else type(obj))
        own = _codes_of(owner) if isinstance(owner, type) else []  # in a notebook, Python knows it of methods alone
        return own[0].co_filename if own else inspect.getfile(owner)
    return None


# The nodes that all trees of a process share: Python makes one of each operator, and one for a name that is read.
_EVERY = "x = not +a - -~b + b * c / d // e @ f % g ** h << i >> j | k ^ l & m, n < o <= p == q != r > s >= t"
_EVERY += "; u or v and w; x is y is not z in a not in b; del x"
_SHARED = [node for node in ast.walk(ast.parse(_EVERY)) if not node._fields]


def forget_marks() -> None:
    """IPython's tracebacks hang marks on the nodes of a tree. On those that are shared, they would lead out of ours."""
    for node in _SHARED:
        vars(node).clear()


def tree_of(obj: Any) -> ast.AST | None:
    """The syntax tree of a function's or class's own definition."""
    with contextlib.suppress(SyntaxError, IndexError):
        return ast.parse(source_of(obj) or "").body[0]
    return None


def unfinished_line(obj: Any) -> int | None:
    """The line of the object's source that is still open, or None where it is finished.

    Open is a `...` (in square brackets it is an index, not a gap), a NotImplementedError, or a function without a body.
    """
    tree = tree_of(obj)
    if tree is None:
        return None
    nodes = list(ast.walk(tree))
    # In brackets, and in einsum's lists of axes, a `...` is an index.
    shorthands = [node.slice for node in nodes if isinstance(node, ast.Subscript)]
    shorthands += [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("einsum")]
    indices = {id(part) for node in shorthands for part in ast.walk(node)}
    gaps = [node for node in nodes if isinstance(node, ast.Constant) and node.value is ... and id(node) not in indices]
    raised = [node for node in nodes if isinstance(node, ast.Raise) and "NotImplementedError" in ast.dump(node)]
    functions = [node for node in [tree, *getattr(tree, "body", [])] if isinstance(node, ast.FunctionDef)]
    own = functions if isinstance(tree, ast.ClassDef) else functions[:1]
    empty = [node.body[-1] for node in own if all(map(_is_empty, node.body))]
    return next((node.lineno for node in [*gaps, *raised, *empty]), None)


def _is_empty(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def unread(obj: Any, reference: Any) -> list[str]:
    """The parameters that an object's code never reads, where the reference, or its method of that name, reads its own.

    >>> unread(textwrap.dedent, textwrap.indent), unread(math.sqrt, math.sqrt)
    ([], [])
    """
    ours, found = _reads(reference), []
    for name, parameters in _reads(obj).items():
        pairs = zip(parameters, ours.get(name, ()), strict=False)
        found += [parameter for (parameter, read), (_own, needed) in pairs if needed and not read]
    return found


def _reads(obj: Any) -> dict[str, list[tuple[str, bool]]]:
    """The parameters of a function, or of each method of a class, and whether its code reads them."""
    tree, found = tree_of(obj), {}
    for node in tree.body if isinstance(tree, ast.ClassDef) else [tree]:
        if isinstance(node, ast.FunctionDef):
            parts = [part for line in node.body for part in ast.walk(line)]
            read = {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}
            read |= {getattr(part.target, "id", "") for part in parts if isinstance(part, ast.AugAssign)}
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            found[node.name if isinstance(tree, ast.ClassDef) else ""] = [(arg.arg, arg.arg in read) for arg in given]
    return found


def same_code(a: Any, b: Any) -> bool:
    """Two definitions with the same parameters and the same body; names, annotations and docstrings aside."""
    trees = [tree_of(obj) for obj in (a, b)]
    return None not in trees and bare(trees[0]) == bare(trees[1])


def bare(tree: ast.AST) -> str:
    """What a definition does, as text; the tree is changed."""
    for node in ast.walk(tree):
        vars(node).update({name: None for name in ("returns", "annotation") if hasattr(node, name)})
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    tree.name = ""
    return ast.dump(tree)


def standalone_source(obj: Any) -> str | None:
    """The object's source with the imports, helpers and constants of its notebook that it needs, ready to execute.

    None where some part has none (a lambda in a call, a value that is no constant). Annotations need nothing.
    """
    lines = {"": "from __future__ import annotations"}
    return "\n".join(lines.values()) if _collect(obj, obj.__module__, lines, getattr(obj, "__name__", "")) else None


def _collect(obj: Any, home: str, lines: dict[str, str], called: str) -> bool:
    """Add to `lines` the source of an object of the module `home`, after all that it needs; False where that fails."""
    source = source_of(obj)
    if source is None or (not inspect.isroutine(obj) and not isinstance(obj, type)):
        return False
    if obj.__name__ == "<lambda>":
        tree = tree_of(obj)
        if not (isinstance(tree, ast.Assign) and isinstance(tree.value, ast.Lambda)):
            return False
        source = f"{called} = {ast.unparse(tree.value)}"
    scope = vars(sys.modules[home])
    lines[called] = ""  # begun: a definition may name itself
    for name in sorted(_free_names(source, __future__.annotations.compiler_flag)):
        if name in lines or name not in scope:
            continue
        if line := _line_that_makes(name, scope[name], home):
            lines[name] = line
        elif not _collect(scope[name], home, lines, name):
            return False
    del lines[called]
    lines[called] = f"\n\n{source.strip()}\n"
    return True


def _line_that_makes(name: str, value: Any, home: str) -> str | None:
    if isinstance(value, ModuleType):
        return f"import {name}" if value.__name__ == name else f"import {value.__name__} as {name}"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{name} = float({str(value)!r})"
    if value is None or isinstance(value, bool | int | float | str):
        return f"{name} = {value!r}"
    if exercise_id := getattr(value, "kept_as", None):
        return f"from course_practice.engine import kept_solution\n{name} = kept_solution({exercise_id!r})"
    own, module = getattr(value, "__name__", None), getattr(value, "__module__", None)
    if own is None:  # a table of the library's
        here = (at for at in sys.modules if at.startswith("course_lib.") and vars(sys.modules[at]).get(name) is value)
        return next((f"from {at} import {name}" for at in here), None)
    if module in (None, home) or getattr(sys.modules.get(module), own, None) is not value:
        return None
    return f"from {module} import {own}" if own == name else f"from {module} import {own} as {name}"


def _free_names(source: str, flags: int = 0) -> set[str]:
    """The names that code takes from the place it stands in."""
    return free_names(compile(source, "<source>", "exec", flags, dont_inherit=True))


def free_names(code: CodeType) -> set[str]:
    """The names that compiled code takes from the place it stands in."""
    codes, found = [code], set()
    for code in codes:  # it grows by the functions inside
        codes += [part for part in code.co_consts if isinstance(part, CodeType)]
        found |= {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return found


def runnable_source(obj: Any, known: Collection[str] = ()) -> str:
    r"""The source of a function or class, below what it needs of its own module where only the names `known` exist.

    >>> from course_lib.layer_norm import Residual
    >>> print(runnable_source(Residual, known={"Callable", "Float", "Tensor"}).split("\n\n")[0])
    from torch import nn
    from course_lib.layer_norm import LayerNorm
    """
    source, makers = source_of(obj).rstrip(), _makers(sys.modules[obj.__module__])
    needed, left = {obj.__name__}, [source]
    while left:
        new = _free_names(left.pop()) & makers.keys() - needed - set(known)
        needed |= new
        left += [makers[name] for name in new]
    above = list(dict.fromkeys(lines for name, lines in makers.items() if name in needed - {obj.__name__}))
    imports = [lines for lines in above if lines.startswith(("import ", "from "))]
    others = [lines for lines in above if lines not in imports]
    return "\n\n\n".join(["\n".join(imports), *others, source]).lstrip()


def _makers(module: ModuleType) -> dict[str, str]:
    """The names of a module, each with the lines that make it elsewhere; what the library defines is imported."""
    found: dict[str, str] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            start = f"from {node.module} import" if isinstance(node, ast.ImportFrom) else "import"
            found |= {a.asname or a.name.partition(".")[0]: f"{start} {ast.unparse(a)}" for a in node.names}
            continue
        steps = dis.get_instructions(compile(ast.Module([node], []), "<module>", "exec"))
        for name in [step.argval for step in steps if step.opname == "STORE_NAME"]:
            library = module.__name__.startswith("course_lib.")
            found[name] = f"from {module.__name__} import {name}" if library else ast.unparse(node)
    return found
