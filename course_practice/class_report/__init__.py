"""What a class has solved: its notebooks run in other processes, and their answers are judged anew.

`python -m course_practice report FOLDER`; the page *Teach with it* says how to use it.
"""

import itertools
import json
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from course_practice.class_report.process import Limits, Said, run
from course_practice.engine.progress import is_entry
from course_practice.exercises import registry

LARGEST = 50 * 2**20  # bytes of a notebook
SILENT = 120.0  # seconds for one answer to be judged: `check` itself stops what Python can stop
UNTRIED = {"attempts": 0, "passed": False, "diagnoses": {}}


class NoNotebook(ValueError):
    """A file that holds no notebook; a sentence says what it is."""


@dataclass
class Row:
    """One exercise of one student.

    `verdict` is "solved", "wrong", "open", "not reached", or "look at it".
    """

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
    seen = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
    found = [path for path in seen if path.is_dir() or _is_notebook(path)]
    names = [path.name if path.is_dir() else path.stem for path in found]
    names = [name if names.count(name) == 1 else path.name for name, path in zip(names, found, strict=True)]
    return list(zip(names, found, strict=True))


def _is_notebook(path: Path) -> bool:
    return path.suffix.lower() == ".ipynb"


def judged(name: str, path: Path, limits: Limits) -> Student:
    """Run a copy of what a student has handed in, and judge the answers.

    Whatever goes wrong is this student's trouble: the others keep their rows.
    """
    student = Student(name)
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
            folder = Path(scratch).resolve() / "work"
            try:
                _copy(path, folder)
            except OSError as error:  # after the rest is copied
                student.trouble.append(f"not all of it can be read ({type(error).__name__})")
            _judge(student, folder, limits)
    except Exception as error:
        student.trouble.append(f"it could not be judged ({type(error).__name__})")
    return student


def _copy(path: Path, folder: Path) -> None:
    """Copy what was handed in, without links and hidden files, such as those of git and Jupyter."""

    def unwanted(inside: str, names: list[str]) -> list[str]:
        return [name for name in names if name.startswith(".") or Path(inside, name).is_symlink()]

    if path.is_dir():
        shutil.copytree(path, folder, ignore=unwanted)
    else:
        folder.mkdir()
        shutil.copy(path, folder)


def _judge(student: Student, folder: Path, limits: Limits) -> None:
    at_home = _progress(folder)
    notebooks = [path for path in sorted(folder.rglob("*")) if _is_notebook(path)]
    for notebook in notebooks:
        try:
            cells = _cells(notebook)
        except NoNotebook as error:
            student.trouble.append(f"{notebook.name}: {error}")
            continue
        for row in _rows(notebook, cells, limits, student.trouble):
            if entry := at_home.get(row.exercise):  # a run of what is finished knows of one try
                row.tries = _tries(entry)
                row.mistakes |= Counter(entry["diagnoses"])
            if row.exercise not in student.rows or student.rows[row.exercise].verdict != "solved":
                student.rows[row.exercise] = row
    student.trouble += [] if notebooks else ["no notebook"]


def _cells(notebook: Path) -> list[str]:
    """The sources of a notebook's code cells."""
    size = notebook.stat().st_size
    if size > LARGEST:
        wanted, got = f"of at most {LARGEST >> 20} MB", f"{size / 2**20:.0f} MB"
        raise NoNotebook(f"expected a notebook {wanted}, got {got}: ask for it without its outputs")
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8-sig"))["cells"]
        return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except UnicodeDecodeError:
        got = "text that is not UTF-8"
    except json.JSONDecodeError:
        got = "text that is not JSON" if size else "an empty file"
    except (OSError, TypeError, LookupError, RecursionError):
        got = "a file of another form"
    raise NoNotebook(f"expected a notebook, got {got}: ask for it again")


def _rows(notebook: Path, cells: list[str], limits: Limits, trouble: list[str]) -> Iterator[Row]:
    """Run one notebook, and judge its answers."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        said, why = run("cells", cells, notebook.parent, Path(home), limits)
        recorded = _progress(Path(home))
    checks = next((line["checks"] for line in said if "checks" in line), [])
    errors = [(line["cell"], line["error"]) for line in said if "error" in line]
    places = [", ".join([f"cell {cell}", *checks[cell - 1]]) for cell, _ in errors]
    raised = ", ".join(f"{place} ({error})" for place, (_, error) in zip(places, errors, strict=True))
    trouble += [f"{notebook.name}: {text}" for text in (why, raised) if text]
    answers = [line for line in said if "exercise" in line]
    todo = [(line["exercise"], line["source"]) for line in answers if line["source"]]
    todo = list(dict.fromkeys(todo))
    found = dict(zip(todo, _verdicts(todo, notebook.parent, limits), strict=True))
    passed = [name for name, entry in recorded.items() if entry["passed"]]
    for name in dict.fromkeys([*itertools.chain(*checks), *passed]):
        if name in registry():
            lines = [line for line in answers if line["exercise"] == name]
            verdicts = [found.get((name, line["source"]), {}) for line in lines]
            yield _row(name, recorded.get(name, UNTRIED), lines, verdicts)


def _row(name: str, recorded: Said, answers: list[Said], verdicts: list[Said]) -> Row:
    """What one exercise came to, by the record of the notebook's checks and the verdicts found anew.

    Where the two differ, a person has to look.
    """
    row = Row(name, tries=_tries(recorded), mistakes=Counter(recorded["diagnoses"]))
    if any(verdict.get("passed") for verdict in verdicts):
        row.verdict = "solved"
    elif recorded["passed"]:
        again = "judged anew, it does not pass" if any(verdicts) else "it could not be judged"
        again = again if answers else "its answer was not found"
        row.verdict, row.note = "look at it", f"the notebook says passed; {again}"
    elif answers:  # the last one counts
        broken = answers[-1]["broken"] or "error" in verdicts[-1]
        tried = verdicts[-1].get("attempted", broken or recorded["attempts"] > 0)
        row.verdict = "wrong" if tried else "open"
        row.tries = max(row.tries, int(tried))
    for mistake in {verdict.get("mistake") for verdict in verdicts} - {None}:
        row.mistakes[mistake] = max(row.mistakes[mistake], 1)
    reasons = [answer["why"] for answer in answers]
    reasons += [verdict.get("error", "") for verdict in verdicts]
    row.note = "; ".join(dict.fromkeys(filter(None, [row.note, *reasons])))
    return row


def _verdicts(answers: list[tuple[str, str]], folder: Path, limits: Limits) -> list[Said]:
    """A verdict for each answer, while time is left.

    Where an answer ends the process, another one judges the answers after it.
    """
    found: list[Said] = []
    end = time.monotonic() + limits.seconds
    while len(found) < len(answers) and (left := end - time.monotonic()) > 0:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
            todo, rest = answers[len(found) :], limits._replace(seconds=left)
            said, why = run("answers", todo, folder, Path(home), rest, SILENT)
        found += said
        found += [{"error": why}] if len(found) < len(answers) else []
    return found + [{"error": "no time was left to judge it"}] * (len(answers) - len(found))


def _tries(entry: Said) -> int:
    """How many tries it took, or were made."""
    said = entry.get("passed_at_attempt")
    return said if type(said) is int and 0 < said <= entry["attempts"] else entry["attempts"]


def _progress(folder: Path) -> dict[str, Said]:
    """The well-formed entries of a folder's progress file; none where there is no such file."""
    try:
        content = json.loads((folder / "progress.json").read_text(encoding="utf-8-sig"))
        return {name: entry for name, entry in content.items() if is_entry(entry)}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}
