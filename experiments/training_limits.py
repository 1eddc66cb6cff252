"""Two findings of chapter 14 elsewhere: warm-up in a post-norm model, and the cosine in three times as many updates.

    python -m experiments.training_limits

The bench and the recipe are those of `experiments.training_recipes`; an arm changes one thing. "post" is the bench's
model with post-norm, trained for 300 updates with warm-up and without it; "long" is its own pre-norm model, trained for
900 updates with the cosine and with a constant rate after the warm-up. Each of the four arms begins with three rates, a
factor of 1.6 apart, and goes on to the next one as long as the best lies at an end; seed 5 chooses. Then fresh seeds
train at the chosen rate, ten of them with post-norm and five for 900 updates. About six minutes of one core.
"""

from dataclasses import replace

import torch

from course_lib.training.bench import UPDATES, Recipe, train_once
from experiments import store
from experiments.training_recipes import BASE, FACTOR, FRESH

CHOOSING = 5
LONGER = 3  # times as many updates
POST, LONG = "post", "long"
ARMS = {
    (POST, "base"): replace(BASE, norm_first=False, rate=0.0063),
    (POST, "no warm-up"): replace(BASE, norm_first=False, rate=0.0063, warmup=0.0),
    (LONG, "base"): BASE,
    (LONG, "constant rate"): replace(BASE, schedule="constant", rate=0.0063),
}
REPORTED = {POST: FRESH, LONG: FRESH[:5]}


def run(bench: str, arm: str, rate: float, seed: int) -> dict:
    """One training as a row of the table."""
    updates = UPDATES * LONGER if bench == LONG else UPDATES
    recipe: Recipe = replace(ARMS[bench, arm], rate=rate)
    found = train_once(recipe, seed, updates, every=updates)
    row = {"bench": bench, "arm": arm, "rate": rate, "seed": seed}
    row |= {name: round(found[name], 4) for name in ("loss", "exact")}
    print(row, flush=True)
    return row


def choose(bench: str, arm: str) -> list[dict]:
    """The runs of the choosing seed, sorted by their loss: the first one's rate is the best, and has neighbors."""
    middle = ARMS[bench, arm].rate
    tried: dict[int, dict] = {}

    def try_power(power: int) -> None:
        rate = float(f"{middle * FACTOR**power:.2g}")
        tried[power] = run(bench, arm, rate, CHOOSING)

    for power in (-1, 0, 1):
        try_power(power)
    while True:
        best = min(tried, key=lambda power: tried[power]["loss"])
        if min(tried) < best < max(tried):
            return sorted(tried.values(), key=lambda row: row["loss"])
        try_power(best - 1 if best == min(tried) else best + 1)


def main() -> None:
    torch.set_num_threads(1)
    chosen = {place: choose(*place) for place in ARMS}
    rows = [
        run(*place, chosen[place][0]["rate"], seed)
        for bench, seeds in REPORTED.items()
        for seed in seeds
        for place in ARMS
        if place[0] == bench
    ]
    store(
        __file__,
        seeds=[CHOOSING, *FRESH],
        updates={POST: UPDATES, LONG: UPDATES * LONGER},
        choosing=[row for of_arm in chosen.values() for row in of_arm],
        rows=rows,
    )


if __name__ == "__main__":
    main()
