"""Every check of the project, one stage after the other: `python -m tools.stages [--only STAGE] [NOTEBOOK …]`.

All stages run even when an early one fails; a summary ends the run. WORKERS sets how many processes share the tests.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple

from tools import strict
from tools.environment import ROOT, chapters, environment

# Which files of tests/ belong to which stage; all others are unit tests.
FILES = {
    "gates": ("test_house*.py", "test_notebooks*.py", "test_gates*.py", "test_tools*.py"),
    "exercises": ("test_exercise*.py",),
    "browser": ("test_book*.py",),
}


class Outcome(NamedTuple):
    """What one stage came to."""

    passed: int
    failed: int
    skipped: int = 0


def workers() -> int:
    """One process a core, at most eight."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(os.environ.get("WORKERS", min(cores, 8)))


class Stages:
    """The stages by name; each runs its commands and returns an Outcome."""

    def __init__(self, folder: Path, notebooks: list[str]):
        self.folder = folder
        self.notebooks = notebooks or [str(path.relative_to(ROOT)) for path in chapters()]
        self.files = {
            stage: sorted(str(path.relative_to(ROOT)) for pattern in patterns for path in ROOT.glob(f"tests/{pattern}"))
            for stage, patterns in FILES.items()
        }
        self.environment = environment(folder / "home")
        self.all = {
            "lint": self.lint,
            "gates": lambda: self.pytest(*self.files["gates"]),
            "unit": self.unit,
            "exercises": lambda: self.pytest(*self.files["exercises"]),
            "notebooks": self.strict,
            "book": self.book,
            "browser": self.browser,
        }

    def lint(self) -> Outcome:
        return self.commands(["ruff", "check", "--quiet"], ["ruff", "format", "--check", "--quiet"])

    def unit(self) -> Outcome:
        elsewhere = [f"--ignore={path}" for paths in self.files.values() for path in paths]
        return self.pytest("tests", *elsewhere)

    def strict(self) -> Outcome:
        return self.pytest(*strict.ARGUMENTS, *self.notebooks)

    def book(self) -> Outcome:
        outcome = self.commands(["tools.book"])
        self.environment["BOOK_IS_BUILT"] = "" if outcome.failed else "1"  # what stands there then is an old one
        return outcome

    def browser(self) -> Outcome:
        self.environment.setdefault("BOOK_IS_BUILT", "1")
        return self.pytest("--dist=loadgroup", *self.files["browser"])

    def commands(self, *commands: list[str]) -> Outcome:
        codes = [self.run(*command) for command in commands]
        return Outcome(passed=codes.count(0), failed=len(codes) - codes.count(0))

    def pytest(self, *arguments: str) -> Outcome:
        report = self.folder / "report.xml"
        report.unlink(missing_ok=True)
        options = ["-q", f"-n{workers()}", f"--junitxml={report}", "--continue-on-collection-errors"]
        code = self.run("pytest", *options, *arguments)
        if not report.exists():
            return Outcome(0, 1)
        suite = ElementTree.parse(report).getroot().find("testsuite")
        tests, errors, failures, skipped = (int(suite.get(k)) for k in ("tests", "errors", "failures", "skipped"))
        nothing_ran = code == 5 and not skipped
        failed = errors + failures or int(code not in (0, 5) or nothing_ran)
        return Outcome(max(tests - failed - skipped, 0), failed, skipped)

    def run(self, module: str, *arguments: str) -> int:
        return subprocess.run([sys.executable, "-m", module, *arguments], cwd=ROOT, env=self.environment).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", action="append", help="run only this stage (may be given again)")
    parser.add_argument("notebooks", nargs="*", help="re-run only these notebooks")
    options = parser.parse_args()
    outcomes: dict[str, Outcome] = {}
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        stages = Stages(Path(folder), options.notebooks).all
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
