"""Strangers' wrong answers to the exercises (`tests/answers/`) are refused, with a reason."""

import ast
import linecache
import math
import re
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_practice.engine import check_exercise
from course_practice.exercises import registry
from course_practice.suggest import Budget, nearest_repair
from tests.stored_answers import ANSWERS, FILES, Answer, read

WRONG = [answer for answer in ANSWERS if answer.kind == "Wrong"]


@pytest.fixture
def notebook(monkeypatch):
    """Runs a cell in one module, keeps its source for Python, and gives back what its last line names."""
    module = ModuleType("notebook")
    vars(module).update(math=math, np=np, torch=torch, nn=nn, F=F)
    monkeypatch.setitem(sys.modules, "notebook", module)

    def run(source: str) -> Any:
        name = f"<cell {len(linecache.cache)}>"
        monkeypatch.setitem(linecache.cache, name, (len(source), None, source.splitlines(keepends=True), name))
        exec(compile(source, name, "exec"), vars(module))
        last = ast.parse(source).body[-1]
        return vars(module).get(last.name if hasattr(last, "name") else ast.unparse(last).split(" = ")[0])

    return run


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("answer", WRONG, ids=str)
def test_wrong_answer(answer, notebook):
    # A line that is claimed is looked for as its author sees it; nothing else is looked for.
    budget = Budget() if (answer.claim or "").startswith("line ") else Budget(work=0)
    notebook(answer.given or "...")
    result = check_exercise(registry()[answer.exercise], notebook(answer.code), budget=budget, search=nearest_repair)
    assert result.attempted, str(result)
    if result.passed:
        pytest.fail(f"{answer} passes: is it right? Then `## Right: {answer.title}`", pytrace=False)
    located = "line " + " and ".join(map(str, result.lines))
    if answer.claim or result.diagnosis == "raised":  # else a slip in the answer itself would count as refused
        assert answer.claim in (result.diagnosis, located), str(result)
    assert all(words in str(result) for words in answer.says), str(result)
    assert not any(words in str(result) for words in answer.never_says), str(result)


def test_a_right_answer_that_is_filed_as_wrong_is_told_as_such(notebook):
    code = "def answer(n):\n    return torch.ones(n, n).tril().bool()"
    with pytest.raises(pytest.fail.Exception) as failed:
        test_wrong_answer(Answer("masks.causal", "Wrong", "tril of ones", "causal-inverted", "", code), notebook)
    assert str(failed.value) == "masks.causal: tril of ones passes: is it right? Then `## Right: tril of ones`"


@pytest.mark.parametrize("name", registry() | FILES)
def test_every_exercise_has_its_answers(name):
    assert name in FILES, f"expected tests/answers/{name.replace('.', '/')}.md, which is not there: write it"
    assert name in registry(), f"{name} is no exercise: delete its file, or give the exercise this name"


def test_most_wrong_answers_are_claimed_to_be_named_or_located():
    assert sum(answer.claim is not None for answer in WRONG) >= 0.85 * len(WRONG)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("## Almost: a title", "expected 'Given', 'Right: …' or 'Wrong: … -> diagnosis', got 'Almost: a title'"),
        ("## Wrong: a title → no-arrow", "expected 'Given'"),
        ("## Right: a\n    x\n\nor\n\n    y", "expected one block of code under 'Right: a', got two"),
        ("## Right: a\n```\nx\n```", "expected code that is indented, got a fence under 'Right: a'"),
        (
            "## Right: a\n```diff\n- x\n+ y\n```",
            "masks.causal: a: expected these lines once in the right answer, got them 0",
        ),
        ("## Right: a\n```diff\n+ y\n```", "masks.causal: a: expected a line of the right answer with '+ y', got none"),
    ],
)
def test_a_section_in_another_form_is_refused(text, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        read("masks.causal", text)
