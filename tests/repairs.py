"""How far the nearest repair goes: all strangers' wrong answers, one line each, and the figures.

    python -m tests.repairs                     with no mistake known
    python -m tests.repairs --named masks.      with the known mistakes, the exercises whose id has these letters
    python -m tests.repairs --told masks.       also the code, and what its author is told

Seconds are those of the processor.
"""

import argparse
import ast
import collections
import dataclasses
import linecache
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from course_practice.engine import Result, check_exercise
from course_practice.exercises import registry
from tests.test_exercises_answers import ANSWERS, Answer


def run_cell(module: ModuleType, source: str) -> Any:
    """Run a source as a cell of a notebook; gives back what its last line defines."""
    name = f"<cell {len(linecache.cache)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), vars(module))
    last = ast.parse(source).body[-1]
    return vars(module).get(last.name if hasattr(last, "name") else ast.unparse(last).split(" = ")[0])


def results(letters: str, named: bool) -> Iterator[tuple[Answer, Result, float]]:
    """Each wrong answer, what is said about it, and how long that took."""
    module = sys.modules["notebook"] = ModuleType("notebook")
    for answer in ANSWERS:
        if answer.kind != "Wrong" or letters not in answer.exercise:
            continue
        vars(module).clear()
        vars(module).update(__name__="notebook", math=math, np=np, torch=torch, nn=nn, F=F)
        run_cell(module, answer.given or "...")
        exercise, obj = registry()[answer.exercise], run_cell(module, answer.code)
        begun = time.process_time()
        result = check_exercise(exercise if named else dataclasses.replace(exercise, mistakes=()), obj)
        yield answer, result, time.process_time() - begun


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("letters", nargs="?", default="")
    parser.add_argument("--named", action="store_true", help="with the known mistakes")
    parser.add_argument("--told", action="store_true", help="print code and message, too")
    options = parser.parse_args()
    os.environ["TRANSFORMER_COURSE_HOME"] = tempfile.mkdtemp()
    times, counts = [], collections.Counter()
    for answer, result, seconds in results(options.letters, options.named):
        known = result.diagnosis in {mistake.name for mistake in registry()[answer.exercise].mistakes}
        in_part = (result.repair or "").endswith("-in-part")
        where = "passes" if result.passed else "in part" if in_part else "located" if result.lines else ""
        counts.update([where or "not located", "named" if known else "not named"])
        counts["named or located"] += known or (where == "located")
        times.append(seconds)
        hint = result.hints[-1] if result.lines else result.diagnosis
        print(f"{seconds:5.2f} s  {answer.exercise:29} {answer.title[:32]:33}{where:8} {hint}", flush=True)
        if options.told:
            print(f"\n{answer.code}\n{result}\n")
    print(", ".join(f"{name}: {count} of {len(times)}" for name, count in sorted(counts.items())))
    print(f"seconds: median {statistics.median(times):.2f}, worst {max(times):.2f}")


if __name__ == "__main__":
    main()
