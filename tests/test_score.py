"""Scoring from the command line: sacrebleu's numbers and signatures, and the report of a training."""

import io
import json
import re
import signal
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
from sacrebleu.sacrebleu import main as sacrebleu_main
from small_run import make_run

from course_lib.translation.commands.score import main

# Importing sacrebleu's command makes a closed pipe end the whole process; Python's own way is an exception.
if hasattr(signal, "SIGPIPE"):
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)

HYPOTHESES = ["The cat sat on the mat.", "It's 3.5 km, she said.", "", "완전히 다른 문장이다.", "a b c d", "Dogs run"]
REFERENCES = [
    ["The cat sat on a mat.", "It is 3.5 km, she says.", "Nothing.", "전혀 다른 문장이다.", "a b c e", "Dogs ran fast"],
    ["the cat lay on the mat!", "it's 3.5 km, he said.", "", "완전히 같은 문장이다.", "d c b a", "a dog runs"],
]


@pytest.fixture
def files(tmp_path):
    """One file of hypotheses with two of references."""
    paths = []
    for name, lines in zip(("hyp", "ref1", "ref2"), [HYPOTHESES, *REFERENCES], strict=True):
        paths.append(tmp_path / name)
        paths[-1].write_bytes("\r\n".join([*lines, ""]).encode())
    return [str(path) for path in paths]


class Stream(io.StringIO):
    """A standard stream to sacrebleu's main function, which opens it a second time."""

    def fileno(self):
        return 0


def sacrebleu(*options):
    """What sacrebleu's own command prints."""
    printed = Stream()
    streams = {"argv": ["sacrebleu", *options, "-w", "12"], "stdin": printed, "stdout": printed, "stderr": printed}
    opened = mock.patch("sacrebleu.sacrebleu.open", return_value=printed, create=True)
    with mock.patch.multiple(sys, **streams), opened, suppress(SystemExit):
        sacrebleu_main()
    return printed.getvalue()


def score(capsys, *options, code=0):
    assert main([*options]) == code
    return capsys.readouterr()


def fields(signature):
    """A signature without the version."""
    found = dict(field.split(":", 1) for field in signature.split("|"))
    return {name: value for name, value in found.items() if name != "version"}


USES = [
    ([], []),
    (["--lowercase"], ["-lc", "--chrf-lowercase"]),
    (["--tokenize", "none"], ["-tok", "none"]),
    (["--tokenize", "char", "--chrf-words", "2"], ["-tok", "char", "--chrf-word-order", "2"]),
    (["--smoothing", "floor"], ["-s", "floor"]),
    (["--smoothing", "add-k", "--smooth-value", "0.5"], ["-s", "add-k", "-sv", "0.5"]),
    (["--smoothing", "none", "--chrf-words", "1"], ["-s", "none", "--chrf-word-order", "1"]),
]


@pytest.mark.parametrize("several", [False, True], ids=["one reference", "two references"])
@pytest.mark.parametrize(("ours", "theirs"), USES, ids=lambda options: " ".join(options) or "plain")
def test_scores_and_signatures_are_those_of_sacrebleus_command(ours, theirs, several, files, capsys):
    hyp, *refs = files if several else files[:2]
    bleu, chrf = json.loads(sacrebleu(*refs, "-i", hyp, "-m", "bleu", "chrf", *theirs))
    found = json.loads(score(capsys, hyp, *refs, *ours, "--json", "-").out)
    assert found["bleu"]["score"] == pytest.approx(bleu["score"], abs=1e-9)
    assert found["chrf"]["score"] == pytest.approx(chrf["score"], abs=1e-9)
    assert fields(found["bleu"]["signature"]) == fields(bleu["signature"])
    assert fields(found["chrf"]["signature"]) == fields(chrf["signature"])
    lengths = re.search(r"hyp_len = (\d+) ref_len = (\d+)", bleu["verbose_score"])
    assert [found["bleu"]["hyp_len"], found["bleu"]["ref_len"]] == list(map(int, lengths.groups()))
    assert f"{chrf['name']} = {chrf['score']:.2f}" in score(capsys, hyp, *refs, *ours).out


@pytest.mark.parametrize("case", [[], ["--lowercase"]], ids=["mixed", "lowercase"])
def test_scores_of_sentences_are_those_of_sacrebleus_command(case, files, capsys):
    flags = {"bleu": ["-lc"], "chrf": ["--chrf-lowercase"]} if case else {"bleu": [], "chrf": []}
    found = json.loads(score(capsys, *files, *case, "--sentences", "--json", "-").out)
    for name in ("bleu", "chrf"):
        lines = sacrebleu(*files[1:], "-i", files[0], "-m", name, "-sl", "-b", *flags[name]).split()
        assert [row[name] for row in found["sentences"]] == pytest.approx(list(map(float, lines)), abs=1e-9)
    text = score(capsys, *files, *case, "--sentences").out.split("\n")
    assert text[0] == "line\tBLEU\tchrF"
    assert [line.split("\t")[0] for line in text[1:7]] == list("123456")


