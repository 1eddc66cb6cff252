"""The learner's progress: one JSON file, in the folder that TRANSFORMER_COURSE_HOME names (else ~/.transformer-course).

For every exercise: how often it was tried, whether it passed (at the first try?), which diagnoses came up and how
often, and the source of the passed solution. Nothing leaves the machine.
"""

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from filelock import FileLock


def progress_file() -> Path:
    """Where progress is kept."""
    home = os.environ.get("TRANSFORMER_COURSE_HOME")
    return (Path(home) if home else Path.home() / ".transformer-course") / "progress.json"


def load() -> dict[str, dict[str, Any]]:
    """Progress by exercise id; empty where there is none yet. A damaged file is set aside, never overwritten."""
    path = progress_file()
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict) and all(map(_is_entry, content.values())):
            return content
    except FileNotFoundError:
        return {}
    except (json.JSONDecodeError, UnicodeDecodeError):
        pass
    aside = path.with_suffix(".damaged.json")
    with contextlib.suppress(FileNotFoundError):
        path.replace(aside)
    print(f"Your progress file could not be read; it was set aside as {aside.name}, and a new one begun.")
    return {}


def _is_entry(entry: Any) -> bool:
    """Has an entry the form that this module gives it? What is more than that may stay."""
    if not isinstance(entry, dict) or not isinstance(entry.get("solution", ""), str):
        return False
    numbers = entry.get("diagnoses")
    counted = isinstance(numbers, dict) and all(isinstance(count, int) for count in numbers.values())
    return counted and isinstance(entry.get("attempts"), int) and isinstance(entry.get("passed"), bool)


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
    except OSError as error:
        reason = error.strerror or error
        return f"Progress could not be saved ({reason}); set TRANSFORMER_COURSE_HOME to a writable folder."
    return ""


@contextlib.contextmanager
def _updating() -> Iterator[dict[str, dict[str, Any]]]:
    path = progress_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock"), timeout=10):
        progress = load()
        yield progress
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(progress, file, ensure_ascii=False, indent=1, sort_keys=True)
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


def kept_solution(exercise_id: str) -> Callable[..., Any]:
    """The learner's own passed solution, built from its kept source."""
    source = load().get(exercise_id, {}).get("solution")
    if source is None:
        raise LookupError(
            f"expected a kept solution of {exercise_id!r}, got none: pass its check first "
            "(a lambda or a library's own function passes too, but has no source to keep)"
        )
    return rebuild(source)


def rebuild(source: str) -> Callable[..., Any]:
    """Execute kept source and give back what its last definition defines."""
    # linecache knows no file of this name: dataclasses and tracebacks live with that.
    scope: dict[str, Any] = {"__name__": "kept_solution"}
    before = set(scope)
    exec(compile(source, "<kept solution>", "exec"), scope)
    return scope[[name for name in scope if name not in before and name != "__builtins__"][-1]]
