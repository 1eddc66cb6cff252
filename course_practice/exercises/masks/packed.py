"""Exercise: pack sentences into one row."""

import torch

from course_lib.masks import causal_mask
from course_practice.engine import Convention, Exercise, Mistake, case
from course_practice.exercises.masks._shared import NEG_INF, one_infinity, ones


def pack(sentences):
    """One row of ids, their positions, and the mask with which each token sees its own sentence so far.

    >>> ids, positions, mask = pack([[5, 6], [7]])
    >>> ids, positions
    (tensor([5, 6, 7]), tensor([0, 1, 0]))
    >>> mask.int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [0, 0, 1]], dtype=torch.int32)
    """
    ids = torch.cat([torch.tensor(tokens) for tokens in sentences])
    positions = torch.cat([torch.arange(len(tokens)) for tokens in sentences])
    sentence = torch.cat([torch.full((len(tokens),), i) for i, tokens in enumerate(sentences)])
    same = sentence[:, None] == sentence[None, :]
    return ids, positions, same & causal_mask(len(ids))


def with_block_diagonal(sentences):
    blocks = [causal_mask(len(tokens)) for tokens in sentences]
    ids = torch.tensor([token for tokens in sentences for token in tokens])
    return ids, torch.cat([torch.arange(len(block)) for block in blocks]), torch.block_diag(*blocks)


def cell_by_cell(sentences):
    ids = [token for tokens in sentences for token in tokens]
    owner = [i for i, tokens in enumerate(sentences) for _token in tokens]
    positions = [position for tokens in sentences for position in range(len(tokens))]
    mask = [[owner[i] == owner[j] and j <= i for j in range(len(ids))] for i in range(len(ids))]
    return torch.tensor(ids), torch.tensor(positions), torch.tensor(mask)


def by_pasting_squares(sentences):
    ids = torch.tensor([token for tokens in sentences for token in tokens])
    positions, mask = torch.zeros_like(ids), torch.zeros(len(ids), len(ids), dtype=torch.bool)
    start = 0
    for tokens in sentences:
        here = slice(start, start + len(tokens))
        positions[here] = torch.arange(len(tokens))
        mask[here, here] = ones(len(tokens)).tril()
        start += len(tokens)
    return ids, positions, mask


def _owner(sentences):
    return torch.cat([torch.full((len(tokens),), i) for i, tokens in enumerate(sentences)])


def _same(sentences):
    return _owner(sentences)[:, None] == _owner(sentences)


def _with(positions=None, mask=None):
    """The right answer with its positions or its mask exchanged."""

    def wrong(sentences):
        ids, right_positions, right_mask = pack(sentences)
        return (
            ids,
            right_positions if positions is None else positions(sentences, right_positions),
            right_mask if mask is None else mask(sentences, right_mask),
        )

    return wrong


def _running(sentences, positions):
    return torch.arange(len(positions))


def _order(sentences, mask):
    return causal_mask(len(mask))


def _marked(marks):
    """The right mask, but tokens belong together where their sentences have the same mark."""

    def mask(sentences, _mask):
        lengths = torch.tensor([len(tokens) for tokens in sentences])
        mark = torch.tensor(marks(sentences)).repeat_interleave(lengths)
        return (mark[:, None] == mark) & causal_mask(len(mark))

    return mask


def _starting_again(sentences):
    return pack(sentences)[1]


def _compares_tokens(sentences):
    ids, positions, _mask = pack(sentences)
    return ids, positions, (ids[:, None] == ids) & causal_mask(len(ids))


