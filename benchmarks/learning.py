"""Measure how well the library learns: whole trainings, with the commands a reader would type, several seeds each.

Each run leaves one file in book/results/learning/ with its command, figures and learning curve; a run that has its
file is not repeated. book/results/learning.json sums them up for the results page. Leave the machine alone meanwhile:
the budgets are in seconds, so a busy machine learns less.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

from benchmarks.machine import cores, machine_class, today, versions

RESULTS = Path(__file__).resolve().parents[1] / "book" / "results"
TITLE = "Quality after training"
ABOUT = (
    "Each row is one command, `python -m course_lib train` with the options shown, run with several seeds. Exact match "
    "and alignment are shares, and we give their median; for BLEU we give the mean. The smallest and the largest value "
    "follow in parentheses. BLEU is sacreBLEU's, cased and detokenized. A BLEU near 100 on the course's own corpus "
    "shows that the translator works, but it says nothing about real text, so there are also rows for Multi30k (German "
    "to English, test_2016_flickr, a beam of 5). The recipe trained these with Muon in bfloat16, because the processor "
    "has instructions for it, and the course's own corpus with AdamW in float32, so the scores belong to the recipe, "
    "not to the architecture alone. The budget is the time of training on an otherwise idle machine. We "
    "chose the settings on one seed while looking at these test sets, so expect slightly lower figures on new text."
)
COLUMNS = ["options", "seeds", "split", "exact match", "BLEU", "alignment"]


@dataclass(frozen=True)
class Training:
    """A command, without its seed, and how many seeds it is run with."""

    arguments: str
    seeds: int


TRAININGS = {
    "course_60": Training("--seconds 60", 5),
    "course_120": Training("--seconds 120", 5),
    "course_gru_120": Training("--model gru --seconds 120", 3),
    "multi30k_300": Training("--data multi30k --seconds 300 --dropout 0", 3),
    "multi30k_1200": Training("--data multi30k --seconds 1200", 3),
}


def run(name: str, seed: int, folder: Path) -> None:
    """Train once and keep the figures, unless they are there."""
    path = folder / f"{name}_seed{seed}.json"
    if path.exists():
        return
    arguments = [*TRAININGS[name].arguments.split(), "--seed", str(seed), "--threads", str(min(2, cores()))]
    with tempfile.TemporaryDirectory() as empty:
        figures = Path(empty) / "figures.json"
        subprocess.run([sys.executable, "-m", "course_lib", "train", *arguments, "--json", str(figures)], check=True)
        kept = with_origin(json.loads(figures.read_text(encoding="utf-8")), arguments)
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(kept, ensure_ascii=False) + "\n", encoding="utf-8")


def with_origin(figures: dict[str, Any], arguments: list[str]) -> dict[str, Any]:
    """Figures with the command and the machine they come from, without the names of files.

    >>> sorted(with_origin({"options": {"json": "figures.json", "seed": 1}}, ["--seed", "1"]))
    ['command', 'day', 'machine', 'options', 'versions']
    """
    options = {key: value for key, value in figures["options"].items() if key not in ("json", "folder")}
    origin = {"machine": machine_class(), "versions": versions(), "day": today()}
    return {"command": " ".join(["python -m course_lib train", *arguments]), **figures, "options": options, **origin}


def summary(folder: Path) -> dict[str, Any]:
    """The table of the results page, from all runs that are there."""
    rows = []
    for name, training in TRAININGS.items():
        runs = [read(path) for path in sorted(folder.glob(f"{name}_seed*.json"))]
        rows += rows_of(training.arguments, runs)
    machines = sorted({run["machine"]["processor"] for run in map(read, sorted(folder.glob("*.json")))})
    where = f" Measured on {', '.join(machines)}, two cores." if machines else ""
    return {"title": TITLE, "about": ABOUT + where, "columns": COLUMNS, "rows": rows}


def read(path: Path) -> dict[str, Any]:
    """One kept run."""
    return json.loads(path.read_text(encoding="utf-8"))


def rows_of(arguments: str, runs: list[dict[str, Any]]) -> list[list[str]]:
    """One row a split.

    >>> figures = {"exact_match": {"test": 0.9}, "bleu": {"test": 99.0}, "alignment": {}}
    >>> rows_of("--seconds 60", [figures, {**figures, "exact_match": {"test": 0.8}}])
    [['`--seconds 60`', '2', 'test', '0.850 (0.800–0.900)', '99.0 (99.0–99.0)', '']]
    """
    found = []
    for split in runs[0]["bleu"] if runs else ():
        first = [f"`{arguments}`", str(len(runs))] if not found else ["", ""]
        cells = [
            spread([run[figure][split] for run in runs if split in run[figure]], digits, middle)
            for figure, digits, middle in (("exact_match", 3, median), ("bleu", 1, mean), ("alignment", 3, median))
        ]
        found.append([*first, split, *cells])
    return found


def spread(values: list[float], digits: int, middle: Any) -> str:
    """The middle of some values and how far they wander.

    >>> spread([3.0, 1.0, 2.0], 1, median), spread([3.0], 1, median), spread([], 1, median)
    ('2.0 (1.0–3.0)', '3.0', '')
    """
    if not values:
        return ""
    wander = f" ({min(values):.{digits}f}–{max(values):.{digits}f})" if len(values) > 1 else ""
    return f"{middle(values):.{digits}f}{wander}"


def main(arguments: list[str] | None = None) -> int:
    """Run what is missing, and sum up."""
    known = "\n".join(f"  {name:16} {each.seeds} × {each.arguments}" for name, each in TRAININGS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.learning",
        description=f"{__doc__}\ntrainings:\n{known}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="TRAINING", help="which ones (default: all, two hours)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder of results")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(TRAININGS):
        parser.error(f"expected trainings among {', '.join(TRAININGS)}, got {', '.join(sorted(unknown))}")
    for name in options.names or TRAININGS:
        for seed in range(TRAININGS[name].seeds):
            run(name, seed, options.results / "learning")
    table = json.dumps(summary(options.results / "learning"), ensure_ascii=False, indent=1)
    (options.results / "learning.json").write_text(table + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
