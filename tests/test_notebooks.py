"""Every chapter passes every gate."""

import re

import complaints
import pytest

from course_practice.exercises import registry
from tools.address import address
from tools.cost import measured
from tools.environment import LIBRARY, ROOT, chapters
from tools.gates import (
    chapter,
    collapsed,
    definitions,
    drawings,
    exercises,
    links,
    main_path,
    numbers,
    outputs,
    reproducible,
    width,
)

each_chapter = pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)


def test_there_are_chapters():
    assert chapters()


def test_table_of_contents_names_every_chapter_in_its_order():
    toc = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    assert re.findall(r"\bchapters/(\w+)", toc) == [path.stem for path in chapters()], "list it in _toc.yml"


@pytest.mark.parametrize(
    "gate",
    [
        chapter.stored_form,
        chapter.sections,
        chapter.title,
        chapter.length,
        chapter.lists,
        chapter.markdown_everyone_renders,
        main_path.asides,
        main_path.budget,
        main_path.in_practice,
        numbers.numbers,
        numbers.words,
        numbers.sums,
        collapsed.predictions,
        collapsed.folded_inputs,
        collapsed.folds_hold_markdown,
        width.columns,
        outputs.erroring_cells,
        outputs.machine_traces,
        outputs.answers_in_sight,
        outputs.figures_without_words,
        outputs.too_heavy,
        drawings.controls,
        drawings.letters,
        drawings.one_color,
        drawings.typeface,
        reproducible.fonts,
        reproducible.sizes,
        reproducible.clocks,
        links.dead_links,
    ],
    ids=lambda gate: gate.__name__,
)
@each_chapter  # last, so that all gates look at one chapter before they look at the next: it is read once
def test_gate(path, gate):
    complaints.none(gate(path))


@each_chapter
def test_set_up(path):
    complaints.none(chapter.set_up(path, address()))


@each_chapter
def test_opening_table(path):
    complaints.none(chapter.opening_table(path, measured()))


@each_chapter
def test_definitions_are_the_library_s(path):
    complaints.none(definitions.same_as_library(path, LIBRARY))


@each_chapter
def test_form_of_exercises(path):
    complaints.none(exercises.form(path, registry()))


def test_exercises_stand_in_their_chapters():
    complaints.none(exercises.ids_match(chapters(), registry()))


@pytest.mark.parametrize("name", measured())
def test_cost(name):
    complaints.none(chapter.cost(name, measured()[name]))


def test_measured_costs_are_of_chapters_that_exist():
    assert set(measured()) == {path.stem for path in chapters()}, "make notebooks stores the cost of a new chapter"
