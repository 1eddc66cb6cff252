"""What is said of 4,000 answers, beside what was said of them when they were frozen.

    python -m tests.frozen                    all answers (half an hour of one processor, with two processes)
    python -m tests.frozen --every 5          each fifth
    python -m tests.frozen --of masks.        those to exercises whose id begins like this
    python -m tests.frozen --freeze           from now on, what is said today is what is compared with

The answers are those of `tests/answers`, and those that stood there until most of them were left out as second
witnesses: people wrote them, right and wrong ones, who had read the exercise and nothing else. `frozen.jsonl.xz` holds
one a line, with what is said of it. A run that was stopped goes on where it was, as long as no code has changed.

A change of the check may reword a message. It should not make many worse: a wrong answer that was named or located and
now hears a plain sentence, or passes; a right one that is refused. Where more than one in a hundred is worse, the
command ends with 1. Seconds are those of the processor.
"""

import argparse
import ast
import collections
import hashlib
import json
import linecache
import lzma
import math
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

ROOT = Path(__file__).parents[1]
STORED = Path(__file__).with_name("frozen.jsonl.xz")
RUN = ROOT / "_build" / "frozen.jsonl"  # what the last run has found, below the state of the code it looked at
BATCH = 8  # answers to one exercise, one after the other in one process
WORSE = 0.01  # the share of messages that may get worse
# How well a wrong answer is served; for a right one there is nothing but to pass.
RANKS = {"passed": 0, "waiting": 0, "plain": 1, "in part": 2, "located": 3, "named": 3}


def stored() -> list[dict[str, Any]]:
    """The answers, in the order of their exercises; `number` is their place."""
    lines = lzma.decompress(STORED.read_bytes()).decode().splitlines()
    return [{"number": number, **json.loads(line)} for number, line in enumerate(lines)]


def state_of_the_code() -> str:
    """Another one whenever a file that a check reads has changed."""
    found = hashlib.sha1()
    for folder in ("course_lib", "course_practice"):
        for path in sorted(ROOT.joinpath(folder).rglob("*")):
            if path.suffix in (".py", ".md"):
                found.update(path.read_bytes())
    return found.hexdigest()


def run_cell(module: ModuleType, source: str) -> Any:
    """Run a source as a cell of a notebook; gives back what its last line defines."""
    name = f"<cell {len(linecache.cache)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), vars(module))
    last = ast.parse(source).body[-1]
    return vars(module).get(last.name if hasattr(last, "name") else ast.unparse(last).split(" = ")[0])


