"""Exercise: add the right rows."""

import math

import torch

from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.positional_encoding._clocks import words


def add_positions(x, table, offset=0):
    """x (batch, n, d_model) plus rows offset … offset + n − 1 of the table.

    >>> table = torch.tensor([[0.0], [10.0], [20.0], [30.0]])
    >>> add_positions(torch.tensor([[[1.0], [2.0]]]), table, offset=1)
    tensor([[[11.],
             [22.]]])
    """
    n = x.shape[1]
    return x + table[offset : offset + n]


def by_gathering(x, table, offset=0):
    position = torch.arange(offset, offset + x.size(1))
    return x + table[position].unsqueeze(0)


def by_looking_up(x, table, offset=0):
    position = torch.arange(x.shape[1]) + offset
    return x + torch.nn.functional.embedding(position, table)


def by_narrowing(x, table, offset=0):
    return table.narrow(0, offset, x.shape[1]).expand_as(x) + x


def sentence_by_sentence(x, table, offset=0):
    return torch.stack([torch.stack([v + table[offset + p] for p, v in enumerate(sentence)]) for sentence in x])


def _inside_x(x, table, offset=0):
    result = x.clone()
    result[:, offset:] += table[offset : x.shape[1]]
    return result


def _of(rows):
    return lambda x, table, offset=0: x + rows(x, table, offset)


EXERCISE = Exercise(
    title="Add the right rows",
    task="Return x (batch, n, d_model) plus the rows offset … offset + n − 1 of the table (n_positions, d_model). "
    "Leave x itself as it is.",
    reference=add_positions,
    cases=lambda: [
        case(words(1, 3, 2), words(5, 2, seed=1), about="one sentence"),
        case(words(2, 4, 3, seed=2), words(7, 3, seed=3), about="two sentences"),
        case(words(2, 1, 3, seed=4), words(9, 3, seed=5), offset=5, about="one new token after five"),
        case(words(3, 3, 4, seed=6), words(10, 4, seed=7), offset=2, about="as many sentences as tokens"),
        case(words(2, 2, 3, seed=8), words(6, 3, seed=9), offset=4, about="the last rows of the table"),
        case(words(4, 4, 4, seed=10), words(4, 4, seed=11), about="all sizes equal"),
        case(words(4, 6, 2, seed=12), words(6, 2, seed=13), 0, about="as many positions as the table has"),
    ],
    mistakes=(
        Mistake(
            "along-the-batch",
            _of(lambda x, table, offset: table[offset : offset + x.shape[0], None]),
            "All tokens of a sentence get the same row. The first axis of x counts sentences: which axis counts "
            "positions?",
        ),
        Mistake(
            "as-many-rows-as-sentences",
            _of(lambda x, table, offset: table[offset : offset + len(x)]),
            "You take as many rows as there are *sentences*: the first axis of x is the batch. Each token needs a row, "
            "so there must be `x.shape[1]` of them.",
        ),
        Mistake(
            "offset-ignored",
            _of(lambda x, table, offset: table[: x.shape[1]]),
            "You always add the first rows. With an offset, the first token stands at position `offset`.",
        ),
        Mistake(
            "one-row-too-far",
            _of(lambda x, table, offset: table.roll(-1, 0)[offset : offset + x.shape[1]]),
            "Your rows begin one too late: the first token stands at position `offset`, and the table counts from 0.",
        ),
        Mistake(
            "one-row-for-all",
            _of(lambda x, table, offset: table[offset]),
            "All tokens get the row of the first one. Take n rows: `offset` up to, but not including, offset + n.",
        ),
        Mistake(
            "rows-alone",
            lambda x, table, offset=0: table[offset : offset + x.shape[1]].expand_as(x),
            "These are the rows of the table alone. Where is x?",
        ),
        Mistake(
            "product",
            lambda x, table, offset=0: x * table[offset : offset + x.shape[1]],
            "You multiply by the rows. They are added.",
        ),
        Mistake(
            "concatenated",
            lambda x, table, offset=0: torch.cat(
                [x, table[offset : offset + x.shape[1]].expand(len(x), -1, -1)], dim=-1
            ),
            "Your vectors are wider than x: you put the rows beside the words. They are added.",
        ),
        Mistake(
            "appended",
            lambda x, table, offset=0: torch.cat(
                [x, table[offset : offset + x.shape[1]].expand(len(x), -1, -1)], dim=1
            ),
            "Your sentences are longer than x: you put the rows behind the words. They are added.",
        ),
        Mistake(
            "scales-too",
            lambda x, table, offset=0: math.sqrt(x.shape[-1]) * x + table[offset : offset + x.shape[1]],
            "You also multiply x by √d_model. That is the embedding's business, and it is done once, before.",
        ),
        Mistake(
            "last-rows",
            _of(lambda x, table, offset: table[len(table) - x.shape[1] :]),
            "You add the last rows of the table, whatever the offset.",
        ),
        Mistake(
            "offset-inside-x",
            _inside_x,
            "Your first `offset` tokens get no position. All tokens of x are new ones: the first of them stands at "
            "position `offset`.",
        ),
        Mistake(
            "offset-added-as-a-number",
            _of(lambda x, table, offset: table[: x.shape[1]] + offset),
            "You add the offset itself to the vectors. It says at which row to begin.",
        ),
        Mistake(
            "backwards",
            _of(lambda x, table, offset: table[offset : offset + x.shape[1]].flip(0)),
            "You add the rows in the reverse order: the first token gets the last of them.",
        ),
    ),
    hints=(
        "Which axis of x counts positions? How many rows do you need, and which one is the first?",
        "There are n = `x.shape[1]` positions, and their rows begin at `offset` and end before `offset + n`. "
        "Broadcasting gives every sentence the same rows.",
        "`x + table[offset : offset + n]`, which makes a new tensor.",
    ),
    alternatives=(by_gathering, by_looking_up, by_narrowing, sentence_by_sentence),
    difficulty=1,
    minutes=5,
)
