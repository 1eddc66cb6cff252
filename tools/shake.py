"""Re-run notebooks as if on other machines, and compare with the stored outputs: `python -m tools.shake [NOTEBOOK …]`.

Processors differ in the last digits of a sum, and a training can blow such a difference up until a printed digit
changes. So each run moves the weights of every model by about a rounding before they are trained (tools/nudge), and two
of the runs also change how the processor works. CONTRIBUTING.md says what to do with an output that moves.

A chapter whose outputs stayed as they were is entered in book/results/shaken.json, and `--changed` shakes only chapters
that have changed since. This module is also the pytest plugin that reports what moved.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

import pytest
from nbformat import NotebookNode

from tools import nbval_plugin
from tools.environment import CHAPTERS, RESULTS, ROOT, chapters, environment, notebook
from tools.gates.parsing import read
from tools.notebooks import write_atomically
from tools.stages import longest_first, workers
from tools.template import SET_UP_TAG

RECORD = RESULTS.with_name("shaken.json")
AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
TWO = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "2")
TWO["OMP_WAIT_POLICY"] = "passive"  # on a busy machine, threads that wait take no time
# NUDGE is the seed of what moves the weights.
RUNS = {
    "with vectors of 256 bits": {"NUDGE": "1", **AVX2},
    "on two threads": {"NUDGE": "2", **TWO},
    "with nudged weights alone": {"NUDGE": "3"},
}
START_UP = Path(__file__).with_name("nudge") / "sitecustomize.py"
SHOWN = 100  # characters of a line that moved


def shake(paths: Iterable[Path | str], runs: Iterable[str] = RUNS) -> Iterator[tuple[str, str]]:
    """Run the notebooks as each of `runs` says: the notebook and a line for every output that moved."""
    paths = longest_first([*map(str, paths)])
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        options = ["-q", "--tb=no", "-rN", "--no-header", f"-n{min(workers(), len(paths))}", f"--junitxml={report}"]
        for run in runs:
            print(f"shaken {run}:", flush=True)
            report.unlink(missing_ok=True)
            command = [sys.executable, "-m", "pytest", *options, *nbval_plugin.ARGUMENTS, "-p", "tools.shake", *paths]
            code = subprocess.run(command, cwd=ROOT, env=environment(folder) | RUNS[run]).returncode
            lines = [*ElementTree.parse(report).iter("property")] if report.exists() else []
            if code != bool(lines):
                raise SystemExit(
                    f"expected a run of {len(paths)} notebooks, got pytest's exit status {code}: see above"
                )
            yield from ((line.get("name"), f"{line.get('value')} ({run})") for line in lines)


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """After tools.nbval_plugin, whose clocks the nudge leaves alone."""
    os.environ["PYTHONSTARTUP"] = str(START_UP)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
    if call.excinfo and hasattr(item, "cell"):
        path = str(item.path)
        item.user_properties += [(path, f"{place(item)}: {change}") for change in changes(item)] or [
            (path, f"{place(item)}: {call.excinfo.value!s:.{SHOWN}}")
        ]
    return (yield)


def place(item: pytest.Item) -> str:
    """The chapter and the cell, with its first line."""
    return f"{item.path.name}, {item.name.lower()} `{item.cell.source.partition(chr(10))[0]}`"


def changes(item: pytest.Item) -> Iterator[str]:
    """Each line of a cell's outputs that is not as stored."""
    stored, came = ([*told(item, outputs)] for outputs in (item.cell.outputs, item.test_outputs or []))
    for before, now in zip_longest(stored, came, fillvalue="nothing"):
        if before != now:
            differ = (at for at, (a, b) in enumerate(zip(before, now, strict=False)) if a != b)
            start = max(0, next(differ, 0) - SHOWN // 2)  # of a long line, the part around the first difference
            yield f"stored {before[start:][:SHOWN]!r}, came {now[start:][:SHOWN]!r}"


def told(item: pytest.Item, outputs: Iterable[NotebookNode]) -> Iterator[str]:
    """The lines of what the strict run compares."""
    for output in outputs:
        kinds = {"text": output.get("text", ""), "error": output.get("evalue", "")} | output.get("data", {})
        for kind in sorted(kinds.keys() - {*item.parent.skip_compare}):
            yield from item.sanitize(kinds[kind]).splitlines()


def digest(path: Path) -> str:
    """Changes with the code of a chapter and with the text of its outputs, not with its prose or its set-up cell."""
    shown = [
        (cell.source, [o.get("text") or o.get("data", {}).get("text/plain") for o in cell.outputs])
        for cell in read(path).cells
        if cell.cell_type == "code" and SET_UP_TAG not in cell.metadata.get("tags", [])
    ]
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:16]


def recorded() -> dict[str, str]:
    """The digest of each chapter at its last green shake."""
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}


def changed(paths: Iterable[Path]) -> list[Path]:
    """The notebooks that were not shaken as they are."""
    record = recorded()
    return [path for path in paths if record.get(path.stem) != digest(path)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("notebooks", nargs="*", type=notebook, help="default: every chapter")
    parser.add_argument("--changed", action="store_true", help="only those that changed since their last green shake")
    options = parser.parse_args()
    paths = [path.resolve() for path in options.notebooks or chapters()]
    paths = changed(paths) if options.changed else paths
    moved = [*shake(paths)] if paths else []
    steady = {path.stem: digest(path) for path in paths if path.parent == CHAPTERS and str(path) not in dict(moved)}
    if steady:
        write_atomically(RECORD, json.dumps(dict(sorted((recorded() | steady).items())), indent=1) + "\n")
    print(*(line for _, line in moved), f"notebooks shaken: {len(paths)}, outputs moved: {len(moved)}", sep="\n")
    return int(bool(moved))


if __name__ == "__main__":
    sys.exit(main())
