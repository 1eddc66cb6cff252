"""Processes that have PyTorch from their birth: forked from one that has loaded it, which takes two seconds."""

import contextlib
import importlib
import multiprocessing
import os
import signal
import sys
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from pathlib import Path


def context() -> BaseContext:
    """Of processes that have what these modules import. (Windows has none.)"""
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["course_practice.__main__", "course_lib.training.trainer"])
    return found


def start(module: str, words: list[str], **variables: str) -> BaseProcess:
    """`python -m MODULE WORDS` in a session of its own."""
    child = context().Process(target=_main, args=(module, words, variables))
    child.start()
    return child


def printed(folder: Path, *programs: str) -> list[str]:
    """What each program prints there, one after the other, all in one process: what one imports, the next one has."""
    child = context().Process(target=_exec, args=(folder, programs))
    child.start()
    child.join()
    assert child.exitcode == 0
    return [(folder / f"said{number}").read_text("utf-8") for number in range(len(programs))]


def _exec(folder: Path, programs: tuple[str, ...]) -> None:
    os.chdir(folder)
    for number, program in enumerate(programs):
        with open(f"said{number}", "w", encoding="utf-8") as said, contextlib.redirect_stdout(said):
            exec(program, {"__name__": "__main__"})


def _main(module: str, words: list[str], variables: dict[str, str]) -> None:
    os.setsid()
    os.environ.update(variables)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(importlib.import_module(module).main(words))
