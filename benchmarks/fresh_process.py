"""One measurement in a process of its own: cold caches, its own number of threads, its own memory."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STATUS = Path("/proc/self/status")
PAGE = 4 / 1024
CODE = """
import importlib, json, sys
module, function, arguments = sys.argv[1:]
print("\\n" + json.dumps(getattr(importlib.import_module(module), function)(**json.loads(arguments))))
"""


def run_alone(function: Callable[..., Any], threads: int, **arguments: Any) -> Any:
    """Call a module's function, `function(threads=…, **arguments)`, in a new process with so many threads.

    Arguments and result are what JSON can hold.

    >>> run_alone(counted, threads=1, words=["a", "b"])
    [1, 2]
    """
    number = str(threads)
    limits = {name: number for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")}
    variables = os.environ | limits | {"TOKENIZERS_PARALLELISM": str(threads > 1).lower()}
    arguments["threads"] = threads
    command = [sys.executable, "-c", CODE, function.__module__, function.__name__, json.dumps(arguments)]
    done = subprocess.run(command, cwd=ROOT, env=variables, text=True, capture_output=True)
    if done.returncode:
        raise RuntimeError(f"expected {function.__name__} to run with {arguments}, got this:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def counted(threads: int, words: list[str]) -> list[int]:
    """The smallest function that `run_alone` can call: the number of threads, and of words."""
    return [threads, len(words)]


def tells_memory() -> bool:
    """Whether the system tells a process how much memory it held at most."""
    return STATUS.exists()


def extra_memory(work: Callable[[], Any]) -> float:
    """How much more resident memory, in MiB, the process held at some time during `work` than before: a page or more.

    Read from /proc/self/status (VmRSS before, VmHWM after, the mark set back in between). `getrusage` would not do: the
    peak it gives a new process begins with that of the process which started it.
    """
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    work()
    return max(_status("VmHWM") - before, PAGE)


def give_back_freed_memory() -> None:
    """Let every tensor go back to the system when it is freed, where the C library can: then `extra_memory` is exact.

    Left alone, glibc keeps some blocks and not others, which moves the figure by several tensors from run to run.
    """
    from course_lib.fast.memory import M_MMAP_THRESHOLD, set_malloc  # with torch, which not every process needs

    set_malloc({M_MMAP_THRESHOLD: 2**16})


def _status(key: str) -> float:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) / 1024
