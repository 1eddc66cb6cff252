"""A process of its own for code that may hang, crash, or take all memory.

This keeps accidents apart, not attacks: the process may do whatever its user may do.
"""

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any, NamedTuple

try:
    import resource
except ImportError:  # Windows
    resource = None

ROOT = Path(__file__).resolve().parents[2]  # of the packages that judge, not of the code
START = """import sys
sys.path.insert(0, sys.argv[1])
from course_practice.class_report.worker import main
main()
"""
# What is kept outside of a notebook's folder, such as its progress, goes to one that is thrown away.
HOMES = ("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP")
HOMES += ("IPYTHONDIR", "MPLCONFIGDIR", "TRANSFORMER_COURSE_HOME")
LIMITS_MEMORY = sys.platform == "linux"  # macOS takes such a limit and does not keep it
LARGEST_FILE = 2**30  # bytes
LOOK = 0.1  # seconds between two looks at a process
END = "{}"  # the last line of a task that came to its end: `os._exit(0)` looks like one
STOPPED = threading.Event()  # nobody waits for a report any more: all processes end


Said = dict[str, Any]  # a line of what a process says


class Limits(NamedTuple):
    """What a process may use: seconds, and bytes of memory; as many for each that it starts."""

    seconds: float = 600.0
    memory: int = 4 * 2**30


def limit_memory(most: int) -> None:
    """Too much memory, or too large a file, is an error here and in processes started from here."""
    wanted = {"RLIMIT_DATA": most, "RLIMIT_FSIZE": LARGEST_FILE} if LIMITS_MEMORY else {}
    for name, value in wanted.items():
        _now, hard = resource.getrlimit(getattr(resource, name))
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(getattr(resource, name), (value, hard))


def run(
    task: str, given: Any, folder: Path, home: Path, limits: Limits, silent: float = math.inf
) -> tuple[list[Said], str]:
    """What a task of `worker` says in the folder, and how it ended: "" where it came to its end.

    It is ended after `limits.seconds`, or after `silent` seconds without a word. What it has started
    ends with it. Files carry what goes in and out, since a pipe that somebody keeps open never ends.
    """
    if STOPPED.is_set():
        return [], "stopped"
    command = [sys.executable, "-I", "-X", "utf8", "-c", START, str(ROOT), task, str(limits.memory)]
    variables = os.environ | dict.fromkeys(HOMES, str(home))
    variables |= {"MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryFile("w+", encoding="utf-8") as asked, tempfile.TemporaryFile() as said:
        json.dump(given, asked)
        asked.seek(0)
        settings = {"cwd": folder, "env": variables, "start_new_session": True}
        streams = {"stdin": asked, "stdout": said, "stderr": subprocess.DEVNULL}
        child = subprocess.Popen(command, **settings, **streams)
        try:
            why = _wait(child, said, limits.seconds, silent)
        finally:
            # Nobody may be left, and Windows has no groups.
            with contextlib.suppress(OSError, AttributeError):
                os.killpg(child.pid, signal.SIGKILL)
            child.kill()
            child.wait()
        said.seek(0)
        lines = said.read().decode("utf-8").split("\n")[:-1]  # what follows the last was broken off
    if not why and END not in lines:
        code = child.returncode
        name = f"with {signal.Signals(-code).name}" if code < 0 else f"Python (exit status {code})"
        why = f"ended {name}"
    return [json.loads(line) for line in lines if line != END], why


def _wait(child: subprocess.Popen, said: IO[bytes], seconds: float, silent: float) -> str:
    """Wait for the end of a process; "" where it ended by itself, else why it has to be ended."""
    begun = heard = time.monotonic()
    length = 0
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(LOOK)
            return ""
        now, more = time.monotonic(), os.fstat(said.fileno()).st_size
        if more > length:
            length, heard = more, now
        if now - begun > seconds or now - heard > silent:
            return f"stopped after {round(min(seconds, silent), 1):g} seconds"
        if STOPPED.is_set():
            return "stopped"
