"""Does the ranking of recipes hold when the training is three times as long?

    python -m experiments.training_longer

The same bench, arms, seeds, and choice of the rate as in `experiments.training_recipes`, with 900 updates and three
arms: the whole recipe, the one whose rate stays at its peak, and the plain one. About seven minutes of one core.
"""

from experiments import store
from experiments.training_recipes import SEEDS, compete

UPDATES = 900
ARMS = ("base", "constant rate", "plain")


def main() -> None:
    store(__file__, seeds=SEEDS, updates=UPDATES, rows=[row for arm in ARMS for row in compete(arm, UPDATES)])


if __name__ == "__main__":
    main()
