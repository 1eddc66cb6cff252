"""Random slips: a function's source with one change."""

import ast
import copy
import difflib
import random
from collections.abc import Callable, Iterator

from course_practice.engine.source import tree_of


def mutants(source: str, draw: random.Random) -> Iterator[str]:
    """The source with one random change: a number, an operator, a name, a method, an argument, or a step."""
    nodes = list(ast.walk(ast.parse(source)))
    names = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    names = sorted(names | {node.arg for node in nodes if isinstance(node, ast.arg)})
    for _attempt in range(2_000):
        tree = ast.parse(source)
        node = draw.choice([node for node in ast.walk(tree.body[0]) if isinstance(node, ast.expr)])
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            node.value = not node.value if isinstance(node.value, bool) else node.value + draw.choice([-1, 1, 2])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "->" in node.value:
            spot = draw.randrange(len(node.value))
            node.value = node.value[:spot] + draw.choice("bhqkdv") + node.value[spot + 1 :]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
            node.id = draw.choice(names)
        elif isinstance(node, ast.BinOp):
            others = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult, ast.BitAnd, ast.BitOr)
            node.op, swapped = draw.choice([(node.op, True), (draw.choice(others)(), False)])
            node.left, node.right = (node.right, node.left) if swapped else (node.left, node.right)
        elif isinstance(node, ast.Compare):
            node.ops = [draw.choice([ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE])()]
        elif isinstance(node, ast.Call) and node.keywords:
            node.keywords.pop(draw.randrange(len(node.keywords)))
        elif isinstance(node, ast.Call) and len(node.args) > 1:
            draw.shuffle(node.args)
        elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load):
            draw.shuffle(node.elts)
        elif isinstance(node, ast.Attribute):
            alike = draw.choice([{"tril", "triu"}, {"any", "all"}, {"sum", "mean", "amax"}, {"view", "transpose"}])
            node.attr = draw.choice(sorted(alike)) if node.attr in alike else node.attr
        changed = ast.unparse(tree)
        if changed != source:
            yield changed


def bare(function: Callable) -> str:
    """The source of a function without its docstring and annotations."""
    tree = copy.deepcopy(tree_of(function))
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
    tree.body = tree.body[ast.get_docstring(tree) is not None :]
    return ast.unparse(tree)


def changed_lines(before: str, after: str) -> set[int]:
    """The lines of `after` that are not as in `before`; where one is missing, those around the gap."""
    lines = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    found = set()
    for tag, _, _, first, last in lines.get_opcodes():
        if tag != "equal":
            found |= set(range(first + 1, last + 1)) or {first, first + 1}
    return found
