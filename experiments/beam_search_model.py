"""The small translator of the chapter on beam search, seed 0 of `beam_search_width`: trained once, and stored.

    python -m experiments.beam_search_model

Its 800 updates at a high rate blow the last digits of the sums up, in which processors differ, until another sentence
is likelier. So the chapter searches in the stored weights, which are the same everywhere. Kept are the shares of the
test sentences that greedy search and width 8 translate right. Half a minute on one core.
"""

from pathlib import Path

from course_lib.stored import FOLDER
from course_lib.translation import Translator
from experiments import store_model
from experiments.beam_search_width import Bench, search

SEED = 0


def main(folder: Path = FOLDER) -> None:
    bench = Bench()
    model = bench.train(SEED)
    right = {f"width {width}": bench.measure(model, search(model, bench.src, width))["right"] for width in (1, 8)}
    store_model(__file__, Translator(model, bench.bpe), [SEED], folder, rounding=False, right=right)
    print(right)


if __name__ == "__main__":
    main()
