"""What the commands share: options that are checked, one line for an error, exit codes, help whose examples work."""

import argparse
import os
import shlex
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


def test_a_negative_number_is_no_option():
    for text in ("-1e1", "-.5", "-10", "-1E-3"):
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
        (Odd("too odd"), 1, "add: too odd\n"),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), 1, "add: expected enough memory, got less"),
        (MemoryError(), 1, "add: expected enough memory, got less"),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(32, "Broken pipe"), 130, ""),
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


def refused(path, option="--json", **named):
    """Whether `check_file` says that the file is read or kept; a folder is none of both."""
    words = "Is a directory" if path.is_dir() else f"expected {option} other than .* read or kept by a training"
    with pytest.raises((ValueError, OSError), match=words):
        check_file(path, option, **named)
    return True


@pytest.mark.parametrize("name", [*KEPT, "checkpoints/step-00000100.pt", "../run/model.pt"])
def test_names_that_a_training_keeps_are_never_an_output(name, tmp_path):
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    output = tmp_path / "run" / name
    assert files_of(None, output) == []  # a folder of any kind
    assert refused(output, "--output", keeps=files_of(tmp_path / "run"))
    (tmp_path / "run" / "options.json").touch()  # now it is that of a training, and not of ours
    assert refused(output, keeps=files_of(tmp_path / "mine", output))
    if not output.is_dir():
        output.touch()
        assert refused(output, "--output", keeps=files_of(tmp_path / "run"))


def test_another_name_in_the_folder_is_an_output_a_first_and_a_second_time(tmp_path):
    figures = tmp_path / "figures.json"
    (tmp_path / "options.json").touch()
    for _ in range(2):
        check_file(figures, reads=["", "nowhere"], keeps=files_of(tmp_path, figures))
        figures.touch()


def test_a_link_to_a_file_that_is_read_or_kept_is_no_output(tmp_path):
    for name in ("pairs.tsv", "model.pt"):
        (tmp_path / name).touch()
        try:
            (tmp_path / f"other {name}").symlink_to(tmp_path / name)
        except OSError as error:
            pytest.skip(f"this system gives users no links ({error})")
        assert refused(tmp_path / f"other {name}", reads=[str(tmp_path / "pairs.tsv")], keeps=files_of(tmp_path))


@pytest.mark.parametrize(
    "words", ["train --folder", "train --json", "translate --folder", "score a b --json", "export --output", "export"]
)
def test_an_empty_name_is_refused(words, capsys):
    with pytest.raises(SystemExit, match="2"):
        entry([*words.split(), ""])
    assert "expected the name of a file or folder, got an empty one" in capsys.readouterr().err


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


def test_a_reader_of_the_help_may_stop_early(monkeypatch):
    monkeypatch.setattr("builtins.print", mock.Mock(side_effect=BrokenPipeError))
    assert entry(["--help"]) == 0


def test_ctrl_c_during_the_imports_shows_no_page_of_them(monkeypatch, capsys):
    monkeypatch.setattr("importlib.import_module", mock.Mock(side_effect=KeyboardInterrupt))
    assert entry(["train"]) == 130
    assert capsys.readouterr() == ("", "")
