"""`python -m course_lib train | translate | score | export`: the translator of chapter 17 from the command line."""

import importlib
import sys
from collections.abc import Sequence
from contextlib import suppress

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


def ready_output() -> None:
    """Let the output show `?` for letters that its encoding lacks."""
    if hasattr(sys.stdout, "reconfigure"):  # a notebook's has not
        sys.stdout.reconfigure(errors="replace")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the first word names, with the words after it; its exit code."""
    ready_output()
    command, *rest = [*(sys.argv[1:] if arguments is None else arguments), ""]
    if command in ("-h", "--help"):
        with suppress(BrokenPipeError):  # `| head`
            print(USAGE)
        return 0
    if command not in COMMANDS:
        wanted, got = ", ".join(COMMANDS), repr(command) if command else "none"
        print(f"python -m course_lib: expected a command ({wanted}), got {got}; --help explains them", file=sys.stderr)
        return 2
    try:
        module = importlib.import_module(f"course_lib.translation.commands.{command}")
    except KeyboardInterrupt:  # PyTorch takes seconds to load
        return 130
    return module.main(rest[:-1])


if __name__ == "__main__":
    sys.exit(main())
