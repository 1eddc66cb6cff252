"""Is a change that makes every case right also one that a teacher would sign?

Many a change lets every case pass because part of the code has no effect any more. So the code is run with a recorder
before and after the change, and each of these is a flaw:

- a variable or a parameter that was used, and is not any longer;
- a step that leaves its input as it is, in every case, and did not before; a mask, a condition, or a whole number that
  is always the same, and was not; a loop that goes round once, and went round more often;
- a list or a slice with nothing in it, where there was none, and the reference has none;
- a number that decides by being 0, or that is `and`ed and `or`ed;
- a tensor of a single number that is spread over all places;
- a step that makes no difference, whatever it gives, and that made one before.
"""

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from torch import Tensor

from course_practice.engine.compare import as_tensor
from course_practice.engine.run import Outcome
from course_practice.suggest.edits import Edit, applied, name_of, statements
from course_practice.suggest.observed import Found, Recording, is_empty, same_numbers
from course_practice.suggest.operators import REDUCE
from course_practice.suggest.variants import Variants

# What can put itself in the place of the rest.
_REPLACING = {"missing", "other-piece", "order", "name", "argument", "operator"}
_CHANGING = {"masked_fill", "masked_fill_", "where", "minimum", "maximum", *REDUCE}
_BRANCHES = ast.If | ast.While | ast.IfExp


class Soundness:
    """What is asked of a change that makes every case right; made while the code is as the learner wrote it."""

    def __init__(self, variants: Variants, reference: Found):
        self.variants, self.code = variants, variants.code
        values = [value for seen in reference.values() for value in seen.values]
        self.shapes = {tuple(value.shape) for value in values if isinstance(value, Tensor)}
        self.has_empty = any(map(is_empty, values))
        self.before, self.used = self._record(), self._used()
        self.after: list[Found] = []  # of the last change

    def flaw(self, edit: Edit) -> str:
        """The first flaw of a change, in a word, or nothing."""
        with applied(edit):
            if (self.used - self._used()) & self._made():
                return "unused"
            after = self.after = self._record()
            flaws = (self._flaws_at(node, after) for node in self._nodes())
            found = next((flaw for each in flaws for flaw in each), "") or self._flaw_of(edit, after)
            quiet = self._quiet() if not found and edit.operator in _REPLACING else []
        new = [*ast.walk(edit.after)] if isinstance(edit.after, ast.AST) else []
        own = [*ast.walk(edit.before)] if isinstance(edit.before, ast.AST) else []
        old = [node for node in quiet if node in own or node not in new]
        return found or ("dead" if len(self._without_effect(old)) < len(old) else "")

    def was_right_at_times(self, edit: Edit) -> bool:
        """Was there a case in which the last change makes no difference where it stands?"""
        pairs = zip(self.before, self.after, strict=False)
        seen = [(was.get(id(edit.before)), now.get(id(edit.after))) for was, now in pairs]
        return any(was and now and same_numbers(was.value, now.value) for was, now in seen)

    def _flaws_at(self, node: ast.AST, after: list[Found]) -> Iterator[str]:
        """What has become of an expression or a loop that was there before."""
        if isinstance(node, ast.For | ast.While) and _rounds(node, self.before) > 1 and _rounds(node, after) == 1:
            yield "one round"
        for part in node.values if isinstance(node, ast.BoolOp) else ():
            if _any(_is_zero, part, after) and not _any(_is_zero, part, self.before):
                yield "zero"
        was, now = _values(node, self.before), _values(node, after)
        if not was or not now:
            return
        settled = len(_truths(was)) > 1 and len(_truths(now)) == 1 and (_is_mask(was) or self._decides(node))
        if settled or _levels(node, was, now):
            yield "constant"
        if not self.has_empty and any(map(is_empty, now)) and not any(map(is_empty, was)):
            yield "empty"
        if _changes_numbers(node) and _idle(node, after) and not _idle(node, self.before):
            yield "idle"

    def _flaw_of(self, edit: Edit, after: list[Found]) -> str:
        """What is wrong with what an edit puts in its place, or with the expressions around it."""
        if _levels(edit.after, _values(edit.before, self.before), _values(edit.after, after)):
            return "constant"
        if isinstance(edit.after, ast.BoolOp) and any(_any(_is_number, part, after) for part in edit.after.values):
            return "zero"
        around = _upwards(edit)
        if any(isinstance(n, ast.BinOp | ast.Subscript) and _idle(n, after, chance=False) for n in around[:2]):
            return "idle"
        for node in around:
            values = _values(node, after)
            if values and all(_is_single(value) and tuple(value.shape) not in self.shapes for value in values):
                return "broadcast"
        return ""

    def _quiet(self) -> list[ast.AST]:
        """The steps that make no difference as the code is now. Of whole numbers, which count, that may be chance."""
        steps = [node for node in self._nodes() if isinstance(node, ast.BinOp | ast.Call | ast.Compare | ast.UnaryOp)]
        steps = [node for node in steps if not any(isinstance(value, int) for value in _values(node, self.before))]
        return self._without_effect(steps)

    def _without_effect(self, steps: list[ast.AST]) -> list[ast.AST]:
        """Those steps whose value may be any other, and every answer stays what it is."""
        trees = [part.tree for part in self.code.parts]
        for number in range(len(self.variants.cases)) if steps else ():
            plain = self._answer(Recording(trees), number)
            steps = [step for step in steps if _alike(plain, self._answer(Recording(trees, changed=step), number))]
        return steps

    def _answer(self, recording: Recording, number: int) -> Outcome:
        return self.variants.run(recording.code, number, **recording.names)

    def _record(self) -> list[Found]:
        """What every expression is, case by case."""
        recording, runs = Recording([part.tree for part in self.code.parts]), []
        for number in range(len(self.variants.cases)):
            recording.found = {}
            self._answer(recording, number)
            runs.append(recording.found)
        return runs

    def _nodes(self) -> list[ast.AST]:
        return [node for part in self.code.parts for node in ast.walk(part.tree)]

    def _used(self) -> set[str]:
        names = (node for node in self._nodes() if isinstance(node, ast.Name))
        return {node.id for node in names if isinstance(node.ctx, ast.Load)}

    def _made(self) -> set[str]:
        """Variables that are computed, and parameters; `batch, n = x.shape` only names what is there anyway."""
        assigned = [node.targets[0] for node in self._nodes() if isinstance(node, ast.Assign)]
        tree = self.code.parts[-1].tree
        given = len(self.variants.exercise.all_parameters)  # more of the learner's own are nobody's
        parameters = tree.args.args[:given] if isinstance(tree, ast.FunctionDef) else []
        return {node.id for node in assigned if isinstance(node, ast.Name)} | {arg.arg for arg in parameters}

    def _decides(self, node: ast.AST) -> bool:
        branches = [part for part in self._nodes() if isinstance(part, _BRANCHES)]
        branches += [part for one in self.code.parts for part in statements(one.tree) if isinstance(part, _BRANCHES)]
        return any(part.test is node for part in branches)


