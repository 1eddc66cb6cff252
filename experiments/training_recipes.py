"""Which parts of a training recipe matter: each is exchanged or left out, and its learning rate is chosen anew.

    python -m experiments.training_recipes

The bench is `course_lib.training.bench`: 1,345 short sentence pairs of 482 words, a Transformer with one layer on each
side and 48 features, 300 updates of at most 150 tokens. Each arm begins with three rates, a factor of 1.6 apart, and
goes on to the next one as long as the best lies at an end; seeds 5 and 6 choose. Then seeds 0 to 4 train at the chosen
rate: they had no say in the choice. The arm "plain" lacks everything at once. Around the best rates of Adam and SGD
more rates are tried, and SGD at the two neighbors of its best with all seeds, to see how well its best rate is known.
The spoiled batch is met by seeds 0 to 2. All rows come from one run. About thirteen minutes of one core.
"""

import math
from dataclasses import asdict, replace
from statistics import mean

from course_lib.training.bench import UPDATES, Recipe, train_once
from experiments import store

CHOOSING, SEEDS = [5, 6], [0, 1, 2, 3, 4]
FACTOR, MIDDLE = 1.6, 0.01
SPOILED = 100
BASE = Recipe(rate=MIDDLE)
ARMS = {
    "base": BASE,
    "SGD": replace(BASE, optimizer="sgd", rate=0.3),
    "signs alone": replace(BASE, optimizer="sign", rate=0.002),
    "no warm-up": replace(BASE, warmup=0.0),
    "inverse root": replace(BASE, schedule="inverse_sqrt"),
    "constant rate": replace(BASE, schedule="constant"),
    "no smoothing": replace(BASE, smoothing=0.0),
    "no clipping": replace(BASE, clip=math.inf),
    "β₂ = 0.999": replace(BASE, beta2=0.999),
    "plain": replace(BASE, warmup=0.0, schedule="constant", clip=math.inf, smoothing=0.0, beta2=0.999, rate=0.0063),
}
VALLEYS = {"base": [0.001, 0.0025, 0.0039, 0.025], "SGD": [0.001, 0.01, 0.03, 0.075, 0.12, 0.76, 1.2]}
SPOILS = {
    "never spoiled": BASE,
    "clipped": replace(BASE, spoiled=SPOILED),
    "not clipped": replace(BASE, clip=math.inf, spoiled=SPOILED),
    "not clipped, 100 times": replace(BASE, clip=math.inf, spoiled=SPOILED, factor=100.0),
    "not clipped, 10 times": replace(BASE, clip=math.inf, spoiled=SPOILED, factor=10.0),
    "not clipped, second average slower": replace(BASE, clip=math.inf, beta2=0.999, spoiled=SPOILED),
    "not clipped, averages cleared": replace(BASE, clip=math.inf, spoiled=SPOILED, forget="both"),
    "not clipped, m alone cleared": replace(BASE, clip=math.inf, spoiled=SPOILED, forget="mean"),
}


def run(arm: str, recipe: Recipe, seed: int, updates: int = UPDATES) -> dict:
    """One training as a row of the table, with ten points of its curve; a loss that is no number counts as 99."""
    found = train_once(recipe, seed, updates, every=updates // 10)
    row = {"arm": arm, "rate": recipe.rate, "seed": seed}
    row |= {name: rounded(found[name]) for name in ("loss", "accuracy", "top", "exact", "clipped")}
    row["moved"] = rounded(found["moved"], 6)
    row["curve"] = [rounded(loss, 2) for loss in found["curve"]]
    print(*row.values(), flush=True)
    return row


def rounded(number: float, digits: int = 4) -> float:
    return round(number, digits) if math.isfinite(number) else 99.0


def compete(arm: str, updates: int = UPDATES) -> list[dict]:
    """All runs of one arm: the choice of its rate, then five seeds at that rate."""
    start = ARMS[arm]
    tried: dict[int, list[dict]] = {}

    def try_rate(power: int) -> None:
        if power not in tried:
            recipe = replace(start, rate=float(f"{start.rate * FACTOR**power:.2g}"))
            tried[power] = [run(arm, recipe, seed, updates) for seed in CHOOSING]

    for power in (0, -1, 1):
        try_rate(power)
    while True:
        best = min(tried, key=lambda power: mean(row["loss"] for row in tried[power]))
        if min(tried) < best < max(tried):
            break
        try_rate(best - 1 if best == min(tried) else best + 1)
    chosen = tried[best][0]["rate"]
    final = [run(arm, replace(start, rate=chosen), seed, updates) for seed in SEEDS]
    return [row for rows in tried.values() for row in rows] + final


def more_rates(rows: list[dict]) -> list[dict]:
    """Rates further away from the best ones, and SGD's neighbors of its best with the seeds that did not choose."""
    found = [
        run(arm, replace(ARMS[arm], rate=rate), seed)
        for arm, rates in VALLEYS.items()
        for rate in rates
        for seed in CHOOSING
    ]
    tried = sorted({row["rate"] for row in rows if row["arm"] == "SGD"})
    place = tried.index(next(row["rate"] for row in rows if row["arm"] == "SGD" and row["seed"] in SEEDS))
    neighbors = tried[place - 1], tried[place + 1]
    return found + [run("SGD", replace(ARMS["SGD"], rate=rate), seed) for rate in neighbors for seed in SEEDS]


def main() -> None:
    rows = [row for arm in ARMS for row in compete(arm)]
    rate = next(row["rate"] for row in rows if row["arm"] == "base" and row["seed"] in SEEDS)
    store(
        __file__,
        seeds=SEEDS,
        updates=UPDATES,
        every=UPDATES // 10,
        spoiled_at=SPOILED,
        recipes={name: {k: v for k, v in asdict(recipe).items() if v != math.inf} for name, recipe in ARMS.items()},
        rows=rows,
        valleys=more_rates(rows),
        spoiled=[run(kind, replace(recipe, rate=rate), seed) for kind, recipe in SPOILS.items() for seed in SEEDS[:3]],
    )


if __name__ == "__main__":
    main()
