"""What runs in the confined process: the cells of a notebook, or the answers that it gave, each judged anew.

A notebook may do anything to the `check` that it calls. So the verdicts come from a second process, which has seen none
of its cells: it gets the source of each answer, and the installed package judges it. That a verdict is true, the
report finds from the values that it comes with (`values`).
"""

import ast
import json
import linecache
import os
import re
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

from course_practice.report.confined import Limits, shut_in

SAID = 77  # the exit status of a process that has said its verdict
PARSING = threading.Lock()  # CPython 3.11 raises SystemError where two threads parse at once


def main() -> None:
    """Do the task that the command line names; what is said goes to the old standard output, a line each."""
    task, namespaces, seconds, memory, processes = sys.argv[2:]
    said, nowhere = os.fdopen(os.dup(1), "w", encoding="utf-8"), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1), os.dup2(nowhere, 2)

    def say(dumps: Callable[..., str] = json.dumps, **found: Any) -> None:
        print(dumps(found), file=said, flush=True)

    given = json.load(sys.stdin)
    work = {"cells": prepared_run, "answers": prepared_judge}[task]()
    shut_in(os.getcwd(), Limits(float(seconds), int(memory), int(processes)), namespaces == "True")
    sys.path.append(os.getcwd())  # a student's own modules, after all others, and only now
    work(given, say)
    say()  # `confined.END`


def prepared_run() -> Callable[..., None]:
    """Import what a run of cells takes while files are open."""
    from IPython.core.interactiveshell import InteractiveShell

    from course_practice import check, exercises

    def run_cells(cells: list[str], say: Callable[..., None]) -> None:
        shell = InteractiveShell.instance()
        shell.history_manager.enabled = False
        shell.enable_gui = lambda gui=None: None  # `%matplotlib inline` asks for one
        shell.system = shell.getoutput = lambda *_: []  # `!pip install torch`: what is there is there
        for number, source in enumerate(cells, start=1):
            done = shell.run_cell(re.sub(r"\A\s*%%(time|capture)\b.*", "", source))  # its code has no source there
            if error := done.error_before_exec or done.error_in_exec:
                say(cell=number, error=type(error).__name__)
            own = shell.user_ns.get("check", check) is not check or exercises.check is not check
            for exercise, node in checks_of(source):
                text, why = source_of_answer(node, shell)
                say(cell=number, exercise=exercise, source=text, why="a `check` of its own" if own else why)

    return run_cells


def source_of_answer(node: ast.expr, shell: Any) -> tuple[str | None, str]:
    """The source of what a cell hands to `check`, with what it needs, or why there is none."""
    from course_practice.engine.source import standalone_source, tree_of

    try:
        obj = eval(ast.unparse(node), shell.user_ns)
        if getattr(obj, "__name__", "") == "<lambda>":  # without a name it has no source that stands alone
            tree = node if isinstance(node, ast.Lambda) else tree_of(obj)
            (found,) = [part for part in ast.walk(tree) if isinstance(part, ast.Lambda)]
            shell.run_cell(f"def unnamed({ast.unparse(found.args)}):\n    return {ast.unparse(found.body)}")
            obj = shell.user_ns["unnamed"]
        if obj.__module__.startswith("course_"):
            return None, "the library's own code"
        # What a factory gave it, or the object whose method it is, is not in its source.
        closed = (getattr(obj, "__closure__", None) and not hasattr(obj, "__wrapped__")) or hasattr(obj, "__self__")
        return (text := None if closed else standalone_source(obj)), "" if text else "its code does not stand alone"
    except Exception as error:
        return None, f"its code could not be read ({type(error).__name__})"


def checks_of(source: str) -> Iterator[tuple[str, ast.expr]]:
    """The exercises that a cell checks, each with what it hands in.

    >>> [(name, ast.unparse(node)) for name, node in checks_of('check("masks.causal", my_mask)')]
    [('masks.causal', 'my_mask')]
    """
    try:
        own = re.compile(r"^([ \t]*)[%!].*", re.MULTILINE)  # lines of IPython's
        python = own.sub(lambda line: f"{line[1]}pass" if line[1] else "", source)
        with PARSING:
            nodes = list(ast.walk(ast.parse(python)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last one from what is nested too deep
        return
    for node in nodes:
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "check":
            by_name = {keyword.arg: keyword.value for keyword in node.keywords}
            given = [*node.args, *(by_name[name] for name in ("exercise_id", "obj") if name in by_name)]
            name = getattr(given[0], "value", None) if len(given) > 1 else None
            if isinstance(name, str):
                yield name, given[1]


def prepared_judge() -> Callable[..., None]:
    """Import what judging takes while files are open."""
    from course_practice.exercises import check
    from course_practice.report.values import answers as values_of

    def judge(answers: list[list[str]], say: Callable[..., None]) -> None:
        for exercise, source in answers:
            if child := _apart():
                continue
            try:
                result = check(exercise, answer := defined(source))
                values = values_of(exercise, answer) if result.passed else []
                say(passed=result.passed, attempted=result.attempted, mistake=result.diagnosis, values=values)
            except Exception as error:
                say(error=f"by itself, its code stops ({type(error).__name__})")
            if child == 0:
                os._exit(SAID)

    return judge


def _apart() -> int | None:
    """A fork for one answer, or None: what that does to the engine reaches no other. Without a verdict, all ends."""
    try:
        child = os.fork()
    except (AttributeError, PermissionError):  # Windows; the hook of a system without namespaces
        return None
    if child and (code := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])) != SAID:
        os._exit(code if code >= 0 else 128 - code)
    return child


def defined(source: str) -> Any:
    """What the last definition of a source defines; its lines are known, as those of a cell are.

    >>> defined("import math\\n\\ndef half(x):\\n    return x / 2")(3)
    1.5
    """
    module = sys.modules["answer"] = types.ModuleType("answer")
    linecache.cache["<answer>"] = (len(source), None, source.splitlines(keepends=True), "<answer>")
    exec(compile(source, "<answer>", "exec"), vars(module))
    return vars(module)[ast.parse(source).body[-1].name]
