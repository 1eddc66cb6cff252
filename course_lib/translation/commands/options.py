"""What the commands share: options that are checked, errors in one line, exit codes."""

import argparse
import errno
import math
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

from course_lib.beam_search import LARGEST_PENALTY
from course_lib.bleu.tokenizers import TOKENIZERS

DATA = "course, multi30k, a file with one `source TAB target` a line, or two files: line i belongs to line i"
LARGEST_SEED = 2**32 - 1  # NumPy takes no larger one
BEAM = 5  # where neither option nor training says
MOST_BEAMS = 1000  # more want more memory than machines have
MOST_THREADS = 256  # many thousands end the process without a word

EXIT_CODES = """\
exit codes
  0    all went well
  1    a file, a folder or the data is not what was expected; one line says what to do
  2    an option is not what was expected
  130  stopped with Ctrl-C, or because nobody reads the output any more, as behind `| head`;
       `train` keeps what it has, also where the system or a closed terminal stops it
"""


class Parser(argparse.ArgumentParser):
    """Options of a command: the description keeps its lines, an error takes one."""

    def __init__(self, prog: str, description: str, epilog: str = EXIT_CODES, **others: Any):
        form = argparse.RawDescriptionHelpFormatter
        super().__init__(prog, description=description, epilog=epilog, formatter_class=form, **others)
        self._negative_number_matcher = re.compile(r"-\.?[0-9]")  # -1e9 is a number, too

    def error(self, message: str) -> None:
        self.exit(2, f"{self.prog}: {message}; --help explains the options\n")


def whole(least: int, most: float = math.inf) -> Callable[[str], int]:
    """The type of an option that takes a whole number from `least` to `most`.

    >>> whole(1)("12")
    12
    """
    bounds = f"of at least {least}" if most == math.inf else f"from {least} to {most}"
    return _reader(int, lambda value: least <= value <= most, f"a whole number {bounds}")


def number(
    least: float = -math.inf, above: float = -math.inf, below: float = math.inf, most: float = math.inf
) -> Callable[[str], float]:
    """The type of an option that takes a number from `least` to `most`, greater than `above`, less than `below`.

    >>> number(least=0, below=1)("0.1")
    0.1
    """
    bounds = [("at least", least), ("greater than", above), ("less than", below), ("at most", most)]
    named = " and ".join(f"{words} {bound}" for words, bound in bounds if math.isfinite(bound))
    return _reader(
        float, lambda x: math.isfinite(x) and least <= x <= most and above < x < below, f"a number {named}".rstrip()
    )


def _reader(kind: type, fits: Callable[[float], bool], wanted: str) -> Callable[[str], float]:
    """Text to a number of this kind, refused unless it fits what is `wanted`."""

    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not fits(value):
            raise argparse.ArgumentTypeError(f"expected {wanted}, got {text!r}")
        return value

    return read


def fits(kind: Callable[[str], float], value: object) -> bool:
    """Whether a number from elsewhere than the command line is one that this type of option takes.

    >>> fits(whole(1), 12), fits(whole(1), 0), fits(whole(1), "12")
    (True, False, False)
    """
    try:
        return type(value) in (int, float) and kind(repr(value)) == value
    except argparse.ArgumentTypeError:
        return False


SEEDS = whole(0, LARGEST_SEED)
BEAMS = whole(1, MOST_BEAMS)
PENALTIES = number(least=-LARGEST_PENALTY, most=LARGEST_PENALTY)


def path(text: str) -> Path:
    """The type of an option that names a file or a folder: an empty name, as of a variable without a value, is none.

    >>> path("runs/course").name
    'course'
    """
    if not text:
        raise argparse.ArgumentTypeError("expected the name of a file or folder, got an empty one")
    return Path(text)


class _Data(argparse.Action):
    """The option --data: one name as it is, two as a list."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        if len(values) > 2:
            raise argparse.ArgumentError(
                self, f"expected one name or two files, got {len(values)}: name SOURCES TARGETS"
            )
        setattr(namespace, self.dest, values[0] if len(values) == 1 else values)


def add_data(group: argparse._ActionsContainer, default: str | None = None) -> None:
    """The option --data: a corpus with a name, a file of pairs, or a file of sources and one of targets."""
    group.add_argument("--data", nargs="+", action=_Data, default=default, metavar=("DATA", "TARGETS"), help=DATA)


def add_threads(group: argparse._ActionsContainer) -> None:
    """The option --threads: two where we may use two, for more cost the course's small tensors more than they give."""
    few = min(2, torch.get_num_threads())
    group.add_argument("--threads", type=whole(1, MOST_THREADS), default=few, help="CPU threads (here: %(default)s)")