def said_of(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a check says of each answer. Right ones stand in their chapter's notebook, as in the tests."""
    from course_practice.exercises import check, registry
    from tests.test_exercises_in_place import places

    torch.set_num_threads(1)
    found = []
    for answer in answers:
        name = answer["exercise"]
        module = sys.modules["notebook"] = ModuleType("notebook")
        if answer["kind"] == "Right":
            vars(module).update(places(name.partition(".")[0]).get(name, {}))
        vars(module).update(math=math, np=np, torch=torch, nn=nn, F=F)
        exercise, begun = registry()[name], time.process_time()
        try:
            run_cell(module, answer["given"] or "...")
            obj = run_cell(module, answer["code"])
            begun = time.process_time()
            result = check(name, obj)
        except Exception as error:  # what it was written against is no longer there
            said = {"how": "plain", "diagnosis": "no check", "message": repr(error), "lines": [], "hint": ""}
        else:
            said = {
                "how": how(result, exercise),
                "diagnosis": result.diagnosis,
                "message": result.message,
                "lines": list(result.lines),
                "hint": result.hints[-1] if result.lines and not result.passed else "",
            }
        found.append({"number": answer["number"], **said, "seconds": round(time.process_time() - begun, 2)})
    return found


def how(result: Any, exercise: Any) -> str:
    """In a word, how well a result tells what is wrong."""
    if result.passed or not result.attempted:
        return "passed" if result.passed else "waiting"
    names = {mistake.name for mistake in exercise.mistakes}
    if result.diagnosis in names or any(result.diagnosis.startswith(f"{name}-and-") for name in names):
        return "named"
    return "located" if result.lines else "plain"


def run(answers: list[dict[str, Any]], jobs: int) -> dict[int, dict[str, Any]]:
    """What is said of the answers today, by their numbers; what a stopped run has found is taken as it is."""
    state, found = state_of_the_code(), {}
    RUN.parent.mkdir(exist_ok=True)
    lines = RUN.read_text("utf-8").splitlines() if RUN.exists() else []
    if lines[:1] == [state]:
        found = {said["number"]: said for said in map(json.loads, lines[1:])}
    else:
        RUN.write_text(f"{state}\n", "utf-8")
    left = [answer for answer in answers if answer["number"] not in found]
    batches: list[list[dict[str, Any]]] = []
    for answer in left:
        if not batches or len(batches[-1]) == BATCH or batches[-1][0]["exercise"] != answer["exercise"]:
            batches.append([])
        batches[-1].append(answer)
    with multiprocessing.get_context("spawn").Pool(jobs) as pool, RUN.open("a", encoding="utf-8") as kept:
        for number, batch in enumerate(pool.imap_unordered(said_of, batches), start=1):
            for said in batch:
                found[said["number"]] = said
                print(json.dumps(said, ensure_ascii=False), file=kept, flush=True)
            if sys.stderr.isatty():
                print(f"\r{number} of {len(batches)} batches", end="", file=sys.stderr)
    return found


def change(kind: str, before: dict[str, Any], now: dict[str, Any]) -> str:
    """What has become of a message: nothing where it is the same."""
    ranks = [RANKS[said["how"]] for said in (before, now)]
    if kind == "Right":
        ranks = [int(said["how"] == "passed") for said in (before, now)]
    if ranks[0] != ranks[1]:
        return "worse" if ranks[1] < ranks[0] else "better"
    if before["diagnosis"] != now["diagnosis"]:
        return "another diagnosis"
    if before["lines"] != now["lines"]:
        return "another line"
    return "" if (before["message"], before["hint"]) == (now["message"], now["hint"]) else "other words"


def report(answers: list[dict[str, Any]], found: dict[int, dict[str, Any]]) -> int:
    """Print what has changed, and the figures; 1 where too much is worse."""
    changes: collections.Counter[str] = collections.Counter()
    ways: collections.Counter[str] = collections.Counter()
    for answer in answers:
        before, now = answer["said"], found[answer["number"]]
        kind = change(answer["kind"], before, now)
        changes[kind or "the same"] += 1
        if not kind:
            continue
        ways[f"{kind}: {answer['kind'].lower()}, {before['how']} -> {now['how']}"] += 1
        print(
            f"\n{kind.upper()}  {answer['exercise']}, {answer['kind'].lower()}: {answer['title']}  #{answer['number']}"
        )
        for when, said in (("before", before), ("now", now)):
            lines = f", lines {said['lines']}" if said["lines"] else ""
            hint = f"\n         {said['hint']}" if said["hint"] else ""
            print(f"  {when:6} [{said['diagnosis']}{lines}] {said['message']}{hint}")
    print(f"\n{len(answers)} answers: " + ", ".join(f"{count} {kind}" for kind, count in changes.most_common()))
    for way, count in ways.most_common():
        print(f"  {count:4} {way}")
    for when, seconds in (
        ("before", [(answer["said"]["seconds"], answer) for answer in answers]),
        ("now", [(found[answer["number"]]["seconds"], answer) for answer in answers]),
    ):
        slowest = sorted(seconds, key=lambda pair: -pair[0])[:3]
        told = ", ".join(f"{taken:.1f} ({answer['exercise']} #{answer['number']})" for taken, answer in slowest)
        all_of_them = [taken for taken, _ in seconds]
        print(f"seconds {when}: {sum(all_of_them):.0f}, median {statistics.median(all_of_them):.2f}, worst {told}")
    return int(changes["worse"] > WORSE * len(answers))


def freeze(answers: Iterable[dict[str, Any]], found: dict[int, dict[str, Any]]) -> None:
    """Store the answers with what is said of them today."""
    lines = []
    for answer in answers:
        kept = {name: answer[name] for name in ("exercise", "kind", "title", "given", "code")}
        said = {name: value for name, value in found[answer["number"]].items() if name != "number"}
        lines.append(json.dumps({**kept, "said": said}, ensure_ascii=False))
    STORED.write_bytes(lzma.compress(("\n".join(lines) + "\n").encode(), preset=9))


def main() -> int:
    """Run, compare, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=1, help="take each so-many-th answer")
    parser.add_argument("--of", default="", help="take the exercises whose id begins like this")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--freeze", action="store_true", help="store what is said today")
    options = parser.parse_args()
    os.environ["TRANSFORMER_COURSE_HOME"] = tempfile.mkdtemp()
    answers = stored()
    if not options.freeze:
        answers = [answer for answer in answers[:: options.every] if answer["exercise"].startswith(options.of)]
        answers = [answer for answer in answers if "said" in answer]
    found = run(answers, options.jobs)
    if options.freeze:
        freeze(answers, found)
        return 0
    return report(answers, found)


if __name__ == "__main__":
    sys.exit(main())
