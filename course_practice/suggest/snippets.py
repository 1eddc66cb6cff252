"""Snippets of the reference, in the learner's names, in the place of a piece of the learner's code."""

import ast
import builtins
import copy
import inspect
import math
import sys
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from course_practice.engine.compare import as_tensor
from course_practice.engine.source import tree_of
from course_practice.suggest.edits import Context, Edit, Place, size
from course_practice.suggest.observed import Found, Observed, Recording, same_numbers
from course_practice.suggest.operators import LETTERS
from course_practice.suggest.templates import written

LARGEST = 13
_HOLE = "_hole"
INSTEAD = "is {it} what is needed here?"
_MISSING = "does {it} need one more step?"


class Reference:
    """A reference that has run on some cases: its tree, and what each of its expressions was on each of them."""

    def __init__(self, reference: Callable, run: Callable[[Any, int], Any], numbers: list[int]):
        """`run` calls an object on the case of a number."""
        self.runs: list[Found] = []
        self.answers: list[Any] = []  # to the first of the cases
        tree, of = tree_of(reference), inspect.unwrap(reference)
        self.tree = tree if isinstance(tree, ast.FunctionDef | ast.ClassDef) else None
        if self.tree is None:
            return
        self.globals = vars(sys.modules[of.__module__])
        self.tree.decorator_list = []
        recording = Recording([self.tree])
        scope = {**self.globals, **recording.names}
        try:
            exec(recording.code, scope)
        except Exception:  # it stands in a function whose names it needs
            self.tree = None
            return
        answers = []
        for number in numbers:
            recording.found = {}
            answers.append(run(scope[self.tree.name], number))
            self.runs.append(recording.found)
        self.answers = [answers[0], *(answers[0] if isinstance(answers[0], tuple | list) else ())]

    @property
    def found(self) -> Found:
        """What its expressions were on the first case."""
        return self.runs[0] if self.runs else {}


class Snippets:
    """Pieces of a reference whose names stand for what a learner's code knows."""

    def __init__(self, reference: Reference, parameters: list[str], context: Context):
        """`parameters` are the learner's, in order.

        A variable of the reference is a learner's where both have the same value, else what the reference makes it of.
        """
        variables, self.scope = context.variables, context.scope
        self.theirs = variables.keys()
        self.pieces: dict[str, tuple[int, Observed]] = {}  # as text: how large it is, and what it was on the case
        self.steps: dict[str, tuple[int, Observed]] = {}  # the same around a hole, and what stood in the hole
        self.imports: dict[str, Any] = {}  # names of the reference's module that they need
        tree, seen = reference.tree, reference.found
        if not isinstance(tree, ast.FunctionDef):
            return
        own = [arg.arg for arg in tree.args.args]
        self.names = dict(zip(own, parameters, strict=False))
        self.parts, self.globals = _definitions(tree), reference.globals
        for name in self.parts.keys() & {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}:
            values = [seen[id(node)] for node in ast.walk(tree) if getattr(node, "id", "") == name and id(node) in seen]
            for theirs, value in variables.items():
                if value is not None and any(_same(value, here, name == theirs) for here in values):
                    self.parts[name] = ast.Name(theirs, ast.Load())
        self._collect(tree, seen, reference.answers)

    def _collect(self, tree: ast.FunctionDef, seen: Found, answers: list[Any]) -> None:
        returned = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Return)}
        for node in ast.walk(tree):
            if id(node) not in seen:
                continue
            form = self._in_the_learners_names(node)
            plain = isinstance(form, ast.Name | ast.Tuple | ast.GeneratorExp | ast.ListComp | None)
            if not plain and id(node) not in returned and not _is_one_of(seen[id(node)].value, answers):
                self.pieces[ast.unparse(form)] = size(form), seen[id(node)]
            for hole in _operands(node):
                if id(hole) in seen:
                    self._add_step(node, hole, seen[id(hole)])

    def _add_step(self, node: ast.expr, hole: ast.expr, of: Observed) -> None:
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
        form = self._in_the_learners_names(marked)
        if form is not None:
            self.steps[ast.unparse(form)] = size(form), of

    def _in_the_learners_names(self, node: ast.expr) -> ast.expr | None:
        """A copy with the reference's variables form out; None where one of them cannot be, or it gets too long."""
        form = ast.Expression(copy.deepcopy(node))
        for _ in range(4):  # a variable may be made of others
            for parent in list(ast.walk(form)):
                for name, value in list(ast.iter_fields(parent)):
                    for index, child in enumerate(value) if isinstance(value, list) else ((None, value),):
                        if isinstance(child, ast.Name) and child.id in self.parts:
                            part = copy.deepcopy(self.parts[child.id])
                            if index is None:
                                setattr(parent, name, part)
                            else:
                                value[index] = part
            if size(form) > 4 * LARGEST:
                return None
        bound = {n.id for n in ast.walk(form) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for part in ast.walk(form):
            if not isinstance(part, ast.Name) or part.id == _HOLE or part.id in bound or part.id in self.theirs:
                continue
            if part.id in self.names:
                part.id = self.names[part.id]
            elif part.id in self.globals and self._is_known(part.id):
                self.imports[part.id] = self.globals[part.id]
            elif not hasattr(builtins, part.id):
                return None
        return form.body if size(form.body) <= LARGEST else None

    def _is_known(self, name: str) -> bool:
        """A function of the library that the learner has not imported is no hint for them."""
        return name in self.scope or not isinstance(self.globals[name], FunctionType)

    def edits(self, place: Place) -> Iterator[Edit]:
        """All snippets at a place: steps that may be missing, and other pieces."""
        if isinstance(place.node, ast.Starred | ast.Slice) or place.field == "func" or place.is_asked:
            return
        here = place.observed()
        if here is not None and isinstance(here.value, float) and math.isinf(here.value):
            return  # an infinity is written on purpose, as what is cut: a step after it means nothing
        for text, (length, of) in self.steps.items():
            if here is None or here.kind == of.kind:
                yield _edit(place, "missing", 3.5 + 0.12 * length, _MISSING, text)
        for text, (length, of) in self.pieces.items():
            if here is None or here.kind == of.kind:
                letters = place.called == "einsum" and of.kind == "text"
                cost = 4.0 + 0.12 * length + 0.02 * place.size
                yield _edit(place, "other-piece", cost, LETTERS if letters else INSTEAD, text)


def _edit(place: Place, operator: str, cost: float, asks: str, text: str) -> Edit:
    return place.edit(operator, cost, asks, written(text, place.node, **{_HOLE: place.node}))


def _is_one_of(value: Any, answers: list[Any]) -> bool:
    """Is a piece's value one of the answers? Then it is the solution, and no repair."""
    tensor = as_tensor(value)
    telling = isinstance(value, str | float) if tensor is None or tensor.dim() == 0 else True
    return telling and any(same_numbers(value, answer) for answer in answers)


def _same(a: Observed, b: Observed, of_one_name: bool) -> bool:
    """Are these tensors with the same numbers, more than one? A single number must have the same name, too."""
    if a.kind == b.kind == "number":
        return of_one_name and a.value == b.value
    return a.kind == b.kind == "tensor" and as_tensor(a.value).numel() > 1 and same_numbers(a.value, b.value)


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
