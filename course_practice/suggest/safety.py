"""Which code may be run in variants: none that touches files, processes or the network, or that changes a library.

What is allowed is listed, not what is forbidden: a module that nobody thought of is refused.
"""

import ast
import itertools
import sys
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from torch.nn import functional

from course_practice.engine.source import free_names, tree_of

_MODULES = {
    "torch", "numpy", "math", "cmath", "random", "statistics", "itertools", "functools", "operator", "collections",
    "typing", "jaxtyping", "einops", "opt_einsum", "copy", "dataclasses", "contextlib", "warnings", "string", "re",
    "fractions", "decimal", "numbers", "abc", "enum", "heapq", "bisect", "time", "__future__", "course_lib", "types",
}  # fmt: skip
_BELOW = {"builtins", "_operator", "_functools", "_random"}  # where functions of these modules are really from
_BUILTINS = {
    "open", "eval", "exec", "compile", "input", "__import__", "breakpoint", "exit", "quit", "globals", "locals",
    "vars", "setattr", "delattr", "memoryview", "get_ipython", "help", "getattr", "__builtins__", "__loader__",
}  # fmt: skip
_ATTRIBUTES = {
    "save", "load", "savez", "savez_compressed", "savetxt", "loadtxt", "genfromtxt", "tofile", "fromfile", "from_file",
    "memmap", "open_memmap", "dump", "dumps", "hub", "distributed", "multiprocessing", "serialization", "utils",
    "cpp_extension", "ops", "classes", "jit", "package", "onnx", "profiler", "share_memory_", "sleep", "f2py", "lib",
    "ctypeslib", "load_state_dict_from_url", "DataSource", "compile", "export", "testing", "sys", "os",
}  # fmt: skip
_ENDLESS = {"count": itertools.count, "cycle": itertools.cycle, "repeat": itertools.repeat}  # `sum` never stops on them
_SPECIAL = {"__init__", "__call__", "__len__", "__getitem__", "__iter__", "__name__", "__class__", "__neg__", "__add__"}


def is_safe(trees: list[ast.AST], scope: dict[str, Any]) -> bool:
    """May variants of these trees be run in this scope?"""
    return _is_safe(trees, scope, seen=set())


def _is_safe(trees: list[ast.AST], scope: dict[str, Any], seen: set[int]) -> bool:
    defined = {tree.name for tree in trees if isinstance(tree, ast.FunctionDef | ast.ClassDef)}
    nodes = [node for tree in trees for node in ast.walk(tree)]
    looking_up = {id(node.func) for node in nodes if _looks_up_an_activation(node, scope)}
    return all(id(node) in looking_up or _allowed(node, scope, defined, seen) for node in nodes)


def _looks_up_an_activation(node: ast.AST, scope: dict[str, Any]) -> bool:
    """Is it `getattr(F, …)`, as a layer finds its activation?"""
    of = node.args[0] if isinstance(node, ast.Call) and len(node.args) == 2 else None
    return ast.unparse(node.func) == "getattr" and scope.get(getattr(of, "id", "")) is functional if of else False


def _allowed(node: ast.AST, scope: dict[str, Any], defined: set[str], seen: set[int]) -> bool:
    if isinstance(node, ast.Import):
        return all(_root(alias.name) in _MODULES and not _risky(alias.name) for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        names = [node.module or "", *(alias.name for alias in node.names)]
        endless = node.module == "itertools" and not _ENDLESS.keys().isdisjoint(names)
        return node.level == 0 and not endless and _root(names[0]) in _MODULES and not any(map(_risky, names))
    if isinstance(node, ast.Global | ast.Nonlocal | ast.AsyncFunctionDef | ast.Await):
        return False
    if "__class__" in (getattr(node, "name", ""), getattr(node, "id", "")):
        return False  # PyTorch ends Python where an object says that it is a tensor
    if isinstance(node, ast.Attribute):
        of_a_library = isinstance(node.value, ast.Name) and isinstance(scope.get(node.value.id), ModuleType | type)
        if node.attr in _ENDLESS and isinstance(node.value, ast.Name):
            named = scope.get(node.value.id)
            if named is itertools or (named is None and node.value.id == "itertools"):
                return False
        changes = of_a_library and (not isinstance(node.ctx, ast.Load) or node.attr.startswith("set_"))
        return not changes and not _risky(node.attr) and (not node.attr.startswith("__") or node.attr in _SPECIAL)
    if isinstance(node, ast.Name):
        known = node.id in defined or node.id not in scope
        return node.id not in _BUILTINS and (known or _trusted(scope[node.id], seen))
    return True


def _risky(name: str) -> bool:
    return not _ATTRIBUTES.isdisjoint(name.split("."))


def _root(name: str) -> str:
    return name.split(".")[0]


def _trusted(value: Any, seen: set[int]) -> bool:
    """Comes a value from a library that does no harm, or is it plain data, or a function of the learner's like that?"""
    if any(value is endless for endless in _ENDLESS.values()):
        return False
    if id(value) in seen:
        return True
    seen.add(id(value))
    if isinstance(value, ModuleType):
        return _root(value.__name__) in _MODULES and not _risky(value.__name__)
    if isinstance(value, list | tuple | set | frozenset | dict):
        return all(_trusted(part, seen) for part in (value.values() if isinstance(value, dict) else value))
    named = isinstance(value, FunctionType | BuiltinFunctionType | type)
    home = getattr(value if named else type(value), "__module__", None)
    if not isinstance(home, str):
        return False
    return _root(home) in _MODULES | _BELOW or (named and _is_own(value, home, seen))


def _is_own(value: Any, home: str, seen: set[int]) -> bool:
    """A function of the learner's that is not among the trees: safe where its own tree is."""
    tree, module = tree_of(value), sys.modules.get(home)
    if not isinstance(tree, ast.FunctionDef | ast.ClassDef) or module is None or getattr(value, "__closure__", None):
        return False
    outside = from_outside(tree)  # a variable of its own is not what the notebook calls by this name
    return _is_safe([tree], {name: value for name, value in vars(module).items() if name in outside}, seen)


def from_outside(tree: ast.AST) -> set[str]:
    """The names that a definition takes from the place it stands in: none of its variables."""
    try:
        return free_names(compile(ast.Module([tree], []), "<a definition>", "exec"))
    except SyntaxError:  # `nonlocal`, for one, without the function around it
        return set(names_in(tree))


def names_in(tree: ast.AST) -> list[str]:
    """All names that stand in a tree, each once, in their order."""
    return list(dict.fromkeys(node.id for node in ast.walk(tree) if isinstance(node, ast.Name)))


def is_fixed(value: Any) -> bool:
    """Can code not change this value: a library, a function, a number, a text?"""
    fixed = ModuleType | type | FunctionType | BuiltinFunctionType | int | float | complex | str | bytes
    return isinstance(value, fixed) or value is None or value is ...
