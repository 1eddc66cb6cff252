"""Exercise: a number for each distance."""

import torch

from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import counting


def relative_bias(n, table):
    """A table (n, n) for the scores: entry (i, j) depends on j − i alone.

    `table` holds 2c + 1 numbers, for the distances −c … c; what is farther
    away counts as −c or c.

    >>> relative_bias(3, torch.tensor([-1.0, 0.0, 1.0]))
    tensor([[ 0.,  1.,  1.],
            [-1.,  0.,  1.],
            [-1., -1.,  0.]])
    """
    c = len(table) // 2
    position = torch.arange(n)
    distance = position[None, :] - position[:, None]
    return table[distance.clamp(-c, c) + c]


def by_min_and_max(n, table):
    c = (table.shape[0] - 1) // 2
    return torch.stack([torch.stack([table[min(max(j - i, -c), c) + c] for j in range(n)]) for i in range(n)])


def by_sliding(n, table):
    c = len(table) // 2
    far = max(n - 1 - c, 0)
    line = torch.cat([table[:1].expand(far), table, table[-1:].expand(far)])  # distances −(far + c) … far + c
    start = far + c
    return torch.stack([line[start - i : start - i + n] for i in range(n)])


def by_one_hot(n, table):
    c = len(table) // 2
    distance = (torch.arange(n) - torch.arange(n).unsqueeze(1)).clip(min=-c, max=c)
    return (torch.nn.functional.one_hot(distance + c, 2 * c + 1).to(table.dtype) * table).sum(-1)


def _places(n):
    return torch.arange(n)[None, :], torch.arange(n)[:, None]


def _bias(index):
    """The rule with another index: index(distance, c, size)."""

    def bias(n, table):
        j, i = _places(n)
        return table[index(j - i, len(table) // 2)]

    return bias


def _absolute_keys(n, table):
    return table[torch.arange(n).clamp(max=len(table) - 1)].expand(n, n)


def _absolute_queries(n, table):
    return _absolute_keys(n, table).T


def _zero_outside(n, table):
    j, i = _places(n)
    c = len(table) // 2
    return table[(j - i).clamp(-c, c) + c] * ((j - i).abs() <= c)


def _ignored_beyond(n, table):
    j, i = _places(n)
    return relative_bias(n, table).masked_fill((j - i).abs() > len(table) // 2, -torch.inf)


def _triangle(n, table):
    return relative_bias(n, table).tril()


def _distance_itself(n, table):
    j, i = _places(n)
    c = len(table) // 2
    return (j - i).clamp(-c, c).to(table.dtype)


EXERCISE = Exercise(
    title="A number for each distance",
    task="From 2c + 1 numbers make a table (n, n): entry (i, j) is the number of the distance j − i, cut to −c … c.",
    reference=relative_bias,
    cases=lambda: [
        case(3, counting(5) + 1.5, about="all distances in the table"),
        case(5, counting(5) + 1.5, about="distances beyond the table"),
        case(2, counting(3) - 3.5, about="two tokens"),
        case(7, counting(7).square() + 2.5, about="as many numbers as tokens"),
        case(4, counting(1) + 6.5, about="one number for all"),
        case(1, counting(9) + 1.5, about="a single token"),
        case(9, counting(3) - 5.5, about="far beyond the table"),
    ],
    mistakes=(
        Mistake(
            "turned-round",
            _bias(lambda r, c: (-r).clamp(-c, c) + c),
            "Before and after have changed places. Row i is the query, column j the key, and the distance is j − i: "
            "positive for keys to the right.",
        ),
        Mistake(
            "no-direction",
            _bias(lambda r, c: r.abs().clamp(max=c) + c),
            "Your table is symmetric, so before and after are the same. Keep the sign of the distance.",
        ),
        Mistake(
            "no-direction-from-the-start",
            _bias(lambda r, c: r.abs().clamp(max=2 * c)),
            "Your table is symmetric, so before and after are the same. Distance 0 belongs to the number in the "
            "middle, index c.",
        ),
        Mistake(
            "negative-index",
            _bias(lambda r, c: r.clamp(-c, c)),
            "Distance 0 gets the first number, and negative ones are counted from the end. The table begins with "
            "distance −c: add c to the index.",
        ),
        Mistake(
            "cut-after-the-shift",
            _bias(lambda r, c: (r + c).clamp(0, c)),
            "Distances to the right are cut to 0. After the shift by c, the index runs from 0 to 2c.",
        ),
        Mistake(
            "wraps-round",
            _bias(lambda r, c: (r + c) % (2 * c + 1)),
            "Beyond the table your numbers start again from the other end. Distances beyond c count as c, those "
            "below −c as −c.",
        ),
        Mistake(
            "one-too-narrow",
            _bias(lambda r, c: r.clamp(-max(c - 1, 0), max(c - 1, 0)) + c),
            "You cut one distance too early: c itself is still in the table.",
        ),
        Mistake(
            "zero-beyond",
            _zero_outside,
            "Beyond the table you put 0. Distances beyond c take the number of c, those below −c that of −c.",
        ),
        Mistake(
            "ignored-beyond",
            _ignored_beyond,
            "Beyond the table you put −∞, so those keys would be ignored. Distances beyond c take the number of c, "
            "those below −c that of −c.",
        ),
        Mistake(
            "upside-down",
            lambda n, table: relative_bias(n, table).flip(0),
            "Your rows are right and stand upside down: row 0 belongs to query 0, and its first entry to distance 0.",
        ),
        Mistake(
            "one-row-for-all",
            _absolute_keys,
            "Every row is the same, so your numbers belong to the positions of keys. They belong to distances, j − i.",
        ),
        Mistake(
            "one-column-for-all",
            _absolute_queries,
            "Every column is the same, so your numbers belong to the positions of queries. They belong to distances, "
            "j − i.",
        ),
        Mistake(
            "past-alone",
            _triangle,
            "Keys to the right get 0. This is no mask: distances 1 … c have numbers of their own.",
        ),
        Mistake(
            "distances-themselves",
            _distance_itself,
            "These are the distances. Look them up in the table: distance −c is its entry 0.",
        ),
    ),
    hints=(
        "First make the table of distances j − i for three tokens on paper. Which index of `table` has distance 0?",
        "Cut the distances to −c … c, with c = len(table) // 2, and add c: then they are indices from 0 to 2c.",
        "`table[distance.clamp(-c, c) + c]`, where `distance = position[None, :] - position[:, None]`.",
    ),
    alternatives=(by_min_and_max, by_sliding, by_one_hot),
    difficulty=2,
    minutes=12,
)