def test_standard_input_and_a_file_for_the_figures(files, tmp_path, monkeypatch, capsys):
    wanted = json.loads(score(capsys, *files, "--json", "-").out)
    with open(files[0], "rb") as hypotheses:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(hypotheses))
        out = score(capsys, "-", *files[1:], "--json", str(tmp_path / "new" / "figures.json")).out
    assert json.loads((tmp_path / "new" / "figures.json").read_text()) == wanted
    assert out.startswith("BLEU = ")
    assert wanted["bleu"]["signature"] in out


def append(name, data):
    Path(name).write_bytes(Path(name).read_bytes() + data)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda files: append(files[1], b"one more\n"), "ref1 as in {hyp}, 6, got 7: line i of one belongs"),
        (
            lambda files: [Path(name).write_bytes(b"") for name in files],
            "expected at least one line in {hyp}, got none",
        ),
        (lambda files: append(files[2], b"\xff\n"), "got the byte 0xff in line 7: save it as UTF-8"),
        (lambda files: files.append("nowhere"), "'nowhere', got 'No such file or directory'"),
    ],
)
def test_files_that_do_not_fit_are_refused(change, words, files, capsys):
    change(files)
    error = score(capsys, *files, code=1).err
    assert words.format(hyp=files[0]) in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("", "expected two files or more, or --folder, got 0 of them"),
        ("a", "expected two files or more, or --folder, got 1 of them"),
        ("a b --folder c", "expected two files or more, or --folder, got 2 of them and --folder"),
        ("a b --beam 3 --split val", "expected options for files, got --split, --beam"),
        ("--folder c --lowercase", "expected options for --folder, got --lowercase"),
        ("a b --smooth-value 1", "expected --smooth-value with --smoothing floor or add-k, got exp"),
        ("a - -", "expected the standard input once, got it twice"),
        ("a b --tokenize 14", "invalid choice: '14'"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options, words, capsys):
    with pytest.raises(SystemExit) as left:
        main(options.split())
    error = capsys.readouterr().err
    assert left.value.code == 2
    assert words in error
    assert error.count("\n") == 1


@pytest.fixture
def run(tmp_path):
    """A folder whose options name a file of pairs."""
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{'eins ' * (n % 5)}zwei {n}\tone {n}\n" for n in range(60)))
    folder = make_run(tmp_path / "run")
    options = {"data": str(pairs), "seed": 3, "reverse": True, "beam": 1, "length_penalty": 0.5, "merges": 40}
    (folder / "options.json").write_text(json.dumps(options))
    return folder


class Parrot:
    """A translator that repeats, and remembers how it was asked."""

    vocabulary = SimpleNamespace(encode=str.split)

    def __init__(self):
        self.asked = []

    def translate(self, texts, beam_size, length_penalty, done):
        self.asked.append((beam_size, length_penalty))
        return list(texts)


def test_a_translator_is_scored_as_its_training_left_it(run, monkeypatch, capsys):
    parrot = Parrot()
    monkeypatch.setattr("course_lib.translation.commands.score.open_translator", lambda folder, average: parrot)
    figures = json.loads(score(capsys, "--folder", str(run), "--json", "-").out)
    assert list(figures["bleu"]) == ["test"]
    assert figures["exact_match"] == {"test": 0.0}
    assert figures["options"] == {
        **{"data": str(run.parent / "pairs.tsv"), "reverse": True, "seed": 3, "beam": 1, "length_penalty": 0.5},
        **{"tokenize": "13a", "folder": str(run), "average": None},
    }
    assert fields(figures["bleu_signature"])["tok"] == "13a"
    more = score(capsys, "--folder", str(run), "--split", "val", "--split", "test", "--beam", "2").out
    lines = [line for line in more.splitlines() if "4 tokens (13a)" not in line]
    assert [line.split()[0] for line in lines] == ["split", "val", "test", "BLEU:"]
    assert parrot.asked == [(1, 0.5), (2, 0.5), (2, 0.5)]


