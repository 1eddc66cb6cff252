"""How far the nearest repair goes: all strangers' wrong answers, one line each, and the figures.

    python -m tests.measure_suggestions
        with no mistake known
    python -m tests.measure_suggestions --named masks.
        with the known mistakes, the exercises whose id has these letters
    python -m tests.measure_suggestions --told masks.
        also the code, and what its author is told
    python -m tests.measure_suggestions --slips 300
        random slips in references: is the line found, and does the repair hold?

Seconds are those of the processor.
"""

import argparse
import ast
import collections
import dataclasses
import difflib
import inspect
import math
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from course_practice.engine import Exercise, Result, answers, check_exercise
from course_practice.engine.run import Limit
from course_practice.exercises import registry
from course_practice.suggest import Repair, nearest_repair
from course_practice.suggest.code import code_of
from course_practice.suggest.edits import applied
from course_practice.suggest.fresh import fresh_cases
from tests.frozen import run_cell
from tests.mutants import bare, changed_lines, mutants
from tests.stored_answers import ANSWERS, Answer


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
        result = check_exercise(
            exercise if named else dataclasses.replace(exercise, mistakes=()), obj, search=nearest_repair
        )
        yield answer, result, time.process_time() - begun


def slips(count: int) -> Iterator[tuple[str, bool, str]]:
    """Random slips in references: what changed, whether that line is proposed, and how the repair does elsewhere.

    Elsewhere are inputs that the search has not seen: "holds", "fails", or nothing where there is none of both.
    """
    draw = random.Random(0)
    functions = [each for each in registry().values() if not isinstance(each.reference, type) and bare(each.reference)]
    module = sys.modules["notebook"] = ModuleType("notebook")
    while count:
        exercise = draw.choice(functions)
        source = bare(exercise.reference)
        changed = next(mutants(source, draw), source)
        vars(module).clear()
        vars(module).update(inspect.unwrap(exercise.reference).__globals__, __name__="notebook")
        obj, cases = run_cell(module, changed), list(exercise.cases())
        if code_of(obj) is None:  # it is never run in variants
            continue
        outcomes = []
        for given in cases:
            if not outcomes or not outcomes[-1].out_of_time:
                outcomes.append(answers.run(exercise, obj, given, Limit(2.0)))
        if outcomes[-1].out_of_time or any(isinstance(outcome.error, NameError) for outcome in outcomes):
            continue
        expected = [exercise.run(exercise.reference, given) for given in cases]
        differs = [answers.difference_in(exercise, *pair) for pair in zip(expected, outcomes, strict=True)]
        wrong = [number for number, difference in enumerate(differs) if difference]
        if not wrong:
            continue
        count -= 1
        found = nearest_repair(exercise, obj, cases, expected, wrong)
        what = "; ".join(line for line in difflib.ndiff(source.splitlines(), changed.splitlines()) if line[0] in "+-")
        located = found is not None and bool(set(found.lines) & changed_lines(source, changed))
        whole = found is not None and found.right == found.cases
        yield (
            f"{exercise.id}: {what}\n    {found and found.hint}",
            located,
            _elsewhere(exercise, found) if whole else "",
        )


def _elsewhere(exercise: Exercise, found: Repair) -> str:
    """How repaired code does on inputs that the search has not seen."""
    with applied(found.edit):
        trees = [part.tree for part in found.parts]
        repaired = run_cell(
            sys.modules["notebook"], "\n\n".join(ast.unparse(ast.fix_missing_locations(t)) for t in trees)
        )
    unseen = fresh_cases(exercise, seeds=(31_000, 32_000, 33_000))
    wrong = [
        answers.difference_in(exercise, want, answers.run(exercise, repaired, given, Limit(5.0)))
        for given, want in unseen
    ]
    return "fails" if any(wrong) else "holds" if unseen else ""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("letters", nargs="?", default="")
    parser.add_argument("--named", action="store_true", help="with the known mistakes")
    parser.add_argument("--told", action="store_true", help="print code and message, too")
    parser.add_argument("--slips", type=int, default=0, help="so many random slips in references")
    options = parser.parse_args()
    os.environ["TRANSFORMER_COURSE_HOME"] = tempfile.mkdtemp()
    if options.slips:
        lines, elsewhere = [], collections.Counter()
        for what, located, holds in slips(options.slips):
            print(f"{'line found' if located else 'NOT FOUND':10} {holds:6} {what}", flush=True)
            lines.append(located)
            elsewhere[holds] += 1
        print(f"line found: {sum(lines)} of {len(lines)}; on other inputs: {dict(elsewhere)}")
        return
    times, counts = [], collections.Counter()
    for answer, result, seconds in results(options.letters, options.named):
        known = result.diagnosis in {mistake.name for mistake in registry()[answer.exercise].mistakes}
        where = "passes" if result.passed else "located" if result.lines else ""
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
