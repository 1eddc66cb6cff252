"""Stored results can be read, repeated, and are of experiments that exist."""

import json

import pytest

from course_lib.stored import FOLDER, results
from experiments import store
from tools.environment import ROOT

STORED = sorted(path.stem for path in FOLDER.glob("*.json"))
SCRIPTS = sorted(path.stem for path in (ROOT / "experiments").glob("*.py") if path.stem != "__init__")


def test_what_an_experiment_stores_is_what_a_notebook_reads(tmp_path, monkeypatch):
    path = store("somewhere/masks_speed.py", seeds=[0, 1], folder=tmp_path, rows=[{"n": 4, "d_k": 0.25}], about="√")
    monkeypatch.setattr("course_lib.stored.FOLDER", tmp_path)
    kept = results("masks_speed")
    assert kept["rows"] == [{"n": 4, "d_k": 0.25}]
    assert kept["about"] == "√"
    assert (kept["command"], kept["seeds"]) == ("python -m experiments.masks_speed", [0, 1])
    assert set(kept["versions"]) == {"python", "torch"}
    assert "√" in path.read_text(encoding="utf-8")


def test_unknown_results_say_which_there_are_and_how_to_make_them(tmp_path, monkeypatch):
    monkeypatch.setattr("course_lib.stored.FOLDER", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"\(none yet\), got 'masks_sped'"):
        results("masks_sped")
    store("masks_speed.py", seeds=[0], folder=tmp_path)
    with pytest.raises(FileNotFoundError, match=r"\(masks_speed\), got 'a': .* python -m experiments\.a"):
        results("a")


@pytest.mark.parametrize("name", STORED)
def test_stored_results_can_be_repeated(name):
    kept = results(name)
    assert kept["command"] == f"python -m experiments.{name}"
    assert kept["seeds"]
    assert kept["versions"]["torch"]
    assert name in SCRIPTS, "the script that makes it is not there"
    used = [path.name for path in ROOT.glob("chapters/*.ipynb") if f'results(\\"{name}\\")' in path.read_text("utf-8")]
    assert used, "no chapter reads it"


def test_stored_results_are_small():
    """They travel with the library."""
    assert all((FOLDER / f"{name}.json").stat().st_size < 200_000 for name in STORED)
    assert all(json.loads((FOLDER / f"{name}.json").read_text("utf-8")) for name in STORED)
