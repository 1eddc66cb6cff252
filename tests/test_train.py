"""The command line: one command trains, reports, and goes on where it stopped."""

import io
import json
import signal
import sys
from contextlib import suppress
from itertools import product
from shutil import rmtree
from unittest import mock

import pytest

from course_lib.__main__ import COMMANDS
from course_lib.__main__ import main as entry
from course_lib.training.trainer import Trainer
from course_lib.transformer import Transformer
from course_lib.translation import Translator
from course_lib.translation.commands import score
from course_lib.translation.commands.train import far_from_done, main, parser, tell
from course_lib.translation.recipes import BYTES, config_of, fill_in, too_large
from course_lib.translation.run_folder import KEPT, recorded_options

NUMBERS = ["one", "two", "three", "four", "five", "six", "seven"]
ZAHLEN = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben"]
SIZES = {"merges": 60, "d-model": 16, "n-heads": 2, "d-ff": 32, "n-layers": 1, "max-tokens": 120, "threads": 1}
SMALL = [word for name, size in SIZES.items() for word in (f"--{name}", str(size))]


@pytest.fixture
def pairs(tmp_path):
    """Numbers in two languages, word by word."""
    path = tmp_path / "pairs.tsv"
    rows = zip(product(ZAHLEN, repeat=3), product(NUMBERS, repeat=3), strict=True)
    path.write_text("".join(f"{' '.join(src)}\t{' '.join(tgt)}\n" for src, tgt in rows), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def no_picture(request, monkeypatch):
    """Drawing the curve takes longer than most of these trainings: one of them draws, the others write a word."""
    if "folder_keeps_all" not in request.node.name:
        monkeypatch.setattr("course_lib.figures.learning_curve.standalone_svg", lambda figure, alt: alt)


def run(pairs, *options, code=0):
    figures = pairs.with_suffix(".json")
    assert main(["--data", str(pairs), *SMALL, "--json", str(figures), *options]) == code
    return json.loads(figures.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("model", "steps"), [("transformer", 250), ("gru", 2)])
def test_it_learns_to_count_and_is_scored_again(pairs, model, steps, tmp_path, capsys):
    folder = ["--folder", str(tmp_path / "run")]
    settings = ["--steps", str(steps), "--peak-lr", "2e-2", "--dropout", "0", "--beam", "1"]
    figures = run(pairs, "--model", model, *settings, *folder)
    assert figures["updates"] == steps
    assert figures["tokens_per_second"] > 0
    told = capsys.readouterr().out
    assert "exact match" in told
    if steps == 250:
        assert figures["exact_match"]["test"] >= 0.9
        assert "train longer" not in told
    assert score.main([*folder, "--threads", "1", "--json", "-"]) == 0
    again = json.loads(capsys.readouterr().out)
    for name in ("exact_match", "bleu", "chrf", "alignment", "bleu_signature", "chrf_signature"):
        assert again[name] == figures[name]
    assert "|tok:13a|" in figures["bleu_signature"]


def test_folder_keeps_all_and_the_run_goes_on(pairs, tmp_path):
    folder = tmp_path / "run"
    whole = run(pairs, "--steps", "10", "--beam", "1")
    run(pairs, "--steps", "10", "--beam", "1", "--folder", str(folder))
    again = run(pairs, "--steps", "10", "--beam", "1", "--folder", str(folder))
    assert again["exact_match"] == whole["exact_match"]
    assert {path.name for path in folder.iterdir()} == set(KEPT)
    assert isinstance(Translator.load(folder).translate(["eins zwei"], beam_size=2)[0], str)


def test_the_tokens_of_bleu_are_recorded_and_free_to_change(pairs, tmp_path, capsys):
    folder = tmp_path / "run"
    options = ["--beam", "1", "--folder", str(folder)]
    assert "|tok:char|" in run(pairs, "--steps", "1", "--tokenize", "char", *options)["bleu_signature"]
    assert recorded_options(folder)["tokenize"] == "char"
    assert score.main(["--folder", str(folder), "--threads", "1"]) == 0
    assert capsys.readouterr().out.count("|tok:char|") == 2  # of train, and of score
    assert "|tok:13a|" in run(pairs, "--steps", "2", *options)["bleu_signature"]
    assert recorded_options(folder)["tokenize"] == "13a"
    (folder / "options.json").write_text(
        json.dumps({name: value for name, value in recorded_options(folder).items() if name != "tokenize"})
    )  # as trainings of before left it
    assert "|tok:none|" in run(pairs, "--steps", "3", "--tokenize", "none", *options)["bleu_signature"]


def curve(*losses, last=0):
    """A curve with a point every 200 updates, and one more after `last` updates."""
    steps = [200 * (i + 1) for i in range(len(losses))]
    return [
        {"step": step, "val_loss": loss} for step, loss in zip([*steps[:-1], last or steps[-1]], losses, strict=True)
    ]


NOTHING_RIGHT = "No translation equals its reference yet: "


@pytest.mark.parametrize(
    ("exact", "points", "line"),
    [
        ({"test": 0.0, "depth": 0.0}, curve(1.95, 1.75, last=214), NOTHING_RIGHT),  # a slow machine's minute
        ({"test": 0.0}, [{"step": 9}], NOTHING_RIGHT),  # without val
        ({"test": 0.0}, curve(5.0, 5.0, 5.0), NOTHING_RIGHT),
        ({"test": 0.0}, curve(3.0, 2.0, 1.5, 2.0), ""),  # it learns its corpus by heart: less time, not more
        (
            {"test": 0.3, "depth": 0.0},
            curve(2.0, 0.9, 0.6),
            "The validation loss is still falling fast (from 0.90 to 0.60",
        ),
        ({"test": 0.3}, curve(2.0, 0.8, 0.6), "The validation loss is still falling fast (from 0.80 to 0.60"),
        ({}, curve(2.0, 1.0, 0.5, 0.4, last=700), "The validation loss is still falling fast (from 0.83 to 0.40"),
        ({"test": 0.97}, curve(1.52, 0.47, 0.27, 0.19, 0.15, 0.14, 0.13, 0.13, last=1561), ""),
        ({"test": 0.04}, curve(2.8, 2.2, 1.97, 1.84, 1.82, last=900), ""),
        ({"test": 0.9}, curve(0.4, 0.1, last=250), ""),  # nothing is known of two thirds
        ({}, [], ""),  # no val, and nothing translated
    ],
)
def test_a_translator_that_is_far_from_done_is_told_how_to_go_on(exact, points, line):
    figures = {"exact_match": exact, "curve": points}
    told = {}
    for words in ("--steps 214 --folder run", "--seconds 60 --folder run", "--seconds 0.5"):
        options = parser().parse_args(words.split())
        told[words] = far_from_done(figures, options)
        assert told[words].startswith(line)
        assert bool(told[words]) == bool(line)
    if line:
        goes_on = "to train longer, give the same command --steps 642; it goes on from here."
        assert [text.split(": ")[1] for text in told.values()] == [
            goes_on,
            goes_on.replace("--steps 642", "--seconds 180"),
            "train longer, --seconds 1.5, and with --folder, where the same command can go on.",
        ]


def test_it_goes_on_as_the_line_says(pairs, tmp_path, capsys):
    folder = ["--folder", str(tmp_path / "run")]
    run(pairs, "--steps", "1", "--beam", "1", *folder)
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith(NOTHING_RIGHT)]
    assert "--steps 3; it goes on" in line
    assert run(pairs, "--steps", "3", "--beam", "1", *folder)["updates"] == 3


