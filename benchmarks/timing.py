"""Contenders take turns; what counts are ratios within a round."""

import random
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import torch

from benchmarks.machine import PACKAGES, matmul_rate

Call = Callable[[], float]
Made = TypeVar("Made")

FASTEST = "the fastest peer"
PEAK = "a large matrix product"


class Disagreement(AssertionError):
    """A contender does not do the work that the others do."""


class LeftOut(Exception):
    """A contender cannot run here; the text says why."""


@dataclass(frozen=True)
class Settings:
    """How to measure. `quick` takes tiny sizes: it shows that everything works, its times mean nothing."""

    rounds: int = 7
    threads: int = 1
    quick: bool = False
    slow: bool = False
    text: Path | None = None


@dataclass(frozen=True)
class Work:
    """One piece of work. Every contender has a call that does it once and gives what that took: less is better.

    `ours` are contenders of the course, all others are peers. A call does `amount` `things` (2560 "tokens"), with
    `flops` useful floating-point operations. `aims` holds ratios to reach, by (one of ours, a peer).
    """

    title: str
    about: str
    calls: dict[str, Call]
    ours: tuple[str, ...]
    left_out: dict[str, str] = field(default_factory=dict)
    unit: str = "s"
    amount: float = 0.0
    things: str = ""
    flops: float = 0.0
    aims: dict[tuple[str, str], float] = field(default_factory=dict)
    rounds: int | None = None
    warm_up: bool = True


def gather(makers: dict[str, Callable[[], Made]]) -> tuple[dict[str, Made], dict[str, str]]:
    """Make every contender that can run here; a plain sentence says why another is left out.

    >>> def absent():
    ...     raise ModuleNotFoundError("No module named 'nltk'", name="nltk")
    >>> gather({"course": lambda: 1, "nltk": absent})
    ({'course': 1}, {'nltk': 'nltk is left out: the package nltk is not installed (make bench installs it)'})
    """
    made, left_out = {}, {}
    for name, make in makers.items():
        try:
            made[name] = make()
        except LeftOut as reason:
            left_out[name] = f"{name} is left out: {reason}"
        except ModuleNotFoundError as error:
            package = (error.name or "").split(".")[0]
            if package not in PACKAGES:
                raise
            reason = f"the package {PACKAGES[package]} is not installed (make bench installs it)"
            left_out[name] = f"{name} is left out: {reason}"
    return made, left_out


def agree(what: str, values: dict[str, Any], expected: Any, tolerance: float = 0.0) -> None:
    """Every contender's value is the expected one; `tolerance` is a share of it.

    >>> agree("BLEU", {"course": 27.1, "a peer": 27.2}, expected=27.1)
    Traceback (most recent call last):
    benchmarks.timing.Disagreement: expected BLEU 27.1 of 'a peer', got 27.2: it does other work, so it is not timed
    """
    for name, value in values.items():
        if value != expected and not (tolerance and abs(value - expected) <= tolerance * abs(expected)):
            raise Disagreement(
                f"expected {what} {expected} of {name!r}, got {value}: it does other work, so it is not timed"
            )


def seconds(work: Callable[[], Any], settings: Settings) -> Call:
    """A call that gives the seconds of one run; short work is repeated for half a second.

    >>> 0 <= seconds(lambda: None, Settings(quick=True))() < 1
    True
    """
    at_least = 0.0 if settings.quick else 0.5

    def call() -> float:
        begun, runs = time.perf_counter(), 0
        while not runs or time.perf_counter() - begun < at_least:
            work()
            runs += 1
        return (time.perf_counter() - begun) / runs

    return call


def take_turns(calls: dict[str, Call], rounds: int, warm_up: bool = True) -> dict[str, list[float]]:
    """Every call once a round, in an order drawn anew (but the same every time), so that none always follows the same.

    >>> order = []
    >>> calls = {"a": lambda: order.append("a"), "b": lambda: order.append("b")}
    >>> _ = take_turns(calls, rounds=3, warm_up=False)
    >>> order
    ['a', 'b', 'b', 'a', 'b', 'a']
    """
    order = random.Random(1)
    if warm_up:
        for call in calls.values():
            call()
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name in order.sample(list(calls), len(calls)):
            taken[name].append(calls[name]())
    return taken


def spread(values: Iterable[float]) -> dict[str, float]:
    """Median, smallest and largest, to four digits.

    >>> spread([1.23456, 3.0, 2.0])
    {'median': 2.0, 'min': 1.235, 'max': 3.0}
    """
    values = list(values)
    found = {"median": statistics.median(values), "min": min(values), "max": max(values)}
    return {name: float(f"{value:.4g}") for name, value in found.items()}


def against(ours: list[float], theirs: list[float]) -> dict[str, float]:
    """How many times as fast (or as small) ours is, round by round.

    >>> against([1.0, 2.0, 1.0], [2.0, 6.0, 2.5])
    {'median': 2.5, 'min': 2.0, 'max': 3.0}
    """
    return spread(their / our for our, their in zip(ours, theirs, strict=True))


def measure(work: Work, settings: Settings) -> dict[str, Any]:
    """Let the contenders of a work take turns; return what the results file holds of it."""
    rounds = min(settings.rounds, work.rounds or settings.rounds)
    calls = dict(work.calls)
    if work.flops:
        calls[PEAK] = lambda: matmul_rate(256 if settings.quick else 2048)
    taken = take_turns(calls, rounds, work.warm_up)
    rates = taken.pop(PEAK, [])
    peers = [name for name in taken if name not in work.ours]
    fastest = min(peers, key=lambda name: statistics.median(taken[name]), default=None)
    rows = {}
    for name, values in taken.items():
        row: dict[str, Any] = {"course": name in work.ours, work.unit: spread(values)}
        if work.amount:
            row[f"{work.things}/s"] = spread(work.amount / value for value in values)
        if rates:
            row["share of the peak"] = spread(work.flops / value / max(rates) for value in values)
        row["beside the fastest"] = against(values, taken[fastest]) if fastest else None
        if name in work.ours:
            aims = {peer: work.aims.get((name, peer)) for peer in peers}
            if fastest:
                aims[fastest] = aims[fastest] or work.aims.get((name, FASTEST))
            row["against"] = {peer: against(values, taken[peer]) | {"aim": aims[peer]} for peer in peers}
        rows[name] = row
    result = {"title": work.title, "about": work.about, "unit": work.unit, "rounds": rounds, "contenders": rows}
    result |= {"fastest other": fastest, "left out": list(work.left_out.values())}
    return result | ({"peak GFLOP/s": round(max(rates) / 1e9, 1), "useful GFLOP": work.flops / 1e9} if rates else {})


def seeded(settings: Settings) -> None:
    """The same random numbers for every run, and the chosen number of threads."""
    torch.manual_seed(0)
    torch.set_num_threads(settings.threads)
