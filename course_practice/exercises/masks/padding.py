"""Exercise: the padding mask."""

import torch

from course_lib.masks import padding_mask
from course_lib.tokens import PAD
from course_practice.engine import Convention, Exercise, Mistake, case
from course_practice.exercises.masks._shared import NEG_INF, one_infinity


def with_unsqueeze(ids, pad_id=PAD):
    return (ids != pad_id).unsqueeze(1).unsqueeze(2)


def with_logical_not(ids, pad_id=PAD):
    batch, k_len = ids.shape
    return torch.logical_not(ids.eq(pad_id)).reshape(batch, 1, 1, k_len)


def with_a_loop(ids, pad_id=PAD):
    return torch.tensor([[[[token != pad_id for token in row]]] for row in ids.tolist()])


def _one_row_for_all_queries(mask):
    """A (batch, heads, q_len, k_len) mask with equal rows says the same as (batch, 1, 1, k_len)."""
    mask = one_infinity(mask)
    return mask[:, :1, :1] if mask.dim() == 4 and mask.numel() and (mask == mask[:, :1, :1]).all() else mask


def _by_length(ids, pad_id=PAD):
    lengths = (ids != pad_id).sum(dim=1)
    return (torch.arange(ids.shape[1]) < lengths[:, None])[:, None, None, :]


EXERCISE = Exercise(
    title="The padding mask",
    task="From ids (batch, k_len), return a boolean mask (batch, 1, 1, k_len): True at every token that is not a pad.",
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
            "Valid as `key_padding_mask` of `nn.MultiheadAttention` (without the axes): True there means ignore. Here "
            "True means *may attend*.",
        ),
        Mistake(
            "pad-id-fixed-to-zero",
            lambda ids, pad_id=PAD: (ids != 0)[:, None, None, :],
            "Your mask hides the id 0, whatever `pad_id` says. Other tokenizers pad with 1, or with the "
            "end-of-sentence id.",
        ),
        Mistake(
            "two-axes",
            lambda ids, pad_id=PAD: ids != pad_id,
            "The values are right, the axes are missing. Beside scores of shape (batch, n_heads, q_len, k_len), a "
            "mask (batch, k_len) is read as (q_len, k_len). Which two axes must be added, and where?",
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
            "Your mask runs along the queries: real words still see the pads, and pads see nothing. Which axis of the "
            "scores counts the keys?",
        ),
        Mistake(
            "hides-queries-and-keys",
            lambda ids, pad_id=PAD: (ids != pad_id)[:, None, :, None] & (ids != pad_id)[:, None, None, :],
            "Keys are enough. Hiding the pads as queries too leaves rows with nothing to see; what a pad's own row "
            "computes is ignored by the loss.",
        ),
        Mistake(
            "batch-on-the-query-axis",
            lambda ids, pad_id=PAD: (ids != pad_id)[None, None],
            "The two new axes stand in front, so sentence 0 masks query 0, sentence 1 query 1. The batch is the first "
            "axis.",
        ),
        Mistake(
            "trusts-the-length",
            _by_length,
            "Your mask shows as many keys from the left as there are real tokens, which is right only when all pads "
            "stand at the end. Ask of each token whether it is a pad.",
        ),
        Mistake(
            "stops-at-the-first-pad",
            lambda ids, pad_id=PAD: (ids != pad_id).int().cumprod(dim=1).bool()[:, None, None, :],
            "Everything after the first pad is hidden. With padding on the left that hides the whole sentence.",
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
        "The mask must line up with scores (batch, n_heads, q_len, k_len): the batch first, the keys last, and an "
        "axis of size 1 for everything that makes no difference.",
        "`ids != pad_id` answers the first; indexing with `[:, None, None, :]` puts two axes of size 1 in the middle.",
    ),
    alternatives=(with_unsqueeze, with_logical_not, with_a_loop),
    difficulty=1,
    minutes=5,
)