EXERCISE = Exercise(
    title="Pack sentences into one row",
    task="From a list of sentences (lists of ids), return ids (n,), positions (n,) that start at 0 in each sentence, "
    "and the mask (n, n): a token sees its own sentence up to and including itself.",
    reference=pack,
    canonical=one_infinity,
    cases=lambda: [
        case([[5, 6], [7]], about="two sentences"),
        case([[7, 9, 5, 12], [4, 6]], about="a long one first"),
        case([[8], [4, 6, 9], [5, 7]], about="three of different lengths"),
        case([[5, 6, 5], [5, 6, 5]], about="the same sentence twice"),
        case([[4, 6], [7, 5]], about="two of the same length"),
        case([[4, 5, 6]], about="a single sentence"),
    ],
    mistakes=(
        Mistake(
            "order-alone",
            _with(mask=_order),
            "The positions are right, but a later sentence sees the ones before it: the causal mask alone does not "
            "know where a sentence begins.",
        ),
        Mistake(
            "positions-run-on",
            _with(positions=_running),
            "The mask is right, but your positions run on through the row. A model would see the second sentence in "
            "the middle of a text: start again at 0.",
        ),
        Mistake(
            "order-alone-and-positions-run-on",
            _with(positions=_running, mask=_order),
            "Nothing says yet where a sentence begins: the positions run on, and later sentences see earlier ones.",
        ),
        Mistake(
            "blocks-without-order",
            _with(mask=lambda sentences, mask: _same(sentences)),
            "Each token sees its own sentence, and all of it, so the future too. Join the blocks with the causal mask.",
        ),
        Mistake(
            "blocks-or-order",
            _with(mask=lambda sentences, mask: _same(sentences) | causal_mask(len(mask))),
            "A cell gets through when one of the two tables allows it. It needs both permissions.",
        ),
        Mistake(
            "compares-tokens",
            _compares_tokens,
            "A token sees its equals, in whatever sentence. Compare the numbers of the sentences, not the ids.",
        ),
        Mistake(
            "sentences-of-one-length-merge",
            _with(mask=_marked(lambda sentences: [len(tokens) for tokens in sentences])),
            "Sentences of the same length see each other. Number the sentences in their order, so that no two share a "
            "number.",
        ),
        Mistake(
            "equal-sentences-merge",
            _with(mask=_marked(lambda sentences: [sentences.index(tokens) for tokens in sentences])),
            "Where a sentence occurs twice, its second copy sees the first: `.index`, for one, finds the first place "
            "of both. Number the sentences in their order.",
        ),
        Mistake(
            "compares-positions",
            _with(mask=lambda sentences, mask: _starting_again(sentences) <= _starting_again(sentences)[:, None]),
            "A token sees other sentences, wherever the position is no greater than its own. A position does not say "
            "to which sentence a token belongs.",
        ),
        Mistake(
            "excludes-self",
            _with(mask=lambda sentences, mask: mask.tril(-1)),
            "Each token is hidden from itself, so the first one of each sentence sees nothing. Keep the diagonal.",
        ),
        Mistake(
            "shows-the-future",
            _with(mask=lambda sentences, mask: _same(sentences).triu()),
            "The blocks are right, but inside them the future is shown and the past hidden: keep the lower triangle.",
        ),
        Mistake(
            "positions-from-one",
            _with(positions=lambda sentences, positions: positions + 1),
            "Your positions start at 1 in each sentence; the first position is 0.",
        ),
        Mistake(
            "numbers-of-sentences-as-positions",
            _with(positions=lambda sentences, positions: _owner(sentences)),
            "These are the numbers of the sentences. A position says where a token stands *inside* its sentence.",
        ),
        Convention(
            "true-means-ignore",
            _with(mask=lambda sentences, mask: ~mask),
            "Valid where True means ignore, as in `nn.MultiheadAttention`. Here True means *may attend*.",
        ),
        Convention(
            "additive",
            _with(mask=lambda sentences, mask: torch.zeros(mask.shape).masked_fill(~mask, NEG_INF)),
            "Valid as a mask to *add* (0 and −∞). Here masks are boolean, True = may attend.",
        ),
    ),
    hints=(
        "Two tables are joined: which token is in the same sentence, and which is not in the future.",
        "Give each token the number of its sentence, as a tensor (n,). Compare it with itself as a column and as a "
        "row, and join the result with `causal_mask(n)`.",
        "`same = sentence[:, None] == sentence[None, :]`, `mask = same & causal_mask(len(ids))`, and "
        "`torch.cat([torch.arange(len(tokens)) for tokens in sentences])` for the positions.",
    ),
    alternatives=(with_block_diagonal, cell_by_cell, by_pasting_squares),
    difficulty=2,
    minutes=15,
)
