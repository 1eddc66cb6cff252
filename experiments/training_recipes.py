"""Which parts of a training recipe matter: each is exchanged or left out, and its learning rate is chosen anew.

    python -m experiments.training_recipes

The bench is `course_lib.training.bench`: 1,345 short sentence pairs of 482 words, a Transformer with one layer on each
side and 48 features, 300 updates of at most 150 tokens. Each arm begins with three rates, a factor of 1.6 apart, and
goes on to the next one as long as the best lies at an end; seeds 5 and 6 choose. Then seeds 0 to 4 train at the chosen
rate: they had no say in the choice. The arm "plain" lacks everything at once. Seed 5 also tries rates far from the best
ones of Adam and SGD, and seeds 0 to 2 the two neighbors of SGD's best rate. Seeds 0 to 2 tell how far a weight moves in
an update, tensor by tensor too, and meet the spoiled batch. Ten fresh seeds repeat every arm at its chosen rate. About
fifteen minutes of one core.

The stored rows were not measured in one go: the arms ran one by one, on one machine and with this code. Ten of the rows
were measured a second time, and were equal to the last digit.
"""

import math
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from statistics import mean

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from course_lib.training.bench import UPDATES, Recipe, bench_model, train_once
from experiments import store

CHOOSING, SEEDS, FEW = [5, 6], [0, 1, 2, 3, 4], [0, 1, 2]
FRESH = list(range(11, 21))
FACTOR, MIDDLE = 1.6, 0.01
SPOILED, EVERY = 100, 30
BASE = Recipe(rate=MIDDLE)
ARMS = {
    "base": BASE,
    "SGD": replace(BASE, optimizer="sgd", rate=0.3),
    "no warm-up": replace(BASE, warmup=0.0),
    "no smoothing": replace(BASE, smoothing=0.0),
    "no clipping": replace(BASE, clip=math.inf),
    "constant rate": replace(BASE, schedule="constant"),
    "plain": replace(BASE, warmup=0.0, schedule="constant", clip=math.inf, smoothing=0.0, beta2=0.999, rate=0.0063),
}
FAR = {"base": [0.001, 0.025], "SGD": [0.05, 0.8]}
SPOILS = {
    "never spoiled": BASE,
    "clipped": replace(BASE, spoiled=SPOILED),
    "not clipped": replace(BASE, clip=math.inf, spoiled=SPOILED),
    "not clipped, 100 times": replace(BASE, clip=math.inf, spoiled=SPOILED, factor=100.0),
    "not clipped, second average slower": replace(BASE, clip=math.inf, beta2=0.999, spoiled=SPOILED),
    "not clipped, averages cleared": replace(BASE, clip=math.inf, spoiled=SPOILED, forget="both"),
    "not clipped, m alone cleared": replace(BASE, clip=math.inf, spoiled=SPOILED, forget="mean"),
}


def run(arm: str, recipe: Recipe, seed: int) -> dict:
    """One training as a row of the table; a loss that is no number counts as 99."""
    found = train_once(recipe, seed, every=EVERY)
    row = {"arm": arm, "rate": recipe.rate, "seed": seed}
    row |= {name: rounded(found[name]) for name in ("loss", "accuracy", "top", "exact", "clipped")}
    row["curve"] = [rounded(loss, 2) for loss in found["curve"]]
    return row


def rounded(number: float, digits: int = 4) -> float:
    return round(number, digits) if math.isfinite(number) else 99.0


def compete(arm: str) -> list[dict]:
    """All runs of one arm: the choice of its rate, then five seeds at that rate."""
    start = ARMS[arm]
    tried: dict[int, list[dict]] = {}

    def try_rate(power: int) -> None:
        if power not in tried:
            recipe = replace(start, rate=float(f"{start.rate * FACTOR**power:.2g}"))
            tried[power] = [run(arm, recipe, seed) for seed in CHOOSING]

    for power in (0, -1, 1):
        try_rate(power)
    while True:
        best = min(tried, key=lambda power: mean(row["loss"] for row in tried[power]))
        if min(tried) < best < max(tried):
            break
        try_rate(best - 1 if best == min(tried) else best + 1)
    chosen = tried[best][0]["rate"]
    final = [run(arm, replace(start, rate=chosen), seed) for seed in SEEDS]
    return [row for rows in tried.values() for row in rows] + final


