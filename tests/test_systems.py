"""Each thing that the course teaches has its line in book/systems.yml: chapter, code, test, exercise, all of which
exist; and no definition that a chapter shows and no exercise is without a line."""

import ast
import sys
from importlib import import_module

import complaints
import pytest
import yaml

from course_practice.exercises import registry
from tools.environment import CHAPTERS, LIBRARY, ROOT, chapters
from tools.form import read
from tools.gates.definitions import definitions, is_definition_cell, module_of
from tools.gates.links import anchors
from tools.gates.parsing import syntax_tree

sys.path.insert(0, str(ROOT / "book" / "_ext"))
page_systems = import_module("page_systems")

ROWS = yaml.safe_load((ROOT / "book" / "systems.yml").read_text(encoding="utf-8"))

# Definitions that their chapter teaches without a name in its code, each with the reason.
NOT_NAMED = {
    "training.checkpoint.save_checkpoint": "the trainer of the chapter calls it",
    "translation.report.evaluate": "an experiment calls it, and the chapter shows what it found",
    "fast.attention.mix": "the chapter writes its strips by hand, and PyTorch has the fused form",
    "fast.cached.CachedTransformer": "an experiment measures it, and the chapter shows the times",
    "fast.fast_loss": "an experiment measures it, and the chapter shows the table",
    "training.trainer.Trainer": "the chapter writes what its two processes do by hand",
}

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


def names(source: str) -> set[str]:
    """What code defines, imports, or uses."""
    nodes = list(ast.walk(syntax_tree(source)))
    kinds = {ast.FunctionDef: "name", ast.ClassDef: "name", ast.alias: "name", ast.Name: "id", ast.Attribute: "attr"}
    return {getattr(node, field) for node in nodes for kind, field in kinds.items() if isinstance(node, kind)}


def not_in_its_chapter(row: dict) -> list[str]:
    """A definition that a row names is defined, or at least used, by the code of its chapter."""
    chapter = row["at"].partition("#")[0]
    cells = [cell.source for cell in read(CHAPTERS / f"{chapter}.ipynb").cells if cell.cell_type == "code"]
    there = set().union(*map(names, cells)) if row["code"] else set()
    return [
        f"{row['what']}: no cell of {chapter} has {name}: if it was renamed, give it its new name in the chapter, too"
        for name in row["code"]
        if name not in NOT_NAMED and name.rpartition(".")[2] not in there
    ]


@each_row
def test_a_chapter_has_the_definitions_of_its_rows(row):
    complaints.none(not_in_its_chapter(row))


def test_a_renamed_definition_is_missed_in_its_chapter():
    row = next(row for row in ROWS if "probes.random_token_floor" in row["code"])
    assert not_in_its_chapter(row) == []
    renamed = row | {"code": ["probes.honest_floor"]}
    assert not_in_its_chapter(renamed) == [
        f"{row['what']}: no cell of 05_masks has probes.honest_floor: "
        "if it was renamed, give it its new name in the chapter, too"
    ]


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
