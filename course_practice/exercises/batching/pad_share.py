import numpy as np  # noqa: F401 - mistakes use it
import torch  # noqa: F401

from course_practice.engine import Exercise, case


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


EXERCISE = Exercise(
    reference=pad_share,
    cases=lambda: [
        case([2, 6, 3, 6, 2, 3], 2, about="the six lengths of the text"),
        case([2, 2, 3, 3, 6, 6], 2, about="the same, sorted"),
        case([4, 9, 5, 7, 12], 2, about="the last batch is smaller"),
        case([3, 8, 5, 4, 9, 2, 7], 3, about="three a batch, and one left"),
        case([5, 11, 2, 6], 1, about="one sentence a batch"),
        case([5, 11, 2, 6], 50, about="all in one batch"),
    ],
    alternatives=(pads_counted_one_by_one,),
)
