"""What a class has solved: its notebooks run in confined processes, and their answers are judged anew.

`python -m course_practice report FOLDER`; the page *Teach with it* says how to use it.
"""

import json
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course_practice.engine.progress import is_entry
from course_practice.exercises import registry
from course_practice.report.confined import Limits, run
from course_practice.report.values import are_right
from course_practice.report.worker import checks_of

LARGEST, MOST = 50 * 2**20, 2**30  # bytes of a notebook, or of a progress file; of all that one student hands in
DEEPEST = 40  # folders in one another
NOT_FOUND = "its answer was not found"
SILENT = 120.0  # seconds for one answer to be judged: `check` itself stops what Python can stop
UNTRIED = {"attempts": 0, "passed": False, "diagnoses": {}}
UNREADABLE = (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError, MemoryError)
# What a line of the worker's holds: code that runs beside it may write lines of its own.
HOLDS = {
    **dict.fromkeys(("error", "exercise", "why"), str),
    **dict.fromkeys(("source", "mistake"), str | None),
    **dict.fromkeys(("passed", "attempted"), bool),
    "cell": int,
    "values": list,
}


class NoNotebook(ValueError):
    """A file that holds no notebook; a sentence says what it is."""


@dataclass
class Row:
    """One exercise of one student. `verdict` is "solved", "wrong", "open", "not reached", or "look at it"."""

    exercise: str
    verdict: str = "not reached"
    tries: int = 0
    mistakes: Counter[str] = field(default_factory=Counter)
    note: str = ""


@dataclass
class Student:
    """What one student handed in came to; `trouble` is what went wrong with whole notebooks."""

    name: str
    rows: dict[str, Row] = field(default_factory=dict)
    trouble: list[str] = field(default_factory=list)


def students(folder: Path) -> list[tuple[str, Path]]:
    """The names of those who handed in, each with their notebook or their folder of notebooks."""
    found = [p for p in sorted(folder.iterdir()) if (_is_notebook(p) or p.is_dir()) and not p.name.startswith(".")]
    names = [path.name if path.is_dir() else path.stem for path in found]
    return [(name if names.count(name) == 1 else path.name, path) for name, path in zip(names, found, strict=True)]


def _is_notebook(path: Path) -> bool:
    return path.suffix.lower() == ".ipynb"


def judged(name: str, path: Path, limits: Limits) -> Student:
    """Run what a student has handed in, in a copy, and judge the answers. Whatever it is, others keep their rows."""
    student = Student(name)
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
            folder = Path(scratch).resolve() / "work"
            try:
                _copy(path, folder)
            except (OSError, ValueError) as error:
                why = error if isinstance(error, ValueError) else type(error).__name__
                student.trouble.append(f"not all of it can be read ({why})")
            _judge(student, folder, limits)
            if rm := shutil.which("rm"):  # Python's way calls itself for each of the folders in one another
                subprocess.run([rm, "-rf", folder], stderr=subprocess.DEVNULL)
    except Exception as error:
        student.trouble.append(f"it could not be judged ({type(error).__name__})")
    return student


def _copy(path: Path, folder: Path) -> None:
    """No links, devices, or pipes, no folder in a file's place, and not more than one student hands in."""
    left = MOST

    def unwanted(inside: str, names: list[str]) -> set[str]:
        nonlocal left
        paths = [Path(inside, name) for name in names]
        plain = [p for p in paths if not p.is_symlink() and (p.is_file() or (p.is_dir() and p.name != "progress.json"))]
        left -= sum(p.stat().st_size for p in plain)
        if left < 0 or len(Path(inside).parts) > len(path.parts) + DEEPEST:
            raise ValueError(f"expected at most {MOST / 2**30:g} GB, and {DEEPEST} folders in one another, got more")
        return {p.name for p in set(paths) - set(plain)}

    if unwanted(str(path.parent), [path.name]):
        raise ValueError("expected a file or a folder, got none, a link, or a device")
    if path.is_dir():
        shutil.copytree(path, folder, symlinks=True, ignore=unwanted)
    else:
        folder.mkdir()
        shutil.copy(path, folder)


def _judge(student: Student, folder: Path, limits: Limits) -> None:
    at_home = _progress(folder / "progress.json")
    notebooks = [p for p in sorted(folder.rglob("*")) if _is_notebook(p) and ".ipynb_checkpoints" not in p.parts]
    for notebook in notebooks:
        try:
            if notebook.parent.resolve() != notebook.parent:
                raise NoNotebook("another notebook put a link in the place of its folder")
            rows = list(_rows(notebook, _cells(notebook), limits, student.trouble))
        except UNREADABLE as error:
            why = error if isinstance(error, NoNotebook) else f"what it left cannot be read ({type(error).__name__})"
            student.trouble.append(f"{notebook.name}: {why}")
            continue
        for row in rows:
            if entry := at_home.get(row.exercise):  # the run of a finished notebook knows of one try
                row.tries = _tries(entry)
                row.mistakes |= Counter(entry["diagnoses"])
            if row.exercise not in student.rows or student.rows[row.exercise].verdict != "solved":
                student.rows[row.exercise] = row
    student.trouble += [] if notebooks else ["no notebook"]


