"""Grafts: a small piece of the reference, in the learner's names, in the place of a piece of the learner's code."""

import ast
import builtins
import copy
import inspect
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import torch

from course_practice.engine.compare import as_tensor
from course_practice.engine.source import tree_of
from course_practice.repair.code import VARIANT
from course_practice.repair.indices import LETTERS
from course_practice.repair.places import Around, Edit, Place, fill, size
from course_practice.repair.seen import Seen, recorder, with_recorder

LARGEST = 13
_HOLE = "_hole"
_INSTEAD = "is {it} what is needed here, for every input?"
_MISSING = "is a step missing right after {it}?"


class Grafts:
    """Pieces of a reference whose names stand for what a learner's code knows."""

    def __init__(
        self,
        reference: Callable,
        parameters: list[str],
        around: Around,
        run: Callable[[Any], Any],
    ):
        """`run` calls an object on the case that is looked at; `parameters` are the learner's, in order.

        A variable of the reference is a learner's where both have the same value, else what the reference makes it of.
        """
        variables, self.scope = around.variables, around.scope
        self.theirs = variables.keys()
        self.pieces: dict[str, tuple[int, Seen]] = {}  # as text: how large it is, and what it was on the case
        self.steps: dict[str, tuple[int, Seen]] = {}  # the same around a hole, and what stood in the hole
        self.needs: dict[str, Any] = {}
        tree, unwrapped = tree_of(reference), inspect.unwrap(reference)
        if not isinstance(tree, ast.FunctionDef) or not inspect.isfunction(unwrapped):
            return
        tree.decorator_list = []
        seen, answers = _watched(tree, unwrapped, run)
        own = [arg.arg for arg in tree.args.args]
        self.names = dict(zip(own, parameters, strict=False))
        self.parts, self.globals = _definitions(tree), unwrapped.__globals__
        for name in self.parts.keys() & {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}:
            values = [seen[id(node)] for node in ast.walk(tree) if getattr(node, "id", "") == name and id(node) in seen]
            for theirs, value in variables.items():
                if value is not None and any(_same(value, here, name == theirs) for here in values):
                    self.parts[name] = ast.Name(theirs, ast.Load())
        self._collect(tree, seen, answers)

    def _collect(self, tree: ast.FunctionDef, seen: dict[int, Seen], answers: list[Any]) -> None:
        for node in ast.walk(tree):
            if id(node) not in seen:
                continue
            written = self._in_the_learners_names(node)
            plain = isinstance(written, ast.Name | ast.Tuple | ast.GeneratorExp | ast.ListComp | None)
            if not plain and not _is_one_of(seen[id(node)].value, answers):
                self.pieces[ast.unparse(written)] = size(written), seen[id(node)]
            for hole in _operands(node):
                if id(hole) in seen:
                    self._add_step(node, hole, seen[id(hole)])

    def _add_step(self, node: ast.expr, hole: ast.expr, of: Seen) -> None:
        """`node` around whatever is put in the place of its operand `hole`."""
        marked = copy.copy(node)
        mark = ast.Name(_HOLE, ast.Load())
        for name, value in ast.iter_fields(node):
            if value is hole:
                setattr(marked, name, mark)
            elif isinstance(value, list) and any(part is hole for part in value):
                setattr(marked, name, [mark if part is hole else part for part in value])
            elif isinstance(value, ast.Attribute) and value.value is hole:
                setattr(marked, name, ast.Attribute(mark, value.attr, ast.Load()))
        written = self._in_the_learners_names(marked)
        if written is not None:
            self.steps[ast.unparse(written)] = size(written), of

    def _in_the_learners_names(self, node: ast.expr) -> ast.expr | None:
        """A copy with the reference's variables written out; None where one of them cannot be, or it gets too long."""
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
        bound = {n.id for n in ast.walk(written) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for part in ast.walk(written):
            if not isinstance(part, ast.Name) or part.id == _HOLE or part.id in bound or part.id in self.theirs:
                continue
            if part.id in self.names:
                part.id = self.names[part.id]
            elif part.id in self.globals and self._is_known(part.id):
                self.needs[part.id] = self.globals[part.id]
            elif not hasattr(builtins, part.id):
                return None
        return written.body if size(written.body) <= LARGEST else None

    def _is_known(self, name: str) -> bool:
        """A function of the library that the learner has not imported is no hint for them."""
        return name in self.scope or not isinstance(self.globals[name], FunctionType)

    def edits(self, place: Place) -> Iterator[Edit]:
        """All grafts at a place, the missing steps and the other pieces."""
        if isinstance(place.node, ast.Starred | ast.Slice) or place.field == "func" or place.is_asked:
            return
        here = place.kind()
        for text, (length, of) in self.steps.items():
            if here is None or here.what == of.what:
                yield _edit(place, "missing", 3.5 + 0.12 * length, _MISSING, text)
        for text, (length, of) in self.pieces.items():
            if here is None or here.what == of.what:
                letters = place.called == "einsum" and of.what == "text"
                cost = 4.0 + 0.12 * length + 0.02 * place.size
                yield _edit(place, "other-piece", cost, LETTERS if letters else _INSTEAD, text)


def _edit(place: Place, kind: str, cost: float, asks: str, text: str) -> Edit:
    new = fill(text, place.node, **{_HOLE: place.node})
    slot = (place.parent, place.field, place.index, new)
    return Edit(kind, asks, place.node, place.part, place.line, (slot,), cost, place.node, new, place.statement)


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
    if isinstance(value, str):
        return value in [answer for answer in answers if isinstance(answer, str)]
    have = as_tensor(value)
    if have is None or have.dim() == 0:
        return False
    wants = [want for want in map(as_tensor, answers) if want is not None]
    return any(want.shape == have.shape and bool((want == have).all()) for want in wants)


def _same(a: Seen, b: Seen, of_one_name: bool) -> bool:
    """Are these tensors with the same numbers, more than one? A single number must have the same name, too."""
    if a.what == b.what == "number":
        return of_one_name and a.value == b.value
    if a.what != "tensor" or b.what != "tensor":
        return False
    one, other = as_tensor(a.value), as_tensor(b.value)
    both = one is not None and other is not None and one.shape == other.shape and one.numel() > 1
    return both and bool(torch.isclose(one.double(), other.double(), equal_nan=True).all())


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
