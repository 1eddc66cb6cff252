"""Is one translator better, or were the test sentences kind to it? Two tests on paired sentences.

Both work on counts: a row for each sentence, whose sum scores the corpus. Sources: Koehn 2004, "Statistical
Significance Tests for Machine Translation Evaluation" (bootstrap); Riezler and Maxwell 2005, "On Some Pitfalls in
Automatic Evaluation and Significance Testing for MT" (randomization).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from course_lib.bleu import BleuStatistics, References, bleu_score, bleu_statistics, check_pairs
from course_lib.bleu.fast import MAX_ORDER
from course_lib.bleu.tokenizers import TOKENIZERS

SEED = 12345  # sacrebleu's
TIE = 1e-9  # two scores that differ by less are equal: the order of a sum moves the last digits

Counts = Int[np.ndarray, "_sentences 10"]


def sentence_counts(hypotheses: Sequence[str], references: References, tokenize: str = "13a") -> Counts:
    """A row for each sentence: four matches, four totals, and both lengths.

    >>> sentence_counts(["the cat sat"], ["the cat sat down"], tokenize="none")
    array([[3, 2, 1, 0, 3, 2, 1, 0, 3, 4]])
    """
    check_pairs(hypotheses, references)
    split = TOKENIZERS[tokenize]
    rows = []
    for hypothesis, texts in zip(hypotheses, references, strict=True):
        several = [texts] if isinstance(texts, str) else texts
        found = bleu_statistics([split(hypothesis)], [list(map(split, several))])
        rows.append([*found.matches, *found.totals, found.hyp_len, found.ref_len])
    return np.array(rows).reshape(-1, 2 * MAX_ORDER + 2)


def scores_of_sums(sums: Int[np.ndarray, "corpora 10"]) -> Float[np.ndarray, " corpora"]:
    """BLEU of corpora whose counts are already summed, a row each.

    >>> scores_of_sums(np.array([[4, 3, 2, 1, 4, 3, 2, 1, 4, 4]])).round(6)
    array([100.])
    """
    rows = ((tuple(row[:4]), tuple(row[4:8]), *row[8:]) for row in np.asarray(sums).tolist())
    return np.array([bleu_score(BleuStatistics(*row)).score for row in rows])


@dataclass(frozen=True)
class PairedBootstrap:
    """How far a difference of BLEU moves when the test sentences are drawn again.

    `difference` is the second translator's BLEU minus the first one's, and `differences` holds the same for each
    resample. `p_value` asks how often a difference is at least as far from their mean, in either direction, as
    `difference` is from 0. `p_sacrebleu` is what sacrebleu reports: it drops the signs before it takes the mean.
    """

    difference: float
    differences: np.ndarray

    @property
    def interval(self) -> tuple[float, float]:
        """The middle 95 % of the differences."""
        low, high = np.percentile(self.differences, [2.5, 97.5])
        return float(low), float(high)

    @property
    def p_value(self) -> float:
        return share(np.abs(self.differences - self.differences.mean()) >= abs(self.difference) - TIE)

    @property
    def p_sacrebleu(self) -> float:
        sizes = np.abs(self.differences)
        return share(sizes - sizes.mean() > abs(self.difference))


def share(far: Bool[np.ndarray, " draws"]) -> float:
    """The share of draws that are as far, with the observed one among them: never 0.

    >>> share(np.array([False, True, False]))
    0.5
    """
    return float((far.sum() + 1) / (len(far) + 1))


def paired_bootstrap(first: Counts, second: Counts, n_resamples: int = 1000, seed: int = SEED) -> PairedBootstrap:
    """Draw the test sentences again, with replacement, and score both translators on the same draw.

    >>> first = sentence_counts(["a b c d e", "x y", "f g"], ["a b c d e", "v w", "f g"])
    >>> second = sentence_counts(["a b c d", "v w", "f"], ["a b c d e", "v w", "f g"])
    >>> found = paired_bootstrap(first, second)
    >>> round(found.difference, 2), found.p_value > 0.05
    (-14.58, True)
    """
    check_rows(first, second)
    drawn = np.random.default_rng(seed).choice(len(first), size=(n_resamples, len(first)), replace=True)
    times = np.stack([np.bincount(rows, minlength=len(first)) for rows in drawn])  # how often each sentence is drawn
    one, other = (scores_of_sums(times @ counts) for counts in (first, second))
    before, after = scores_of_sums(np.array([first.sum(0), second.sum(0)]))
    return PairedBootstrap(float(after - before), other - one)


def paired_randomization(first: Counts, second: Counts, n_shuffles: int = 10_000, seed: int = SEED) -> float:
    """p: how often the difference is at least as large when a coin decides who wrote which translation of a sentence.

    Equal to sacrebleu's, which leaves out exact ties, unless the two translators differ in very few sentences.

    >>> first = sentence_counts(["a b c d e", "x y", "f g"], ["a b c d e", "v w", "f g"])
    >>> paired_randomization(first, first)
    1.0
    """
    check_rows(first, second)
    kept = np.random.default_rng(seed).integers(2, size=(n_shuffles, len(first)), dtype=bool)
    one = scores_of_sums(kept @ first + ~kept @ second)
    other = scores_of_sums(~kept @ first + kept @ second)
    before, after = scores_of_sums(np.array([first.sum(0), second.sum(0)]))
    return share(np.abs(one - other) >= abs(after - before) - TIE)


def check_rows(first: Counts, second: Counts) -> None:
    """Refuse counts of different test sets."""
    if len(first) != len(second):
        raise ValueError(
            f"expected counts of the same sentences, got {len(first)} and {len(second)} rows: "
            "score both translators on one test set"
        )
