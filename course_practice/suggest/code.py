"""A learner's code as syntax trees that can be changed, compiled and run again, with all that they need around them."""

import ast
import copy
import functools
import inspect
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import torch

import course_lib
from course_practice.engine.rounds import COUNTER, counted
from course_practice.engine.run import TAKES_LISTS
from course_practice.engine.source import bare, first_line, source_of, tree_of
from course_practice.suggest.safety import from_outside, is_fixed, is_safe, names_in

LINES = 60  # a longer text takes too long to search
VARIANT = "<a variant of your code>"


@dataclass(frozen=True)
class Part:
    """One definition of the learner's: its tree, numbered as in its cell or file, and the text of its lines."""

    tree: ast.FunctionDef | ast.ClassDef
    first: int
    lines: tuple[str, ...]

    def text(self, line: int) -> str:
        """The line of that number, as the learner wrote it."""
        return self.lines[line - self.first].strip() if 0 <= line - self.first < len(self.lines) else ""

    def quote(self, node: ast.AST, limit: int = 48) -> str:
        """A piece of the code as the learner wrote it, cut where it is long."""
        try:
            line = self.lines[node.lineno - self.first].encode()
            text = line[node.col_offset : node.end_col_offset].decode() if node.lineno == node.end_lineno else ""
        except (AttributeError, IndexError, UnicodeDecodeError):
            text = ""
        text = text or " ".join(ast.unparse(node).split())
        return text if len(text) <= limit else f"{text[: limit - 2]} …"


@dataclass
class Code:
    """The learner's object, and the functions of the learner's own that it calls; the object itself comes last."""

    parts: list[Part]
    scope: dict[str, Any]
    mutable: list[str] = field(default_factory=list)  # names of values that code can change

    @property
    def name(self) -> str:
        return self.parts[-1].tree.name

    def can_take(self, names: dict[str, Any]) -> bool:
        """Take names of another module; False where the code has other things by these names."""
        used = {node.id for part in self.parts for node in ast.walk(part.tree) if isinstance(node, ast.Name)}
        if any(self.scope.get(name, names[name]) is not names[name] for name in used & names.keys()):
            return False
        self.scope = {**names, **self.scope}
        return True

    def compiled(self) -> CodeType | None:
        """The trees as they are now, ready to run; None where they are no Python."""
        try:
            with counted(part.tree for part in self.parts):
                return compile(ast.Module([part.tree for part in self.parts], []), VARIANT, "exec")
        except (SyntaxError, ValueError, TypeError, RecursionError):
            return None

    def built(self, code: CodeType, **extra: Any) -> Any:
        """The object that compiled code defines, in a copy of the learner's own names."""
        scope = {**self.scope, **COUNTER, **extra}
        scope.update({name: copy.deepcopy(self.scope[name]) for name in self.mutable})
        taken = {name: getattr(torch, name) for name in TAKES_LISTS if name in scope}  # guarded, in a search
        scope.update({n: call for n, call in taken.items() if scope[n] is getattr(call, "__wrapped__", None)})
        exec(code, scope)
        return scope[self.name]


def code_of(obj: Any) -> Code | None:
    """The code of a function or class; None where there is no source, too much of it, or any that may do harm."""
    obj = inspect.unwrap(obj) if inspect.isroutine(obj) else obj
    part = _part(obj)
    if part is None:
        return None
    scope = _scope(obj)
    parts = [*_helpers(part, scope, obj.__module__), part]
    if sum(len(part.lines) for part in parts) > LINES:
        parts = [part]
    outside = set().union(*(from_outside(part.tree) for part in parts))
    used = {name for part in parts for name in names_in(part.tree)}
    for name in (used - outside) & scope.keys():
        del scope[name]  # only a variable has it: what the notebook calls by this name, `_` of the last cell, is other
    if len(part.lines) > LINES or not is_safe([part.tree for part in parts], scope):
        return None
    mutable = sorted(name for name in outside & scope.keys() if not is_fixed(scope[name]))
    code = Code(parts, scope, mutable)
    try:
        copy.deepcopy([scope[name] for name in mutable])
    except Exception:
        return None
    return code


def _part(obj: Any) -> Part | None:
    if not isinstance(obj, FunctionType | type) or str(obj.__module__).startswith("course_lib."):
        return None  # the library's own code is nobody's mistake
    source, first, tree = source_of(obj), first_line(obj), tree_of(obj)
    if source is None or first is None or tree is None:
        return None
    if isinstance(obj, FunctionType) and obj.__name__ == "<lambda>":
        tree = _named(tree)
    if not isinstance(tree, ast.FunctionDef | ast.ClassDef):
        return None
    ast.increment_lineno(tree, first - 1)
    tree.decorator_list = [node for node in tree.decorator_list if "grad" in ast.unparse(node)]
    return Part(tree, first, tuple(source.splitlines()))


def _named(tree: ast.AST) -> ast.FunctionDef | None:
    """A lambda as the function that it stands for; None where its statement holds several."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    if len(found) != 1:
        return None
    body = ast.copy_location(ast.Return(found[0].body), found[0].body)
    named = ast.FunctionDef(name="answer", args=found[0].args, body=[body], decorator_list=[], type_params=[])
    return ast.copy_location(named, found[0])


def _scope(obj: Any) -> dict[str, Any]:
    """The names that an object's code sees: its module's, and those of the functions around it."""
    functions = [obj] if isinstance(obj, FunctionType) else [f for f in vars(obj).values() if inspect.isfunction(f)]
    scope = dict(functions[0].__globals__ if functions else vars(sys.modules[obj.__module__]))
    for function in functions:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if name != "__class__":
                scope[name] = cell.cell_contents
    return scope


def _helpers(part: Part, scope: dict[str, Any], home: str) -> list[Part]:
    """The learner's own functions and classes that a definition calls, those that they call before them."""
    found: dict[str, Part] = {}

    def collect(tree: ast.AST) -> None:
        outside = from_outside(tree)
        for name in filter(outside.__contains__, names_in(tree)):
            obj = scope.get(name)
            if name in found or name == part.tree.name or not isinstance(obj, FunctionType | type):
                continue
            own = obj.__module__ == home and obj.__name__ == name and not getattr(obj, "__closure__", None)
            if own and (helper := _part(obj)) and not _is_of_the_course(obj):
                found[name] = helper
                collect(helper.tree)

    collect(part.tree)
    return list(reversed(found.values()))


def _is_of_the_course(obj: Any) -> bool:
    """Is this a definition that a chapter shows and the library has too, loaded or not? Nobody's mistake lies there."""
    return bare(tree_of(obj)) in _in_the_course(obj.__name__)


@functools.cache
def _in_the_course(name: str) -> list[str]:
    begin = re.compile(rf"^(def|class) {name}\b", re.MULTILINE)
    files = [ast.parse(text).body for text in _texts_of_the_course() if begin.search(text)]
    return [bare(node) for body in files for node in body if getattr(node, "name", "") == name]


@functools.cache
def _texts_of_the_course() -> list[str]:
    return [file.read_text(encoding="utf-8") for file in Path(course_lib.__file__).parent.rglob("*.py")]
