"""Run notebooks from a fresh kernel and store them in normal form: `python -m tools.notebooks [NOTEBOOK …]`.

Each run also measures the chapter's time and peak memory, stores them in book/results/chapters.json, and writes
the last row of the chapter's opening table from them.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import nbformat
from ipykernel.kernelspec import RESOURCES, get_kernel_dict
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from tools.cost import measured, with_row
from tools.environment import CHAPTERS, RESULTS, chapters, environment
from tools.form import ANSI, normal_form, read, text_of

CORES = 2

PROBE = """
import os, platform, resource, sys, torch
def _peak():
    if os.path.exists("/proc/self/status"):
        return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 1024
import json
print(json.dumps({
    "memory_mb": round(_peak()),
    "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
    "python": ".".join(platform.python_version_tuple()[:2]),
    "torch": torch.__version__.split("+")[0],
}))
"""


class RunningInterpreter(KernelSpecManager):
    """Starts kernels with the interpreter that runs this program, whatever kernels the machine has installed."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return self.kernel_spec_class(resource_dir=RESOURCES, **get_kernel_dict())


def run(path: Path, timeout: int = 600, variables: dict[str, str] | None = None) -> tuple[NotebookNode, dict]:
    """Execute a notebook in its own folder; return it with fresh outputs, and what the run cost.

    `timeout` is in seconds, for each cell; `variables` are added to the kernel's environment.
    """
    nb = read(path)
    nb.cells = [cell for cell in nb.cells if cell.source.strip()]
    probe = nbformat.v4.new_code_cell(PROBE, id="probe")
    nb.cells.append(probe)
    manager = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=RunningInterpreter())
    client = NotebookClient(nb, km=manager, timeout=timeout, store_widget_state=False, record_timing=False)
    with tempfile.TemporaryDirectory() as home, ExitStack() as stack:
        settings = {"env": environment(home) | (variables or {}), "cwd": str(path.parent), "stderr": subprocess.DEVNULL}
        stack.enter_context(client.setup_kernel(**settings))
        start = time.perf_counter()
        for index, cell in enumerate(nb.cells[:-1]):
            try:
                client.execute_cell(cell, index)
            except CellExecutionError as error:
                raise SystemExit(f"{path.name}, cell {cell.id!r} failed; nothing was stored.\n{error}") from None
        seconds = time.perf_counter() - start
        client.execute_cell(probe, len(nb.cells) - 1)
    nb.cells.pop()
    return nb, {"seconds": round(seconds, 1), **json.loads(probe.outputs[0].text)}


def write_atomically(path: Path, text: str) -> None:
    """Replace a file in one step: a run that is interrupted leaves the old one whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(path.name + ".new")
    scratch.write_text(text, encoding="utf-8", newline="\n")
    scratch.replace(path)


def store(path: Path) -> dict:
    """Run one notebook and store it, its outputs and its cost."""
    nb, cost = run(path)
    write_atomically(path, text_of(with_row(normal_form(nb), cost)))
    if path.parent == CHAPTERS:
        costs = dict(sorted((measured() | {path.stem: cost}).items()))
        write_atomically(RESULTS, json.dumps(costs, indent=1) + "\n")
    return cost


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: every chapter")
    parser.add_argument("--form-only", action="store_true", help="only bring the stored notebook into normal form")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):  # the table speaks of two cores: kernels inherit this
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:CORES]))
    for path in options.notebooks or chapters():
        path = path.resolve()
        if options.form_only:
            write_atomically(path, text_of(normal_form(read(path))))
            continue
        try:
            cost = store(path)
        except SystemExit as failure:
            print(ANSI.sub("", str(failure)), file=sys.stderr)
            return 1
        print(f"{path.name}: {cost['seconds']} s, {cost['memory_mb']} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
