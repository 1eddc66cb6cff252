"""RoPE takes more time than sinusoids that are added once: here the model of 2017 gets that time, too.

    python -m experiments.modern_time

A training of the model with RoPE took 1.13 times as long as one of 2017 in `experiments.modern_parts`. So the model of
2017 trains for 1.13 times as many updates. Three seeds: two minutes on one core.
"""

from experiments import store
from experiments.modern_parts import UPDATES, make, measure, text, train

SEEDS = [0, 1, 2]
MORE = 1.13


def main() -> None:
    ids, test, words = text()
    rows = []
    for updates in UPDATES:
        losses = []
        for seed in SEEDS:
            model = make("2017", len(words), seed)
            train(model, ids, round(MORE * updates), seed)
            losses.append(round(measure(model, test).mean().item(), 4))
            print(updates, losses, flush=True)
        rows.append({"part": "2017", "updates": round(MORE * updates), "loss": losses})
    store(__file__, seeds=SEEDS, rows=rows)


if __name__ == "__main__":
    main()
