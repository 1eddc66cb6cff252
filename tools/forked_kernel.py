"""Kernels that have PyTorch and matplotlib from their birth, which takes six seconds: forked from one that loaded them.

What is loaded beforehand is what others wrote. The course's own modules each kernel loads itself.
"""

import multiprocessing
import os
import sys
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

# The first of them makes clocks go wrong before any other module takes a clock for itself. A first update of weights
# loads `torch._dynamo`, wherever it happens.
LOADED = ["tools.false_clock", __name__, "ipykernel.kernelapp", "matplotlib.figure", "jaxtyping", "torch._dynamo"]
PATH = [folder for folder in sys.path if folder]  # of the process that is forked: that of a fresh interpreter


class Forked:
    """What jupyter_client asks of a `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, process: BaseProcess):
        self.process, self.pid = process, process.pid
        self.kill, self.terminate = process.kill, process.terminate

    def poll(self) -> int | None:
        return self.process.exitcode

    def wait(self) -> int | None:
        self.process.join()
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)


def launch(command: list[str], env: dict[str, str], cwd: str | None = None, **_: Any) -> Forked:
    """As jupyter_client's `launch_kernel`, for a command that ends with `-m ipykernel_launcher -f FILE`."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LOADED)
    begun, begin = context.Pipe(duplex=False)
    process = context.Process(target=_kernel, args=(command[-3:], env, cwd or ".", begin))
    process.start()
    begin.close()
    begun.recv()  # it has a session of its own now: whoever kills its group kills no other process
    return Forked(process)


def _kernel(command: list[str], env: dict[str, str], cwd: str, begin: Connection) -> None:
    os.setsid()
    begin.send(None)
    os.environ.clear()
    os.environ.update(env, JPY_PARENT_PID=str(os.getppid()))
    os.chdir(cwd)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    sys.argv[:], sys.path[:] = command, PATH
    for name in [name for name in sys.modules if name.partition(".")[0] == "tools"]:  # no notebook may import them
        del sys.modules[name]
    from ipykernel.kernelapp import IPKernelApp

    IPKernelApp.launch_instance(argv=command[1:])
