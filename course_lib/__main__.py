"""`python -m course_lib train | translate | score | export`: the translator of chapter 17 from the command line."""

import importlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

COMMANDS = {
    "train": "train a translator, and say how good it is",
    "translate": "translate sentences with a translator that was trained",
    "score": "score translations, or a translator on its held-out sentences",
    "export": "write a translator as files that other programs load",
}
USAGE = "\n".join(
    ["usage: python -m course_lib COMMAND [OPTION …]", "", "commands"]
    + [f"  {name:<11}{words}" for name, words in COMMANDS.items()]
    + ["", "python -m course_lib COMMAND --help explains a command's options."]
)


def ready_streams() -> None:
    """Let the output show `?` for letters that its encoding lacks, and let closed streams be empty ones."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # first come the lowest numbers: no file of the work takes a stream's place
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
    if hasattr(sys.stdout, "reconfigure"):  # a notebook's has not
        sys.stdout.reconfigure(errors="replace")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the first word names, with the words after it; its exit code."""
    ready_streams()
    command, *rest = [*(sys.argv[1:] if arguments is None else arguments), ""]
    if command in ("-h", "--help"):
        with suppress(OSError):
            print(USAGE, flush=True)
            return 0
        options = importlib.import_module("course_lib.translation.commands.options")
        return options.run_command("python -m course_lib", print)  # one line end more, to say what is wrong
    if command not in COMMANDS:
        wanted, got = ", ".join(COMMANDS), repr(command) if command else "none"
        print(f"python -m course_lib: expected a command ({wanted}), got {got}; --help explains them", file=sys.stderr)
        return 2
    with _no_traceback():
        module = importlib.import_module(f"course_lib.translation.commands.{command}")
    return module.main(rest[:-1])


@contextmanager
def _no_traceback() -> Iterator[None]:
    """Ctrl-C while PyTorch is being loaded ends the program as it ends any other, without a page of imports."""
    before = signal.getsignal(signal.SIGINT)
    in_charge = before is signal.default_int_handler and threading.current_thread() is threading.main_thread()
    if in_charge:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        if in_charge:
            signal.signal(signal.SIGINT, before)


if __name__ == "__main__":
    sys.exit(main())
