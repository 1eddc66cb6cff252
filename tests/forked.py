"""Processes that have PyTorch from their birth: forked from one that has loaded it, which takes two seconds."""

import importlib
import multiprocessing
import os
import signal
import sys
import textwrap
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


def _main(module: str, words: list[str], variables: dict[str, str]) -> None:
    os.setsid()
    os.environ.update(variables)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(importlib.import_module(module).main(words))


def lines_of(program: str, file: Path, *words: str) -> list[str]:
    """What a program prints in a process of its own, line by line; a file keeps it."""
    child = start(__name__, [textwrap.dedent(program), str(file), *words], **os.environ)
    child.join(120)
    assert child.exitcode == 0, file.read_text("utf-8")
    return file.read_text("utf-8").splitlines()


def main(words: list[str]) -> None:
    """Run the program that is the first word; what it prints, also of its end, goes to the file that is the second."""
    program, sys.argv = words[0], words[1:]
    printed = os.open(words[1], os.O_WRONLY | os.O_CREAT)
    os.dup2(printed, 1), os.dup2(printed, 2)
    exec(compile(program, "<program>", "exec"), {"__name__": "__main__"})
