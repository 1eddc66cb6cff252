"""Every check of the project, one stage after the other: `python -m tools.stages [--only STAGE] [NOTEBOOK …]`.

All stages run even when an early one fails; a summary ends the run. WORKERS sets how many processes share the tests.
With `--since COMMIT`, of the exercises only those are tested whose subjects changed since then.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tools import nbval_plugin, weights
from tools.cost import measured
from tools.environment import ROOT, chapters, environment, notebook

# Which files of tests/ belong to which stage; all others are unit tests.
FILES = {
    "gates": ("test_house*.py", "test_notebooks*.py", "test_gates*.py", "test_tools*.py"),
    "exercises": ("test_exercise*.py",),
    "browser": ("test_book*.py",),
}
# Of two processes, each begins with half of the tests, in order: what tests of one file share is made once.
HALVES = ("--dist=worksteal",)
SUBJECTS = {path.stem[3:] for path in chapters()}
# A change here, or of a page, touches no exercise.
BESIDE = (".ci/", ".github/", "benchmarks/", "book/", "experiments/")
PAGES = (".css", ".html", ".js", ".md", ".svg")


class Outcome(NamedTuple):
    """What one stage came to."""

    passed: int
    failed: int
    skipped: int = 0


def workers() -> int:
    """One process a core, at most eight."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(os.environ.get("WORKERS", min(cores, 8)))


def touched(paths: list[str]) -> set[str]:
    """The subjects whose exercises a change of these files concerns. Code of no one subject concerns them all.

    >>> sorted(touched(["chapters/05_masks.ipynb", "tests/answers/bleu/clip.md", "README.md", "experiments/run.py"]))
    ['bleu', 'masks']
    >>> touched(["course_lib/tokens.py"]) == touched(["requirements.txt"]) == SUBJECTS
    True
    """
    found = set()
    for path in paths:
        own = {re.sub(r"^(\d\d|test)_", "", part.partition(".")[0]) for part in path.split("/")} & SUBJECTS
        beside = path.startswith(BESIDE) or path.endswith(PAGES)
        found |= own or (set() if beside else SUBJECTS)
    return found


def changed(since: str) -> list[str]:
    """The files that differ from what they were where this branch left the one of a commit."""
    command = ["git", "diff", "--name-only", "--merge-base", since]
    try:
        return subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        raise SystemExit(f"expected a commit that git knows, got {since!r}: leave it out to test all") from None


def longest_first(notebooks: list[str]) -> list[str]:
    """By the stored times, so that at the end of a run no worker waits for a long one; unknown ones come first."""
    costs = measured()
    return sorted(notebooks, key=lambda path: -costs.get(Path(path).stem, {}).get("seconds", float("inf")))