def test_progress_is_written_into_a_file_while_it_trains(pairs, tmp_path, monkeypatch):
    log, seen, update = tmp_path / "log", [], Trainer._update

    def watched(self, batch):
        seen.append(log.read_text(encoding="utf-8"))
        update(self, batch)

    monkeypatch.setattr(Trainer, "_update", watched)
    with open(log, "w", encoding="utf-8") as file:
        monkeypatch.setattr(sys, "stdout", file)
        run(pairs, "--steps", "4", "--beam", "1")
    assert "update" not in seen[0]
    for done in (1, 2, 3):
        assert seen[done].splitlines()[-1].startswith(f"{25 * done:3}% update {done}, loss ")
    assert "100% update 4, loss" in log.read_text(encoding="utf-8")
    assert "\r" not in log.read_text(encoding="utf-8")


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("terminals", [("stdout", "stderr"), ("stderr",)], ids=" and ".join)
def test_a_bar_on_the_screen_or_lines_elsewhere(terminals, pairs, monkeypatch):
    streams = {name: Screen() if name in terminals else io.StringIO() for name in ("stdout", "stderr")}
    for name, stream in streams.items():
        monkeypatch.setattr(sys, name, stream)
    run(pairs, "--steps", "3", "--beam", "1")
    assert ("100% update 3" in streams["stdout"].getvalue()) == (len(terminals) == 1)
    assert ("|" in streams["stderr"].getvalue()) == ("stderr" in terminals)


