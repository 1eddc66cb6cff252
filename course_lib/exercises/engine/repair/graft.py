"""Grafts: a small piece of the reference, in the learner's names, in the place of a piece of the learner's code."""

import ast
import builtins
import copy
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from course_lib.exercises.engine.compare import as_tensor
from course_lib.exercises.engine.repair.code import VARIANT
from course_lib.exercises.engine.repair.places import Edit, Place, located, size
from course_lib.exercises.engine.repair.seen import Seen, recorder, with_recorder
from course_lib.exercises.engine.source import tree_of

LARGEST = 12
_INSTEAD = "is {it} what is needed here, for every input?"
_MISSING = "is a step missing right after {it}?"


class Grafts:
    """Pieces of a reference whose names stand for what a learner's code knows."""

    def __init__(self, reference: Callable, parameters: list[str], run: Callable[[Any], Any]):
        """`run` calls an object on the case that is looked at; `parameters` are the learner's, in order."""
        self.pieces: list[tuple[ast.expr, Seen]] = []
        self.steps: list[tuple[ast.expr, ast.expr, Seen]] = []
        self.needs: dict[str, Any] = {}
        tree, unwrapped = tree_of(reference), inspect.unwrap(reference)
        if not isinstance(tree, ast.FunctionDef) or not inspect.isfunction(unwrapped):
            return
        tree.decorator_list = []
        seen, answers = _watched(tree, unwrapped, run)
        own = [arg.arg for arg in tree.args.args]
        self.names = dict(zip(own, parameters, strict=False))
        self.parts, self.globals = _definitions(tree), unwrapped.__globals__
        self._collect(tree, seen, answers)

    def _collect(self, tree: ast.FunctionDef, seen: dict[int, Seen], answers: list[Any]) -> None:
        found: dict[str, tuple[ast.expr, Seen]] = {}
        for node in ast.walk(tree):
            if id(node) not in seen:
                continue
            here = seen[id(node)]
            written = self._in_the_learners_names(node)
            plain = isinstance(written, ast.Name | ast.Tuple | ast.GeneratorExp | ast.ListComp | None)
            if not plain and size(written) <= LARGEST and not _is_one_of(here.value, answers):
                found.setdefault(ast.unparse(written), (written, here))
            for hole in _operands(node):
                if id(hole) in seen:
                    self._add_step(node, hole, seen[id(hole)])
        self.pieces = sorted(found.values(), key=lambda piece: size(piece[0]))
        self.steps.sort(key=lambda step: size(step[0]))

    def _add_step(self, node: ast.expr, hole: ast.expr, of: Seen) -> None:
        """`node` around whatever is put in the place of its operand `hole`."""
        marked = copy.copy(node)
        mark = ast.Name("_hole", ast.Load())
        for name, value in ast.iter_fields(node):
            if value is hole:
                setattr(marked, name, mark)
            elif isinstance(value, list) and any(part is hole for part in value):
                setattr(marked, name, [mark if part is hole else part for part in value])
            elif isinstance(value, ast.Attribute) and value.value is hole:
                setattr(marked, name, ast.Attribute(mark, value.attr, ast.Load()))
        written = self._in_the_learners_names(marked, hole="_hole")
        if written is not None and size(written) <= LARGEST:
            self.steps.append((written, mark, of))

    def _in_the_learners_names(self, node: ast.expr, hole: str = "") -> ast.expr | None:
        """A copy with the reference's variables written out; None where one of them cannot be."""
        written = ast.Expression(copy.deepcopy(node))
        for _ in range(4):  # a variable may be made of others
            for parent in list(ast.walk(written)):
                for name, value in list(ast.iter_fields(parent)):
                    for index, child in enumerate(value) if isinstance(value, list) else ((None, value),):
                        if isinstance(child, ast.Name) and child.id in self.parts:
                            part = copy.deepcopy(self.parts[child.id])
                            if index is None:
                                setattr(parent, name, part)
                            else:
                                value[index] = part
            if size(written) > 4 * LARGEST:
                return None
        for part in ast.walk(written):
            if not isinstance(part, ast.Name) or part.id == hole:
                continue
            if part.id in self.names:
                part.id = self.names[part.id]
            elif part.id in self.globals:
                self.needs[part.id] = self.globals[part.id]
            elif not hasattr(builtins, part.id):
                return None
        return written.body

    def edits(self, place: Place) -> Iterator[Edit]:
        """All grafts at a place, the missing steps and the other pieces."""
        if isinstance(place.node, ast.Starred | ast.Slice) or place.field == "func":
            return
        here = place.kind()
        for written, _mark, of in self.steps:
            if here is None or here.what == of.what:
                new = _with(written, place.node)
                yield _edit(place, "missing", 3.5 + 0.12 * size(written), _MISSING, new)
        for written, of in self.pieces:
            if here is None or here.what == of.what:
                new = _moved(copy.deepcopy(written), place.node)
                cost = 4.0 + 0.12 * size(written) + 0.02 * size(place.node)
                yield _edit(place, "other-piece", cost, _INSTEAD, new)


