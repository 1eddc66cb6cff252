"""What a change touches, tested in a minute or two: `python -m tools.quick [--since COMMIT]`.

Of the subjects that changed against `main` (or another commit): the gates of their chapters, their modules' tests,
their exercises, and their notebooks. A notebook is not run again where its cells, the library, and the versions are
those of its last green run on this machine. `make test` is everything.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from tools.environment import BOOK, LIBRARY, PRACTICE, ROOT, chapters
from tools.notebooks import write_atomically
from tools.stages import HALVES, SUBJECTS, Outcome, Stages, changed, summary, touched

GREEN = BOOK.parent / "green.json"
# What belongs to no one chapter, and holds for all of them.
TESTS = ("tests/test_house.py", "tests/test_systems.py", "tests/test_notation.py")


def digest(notebook: Path) -> str:
    """Changes with the cells of a notebook, with the library and what asks the reader, and with the versions."""
    code = [path for room in (LIBRARY, PRACTICE) for path in sorted(room.rglob("*")) if path.suffix in (".py", ".md")]
    files = [notebook, *code, ROOT / "requirements.txt", ROOT / "constraints.txt"]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()[:16]


def green() -> dict[str, str]:
    """The digest of each notebook at its last green run here."""
    return json.loads(GREEN.read_text(encoding="utf-8")) if GREEN.exists() else {}


def to_run(notebooks: Iterable[Path]) -> list[Path]:
    """Those that were not green as they are."""
    before = green()
    return [path for path in notebooks if before.get(path.stem) != digest(path)]


def record(notebooks: Iterable[Path]) -> None:
    """These ran, and were green."""
    GREEN.parent.mkdir(exist_ok=True)
    found = green() | {path.stem: digest(path) for path in notebooks}
    write_atomically(GREEN, json.dumps(dict(sorted(found.items())), indent=1) + "\n")


def untracked() -> list[str]:
    """New files that git does not know yet."""
    command = ["git", "ls-files", "--others", "--exclude-standard"]
    return subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, check=True).stdout.splitlines()


class Quick(Stages):
    """The stages, each for what a change touches alone."""

    def __init__(self, folder: Path, since: str):
        self.paths = [path for path in changed(since) + untracked() if (ROOT / path).exists()]
        self.subjects = touched(self.paths)
        self.chapters = [path for path in chapters() if path.stem[3:] in self.subjects]
        super().__init__(folder, [str(path.relative_to(ROOT)) for path in to_run(self.chapters)], since)
        self.all = {
            "lint": self.lint,
            "gates": self.gates,
            "unit": self.unit,
            "exercises": lambda: self.checks(self.subjects),
            "notebooks": self.strict,
        }

    def gates(self) -> Outcome:
        names = " or ".join(path.stem for path in self.chapters)
        found = self.pytest("tests/test_notebooks.py", "-k", names) if names else Outcome(0, 0)
        other = self.pytest(*HALVES, *TESTS)
        return Outcome(*map(sum, zip(found, other, strict=True)))

    def unit(self) -> Outcome:
        own = [f"tests/test_{subject}.py" for subject in sorted(self.subjects)]
        mine = {path for path in [*own, *self.paths] if path.startswith("tests/test_") and (ROOT / path).exists()}
        mine -= {path for paths in self.files.values() for path in paths}
        return self.pytest(*HALVES, *sorted(mine)) if mine else Outcome(0, 0)

    def strict(self) -> Outcome:
        paths = to_run(self.chapters)
        if not paths:
            return Outcome(0, 0)
        outcome = super().strict()
        if not outcome.failed:
            record(paths)
        return outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--since", default="main", help="the commit that the change is compared with (here: main)")
    options = parser.parse_args()
    outcomes: dict[str, Outcome] = {}
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        stages = Quick(Path(folder), options.since)
        what = "all subjects" if stages.subjects == SUBJECTS else ", ".join(sorted(stages.subjects)) or "no subject"
        print(f"{len(stages.paths)} files changed since {options.since}: {what}", flush=True)
        for name, stage in stages.all.items():
            print(f"\n== {name}", flush=True)
            start = time.perf_counter()
            outcomes[name] = stage()
            seconds[name] = time.perf_counter() - start
    return summary(outcomes, seconds)


if __name__ == "__main__":
    sys.exit(main())
