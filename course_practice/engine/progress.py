"""The learner's progress: one JSON file, in the folder that TRANSFORMER_COURSE_HOME names (else ~/.transformer-course).

For every exercise: how often it was tried, whether it passed (at the first try?), which diagnoses came up and how
often, and the source of the passed solution. Nothing leaves the machine.
"""

import contextlib
import itertools
import json
import linecache
import os
from collections.abc import Callable, Iterator
from glob import escape
from pathlib import Path
from typing import Any
from zlib import crc32

from filelock import FileLock

from course_lib.files import course_home, read_file, written_whole
from course_practice.engine.run import Limit, run_safely

_BETWEEN = ",\n "  # an exercise a line, which is written ten times as fast as a file with indentation throughout
TIME_LIMIT = 10.0  # for kept source to define what it defines


def progress_file() -> Path:
    """Where progress is kept."""
    return course_home() / "progress.json"


def _file() -> Path:
    return Path(os.path.realpath(progress_file()))  # a link stays a link


def load() -> dict[str, dict[str, Any]]:
    """Progress by exercise id; empty where there is none yet. A damaged file is set aside, never overwritten."""
    path = _file()
    if not path.exists():
        return {}
    written = read_file(path)
    try:
        content = json.loads(written.decode("utf-8-sig"))  # Notepad puts a mark at the beginning
        if isinstance(content, dict) and all(map(is_entry, content.values())):
            _written(content)  # what could not be written again is damaged as well
            return content
    except (ValueError, RecursionError):
        pass
    names = (path.with_suffix(f".damaged{number}.json") for number in itertools.chain([""], itertools.count(2)))
    aside = next(name for name in names if not name.exists())
    with contextlib.suppress(FileNotFoundError):
        path.rename(aside)
    print(f"Your progress file could not be read; it was set aside as {aside.name}, and a new one begun.")
    return {}


def _written(progress: dict[str, dict[str, Any]]) -> bytes:
    lines = [f"{json.dumps(name)}: {json.dumps(progress[name], ensure_ascii=False)}" for name in sorted(progress)]
    return f"{{{_BETWEEN.join(lines)}}}\n".encode()


def is_entry(entry: Any) -> bool:
    """Has an entry the form that this module gives it? What is more than that may stay."""
    if not isinstance(entry, dict) or not isinstance(entry.get("solution", ""), str):
        return False
    numbers = entry.get("diagnoses")
    counted = isinstance(numbers, dict) and all(map(_is_count, numbers.values()))
    return counted and _is_count(entry.get("attempts")) and isinstance(entry.get("passed"), bool)


def _is_count(number: Any) -> bool:
    return type(number) is int and 0 <= number < 10**9


def record(exercise_id: str, passed: bool, diagnosis: str | None, solution: str | None) -> str:
    """Note one attempt; a passed one keeps the solution's source. Gives back a sentence where that failed."""
    try:
        with _updating() as progress:
            entry = progress.setdefault(exercise_id, {"attempts": 0, "passed": False, "diagnoses": {}})
            entry["attempts"] += 1
            if passed:
                if not entry["passed"]:
                    entry["passed_at_attempt"] = entry["attempts"]
                entry["passed"] = True
                if solution is not None:
                    entry["solution"] = solution
            elif diagnosis:
                entry["diagnoses"][diagnosis] = entry["diagnoses"].get(diagnosis, 0) + 1
    except (OSError, RuntimeError, ValueError) as error:  # no room, no right, no home; a text that no file can hold
        reason = getattr(error, "strerror", None) or error
        return f"Progress could not be saved ({reason}); set TRANSFORMER_COURSE_HOME to a writable folder."
    return ""


@contextlib.contextmanager
def _updating() -> Iterator[dict[str, dict[str, Any]]]:
    path = _file()
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock"), timeout=10):
        progress = load()
        yield progress
        with written_whole(path) as file:
            file.write(_written(progress))
        for left in path.parent.glob(f".{escape(path.name)}.{'[0-9a-f]' * 16}.tmp"):
            left.unlink(missing_ok=True)  # under the lock nobody writes: a killed process has left it


def kept_solution(exercise_id: str) -> Callable[..., Any]:
    """The learner's own passed solution, built from its kept source."""
    source = load().get(exercise_id, {}).get("solution")
    if source is None:
        raise LookupError(
            f"expected a kept solution of {exercise_id!r}, got none: pass its check first "
            "(a lambda or a library's own function passes too, but has no source to keep)"
        )
    try:
        solution = rebuild(source)
        solution.kept_as = exercise_id  # for a later solution that is made of this one
        return solution
    except Exception as error:
        raise RuntimeError(f"expected kept source of {exercise_id} that runs, got {error!r}: check it again") from error


def rebuild(source: str) -> Callable[..., Any]:
    """Execute kept source and give back what its last definition defines; an error where that does not end well.

    >>> rebuild("def double(x):\\n    return 2 * x")(4)
    8
    """
    file = f"<kept solution {crc32(source.encode()):08x}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)  # tracebacks show its lines
    scope: dict[str, Any] = {"__name__": "kept_solution"}
    outcome = run_safely(lambda: exec(compile(source, file, "exec"), scope), (), {}, Limit(TIME_LIMIT))
    if outcome.out_of_time:
        raise TimeoutError(f"it did not end within {TIME_LIMIT:g} seconds")
    if outcome.error is not None:
        raise outcome.error if isinstance(outcome.error, Exception) else RuntimeError(repr(outcome.error))
    if not (defined := [name for name in scope if name not in ("__name__", "__builtins__")]):
        raise ValueError("it defines nothing")
    return scope[defined[-1]]