def _cells(notebook: Path) -> list[str]:
    """The sources of a notebook's code cells."""
    try:
        cells = json.loads(_text(notebook))["cells"]
        return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except UNREADABLE as error:
        words = {UnicodeDecodeError: "text that is not UTF-8", json.JSONDecodeError: "text that is not JSON"}
        size, got = notebook.stat().st_size, words.get(type(error), "a file of another form")
        got = "an empty file" if not size else "a larger file" if size > LARGEST else got
        raise NoNotebook(f"expected a notebook of at most {LARGEST >> 20} MB, got {got}: ask for it again") from None


def _rows(notebook: Path, cells: list[str], limits: Limits, trouble: list[str]) -> Iterator[Row]:
    """Run one notebook, and judge its answers. Where the verdict found anew is another, a person has to look."""
    progress = notebook.parent / "progress.json"
    progress.unlink(missing_ok=True)  # the run has one of its own
    said, why = run("cells", notebook.parent, json.dumps(cells), limits)
    found, recorded = _lines(said), _progress(progress)
    errors = ", ".join(f"cell {line['cell']} ({line['error']})" for line in found if "error" in line)
    trouble += [f"{notebook.name}: {text}" for text in (why, errors) if text]
    answers = [line for line in found if "exercise" in line]
    judge = {(line["exercise"], line["source"]): {} for line in answers}
    todo = [answer for answer in judge if answer[1]]
    judge |= zip(todo, _verdicts(todo, notebook.parent, limits), strict=True)
    passed = [name for name, entry in recorded.items() if entry["passed"]]
    named = dict.fromkeys([*(name for cell in cells for name, _ in checks_of(cell)), *passed])
    for name in filter(registry().__contains__, named):
        entry, lines = recorded.get(name, UNTRIED), [line for line in answers if line["exercise"] == name]
        row = Row(name, tries=_tries(entry), mistakes=Counter(entry["diagnoses"]))
        verdicts = [judge[name, line["source"]] for line in lines]
        reasons = [line["why"] for line in lines if line["why"]] + [v["error"] for v in verdicts if "error" in v]
        if any(verdict.get("passed") for verdict in verdicts):
            row.verdict = "solved"
        elif entry["passed"]:
            again = "judged anew, it does not pass" if any(verdicts) else "it could not be judged"
            row.verdict, row.note = "look at it", f"the notebook says passed; {again if lines else NOT_FOUND}"
        elif lines:
            tried = verdicts[-1].get("attempted", "error" in verdicts[-1] or entry["attempts"] > 0)
            row.verdict = "wrong" if tried else "open"
        for mistake in {verdict.get("mistake") for verdict in verdicts} - {None}:
            row.mistakes[mistake] = max(row.mistakes[mistake], 1)
        row.note = "; ".join(dict.fromkeys(filter(None, [row.note, *reasons])))
        yield row


def _verdicts(answers: list[tuple[str, str]], folder: Path, limits: Limits) -> list[dict[str, Any]]:
    """A verdict for each; where an answer ends the process, the next one judges the others, while time is left."""
    found: list[dict[str, Any]] = []
    end = time.monotonic() + limits.seconds
    while len(found) < len(answers) and (left := end - time.monotonic()) > 0:
        said, why = run("answers", folder, json.dumps(answers[len(found) :]), limits._replace(seconds=left), SILENT)
        found += _lines(said)[: len(answers) - len(found)]
        found += [{"error": why}] if len(found) < len(answers) else []
    for (exercise, _), verdict in zip(answers, found, strict=False):
        if verdict.get("passed") and not are_right(exercise, verdict.get("values", [])):
            verdict |= {"passed": False, "error": "it is said to pass, and what it gives back is wrong"}
    return found + [{"error": "no time was left to judge it"}] * (len(answers) - len(found))


def _lines(said: str) -> list[dict[str, Any]]:
    """What the worker said; a last line without an end was broken off."""
    lines = [json.loads(line) for line in said.split("\n")[:-1]]
    if not all(isinstance(value, HOLDS[key]) for line in lines for key, value in line.items()):
        raise ValueError("expected lines as the worker writes them, got others")
    return lines


def _tries(entry: dict[str, Any]) -> int:
    """How many tries it took, or were made: a progress file that was changed may say anything."""
    said = entry.get("passed_at_attempt")
    return said if type(said) is int and 0 < said <= entry["attempts"] else int(entry["attempts"])


def _text(path: Path) -> str:
    if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST:  # a run may make it a pipe
        raise ValueError(f"expected a file of at most {LARGEST} bytes, got another: leave outputs out")
    return path.read_text(encoding="utf-8-sig")


def _progress(path: Path) -> dict[str, dict[str, Any]]:
    """The well-formed entries of a progress file; none where there is no such file."""
    try:
        return {name: entry for name, entry in json.loads(_text(path)).items() if is_entry(entry)}
    except UNREADABLE:
        return {}
