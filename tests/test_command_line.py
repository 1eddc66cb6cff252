"""What the commands share: options that are checked, one line for an error, exit codes, help whose examples work."""

import argparse
import io
import json
import os
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from unittest import mock

import pytest
import torch

from course_lib.__main__ import COMMANDS as ENTRIES
from course_lib.__main__ import main as entry
from course_lib.translation.commands import export, score, train, translate
from course_lib.translation.commands.options import (
    LARGEST_SEED,
    Parser,
    check_file,
    check_writable,
    number,
    run_command,
    whole,
)
from course_lib.translation.run_folder import KEPT, files_of

COMMANDS = {"train": train, "translate": translate, "score": score, "export": export}


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        (whole(1), "0", "expected a whole number of at least 1, got '0'"),
        (whole(0), "-1", "expected a whole number of at least 0, got '-1'"),
        (whole(0), "1.5", "expected a whole number of at least 0, got '1.5'"),
        (whole(0, LARGEST_SEED), "4294967296", "expected a whole number from 0 to 4294967295, got '4294967296'"),
        (number(above=0), "0", "expected a number greater than 0, got '0'"),
        (number(least=0, below=1), "1", "expected a number at least 0 and less than 1, got '1'"),
        (number(), "inf", "expected a number, got 'inf'"),
        (number(), "five", "expected a number, got 'five'"),
    ],
)
def test_values_out_of_bounds_are_refused(kind, text, words):
    with pytest.raises(argparse.ArgumentTypeError) as error:
        kind(text)
    assert str(error.value) == words


@pytest.mark.parametrize("text", ["-1e1", "-.5", "-10", "-1E-3"])
def test_a_negative_number_is_no_option(text):
    assert train.parser().parse_args(["--length-penalty", text]).length_penalty == float(text)


def test_values_on_the_bounds_are_taken():
    assert [whole(1)("1"), whole(0, 5)("5"), number(least=0, below=1)("0"), number()("-2e3")] == [1, 5, 0.0, -2000.0]