def _edit(place: Place, kind: str, cost: float, asks: str, new: ast.expr) -> Edit:
    slot = (place.parent, place.field, place.index, new)
    return Edit(kind, asks, place.node, place.part, place.line, (slot,), cost, place.node, new)


def _with(written: ast.expr, node: ast.expr) -> ast.expr:
    """A copy of a step, around an expression of the learner's."""
    made = ast.Expression(copy.deepcopy(written))
    for parent in list(ast.walk(made)):
        for name, value in ast.iter_fields(parent):
            for index, child in enumerate(value) if isinstance(value, list) else ((None, value),):
                if isinstance(child, ast.Name) and child.id == "_hole":
                    if index is None:
                        setattr(parent, name, node)
                    else:
                        value[index] = node
        if parent is not node:
            located(parent, node)
    return made.body


def _moved(tree: ast.expr, at: ast.AST) -> ast.expr:
    for node in ast.walk(tree):
        located(node, at)
    return tree


def _watched(tree: ast.FunctionDef, reference: Callable, run: Callable[[Any], Any]) -> tuple[dict[int, Seen], list]:
    """What every expression of the reference was on the case, and the answers."""
    found: dict[int, Seen] = {}
    marked_trees, marked = with_recorder([tree])
    scope = {**reference.__globals__, **recorder(marked, found)}
    exec(compile(ast.Module(marked_trees, []), VARIANT, "exec"), scope)
    answer = run(scope[tree.name])
    return found, [answer, *(answer if isinstance(answer, tuple | list) else ())]


def _is_one_of(value: Any, answers: list[Any]) -> bool:
    """Is a piece's value one of the answers? Then it is the solution, and no repair."""
    have = as_tensor(value)
    if have is None or have.dim() == 0:
        return False
    wants = [want for want in map(as_tensor, answers) if want is not None]
    return any(want.shape == have.shape and bool((want == have).all()) for want in wants)


def _definitions(tree: ast.FunctionDef) -> dict[str, ast.expr]:
    """What stands for a variable that the reference assigns once."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name):
                found.setdefault(target.id, []).append(node.value)
            elif isinstance(target, ast.Tuple) and not any(isinstance(part, ast.Starred) for part in target.elts):
                for number, part in enumerate(target.elts):
                    index = ast.Subscript(node.value, ast.Constant(number), ast.Load())
                    found.setdefault(ast.unparse(part), []).append(index)
        elif isinstance(node, ast.AugAssign | ast.For | ast.comprehension):
            found.setdefault(ast.unparse(node.target), []).extend([node.target, node.target])
    parameters = {arg.arg for arg in tree.args.args}
    return {name: values[0] for name, values in found.items() if len(values) == 1 and name not in parameters}


def _operands(node: ast.expr) -> list[ast.expr]:
    """The operands of a step that something else can be put in the place of."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Call):
        receiver = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        return [*receiver, *(arg for arg in node.args if not isinstance(arg, ast.Constant))]
    if isinstance(node, ast.Subscript):
        return [node.value]
    return [node.left] if isinstance(node, ast.Compare) else []
