"""A process for code that nobody has read: limits of what it uses and writes, no network, one folder to write in.

Linux gives it namespaces of its own, where the system lets users make some: then all of this holds for the programs
that it starts as well, and they end with it. Elsewhere a hook of Python refuses the network, files outside of the
folder, and new processes; that holds for Python code, but not for the machine code of a library.
"""

import contextlib
import ctypes
import functools
import math
import os
import signal
import struct
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

ROOT = Path(__file__).resolve().parents[2]  # the packages that judge, whatever stands in the folder of the code
# What it starts with: where the report is killed, or memory is short, the system ends this process first.
BOUND = """import contextlib, ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
    file.write("1000")
os.execvp(sys.argv[1], sys.argv[1:])
"""
NAMESPACES = ("unshare", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child")
START = "import sys; sys.path.insert(0, sys.argv[1]); from course_practice.report import worker; worker.main()"
PROBE = "import os, runpy, sys; own = runpy.run_path(sys.argv[1]); own['shut_in'](os.getcwd(), own['Limits'](), True)"
HOMES = ("HOME", "TMPDIR", "TEMP", "TRANSFORMER_COURSE_HOME", "IPYTHONDIR", "MPLCONFIGDIR")
LARGEST_FILE, LARGEST_FOLDER, MOST_SAID = 2**30, 4 * 2**30, 2**26  # bytes
END = "{}"  # the last line of a task that came to its end: `os._exit(0)` looks like one
LOOK = 0.1  # seconds between two looks at the processes
STOPPED = threading.Event()  # nobody waits for a report any more: all processes end
MOUNT_SETATTR, FROM_HERE, ALL_BELOW, BIND, READ_ONLY = 442, -100, 0x8000, 4096, 1
NO_NEW_PRIVILEGES, CAPABILITIES = 38, 0x20080522
# What the hook refuses, by how Python names such events; the changes only outside of the folder.
REFUSED = (
    *("socket.connect", "socket.send", "socket.getaddrinfo", "socket.gethostby"),
    *("os.kill", "os.fork", "os.posix_spawn", "os.exec", "os.system", "os.startfile", "subprocess.Popen"),
)
CHANGES = (
    *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink"),
    *("os.truncate", "os.chmod", "os.chown", "os.utime"),
)


class Limits(NamedTuple):
    """What a process may use. Memory is counted for each process by itself, in bytes."""

    seconds: float = 600.0
    memory: int = 4 * 2**30
    processes: int = 64


@functools.cache
def has_namespaces() -> bool:
    """Does this system give a user's process a network, processes, and a look at the disk of its own?"""
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(OSError):
        child = _start([*NAMESPACES, sys.executable, "-I", "-c", PROBE, __file__], Path(folder), subprocess.DEVNULL)
        child.communicate()
        return child.returncode == 0
    return False


def run(task: str, folder: Path, given: str, limits: Limits, silent: float = math.inf) -> tuple[str, str]:
    """What a task of `worker` said in the folder, and how it ended: "" where it came to its end, which it says last.

    What it says goes into a file, which cannot fill this process's memory; after `silent` seconds without it, it ends.
    """
    apart = NAMESPACES if has_namespaces() else ()
    words = [str(ROOT), task, str(bool(apart)), *map(str, limits)]
    with tempfile.TemporaryFile() as said:
        child = _start([*apart, sys.executable, "-I", "-X", "utf8", "-c", START, *words], folder, said)
        begun = heard = time.monotonic()
        length, why = 0, ""
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.communicate(given, timeout=LOOK)
                break
            given, now, more = None, time.monotonic(), os.fstat(said.fileno()).st_size  # what was given is on its way
            length, heard = more, now if more > length else heard
            if now - begun > limits.seconds or now - heard > silent:
                why = f"stopped after {min(limits.seconds, silent):g} seconds"
            elif _processes(child.pid) > limits.processes:
                why = f"stopped at more than {limits.processes} processes"
            elif length > MOST_SAID or _size(folder) > LARGEST_FOLDER:
                why = "stopped because it wrote too much"
            elif STOPPED.is_set():
                why = "stopped"
            if why:
                child.kill()
                with contextlib.suppress(OSError, AttributeError):  # it has just ended; Windows has no groups
                    os.killpg(child.pid, signal.SIGKILL)
        said.seek(0)
        text = said.read(MOST_SAID).decode("utf-8", "replace")
    code = child.returncode
    early = "" if END in text.split("\n") else f"ended Python (exit status {code})"
    return text, why or (f"ended with {signal.Signals(-code).name}" if code < 0 else early)


def _start(command: list[str], folder: Path, said: int | IO[bytes]) -> subprocess.Popen:
    """Of this process's variables only PATH goes along: others may be secrets. -I: Python looks for nothing in here."""
    variables = dict.fromkeys(HOMES, str(folder)) | {"MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
    variables |= {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH") if name in os.environ}
    streams = {"stdin": subprocess.PIPE, "stdout": said, "stderr": subprocess.DEVNULL, "encoding": "utf-8"}
    bound = [sys.executable, "-I", "-S", "-c", BOUND] if sys.platform == "linux" else []
    return subprocess.Popen([*bound, *command], cwd=folder, env=variables, start_new_session=True, **streams)


def _size(folder: Path) -> int:
    """The bytes of what is in a folder; a file takes a block, however small it is."""
    total, folders = 0, [os.fspath(folder)]
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as found:
            for entry in found:
                total += max(entry.stat(follow_symlinks=False).st_size, 4096)
                folders += [entry.path] if entry.is_dir(follow_symlinks=False) else []
    return total


def _processes(pid: int) -> int:
    """How many are in the namespace that this process has made: the system's own limit does not count root's."""
    found = 0
    with contextlib.suppress(OSError):
        space, ours = (os.readlink(f"/proc/{name}/ns/pid_for_children") for name in (pid, "self"))
        for name in os.listdir("/proc") if has_namespaces() and space != ours else ():  # not made yet: ours
            with contextlib.suppress(OSError):  # it has ended, or belongs to somebody else
                found += os.readlink(f"/proc/{name}/ns/pid") == space
    return found


def shut_in(folder: str, limits: Limits, namespaces: bool) -> None:
    """Take from this process, and from all that it will start, what it may not use. There is no way back."""
    if namespaces:
        _shut_files(os.fsencode(folder))
        os.chdir(folder)  # the name leads to another place now
    else:
        sys.addaudithook(functools.partial(refuse, os.path.realpath(folder)))
    if resource is not None:
        wanted = {"RLIMIT_DATA": limits.memory, "RLIMIT_FSIZE": LARGEST_FILE, "RLIMIT_CORE": 0}
        if namespaces:  # elsewhere all processes of the user would count
            wanted["RLIMIT_NPROC"] = limits.processes
        for name, most in wanted.items():
            _now, hard = resource.getrlimit(getattr(resource, name))
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(getattr(resource, name), (most, most))


def _shut_files(folder: bytes) -> None:
    """All but the folder is read-only from now on, and no right is left that could undo it."""
    system = ctypes.CDLL(None, use_errno=True)
    shut, opened = struct.pack("4Q", READ_ONLY, 0, 0, 0), struct.pack("4Q", 0, READ_ONLY, 0, 0)
    failed = (
        system.mount(folder, folder, None, BIND, None)
        or system.syscall(MOUNT_SETATTR, FROM_HERE, b"/", ALL_BELOW, shut, len(shut))
        or system.syscall(MOUNT_SETATTR, FROM_HERE, folder, 0, opened, len(opened))
        or system.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        or system.capset(struct.pack("2I", CAPABILITIES, 0), bytes(24))
    )
    if failed:
        raise OSError(ctypes.get_errno(), "the files could not be shut")


def refuse(folder: str, event: str, args: tuple[Any, ...]) -> None:
    """The hook where there are no namespaces; PermissionError for what a notebook may not do."""
    writes = event.startswith(CHANGES)
    if event == "open" and isinstance(args[2], int):
        writes = bool(args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC))
    named = args[: 1 if event == "open" else 2] if writes else ()
    paths = [os.path.realpath(os.fsdecode(name)) for name in named if isinstance(name, str | bytes | os.PathLike)]
    outside = [path for path in paths if path != os.devnull and os.path.commonpath([path, folder]) != folder]
    if outside or event.startswith(REFUSED):
        raise PermissionError(f"no {event} while notebooks are judged")