def test_progress_that_cannot_be_written_stops_no_training(monkeypatch):
    monkeypatch.setattr("builtins.print", mock.Mock(side_effect=OSError(28, "No space left on device")))
    tell("50% update 3")


def test_stopped_it_evaluates_nothing_and_goes_on(pairs, tmp_path, monkeypatch, capsys, interruptible):
    options = ["--steps", "8", "--beam", "1", "--folder", str(tmp_path / "run")]
    update = Trainer._update

    def interrupted(self, batch):
        if self.state.step == 4:
            signal.raise_signal(signal.SIGINT)
        update(self, batch)

    monkeypatch.setattr(Trainer, "_update", interrupted)
    stopped = run(pairs, *options, code=130)
    assert (stopped["updates"], stopped["bleu"]) == (5, {})
    told = capsys.readouterr().out
    assert "Stopped after update 5" in told
    assert f"python -m course_lib score --folder {tmp_path / 'run'}" in told
    monkeypatch.setattr(Trainer, "_update", update)
    assert run(pairs, *options)["updates"] == 8


def test_a_call_that_trains_nothing_leaves_the_options_of_the_one_that_did(pairs, tmp_path):
    folder = tmp_path / "run"
    for options in (["--steps", "3"], ["--seconds", "1e-6"], ["--steps", "3", "--beam", "2"], ["--steps", "2"]):
        run(pairs, *options, "--folder", str(folder), "--skip-evaluation")
        recorded = recorded_options(folder)
        assert (recorded["steps"], recorded["seconds"]) == (3, None)
    run(pairs, "--steps", "4", "--folder", str(folder), "--skip-evaluation")
    assert recorded_options(folder)["steps"] == 4


def test_figures_are_written_before_anything_is_shown(pairs, tmp_path, monkeypatch):
    """An output that nobody reads any more ends the command, when all is on the disk."""
    show = mock.Mock(side_effect=BrokenPipeError)
    monkeypatch.setattr("course_lib.translation.commands.train.show", show)
    monkeypatch.setattr("course_lib.translation.commands.options.os.dup2", mock.Mock())
    figures = run(pairs, "--steps", "1", "--beam", "1", "--folder", str(tmp_path / "run"), code=130)
    assert figures["updates"] == 1
    show.assert_called_once()


def test_what_is_kept_is_said_when_the_evaluation_is_broken_off(pairs, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("course_lib.translation.commands.train.report", mock.Mock(side_effect=KeyboardInterrupt))
    arguments = ["--data", str(pairs), *SMALL, "--steps", "1", "--folder", str(tmp_path / "run")]
    assert main(arguments) == 130
    assert f"Kept in {tmp_path / 'run'}" in capsys.readouterr().out


def test_an_output_that_lacks_letters_shows_others_for_them(pairs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written = io.BytesIO()
    arguments = ["--data", str(pairs), *SMALL, "--steps", "1", "--beam", "1", "--folder", "실행"]
    for command in (["--help"], *([name, "--help"] for name in COMMANDS), ["train", *arguments]):
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "cp1252", write_through=True))  # of a new process
        with suppress(SystemExit):
            assert entry(command) == 0
    lines = written.getvalue().splitlines()
    assert len([line for line in lines if line.startswith(b"usage: ")]) == 1 + len(COMMANDS)
    assert [line for line in lines if line.startswith(b"Kept in ??: the translator")]
    assert [line for line in lines if line.startswith(b"? ")]  # the arrow before a translation


@pytest.mark.parametrize("name", ["model.pt", "options.json"])
def test_a_model_that_is_not_there_yet_is_not_overwritten_either(name, pairs, tmp_path, capsys):
    folder = tmp_path / "run"
    arguments = ["--data", str(pairs), "--steps", "1", "--folder", str(folder), "--json", str(folder / name)]
    assert main(arguments) == 1
    assert f"kept by a training, got {folder / name}: name another" in capsys.readouterr().err
    assert not folder.exists()


