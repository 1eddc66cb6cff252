"""What runs in a process of its own: the cells of a notebook, or its answers, each judged anew.

The verdicts come from a second process, which has seen none of the cells: it gets the source of each
answer, and the installed package judges that. So a verdict is about what an answer is, whatever its
notebook did or printed.
"""

import ast
import json
import linecache
import os
import re
import sys
import types
from collections.abc import Callable
from typing import Any

from course_practice.class_report.process import limit_memory


def main() -> None:
    """Do the task that the command line names; what is said goes to the standard output, a line each.

    What is printed goes nowhere.
    """
    task, memory = sys.argv[2:]
    said = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def say(**found: Any) -> None:
        print(json.dumps(found), file=said, flush=True)

    given = json.load(sys.stdin)
    limit_memory(int(memory))
    {"cells": run_cells, "answers": judge}[task](given, say)
    say()  # `process.END`


def run_cells(cells: list[str], say: Callable[..., None]) -> None:
    """Run cells; say which exercises they check, which cells raise, and the source of each answer."""
    from IPython.core.interactiveshell import InteractiveShell

    from course_practice import check

    shell = InteractiveShell.instance()
    shell.history_manager.enabled = False
    shell.enable_gui = lambda gui=None: None  # `%matplotlib inline` asks for one
    shell.system = shell.getoutput = lambda *_: []  # `!pip install torch`: what is there is there
    # What `%%time` runs has no source.
    sources = [re.sub(r"\A\s*%%(time|capture)\b.*", "", source) for source in cells]
    checks = [checks_of(source) for source in sources]
    say(checks=[[name for name, _ in found] for found in checks])
    for number, found in enumerate(checks, start=1):
        for exercise in [name for name, node in found if node is None]:
            say(exercise=exercise, source=None, why=f"cell {number} is not valid Python", broken=True)
    sys.path.append(os.getcwd())  # the student's own modules, after all others
    for number, source in enumerate(sources, start=1):
        done = shell.run_cell(source)
        if error := done.error_before_exec or done.error_in_exec:
            say(cell=number, error=type(error).__name__)
        for exercise, node in checks[number - 1]:
            if node is not None:
                answer = source_of_answer(node, shell)
                if shell.user_ns.get("check", check) is not check:
                    answer["why"] = "a `check` of its own"
                say(exercise=exercise, **answer)


def source_of_answer(node: ast.expr, shell: Any) -> dict[str, Any]:
    """The source of what a cell hands to `check`, with what it needs, or why there is none.

    `broken`: there is no answer, because the expression that names it raises an error.
    """
    from course_practice.engine.source import standalone_source, tree_of

    try:
        obj = eval(ast.unparse(node), shell.user_ns)
    except Exception as error:
        return {"source": None, "why": f"what `check` is given raises {type(error).__name__}", "broken": True}
    text, why = None, "its code does not stand alone"
    try:
        if getattr(obj, "__name__", "") == "<lambda>":  # unnamed, it has no source that stands alone
            tree = node if isinstance(node, ast.Lambda) else tree_of(obj)
            (found,) = [part for part in ast.walk(tree) if isinstance(part, ast.Lambda)]
            body = f"    return {ast.unparse(found.body)}"
            shell.run_cell(f"def unnamed({ast.unparse(found.args)}):\n{body}")
            obj = shell.user_ns["unnamed"]
        # What a factory gave it, or the object whose method it is, is not in its source.
        closed = getattr(obj, "__closure__", None) and not hasattr(obj, "__wrapped__")
        closed = closed or hasattr(obj, "__self__")
        if obj.__module__.startswith("course_"):
            why = "the library's own code"
        elif not closed and (text := standalone_source(obj)):
            why = ""
    except Exception as error:
        why = f"its code could not be read ({type(error).__name__})"
    return {"source": text, "why": why, "broken": False}


def checks_of(source: str) -> list[tuple[str, ast.expr | None]]:
    """The exercises that a cell checks, each with what it hands in.

    That is None where the cell is not valid Python.

    >>> [(name, ast.unparse(node)) for name, node in checks_of('check("masks.causal", my_mask)')]
    [('masks.causal', 'my_mask')]
    >>> checks_of('def my_mask(n)\\n    ...\\n\\ncheck("masks.causal", my_mask)')
    [('masks.causal', None)]
    """
    from IPython.core.inputtransformer2 import TransformerManager

    try:
        nodes = list(ast.walk(ast.parse(TransformerManager().transform_cell(source))))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last: nested too deep
        written = re.findall(r"""^[^#\n]*\bcheck\(\s*["']([^"'\n]+)["']""", source, re.MULTILINE)
        return [(name, None) for name in written]
    found = []
    for node in nodes:
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "check":
            by_name = {keyword.arg: keyword.value for keyword in node.keywords}
            given = [by_name[name] for name in ("exercise_id", "obj") if name in by_name]
            given = [*node.args, *given]
            name = getattr(given[0], "value", None) if len(given) > 1 else None
            if isinstance(name, str):
                found.append((name, given[1]))
    return found


def judge(answers: list[list[str]], say: Callable[..., None]) -> None:
    """Judge answers, each an exercise and a source, by the installed package."""
    from course_practice.exercises import check

    sys.path.append(os.getcwd())  # the student's own modules, after all others
    for exercise, source in answers:
        try:
            result = check(exercise, defined(source))
            say(passed=result.passed, attempted=result.attempted, mistake=result.diagnosis)
        except Exception as error:
            say(error=f"by itself, its code stops ({type(error).__name__})")


def defined(source: str) -> Any:
    """What the last definition of a source defines; its lines are known, as those of a cell are.

    >>> defined("import math\\n\\ndef half(x):\\n    return x / 2")(3)
    1.5
    """
    module = sys.modules["answer"] = types.ModuleType("answer")
    linecache.cache["<answer>"] = (len(source), None, source.splitlines(keepends=True), "<answer>")
    exec(compile(source, "<answer>", "exec"), vars(module))
    return vars(module)[ast.parse(source).body[-1].name]