def far_and_near(rows: list[dict], best: float) -> list[dict]:
    """Rates far from the best ones, and SGD's two neighbors of its best."""
    plans = [(arm, rate, CHOOSING[:1]) for arm, rates in FAR.items() for rate in rates]
    tried = sorted({row["rate"] for row in rows if row["arm"] == "SGD"})
    place = tried.index(best)
    plans += [("SGD", rate, FEW) for rate in (tried[place - 1], tried[place + 1])]
    return [run(arm, replace(ARMS[arm], rate=rate), seed) for arm, rate, seeds in plans for seed in seeds]


def moved(arm: str, rate: float, seed: int) -> dict:
    """How far a typical weight moves in an update."""
    found = train_once(replace(ARMS[arm], rate=rate), seed, every=UPDATES)
    return {"arm": arm, "rate": rate, "seed": seed, "moved": rounded(found["moved"], 6)}


def moved_by_tensor(arm: str, rate: float, seed: int) -> dict[str, float]:
    """The same for each tensor by itself, in the order of `model.named_parameters()`."""
    before: list[torch.Tensor] = []
    sums: list[float] = []

    def remember(optimizer: torch.optim.Optimizer, *_: object) -> None:
        before[:] = [p.detach().clone() for p in optimizer.param_groups[0]["params"]]

    def compare(optimizer: torch.optim.Optimizer, *_: object) -> None:
        steps = [p.detach() - old for p, old in zip(optimizer.param_groups[0]["params"], before, strict=True)]
        lengths = [step.square().mean().sqrt().item() for step in steps]
        sums[:] = [a + b for a, b in zip(sums or [0.0] * len(lengths), lengths, strict=True)]

    hooks = [register_optimizer_step_pre_hook(remember), register_optimizer_step_post_hook(compare)]
    try:
        train_once(replace(ARMS[arm], rate=rate), seed, every=UPDATES)
    finally:
        for hook in hooks:
            hook.remove()
    names = [name for name, _ in bench_model(seed).named_parameters()]
    return {name: rounded(total / UPDATES, 7) for name, total in zip(names, sums, strict=True)}


def spoil(kind: str, rate: float) -> list[dict]:
    return [run(kind, replace(SPOILS[kind], rate=rate), seed) for seed in FEW]


def repeat(arm: str, rate: float) -> list[dict]:
    """The arm at its chosen rate, with seeds that had no part in anything before."""
    rows = [run(arm, replace(ARMS[arm], rate=rate), seed) for seed in FRESH]
    return [{key: value for key, value in row.items() if key != "curve"} for row in rows]


def main() -> None:
    with ProcessPoolExecutor(2) as pool:
        arms = dict(zip(ARMS, pool.map(compete, ARMS), strict=True))
        best = {arm: rows[-1]["rate"] for arm, rows in arms.items()}
        spoiled = list(pool.map(spoil, SPOILS, [best["base"]] * len(SPOILS)))
        again = list(pool.map(repeat, ARMS, best.values()))
    rows = [row for of_arm in arms.values() for row in of_arm]
    store(
        __file__,
        seeds=SEEDS,
        updates=UPDATES,
        every=EVERY,
        spoiled_at=SPOILED,
        recipes={name: {k: v for k, v in asdict(recipe).items() if v != math.inf} for name, recipe in ARMS.items()},
        rows=rows,
        valleys=far_and_near(rows, best["SGD"]),
        moved=[moved(arm, best[arm], seed) for arm in ("base", "SGD") for seed in FEW],
        by_tensor={arm: moved_by_tensor(arm, best[arm], 0) for arm in ("base", "SGD")},
        spoiled=[row for of_kind in spoiled for row in of_kind],
        fresh=[row for of_arm in again for row in of_arm],
    )


if __name__ == "__main__":
    main()