def test_ctrl_c_outside_of_training_is_quiet(pairs, monkeypatch, capsys):
    monkeypatch.setattr("course_lib.translation.commands.train.load_corpus", mock.Mock(side_effect=KeyboardInterrupt))
    assert main(["--data", str(pairs), "--steps", "1"]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--steps 0", "expected a whole number of at least 1, got '0'"),
        ("--seconds -1", "expected a number greater than 0, got '-1'"),
        ("--steps 1 --seconds 1", "not allowed with argument"),
        ("--n-heads 3 --d-model 128", "expected --n-heads that divides --d-model, 128, got 3: change one"),
        ("--threads 100000", "expected a whole number from 1 to 256, got '100000'"),
        ("--d-model 10000000000000000000 --n-heads 1", "expected a whole number from 1 to 1000000, got '1000"),
        ("--n-layers 1000000000", "expected a whole number from 1 to 1000, got '1000000000'"),
        ("--d-model 1000000 --n-heads 1", "expected a model whose training fits into "),
        ("--d-model 1000000 --n-layers 1000", "expected a model whose training fits into "),
        ("--model gru --d-model 1000000", "expected a model whose training fits into "),
    ],
)
def test_wrong_options_are_refused_in_one_line(options, words, capsys):
    with pytest.raises(SystemExit) as left:
        main(options.split())
    error = capsys.readouterr().err
    assert left.value.code == 2
    assert words in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--data {folder}/none.tsv", "got '{folder}/none.tsv', where there is no file: check the path"),
        ("--data {folder}/words.txt", "expected 'source TAB target' in {folder}/words.txt, got 'no tab' in line 1"),
        ("--data {folder}/empty.tsv", "expected sentences of fewer than 119 tokens in"),
        ("--folder {folder}/words.txt/run", "'{folder}/words.txt/run', got 'Not a directory'"),
        ("--json {folder}", "'{folder}', got 'Is a directory'"),
        ("--peak-lr 1e30 --dropout 0", "expected a finite loss and gradient, got loss nan"),
    ],
)
def test_what_cannot_be_trained_is_refused_in_one_line(options, words, pairs, tmp_path, capsys):
    (tmp_path / "words.txt").write_text("no tab\n")
    (tmp_path / "empty.tsv").touch()
    arguments = ["--data", str(pairs), *SMALL, "--steps", "9", "--precision", "float32"]
    assert main([*arguments, *options.format(folder=tmp_path).split()]) == 1
    error = capsys.readouterr().err
    assert words.format(folder=tmp_path) in error
    assert len([line for line in error.split("\n") if "course_lib" in line]) == 1
    assert "Traceback" not in error


def test_a_translator_whose_checkpoints_are_gone_is_not_overwritten(pairs, tmp_path, capsys):
    folder = tmp_path / "run"
    arguments = ["--data", str(pairs), *SMALL, "--folder", str(folder), "--steps", "2", "--skip-evaluation"]
    assert main(arguments) == 0
    trained = (folder / "model.pt").read_bytes()
    [checkpoint] = (folder / "checkpoints").iterdir()
    for spoil in (lambda: checkpoint.write_bytes(b""), lambda: rmtree(folder / "checkpoints")):
        spoil()
        assert main(arguments) == 1
        assert "checkpoints, got none: move model.pt away, or name another folder" in capsys.readouterr().err
        assert (folder / "model.pt").read_bytes() == trained


def test_a_few_pairs_are_too_few_to_test(tmp_path, capsys):
    (tmp_path / "few.tsv").write_text("eins\tone\nzwei\ttwo\n")
    assert main(["--data", str(tmp_path / "few.tsv"), *SMALL, "--steps", "1"]) == 0
    assert "No sentence was held out to test" in capsys.readouterr().out


def test_sentences_longer_than_every_batch_are_refused(pairs, capsys):
    assert main(["--data", str(pairs), "--steps", "1", "--max-tokens", "2"]) == 1
    assert "expected sentences of fewer than 1 tokens in" in capsys.readouterr().err


def test_the_pairs_are_not_overwritten(pairs, capsys):
    before = pairs.read_bytes()
    assert main(["--data", str(pairs), "--steps", "1", "--json", str(pairs)]) == 1
    assert "expected --json other than the files that are read" in capsys.readouterr().err
    assert pairs.read_bytes() == before


