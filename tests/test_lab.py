"""`make lab` lays copies of the chapters for the reader, and never writes over one."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.sign import NotebookNotary

from tools import STOPPED, lab
from tools.environment import ROOT, chapters

STARTING = """
import os, time
os.write(1, b"ready\\n")
time.sleep(60)
"""


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


@pytest.mark.parametrize(("user", "option"), [(0, ["--allow-root"]), (1000, [])])
def test_jupyterlab_starts_for_root_too(user, option, monkeypatch):
    started = []
    monkeypatch.setattr(os, "geteuid", lambda: user, raising=False)
    monkeypatch.setattr(lab, "lay", lambda *_, **__: None)
    monkeypatch.setattr(sys, "argv", ["lab"])
    monkeypatch.setattr("jupyterlab.labapp.LabApp.launch_instance", started.extend)
    assert lab.main() == 0
    page = [
        "--LabApp.default_url=/lab/tree/my_chapters",
        f"--LabApp.app_settings_dir={ROOT / 'tools' / 'lab_settings'}",
    ]
    assert started == [f"--ServerApp.root_dir={ROOT}", *option, *page]


def test_jupyterlab_keeps_the_controls_of_a_copy():
    (schema,) = Path(sys.prefix).glob("share/jupyter/labextensions/@jupyter-widgets/**/plugin.json")
    overrides = json.loads((lab.SETTINGS / "overrides.json").read_text(encoding="utf-8"))
    assert overrides == {"@jupyter-widgets/jupyterlab-manager:plugin": {"saveState": True}}
    assert json.loads(schema.read_text(encoding="utf-8"))["properties"].keys() >= {"saveState"}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to a group")
def test_ctrl_c_while_jupyterlab_starts_is_told_in_a_sentence(tmp_path, interruptible):
    tmp_path.joinpath("jupyterlab.py").write_text(STARTING)
    code = "import sys; sys.argv[:] = ['-m']; from tools import lab; lab.lay = lambda *_, **__: None; lab.main()"
    run = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while "ready" not in run.stdout.readline():
        assert run.poll() is None, run.stderr.read()
    os.killpg(run.pid, signal.SIGINT)
    _, errors = run.communicate(timeout=60)
    assert (run.returncode, errors) == (130, f"\n{STOPPED}\n")
