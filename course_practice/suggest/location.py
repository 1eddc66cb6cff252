"""Where the values of a learner's code first go wrong, beside the values that the reference has on its way."""

import ast
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_practice.engine.compare import as_tensor
from course_practice.engine.values import plain
from course_practice.suggest.edits import Edit, statements
from course_practice.suggest.observed import Found

RIGHT_ALREADY = 2.5  # what an edit costs more where the value is right,
WRONG_BEFORE = 0.3  # or where it was wrong before,
FIRST_WRONG = -0.6  # and less where it is the first that is wrong


class Location:
    """What is known of a learner's expressions: right, or the first to be wrong.

    Right is a value that the reference has on its way, and all that it was made of. The first to be wrong are values
    that are not, made of nothing but such values.
    """

    def __init__(self, trees: list[ast.AST], runs: list[tuple[Found, Found]]):
        """`runs` holds, for each case that is looked at, the learner's values and the reference's."""
        self.right, self.wrong, self.first_wrong = set(), set(), set()
        self.telling: dict[int, bool] = {}  # of the expressions whose values tell something: are they the reference's?
        for learner, reference in runs:
            theirs = {_fingerprint(value) for seen in reference.values() for value in seen.values} - {None}
            for node, seen in learner.items() if theirs else ():
                if _fingerprint(seen.value) is not None:
                    same = all(_fingerprint(value) in theirs for value in seen.values)
                    self.telling[node] = same and self.telling.get(node, True)
        for tree in trees:
            self._mark_right(tree)
            self._mark_wrong(tree)
            if any(id(node) in self.right and not isinstance(node, ast.Name) for node in ast.walk(tree)):
                self._mark_first_wrong(tree)  # else the learner goes another way than the reference

    def _mark_right(self, tree: ast.AST) -> None:
        assigned: dict[str, list[ast.stmt]] = {}
        for node in statements(tree):
            for name in _assigned(node):
                assigned.setdefault(name, []).append(node)
        waiting = [node for node in ast.walk(tree) if self.telling.get(id(node)) and isinstance(node, ast.expr)]
        while waiting:
            node = waiting.pop()
            for part in ast.walk(node) if id(node) not in self.right else ():
                if isinstance(part, ast.expr):
                    self.right.add(id(part))
                if isinstance(part, ast.Name) and part is not node:
                    before = [each for each in assigned.get(part.id, []) if each.lineno < node.lineno]
                    waiting += [each.value for each in before[-1:]]

    def _mark_wrong(self, tree: ast.AST) -> None:
        parameters = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        for node in ast.walk(tree):
            if id(node) in self.telling and id(node) not in self.right and getattr(node, "id", "") not in parameters:
                self.wrong.add(id(node))

    def _mark_first_wrong(self, tree: ast.AST) -> None:
        for node in ast.walk(tree):
            inner = (part for part in ast.walk(node) if part is not node)
            if (
                id(node) in self.wrong
                and not isinstance(node, ast.Name)
                and not any(id(p) in self.wrong for p in inner)
            ):
                self.first_wrong.add(id(node))

    def cost(self, edit: Edit) -> float:
        """How much likelier or less likely an edit is by where it stands."""
        chain = self._around(edit)
        if not chain:
            return 0.0
        if any(id(node) in self.right for node in chain):
            return RIGHT_ALREADY
        if isinstance(edit.before, ast.Name) and id(edit.before) in self.wrong:
            return WRONG_BEFORE
        telling = next((node for node in chain if id(node) in self.telling), None)
        return FIRST_WRONG if id(telling) in self.first_wrong else 0.0

    def _around(self, edit: Edit) -> list[ast.AST]:
        """The expressions whose values an edit changes, from the inside out."""
        chain: list[ast.AST] = []
        above = edit.place
        while above is not None:
            chain.append(above.node)
            above = above.above
        follows = isinstance(edit.after, ast.AST) and any(part is edit.before for part in ast.walk(edit.after))
        return chain[1:] if follows or isinstance(edit.before, ast.Name | ast.Attribute) else chain


def _assigned(node: ast.stmt) -> list[str]:
    """The names that a statement sets."""
    if isinstance(node, ast.Assign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
    return []


def _fingerprint(value: Any) -> tuple | None:
    """What equal values have in common; None of a value that says nothing."""
    kind = type(value)
    if issubclass(kind, Tensor | np.ndarray):
        tensor = as_tensor(value)
        if tensor is None or tensor.numel() < 2 or bool((tensor == tensor.flatten()[0]).all()):
            return None
        numbers = torch.nan_to_num(tensor.detach().double().flatten(), nan=3.7, posinf=5.3, neginf=-7.9)
        weights = torch.linspace(1.0, 2.0, len(numbers), dtype=torch.float64)
        return (*tensor.shape, *(f"{float(part):.4g}" for part in (numbers.abs().sum(), numbers @ weights)))
    if kind is float:
        return None if value == int(value if abs(value) < 1e9 else 0) else (f"{value:.5g}",)
    base = next((base for base in (list, tuple, dict, set) if issubclass(kind, base)), None)
    return (base, repr(plain(value))[:2000]) if base and base.__len__(value) > 2 else None
