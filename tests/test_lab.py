"""`make lab` lays copies of the chapters for the reader, and never writes over one."""

import nbformat
import pytest
from nbformat.sign import NotebookNotary

from tools import lab
from tools.environment import chapters


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "my chapters"


def test_a_copy_is_laid_once(folder):
    chapter = chapters()[5]
    copy = lab.lay(chapter, folder)
    copy.write_text("mine")
    assert lab.lay(chapter, folder) is None
    assert copy.read_text() == "mine"
    assert [path.name for path in folder.iterdir()] == [chapter.name]


def test_a_fresh_one_is_laid_beside(folder):
    chapter = chapters()[5]
    found = [lab.lay(chapter, folder, fresh=True).name for _ in range(3)]
    assert found == ["05_masks.ipynb", "05_masks_2.ipynb", "05_masks_3.ipynb"]


def test_a_copy_has_the_cells_of_the_chapter_and_is_trusted(folder):
    chapter = chapters()[5]
    laid = nbformat.read(lab.lay(chapter, folder), as_version=4)
    assert laid.cells == nbformat.read(chapter, as_version=4).cells
    assert NotebookNotary().check_signature(laid)


@pytest.mark.parametrize("name", ["05_masks", "05", "masks", "chapters/05_masks.ipynb"])
def test_names_of_a_chapter(name):
    assert lab.chapter_named(name) == chapters()[5]


def test_no_such_chapter():
    with pytest.raises(SystemExit, match="expected a chapter, got '05_mask': is it 05_masks"):
        lab.chapter_named("05_mask")
