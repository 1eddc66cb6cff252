"""`make quick` tests what a change touches, and runs no notebook again that is green as it is."""

import pytest

from tools import quick, stages
from tools.environment import ROOT, chapters


@pytest.fixture
def told(monkeypatch, tmp_path):
    """What is asked of pytest, by stage, for a change of one chapter; the record of green runs is an empty one."""
    asked = []

    def pytest_(self, *arguments):
        asked.append(arguments)
        return stages.Outcome(1, 0)

    monkeypatch.setattr(quick, "GREEN", tmp_path / "green.json")
    monkeypatch.setattr(quick, "changed", lambda since: ["chapters/05_masks.ipynb"])
    monkeypatch.setattr(quick, "untracked", list)
    monkeypatch.setattr(stages.Stages, "pytest", pytest_)
    monkeypatch.setattr(stages.Stages, "commands", lambda self, *commands: stages.Outcome(1, 0))
    return asked


def test_a_change_of_a_chapter_asks_for_its_own_tests(told, tmp_path):
    run = quick.Quick(tmp_path, "main")
    for stage in run.all.values():
        stage()
    words = [" ".join(arguments) for arguments in told]
    assert any("tests/test_notebooks.py -k 05_masks" in text for text in words)
    assert any("tests/test_masks.py" in text and "test_bpe" not in text for text in words)
    assert any("-k [masks." in text for text in words)
    (run_again,) = [text for text in words if "--nbval" in text]
    assert run_again.endswith(" chapters/05_masks.ipynb")


def test_a_notebook_that_is_green_as_it_is_is_not_run_again(told, tmp_path):
    run = quick.Quick(tmp_path, "main")
    run.strict()
    assert quick.to_run([ROOT / "chapters" / "05_masks.ipynb"]) == []
    told.clear()
    quick.Quick(tmp_path, "main").strict()
    assert told == []
    assert len(quick.to_run(chapters())) == len(chapters()) - 1


def test_a_digest_changes_with_the_cells_and_with_the_library(tmp_path, monkeypatch):
    notebook, library = tmp_path / "05_masks.ipynb", tmp_path / "course_lib"
    library.mkdir()
    notebook.write_text("{}")
    (library / "masks.py").write_text("one = 1\n")
    monkeypatch.setattr(quick, "LIBRARY", library)
    first = quick.digest(notebook)
    assert quick.digest(notebook) == first
    (library / "masks.py").write_text("one = 2\n")
    second = quick.digest(notebook)
    notebook.write_text("{ }")
    assert len({first, second, quick.digest(notebook)}) == 3
