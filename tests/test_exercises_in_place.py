"""Every check is right where the reader stands: among the names that the notebook has where it asks."""

import ast
import dis
import functools
import json
import linecache
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest
import torch._dynamo  # noqa: F401 (loaded at the first look at operations, which takes long on a busy machine)

from course_practice.engine import checking
from course_practice.exercises import check, registry
from tests.stored_answers import ANSWERS

CHAPTERS = Path(__file__).resolve().parents[1] / "chapters"
DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
# What every stranger may use (answers/README.md).
IMPORTED = "import math\nimport numpy as np\nimport torch\nfrom torch import nn\nfrom torch.nn import functional as F"
each_exercise = pytest.mark.parametrize("exercise", registry())


class NotRun:
    """Stands for a value that the notebook computes: its name is taken, and an answer that needs it fails here."""

    def __getattr__(self, name: str) -> "NotRun":
        if name.startswith("__"):
            raise AttributeError(name)
        return self  # a default, `def logits(src=rows.src)`, is looked up when the function is made

    def __getitem__(self, key: Any) -> "NotRun":
        return self


@functools.cache
def places(subject: str) -> dict[str, dict[str, Any]]:
    """The names that a chapter's notebook has where it shows the solution of an exercise, by exercise.

    Imports, functions, classes, constants, and earlier answers are made; nothing is computed, trained, or drawn.
    """
    names: dict[str, Any] = {"__name__": "notebook"}
    found = {}
    (chapter,) = CHAPTERS.glob(f"??_{subject}.ipynb")
    for number, cell in enumerate(json.loads(chapter.read_text("utf-8"))["cells"]):
        source, file = "".join(cell["source"]), f"<{chapter.stem}, cell {number}>"
        if cell["cell_type"] != "code":
            continue
        linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
        for node in ast.parse(source).body:
            code = compile(ast.Module([node], []), file, "exec")
            if isinstance(node, DEFINITIONS) or is_constant(node) or is_own(node):
                exec(code, names)
            elif ast.unparse(node).startswith("show_solution("):
                found[node.value.args[0].value] = dict(names)
            else:
                names |= dict.fromkeys(names_set_by(code), NotRun())
    return found


def is_constant(node: ast.stmt) -> bool:
    """`D_MODEL, N_HEADS = 16, 2`: names and what is written down for them."""
    if not isinstance(node, ast.Assign):
        return False
    parts = [*ast.walk(node.value), *(part for target in node.targets for part in ast.walk(target))]
    written = (ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
    names = [part for part in parts if isinstance(part, ast.Name)]
    return all(isinstance(name.ctx, ast.Store) for name in names) and all(
        isinstance(part, (*written, ast.Name, ast.expr_context)) for part in parts
    )


def is_own(node: ast.stmt) -> bool:
    """`my_mha = mine("multi_head.mha")`: an answer that the reader gave before, here the course's."""
    return isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("mine(")


def names_set_by(code: CodeType) -> set[str]:
    return {step.argval for step in dis.get_instructions(code) if step.opname == "STORE_NAME"}


@pytest.fixture
def cell_in(monkeypatch) -> Callable:
    """Runs cells in the place of an exercise, and gives back what the last line of the last one defines."""
    monkeypatch.setattr(checking, "_keepable", lambda *_: None)  # else each answer is judged twice

    def run(exercise: str, *cells: str) -> Any:
        module = ModuleType("notebook")
        vars(module).update(places(exercise.partition(".")[0])[exercise])
        monkeypatch.setitem(sys.modules, "notebook", module)
        for number, source in enumerate(cells):
            file = f"<answer to {exercise}, cell {number}>"
            monkeypatch.setitem(linecache.cache, file, (len(source), None, source.splitlines(keepends=True), file))
            exec(compile(source, file, "exec"), vars(module))
        last = ast.parse(cells[-1]).body[-1]
        return vars(module)[last.name if hasattr(last, "name") else ast.unparse(last).split(" = ")[0]]

    return run


@each_exercise
@pytest.mark.parametrize("number", [0, 1], ids=["solution", "another way"])
def test_shown_solution_passes_where_it_is_shown(exercise, number, cell_in):
    shown = cell_in(exercise, f"shown = show_solution({exercise!r})")
    assert shown.sources[number] in str(shown)
    assert "course_practice" not in shown.sources[number]  # the reader's own code does not stand on the answers
    result = check(exercise, cell_in(exercise, shown.sources[number]))
    assert result.passed, str(result)


@pytest.mark.parametrize("answer", [answer for answer in ANSWERS if answer.kind == "Right"], ids=str)
def test_right_answer_passes_in_its_notebook(answer, cell_in):
    result = check(answer.exercise, cell_in(answer.exercise, IMPORTED, answer.given, answer.code))
    assert result.passed, str(result)


EACH = "[EncoderLayer(d_model, n_heads, d_ff, norm_first=True) for _ in range(n_layers)]"
ONE = "[EncoderLayer(d_model, n_heads, d_ff, norm_first=True)] * n_layers"


@pytest.mark.parametrize(
    ("right", "left", "question"),
    [
        ("nn.ModuleList(layers)", "layers", "Does an optimizer get the layers' parameters?"),
        (EACH, ONE, "How many different layers are in the list?"),
        ("layer(x, real[:, None, None, :])", "layer(x)", "What would the pad probe say about the attention?"),
        ("masked_mean(self.norm(x), real)", "self.norm(x).mean(dim=1)", "Over which tokens does the mean run?"),
    ],
)
def test_partial_repair_of_the_encoder_is_counted_in_its_notebook(right, left, question, cell_in):
    solution = cell_in("encoder.repair", "shown = show_solution('encoder.repair')").sources[0]
    assert right in solution
    result = check("encoder.repair", cell_in("encoder.repair", solution.replace(right, left)))
    assert result.message.startswith("Three of four found: ")
    assert question in result.message


def test_names_of_computed_values_are_taken_and_constants_are_known():
    names = places("encoder")["encoder.repair"]
    assert isinstance(names["alone"], NotRun)
    assert names["D_MODEL"] == 16
    assert names["EncoderLayer"].__module__ == "notebook"
