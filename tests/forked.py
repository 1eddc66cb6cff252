"""Processes that have PyTorch from their birth: forked from one that has loaded it, which takes two seconds."""

import importlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from multiprocessing.process import BaseProcess

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["course_practice.__main__", "course_lib.translation.commands.translate"])


def start(module: str, words: list[str], ready: Callable[[], None] | None = None, **variables: str) -> BaseProcess:
    """`python -m MODULE WORDS` in a session of its own; `ready`, a function of a module, is called before."""
    child = CONTEXT.Process(target=_main, args=(module, words, ready, variables))
    child.start()
    return child


def _main(module: str, words: list[str], ready: Callable[[], None] | None, variables: dict[str, str]) -> None:
    os.setsid()
    os.environ.update(variables)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if ready:
        ready()
    sys.exit(importlib.import_module(module).main(words))
