"""The command line: one command trains, reports, and goes on where it stopped."""

import json
import subprocess
import sys

import pytest

from course_lib.train import main, parser
from course_lib.translation import Translator

NUMBERS = ["one", "two", "three", "four", "five", "six", "seven"]
ZAHLEN = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben"]
SMALL = [
    "--merges",
    "60",
    "--d-model",
    "16",
    "--n-heads",
    "2",
    "--d-ff",
    "32",
    "--n-layers",
    "1",
    "--max-tokens",
    "120",
]


@pytest.fixture
def pairs(tmp_path):
    """Numbers in two languages, word by word."""
    path = tmp_path / "pairs.tsv"
    lines = [
        f"{ZAHLEN[i]} {ZAHLEN[j]} {ZAHLEN[k]}\t{NUMBERS[i]} {NUMBERS[j]} {NUMBERS[k]}"
        for i in range(7)
        for j in range(7)
        for k in range(7)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def run(pairs, *options):
    figures = pairs.with_suffix(".json")
    assert main(["--data", str(pairs), *SMALL, "--threads", "1", "--json", str(figures), *options]) == 0
    return json.loads(figures.read_text(encoding="utf-8"))


@pytest.mark.parametrize("model", ["transformer", "gru"])
def test_it_learns_to_count(pairs, model, capsys):
    figures = run(pairs, "--model", model, "--steps", "250", "--peak-lr", "2e-2", "--dropout", "0", "--beam", "1")
    assert figures["exact_match"]["test"] >= 0.9
    assert figures["updates"] == 250
    assert figures["tokens_per_second"] > 0
    assert "exact match" in capsys.readouterr().out


def test_folder_keeps_all_and_the_run_goes_on(pairs, tmp_path):
    folder = tmp_path / "run"
    whole = run(pairs, "--steps", "30", "--beam", "1")
    run(pairs, "--steps", "30", "--beam", "1", "--folder", str(folder))
    again = run(pairs, "--steps", "30", "--beam", "1", "--folder", str(folder))
    assert again["exact_match"] == whole["exact_match"]
    assert (folder / "curve.json").exists()
    assert isinstance(Translator.load(folder).translate(["eins zwei"], beam_size=2)[0], str)


def test_other_direction(pairs):
    assert run(pairs, "--steps", "1", "--reverse", "--beam", "1")["options"]["reverse"] is True


def test_time_is_kept(pairs):
    assert 0.3 <= run(pairs, "--seconds", "0.3", "--beam", "1")["seconds"] < 2


def test_a_missing_file_is_named(tmp_path, capsys):
    assert main(["--data", str(tmp_path / "none.tsv"), "--steps", "1"]) == 1
    assert "none.tsv" in capsys.readouterr().err


def test_help_shows_examples():
    assert "python -m course_lib.train --data multi30k" in parser().format_help()
    done = subprocess.run(
        [sys.executable, "-m", "course_lib.train", "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "torchrun" in done.stdout
