"""Exercises of chapter 05, masks."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_lib.exercises.engine import Convention, Exercise, Mistake, case
from course_lib.exercises.engine.compare import as_tensor
from course_lib.masks import causal_mask, masked_softmax, padding_mask
from course_lib.tokens import PAD

NEG_INF = float("-inf")


def _random(*shape, seed=0, scale=1.0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * scale


def _ones(n):
    return torch.ones(n, n, dtype=torch.bool)


def _one_infinity(mask):
    """All masks made to be added, with −∞, −1e9 or −1e4, are one and the same mistake."""
    return mask.masked_fill(mask < -1e3, NEG_INF) if mask.is_floating_point() else mask


# masks.causal


def by_comparing_positions(n):
    positions = torch.arange(n)
    return positions[None, :] <= positions[:, None]


def with_two_loops(n):
    return torch.tensor([[key <= query for key in range(n)] for query in range(n)])


def by_hiding_the_future(n):
    return ~torch.ones(n, n).triu(diagonal=1).bool()


CAUSAL = Exercise(
    id="masks.causal",
    title="The causal mask",
    task="Return an (n, n) boolean mask, True where query i (row) may attend to key j (column): j <= i.",
    reference=causal_mask,
    cases=lambda: [case(n, about=f"{n} token{'s' * (n != 1)}") for n in (1, 2, 3, 5, 8)],
    canonical=_one_infinity,
    mistakes=(
        Mistake(
            "excludes-self",
            lambda n: _ones(n).tril(-1),
            "Your mask hides each token from itself. Token 0 then has nothing to look at: keep the diagonal, j <= i.",
        ),
        Mistake(
            "one-too-far",
            lambda n: _ones(n).tril(1),
            "Each token sees one token of its future, and key i + 1 is the very word that row i must predict. "
            "Where does the last True of row 0 belong?",
        ),
        Mistake(
            "transposed",
            lambda n: _ones(n).triu(),
            "Your mask shows the future and hides the past. Rows are queries, columns keys: keep the lower triangle.",
        ),
        Mistake(
            "flipped",
            lambda n: _ones(n).tril().flip(1),
            "Your triangle leans the other way: row 0 sees the last key alone. Which key must row 0 see?",
        ),
        Mistake(
            "flipped-upside-down",
            lambda n: _ones(n).tril().flip(0),
            "Your triangle stands on its head: the first token sees everything, the last one a single key. "
            "Whose past is longest?",
        ),
        Mistake(
            "only-itself",
            lambda n: torch.eye(n, dtype=torch.bool),
            "Every token sees itself alone, so no information flows between tokens. Its whole past belongs to the row.",
        ),
        Mistake(
            "itself-and-one-before",
            lambda n: _ones(n).tril().triu(-1),
            "Every token sees itself and one token before it. A causal mask shows the *whole* past, not a window of "
            "it.",
        ),
        Mistake(
            "one-before-only",
            lambda n: _ones(n).tril(-1).triu(-1),
            "Every token sees the one before it, and nothing else. A causal mask shows all the past, and the token "
            "itself.",
        ),
        Mistake(
            "hides-nothing",
            _ones,
            "Your mask lets every token see every other, the future included. Which cells of row 0 must be False?",
        ),
        Mistake(
            "zero-times-infinity",
            lambda n: (1 - torch.ones(n, n).tril()) * NEG_INF,
            "Zero times infinity is NaN, so the cells that should stay visible are NaN. And no infinities are needed "
            "here: "
            "True = may attend.",
        ),
        Convention(
            "true-means-ignore",
            lambda n: _ones(n).triu(1),
            "Valid for `nn.MultiheadAttention`, where True means ignore; here True means *may attend*. Add a `~`.",
        ),
        Mistake(
            "true-means-ignore-and-one-too-far",
            lambda n: _ones(n).triu(2),
            "Two things at once: True means *ignore* in your mask (here it means may attend), and key i + 1 is let "
            "through.",
        ),
        Convention(
            "additive",
            lambda n: torch.full((n, n), NEG_INF).triu(1),
            "Valid as a mask to *add* (0 and −∞). Here masks are boolean: compare it with 0, and you have True = may "
            "attend.",
        ),
    ),
    hints=(
        "Draw the mask for three tokens: which cells of row 0, row 1, row 2 are True?",
        "Row i is the query, column j the key. Past and present mean j <= i: a lower triangle with its diagonal.",
        "`torch.ones(n, n, dtype=torch.bool)` is all True; `.tril()` keeps the lower triangle.",
    ),
    alternatives=(by_comparing_positions, with_two_loops, by_hiding_the_future),
    difficulty=1,
    minutes=5,
)


# masks.padding


def with_unsqueeze(ids, pad_id=PAD):
    return (ids != pad_id).unsqueeze(1).unsqueeze(2)


def with_logical_not(ids, pad_id=PAD):
    batch, k_len = ids.shape
    return torch.logical_not(ids.eq(pad_id)).reshape(batch, 1, 1, k_len)


def with_a_loop(ids, pad_id=PAD):
    return torch.tensor([[[[token != pad_id for token in row]]] for row in ids.tolist()])


def _one_row_for_all_queries(mask):
    """A (batch, heads, q_len, k_len) mask with equal rows says the same as (batch, 1, 1, k_len)."""
    mask = _one_infinity(mask)
    return mask[:, :1, :1] if mask.dim() == 4 and mask.numel() and (mask == mask[:, :1, :1]).all() else mask


def _by_length(ids, pad_id=PAD):
    lengths = (ids != pad_id).sum(dim=1)
    return (torch.arange(ids.shape[1]) < lengths[:, None])[:, None, None, :]


PADDING = Exercise(
    id="masks.padding",
    title="The padding mask",
    task="From ids (batch, k_len), return a boolean mask (batch, 1, 1, k_len): True at every token that is no pad.",
    reference=padding_mask,
    cases=lambda: [
        case(torch.tensor([[5, 6, 0]]), about="one sentence, one pad"),
        case(torch.tensor([[5, 6, 7, 0, 0], [8, 9, 4, 6, 5]]), about="padding on the right"),
        case(torch.tensor([[0, 0, 5, 6, 7], [0, 8, 9, 4, 6]]), about="padding on the left"),
        case(torch.tensor([[5, 0, 6, 7], [4, 5, 0, 8], [6, 7, 8, 9]]), about="a pad between two words"),
        case(torch.tensor([[7, 0, 0], [4, 5, 0], [6, 8, 9]]), about="as many sentences as tokens"),
        case(torch.tensor([[0, 6, 3, 1], [4, 0, 1, 1]]), pad_id=1, about="pad_id=1, and 0 is a word"),
        case(torch.tensor([[0, 0], [4, 0], [2, 7]]), about="a sentence of pads alone"),
    ],
    canonical=_one_row_for_all_queries,
    mistakes=(
        Convention(
            "true-means-ignore",
            lambda ids, pad_id=PAD: (ids == pad_id)[:, None, None, :],
            "Valid as `key_padding_mask` of `nn.MultiheadAttention` (without the axes): True there means ignore. "
            "Here True means *may attend*.",
        ),
        Mistake(
            "pad-id-fixed-to-zero",
            lambda ids, pad_id=PAD: (ids != 0)[:, None, None, :],
            "Your mask hides the id 0, whatever `pad_id` says. Other tokenizers pad with 1, or with the "
            "end-of-sentence id.",
        ),
        Mistake(
            "above-the-pad-id",
            lambda ids, pad_id=PAD: (ids > pad_id)[:, None, None, :],
            "Ids below `pad_id` are words too. You ask which ids are *larger* than the pad; which are *different* "
            "from it?",
        ),
        Mistake(
            "two-axes",
            lambda ids, pad_id=PAD: ids != pad_id,
            "The values are right, the axes are missing. Beside scores of shape (batch, n_heads, q_len, k_len), a mask "
            "(batch, k_len) is read as (q_len, k_len). Which two axes must be added, and where?",
        ),
        Mistake(
            "three-axes",
            lambda ids, pad_id=PAD: (ids != pad_id)[:, None, :],
            "One axis is missing: shapes are compared from the right, so the sentences of (batch, 1, k_len) land on "
            "the heads of (batch, n_heads, q_len, k_len).",
        ),
        Mistake(
            "hides-queries",
            lambda ids, pad_id=PAD: (ids != pad_id)[:, None, :, None],
            "Your mask runs along the queries: real words still see the pads, and pads see nothing. "
            "Which axis of the scores counts the keys?",
        ),
        Mistake(
            "hides-queries-and-keys",
            lambda ids, pad_id=PAD: (ids != pad_id)[:, None, :, None] & (ids != pad_id)[:, None, None, :],
            "Keys are enough. Hiding the pads as queries too leaves rows with nothing to see; what a pad's own row "
            "computes is ignored by the loss.",
        ),
        Mistake(
            "on-the-head-axis",
            lambda ids, pad_id=PAD: (ids != pad_id)[:, :, None, None],
            "Your tokens lie on the axis of the heads. The keys are the *last* axis of the scores.",
        ),
        Mistake(
            "batch-on-the-query-axis",
            lambda ids, pad_id=PAD: (ids != pad_id)[None, None],
            "The two new axes stand in front, so sentence 0 masks query 0, sentence 1 query 1. The batch is the "
            "first axis.",
        ),
        Mistake(
            "trusts-the-length",
            _by_length,
            "You count the real tokens and keep as many from the left: right only when all pads stand at the end. "
            "Ask every token by itself.",
        ),
        Mistake(
            "stops-at-the-first-pad",
            lambda ids, pad_id=PAD: (ids != pad_id).int().cumprod(dim=1).bool()[:, None, None, :],
            "Everything after the first pad is hidden. With padding on the left that hides the whole sentence.",
        ),
        Mistake(
            "true-means-ignore-and-two-axes",
            lambda ids, pad_id=PAD: ids == pad_id,
            "Two things: True marks the pads (here it marks what may be seen), and the axes for heads and queries are "
            "missing.",
        ),
        Mistake(
            "true-means-ignore-and-hides-queries",
            lambda ids, pad_id=PAD: (ids == pad_id)[:, None, :, None],
            "Two things: True marks the pads (here it marks what may be seen), and they lie along the queries, not "
            "the keys.",
        ),
        Mistake(
            "keeps-the-ids",
            lambda ids, pad_id=PAD: ids[:, None, None, :],
            "The shape is right, but these are the ids themselves. Ask a question of each: is it different from "
            "`pad_id`?",
        ),
        Convention(
            "additive",
            lambda ids, pad_id=PAD: torch.zeros(ids.shape).masked_fill(ids == pad_id, NEG_INF)[:, None, None, :],
            "Valid as a mask to *add* (0 and −∞). Here masks are boolean, True = may attend.",
        ),
    ),
    hints=(
        "Two steps: which tokens are real, shape (batch, k_len); then the axes for heads and queries.",
        "The mask must line up with scores (batch, n_heads, q_len, k_len): the batch first, the keys last, and an axis "
        "of size 1 for everything that makes no difference.",
        "`ids != pad_id` answers the first; indexing with `[:, None, None, :]` puts two axes of size 1 in the middle.",
    ),
    alternatives=(with_unsqueeze, with_logical_not, with_a_loop),
    difficulty=1,
    minutes=5,
)


# masks.target


def target_mask(ids):
    """The mask of a decoder's self-attention: a token sees itself and what came before it, pads excepted.

    (batch, 1, 1, n) & (n, n) → (batch, 1, n, n): each sentence gets its own table, every head the same one.

    >>> target_mask(torch.tensor([[5, 6, 0]])).int()
    tensor([[[[1, 0, 0],
              [1, 1, 0],
              [1, 1, 0]]]], dtype=torch.int32)
    """
    return padding_mask(ids) & causal_mask(ids.shape[1], ids.device)


def by_logical_and(ids):
    n = ids.shape[1]
    real = (ids != PAD).unsqueeze(1).unsqueeze(2)
    return torch.logical_and(real, torch.tril(torch.ones(n, n, device=ids.device)))


def by_hiding(ids):
    n = ids.shape[1]
    hidden = (ids == PAD)[:, None, None, :] | torch.ones(n, n, dtype=torch.bool, device=ids.device).triu(1)
    return ~hidden


def sentence_by_sentence(ids):
    n = ids.shape[1]
    return torch.tensor([[[[j <= i and row[j] != PAD for j in range(n)] for i in range(n)]] for row in ids.tolist()])


def _target(join, real=padding_mask, order=causal_mask):
    return lambda ids: join(real(ids), order(ids.shape[1]))


def _and(a, b):
    return a & b


def _pads(ids):
    return ~padding_mask(ids)


def _queries(ids):
    return padding_mask(ids).transpose(-2, -1)


TARGET = Exercise(
    id="masks.target",
    title="The mask of a decoder",
    task="From ids (batch, n), return the mask (batch, 1, n, n): a token may see real tokens up to and with itself.",
    reference=target_mask,
    canonical=_one_infinity,
    cases=lambda: [
        case(torch.tensor([[5, 6, 0]]), about="one sentence, one pad"),
        case(torch.tensor([[5, 6, 7, 0, 0], [8, 9, 4, 6, 0]]), about="padding on the right"),
        case(torch.tensor([[0, 0, 5, 6], [0, 8, 9, 4], [5, 4, 7, 9]]), about="padding on the left"),
        case(torch.tensor([[7, 0, 0], [4, 5, 0], [6, 8, 9]]), about="as many sentences as tokens"),
        case(torch.tensor([[4], [5]]), about="a single token each"),
        case(torch.tensor([[0, 0], [4, 0], [2, 7]]), about="a sentence of pads alone"),
    ],
    mistakes=(
        Mistake(
            "or-instead-of-and",
            _target(lambda a, b: a | b),
            "With `|` a cell gets through when *one* of the masks allows it. It needs the permission of both.",
        ),
        Mistake(
            "added",
            _target(lambda a, b: a.int() + b.int()),
            "The sum of two masks holds 0, 1 and 2: a 1 means that one of them objects. Which cells may stay?",
        ),
        Mistake(
            "exclusive-or",
            _target(lambda a, b: a ^ b),
            "The operator `^` is True where the two masks disagree. A cell may stay where both say True.",
        ),
        Mistake(
            "python-and",
            lambda ids: padding_mask(ids) and causal_mask(ids.shape[1]),
            "Python's `and` asks whether a whole tensor is true, and a tensor of many booleans refuses to answer. "
            "`&` works cell by cell.",
        ),
        Mistake(
            "order-alone",
            lambda ids: causal_mask(ids.shape[1]),
            "The order is right, but pads are visible, and the batch axis is missing: the padding mask is not used.",
        ),
        Mistake(
            "order-alone-per-sentence",
            lambda ids: causal_mask(ids.shape[1]).expand(len(ids), 1, -1, -1),
            "The shape is right, but pads are visible: the padding mask is not used.",
        ),
        Mistake(
            "padding-alone",
            padding_mask,
            "Pads are hidden, the future is not: the causal mask is not used.",
        ),
        Mistake(
            "padding-alone-for-every-query",
            lambda ids: padding_mask(ids).expand(-1, 1, ids.shape[1], -1),
            "The shape is right and pads are hidden, but the future is not: the causal mask is not used.",
        ),
        Mistake(
            "no-axis-for-heads",
            lambda ids: (ids != PAD)[:, None, :] & causal_mask(ids.shape[1]),
            "The values are right, the axis of the heads is missing: beside scores (batch, n_heads, n, n) your "
            "sentences would land on the heads.",
        ),
        Mistake(
            "shows-the-future",
            _target(_and, order=lambda n: _ones(n).triu()),
            "Pads are right, but the order is turned round: the future is shown and the past hidden. "
            "Rows are queries: keep the lower triangle.",
        ),
        Mistake(
            "excludes-self",
            _target(_and, order=lambda n: _ones(n).tril(-1)),
            "Pads are right, but each token is hidden from itself. Keep the diagonal, j <= i.",
        ),
        Mistake(
            "one-too-far",
            _target(_and, order=lambda n: _ones(n).tril(1)),
            "Pads are right, but each token sees the one after it, which is the word it must predict.",
        ),
        Mistake(
            "hidden-future-marked-true",
            _target(_and, order=lambda n: _ones(n).triu(1)),
            "Your order mask is True in the future (True = ignore), your padding mask True at words (True = keep). "
            "Give both the same meaning before `&`.",
        ),
        Mistake(
            "pads-marked-true",
            _target(_and, real=_pads),
            "Your padding mask is True at pads, your order mask True at what may be seen. Give both the same meaning.",
        ),
        Mistake(
            "hides-queries",
            _target(_and, real=_queries),
            "The rows of pads are hidden, and their columns are not: real words still see the pads. Pads are hidden "
            "as keys.",
        ),
        Mistake(
            "hides-queries-and-keys",
            lambda ids: target_mask(ids) & _queries(ids),
            "Keys are enough: hiding pads as queries too leaves rows with nothing to see, and the loss ignores those "
            "rows anyway.",
        ),
        Convention(
            "true-means-ignore",
            lambda ids: ~target_mask(ids),
            "Valid where True means ignore, as in `nn.MultiheadAttention`. Here True means *may attend*.",
        ),
        Convention(
            "additive",
            lambda ids: torch.zeros(target_mask(ids).shape).masked_fill(~target_mask(ids), NEG_INF),
            "Valid as a mask to *add* (0 and −∞). Here masks are boolean, True = may attend.",
        ),
        Mistake(
            "ignored-by-both",
            lambda ids: (ids == PAD)[:, None, None, :] & _ones(ids.shape[1]).triu(1),
            "With True = ignore a cell goes when *one* of the masks objects, so they are joined by `|`. "
            "And here True means may attend.",
        ),
    ),
    hints=(
        "Two tables are joined: which keys are real (one row per sentence), and which keys lie in the past (one "
        "table for all sentences).",
        "A cell may be seen if both tables say True. Shapes (batch, 1, 1, n) and (n, n) broadcast to (batch, 1, n, n).",
        "`order = causal_mask(ids.shape[1])`, and `&` joins two boolean tensors cell by cell.",
    ),
    alternatives=(by_logical_and, by_hiding, sentence_by_sentence),
    difficulty=1,
    minutes=5,
)


# masks.softmax


def zero_then_renormalize(scores, mask):
    weights = scores.softmax(dim=-1) * mask
    total = weights.sum(dim=-1, keepdim=True)
    return torch.where(total > 0, weights / total, torch.zeros_like(weights))


def infinity_then_nan_to_num(scores, mask):
    return torch.softmax(scores.masked_fill(mask.logical_not(), NEG_INF), dim=-1).nan_to_num(0.0)


def exponentials_by_hand(scores, mask):
    exps = torch.exp(scores - scores.amax(dim=-1, keepdim=True)) * mask
    return exps / exps.sum(dim=-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)


def _softmax_cases():
    half = _random(3, 5, seed=5).half()
    some = _random(2, 3, 5, 7, seed=4) > -0.5
    some[1, 2, 3] = False
    padded = torch.tensor([[4, 5, 6, 7, 0, 0, 0], [0, 0, 0, 8, 9, 4, 5]])
    return [
        case(torch.tensor([[1.0, 2.0, 3.0]]), mask=torch.tensor([[True, True, False]]), about="the last key hidden"),
        case(torch.zeros(2, 2), mask=torch.tensor([[True, False], [False, False]]), about="an empty row"),
        case(_random(5, 5, seed=1), mask=causal_mask(5), about="causal"),
        case(_random(2, 3, 5, 7, seed=2), mask=padding_mask(padded), about="padding, several heads"),
        case(_random(2, 3, 5, 7, seed=3), mask=some, about="any mask, one row empty"),
        case(_random(3, 3, 3, seed=6), mask=causal_mask(3), about="all sizes equal"),
        case(_random(2, 5, seed=7) + 100.0, mask=torch.tensor([True, False, True, True, False]), about="large scores"),
        case(half, mask=torch.tensor([[True, True, False, True, False]]), about="float16"),
        case(
            torch.tensor([[-60.0, -61.0, 0.0]]),
            mask=torch.tensor([[True, True, False]]),
            about="what is visible lies far below what is hidden",
        ),
        case(
            torch.tensor([[-150.0, -151.0, -140.0]]),
            mask=torch.tensor([[True, True, False]]),
            about="all scores lie far below zero",
        ),
    ]


def _masked(scores, mask, fill=NEG_INF, axis=-1):
    return scores.masked_fill(~mask, fill).softmax(dim=axis)


def _nan_in_whole_rows(weights):
    """Whether a hidden key beside a NaN is NaN or 0 depends on how it was hidden, not on the mistake."""
    if not weights.is_floating_point() or weights.dim() == 0:
        return weights
    return weights.masked_fill(weights.isnan().any(dim=-1, keepdim=True), math.nan)


def _zeroed(weights, mask):
    return weights.masked_fill(~mask, 0.0)


def _share(weights, guard):
    return weights / (weights.sum(dim=-1, keepdim=True) + guard)


SOFTMAX = Exercise(
    id="masks.softmax",
    title="A softmax with a mask",
    task="Return softmax(scores) over the last axis with weight 0 wherever mask is False; a row without any True is "
    "all zeros.",
    reference=masked_softmax,
    cases=_softmax_cases,
    canonical=_nan_in_whole_rows,
    rtol=2e-3,  # one case is in float16, and an answer in float64 is more exact than the expected one
    mistakes=(
        Mistake(
            "empty-row-nan",
            _masked,
            "Right wherever there is something to see. A row of nothing but −∞ gives 0 / 0 = NaN: set it to zero "
            "afterwards.",
        ),
        Mistake(
            "empty-row-uniform",
            lambda scores, mask: _masked(scores, mask, torch.finfo(scores.dtype).min),
            "Right wherever there is something to see. In an empty row all scores are equally low, so the softmax is "
            "uniform: every hidden key gets weight. Set hidden weights to zero afterwards.",
        ),
        Mistake(
            "too-large-for-half",
            lambda scores, mask: _zeroed(_masked(scores, mask, -1e9), mask),
            "Right in float32; float16 ends at −65504, so −1e9 cannot be stored. `torch.finfo(scores.dtype).min` fits "
            "every type.",
        ),
        Mistake(
            "too-large-for-half-and-empty-row-uniform",
            lambda scores, mask: _masked(scores, mask, -1e9),
            "Two cases break it: float16 cannot store −1e9, and a row with nothing to see becomes uniform instead of "
            "zero.",
        ),
        Mistake(
            "not-low-enough",
            lambda scores, mask: _zeroed(_masked(scores, mask, -100.0), mask),
            "A fill of −100 is low only beside scores that are not: visible scores of −150 lie below it. "
            "`torch.finfo(scores.dtype).min` lies below all.",
        ),
        Mistake(
            "not-low-enough-and-empty-row-uniform",
            lambda scores, mask: _masked(scores, mask, -100.0),
            "Two cases break it: a fill of −100 is not low beside visible scores of −150, and a row with nothing to "
            "see becomes uniform instead of zero.",
        ),
        Mistake(
            "zeroed-without-renormalizing",
            lambda scores, mask: _zeroed(scores.softmax(dim=-1), mask),
            "Hidden weights are zero, but the visible ones no longer sum to 1: hidden keys still stood in the "
            "denominator. "
            "Where must the mask act so that they do not?",
        ),
        Mistake(
            "small-number-in-the-denominator",
            lambda scores, mask: _share(_zeroed(scores.softmax(dim=-1), mask), 1e-9),
            "Almost: the small number that guards your division is larger than the sum itself where the visible scores "
            "lie far below the hidden ones. Mask before the softmax, with −∞.",
        ),
        Mistake(
            "softmax-twice",
            lambda scores, mask: _zeroed(scores.softmax(dim=-1), mask).softmax(dim=-1),
            "The second softmax revives the zeros: exp(0) = 1. One softmax, with the hidden scores at −∞ before it.",
        ),
        Mistake(
            "softmax-twice-then-zeroed",
            lambda scores, mask: _zeroed(_zeroed(scores.softmax(dim=-1), mask).softmax(dim=-1), mask),
            "The second softmax revives the zeros (exp(0) = 1), and the last step cuts them again: the rest no longer "
            "sums to 1. One softmax is enough.",
        ),
        Mistake(
            "fills-with-zero",
            lambda scores, mask: scores.masked_fill(~mask, 0.0).softmax(dim=-1),
            "A score of 0 is no low score: exp(0) = 1. Which score has exp(score) = 0?",
        ),
        Mistake(
            "fills-with-zero-then-zeroed",
            lambda scores, mask: _zeroed(scores.masked_fill(~mask, 0.0).softmax(dim=-1), mask),
            "You filled hidden scores with 0, and exp(0) = 1 stays in the denominator: visible weights do not sum to "
            "1.",
        ),
        Mistake(
            "adds-zero-one-mask",
            lambda scores, mask: (scores + mask).softmax(dim=-1),
            "Adding a mask of 0 and 1 only raises the visible scores by 1. A mask that is *added* holds 0 and −∞.",
        ),
        Mistake(
            "adds-zero-one-mask-then-zeroed",
            lambda scores, mask: _zeroed((scores + mask).softmax(dim=-1), mask),
            "Adding 0 and 1 changes scores, it hides none: the hidden keys still stand in the denominator.",
        ),
        Mistake(
            "zero-times-infinity",
            lambda scores, mask: (scores + (~mask).to(scores.dtype) * NEG_INF).softmax(dim=-1),
            "Zero times infinity is NaN, so even visible scores become NaN. `masked_fill` writes −∞ only where it "
            "belongs.",
        ),
        Mistake(
            "all-zero",
            lambda scores, mask: (scores + (~mask).to(scores.dtype) * NEG_INF).softmax(dim=-1).nan_to_num(0.0),
            "Every weight is 0. Two common causes: 0 · ∞ = NaN, swept away by `nan_to_num`; or one line hides where "
            "the "
            "mask is False and the other where it is True.",
        ),
        Mistake(
            "mask-not-applied",
            lambda scores, mask: scores.softmax(dim=-1),
            "Your result is the softmax without a mask. Does a line compute something that nobody keeps? "
            "`masked_fill` returns a new tensor.",
        ),
        Mistake(
            "true-means-ignore",
            lambda scores, mask: _zeroed(_masked(scores, ~mask), ~mask),
            "You hid what the mask lets through. Here True means *may attend*: fill where the mask is False, `~mask`.",
        ),
        Mistake(
            "true-means-ignore-and-empty-row-nan",
            lambda scores, mask: _masked(scores, ~mask),
            "You hid what the mask lets through: fill where it is False, `~mask`. Rows with nothing to see are NaN "
            "as well.",
        ),
        Mistake(
            "true-means-ignore-and-empty-row-uniform",
            lambda scores, mask: _masked(scores, ~mask, torch.finfo(scores.dtype).min),
            "You hid what the mask lets through: fill where it is False, `~mask`. Rows with nothing to see need "
            "zeros as well.",
        ),
        Mistake(
            "softmax-over-queries",
            lambda scores, mask: _zeroed(_masked(scores, mask, axis=-2).nan_to_num(0.0), mask),
            "Your columns sum to 1, not your rows. Each *query* shares its attention out among the keys: the last "
            "axis.",
        ),
        Mistake(
            "softmax-over-queries-and-nan",
            lambda scores, mask: _masked(scores, mask, axis=-2),
            "Your columns sum to 1, not your rows: the softmax goes over the keys, the last axis. "
            "And a row of nothing but −∞ gives NaN.",
        ),
        Mistake(
            "softmax-over-the-first-axis",
            lambda scores, mask: _zeroed(_masked(scores, mask, axis=0).nan_to_num(0.0), mask),
            "Your softmax goes over the first axis, which is the batch as soon as there is one. The keys are the "
            "last axis.",
        ),
        Mistake(
            "exponentials-overflow",
            lambda scores, mask: torch.nan_to_num(
                scores.exp() * mask / (scores.exp() * mask).sum(dim=-1, keepdim=True), nan=0.0
            ),
            "Right in exact arithmetic, but exp(100) is too large for float32. Subtract each row's largest score "
            "first, or "
            "let `softmax` do it.",
        ),
        Mistake(
            "exponentials-overflow-and-empty-row-nan",
            lambda scores, mask: scores.exp() * mask / (scores.exp() * mask).sum(dim=-1, keepdim=True),
            "Two cases break it: exp(100) is too large for float32 (subtract each row's largest score first), and an "
            "empty "
            "row is 0 / 0.",
        ),
        Mistake(
            "logarithms",
            lambda scores, mask: _masked(scores, mask).log(),
            "These are logarithms of the weights. Attention takes the weights themselves.",
        ),
    ),
    hints=(
        "Which score has an exponential of exactly 0? And what does a row of only such scores divide by?",
        "Lower the hidden scores *before* the softmax, so that they are missing in the sum below the fraction as well. "
        "Then care for the empty row.",
        "`scores.masked_fill(~mask, lowest)`, one softmax over the last axis, then `masked_fill(~mask, 0.0)`.",
    ),
    alternatives=(zero_then_renormalize, infinity_then_nan_to_num, exponentials_by_hand),
    difficulty=2,
    minutes=10,
)


# masks.for_pytorch


def for_pytorch(real, order):
    """Three masks that say the same to PyTorch: real tokens (batch, n) and order (n, n), both True = may attend.

    The first two go to `nn.MultiheadAttention` as `key_padding_mask` and `attn_mask`, where True means ignore. The
    third goes to `F.scaled_dot_product_attention` as `attn_mask`, where True means may attend.
    """
    return ~real, ~order, real[:, None, None, :] & order


def for_pytorch_starter(real, order):
    key_padding_mask = ...
    attn_mask = ...
    sdpa_mask = ...
    return key_padding_mask, attn_mask, sdpa_mask


def additive_masks(real, order):
    zero = torch.zeros(())
    both = torch.logical_and(real.unsqueeze(1).unsqueeze(2), order)
    return tuple(torch.where(mask, zero, NEG_INF) for mask in (real, order, both))


def everything_in_one_mask(real, order):
    n_heads = 2
    both = (real[:, None, :] & order).repeat_interleave(n_heads, dim=0)
    return torch.zeros(real.shape).bool(), both.logical_not(), both.view(len(real), n_heads, *order.shape)


def by_comparing_with_false(real, order):
    return real == False, order == False, torch.stack([order & row for row in real]).unsqueeze(1)  # noqa: E712


class _TwoAttentions:
    """PyTorch's two attentions on fixed numbers: they take the learner's masks, and their outputs are compared."""

    N_HEADS, D_MODEL = 2, 4

    def __init__(self):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.module = nn.MultiheadAttention(self.D_MODEL, self.N_HEADS, batch_first=True).double().eval()

    @torch.no_grad()
    def __call__(self, obj, given):
        real, order = given.args
        answer = obj(real, order)
        if answer is None:
            return None
        if not isinstance(answer, tuple | list) or len(answer) != 3:
            raise ValueError("expected three masks: key_padding_mask, attn_mask, sdpa_mask")
        padding, order_mask, both = map(self.usable, answer)
        x = _random(*real.shape, self.D_MODEL, seed=1).double()
        heads = _random(len(real), self.N_HEADS, real.shape[1], 3, seed=2).double()
        outputs = (
            self.module(x, x, x, key_padding_mask=padding, attn_mask=order_mask, need_weights=False)[0],
            F.scaled_dot_product_attention(heads, heads, heads, attn_mask=both),
        )
        return tuple(output.nan_to_num(0.0) for output in outputs)  # empty rows: NaN or 0, depending on the way taken

    @staticmethod
    def usable(mask):
        tensor = mask if mask is None else as_tensor(mask)
        if tensor is None and mask is not None:
            raise ValueError(f"expected a mask, got {type(mask).__name__}")
        return tensor.double() if tensor is not None and tensor.is_floating_point() else tensor


def _three(padding=lambda real, order: ~real, attn=lambda real, order: ~order, sdpa=None):
    sdpa = sdpa or (lambda real, order: real[:, None, None, :] & order)
    return lambda real, order: (padding(real, order), attn(real, order), sdpa(real, order))


def _real(real, order):
    return real


def _order(real, order):
    return order


FOR_PYTORCH = Exercise(
    id="masks.for_pytorch",
    title="The same mask for PyTorch",
    task="From real (batch, n) and order (n, n), both True = may attend, return three masks: key_padding_mask and "
    "attn_mask for nn.MultiheadAttention, and attn_mask for F.scaled_dot_product_attention.",
    reference=for_pytorch,
    starter=for_pytorch_starter,
    call=_TwoAttentions(),
    cases=lambda: [
        case(torch.tensor([[True, True, False]]), causal_mask(3), about="one sentence, one pad"),
        case(
            torch.tensor([[True] * 5, [True, True, False, False, False], [True] * 4 + [False]]),
            causal_mask(5),
            about="padding on the right",
        ),
        case(
            torch.tensor([[True, False, False], [True, True, True], [True, True, False]]),
            causal_mask(3),
            about="as many sentences as tokens",
        ),
        case(
            torch.tensor([[True, True, False, True], [True, False, True, True]]),
            causal_mask(4),
            about="as many sentences as heads, a pad in the middle",
        ),
        case(torch.tensor([[True] * 7] * 2), causal_mask(7), about="no pads"),
    ],
    mistakes=(
        Mistake(
            "nothing-inverted",
            _three(_real, _order),
            "The mask for `F.scaled_dot_product_attention` is right. `nn.MultiheadAttention` reads True as *ignore*: "
            "as it stands, "
            "it looks at the future and at the pads alone.",
        ),
        Mistake(
            "padding-not-inverted",
            _three(padding=_real),
            "Your `attn_mask` is right, `key_padding_mask` is not: in `nn.MultiheadAttention` True means *ignore* in "
            "both.",
        ),
        Mistake(
            "order-not-inverted",
            _three(attn=_order),
            "Your `key_padding_mask` is right, `attn_mask` is not: in `nn.MultiheadAttention` True means *ignore* in "
            "both.",
        ),
        Mistake(
            "sdpa-inverted",
            _three(sdpa=lambda real, order: ~(real[:, None, None, :] & order)),
            "The masks for `nn.MultiheadAttention` are right. `F.scaled_dot_product_attention` reads True as *may "
            "attend*, as here: "
            "nothing to invert.",
        ),
        Mistake(
            "sdpa-inverted-before-and",
            _three(sdpa=lambda real, order: ~real[:, None, None, :] & ~order),
            "The masks for `nn.MultiheadAttention` are right. The third mask needs no `~` at all: there True means "
            "*may attend*, as "
            "here.",
        ),
        Mistake(
            "polarities-swapped",
            _three(_real, _order, lambda real, order: ~(real[:, None, None, :] & order)),
            "Each of the two got what the other wants: `nn.MultiheadAttention` reads True as *ignore*, "
            "`F.scaled_dot_product_attention` as *may attend*.",
        ),
        Mistake(
            "sdpa-or",
            _three(sdpa=lambda real, order: real[:, None, None, :] | order),
            "The third mask lets a cell through when *one* permission is given. It needs both: `&`.",
        ),
        Mistake(
            "sdpa-order-alone",
            _three(sdpa=_order),
            "The third mask hides the future but not the pads: this function has no second mask, so one must say both.",
        ),
        Mistake(
            "sdpa-padding-alone",
            _three(sdpa=lambda real, order: real[:, None, None, :]),
            "The third mask hides the pads but not the future: this function has no second mask, so one must say both.",
        ),
        Mistake(
            "sdpa-queries",
            _three(sdpa=lambda real, order: real[:, None, :, None] & order),
            "In the third mask the pads lie along the queries. Pads are hidden as keys: the last axis.",
        ),
        Mistake(
            "sdpa-adds-zero-one",
            _three(sdpa=lambda real, order: (real[:, None, None, :] & order).double()),
            "The third mask is a mask of numbers, and those are *added* to the scores: 1 and 0 hide nothing. "
            "Keep it boolean, or use 0 and −∞.",
        ),
        Mistake(
            "adds-zero-one",
            _three(lambda real, order: (~real).double(), lambda real, order: (~order).double()),
            "Masks of numbers are *added* to the scores: 0 and 1 hide nothing. Keep them boolean, or use 0 and −∞.",
        ),
        Mistake(
            "adds-zero-one-not-inverted",
            _three(lambda real, order: real.double(), lambda real, order: order.double()),
            "Masks of numbers are *added* to the scores: 0 and 1 hide nothing. A boolean mask, True = ignore, does.",
        ),
        Mistake(
            "module-masks-swapped",
            lambda real, order: (~order, ~real, real[:, None, None, :] & order),
            "The first two stand in the wrong order: `key_padding_mask` is (batch, n), `attn_mask` is (n, n).",
        ),
        Mistake(
            "sdpa-no-axis-for-heads",
            _three(sdpa=lambda real, order: real[:, None, :] & order),
            "The third mask lacks the axis of the heads: (batch, n, n) beside scores (batch, n_heads, n, n) puts the "
            "sentences on the heads.",
        ),
        Mistake(
            "sdpa-two-axes",
            _three(sdpa=lambda real, order: real & order),
            "The third mask joins (batch, n) and (n, n) as they are, so sentence i masks query i. "
            "Put the axes of heads and queries between batch and keys first.",
        ),
    ),
    hints=(
        "Two masks for the module, one for the function: look up what True means in each.",
        "`nn.MultiheadAttention` asks what to *ignore*, and takes padding and order apart. "
        "`F.scaled_dot_product_attention` asks what to *keep*, in one mask that broadcasts to (batch, n_heads, n, n).",
        "`~real`, `~order`, and `real` with two new axes in the middle, joined with `order` by `&`.",
    ),
    alternatives=(additive_masks, everything_in_one_mask, by_comparing_with_false),
    difficulty=2,
    minutes=10,
)


# masks.leaks


class Listener:
    """A function from vectors (batch, n, d) to vectors, with a name that says who listens to whom."""

    def __init__(self, name, f):
        self.name, self.f = name, f

    def __call__(self, x):
        return self.f(x)

    def __repr__(self):
        return f"<a model: {self.name}>"


def _attend(order):
    return lambda x: scaled_dot_product_attention(x, x, x, order(x.shape[1]))[0]


def _past_mean(x):
    return x.cumsum(dim=1) / torch.arange(1, x.shape[1] + 1, dtype=x.dtype)[:, None]


def _with_first_hearing_second(x):
    whispered = F.pad(x[:, 1:2], (0, 0, 0, x.shape[1] - x[:, 1:2].shape[1]))
    return _past_mean(x) - whispered


def _with_last_heard_by_its_neighbor(x):
    return _past_mean(x) - F.pad(x[:, 1:], (0, 0, 0, 1)) * (torch.arange(x.shape[1]) == x.shape[1] - 2)[:, None]


def _with_one_listener(listener, speaker, features=slice(None)):
    """Causal, but for one output that hears one later token, or some of its features."""

    def model(x):
        n = torch.arange(x.shape[1])
        whispered = x[:, speaker : speaker + 1, features].sum(dim=(1, 2))  # 0 where the sentence ends before
        return _past_mean(x) + whispered[:, None, None] * (n == listener)[:, None]

    return model


def _with_a_cancelling_leak(x):
    later = x.flip(1).cumsum(dim=1).flip(1) - x
    return _past_mean(x) + torch.cat([later[..., :1], -later[..., :1], torch.zeros_like(x[..., 2:])], dim=-1)


def _with_rounding(x):
    return _past_mean(x) + 1e-7 * x.sum(dim=1, keepdim=True).sin()


def _with_last_sentence_leaking(x):
    return torch.cat([_past_mean(x[:-1]), x[-1:].flip(1)])


def leaks(f, x):
    """Does an output of f move when a *later* token is edited? x and f(x): (batch, n, d)."""
    before = f(x)
    for t in range(1, x.shape[1]):
        edited = x.clone()
        edited[:, t] += 1.0
        if (f(edited)[:, :t] - before[:, :t]).abs().max() > 1e-5:
            return True
    return False


def cutting_the_future_off(f, x):
    whole = f(x)
    cut = [(f(x[:, : t + 1])[:, t] - whole[:, t]).abs().max() for t in range(x.shape[1])]
    return bool(torch.stack(cut).max() > 1e-5)


def drawing_the_future_again(f, x):
    before = f(x)
    for t in range(x.shape[1] - 1):
        other = torch.cat([x[:, : t + 1], torch.randn_like(x[:, t + 1 :]) * 3], dim=1)
        if not torch.allclose(f(other)[:, : t + 1], before[:, : t + 1], atol=1e-5):
            return True
    return False


def by_gradients(f, x):
    jacobian = torch.autograd.functional.jacobian(f, x)
    moved = jacobian.abs().amax(dim=(0, 2, 3, 5))
    return bool((moved.triu(1) > 1e-5).any())


def _leak_cases():
    def model(name, f, *shape, seed):
        return case(Listener(name, f), _random(*shape, seed=seed), about=name)

    return [
        model("causal attention", _attend(causal_mask), 1, 3, 2, seed=0),
        model("attention without a mask", _attend(lambda n: None), 1, 3, 2, seed=1),
        model("attention with a mask one token too wide", _attend(lambda n: _ones(n).tril(1)), 2, 5, 3, seed=2),
        model("every token by itself", torch.tanh, 2, 5, 3, seed=3),
        model("running mean", _past_mean, 3, 3, 3, seed=4),
        model("token 0 hears token 1, the rest is causal", _with_first_hearing_second, 2, 5, 3, seed=5),
        model("the last token but one hears the last", _with_last_heard_by_its_neighbor, 2, 5, 3, seed=10),
        model("token 2 hears token 3", _with_one_listener(2, 3), 2, 5, 3, seed=13),
        model("token 0 hears one feature of token 2", _with_one_listener(0, 2, slice(-1, None)), 2, 5, 3, seed=14),
        model("two features move against each other", _with_a_cancelling_leak, 2, 5, 3, seed=6),
        model("only the last sentence leaks", _with_last_sentence_leaking, 3, 5, 2, seed=7),
        model("causal, with rounding in the last digit", _with_rounding,
              2, 5, 3, seed=8),
        model("two tokens, causal", _past_mean, 2, 2, 3, seed=11),
        model("a model that ignores its input", torch.zeros_like, 2, 5, 3, seed=12),
        model("a single token", _attend(lambda n: None), 2, 1, 3, seed=9),
    ]  # fmt: skip


def _probe(tokens=None, seen=slice(None), edit=slice(None), upto=lambda t: slice(0, t), far=None):
    """A leak probe with one part exchanged."""
    tokens = tokens or (lambda n: range(1, n))
    far = far or (lambda d: bool((d.abs() > 1e-5).any()))

    def leaks(f, x):
        before = f(x)
        for t in tokens(x.shape[1]):
            edited = x.clone()
            edited[:, t, edit] += 1.0
            if far((f(edited) - before)[seen, upto(t)]):
                return True
        return False

    return leaks


def _forgets_to_run_again(f, x):
    before = f(x)
    return bool((before - before).abs().max() > 1e-5)


def _edits_pile_up(f, x):
    before, edited = f(x), x.clone()
    for t in range(1, x.shape[1]):
        edited[:, t] += 1.0
        if (f(edited)[:, :t] - before[:, :t]).abs().max() > 1e-5:
            return True
    return False


def _edits_the_second_half(f, x):
    before, edited, half = f(x), x.clone(), x.shape[1] // 2
    edited[:, half:] += 1.0
    return bool(((f(edited) - before)[:, :half].abs() > 1e-5).any())


def _shuffles(f, x):
    return not torch.allclose(f(x.flip(1)).flip(1), f(x), atol=1e-5)


LEAKS = Exercise(
    id="masks.leaks",
    title="Write a leak probe",
    task="Return True if some output of f moves by more than 1e-5 when a later token of x is edited, else False. "
    "x and f(x) have the shape (batch, n, d).",
    reference=leaks,
    cases=_leak_cases,
    mistakes=(
        Mistake(
            "edited-token-itself-counts",
            _probe(upto=lambda t: slice(0, t + 1)),
            "Output t may move when token t is edited: a token sees itself. Compare the outputs *before* t only, "
            "`[:, :t]`.",
        ),
        Mistake(
            "edits-pile-up",
            _edits_pile_up,
            "Your edits pile up: token 1 is still changed when token 2 is edited, so output 1 moves in any model. "
            "Start each edit from a fresh copy of `x`.",
        ),
        Mistake(
            "always-true",
            lambda f, x: True,
            "Your probe finds a leak in every model, even in one that ignores its input.",
        ),
        Mistake(
            "all-outputs-count",
            _probe(tokens=range, upto=lambda t: slice(None)),
            "The edited token's own output, and those after it, may move: they look at their past. Only outputs "
            "*before* "
            "it tell of a leak.",
        ),
        Mistake(
            "watches-the-future",
            _probe(tokens=range, upto=lambda t: slice(t + 1, None)),
            "You compare the outputs *after* the edited token. Those may move; the ones before it may not.",
        ),
        Mistake(
            "last-token-only",
            _probe(tokens=lambda n: range(n - 1, n)),
            "Only the last token is edited. A leak between two earlier tokens stays hidden: edit each in turn.",
        ),
        Mistake(
            "second-token-only",
            _probe(tokens=lambda n: range(1, min(n, 2))),
            "Only token 1 is edited, so only output 0 is watched. Edit each token in turn.",
        ),
        Mistake(
            "stops-one-early",
            _probe(tokens=lambda n: range(1, n - 1)),
            "The last token is never edited: `range` stops before its end.",
        ),
        Mistake(
            "first-sentence-only",
            _probe(seen=slice(0, 1)),
            "You watch the first sentence alone. A padding mask, for one, differs from sentence to sentence.",
        ),
        Mistake(
            "first-output-only",
            _probe(upto=lambda t: slice(0, 1)),
            "You watch output 0 alone. A later output may hear its future, too: watch all outputs before the edited "
            "token.",
        ),
        Mistake(
            "neighbor-only",
            _probe(upto=lambda t: slice(t - 1, t)),
            "You watch only the output right before the edited token. A leak may reach further back: `[:, :t]`.",
        ),
        Mistake(
            "one-cut-in-the-middle",
            _edits_the_second_half,
            "You cut the sentence once, so a leak between two tokens of the same part stays hidden. Cut it at every "
            "token.",
        ),
        Mistake(
            "first-feature-only",
            _probe(edit=slice(0, 1)),
            "You edit one feature of a token. A model may listen to another: edit them all.",
        ),
        Mistake(
            "all-instead-of-any",
            _probe(far=lambda d: bool((d.abs() > 1e-5).all())),
            "You ask whether *all* earlier outputs move. One that moves is a leak: `any`.",
        ),
        Mistake(
            "no-absolute-value",
            _probe(far=lambda d: bool((d > 1e-5).any())),
            "A leak may also *lower* an output. Without `.abs()` those pass unseen.",
        ),
        Mistake(
            "sums-before-comparing",
            _probe(far=lambda d: bool(d.sum().abs() > 1e-5)),
            "You add the differences up (or average them) before you look at their size: two that move against each "
            "other cancel.",
        ),
        Mistake(
            "no-tolerance",
            _probe(far=lambda d: bool((d != 0).any())),
            "Two ways to the same sum differ in the last digit. Ask whether the difference exceeds 1e-5, not whether "
            "it is 0.",
        ),
        Mistake(
            "true-means-clean",
            lambda f, x: not leaks(f, x),
            "Your answer is turned round: True when nothing leaks. The question was whether something *does*.",
        ),
        Mistake(
            "always-false",
            _forgets_to_run_again,
            "Your probe never finds a leak. Is `f` run a second time, on the *edited* input? "
            "And are there outputs left in your slice?",
        ),
        Mistake(
            "order-instead-of-leak",
            _shuffles,
            "You ask whether the order of the tokens matters. A leak is narrower: does an *earlier* output hear a "
            "*later* token?",
        ),
    ),
    hints=(
        "Run `f` once on `x` and once on an edited copy. Which outputs must be the same?",
        "When token t is edited, outputs 0 … t − 1 must stay. Try every t, look at every sentence and feature, and "
        "at the "
        "size of the difference, whatever its sign.",
        "`edited = x.clone()`, `edited[:, t] += 1.0`, then `(f(edited)[:, :t] - before[:, :t]).abs().max() > 1e-5`.",
    ),
    alternatives=(cutting_the_future_off, drawing_the_future_again, by_gradients),
    difficulty=2,
    minutes=15,
)


# masks.repair


def self_attention(query, key, value, ids):
    """Masked self-attention of a decoder: query, key, value (batch, n_heads, n, d_k), ids (batch, n)."""
    n = ids.shape[1]
    real = (ids != PAD)[:, None, None, :]
    order = torch.ones(n, n, dtype=torch.bool).tril()
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(~(real & order), float("-inf"))
    return scores.softmax(dim=-1) @ value


def self_attention_starter(query, key, value, ids):
    n = ids.shape[1]
    real = (ids != PAD)[:, None, :, None]
    order = torch.ones(n, n, dtype=torch.bool).triu()
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    scores.masked_fill(~(real | order), float("-inf"))
    return scores.softmax(dim=-1) @ value


def from_the_library(query, key, value, ids):
    mask = padding_mask(ids) & causal_mask(ids.shape[1])
    output, _weights = scaled_dot_product_attention(query, key, value, mask)
    return output


def with_torch_attention(query, key, value, ids):
    n = ids.shape[1]
    mask = (ids != PAD)[:, None, None, :] & torch.ones(n, n).tril().bool()
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def with_an_additive_mask(query, key, value, ids):
    n = ids.shape[1]
    future = torch.full((n, n), float("-inf")).triu(1)
    pads = torch.zeros(ids.shape).masked_fill(ids == PAD, float("-inf"))[:, None, None, :]
    scores = torch.einsum("bhqd,bhkd->bhqk", query, key) / query.shape[-1] ** 0.5
    return torch.einsum("bhqk,bhkd->bhqd", (scores + future + pads).softmax(-1), value)


def _half_repaired(rows=False, upper=False, either=False):
    """The repaired listing with some of its bugs left in."""

    def repaired(query, key, value, ids):
        real = (ids != PAD)[:, None, :, None] if rows else (ids != PAD)[:, None, None, :]
        order = _ones(ids.shape[1]).triu() if upper else _ones(ids.shape[1]).tril()
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        mask = real | order if either else real & order
        return scores.masked_fill(~mask, NEG_INF).softmax(dim=-1) @ value

    return repaired


def _masks_differently(real=padding_mask, order=causal_mask, fill=NEG_INF):
    """The repaired listing with one part exchanged."""

    def repaired(query, key, value, ids):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        return scores.masked_fill(~(real(ids) & order(ids.shape[1])), fill).softmax(dim=-1) @ value

    return repaired


def _swapped_polarity(query, key, value, ids):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores.masked_fill(padding_mask(ids) & causal_mask(ids.shape[1]), NEG_INF).softmax(dim=-1) @ value


def _without_mask(query, key, value, ids):
    return (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).softmax(dim=-1) @ value


def _hides_rows_too(query, key, value, ids):
    mask = padding_mask(ids) & _queries(ids) & causal_mask(ids.shape[1])
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores.masked_fill(~mask, NEG_INF).softmax(dim=-1) @ value


def _hides_rows_too_without_nan(query, key, value, ids):
    return _hides_rows_too(query, key, value, ids).nan_to_num(0.0)


def _only(padding):
    def attention(query, key, value, ids):
        mask = padding_mask(ids) if padding else causal_mask(ids.shape[1])
        return scaled_dot_product_attention(query, key, value, mask)[0]

    return attention


def _repair_cases():
    def tensors(*shape, seed):
        return [_random(*shape, seed=seed + step) for step in range(3)]

    return [
        case(*tensors(1, 1, 3, 2, seed=0), torch.tensor([[5, 6, 0]]), about="one sentence, one pad"),
        case(*tensors(1, 2, 4, 3, seed=3), torch.tensor([[5, 6, 7, 8]]), about="no pads"),
        case(
            *tensors(2, 3, 5, 7, seed=6), torch.tensor([[5, 6, 7, 0, 0], [8, 9, 4, 6, 5]]), about="padding on the right"
        ),
        case(*tensors(3, 3, 3, 3, seed=9), torch.tensor([[5, 0, 0], [6, 7, 0], [8, 9, 4]]), about="all sizes equal"),
        case(
            *tensors(2, 3, 4, 5, seed=12), torch.tensor([[5, 0, 7, 8], [9, 4, 0, 6]]), about="a pad between two words"
        ),
        case(
            torch.full((1, 1, 3, 2), 10.0),
            0.1 * _random(1, 1, 3, 2, seed=16) - 15.0,
            _random(1, 1, 3, 2, seed=17),
            torch.tensor([[5, 6, 0]]),
            about="all scores lie far below zero",
        ),
    ]


REPAIR = Exercise(
    id="masks.repair",
    title="Bug hunt: four bugs in six lines",
    task="Find the four bugs, so that each token attends to the real tokens up to and with itself.",
    reference=self_attention,
    starter=self_attention_starter,
    cases=_repair_cases,
    mistakes=(
        Mistake(
            "mask-not-applied",
            _without_mask,
            "The result is still attention without any mask, so at least one bug is left: the masked scores never "
            "arrive. "
            "What does `masked_fill` change, and who keeps its result?",
        ),
        Mistake(
            "one-bug-left-rows",
            _half_repaired(rows=True),
            "Three of four found. The order is right now; real words still see the pads. Which axis do the pads lie "
            "on?",
        ),
        Mistake(
            "one-bug-left-triangle",
            _half_repaired(upper=True),
            "Three of four found. Pads are hidden now; run a leak probe in your head: which tokens does row 0 see?",
        ),
        Mistake(
            "one-bug-left-or",
            _half_repaired(either=True),
            "Three of four found. Both masks are right now, but a cell gets through with one permission of two.",
        ),
        Mistake(
            "two-bugs-left-rows-and-triangle",
            _half_repaired(rows=True, upper=True),
            "Two of four found. Print both masks for three tokens, one pad: is each of them as you would draw it?",
        ),
        Mistake(
            "two-bugs-left-rows-and-or",
            _half_repaired(rows=True, either=True),
            "Two of four found. The order is right. Look at the padding mask's axes, and at how the two masks are "
            "joined.",
        ),
        Mistake(
            "two-bugs-left-triangle-and-or",
            _half_repaired(upper=True, either=True),
            "Two of four found. The padding mask is right. Look at the order mask, and at how the two masks are "
            "joined.",
        ),
        Mistake(
            "three-bugs-left",
            _half_repaired(rows=True, upper=True, either=True),
            "One of four found: the mask now arrives. Print both masks and their join for three tokens, one of them "
            "a pad.",
        ),
        Mistake(
            "hides-itself",
            _masks_differently(order=lambda n: _ones(n).tril(-1), fill=-1e9),
            "The mask arrives, and no future is seen, but each token is hidden from itself. Keep the diagonal.",
        ),
        Mistake(
            "hides-itself-and-nan",
            _masks_differently(order=lambda n: _ones(n).tril(-1)),
            "The mask arrives, and no future is seen, but each token is hidden from itself: the first one sees "
            "nothing, and its row is NaN. Keep the diagonal.",
        ),
        Mistake(
            "shows-the-future-alone",
            _masks_differently(order=lambda n: _ones(n).triu(1), fill=-1e9),
            "The mask arrives, but the order is turned round: each token sees its future alone.",
        ),
        Mistake(
            "fills-with-zero",
            _masks_differently(fill=0.0),
            "Both masks are right and they arrive, but a score of 0 is no low score: exp(0) = 1. Fill with −∞.",
        ),
        Mistake(
            "not-low-enough",
            _masks_differently(fill=-100.0),
            "Both masks are right and they arrive, but −100 is not low beside visible scores of −210. Fill with −∞.",
        ),
        Mistake(
            "weights-zeroed-after-the-softmax",
            lambda query, key, value, ids: (
                (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]))
                .softmax(dim=-1)
                .masked_fill(~target_mask(ids), 0.0)
                @ value
            ),
            "Both masks are right, but they come after the softmax: what remains in a row no longer sums to 1. Mask "
            "the scores.",
        ),
        Mistake(
            "pads-of-the-first-sentence",
            _masks_differently(real=lambda ids: padding_mask(ids)[:1]),
            "You hide the pads of the first sentence in all of them. Each sentence has pads of its own.",
        ),
        Mistake(
            "fills-what-is-visible-without-nan",
            lambda query, key, value, ids: (
                (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]))
                .masked_fill(target_mask(ids), NEG_INF)
                .softmax(dim=-1)
                .nan_to_num(0.0)
                @ value
            ),
            "You fill the cells that may be *seen* with −∞. True means may attend: fill where the mask is False.",
        ),
        Mistake(
            "fills-what-is-visible",
            _swapped_polarity,
            "Now you fill the cells that may be *seen* with −∞. True means may attend: fill where the mask is False.",
        ),
        Mistake(
            "order-alone",
            _only(padding=False),
            "The order is right, but the padding mask no longer has any effect: real tokens still see the pads.",
        ),
        Mistake(
            "padding-alone",
            _only(padding=True),
            "Pads are hidden, but the order mask no longer has any effect: tokens see their future.",
        ),
        Mistake(
            "hides-rows-too",
            _hides_rows_too,
            "Pads are hidden as keys *and* as queries now, and a query with nothing to see gives NaN. Keys are enough.",
        ),
        Mistake(
            "hides-rows-too-as-zeros",
            _hides_rows_too_without_nan,
            "Pads are hidden as keys *and* as queries now. Keys are enough: what a pad's own row computes is ignored "
            "later.",
        ),
    ),
    hints=(
        "Check one mask at a time: print `real`, `order` and their join for the ids `[[5, 6, 0]]`, and draw what you "
        "expect.",
        "Four questions: on which axis are the pads hidden? Which triangle is the past? How many permissions does a "
        "cell "
        "need? Does the last line know of the mask?",
        "`[:, None, None, :]`, `.tril()`, `&`, and `scores = scores.masked_fill(…)`.",
    ),
    alternatives=(from_the_library, with_torch_attention, with_an_additive_mask),
    difficulty=3,
    minutes=15,
)

EXERCISES = [CAUSAL, PADDING, TARGET, SOFTMAX, FOR_PYTORCH, LEAKS, REPAIR]