def test_a_training_that_cannot_begin_leaves_no_options(tmp_path, capsys):
    (tmp_path / "empty.tsv").touch()
    assert main(["--data", str(tmp_path / "empty.tsv"), "--steps", "1", "--folder", str(tmp_path / "run")]) == 1
    assert not (tmp_path / "run" / "options.json").exists()


def test_the_evaluation_can_be_skipped(pairs, capsys):
    figures = run(pairs, "--steps", "1", "--skip-evaluation")
    assert (figures["updates"], figures["bleu"]) == (1, {})
    assert "split" not in capsys.readouterr().out


def test_an_endless_line_of_val_or_test_stops_nothing(tmp_path, capsys):
    lines = [f"{word} {i}\t{word} {i}" for i in range(60) for word in ("eins", "zwei")]
    endless = [f"{'lang ' * 20_000}{i}\tlong {i}" for i in range(20)]  # of 140 pairs, some are in val and in test
    (tmp_path / "pairs.tsv").write_text("\n".join(lines + endless) + "\n")
    figures = run(tmp_path / "pairs.tsv", "--steps", "1", "--merges", "10", "--beam", "1")
    told = capsys.readouterr().out
    assert "Leaving out 1 pairs of val of 500 tokens or more" in told
    assert figures["left_out"]["test"] >= 1


def test_a_model_too_large_for_the_machine_is_refused_by_arithmetic(monkeypatch, capsys):
    options = parser().parse_args(["--d-model", "16", "--n-heads", "2", "--d-ff", "32", "--n-layers", "1"])
    fill_in(options)
    needed = BYTES * sum(w.numel() for w in Transformer(config_of(options, vocab_size=1)).parameters())
    monkeypatch.setattr("course_lib.translation.recipes.torch.cuda.is_available", lambda: False)
    for there in (needed, needed - 1):
        monkeypatch.setattr(
            "course_lib.translation.recipes.os.sysconf", lambda name, n=there: n if "SIZE" in name else 1
        )
        assert bool(too_large(options)) == (there < needed)
    none_built = mock.Mock(side_effect=MemoryError)
    monkeypatch.setattr("torch.nn.Module.__init__", none_built)  # thousands of layers' modules alone take seconds
    with pytest.raises(SystemExit):
        main(["--d-model", "1000000", "--n-layers", "1000"])
    assert "expected a model whose training fits into" in capsys.readouterr().err


def test_two_files_train_go_on_and_are_scored(pairs, tmp_path, capsys):
    sides = zip(*[line.split("\t") for line in pairs.read_text(encoding="utf-8").splitlines()], strict=True)
    files = [tmp_path / "a.de", tmp_path / "a.en"]
    for path, lines in zip(files, sides, strict=True):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    folder = ["--folder", str(tmp_path / "run")]
    arguments = [*SMALL, *folder, "--beam", "1", "--data", *map(str, files)]
    assert main([*arguments, "--steps", "1"]) == 0
    told = capsys.readouterr().out
    assert "reads: '" in told
    assert "of 17 test targets are trained on, too" in told
    assert main([*arguments, "--steps", "2"]) == 0
    assert score.main([*folder, "--threads", "1", "--json", "-"]) == 0
    figures = capsys.readouterr().out
    assert json.loads(figures[figures.index("\n{") :])["options"]["data"] == [*map(str, files)]
    translator = Translator.load(tmp_path / "run")
    assert translator.unknown("fünf eins one!") == {
        "o": "was never seen in training: the translation is a guess",
        "!": "was never seen in training and is left out",
    }
    files[1].write_text("one\n", encoding="utf-8")
    for command in (lambda: main([*arguments, "--steps", "2"]), lambda: score.main([*folder])):
        assert command() == 1
        assert f"began, got others in {files[0]} or {files[1]}: put the old file back" in capsys.readouterr().err
    assert main([*SMALL, "--steps", "1", "--data", *map(str, files)]) == 1
    assert f"expected as many lines in {files[1]} as in {files[0]}, 343, got 1" in capsys.readouterr().err


def test_three_files_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--data", "a", "b", "c"])
    assert "expected one name or two files, got 3: name SOURCES TARGETS" in capsys.readouterr().err
