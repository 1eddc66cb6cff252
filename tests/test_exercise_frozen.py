"""The frozen answers can be read, and a change of a message is counted as what it is."""

import ast

import pytest

from course_practice.exercises import registry
from tests import frozen


def test_frozen_answers_are_code_for_exercises_that_there_are():
    answers = frozen.stored()
    assert len(answers) > 4_000
    assert {answer["exercise"] for answer in answers} <= registry().keys()
    for answer in answers[::200]:
        ast.parse(answer["given"])
        ast.parse(answer["code"])


def said(how, diagnosis="wrong-values", message="The values are not right.", lines=(), hint=""):
    return {"how": how, "diagnosis": diagnosis, "message": message, "lines": list(lines), "hint": hint}


@pytest.mark.parametrize(
    ("kind", "before", "now", "change"),
    [
        ("Wrong", said("named", "scaled"), said("plain"), "worse"),
        ("Wrong", said("located", lines=[2]), said("in part", lines=[2]), "worse"),
        ("Wrong", said("plain"), said("passed", None), "worse"),
        ("Wrong", said("passed", None), said("named", "scaled"), "better"),
        ("Wrong", said("located", lines=[2]), said("located", lines=[3]), "another line"),
        ("Wrong", said("named", "scaled"), said("named", "twice"), "another diagnosis"),
        ("Wrong", said("plain"), said("plain", message="The values are wrong."), "other words"),
        ("Right", said("passed", None), said("named", "scaled"), "worse"),
        ("Right", said("plain"), said("passed", None), "better"),
        ("Right", said("passed", None), said("passed", None), ""),
    ],
)
def test_a_change_is_worse_better_or_other_words(kind, before, now, change):
    assert frozen.change(kind, before, now) == change
