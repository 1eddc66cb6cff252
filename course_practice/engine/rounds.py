"""Loops whose rounds are counted, so that code which never ends is stopped at the same place on any machine."""

import ast
import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from course_practice.engine.run import next_round

_NAME = "_the_next_round"
COUNTER: dict[str, Any] = {_NAME: next_round}  # what counted code calls


@contextlib.contextmanager
def counted(trees: Iterable[ast.AST]) -> Iterator[None]:
    """Inside, every round of a loop in these trees begins with a call of the counter; code compiled there has it.

    >>> tree = ast.parse("for n in (1, 2): n")
    >>> with counted([tree]):
    ...     print(ast.unparse(tree))
    for n in (1, 2):
        _the_next_round()
        n
    """
    loops = [node for tree in trees for node in _loops(tree)]
    for loop in loops:
        call = ast.Expr(ast.Call(ast.Name(_NAME, ast.Load()), [], []))
        loop.body.insert(0, ast.fix_missing_locations(ast.copy_location(call, loop)))
    try:
        yield
    finally:
        for loop in loops:
            del loop.body[0]


def _loops(node: ast.AST) -> Iterator[ast.For | ast.While]:
    for field in ("body", "orelse", "handlers", "finalbody"):
        below = getattr(node, field, ())
        for statement in below if isinstance(below, list) else ():
            if isinstance(statement, ast.For | ast.While):
                yield statement
            yield from _loops(statement)