def _alike(one: Outcome, other: Outcome) -> bool:
    failed = (one.error is None, other.error is None)
    return same_numbers(one.value, other.value) if all(failed) else not any(failed)


def _upwards(edit: Edit) -> list[ast.AST]:
    """What an edit puts in its place, and the expressions around it."""
    found, above = [edit.after] if isinstance(edit.after, ast.expr) else [], edit.place and edit.place.above
    while above is not None:
        found.append(above.node)
        above = above.above
    return found


def _values(node: ast.AST, runs: list[Found]) -> list[Any]:
    return [value for found in runs if id(node) in found for value in found[id(node)].values]


def _any(holds: Callable[[Any], bool], node: ast.AST, runs: list[Found]) -> bool:
    return any(map(holds, _values(node, runs)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_zero(value: Any) -> bool:
    return _is_number(value) and value == 0


def _is_single(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dim() > 1 and value.numel() == 1


def _is_mask(values: Iterable[Any]) -> bool:
    return all(isinstance(value, Tensor) and not value.is_floating_point() for value in values)


def _truths(values: Iterable[Any]) -> set[bool]:
    """What occurs in masks and conditions: True, False, or both."""
    found: set[bool] = set()
    for value in values:
        tensor = None if isinstance(value, bool) else as_tensor(value)
        if isinstance(value, bool):
            found.add(value)
        elif tensor is not None and str(tensor.dtype) == "torch.bool" and tensor.numel():
            found |= {bool(tensor.any()), bool(tensor.all())}
    return found


def _levels(node: Any, was: list[Any], now: list[Any]) -> bool:
    """Was a whole number another one each time, and is it now computed to be always the same?"""
    counts = isinstance(node, ast.BinOp) and all(type(value) is int for value in (*was, *now))
    return counts and len(set(was)) > len(set(now)) == 1


def _rounds(loop: ast.For | ast.While, runs: list[Found]) -> int:
    """How often a loop goes round at most, as far as values are kept."""
    nodes = {id(node) for node in ast.walk(loop.body[0])}
    return max((len(found[node].values) for found in runs for node in nodes & found.keys()), default=0)


def _changes_numbers(node: ast.AST) -> bool:
    """Is this a step that is there to change numbers? `clamp`, `nan_to_num`, or `expand` may have nothing to do."""
    return isinstance(node, ast.BinOp) or (isinstance(node, ast.Call) and name_of(node) in _CHANGING)


def _idle(node: ast.AST, runs: list[Found], chance: bool = True) -> bool:
    """Is a step's value always that of one of its operands? Of whole numbers that may be `chance`."""
    if not isinstance(node, ast.Call | ast.BinOp | ast.IfExp | ast.Subscript):
        return False
    operands = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        operands.append(node.func.value)
    runs = [found for found in runs if id(node) in found]
    values = _values(node, runs)
    if chance and not any(isinstance(v, float) or (isinstance(v, Tensor) and v.numel() > 1) for v in values):
        return False

    def is_same(part: ast.expr, found: Found) -> bool:
        pairs = zip(found[id(node)].values, found[id(part)].values, strict=False) if id(part) in found else [(0, 1)]
        return all(type(value) is type(other) and same_numbers(value, other) for value, other in pairs)

    return bool(runs) and any(all(is_same(part, found) for found in runs) for part in operands)