class Stages:
    """The stages by name; each runs its commands and returns an Outcome."""

    def __init__(self, folder: Path, notebooks: list[str], since: str = ""):
        self.folder = folder
        self.notebooks = longest_first(notebooks or [str(path.relative_to(ROOT)) for path in chapters()])
        self.since = since
        self.files = {
            stage: sorted(str(path.relative_to(ROOT)) for pattern in patterns for path in ROOT.glob(f"tests/{pattern}"))
            for stage, patterns in FILES.items()
        }
        self.environment = environment(folder / "home")
        self.all = {
            "lint": self.lint,
            "gates": lambda: self.pytest(*HALVES, *self.files["gates"]),
            "unit": self.unit,
            "exercises": self.exercises,
            "notebooks": self.strict,
            "book": self.book,
            "browser": self.browser,
        }

    def lint(self) -> Outcome:
        outcome = self.commands(["ruff", "check", "--quiet"], ["ruff", "format", "--check", "--quiet"])
        if outcome.failed:
            print("make format repairs most of this, in notebooks too.", flush=True)
        return outcome

    def unit(self) -> Outcome:
        self.run("course_lib.pretrained")  # the weights of a real model; without a network, its tests are left out
        elsewhere = [f"--ignore={path}" for paths in self.files.values() for path in paths]
        return self.pytest(*HALVES, "tests", *elsewhere)

    def exercises(self) -> Outcome:
        self.environment["SHAPES_UNCHECKED"] = "1"  # as in a reader's notebook
        try:
            return self.checks(touched(changed(self.since)) if self.since else SUBJECTS)
        finally:
            del self.environment["SHAPES_UNCHECKED"]

    def checks(self, subjects: set[str]) -> Outcome:
        if subjects == SUBJECTS:
            return self.pytest(*HALVES, *self.files["exercises"])
        print(f"exercises that changed since {self.since[:12]}: {', '.join(sorted(subjects)) or 'none'}", flush=True)
        names = " or ".join(f"[{subject}." for subject in sorted(subjects))  # as in test_reference_passes[masks.causal]
        return self.pytest(*self.files["exercises"], "-k", names) if subjects else Outcome(0, 0)

    def strict(self) -> Outcome:
        notebooks, left_out = self.with_weights(self.notebooks)
        if not notebooks:
            return Outcome(0, 0, left_out)
        stored = self.pytest(*nbval_plugin.ARGUMENTS, *notebooks)
        shaken = self.commands(["tools.shake", "--changed", *notebooks])
        return Outcome(stored.passed + shaken.passed, stored.failed + shaken.failed, stored.skipped + left_out)

    def with_weights(self, notebooks: list[str]) -> tuple[list[str], int]:
        """Those that can run here, once the weights of a real model are fetched, and how many are left out."""
        wanting = [path for path in notebooks if Path(path).stem in weights.CHAPTERS]
        if wanting:
            self.run("course_lib.pretrained")
        if not wanting or not weights.missing():
            return notebooks, 0
        print(f"skipped {', '.join(wanting)}: {weights.missing()}", flush=True)
        return [path for path in notebooks if path not in wanting], len(wanting)

    def book(self) -> Outcome:
        outcome = self.commands(["tools.book"])
        self.environment["BOOK_IS_BUILT"] = "" if outcome.failed else "1"  # what stands there then is an old one
        return outcome

    def browser(self) -> Outcome:
        self.environment.setdefault("BOOK_IS_BUILT", "1")
        return self.pytest(*HALVES, *self.files["browser"])

    def commands(self, *commands: list[str]) -> Outcome:
        codes = [self.run(*command) for command in commands]
        return Outcome(passed=codes.count(0), failed=len(codes) - codes.count(0))

    def pytest(self, *arguments: str) -> Outcome:
        report = self.folder / "report.xml"
        report.unlink(missing_ok=True)
        notebooks = () if "--nbval" in arguments else ("-p", "no:nbval")  # its import takes longer than many a test
        options = ["-q", *notebooks, f"-n{workers()}", f"--junitxml={report}", "--continue-on-collection-errors"]
        code = self.run("pytest", *options, *arguments)
        if not report.exists():
            return Outcome(0, 1)
        suite = ElementTree.parse(report).getroot().find("testsuite")
        tests, errors, failures, skipped = (int(suite.get(k)) for k in ("tests", "errors", "failures", "skipped"))
        for reason, times in Counter(skip.get("message") for skip in suite.iter("skipped")).items():
            print(f"skipped {times}: {reason}", flush=True)
        nothing_ran = code == 5 and not skipped
        failed = errors + failures or int(code not in (0, 5) or nothing_ran)
        return Outcome(max(tests - failed - skipped, 0), failed, skipped)

    def run(self, module: str, *arguments: str) -> int:
        process = subprocess.Popen([sys.executable, "-m", module, *arguments], cwd=ROOT, env=self.environment)
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.wait()  # Ctrl-C reached it, too: it clears away what it began
            raise


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", action="append", help="run only this stage (may be given again)")
    parser.add_argument("--since", default="", help="test only the exercises of subjects that changed since a commit")
    parser.add_argument("notebooks", nargs="*", type=notebook, help="re-run only these notebooks")
    options = parser.parse_args()
    if options.since:
        changed(options.since)  # whoever names none that git knows hears of it before the first stage
    outcomes: dict[str, Outcome] = {}
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        stages = Stages(Path(folder), [*map(str, options.notebooks)], options.since).all
        unknown = set(options.only or []) - set(stages)
        if unknown:
            parser.error(f"expected stages among {', '.join(stages)}; got {', '.join(sorted(unknown))}")
        for name in options.only or stages:
            print(f"\n== {name}", flush=True)
            start = time.perf_counter()
            outcomes[name] = stages[name]()
            seconds[name] = time.perf_counter() - start
    return summary(outcomes, seconds)


def summary(outcomes: dict[str, Outcome], seconds: dict[str, float]) -> int:
    """Print a line for each stage and the total; return the exit status."""
    print("\n== summary")
    for name, (passed, failed, skipped) in outcomes.items():
        counts = f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "")
        print(f"{'FAILED' if failed else 'ok':<7}{name:<11}{seconds[name]:7.1f} s   {counts}")
    print(f"{'':<18}{sum(seconds.values()):7.1f} s   in all")
    failed = sum(outcome.failed for outcome in outcomes.values())
    print(f"{sum(outcome.passed for outcome in outcomes.values())} passed, {failed} failed", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