def add_search(group: argparse._ActionsContainer, beam_help: str, penalty: float | None = 1.0) -> None:
    """The options of a search, with the bounds that `course_lib.beam_search` has."""
    group.add_argument("--beam", type=BEAMS, help=beam_help)
    group.add_argument("--length-penalty", type=PENALTIES, default=penalty, help="larger: longer translations win")


def add_tokenize(group: argparse._ActionsContainer, usual: str, default: str | None = None) -> None:
    """The option --tokenize, with the tokenizers that `corpus_bleu` has."""
    words = f"how BLEU finds words; char: where no spaces part them (default: {usual})"
    group.add_argument("--tokenize", choices=TOKENIZERS, default=default, help=words)


def check_writable(folder: Path) -> None:
    """Make `folder` and write into it once: better to learn before the work than after it that it cannot be done."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        error.filename = str(folder)  # not the name of that file
        raise


def check_file(
    path: Path, option: str = "--json", reads: Iterable[str | Path] = (), keeps: Iterable[Path] = ()
) -> None:
    """The same for a file: it can be written, is no folder, and none of the files that the command `reads`.

    `keeps` are names that stand for something else, a file or a folder, whether it is there yet or not.
    """
    if str(path) == "-":
        raise ValueError(f"expected the name of a file for {option}, got -: name one, or /dev/stdout")
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    read = [os.fstat(0) if name == "-" else os.stat(name) for name in reads if name == "-" or os.path.exists(name)]
    is_read = path.exists() and any(os.path.samestat(path.stat(), other) for other in read)
    if is_read or any(path.resolve().is_relative_to(name.resolve()) for name in keeps):
        raise ValueError(
            f"expected {option} other than the files that are read or kept by a training, got {path}: name another"
        )
    if path.is_file() or not path.exists():  # a device such as /dev/null is written to as it is
        check_writable(path.parent)


def run_command(prog: str, work: Callable[[], object], expected: tuple[type[Exception], ...] = ()) -> int:
    """Do the work; the exit code. What people can put right (ValueError, OSError, `expected`) is said in one line."""
    code = 0
    try:
        work()
        sys.stdout.flush()
    except (KeyboardInterrupt, BrokenPipeError):  # the second: whoever read the output has enough, as `head` has
        code = 130
    except (ValueError, OSError, MemoryError, RuntimeError, *expected) as error:
        if isinstance(error, RuntimeError) and not isinstance(error, expected) and not _no_memory(error):
            raise
        print(f"{prog}: {explain(error)}", file=sys.stderr)
        code = 1
    try:
        sys.stdout.flush()
    except OSError:  # Python flushes once more at its end: into nothing, lest it complains then
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def explain(error: Exception) -> str:
    """One line on an error: expected, got, what to do.

    >>> explain(FileNotFoundError(2, "No such file or directory", "pairs.tsv"))
    "expected to read or write 'pairs.tsv', got 'No such file or directory': check the path and who may use it"
    """
    if isinstance(error, OSError) and error.filename is not None:
        name, reason = str(error.filename), error.strerror
        return f"expected to read or write {name!r}, got {reason!r}: check the path and who may use it"
    if isinstance(error, OSError) and error.strerror is not None:
        return f"expected to read and write files, got {error.strerror!r}: check the disk"
    if isinstance(error, MemoryError) or _no_memory(error):
        return "expected enough memory, got less than the work takes: choose a smaller model, or smaller batches"
    return " ".join(map(str.strip, str(error).splitlines()))


def _no_memory(error: Exception) -> bool:
    """PyTorch says that memory is short in several ways, some of them with words alone."""
    ways = ("out of memory", "can't allocate memory", "not enough memory")
    return isinstance(error, RuntimeError) and any(words in str(error) for words in ways)
