"""Exercises: notebook and registry hold the same ones, and a stub is what the reference expects."""

import ast
import inspect
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path

from nbformat import NotebookNode

from tools.gates.outputs import texts
from tools.gates.parsing import calls, parts, read, strings, syntax_tree
from tools.template import exercise_heading


def ids_match(paths: Iterable[Path], registry: Mapping) -> list[str]:
    """Each exercise of the registry stands in one chapter, its subject's; no chapter names another."""
    found, seen = [], {}
    for path in paths:
        for name in _checked(read(path)):
            if name not in registry:
                found.append(
                    f"{path.name}: check({name!r}, …) names no exercise of the registry: add it, or mend the id"
                )
            elif name in seen:
                found.append(f"{path.name}: the exercise {name!r} stands in {seen[name]} already: keep one")
            seen[name] = path.name
    for name in registry:
        if name not in seen:
            found.append(f"the exercise {name!r} stands in no chapter: add it to the one on {name.split('.')[0]!r}")
    return found


def _checked(nb: NotebookNode) -> list[str]:
    code = (cell.source for cell in nb.cells if cell.cell_type == "code")
    return [strings(call)[0] for source in code for call in calls(source, "check") if strings(call)]


def form(path: Path, registry: Mapping) -> list[str]:
    """An exercise is a heading, a stub that ends with check(id, …), and show_solution(id)."""
    found, title, stubs, shown = [], "", {}, {}
    for part in parts(read(path)):
        if part.kind in {"h2", "h3"}:
            title = part.text
            continue
        if part.kind != "code":
            continue
        where = f"{path.name}, cell {part.cell.id!r}"
        for call in calls(part.text, "check"):
            name = strings(call)[0] if strings(call) else ""
            if name not in registry:
                continue  # the registry's gate says so
            exercise = registry[name]
            heading = exercise_heading(exercise.title, exercise.difficulty, exercise.minutes)
            if title != heading:
                found.append(f"{where}: expected the heading '### {heading}' above it, got '{title}'")
            stubs[name] = title
            found += [f"{where}: {complaint}" for complaint in stub_complaints(part.text, call, exercise)]
            if part.cell.outputs and not any("not attempted" in text for text in texts(part.cell)):
                found.append(f"{where}: stored with an answer: put the stub back and run make notebooks")
        for call in calls(part.text, "show_solution"):
            name = strings(call)[0] if strings(call) else ""
            shown[name] = title
            if name not in stubs:
                found.append(f"{where}: show_solution({name!r}) without check({name!r}, …) before it")
    found += [
        f"{path.name}: the exercise {name!r} has no cell show_solution({name!r}) under its heading"
        for name, heading in stubs.items()
        if shown.get(name) != heading
    ]
    return found


def stub_complaints(source: str, call: ast.Call, exercise) -> list[str]:
    """What keeps a stub cell from being one: definition, then check(id, definition) as the last line; signature."""
    tree = syntax_tree(source)
    last = tree.body[-1]
    defined = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    named = call.args[1].id if len(call.args) > 1 and isinstance(call.args[1], ast.Name) else ""
    if named not in defined:
        return [f"check({exercise.id!r}, {named or '…'}) checks nothing that this cell defines: define the stub here"]
    if ast.dump(last) != ast.dump(ast.Expr(call)):
        return [
            f"check({exercise.id!r}, …) is not the last line of the stub's cell: its result is what the reader sees"
        ]
    stub = defined[named]
    return _same_signature(stub, tree_of(exercise.reference)) + _same_starter(stub, exercise.starter)


def tree_of(obj: object) -> ast.FunctionDef | ast.ClassDef:
    """The definition of a function or class, from its source."""
    return ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(obj)))).body[0]


def _same_signature(stub: ast.AST, reference: ast.AST) -> list[str]:
    if type(stub) is not type(reference):
        kinds = {ast.FunctionDef: "a function", ast.ClassDef: "a class"}
        return [f"expected {kinds[type(reference)]}, as the reference is, got {kinds[type(stub)]}"]
    if isinstance(stub, ast.ClassDef):
        methods = {node.name: node for node in reference.body if isinstance(node, ast.FunctionDef)}
        own = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
        missing = [name for name in methods if name not in own and (name.startswith("__") or not name.startswith("_"))]
        if missing:
            return [f"the stub has no method {missing[0]!r}, the reference has: add it"]
        return [c for name, method in methods.items() if name in own for c in _same_signature(own[name], method)]
    expected, got = _parameters(reference), _parameters(stub)
    required = {name: default for name, default in expected.items() if default is None}
    optional = {name: default for name, default in got.items() if name not in required}
    in_order = list(got)[: len(required)] == list(required) and not any(got[name] for name in required)
    if in_order and all(name in expected and expected[name] == default for name, default in optional.items()):
        return []
    return [
        f"expected the reference's signature {_shown(expected)}, got {_shown(got)}: write the stub as the reference"
    ]


def _parameters(function: ast.FunctionDef) -> dict[str, str | None]:
    """Names of the parameters with the source of their defaults (None: required)."""
    arguments = function.args
    names = [a.arg for a in [*arguments.posonlyargs, *arguments.args]]
    defaults = [None] * (len(names) - len(arguments.defaults)) + [ast.unparse(d) for d in arguments.defaults]
    found = dict(zip(names, defaults, strict=True))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found[argument.arg] = default and ast.unparse(default)
    return found


def _shown(parameters: dict[str, str | None]) -> str:
    return (
        "(" + ", ".join(name if default is None else f"{name}={default}" for name, default in parameters.items()) + ")"
    )


def _same_starter(stub: ast.AST, starter: object) -> list[str]:
    """Where the exercise gives code to start from, the cell repeats that code."""
    if starter is None:
        return []
    given = tree_of(starter)
    same = [ast.dump(node) for node in _code(stub)] == [ast.dump(node) for node in _code(given)]
    return (
        []
        if same
        else ["the stub's code is not the exercise's starter: copy it, the name and the docstring may differ"]
    )


def _code(definition: ast.AST) -> list[ast.stmt]:
    body = definition.body
    has_docstring = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return body[1:] if has_docstring and len(body) > 1 and isinstance(body[0].value.value, str) else body
