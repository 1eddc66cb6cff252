"""The trainings that the results page sums up: run once, kept, never run twice, summed up right."""

import json
import sys

import pytest

from benchmarks import learning
from course_lib.translation.commands import train

SMALL = "--steps 2 --merges 5 --d-model 8 --n-heads 2 --d-ff 8 --n-layers 1 --beam 1 --data {path}"


@pytest.fixture
def training(tmp_path, monkeypatch):
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"eins {i}\tone {i}\n" for i in range(40)), encoding="utf-8")
    trainings = {"tiny": learning.Training(SMALL.format(path=path), 2), "other": learning.Training("--seconds 9", 1)}
    monkeypatch.setattr(learning, "TRAININGS", trainings)
    return trainings["tiny"]


def test_a_training_is_run_kept_and_summed_up(tmp_path, training, monkeypatch):
    results, begun = tmp_path / "results", []

    def begin(words, check):
        """In this process, which has loaded PyTorch; `python -m course_lib` is tested elsewhere."""
        begun.append(words[:4])
        assert (train.main(words[4:]), check) == (0, True)

    monkeypatch.setattr(learning.subprocess, "run", begin)
    assert learning.main(["tiny", "--results", str(results)]) == 0
    assert begun == 2 * [[sys.executable, "-m", "course_lib", "train"]]
    kept = [json.loads((results / "learning" / f"tiny_seed{seed}.json").read_text("utf-8")) for seed in (0, 1)]
    assert kept[1]["command"].startswith("python -m course_lib train --steps 2 --merges 5")
    assert "--seed 1 --threads" in kept[1]["command"]
    assert kept[0]["options"]["seed"] == 0
    assert "json" not in kept[0]["options"]
    assert kept[0]["updates"] == 2
    assert {"curve", "machine", "versions", "day", "bleu", "exact_match"} <= kept[0].keys()
    table = json.loads((results / "learning.json").read_text("utf-8"))
    (row,) = table["rows"]  # the training without runs has none
    assert row[:3] == [f"`{training.arguments}`", "2", "test"]

    monkeypatch.setattr(learning.subprocess, "run", None)  # nothing is left to run: a call would fail
    assert learning.main(["tiny", "--results", str(results)]) == 0


def test_median_mean_and_range():
    assert learning.spread([0.5, 0.9, 0.8], 2, learning.median) == "0.80 (0.50–0.90)"
    assert learning.spread([30.0, 36.0, 36.6], 1, learning.mean) == "34.2 (30.0–36.6)"


def test_unknown_training_is_refused(capsys):
    with pytest.raises(SystemExit):
        learning.main(["nothing"])
    assert "expected trainings among course_60" in capsys.readouterr().err
