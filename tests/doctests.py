"""Runs the worked examples of a module's docstrings, with its shapes checked (the import hook hides functions from
`doctest.testmod`, so the docstrings are read from the source)."""

import ast
import doctest
import inspect
from types import ModuleType

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def run_doctests(module: ModuleType) -> int:
    """Run them all; returns how many examples there were."""
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node):
            name = getattr(node, "name", module.__name__)
            runner.run(parser.get_doctest(ast.get_docstring(node), dict(vars(module)), name, module.__file__, 0))
    assert runner.failures == 0, f"{runner.failures} examples of {module.__name__} failed"
    return runner.tries
