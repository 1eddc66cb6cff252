"""Run notebooks from a fresh kernel and store them in normal form: `python -m tools.notebooks [NOTEBOOK …]`.

Each run also writes the set-up cell and the last two rows of the chapter's opening table. What it took in time and
memory is stored in book/results/chapters.json only with `--times`, in CI, and for a new chapter: a machine that does
other work as well would change the numbers of every chapter that is run on it.
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

from tools.address import address
from tools.cost import measured, with_rows
from tools.environment import CHAPTERS, RESULTS, chapters, environment, notebook
from tools.form import ANSI, normal_form, read, text_of
from tools.template import SET_UP_TAG, set_up_cell

CORES = 2

# What the kernel says at the end. Its yardstick is how long a fixed piece of work of the chapters' kind takes: counted
# in yardsticks, a cost is the same on a slow machine. (One is near a second where processors have AVX-512.)
PROBE = """
import os, platform, resource, sys, time
from importlib.metadata import version
import torch
def _peak():
    if os.path.exists("/proc/self/status"):
        return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 1024
_memory = round(_peak())
torch.set_num_threads(1)
_layer = torch.nn.TransformerEncoderLayer(128, 8, 256, 0.0, batch_first=True, dtype=torch.float64)
_begun = time.perf_counter()
for _ in range(85):
    _layer(torch.ones(25, 20, 128, dtype=torch.float64)).sum().backward()
import json
print(json.dumps({
    "yardstick": round(time.perf_counter() - _begun, 2),
    "memory_mb": _memory,
    "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
    "python": ".".join(platform.python_version_tuple()[:2]),
    "torch": version("torch").split("+")[0],
}))
"""


class OneInterpreter(KernelSpecManager):
    """Starts kernels with one interpreter, whatever kernels the machine has installed."""

    interpreter = sys.executable

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        kernel = get_kernel_dict()
        kernel["argv"][0] = str(self.interpreter)
        return self.kernel_spec_class(resource_dir=RESOURCES, **kernel)


def run(
    path: Path, timeout: int = 600, variables: dict[str, str] | None = None, interpreter: str | Path = sys.executable
) -> tuple[NotebookNode, dict]:
    """Execute a notebook in its own folder; return it with fresh outputs, and what the run cost.

    `timeout` is in seconds, for each cell; `variables` are added to the kernel's environment.
    """
    nb = read(path)
    nb.cells = [cell for cell in nb.cells if cell.source.strip()]
    probe = nbformat.v4.new_code_cell(PROBE, id="probe")
    nb.cells.append(probe)
    kernels = OneInterpreter()
    kernels.interpreter = interpreter
    manager = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=kernels)
    options = {"store_widget_state": False, "record_timing": False, "shutdown_kernel": "immediate"}
    client = NotebookClient(nb, km=manager, timeout=timeout, **options)
    with tempfile.TemporaryDirectory() as home, ExitStack() as stack:
        settings = {"env": environment(home) | (variables or {}), "cwd": str(path.parent), "stderr": subprocess.DEVNULL}
        stack.enter_context(client.setup_kernel(cleanup_kc=True, **settings))  # else the kernel outlives the run
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


def dressed(nb: NotebookNode, cost: dict | None) -> NotebookNode:
    """The notebook in normal form, with what is never typed: the set-up cell and the computed rows of its table."""
    nb = with_set_up(normal_form(nb))
    return with_rows(nb, cost) if cost else nb


def with_set_up(nb: NotebookNode) -> NotebookNode:
    """The set-up cell, where there is one, as tools/template.py has it, below the title."""
    found = next((cell for cell in nb.cells if SET_UP_TAG in cell.metadata.get("tags", [])), None)
    if found:
        found.source = set_up_cell(address())
        nb.cells.remove(found)
        titled = bool(nb.cells) and nb.cells[0].cell_type == "markdown"
        nb.cells.insert(int(titled), found)
    return nb


def store(path: Path, times: bool = False) -> dict:
    """Run one notebook and store it, with its outputs; return what the run cost.

    `times` stores the cost as well, which is else kept as it is stored.
    """
    nb, cost = run(path)
    costs = measured()
    if path.parent == CHAPTERS and (times or path.stem not in costs):
        costs[path.stem] = cost
        write_atomically(RESULTS, json.dumps(dict(sorted(costs.items())), indent=1) + "\n")
    write_atomically(path, text_of(dressed(nb, costs.get(path.stem, cost))))
    return cost


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("notebooks", nargs="*", type=notebook, help="default: every chapter")
    parser.add_argument("--times", action="store_true", help="store also what each run cost (as in CI)")
    parser.add_argument("--form-only", action="store_true", help="only bring the stored notebook into normal form")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):  # the table speaks of two cores: kernels inherit this
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:CORES]))
    for path in options.notebooks or chapters():
        path = path.resolve()
        if options.form_only:
            write_atomically(path, text_of(dressed(read(path), measured().get(path.stem))))
            continue
        try:
            cost = store(path, times=options.times or bool(os.environ.get("CI")))
        except SystemExit as failure:
            print(ANSI.sub("", str(failure)), file=sys.stderr)
            return 1
        print(f"{path.name}: {cost['seconds']} s, {cost['memory_mb']} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
