"""A new exercise and a new chapter are laid out whole, and what is open in them is found."""

import importlib.util
import shutil
import sys

import complaints
import pytest
import yaml

from course_practice.engine import check_exercise
from course_practice.engine.texts import with_text
from course_practice.quizzes.engine.text import read as read_questions
from tools import new
from tools.environment import ROOT
from tools.form import read
from tools.gates import imports
from tools.template import AFTER, BEFORE, EXERCISES, QUIZ_QUESTIONS


@pytest.fixture
def tree(tmp_path):
    """What the commands write into, with one chapter."""
    for file in (
        "_toc.yml",
        "book/chapters.yml",
        "book/systems.yml",
        "tools/gates/imports.py",
        "chapters/05_masks.ipynb",
        "chapters/21_real_model.ipynb",
        "course_practice/exercises/masks/__init__.py",
        "course_practice/quizzes/masks.md",
    ):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    for folder in ("course_lib", "tests"):
        (tmp_path / folder).mkdir(exist_ok=True)
    return tmp_path


def test_a_new_exercise_runs_and_says_what_is_open(tree, monkeypatch):
    made = new.new_exercise("masks.prefix", tree)
    assert {path.name for path in made} == {"prefix.md", "prefix.py", "05_masks.ipynb", "systems.yml"}
    code = tree / "course_practice" / "exercises" / "masks" / "prefix.py"
    spec = importlib.util.spec_from_file_location("prefix", code)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "prefix", module)
    spec.loader.exec_module(module)
    exercise = with_text(module.EXERCISE, code.with_suffix(".md"), "prefix")
    assert check_exercise(exercise, module.prefix).passed
    assert check_exercise(exercise, lambda x: x + x).diagnosis == "doubled"
    sources = [cell.source for cell in read(tree / "chapters" / "05_masks.ipynb").cells]
    place = next(n for n, source in enumerate(sources) if 'check("masks.prefix", my_prefix)' in source)
    assert sources[place - 1].startswith("### Exercise: TODO")
    assert [sources[place + 1], sources[place + 2]] == ['show_solution("masks.prefix")', "## Quiz"]
    rows = yaml.safe_load((tree / "book" / "systems.yml").read_text(encoding="utf-8"))
    assert [row["at"] for row in rows if row["exercises"] == ["masks.prefix"]] == ["05_masks#exercises"]
    assert [row["at"][:2] for row in rows] == sorted(row["at"][:2] for row in rows)
    found = new.still_open(tree)
    names = ("masks/prefix.md:1:", "masks/prefix.py:", "05_masks.ipynb:", "systems.yml:", "answers/masks/prefix.md:3:")
    for name in names:
        assert any(name in line for line in found), name


def test_a_new_chapter_has_every_section_module_test_questions_and_exercises(tree):
    new.new_chapter("temperature", tree)
    nb = read(tree / "chapters" / "22_temperature.ipynb")
    headings = [cell.source.split("\n")[0][3:] for cell in nb.cells if cell.source.startswith("## ")]
    assert headings == [*BEFORE, "TODO a section of its own", *AFTER]
    assert sum("show_solution(" in cell.source for cell in nb.cells) == EXERCISES
    questions = (tree / "course_practice" / "quizzes" / "temperature.md").read_text(encoding="utf-8")
    assert len(read_questions("temperature", questions, {})) == QUIZ_QUESTIONS
    parts = yaml.safe_load((tree / "book" / "chapters.yml").read_text(encoding="utf-8"))
    assert list(parts[-1]["chapters"])[-2:] == ["21_real_model", "22_temperature"]
    contents = (tree / "_toc.yml").read_text(encoding="utf-8")
    assert "chapters/21_real_model\n      - file: chapters/22_temperature\n" in contents
    assert '("temperature",),\n' in (tree / "tools" / "gates" / "imports.py").read_text(encoding="utf-8")
    assert imports.documented(tree / "course_lib" / "temperature.py") == []
    for name in ("course_lib/temperature.py", "tests/test_temperature.py", "22_temperature.ipynb", "chapters.yml"):
        assert any(line.startswith(name) or f"/{name}:" in f"/{line}" for line in new.still_open(tree)), name


@pytest.mark.parametrize(
    ("lay_out", "name", "words"),
    [
        (new.new_exercise, "prefix", "expected SUBJECT.NAME, as masks.prefix, got 'prefix'"),
        (new.new_exercise, "mask.prefix", "expected the subject of a chapter (masks, real_model), got 'mask'"),
        (new.new_chapter, "masks", "expected the name of a module that no chapter has yet, got 'masks'"),
        (new.new_chapter, "two words", "expected the name of a module that no chapter has yet, got 'two words'"),
    ],
)
def test_a_name_that_does_not_do_is_refused_and_nothing_is_written(tree, lay_out, name, words):
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    with pytest.raises(new.Refused) as refused:
        lay_out(name, tree)
    assert words in str(refused.value)
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == before


def test_nothing_is_open():
    complaints.none(new.still_open())


def test_what_comes_next_names_the_chapter_and_the_exercise(monkeypatch, capsys):
    chapter = new.ROOT / "chapters" / "05_masks.ipynb"
    monkeypatch.setattr(new, "new_exercise", lambda name: [chapter])
    assert new.main("exercise", "masks.prefix") == 0
    said = capsys.readouterr().out
    assert "NOTEBOOKS=chapters/05_masks.ipynb" in said
    assert '-k "[masks.prefix"' in said