@pytest.mark.parametrize(("allowed", "threads"), [(1, 1), (2, 2), (64, 2)])
def test_no_more_threads_than_processors_that_may_be_used(allowed, threads, monkeypatch):
    """PyTorch knows a container's processors, and what `torchrun` leaves to each process; the machine may have more."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: allowed)
    assert train.parser().parse_args([]).threads == threads


def test_a_wrong_option_takes_one_line(capsys):
    with pytest.raises(SystemExit) as left:
        Parser("python -m course_lib train", "Train.").parse_args(["--nonsense"])
    assert left.value.code == 2
    assert capsys.readouterr().err == (
        "python -m course_lib train: unrecognized arguments: --nonsense; --help explains the options\n"
    )


class Odd(RuntimeError):
    pass


def stop(error):
    def work():
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (ValueError("expected 1,\n  got 2"), 1, "add: expected 1, got 2\n"),
        (OSError(13, "Permission denied", "/x"), 1, "add: expected to read or write '/x', got 'Permission denied': "),
        (ValueError("expected a tab, got '   b'"), 1, "add: expected a tab, got '   b'\n"),
        (ConnectionError("no answer"), 1, "add: no answer\n"),
        (Odd("too odd"), 1, "add: too odd\n"),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), 1, "add: expected enough memory, got less"),
        (MemoryError(), 1, "add: expected enough memory, got less"),
        (KeyboardInterrupt(), 130, ""),
        (KeyboardInterrupt(signal.SIGTERM), 143, ""),
    ],
)
def test_what_people_can_put_right_is_said_in_one_line(error, code, line, capsys):
    assert run_command("add", stop(error), expected=(Odd,)) == code
    found = capsys.readouterr().err
    assert found.startswith(line)
    assert found.count("\n") == bool(line)


@pytest.mark.parametrize("error", [RuntimeError("a bug"), TypeError("a bug"), Odd("unexpected")])
def test_a_bug_is_not_hidden(error):
    with pytest.raises(type(error)):
        run_command("add", stop(error))


def test_a_closed_pipe_is_quiet(monkeypatch, capsys):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert run_command("add", lambda: print("x" * 10)) == 141
    assert capsys.readouterr().err == ""


def test_places_that_cannot_be_written_are_found_before_the_work(tmp_path):
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OSError, match="file"):
            check_writable(folder)
    with pytest.raises(IsADirectoryError):
        check_file(tmp_path)
    with pytest.raises(ValueError, match="expected the name of a file for --json, got -"):
        check_file(Path("-"))
    check_file(tmp_path / "new" / "figures.json")
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["new"]
    assert list((tmp_path / "new").iterdir()) == []


def test_a_device_needs_no_place_beside_it(monkeypatch):
    monkeypatch.setattr("course_lib.translation.commands.options.check_writable", mock.Mock(side_effect=OSError))
    check_file(Path(os.devnull))


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("name", [*KEPT, "checkpoints/step-00000100.pt", "../run/model.pt"])
def test_names_that_a_training_keeps_are_never_an_output(name, there, tmp_path):
    run = tmp_path / "run"
    (run / "checkpoints").mkdir(parents=True)
    output = run / name
    if there and not output.is_dir():
        output.touch()
    words = "Is a directory" if output.is_dir() else "expected --output other than .* kept by a training"
    with pytest.raises((ValueError, OSError), match=words):
        check_file(output, "--output", keeps=files_of(run))


@pytest.mark.parametrize("name", [*KEPT, "checkpoints/step-00000100.pt"])
def test_names_that_another_training_keeps_are_no_output_either(name, tmp_path):
    (tmp_path / "other" / "checkpoints").mkdir(parents=True)
    output = tmp_path / "other" / name
    assert files_of(None, output) == []  # a folder of any kind
    (tmp_path / "other" / "options.json").touch()
    words = "Is a directory" if output.is_dir() else "expected --json other than .* kept by a training"
    with pytest.raises((ValueError, OSError), match=words):
        check_file(output, keeps=files_of(tmp_path / "mine", output))
    check_file(tmp_path / "other" / "scores.json", keeps=files_of(None, tmp_path / "other" / "scores.json"))


def test_a_translation_longer_than_any_is_refused(capsys):
    with pytest.raises(SystemExit, match="2"):
        entry(["translate", "--folder", "run", "--max-len", "1000000000000"])
    assert "expected a whole number from 1 to 10000, got '1000000000000'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("train", ["--folder", ""]),
        ("train", ["--json", ""]),
        ("translate", ["--folder", ""]),
        ("translate", ["--folder", "run", "--output", ""]),
        ("score", ["--folder", ""]),
        ("score", ["a", "b", "--json", ""]),
        ("export", [""]),
        ("export", ["--folder", ""]),
        ("export", ["run", "--output", ""]),
    ],
)
def test_an_empty_name_is_refused(command, options, capsys):
    with pytest.raises(SystemExit, match="2"):
        entry([command, *options])
    assert "expected the name of a file or folder, got an empty one" in capsys.readouterr().err


def test_another_name_in_the_folder_is_an_output_a_first_and_a_second_time(tmp_path):
    for _ in range(2):
        check_file(tmp_path / "figures.json", reads=["", "nowhere"], keeps=files_of(tmp_path))
        (tmp_path / "figures.json").touch()


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_another_name_of_a_file_that_is_read_or_kept_is_no_output(link, tmp_path):
    for name in ("pairs.tsv", "model.pt"):
        (tmp_path / name).touch()
        try:
            link(tmp_path / name, tmp_path / f"other {name}")
        except OSError as error:
            pytest.skip(f"this system gives users no such links ({error})")
        with pytest.raises(ValueError, match="expected --json other than the files that are read or kept"):
            check_file(tmp_path / f"other {name}", reads=[str(tmp_path / "pairs.tsv")], keeps=files_of(tmp_path))


def examples(command):
    """The commands of this library in the example lines of a command's help: name and arguments."""
    for line in COMMANDS[command].parser().format_help().split("\n"):
        for part in line.split("|"):
            words = shlex.split(part) if " -m course_lib " in part and line.startswith("  ") else []
            if words and words[0] in ("python", "torchrun"):
                at = words.index("course_lib") + 1
                yield words[at], words[at + 1 :]


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_of_the_help_are_valid(command):
    found = list(examples(command))
    assert len([name for name, _ in found if name == command]) >= 4
    for name, arguments in found:
        parser = COMMANDS[name].parser()
        options = parser.parse_args(arguments)
        if name == "score":
            score.check(parser, options)


