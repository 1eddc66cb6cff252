"""Exercise: how much is padding."""

import numpy as np

from course_lib.batching import pad
from course_practice.engine import Exercise, Mistake, case


def pad_share(lengths, rows):
    """The share of all positions that are pads when sentences are batched in this order, `rows` at a time.

    >>> round(pad_share([2, 6, 3, 6, 2, 3], rows=2), 3)     # 8 pads among 30 positions
    0.267
    """
    batches = [lengths[i : i + rows] for i in range(0, len(lengths), rows)]
    positions = sum(len(batch) * max(batch) for batch in batches)
    return 1 - sum(lengths) / positions


def pads_counted_one_by_one(lengths, rows):
    pads = positions = 0
    for start in range(0, len(lengths), rows):
        batch = lengths[start : start + rows]
        for length in batch:
            pads += max(batch) - length
            positions += max(batch)
    return pads / positions


def with_real_tensors(lengths, rows):
    pads = positions = 0
    for start in range(0, len(lengths), rows):
        batch = pad([[1] * length for length in lengths[start : start + rows]])
        pads, positions = pads + (batch == 0).sum(), positions + batch.numel()
    return pads / positions


def with_numpy(lengths, rows):
    width = np.array([max(lengths[i - i % rows : i - i % rows + rows]) for i in range(len(lengths))])
    return float((width - np.array(lengths)).sum() / width.sum())


def _cut(lengths, rows):
    return [lengths[i : i + rows] for i in range(0, len(lengths), rows)]


def _from(count):
    """A share from a function that gives real tokens and positions of one batch."""

    def answer(lengths, rows):
        real, positions = (sum(side) for side in zip(*(count(b, rows) for b in _cut(lengths, rows)), strict=True))
        return 1 - real / positions

    return answer


def _mean_of_shares(lengths, rows):
    shares = [1 - sum(batch) / (len(batch) * max(batch)) for batch in _cut(lengths, rows)]
    return sum(shares) / len(shares)


def _of_one_batch(lengths, rows):
    return 1 - sum(lengths) / (len(lengths) * max(lengths))


def _without_the_rest(lengths, rows):
    batches = [batch for batch in _cut(lengths, rows) if len(batch) == rows] or [lengths]
    return 1 - sum(map(sum, batches)) / sum(len(batch) * max(batch) for batch in batches)


def _positions_of_the_rest_lost(lengths, rows):
    return 1 - sum(lengths) / sum(rows * max(batch) for batch in _cut(lengths, rows) if len(batch) == rows)


EXERCISE = Exercise(
    title="How much is padding",
    task="`lengths` are the lengths of sentences, batched in this order with `rows` sentences a batch; the last batch "
    "may be smaller. Return the share of all positions that are pads, from 0 to 1.",
    reference=pad_share,
    cases=lambda: [
        case([2, 6, 3, 6, 2, 3], 2, about="the six lengths of the text"),
        case([2, 2, 3, 3, 6, 6], 2, about="the same, sorted"),
        case([4, 9, 5, 7, 12], 2, about="the last batch is smaller"),
        case([3, 8, 5, 4, 9, 2, 7], 3, about="three a batch, and one left"),
        case([5, 11, 2, 6], 1, about="one sentence a batch"),
        case([5, 11, 2, 6], 50, about="all in one batch"),
    ],
    mistakes=(
        Mistake(
            "real-share",
            lambda lengths, rows: 1 - pad_share(lengths, rows),
            "That is the share of real tokens. The pads are the rest.",
        ),
        Mistake(
            "mean-of-shares",
            _mean_of_shares,
            "You average the shares of the batches. A batch with many positions must count more: add up pads and "
            "positions over all batches, and divide once.",
        ),
        Mistake(
            "longest-of-all",
            _of_one_batch,
            "Every batch is padded to the longest sentence of *all*. A batch is as wide as its own longest sentence.",
        ),
        Mistake(
            "rest-lost",
            _without_the_rest,
            "The last batch is missing when it is smaller than `rows`.",
        ),
        Mistake(
            "positions-of-the-rest-lost",
            _positions_of_the_rest_lost,
            "Your positions lack those of the last batch when it is smaller than `rows`, although its tokens are "
            "counted. Where no batch is full, that divides by 0.",
        ),
        Mistake(
            "rest-filled-up",
            _from(lambda batch, rows: (sum(batch), rows * max(batch))),
            "You count the last batch as if it had `rows` rows. It has only as many as sentences are left.",
        ),
        Mistake(
            "pads-by-tokens",
            lambda lengths, rows: pad_share(lengths, rows) / (1 - pad_share(lengths, rows)),
            "You divide the pads by the *real tokens*. Divide by all positions.",
        ),
        Mistake(
            "share-of-sentences",
            lambda lengths, rows: sum(n < max(b) for b in _cut(lengths, rows) for n in b) / len(lengths),
            "That is the share of *sentences* that have pads. Count the pads, and divide by the number of positions.",
        ),
        Mistake(
            "longest-of-the-first",
            lambda lengths, rows: 1 - sum(lengths) / (max(lengths[:rows]) * len(lengths)),
            "Every batch has the width of the *first* one. A batch is as wide as its own longest sentence.",
        ),
        Mistake(
            "number-of-pads",
            lambda lengths, rows: sum(len(b) * max(b) - sum(b) for b in _cut(lengths, rows)),
            "That is the number of pads. Divide it by the number of positions.",
        ),
        Mistake(
            "in-percent",
            lambda lengths, rows: 100 * pad_share(lengths, rows),
            "Your number is in percent. A share goes from 0 to 1.",
        ),
        Mistake(
            "sorted-first",
            lambda lengths, rows: pad_share(sorted(lengths), rows),
            "You sort the lengths first. Here the sentences are batched in the order in which they come.",
        ),
        Mistake(
            "widths-not-times-rows",
            lambda lengths, rows: 1 - sum(max(b) for b in _cut(lengths, rows)) / sum(lengths),
            "The width of a batch is not yet its number of positions: it has that many in each of its rows.",
        ),
    ),
    hints=(
        "Two numbers are enough: how many positions all batches have together, and how many tokens are real.",
        "Cut the list into batches. A batch has as many positions as its number of sentences times its longest length.",
        "`1 - sum(lengths) / sum(len(batch) * max(batch) for batch in batches)`",
    ),
    alternatives=(pads_counted_one_by_one, with_real_tensors, with_numpy),
    difficulty=1,
    minutes=6,
)
