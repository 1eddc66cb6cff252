"""From measurements to a results file and a table."""

import json
from pathlib import Path
from textwrap import fill
from typing import Any

from benchmarks.machine import machine_class, today, versions
from benchmarks.timing import Settings

TITLE = "Speed, compared with other libraries"
ABOUT = (
    "The contenders first had to show that they do the same work, and then they took turns in one run. The last "
    "column divides the speed of each by that of the fastest contender that is not the course's own; where a row "
    "counts memory, using less counts as being faster. The division is done round by round, and the column shows the "
    "median and, in parentheses, the smallest and the largest ratio. Seconds depend on the machine, and ratios depend "
    "on it less; `make bench` measures yours."
)
COLUMNS = ["work", "contender", "took", "ratio to the fastest other"]


def results(works: list[dict[str, Any]], settings: Settings) -> dict[str, Any]:
    """What the file holds: a table for the book, and everything that was measured."""
    return {
        "title": TITLE,
        "about": f"{ABOUT} Measured on {machine_class()['processor']}; threads: {settings.threads}.",
        "columns": COLUMNS,
        "rows": [row for work in works for row in rows(work)],
        "day": today(),
        "machine": machine_class(),
        "threads": settings.threads,
        "versions": versions(),
        "works": works,
    }


def rows(work: dict[str, Any]) -> list[list[str]]:
    """The table's rows of one work, the smallest median first."""
    unit = work["unit"]
    found = []
    for name, row in sorted(work["contenders"].items(), key=lambda item: item[1][unit]["median"]):
        took = amount(row[unit]["median"], unit)
        found.append(["" if found else work["title"], name, took, with_spread(row["beside the fastest"])])
    return found


def amount(value: float, unit: str) -> str:
    """A number with a unit of a handy size.

    >>> amount(0.01234, "s"), amount(44.44, "MiB")
    ('12.3 ms', '44.4 MiB')
    """
    if unit == "s" and value < 1:
        value, unit = value * 1000, "ms"
    decimals = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{decimals}f} {unit}"


def with_spread(ratio: dict[str, float] | None) -> str:
    """A ratio and how far it wandered.

    >>> with_spread({"median": 1.5, "min": 1.42, "max": 1.61})
    '1.50 (1.42–1.61)'
    """
    return "{median:.2f} ({min:.2f}–{max:.2f})".format(**ratio) if ratio else ""


def text(work: dict[str, Any]) -> str:
    """A work's measurements for a terminal.

    >>> seconds, ratio = ({"median": m, "min": m, "max": m} for m in (2.0, 1.0))
    >>> row = {"s": seconds, "beside the fastest": ratio}
    >>> print(text({"title": "t", "about": "a", "unit": "s", "contenders": {"x": row}, "left out": []}))
    <BLANKLINE>
    t: a
      x  2.00 s    1.00 (1.00–1.00)
    """
    lines = rows(work)
    width = max((len(line[1]) for line in lines), default=0)
    head = "\n" + fill(f"{work['title']}: {work['about']}", width=100)
    body = [f"  {name:{width}}  {took:8}  {ratio}".rstrip() for _, name, took, ratio in lines]
    return "\n".join([head, *body, *aims(work), *(f"  {sentence}." for sentence in work["left out"])])


def aims(work: dict[str, Any]) -> list[str]:
    """A sentence for every ratio that the project aims at, and the course's shares of the machine's peak."""
    found = []
    for name, row in work["contenders"].items():
        for peer, ratio in row.get("against", {}).items():
            if ratio["aim"]:
                found.append(f"  {name} against {peer}: {with_spread(ratio)}, aim {ratio['aim']}")
        if row.get("course") and "share of the peak" in row:
            found.append(f"  {name}: {row['share of the peak']['median']:.0%} of the machine's peak, on real tokens")
    return found


def write(path: Path, content: dict[str, Any]) -> None:
    """Write the results whole, one value a line, so that changes can be read."""
    temporary = path.with_suffix(".part")
    temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    temporary.replace(path)
