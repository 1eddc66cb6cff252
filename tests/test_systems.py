"""Each thing that the course teaches has its line in book/systems.yml: chapter, code, test, exercise, all of which
exist; and no definition that a chapter shows and no exercise is without a line."""

import sys
from importlib import import_module

import pytest
import yaml

from course_practice.exercises import registry
from tools.environment import CHAPTERS, LIBRARY, ROOT, chapters
from tools.form import read
from tools.gates.definitions import definitions, is_definition_cell, module_of
from tools.gates.links import anchors

sys.path.insert(0, str(ROOT / "book" / "_ext"))
page_systems = import_module("page_systems")

ROWS = yaml.safe_load((ROOT / "book" / "systems.yml").read_text(encoding="utf-8"))

each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row["what"])


@each_row
def test_a_row_leads_to_places_that_exist(row):
    assert set(row) == {"what", "at", "code", "tests", "exercises"}
    chapter, _, heading = row["at"].partition("#")
    assert heading in anchors(CHAPTERS / f"{chapter}.ipynb")
    for name in row["code"]:
        module, _, definition = name.rpartition(".")
        whole = module if module.startswith("course_") else f"course_lib.{module}"
        assert hasattr(import_module(whole), definition), name
    for test in row["tests"]:
        file, _, name = test.partition("::")
        assert f"\ndef {name}(" in (ROOT / "tests" / file).read_text(encoding="utf-8"), test
    assert set(row["exercises"]) <= set(registry())
    assert row["exercises"] or row["tests"], "nothing proves it, and nobody practices it"
    assert not row["code"] or row["tests"], "code without a test"


def test_rows_are_in_the_order_of_the_chapters():
    numbers = [row["at"][:2] for row in ROWS]
    assert numbers == sorted(numbers)
    assert set(numbers) == {path.name[:2] for path in chapters()}, "give each chapter rows in book/systems.yml"
    assert len({row["what"] for row in ROWS}) == len(ROWS)


def test_every_exercise_has_its_line():
    rows = [name for row in ROWS for name in row["exercises"]]
    assert set(registry()) ^ set(rows) == set(), "every exercise of the registry stands in a row of book/systems.yml"
    assert len(rows) == len(registry()), "an exercise stands in one row only"


def test_every_definition_that_a_chapter_shows_has_its_line():
    shown = {
        f"{'.'.join(module.relative_to(LIBRARY).with_suffix('').parts)}.{name}".replace(".__init__.", ".")
        for path in chapters()
        for cell in read(path).cells
        for module in [module_of(path, LIBRARY, cell)]
        if is_definition_cell(cell, module)
        for name in definitions(cell.source)
        if not name.startswith("_")
    }
    assert shown - {name for row in ROWS for name in row["code"]} == set(), "add them to rows of book/systems.yml"


def test_a_line_of_the_page():
    row = {
        "what": "Masks",
        "at": "05_masks#pads",
        "code": ["masks.a", "masks.b"],
        "tests": [],
        "exercises": ["masks.c"],
    }
    lines = ["* [Masks](/chapters/05_masks.ipynb#pads)", "  * code: `masks.a` `masks.b`", "  * exercises: `masks.c`"]
    assert page_systems.line(row) == "\n".join(lines)
