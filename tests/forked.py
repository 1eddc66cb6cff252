"""Processes that have PyTorch from their birth: forked from one that has loaded it, which takes two seconds."""

import importlib
import multiprocessing
import os
import signal
import sys
from multiprocessing.process import BaseProcess


def start(module: str, words: list[str], **variables: str) -> BaseProcess:
    """`python -m MODULE WORDS` in a session of its own."""
    context = multiprocessing.get_context("forkserver")  # Windows has none
    context.set_forkserver_preload(["course_practice.__main__"])
    child = context.Process(target=_main, args=(module, words, variables))
    child.start()
    return child


def _main(module: str, words: list[str], variables: dict[str, str]) -> None:
    os.setsid()
    os.environ.update(variables)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(importlib.import_module(module).main(words))
