"""What a p-value is worth: how often three tests see a difference where there is none.

    python -m experiments.bleu_null

Two translators of `bleu_seeds` exchange their translations of each test sentence when a coin says so. The two that come
out are equally good, whatever they were before. A test at the level of 5 % should call one in twenty of such pairs
different. 500 exchanges for each of three pairs of seeds, each with its own resamples. About two minutes of one core.
"""

import numpy as np

from course_lib.bleu.significance import paired_bootstrap, paired_randomization, sentence_counts
from course_lib.corpus import course_corpus, tagged
from course_lib.stored import results
from experiments import store

PAIRS = [(5, 6), (1, 4), (0, 7)]
TRIALS = 500


def exchanged(first, second, random):
    """Two translators of which a coin decides, sentence by sentence, who wrote what."""
    keep = random.integers(2, size=len(first), dtype=bool)[:, None]
    return np.where(keep, first, second), np.where(keep, second, first)


def main():
    pairs = [pair for pair in tagged(course_corpus()["test"], "simple") if len(pair.src) <= 6]
    references = [pair.tgt_text for pair in pairs]
    texts = [text.split("\n") for text in results("bleu_seeds")["translations"]]
    rows = []
    for one, other in PAIRS:
        counts = [sentence_counts(texts[seed], references, tokenize="none") for seed in (one, other)]
        random, found = np.random.default_rng(one), []
        for trial in range(TRIALS):
            first, second = exchanged(*counts, random)
            drawn = paired_bootstrap(first, second, seed=trial)
            found.append([drawn.p_sacrebleu, drawn.p_value, paired_randomization(first, second, 1000, seed=trial)])
        below = (np.array(found) < 0.05).mean(0)
        row = {"pair": [one, other], "trials": TRIALS, "largest p sacrebleu": round(float(np.max(found, 0)[0]), 3)}
        row |= dict(zip(["sacrebleu", "two-sided", "randomization"], below.round(4).tolist(), strict=True))
        print(row, flush=True)
        rows.append(row)
    store(__file__, seeds=[one for one, _ in PAIRS], rows=rows)


if __name__ == "__main__":
    main()
