"""Does warm-up let the bench bear a rate that is too high? With and without it, one step above the best rate.

    python -m experiments.training_warmup

The recipe is that of `experiments.training_recipes`, whose best rate is 0.01, both with warm-up and without; here the
rate is 0.016. Ten fresh seeds, each with and without warm-up. About two minutes of one core.
"""

from dataclasses import replace

import torch

from course_lib.training.bench import UPDATES, train_once
from experiments import store
from experiments.training_recipes import BASE, FACTOR, FRESH

RATE = round(FACTOR * BASE.rate, 4)
ARMS = {"base": BASE, "no warm-up": replace(BASE, warmup=0.0)}


def main() -> None:
    torch.set_num_threads(1)
    rows = []
    for arm, recipe in ARMS.items():
        for seed in FRESH:
            found = train_once(replace(recipe, rate=RATE), seed, every=UPDATES)
            rows.append({"arm": arm, "seed": seed, "loss": round(found["loss"], 4), "exact": found["exact"]})
            print(rows[-1], flush=True)
    store(__file__, seeds=FRESH, rate=RATE, rows=rows)


if __name__ == "__main__":
    main()
