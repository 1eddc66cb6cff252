"""What `make` calls: running and storing notebooks, gates, the book, the test stages."""

import sys
from types import TracebackType

# nbformat imports jsonschema, which would build 38 grammars of web addresses (three seconds); notebooks need none.
NO_GRAMMAR = "rfc3987_syntax"
sys.modules.setdefault(NO_GRAMMAR, None)

STOPPED = "Stopped: what is not finished is not written, and what was there stands as it was."


def _say(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Ctrl-C is no failure of a tool: one sentence is enough, and the exit code 130."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, traceback)
        return
    print(f"\n{STOPPED}", file=sys.stderr)
    raise SystemExit(130)


if sys.argv[:1] == ["-m"]:  # `python -m tools.editions`, whose imports are still to come
    sys.excepthook = _say