def test_tokens_are_found_as_in_the_training_unless_told_otherwise(run, monkeypatch, capsys):
    monkeypatch.setattr("course_lib.translation.commands.score.open_translator", lambda folder, average: Parrot())
    recorded = json.loads((run / "options.json").read_text())
    (run / "options.json").write_text(json.dumps(recorded | {"tokenize": "char"}))
    for options, rule in (([], "char"), (["--tokenize", "none"], "none"), (["--tokenize", "13a"], "13a")):
        figures = json.loads(score(capsys, "--folder", str(run), *options, "--json", "-").out)
        assert fields(figures["bleu_signature"])["tok"] == figures["options"]["tokenize"] == rule
        assert f"|tok:{rule}|" in score(capsys, "--folder", str(run), *options).out
    (run / "options.json").write_text(json.dumps(recorded | {"tokenize": "zh"}))
    assert "expected for 'tokenize' in" in score(capsys, "--folder", str(run), code=1).err


@pytest.mark.parametrize(
    "texts", [["ein Hund", "zwei Katzen"], ["昨天他写了新闻。", "他读书。"], ["猫", "เขาอ่านหนังสือ"]]
)
def test_a_copy_that_scores_0_is_told_why(texts, tmp_path, capsys):
    path = tmp_path / "text"
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    note = "no reference has 4 tokens (13a), so BLEU is 0 even for a copy: try --tokenize char, or go by chrF"
    told = score(capsys, str(path), str(path), "--sentences").out.splitlines()
    assert [line.split("\t")[1] for line in told[1:3]] == ["100.00", "100.00"]
    assert told[4].startswith("BLEU = 0.00")
    assert told[-1] == f"Note: {note}"
    assert json.loads(score(capsys, str(path), str(path), "--json", "-").out)["note"] == note
    figures = json.loads(score(capsys, str(path), str(path), "--tokenize", "char", "--json", "-").out)
    assert figures["bleu"]["score"] == pytest.approx(100)
    assert "note" not in figures


def test_no_note_where_there_is_enough_to_count(files, capsys):
    assert "Note:" not in score(capsys, *files).out
    assert "note" not in json.loads(score(capsys, *files, "--json", "-").out)


def test_figures_are_written_a_second_time(run, monkeypatch, capsys):
    monkeypatch.setattr("course_lib.translation.commands.score.open_translator", lambda folder, average: Parrot())
    for beam in ("1", "2"):
        score(capsys, "--folder", str(run), "--beam", beam, "--json", str(run / "scores.json"))
        assert json.loads((run / "scores.json").read_text())["options"]["beam"] == int(beam)


def test_the_pairs_of_the_training_are_not_overwritten(run, capsys):
    pairs = run.parent / "pairs.tsv"
    before = pairs.read_bytes()
    assert "expected --json other" in score(capsys, "--folder", str(run), "--json", str(pairs), code=1).err
    assert pairs.read_bytes() == before


def test_what_cannot_be_scored_is_refused(run, tmp_path, capsys):
    assert "got 'news': choose one" in score(capsys, "--folder", str(run), "--split", "news", code=1).err
    assert "expected 2 checkpoints in" in score(capsys, "--folder", str(run), "--average", "2", code=1).err
    for again in ([], ["--data", str(tmp_path / "pairs.tsv")]):  # other seeds test what was trained on
        error = score(capsys, "--folder", str(run), "--seed", "7", *again, code=1).err
        assert "expected the seed of the training" in error
        assert "3, got 7: leave it out" in error
    (run / "options.json").rename(tmp_path / "options.json")
    assert "got none: name the training's sentences, --data" in score(capsys, "--folder", str(run), code=1).err
    (tmp_path / "options.json").rename(run / "options.json")
    (tmp_path / "pairs.tsv").write_text("eins\tone\n")
    assert "expected sentences to score in" in score(capsys, "--folder", str(run), code=1).err
    assert "got no model.pt" in score(capsys, "--folder", str(tmp_path / "none"), code=1).err


def test_no_input_is_overwritten(tmp_path, capsys):
    path = tmp_path / "hypotheses.txt"
    path.write_text("a b c d\n")
    assert main([str(path), str(path), "--json", str(path)]) == 1
    assert "expected --json other than the files that are read" in capsys.readouterr().err
    assert path.read_text() == "a b c d\n"


def test_spellings_that_look_the_same_and_are_not_are_told(tmp_path, capsys):
    composed, decomposed = tmp_path / "a", tmp_path / "b"
    composed.write_text("un café noir s’il vous plaît\nun thé vert chaud\n", encoding="utf-8")
    decomposed.write_text("un cafe\u0301 noir s’il vous plaît\nun\u00a0thé  vert chaud\n", encoding="utf-8")
    assert main([str(composed), str(composed)]) == 0
    assert capsys.readouterr().err == ""
    assert main([str(composed), str(decomposed)]) == 0
    assert capsys.readouterr().err.startswith(f"1 of 2 lines of {decomposed} are not in NFC, or have characters that ")
