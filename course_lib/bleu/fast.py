"""Counting matches at speed, for one reference: the numbers of `bleu.modified_precision`, several times as fast."""

from collections.abc import Iterable, Sequence

MAX_ORDER = 4


def count_matches(hypothesis: Sequence[str], reference: Sequence[str]) -> list[int]:
    """Matched n-grams of a sentence for n = 1 … 4.

    Where the hypothesis has no n-gram twice, clipping does nothing, and a set of its n-grams is enough.

    >>> count_matches("a rose is a rose".split(), "a rose is".split())
    [3, 2, 1, 0]
    """
    starts = [hypothesis, hypothesis[1:], hypothesis[2:], hypothesis[3:]]
    others = [reference, reference[1:], reference[2:], reference[3:]]
    matches = [count_clipped(hypothesis, reference), 0, 0, 0]
    for n in range(1, MAX_ORDER):
        if not matches[n - 1]:
            break
        distinct = set(zip(*starts[: n + 1], strict=False))
        runs = zip(*others[: n + 1], strict=False)
        if len(distinct) == len(starts[n]):
            matches[n] = len(distinct.intersection(runs))
        else:
            matches[n] = count_clipped(zip(*starts[: n + 1], strict=False), runs)
    return matches


def count_clipped(grams: Iterable, others: Iterable) -> int:
    """How many of `grams` find a partner in `others`, each of which is taken once.

    >>> count_clipped(["the", "the", "the"], ["the", "cat", "the"])
    2
    """
    free: dict = {}
    for gram in others:
        free[gram] = free.get(gram, 0) + 1
    matches = 0
    for gram in grams:
        if number := free.get(gram):
            free[gram] = number - 1
            matches += 1
    return matches