def test_one_entry_leads_to_the_commands(capsys):
    assert set(ENTRIES) == set(COMMANDS)
    assert entry(["--help"]) == 0
    told = capsys.readouterr().out
    assert all(f"\n  {name} " in told for name in COMMANDS)
    assert entry([]) == entry(["trian"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert [line.split(";")[0] for line in said] == [
        "python -m course_lib: expected a command (train, translate, score, export), got none",
        "python -m course_lib: expected a command (train, translate, score, export), got 'trian'",
    ]
    with pytest.raises(SystemExit) as left:
        entry(["score", "--nonsense"])
    assert left.value.code == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches(command):
    parser = COMMANDS[command].parser()
    words = parser.format_help()
    for part in ("examples\n", "what to expect\n", "exit codes\n", "output:\n", "model:\n"):
        assert part in words
    assert all(action.help for action in parser._actions)
    assert max(map(len, parser.description.split("\n"))) <= 100


def test_closed_streams_are_empty_ones(tmp_path):
    (tmp_path / "text").write_text("a b c d\n")
    course, score = f"{shlex.quote(sys.executable)} -m course_lib", "score text text --json figures.json"
    for words in ("--help >&-", "--help <&-", "--help 2>&-", f"{score} <&- >&- 2>&-"):
        shell = ["sh", "-c", f"{course} {words}"]
        done = subprocess.run(shell, cwd=tmp_path, capture_output=True, check=True)
        assert done.stderr == b""
        assert done.stdout.startswith(b"usage: ") == (words in ("--help <&-", "--help 2>&-"))
    assert json.loads((tmp_path / "figures.json").read_text())["bleu"]["score"] == pytest.approx(100)
    assert (tmp_path / "text").read_text() == "a b c d\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk that is always full")
@pytest.mark.parametrize("command", ["course_lib --help", "course_lib score --help", "course_practice report --help"])
def test_help_that_cannot_be_written_is_told_in_one_line(command):
    shell = ["sh", "-c", f"{shlex.quote(sys.executable)} -m {command} >/dev/full"]
    done = subprocess.run(shell, capture_output=True, text=True)
    words = "expected to read and write files, got 'No space left on device': check the disk"
    assert (done.returncode, done.stderr) == (1, f"python -m {command.removesuffix(' --help')}: {words}\n")


@pytest.mark.parametrize("arguments", [["--help"], ["score", "--help"]])
def test_help_that_cannot_be_written_is_tried_once(arguments, monkeypatch, capsys):
    written = []

    class Full(io.StringIO):
        def write(self, text):
            written.append(text)
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    with suppress(SystemExit):
        assert entry(arguments) == 1
    assert "".join(written).count("usage: ") == 1
    assert capsys.readouterr().err.count("No space left on device") == 1


def test_ctrl_c_during_the_imports_shows_no_page_of_them(interruptible, monkeypatch):
    during = []
    monkeypatch.setattr("importlib.import_module", lambda name: during.append(signal.getsignal(signal.SIGINT)))
    with pytest.raises(AttributeError):  # what was imported is nothing
        entry(["train"])
    assert during == [signal.SIG_DFL]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
