"""Exercises of chapter 04, multi-head attention."""

import itertools
import math

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_lib.exercises.engine import Convention, Exercise, Mistake, case
from course_lib.multi_head import merge_heads, split_heads

NEG_INF = float("-inf")


def _random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _counting(*shape):
    return torch.arange(float(math.prod(shape))).view(shape)


# multi_head.split_heads


def split_heads_starter(x, n_heads):
    d_k = x.shape[-1] // n_heads
    cut = x.unflatten(-1, (..., d_k))
    return cut.transpose(..., ...)


def chunk_and_stack(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


def unflatten_and_permute(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).permute(0, 2, 1, 3)


def slice_by_slice(x, n_heads):
    d_k = x.shape[-1] // n_heads
    return torch.stack([x[:, :, i * d_k : (i + 1) * d_k] for i in range(n_heads)], dim=1)


def _cut(x, n_heads):
    """(batch, seq_len, n_heads, d_k): the cut, without the swap of axes."""
    return x.reshape(*x.shape[:2], n_heads, x.shape[2] // n_heads)


def _by_view(x, n_heads):
    """(batch, n_heads, seq_len, d_k): the shape of heads, with the numbers as they lie in memory."""
    return x.reshape(len(x), n_heads, x.shape[1], x.shape[2] // n_heads)


def _cut_into_threads(x, n_heads):
    """(batch, seq_len, d_k, n_heads): head i is given the features i, i + n_heads, i + 2 n_heads …"""
    return x.reshape(*x.shape[:2], x.shape[2] // n_heads, n_heads)


SPLIT = Exercise(
    id="multi_head.split_heads",
    title="Cut into heads",
    task="From x (batch, seq_len, d_model) make (batch, n_heads, seq_len, d_k): head 0 gets the first d_k features.",
    reference=split_heads,
    starter=split_heads_starter,
    cases=lambda: [
        case(_counting(1, 2, 4), 2, about="two tokens, two heads of two features"),
        case(_counting(1, 3, 6), 2, about="two heads of three features"),
        case(_random(2, 5, 21), 3, about="three heads of seven features"),
        case(_random(3, 4, 10, seed=1), 5, about="five heads of two features"),
        case(_random(4, 4, 4, seed=2), 2, about="as many sentences as tokens as features"),
        case(_random(2, 3, 12, seed=3), 3, about="as many heads as tokens"),
        case(_random(2, 3, 5, seed=4), 1, about="one head"),
    ],
    mistakes=(
        Mistake(
            "no-transpose",
            _cut,
            "The cut is right, the order of the axes is not: (batch, seq_len, n_heads, d_k). A product of the last two"
            " axes would now let the heads of *one* token attend to each other. Which two axes must change places?",
        ),
        Mistake(
            "view-instead-of-transpose",
            _by_view,
            "The shape is right, the numbers are not. `view` deals them out in the order in which they lie in memory, "
            "token by token, so your head 0 holds whole tokens from the start of the sentence. Cut the *last* axis "
            "first, swap axes after that.",
        ),
        Convention(
            "every-nth-feature",
            lambda x, n_heads: _cut_into_threads(x, n_heads).permute(0, 3, 1, 2),
            "Your head i takes the features i, i + n_heads, … Valid if the weights were trained that way. Here, as in "
            "PyTorch, a head is d_k features *side by side*.",
        ),
        Mistake(
            "head-count-taken-for-size",
            lambda x, n_heads: _cut(x, x.shape[2] // n_heads).transpose(1, 2),
            "You made heads of n_heads features each. `n_heads` says how *many* slices there are; how wide is one? "
            "(`torch.split` takes a width, `torch.chunk` a number.)",
        ),
        Mistake(
            "head-count-taken-for-size-and-no-transpose",
            _cut_into_threads,
            "Two things: `n_heads` is the number of slices, not their width, so it comes before d_k; and the heads "
            "must stand before the tokens.",
        ),
        Mistake(
            "heads-before-the-batch",
            lambda x, n_heads: _cut(x, n_heads).permute(2, 0, 1, 3),
            "The slices are right, but the heads stand before the batch: (n_heads, batch, seq_len, d_k). The batch "
            "stays the first axis (`torch.stack` has a `dim`).",
        ),
        Mistake(
            "tokens-before-the-batch",
            lambda x, n_heads: _cut(x, n_heads).permute(1, 2, 0, 3),
            "You moved the sentences to where the tokens belong: attention would look from one sentence into another. "
            "Which axis of `x` is the batch?",
        ),
        Mistake(
            "stacked-after-the-tokens",
            lambda x, n_heads: torch.stack(x.chunk(n_heads, dim=-1), dim=-1),
            "The slices are right, but the heads stand on the last axis: (batch, seq_len, d_k, n_heads). They belong "
            "right behind the batch: heads and *tokens* change places.",
        ),
        Convention(
            "heads-folded-into-the-batch",
            lambda x, n_heads: split_heads(x, n_heads).flatten(0, 1),
            "Valid: a batch of batch · n_heads is what `torch.bmm` wants. Here the heads keep an axis of their own, so"
            " that a mask (batch, 1, 1, k_len) fits.",
        ),
        Mistake(
            "batch-and-heads-mixed",
            lambda x, n_heads: x.reshape(len(x) * n_heads, x.shape[1], x.shape[2] // n_heads),
            "A `view` straight to (batch · n_heads, seq_len, d_k) mixes tokens. Cut the last axis, swap two axes, and "
            "keep four axes.",
        ),
        Mistake(
            "cuts-the-tokens",
            lambda x, n_heads: x.view(len(x), n_heads, x.shape[1] // n_heads, x.shape[2]),
            "You cut the sentence into pieces. Every head sees *all* tokens, and of each token a slice of its "
            "features: cut the last axis.",
        ),
        Mistake(
            "copies-instead-of-cuts",
            lambda x, n_heads: x.unsqueeze(1).expand(-1, n_heads, -1, -1),
            "Every head got the whole vector. After the projection each head owns d_k = d_model / n_heads of the "
            "features, and no two heads the same.",
        ),
        Mistake(
            "features-before-tokens",
            lambda x, n_heads: _cut(x, n_heads).permute(0, 2, 3, 1),
            "Your last two axes are (d_k, seq_len). That is what the *keys* become inside the product Q Kᵀ; the split "
            "itself leaves the features last.",
        ),
        Mistake(
            "swaps-before-the-cut",
            lambda x, n_heads: x.transpose(1, 2).reshape(len(x), n_heads, x.shape[1], x.shape[2] // n_heads),
            "You swapped tokens and features first, and regrouped after that: the numbers of different tokens are "
            "mixed. The cut of the last axis comes first.",
        ),
        Mistake(
            "swaps-the-batch",
            lambda x, n_heads: _cut(x, n_heads).transpose(0, 2),
            "You swapped the heads with the batch. Count the axes from 0: batch, tokens, heads, features. Which two "
            "change places?",
        ),
        Mistake(
            "swaps-batch-and-tokens",
            lambda x, n_heads: _cut(x, n_heads).transpose(0, 1),
            "You swapped the batch with the tokens. Count the axes from 0: batch, tokens, heads, features. Heads and "
            "tokens must change places.",
        ),
        Mistake(
            "swaps-tokens-and-features",
            lambda x, n_heads: _cut(x, n_heads).transpose(1, 3),
            "You swapped the tokens with the features of a head. The heads are the ones that must stand before the "
            "tokens.",
        ),
        Mistake(
            "view-with-features-before-tokens",
            lambda x, n_heads: x.reshape(len(x), n_heads, x.shape[2] // n_heads, x.shape[1]),
            "A `view` cannot move an axis, and here it also puts the features before the tokens. Cut the last axis "
            "first, then swap two axes.",
        ),
        Mistake(
            "view-and-swap-back",
            lambda x, n_heads: _by_view(x, n_heads).transpose(1, 2),
            "Two steps too early: the `view` puts the heads before the tokens without moving anything, and the swap "
            "after it brings them back behind. Cut the last axis where it stands; then swap.",
        ),
        Mistake(
            "view-with-heads-first",
            lambda x, n_heads: x.reshape(n_heads, len(x), x.shape[1], x.shape[2] // n_heads).transpose(0, 1),
            "A `view` that begins with the heads deals whole sentences out to them. The heads come out of the *last* "
            "axis, so that is the one to cut.",
        ),
        Mistake(
            "overlapping-slices",
            lambda x, n_heads: torch.stack([x[..., i : i + x.shape[2] // n_heads] for i in range(n_heads)], dim=1),
            "Your slices overlap: head 1 begins at feature 1. Where does head i begin, when each is d_k features wide?",
        ),
        Mistake(
            "first-slice-for-all",
            lambda x, n_heads: x[:, None, :, : x.shape[2] // n_heads].expand(-1, n_heads, -1, -1),
            "Every head got the first d_k features. Where does head i begin?",
        ),
        Mistake(
            "features-before-heads",
            lambda x, n_heads: _cut(x, n_heads).permute(0, 3, 1, 2),
            "Axis 1 of your result counts features, not heads: you swapped the wrong axis to the front. After the cut "
            "the heads are axis 2.",
        ),
        Mistake(
            "heads-behind-each-other",
            lambda x, n_heads: torch.cat(x.chunk(n_heads, dim=-1), dim=1),
            "The slices are right, but you laid them behind each other along the tokens. The heads need an axis of "
            "their own: `torch.stack`.",
        ),
        Mistake(
            "cut-and-joined-again",
            lambda x, n_heads: split_heads(x, n_heads).reshape(x.shape),
            "You joined the axes again, to three. The heads need an axis of their own: (batch, n_heads, seq_len, d_k).",
        ),
    ),
    hints=(
        "Two steps: the cut of the last axis into two, then two axes change places. Write the shape down after each.",
        "A `view` may only split or join neighboring axes. Moving an axis is another operation, and the heads must "
        "stand before the tokens, because attention multiplies the last two axes.",
        "`x.unflatten(-1, (n_heads, d_k))` has the heads on axis 2; swap it with axis 1.",
    ),
    alternatives=(chunk_and_stack, unflatten_and_permute, slice_by_slice),
    difficulty=1,
    minutes=5,
)


# multi_head.merge_heads


def transpose_and_reshape(x):
    batch, n_heads, seq_len, d_v = x.shape
    return x.transpose(1, 2).reshape(batch, seq_len, n_heads * d_v)


def unbind_and_cat(x):
    return torch.cat(x.unbind(dim=1), dim=-1)


def head_by_head(x):
    batch, n_heads, seq_len, d_v = x.shape
    merged = torch.empty(batch, seq_len, n_heads * d_v)
    for i in range(n_heads):
        merged[:, :, i * d_v : (i + 1) * d_v] = x[:, i]
    return merged


def _reshaped(x, swapped=None):
    """The numbers as they come, after a swap of two axes or as they lie in memory, in the shape of merged heads."""
    batch, n_heads, seq_len, d_v = x.shape
    return (x.transpose(*swapped) if swapped else x).reshape(batch, seq_len, n_heads * d_v)


MERGE = Exercise(
    id="multi_head.merge_heads",
    title="Lay the heads side by side",
    task="Undo split_heads: from x (batch, n_heads, seq_len, d_v) make (batch, seq_len, n_heads · d_v), head 0 first.",
    reference=merge_heads,
    cases=lambda: [
        case(_counting(1, 2, 2, 2), about="two heads, two tokens"),
        case(_counting(1, 2, 3, 1), about="heads of one feature"),
        case(_random(2, 3, 5, 7), about="all sizes different"),
        case(_random(3, 3, 3, 3, seed=1), about="all sizes equal"),
        case(_random(2, 4, 4, 3, seed=2), about="as many heads as tokens"),
        case(_random(5, 3, 2, 4, seed=3), about="more sentences than heads"),
        case(_random(2, 1, 3, 4, seed=4), about="one head"),
    ],
    mistakes=(
        Mistake(
            "no-transpose",
            _reshaped,
            "The shape is right, the numbers are not: regrouped as they lie in memory, one output vector holds the "
            "same head at several *tokens*. The heads of one token must be neighbors before they can be joined.",
        ),
        Mistake(
            "view-after-transpose",
            lambda x: x.transpose(1, 2).view(len(x), x.shape[2], -1),
            "The idea is right. After a transpose the numbers no longer lie in order, and `view` never copies: use "
            "`reshape` or `flatten`, or call `.contiguous()` first.",
        ),
        Convention(
            "features-interleaved",
            lambda x: x.permute(0, 2, 3, 1).flatten(2),
            "Your heads are threaded into each other: feature 0 of each head, then feature 1 … Valid if the split did "
            "the same. Here head 0 comes first as a whole, then head 1.",
        ),
        Mistake(
            "averages-the-heads",
            lambda x: x.mean(dim=1),
            "You averaged the heads, and that gives away what several heads are for: their answers stay apart, side by"
            " side.",
        ),
        Mistake(
            "adds-the-heads",
            lambda x: x.sum(dim=1),
            "You added the heads: one head's answer can no longer be told from another's. Lay them side by side; "
            "mixing is the task of W_O.",
        ),
        Mistake(
            "largest-of-the-heads",
            lambda x: x.amax(dim=1),
            "You kept the largest number among the heads. All of them are wanted, side by side.",
        ),
        Mistake(
            "first-head-only",
            lambda x: x[:, 0],
            "That is head 0 alone. Where do the others go?",
        ),
        Mistake(
            "heads-behind-each-other",
            lambda x: x.flatten(1, 2),
            "You laid the heads behind each other along the *tokens*: the sentence became n_heads times as long. They "
            "belong side by side, on the axis of the features.",
        ),
        Mistake(
            "joined-on-the-batch",
            lambda x: torch.cat(x.unbind(dim=1)),
            "You laid the heads behind each other along the *batch*, which is what `torch.cat` does without a `dim`. "
            "They belong side by side, on the last axis.",
        ),
        Mistake(
            "joins-tokens-and-heads",
            lambda x: x.transpose(1, 2).flatten(1, 2),
            "The swap is right, but then you joined the tokens with the heads. The last two axes become one: "
            "`start_dim=2`.",
        ),
        Mistake(
            "joins-tokens-and-features",
            lambda x: x.flatten(2),
            "You joined each head's tokens with its features. First the heads and the tokens change places.",
        ),
        Mistake(
            "not-joined",
            lambda x: x.transpose(1, 2),
            "The axes are in the right order, (batch, seq_len, n_heads, d_v). Now the last two become one.",
        ),
        Mistake(
            "everything-joined",
            lambda x: x.transpose(1, 2).flatten(1),
            "Too much is joined: the tokens are gone. Start joining at the axis of the heads, `start_dim=2`.",
        ),
        Mistake(
            "everything-joined-and-no-transpose",
            lambda x: x.flatten(1),
            "Too much is joined: one long vector for the whole sentence. Keep the tokens, and bring each token's heads"
            " together before you join.",
        ),
        Mistake(
            "features-before-tokens",
            lambda x: x.transpose(2, 3).flatten(1, 2),
            "You have (batch, n_heads · d_v, seq_len): right numbers, and the features stand before the tokens.",
        ),
        Mistake(
            "swaps-tokens-and-features",
            lambda x: _reshaped(x, swapped=(2, 3)),
            "You swapped tokens and features before joining, so that a vector holds one feature at several tokens. "
            "Which axis stands between the tokens and the features they belong to?",
        ),
        Mistake(
            "swaps-heads-and-features",
            lambda x: _reshaped(x, swapped=(1, 3)),
            "You swapped the heads with the features, and the `reshape` dealt the numbers out anew. Swap the heads "
            "with the tokens: (batch, seq_len, n_heads, d_v).",
        ),
        Mistake(
            "swaps-heads-and-features-and-joins",
            lambda x: x.transpose(1, 3).flatten(2),
            "You swapped the heads with the features. Swap them with the tokens: (batch, seq_len, n_heads, d_v).",
        ),
        Mistake(
            "mixes-the-batch",
            lambda x: x.permute(2, 0, 1, 3).reshape(len(x), x.shape[2], -1),
            "Numbers of different sentences meet in one row. The batch stays the first axis throughout.",
        ),
        Mistake(
            "swaps-batch-and-heads",
            lambda x: x.transpose(0, 1).reshape(len(x), x.shape[2], -1),
            "You swapped the heads with the batch. They must stand next to their features, so swap them with the "
            "tokens.",
        ),
        Mistake(
            "tokens-joined-with-the-batch",
            lambda x: merge_heads(x).flatten(0, 1),
            "The vectors are right, but all sentences became one long list of tokens. The batch stays an axis.",
        ),
        Mistake(
            "view-with-features-before-tokens",
            lambda x: x.reshape(len(x), -1, x.shape[2]).transpose(1, 2),
            "A `view` cannot move an axis: it deals the numbers out as they lie, token after token of one head. First "
            "swap heads and tokens; then join.",
        ),
        Mistake(
            "tokens-before-the-batch",
            lambda x: x.permute(2, 0, 1, 3).flatten(2),
            "The heads are joined as they should be, but the result is (seq_len, batch, d_model). The batch comes "
            "first.",
        ),
        Mistake(
            "joins-the-sentences",
            lambda x: torch.cat(list(x), dim=-1),
            "Looping over `x` walks along its first axis: you joined the *sentences*. The heads are axis 1.",
        ),
    ),
    hints=(
        "Two steps again, in the opposite order: two axes change places, then two become one.",
        "Only neighboring axes can be joined. Before the join, the heads must stand next to the features.",
        "`x.transpose(1, 2)` is (batch, seq_len, n_heads, d_v); `.flatten(start_dim=2)` joins the last two.",
    ),
    alternatives=(transpose_and_reshape, unbind_and_cat, head_by_head),
    difficulty=1,
    minutes=5,
)


# multi_head.contributions


def head_contributions(heads, w_o):
    """What each head adds to the output: (batch, n_heads, q_len, d_model), and their sum is concat(heads) @ w_o.

    `heads` (batch, n_heads, q_len, d_v) are the results of the heads, `w_o` is (n_heads · d_v, d_model). Laid side by
    side, head i meets the rows i · d_v … (i + 1) · d_v of `w_o`, and no others.

    >>> heads, w_o = torch.tensor([[[[1.0]], [[10.0]]]]), torch.tensor([[2.0, 3.0], [4.0, 5.0]])
    >>> head_contributions(heads, w_o)[0, :, 0]    # rows: what head 0 writes, what head 1 writes
    tensor([[ 2.,  3.],
            [40., 50.]])
    """
    _, n_heads, _, d_v = heads.shape
    rows_of_each_head = w_o.reshape(n_heads, d_v, -1)
    return heads @ rows_of_each_head


def loop_over_rows(heads, w_o):
    n_heads, d_v = heads.shape[1], heads.shape[3]
    return torch.stack([heads[:, i] @ w_o[i * d_v : (i + 1) * d_v] for i in range(n_heads)], dim=1)


def with_one_einsum(heads, w_o):
    return torch.einsum("bhqv,hvd->bhqd", heads, w_o.unflatten(0, (heads.shape[1], heads.shape[3])))


def silence_the_others(heads, w_o):
    written = []
    for i in range(heads.shape[1]):
        alone = torch.zeros_like(heads)
        alone[:, i] = heads[:, i]
        written.append(merge_heads(alone) @ w_o)
    return torch.stack(written, dim=1)


def _in_their_place(heads):
    """(batch, n_heads, q_len, n_heads · d_v): each head alone in the concatenation, zeros for the others."""
    batch, n_heads, q_len, d_v = heads.shape
    places = torch.zeros(batch, n_heads, q_len, n_heads, d_v)
    for i in range(n_heads):
        places[:, i, :, i] = heads[:, i]
    return places.flatten(3)


def _by_slices(part_of):
    """Each head times its part of `w_o`, whichever part that is taken to be."""

    def contributions(heads, w_o):
        n_heads, d_v = heads.shape[1], heads.shape[3]
        parts = [part_of(w_o, i * d_v, (i + 1) * d_v, n_heads) for i in range(n_heads)]
        return torch.stack([heads[:, i] @ part for i, part in enumerate(parts)], dim=1)

    return contributions


def _total(heads, w_o):
    return merge_heads(heads) @ w_o


CONTRIBUTIONS = Exercise(
    id="multi_head.contributions",
    title="Who wrote what",
    task="Return what each head adds to the output, (batch, n_heads, q_len, d_model); their sum is concat @ w_o.",
    reference=head_contributions,
    cases=lambda: [
        case(torch.tensor([[[[1.0]], [[10.0]]]]), torch.tensor([[2.0, 3.0], [4.0, 5.0]]), about="two heads, one token"),
        case(_counting(1, 2, 1, 2) + 1, _random(4, 4, seed=1), about="two heads of two features"),
        case(_random(2, 3, 5, 7, seed=2), _random(21, 21, seed=3), about="all sizes different"),
        case(_random(3, 3, 3, 3, seed=4), _random(9, 9, seed=5), about="as many heads as features"),
        case(_random(3, 3, 3, 1, seed=8), _random(3, 3, seed=9), about="all sizes equal"),
        case(_random(2, 4, 3, 2, seed=6), _random(8, 5, seed=7), about="an output narrower than the heads together"),
    ],
    mistakes=(
        Mistake(
            "only-the-sum",
            _total,
            "That is the whole output. The question is which part of it each head wrote: one more axis, for the heads.",
        ),
        Mistake(
            "the-sum-for-every-head",
            lambda heads, w_o: _total(heads, w_o)[:, None].expand(-1, heads.shape[1], -1, -1),
            "Every head got the credit for the whole output. Which rows of `w_o` does head i meet?",
        ),
        Mistake(
            "columns-instead-of-rows",
            _by_slices(lambda w_o, start, stop, n_heads: w_o[:, start:stop].T),
            "You gave each head *columns* of `w_o`. In `concat @ w_o` a column belongs to an output feature, a row to "
            "an input feature: head i owns rows.",
        ),
        Mistake(
            "blocks-of-the-transpose",
            lambda heads, w_o: heads @ w_o.T.reshape(heads.shape[1], heads.shape[3], -1),
            "You cut the transpose of `w_o`, so each head meets *columns*. In `concat @ w_o` head i owns rows.",
        ),
        Mistake(
            "overlapping-rows",
            _by_slices(lambda w_o, start, stop, n_heads: w_o[start // (stop - start) :][: stop - start]),
            "Your blocks of rows overlap: head 1 begins at row 1. Where does it begin, when each head has d_v "
            "features?",
        ),
        Mistake(
            "joined-before-the-question",
            lambda heads, w_o: _reshaped(heads) @ w_o,
            "That is one output for each token (and joined without moving the heads next to their features). Wanted is"
            " one for each *head*: multiply before anything is joined.",
        ),
        Mistake(
            "rows-of-the-first-head",
            _by_slices(lambda w_o, start, stop, n_heads: w_o[: stop - start]),
            "Every head uses the first d_v rows of `w_o`. Those belong to head 0; where do the rows of head i begin?",
        ),
        Mistake(
            "every-nth-row",
            lambda heads, w_o: heads @ w_o.reshape(heads.shape[3], heads.shape[1], -1).transpose(0, 1),
            "You took every n_heads-th row. The heads lie side by side in the concatenation, so head i owns d_v rows "
            "in a block.",
        ),
        Mistake(
            "what-is-left-without-the-head",
            lambda heads, w_o: _total(heads, w_o)[:, None] - head_contributions(heads, w_o),
            "That is the output *without* head i, all the others' work. Wanted is what head i adds by itself.",
        ),
        Mistake(
            "an-equal-share",
            lambda heads, w_o: _total(heads, w_o)[:, None].expand(-1, heads.shape[1], -1, -1) / heads.shape[1],
            "You shared the output out equally. It sums up, but it does not say who wrote what.",
        ),
        Mistake(
            "divided-by-the-heads",
            lambda heads, w_o: head_contributions(heads, w_o) / heads.shape[1],
            "The right directions, divided by n_heads: then their *mean* is the output. W_O adds the heads, it does "
            "not average them.",
        ),
        Mistake(
            "without-w-o",
            lambda heads, w_o: _in_their_place(heads),
            "Each head stands in its place of the concatenation, but `w_o` has not been applied yet.",
        ),
        Mistake(
            "heads-before-the-batch",
            lambda heads, w_o: head_contributions(heads, w_o).transpose(0, 1),
            "The contributions are right, but the heads stand before the batch. `torch.stack` has a `dim`.",
        ),
        Mistake(
            "heads-after-the-tokens",
            lambda heads, w_o: head_contributions(heads, w_o).transpose(1, 2),
            "The contributions are right, but the heads stand behind the tokens: (batch, q_len, n_heads, d_model) "
            "instead of (batch, n_heads, q_len, d_model).",
        ),
        Mistake(
            "heads-last",
            lambda heads, w_o: torch.stack(head_contributions(heads, w_o).unbind(1), dim=-1),
            "The contributions are right, but the heads stand on the last axis. They belong right behind the batch.",
        ),
        Mistake(
            "side-by-side",
            lambda heads, w_o: torch.cat(head_contributions(heads, w_o).unbind(1), dim=-1),
            "The contributions are right, but laid side by side. Give the heads an axis of their own: `torch.stack`.",
        ),
        Mistake(
            "all-rows-added",
            lambda heads, w_o: heads @ w_o.reshape(heads.shape[1], heads.shape[3], -1).sum(dim=0),
            "Every head meets the sum of all blocks of rows. Pair them: head i with block i, and nothing is summed "
            "yet.",
        ),
    ),
    hints=(
        "Write `concat @ w_o` for two heads of one feature: which row of `w_o` does head 1 multiply?",
        "A matrix product is a sum over input features. The features of head i are a block of d_v, so its part of the "
        "sum uses a block of d_v *rows*. Nothing else in the sum comes from head i.",
        "`w_o.view(n_heads, d_v, d_model)` is one small matrix for each head; `@` pairs them with the heads.",
    ),
    alternatives=(loop_over_rows, with_one_einsum, silence_the_others),
    difficulty=2,
    minutes=10,
)


# multi_head.count_parameters


def count_parameters(d_model, n_heads, d_k, d_v, bias):
    """How many numbers multi-head attention learns; each head projects to d_k (queries, keys) and d_v (values).

    >>> count_parameters(d_model=4, n_heads=2, d_k=2, d_v=2, bias=False)
    64
    """
    per_head = d_model * d_k + d_model * d_k + d_model * d_v
    w_o = n_heads * d_v * d_model
    biases = n_heads * (d_k + d_k + d_v) + d_model
    return n_heads * per_head + w_o + (biases if bias else 0)


def by_building_it(d_model, n_heads, d_k, d_v, bias):
    layers = [
        nn.Linear(d_model, n_heads * d_k, bias),
        nn.Linear(d_model, n_heads * d_k, bias),
        nn.Linear(d_model, n_heads * d_v, bias),
        nn.Linear(n_heads * d_v, d_model, bias),
    ]
    return sum(p.numel() for layer in layers for p in layer.parameters())


def row_by_row(d_model, n_heads, d_k, d_v, bias):
    into = d_model + bias  # what one feature of a query, key or value is computed from
    out_of = n_heads * d_v + bias  # what one feature of the output is computed from
    return n_heads * (2 * d_k + d_v) * into + d_model * out_of


def head_after_head(d_model, n_heads, d_k, d_v, bias):
    total = d_model if bias else 0
    for _ in range(n_heads):
        for width in (d_k, d_k, d_v):
            total += d_model * width + (width if bias else 0)
        total += d_v * d_model
    return total


def _count(qk=2, v=1, heads=None, k=None, value=None, w_o=None, biases=None):
    """`count_parameters` with one thing or two counted differently; each argument is a function of the sizes."""

    def count(d_model, n_heads, d_k, d_v, bias):
        sizes = (d_model, n_heads, d_k, d_v)
        h = heads(*sizes) if heads else n_heads
        d_k, d_v = (k(*sizes) if k else d_k), (value(*sizes) if value else d_v)
        out = w_o(*sizes) if w_o else n_heads * d_v * d_model
        added = biases(*sizes) if biases else h * (qk * d_k + v * d_v) + d_model
        return h * d_model * (qk * d_k + v * d_v) + out + added * bias

    return count


# What two things are counted wrongly at once: name, arguments of `_count`, one sentence.
_MATRICES = (
    ("w-o-forgotten", {"w_o": lambda d, h, k, v: 0}, "W_O is missing."),
    ("projections-of-one-head", {"heads": lambda *_: 1}, "W_Q, W_K and W_V are counted for one head."),
    ("w-o-of-one-head", {"w_o": lambda d, h, k, v: v * d}, "W_O takes *all* heads side by side."),
    ("w-o-assumed-square", {"w_o": lambda d, h, k, v: d * d}, "W_O takes n_heads · d_v features, not d_model."),
    ("w-o-for-every-head", {"w_o": lambda d, h, k, v: h * d * d}, "There is one W_O, not one of full width a head."),
    ("values-as-wide-as-keys", {"value": lambda d, h, k, v: k}, "Values have d_v features, not d_k."),
    ("keys-forgotten", {"qk": 1}, "Queries and keys have a matrix each."),
)
_BIASES = (
    ("biases-forgotten", {"biases": lambda *_: 0}, "And with `bias=True` each layer adds a vector."),
    ("bias-of-w-o-forgotten", {"biases": lambda d, h, k, v: h * (2 * k + v)}, "And W_O adds a bias too."),
    (
        "biases-as-wide-as-the-model",
        {"biases": lambda d, h, k, v: 4 * d},
        "And a bias is as wide as its layer's result.",
    ),
    ("biases-of-one-head", {"biases": lambda d, h, k, v: 2 * k + v + d}, "And every head has biases of its own."),
)


# Pairs that are one mistake: a whole layer forgotten, or one head counted throughout.
_ONE_THOUGHT = (
    ("w-o-forgotten", "bias-of-w-o-forgotten"),
    ("projections-of-one-head", "biases-of-one-head"),
)


def _two_miscounts():
    for (name, matrices, says), (other, biases, also_says) in itertools.product(_MATRICES, _BIASES):
        if (name, other) not in _ONE_THOUGHT:
            yield Mistake(f"{name}-and-{other}", _count(**matrices, **biases), f"Two things. {says} {also_says}")


PARAMETERS = Exercise(
    id="multi_head.count_parameters",
    title="Count the parameters",
    task="Count all learned numbers: n_heads heads with queries and keys of d_k, values of d_v, then W_O.",
    reference=count_parameters,
    cases=lambda: [
        case(4, 2, 2, 2, False, about="two heads, no biases"),
        case(4, 2, 2, 2, True, about="two heads, with biases"),
        case(6, 2, 3, 3, True, about="two wider heads"),
        case(30, 3, 5, 7, False, about="d_v larger than d_k, no biases"),
        case(30, 3, 5, 7, True, about="d_v larger than d_k, with biases"),
        case(512, 8, 64, 64, False, about="the paper's base model"),
        case(512, 1, 512, 512, True, about="one head of full width"),
    ],
    mistakes=(
        Mistake(
            "w-o-forgotten",
            _count(w_o=lambda d, h, k, v: 0, biases=lambda d, h, k, v: h * (2 * k + v)),
            "W_O is missing: the matrix that mixes the heads after they are laid side by side.",
        ),
        Mistake(
            "w-o-forgotten-but-its-bias-counted",
            _count(w_o=lambda d, h, k, v: 0),
            "The matrix of W_O is missing (its bias is counted). It takes the heads side by side and returns d_model.",
        ),
        Mistake(
            "one-head-only",
            _count(heads=lambda *_: 1, w_o=lambda d, h, k, v: v * d),
            "That is one head. Every head has matrices of its own.",
        ),
        Mistake(
            "projections-of-one-head",
            _count(heads=lambda *_: 1),
            "W_O is right, but W_Q, W_K and W_V are counted for one head. Every head has its own three.",
        ),
        Mistake(
            "w-o-of-one-head",
            _count(w_o=lambda d, h, k, v: v * d),
            "W_O takes *all* heads side by side. How many features is that?",
        ),
        Mistake(
            "w-o-assumed-square",
            _count(w_o=lambda d, h, k, v: d * d),
            "You counted W_O as d_model × d_model. That holds when n_heads · d_v = d_model; in general it takes "
            "n_heads · d_v features.",
        ),
        Mistake(
            "w-o-for-every-head",
            _count(w_o=lambda d, h, k, v: h * d * d),
            "You gave every head a W_O of d_model × d_model. There is one W_O, and it takes d_v features from each "
            "head.",
        ),
        Mistake(
            "usual-sizes-assumed",
            lambda d_model, n_heads, d_k, d_v, bias: 4 * d_model * d_model + 4 * d_model * bias,
            "Your formula, 4 · d_model², holds when n_heads · d_k = n_heads · d_v = d_model. Start from one head: "
            "which shapes do its three matrices have?",
        ),
        Mistake(
            "every-head-at-full-width",
            _count(k=lambda d, h, k, v: d, value=lambda d, h, k, v: d),
            "You counted every head at full width. A head projects d_model features *down* to d_k or d_v.",
        ),
        Mistake(
            "every-head-at-full-width-w-o-square",
            _count(
                k=lambda d, h, k, v: d,
                value=lambda d, h, k, v: d,
                w_o=lambda d, h, k, v: d * d,
            ),
            "Each head's matrices are counted as d_model × d_model. A head projects down to d_k or d_v features; then "
            "W_O takes n_heads · d_v of them.",
        ),
        Mistake(
            "the-input-is-cut-too",
            lambda d_model, n_heads, d_k, d_v, bias: (
                n_heads * (2 * d_k * d_k + d_v * d_v)
                + n_heads * d_v * d_model
                + (n_heads * (2 * d_k + d_v) + d_model) * bias
            ),
            "Your heads project d_k features to d_k, as if the input had been cut among the heads. Every head reads "
            "all d_model features.",
        ),
        Mistake(
            "values-as-wide-as-keys",
            _count(value=lambda d, h, k, v: k),
            "Your values have d_k features. They may have another width: d_v, which W_O takes in as well.",
        ),
        Mistake(
            "values-as-wide-as-keys-w-o-right",
            _count(value=lambda d, h, k, v: k, w_o=lambda d, h, k, v: h * v * d),
            "W_O is right, but W_V is counted with d_k columns. What does a value have?",
        ),
        Mistake(
            "w-o-takes-d-k",
            _count(w_o=lambda d, h, k, v: h * k * d),
            "W_O is counted with d_k features from each head. What a head returns is a mean of *values*.",
        ),
        Mistake(
            "keys-forgotten",
            _count(qk=1),
            "One matrix is missing in each head: queries and keys both have d_k features, by two different matrices.",
        ),
        Mistake(
            "values-forgotten",
            _count(v=0),
            "W_V is missing. Queries and keys say where to look; values say what is carried away.",
        ),
        Mistake(
            "biases-forgotten",
            _count(biases=lambda *_: 0),
            "The matrices are right; with `bias=True` each of the four layers also adds a vector.",
        ),
        Mistake(
            "biases-always",
            lambda d_model, n_heads, d_k, d_v, bias: count_parameters(d_model, n_heads, d_k, d_v, True),
            "You add the biases always. `bias` says whether there are any.",
        ),
        Mistake(
            "bias-of-w-o-forgotten",
            _count(biases=lambda d, h, k, v: h * (2 * k + v)),
            "One bias is missing: W_O adds one too.",
        ),
        Mistake(
            "bias-of-w-o-alone",
            _count(biases=lambda d, h, k, v: d),
            "You counted the bias of W_O alone. The three projections of each head have theirs.",
        ),
        Mistake(
            "biases-as-wide-as-the-model",
            _count(biases=lambda d, h, k, v: 4 * d),
            "You counted four biases of d_model each. A bias is as wide as what its layer *returns*.",
        ),
        Mistake(
            "biases-as-wide-as-the-input",
            _count(biases=lambda d, h, k, v: 3 * d + h * v),
            "Your biases are as wide as the layers' inputs. A bias is added to the *result*.",
        ),
        Mistake(
            "biases-of-one-head",
            _count(biases=lambda d, h, k, v: 2 * k + v + d),
            "The matrices are right; the biases of the three projections are counted for one head.",
        ),
        Mistake(
            "one-number-a-bias",
            _count(biases=lambda d, h, k, v: 3 * h + 1),
            "You counted each bias as one number. It is a vector: one number for every feature the layer returns.",
        ),
        Mistake(
            "four-numbers-as-biases",
            _count(biases=lambda *_: 4),
            "You counted four biases of one number. A bias is a vector: one number for every feature its layer "
            "returns.",
        ),
        Mistake(
            "biases-turned-round",
            lambda d_model, n_heads, d_k, d_v, bias: count_parameters(d_model, n_heads, d_k, d_v, not bias),
            "You add the biases when there are none, and leave them out when there are.",
        ),
        Mistake(
            "bias-of-w-o-for-every-head",
            _count(biases=lambda d, h, k, v: h * (2 * k + v + d)),
            "You counted W_O's bias once for every head. There is one W_O, and it returns d_model features.",
        ),
        Mistake(
            "bias-of-w-o-as-wide-as-its-input",
            _count(biases=lambda d, h, k, v: h * (2 * k + v) + h * v),
            "The bias of W_O is counted as wide as what goes *in*. It is added to the result.",
        ),
        Mistake(
            "usual-sizes-without-w-o",
            lambda d_model, n_heads, d_k, d_v, bias: 3 * d_model * (d_model + bias),
            "Three square matrices: that is the usual case n_heads · d_k = d_model, and W_O is missing. Start from one"
            " head: which shapes do its matrices have?",
        ),
        Mistake(
            "usual-sizes-without-biases",
            lambda d_model, n_heads, d_k, d_v, bias: 4 * d_model * d_model,
            "Four square matrices: that is the usual case n_heads · d_k = d_model, and without biases.",
        ),
        Mistake(
            "one-head-without-w-o",
            lambda d_model, n_heads, d_k, d_v, bias: (d_model + bias) * (2 * d_k + d_v),
            "That is what one head projects with. There are n_heads of them, and W_O behind them.",
        ),
        Mistake(
            "one-head-without-biases",
            lambda d_model, n_heads, d_k, d_v, bias: 2 * d_model * (d_k + d_v),
            "That is one head, without biases. Every head has matrices of its own, and `bias` adds vectors.",
        ),
        *_two_miscounts(),
    ),
    hints=(
        "Draw the four kinds of matrices as rectangles, with the width of what goes in and of what comes out.",
        "A head reads d_model features and makes d_k, d_k and d_v of them. W_O reads what all heads return, side by "
        "side. A bias is as wide as what its layer returns.",
        "`n_heads * d_model * (d_k + d_k + d_v)` for the heads, `n_heads * d_v * d_model` for W_O.",
    ),
    alternatives=(by_building_it, row_by_row, head_after_head),
    difficulty=2,
    minutes=8,
)


# multi_head.mha


def mha(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    """Multi-head attention on bare matrices, as the formula has them: `query @ w_q`, no biases.

    `query` (batch, q_len, d_model), `key_value` (batch, k_len, d_model), each matrix (d_model, d_model) with the heads
    side by side in its columns. `mask`, True = may attend, broadcasts to (batch, n_heads, q_len, k_len).
    Returns (batch, q_len, d_model).
    """
    q = split_heads(query @ w_q, n_heads)
    k = split_heads(key_value @ w_k, n_heads)
    v = split_heads(key_value @ w_v, n_heads)
    heads, _weights = scaled_dot_product_attention(q, k, v, mask)
    return merge_heads(heads) @ w_o


def with_a_loop_over_heads(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    batch, q_len, d_model = query.shape
    d_k = d_model // n_heads
    if mask is not None:
        mask = mask.expand(batch, n_heads, q_len, key_value.shape[1])
    heads = []
    for i in range(n_heads):
        columns = slice(i * d_k, (i + 1) * d_k)
        scores = (query @ w_q[:, columns]) @ (key_value @ w_k[:, columns]).transpose(1, 2) / math.sqrt(d_k)
        if mask is not None:
            scores = scores.masked_fill(~mask[:, i], float("-inf"))
        heads.append(scores.softmax(dim=-1) @ (key_value @ w_v[:, columns]))
    return torch.cat(heads, dim=-1) @ w_o


def with_einsum(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    w_q, w_k, w_v = (w.unflatten(1, (n_heads, -1)) for w in (w_q, w_k, w_v))
    q = torch.einsum("bqd,dhf->bhqf", query, w_q)
    k = torch.einsum("bkd,dhf->bhkf", key_value, w_k)
    v = torch.einsum("bkd,dhf->bhkf", key_value, w_v)
    scores = torch.einsum("bhqf,bhkf->bhqk", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.where(mask, torch.finfo(scores.dtype).min)
    heads = torch.einsum("bhqk,bhkf->bqhf", scores.softmax(dim=-1), v)
    return heads.flatten(2) @ w_o


def with_fused_attention(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (
        (x @ w).unflatten(-1, (n_heads, -1)).transpose(1, 2)
        for x, w in ((query, w_q), (key_value, w_k), (key_value, w_v))
    )
    heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return heads.transpose(1, 2).flatten(2) @ w_o


def with_pytorchs_module(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    batch, q_len, d_model = query.shape
    module = nn.MultiheadAttention(d_model, n_heads, bias=False, batch_first=True)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.cat([w_q.T, w_k.T, w_v.T]))
        module.out_proj.weight.copy_(w_o.T)
    if mask is not None:
        mask = ~mask.expand(batch, n_heads, q_len, key_value.shape[1]).flatten(0, 1)
    output, _ = module(query, key_value, key_value, attn_mask=mask)
    return output


def _right_scale(d_k, d_model, n_heads, k_len):
    return math.sqrt(d_k)


def _side_by_side(x, n_heads):
    return _cut(x, n_heads).transpose(1, 2)


def _in_threads(x, n_heads):
    return _cut_into_threads(x, n_heads).permute(0, 3, 1, 2)


def _masked(scores, mask):
    return scores if mask is None else scores.masked_fill(~mask, NEG_INF)


def _softmax_of_masked(scores, mask):
    return _masked(scores, mask).softmax(dim=-1)


def _sources(query, key_value, w_q, w_k, w_v):
    return query @ w_q, key_value @ w_k, key_value @ w_v


def _mha(
    project=_sources, split=_side_by_side, scale=_right_scale, weigh=_softmax_of_masked, merge=merge_heads, finish=None
):
    """`mha` step by step, each step replaceable by a wrong one."""

    def attention(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
        q, k, v = (split(x, n_heads) for x in project(query, key_value, w_q, w_k, w_v))
        d_model = query.shape[-1]
        divisor = scale(d_model // n_heads, d_model, n_heads, key_value.shape[1])
        weights = weigh(q @ k.transpose(-2, -1) / divisor, mask)
        heads = merge(weights @ v)
        return finish(heads, w_o) if finish else heads @ w_o

    return attention


def _model_scale(d_k, d_model, n_heads, k_len):
    return math.sqrt(d_model)


def _no_scale(d_k, d_model, n_heads, k_len):
    return 1.0


def _by_columns(query, key_value, w_q, w_k, w_v):
    return query @ w_q.T, key_value @ w_k.T, key_value @ w_v.T


def _unmasked(scores, mask):
    return scores.softmax(dim=-1)


def _hides_the_visible(scores, mask):
    return (scores if mask is None else scores.masked_fill(mask, NEG_INF)).softmax(dim=-1)


def _values_copied(query, key_value, w_q, w_k, w_v):
    return query @ w_q, key_value @ w_k, key_value @ w_k


def _query_alone(query, key_value, w_q, w_k, w_v):
    return query @ w_q, query @ w_k, query @ w_v


def _without_w_o(heads, w_o):
    return heads


# The commonest mistakes, each a wrong step of `_mha`: name, the step, and one sentence for where two of them meet.
_COMMON = (
    ("scaled-by-d-model", {"scale": _model_scale}, "The scores are divided by √d_model, not by √d_k."),
    ("not-scaled", {"scale": _no_scale}, "The scores are not divided by √d_k."),
    ("cut-by-view", {"split": _by_view}, "The cut is a `view` that cannot move the heads before the tokens."),
    ("joined-by-view", {"merge": _reshaped}, "The heads are joined before they stand next to their features."),
    ("values-through-w-k", {"project": _values_copied}, "The values go through `w_k`; `w_v` is never used."),
    ("self-attention-only", {"project": _query_alone}, "Keys and values must come from `key_value`."),
    ("mask-ignored", {"weigh": _unmasked}, "The mask has no effect."),
    ("true-hides", {"weigh": _hides_the_visible}, "Here True = may attend: hide where the mask is False."),
    ("w-o-forgotten", {"finish": _without_w_o}, "W_O is missing at the end."),
)


def _two_at_once():
    """Pairs of the commonest mistakes, in different steps; `cut-and-joined-by-view` has a message of its own."""
    for (name, step, says), (other, other_step, also_says) in itertools.combinations(_COMMON, 2):
        if not step.keys() & other_step.keys() and (name, other) != ("cut-by-view", "joined-by-view"):
            yield Mistake(f"{name}-and-{other}", _mha(**step, **other_step), f"Two things. {says} {also_says}")


def _hides_the_visible_by_a_number(scores, mask):
    return (scores if mask is None else scores.masked_fill(mask, -1e9)).softmax(dim=-1)


def _joined_as_if_swapped(x):
    """What the join of (batch, seq_len, n_heads, d_k) becomes for those who believe the heads stand in front."""
    batch, seq_len, n_heads, d_k = x.shape
    return x.transpose(1, 2).reshape(batch, seq_len, n_heads * d_k)


def _one_head(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return mha(query, key_value, w_q, w_k, w_v, w_o, 1, mask)


def _cuts_the_input(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    """Each head is given its slice of the input, and the matching square of each matrix."""
    d_k = query.shape[-1] // n_heads
    squares = torch.block_diag(*[torch.ones(d_k, d_k) for _ in range(n_heads)])
    return mha(query, key_value, w_q * squares, w_k * squares, w_v * squares, w_o, n_heads, mask)


def _inside_each_token(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    """No transpose: the scores are (batch, q_len, n_heads, n_heads), and a mask of that shape happens to fit or not."""
    q, k, v = (_cut(x, n_heads) for x in _sources(query, key_value, w_q, w_k, w_v))
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return (_softmax_of_masked(scores, mask) @ v).reshape(query.shape) @ w_o


def _answer_alone(obj, given):
    """The output, also where the weights are handed back beside it."""
    answer = obj(*given.args, **given.kwargs)
    is_pair = isinstance(answer, tuple | list) and len(answer) == 2 and getattr(answer[0], "shape", None) is not None
    return answer[0] if is_pair and tuple(answer[0].shape) != tuple(given.args[0].shape[1:]) else answer


def _mha_cases():
    def inputs(batch, q_len, k_len, d_model, seed):
        x = _random(batch, q_len, d_model, seed=seed)
        memory = x if k_len is None else _random(batch, k_len, d_model, seed=seed + 1)
        return x, memory, *(_random(d_model, d_model, seed=seed + step) / d_model**0.5 * 2 for step in range(2, 6))

    def causal(n):
        return torch.ones(n, n, dtype=torch.bool).tril()

    def padding(*lengths):
        return (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None])[:, None, None, :]

    return [
        case(*inputs(1, 2, None, 4, seed=0), 2, about="self-attention, two tokens, two heads"),
        case(*inputs(2, 3, 5, 14, seed=10), 7, about="cross-attention, all sizes different"),
        case(*inputs(2, 4, 4, 6, seed=20), 3, about="cross-attention, as many keys as queries"),
        case(*inputs(4, 4, 4, 4, seed=30), 2, about="all sizes equal"),
        case(*inputs(2, 3, None, 9, seed=40), 3, causal(3), about="a causal mask, as many heads as tokens"),
        case(*inputs(2, 5, None, 8, seed=50), 4, padding(5, 3) & causal(5), about="a causal mask and padding"),
        case(*inputs(3, 4, 4, 10, seed=60), 2, padding(4, 2, 1), about="cross-attention with padding"),
        case(*inputs(2, 3, 2, 5, seed=70), 1, about="one head"),
    ]


MHA = Exercise(
    id="multi_head.mha",
    title="Multi-head attention on bare matrices",
    task="Compute Concat(head_1 … head_h) W_O from the weight matrices; `query @ w_q`, and no biases.",
    reference=mha,
    cases=_mha_cases,
    call=_answer_alone,
    mistakes=(
        Convention(
            "weights-stored-as-in-linear",
            _mha(project=_by_columns, finish=lambda heads, w_o: heads @ w_o.T),
            "Valid for the weights of `nn.Linear`, which multiplies by the transpose. Here the matrices stand as in "
            "the formula: `query @ w_q`.",
        ),
        Mistake(
            "projections-transposed",
            _mha(project=_by_columns),
            "W_O is applied as in the formula, the other three are transposed (`F.linear` does that). Here all four "
            "stand as in the formula: `query @ w_q`.",
        ),
        Mistake(
            "w-o-transposed",
            _mha(finish=lambda heads, w_o: heads @ w_o.T),
            "Everything is right up to W_O, which you transposed (`F.linear` does that): `concat @ w_o`.",
        ),
        Mistake(
            "scaled-by-d-model",
            _mha(scale=_model_scale),
            "You divided by √d_model. A head's scores are sums of d_k terms, so √d_k: what is the last axis of *one* "
            "head's queries?",
        ),
        Mistake(
            "not-scaled",
            _mha(scale=_no_scale),
            "The scores are not scaled: with more features they grow, and the softmax saturates. By what?",
        ),
        Mistake(
            "scaled-without-the-root",
            _mha(scale=lambda d_k, *_: d_k),
            "You divided by d_k itself. The spread of a sum of d_k terms grows with the *root* of d_k.",
        ),
        Mistake(
            "scaled-by-n-heads",
            _mha(scale=lambda d_k, d_model, n_heads, k_len: math.sqrt(n_heads)),
            "You divided by √n_heads. The scores of a head know nothing of the other heads: they have d_k terms.",
        ),
        Mistake(
            "scaled-by-the-length",
            _mha(scale=lambda d_k, d_model, n_heads, k_len: math.sqrt(k_len)),
            "You divided by the root of the number of keys. A score is a sum over *features*: √d_k.",
        ),
        Mistake(
            "scaled-upwards",
            _mha(scale=lambda d_k, *_: 1 / math.sqrt(d_k)),
            "You multiplied by √d_k, where the formula divides.",
        ),
        Mistake(
            "w-o-forgotten",
            _mha(finish=_without_w_o),
            "The heads are laid side by side, and W_O is missing: each head would write into its own slice of the "
            "output, and no other.",
        ),
        Mistake(
            "one-big-head",
            _one_head,
            "You never cut: that is one head of full width, with one softmax for each query. Where does `n_heads` come"
            " in?",
        ),
        Mistake(
            "one-big-head-scaled-for-many",
            lambda query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None: _one_head(
                query, key_value, w_q * math.sqrt(n_heads), w_k, w_v, w_o, n_heads, mask
            ),
            "The scale is that of a head, but nothing is cut: there is one softmax for each query. Where are the "
            "heads?",
        ),
        Mistake(
            "cut-by-view",
            _mha(split=_by_view),
            "The heads have the right shape and the wrong numbers: a `view` to (batch, n_heads, seq_len, d_k) deals "
            "out whole tokens. Cut the last axis, then swap two axes.",
        ),
        Mistake(
            "cut-and-joined-by-view",
            _mha(split=_by_view, merge=_reshaped),
            "Cut and joined by `view` alone, without a transpose. The two undo each other, so nothing looks wrong, but"
            " in between the heads hold pieces of other tokens.",
        ),
        Mistake(
            "joined-by-view",
            _mha(merge=_reshaped),
            "The heads are right, their joining is not: before the `reshape`, the heads of one token must stand next "
            "to its features.",
        ),
        Mistake(
            "no-transpose",
            _inside_each_token,
            "Print the shape of your scores: (batch, seq_len, n_heads, n_heads). The heads of one token attend to each"
            " other, and no token sees another. Which axis must stand behind the batch?",
        ),
        Mistake(
            "no-transpose-and-joined-as-if",
            _mha(split=_cut, merge=_joined_as_if_swapped),
            "Your scores are (batch, seq_len, n_heads, n_heads): the heads of one token attend to each other. The swap"
            " at the end is there; the one after the cut is missing.",
        ),
        Convention(
            "every-nth-feature",
            _mha(split=_in_threads, merge=lambda x: x.permute(0, 2, 3, 1).flatten(2)),
            "Your head i takes every n_heads-th column. Valid for weights stored that way; here a head is d_k columns "
            "side by side.",
        ),
        Mistake(
            "cut-in-threads-joined-in-blocks",
            _mha(split=_in_threads),
            "Your head i takes every n_heads-th column, but the join puts the heads side by side. Here the cut, too, "
            "is in blocks of d_k.",
        ),
        Mistake(
            "cuts-the-input",
            _cuts_the_input,
            "You cut the input and gave each head a slice of it. Every head reads the *whole* vector: project first, "
            "cut the result.",
        ),
        Mistake(
            "self-attention-only",
            _mha(project=_query_alone),
            "Keys and values must come from `key_value`. You never use it, so this is self-attention whatever is "
            "passed.",
        ),
        Mistake(
            "reads-the-memory-alone",
            _mha(project=lambda x, y, q, k, v: (y @ q, y @ k, y @ v)),
            "The queries must come from `query`. You took all three from `key_value`.",
        ),
        Mistake(
            "roles-swapped",
            _mha(project=lambda x, y, q, k, v: (y @ q, x @ k, x @ v)),
            "The roles are swapped: the queries come from `query`, keys and values from `key_value`. The output has "
            "one row for each *query*.",
        ),
        Mistake(
            "values-from-the-query",
            _mha(project=lambda x, y, q, k, v: (x @ q, y @ k, x @ v)),
            "The weights are right, but they weigh the wrong things: values come from `key_value`, like the keys.",
        ),
        Mistake(
            "keys-from-the-query",
            _mha(project=lambda x, y, q, k, v: (x @ q, x @ k, y @ v)),
            "Your queries are compared with themselves: keys come from `key_value`, like the values.",
        ),
        Mistake(
            "values-through-w-k",
            _mha(project=_values_copied),
            "Your values went through `w_k`, and `w_v` is never used. A copied line?",
        ),
        Mistake(
            "values-through-w-q",
            _mha(project=lambda x, y, q, k, v: (x @ q, y @ k, y @ q)),
            "Your values went through `w_q`, and `w_v` is never used. A copied line?",
        ),
        Mistake(
            "keys-through-w-q",
            _mha(project=lambda x, y, q, k, v: (x @ q, y @ q, y @ v)),
            "Your keys went through `w_q`, and `w_k` is never used. A copied line?",
        ),
        Mistake(
            "keys-through-w-v",
            _mha(project=lambda x, y, q, k, v: (x @ q, y @ v, y @ v)),
            "Your keys went through `w_v`, and `w_k` is never used. A copied line?",
        ),
        Mistake(
            "all-through-w-q",
            _mha(project=lambda x, y, q, k, v: (x @ q, y @ q, y @ q)),
            "All three go through `w_q`. Asking, being found and answering are three tasks, with three matrices.",
        ),
        Mistake(
            "keys-and-values-swapped",
            _mha(project=lambda x, y, q, k, v: (x @ q, y @ v, y @ k)),
            "Keys and values have each other's matrix: `w_k` makes what is compared, `w_v` what is carried away.",
        ),
        Mistake(
            "queries-and-keys-swapped",
            _mha(project=lambda x, y, q, k, v: (x @ k, y @ q, y @ v)),
            "Queries and keys have each other's matrix. In self-attention that turns every question round.",
        ),
        Mistake(
            "not-projected-values",
            _mha(project=lambda x, y, q, k, v: (x @ q, y @ k, y)),
            "The values are not projected: `w_v` is never used.",
        ),
        Mistake(
            "nothing-projected",
            _mha(project=lambda x, y, q, k, v: (x, y, y)),
            "Nothing is projected: `w_q`, `w_k` and `w_v` are never used, and every head compares raw slices of the "
            "input.",
        ),
        Mistake(
            "mask-ignored",
            _mha(weigh=_unmasked),
            "Right without a mask; the mask has no effect. Does the result of `masked_fill` get lost?",
        ),
        Mistake(
            "true-hides",
            _mha(weigh=_hides_the_visible),
            "You hid what the mask lets through. Here True = may attend (`nn.MultiheadAttention` has it the other way "
            "round).",
        ),
        Mistake(
            "true-hides-by-a-large-number",
            _mha(weigh=_hides_the_visible_by_a_number),
            "You lowered the scores that the mask lets through. Here True = may attend: lower them where it is False.",
        ),
        Mistake(
            "true-hides-by-a-large-number-and-scaled-by-d-model",
            _mha(weigh=_hides_the_visible_by_a_number, scale=_model_scale),
            "Two things: the mask hides what it should let through (True = may attend), and the scores are divided by "
            "√d_model, not √d_k.",
        ),
        Mistake(
            "mask-transposed",
            _mha(weigh=lambda s, mask: _softmax_of_masked(s, None if mask is None else mask.transpose(-2, -1))),
            "You transposed the mask: a causal one now shows the future. Its rows are queries already, its columns "
            "keys.",
        ),
        Mistake(
            "zero-times-infinity",
            _mha(weigh=lambda s, mask: (s if mask is None else s + (~mask).float() * NEG_INF).softmax(dim=-1)),
            "Zero times infinity is NaN, so the visible cells are lost too. `masked_fill` writes −∞ where it belongs.",
        ),
        Mistake(
            "infinity-after-the-softmax",
            _mha(weigh=lambda s, m: s.softmax(dim=-1) if m is None else s.softmax(dim=-1).masked_fill(~m, NEG_INF)),
            "Too late: −∞ belongs among the *scores*, before the softmax. As a weight it makes the sum infinite.",
        ),
        Mistake(
            "mask-added-as-zero-and-one",
            _mha(weigh=lambda scores, mask: (scores if mask is None else scores + mask).softmax(dim=-1)),
            "Adding True and False adds 1 and 0: hidden keys keep almost all of their weight. Fill with −∞ where the "
            "mask is False.",
        ),
        Mistake(
            "mask-multiplied",
            _mha(weigh=lambda scores, mask: (scores if mask is None else scores * mask).softmax(dim=-1)),
            "You multiplied the scores by the mask: a score of 0 is not a weight of 0, since exp(0) = 1.",
        ),
        Mistake(
            "weights-zeroed-after-the-softmax",
            _mha(weigh=lambda s, mask: s.softmax(dim=-1) if mask is None else s.softmax(dim=-1) * mask),
            "You zeroed weights after the softmax: what remains in a row no longer sums to 1. Mask the scores, before.",
        ),
        Mistake(
            "mask-with-an-axis-too-many",
            _mha(weigh=lambda scores, mask: _softmax_of_masked(scores, None if mask is None else mask.unsqueeze(1))),
            "The mask broadcasts as it is. With `mask.unsqueeze(1)` it has an axis too many: an (n, n) mask becomes "
            "(n, 1, n), which is one row for each *head*.",
        ),
        Mistake(
            "softmax-over-queries",
            _mha(weigh=lambda scores, mask: _masked(scores, mask).softmax(dim=-2)),
            "Your columns sum to 1. Each query shares its attention out among the keys: the last axis.",
        ),
        Mistake(
            "softmax-over-heads",
            _mha(weigh=lambda scores, mask: _masked(scores, mask).softmax(dim=1)),
            "Your softmax lets the *heads* compete. Each head has a softmax of its own, over the keys: the last axis.",
        ),
        Mistake(
            "no-softmax",
            _mha(weigh=lambda scores, mask: scores if mask is None else scores.masked_fill(~mask, 0.0)),
            "There is no softmax: the raw scores are used as weights.",
        ),
        Mistake(
            "one-softmax-for-all-heads",
            _mha(weigh=lambda s, mask: _softmax_of_masked(s, mask).mean(dim=1, keepdim=True)),
            "The weights are averaged over the heads, so that all look at the same places. Each head keeps its own.",
        ),
        Mistake(
            "one-score-for-all-heads",
            _mha(weigh=lambda s, mask: _softmax_of_masked(s.mean(dim=1, keepdim=True), mask)),
            "The scores are averaged over the heads, so that all look at the same places. Each head keeps its own.",
        ),
        Mistake(
            "averages-the-heads",
            _mha(merge=lambda x: x.mean(dim=1)),
            "You averaged the heads, so W_O meets d_k features instead of d_model. Lay them side by side.",
        ),
        Mistake(
            "heads-behind-each-other",
            _mha(merge=lambda x: x.flatten(1, 2)),
            "You joined the heads along the tokens. They belong side by side, on the last axis: `dim=-1`.",
        ),
        Mistake(
            "heads-not-joined",
            _mha(merge=lambda x: x, finish=_without_w_o),
            "Each head is right, and the last two steps are missing: join them, (batch, q_len, d_model), then W_O.",
        ),
        Mistake(
            "heads-joined-in-threads",
            _mha(merge=lambda x: x.permute(0, 2, 3, 1).flatten(2)),
            "The heads are right, but joined feature by feature. W_O expects head 0 as a whole first, then head 1.",
        ),
        Mistake(
            "heads-and-features-swapped",
            _mha(merge=lambda x: _reshaped(x, swapped=(1, 3))),
            "The heads are right, but before the join you swapped heads and features. Heads and *tokens* change "
            "places.",
        ),
        Mistake(
            "tokens-and-features-swapped",
            _mha(merge=lambda x: _reshaped(x, swapped=(2, 3))),
            "The heads are right, but before the join you swapped tokens and features. *Heads* and tokens change "
            "places.",
        ),
        *_two_at_once(),
    ),
    hints=(
        "Five steps: project, cut into heads, attend, join, project again. Write the shape after each.",
        "`split_heads`, `scaled_dot_product_attention` and `merge_heads` are three of the steps; queries come from "
        "`query`, keys and values from `key_value`, and the mask goes to the attention as it is.",
        "`q = split_heads(query @ w_q, n_heads)`, the same for k and v from `key_value`, and at the end "
        "`merge_heads(heads) @ w_o`.",
    ),
    alternatives=(with_a_loop_over_heads, with_einsum, with_fused_attention, with_pytorchs_module),
    difficulty=3,
    minutes=20,
)


# multi_head.repair


def self_attention_with_heads(x, w_q, w_k, w_v, w_o, n_heads):
    """Self-attention with n_heads heads over x (batch, seq_len, d_model), without a mask."""
    batch, seq_len, d_model = x.shape
    d_k = d_model // n_heads

    def split(features):
        return features.view(batch, seq_len, n_heads, d_k).transpose(1, 2)

    q, k, v = split(x @ w_q), split(x @ w_k), split(x @ w_v)
    scores = q @ k.transpose(-2, -1) / math.sqrt(d_k)
    heads = scores.softmax(dim=-1) @ v
    return heads.transpose(1, 2).reshape(batch, seq_len, d_model) @ w_o


def self_attention_with_heads_starter(x, w_q, w_k, w_v, w_o, n_heads):
    batch, seq_len, d_model = x.shape
    d_k = d_model // n_heads

    def split(features):
        return features.view(batch, n_heads, seq_len, d_k)

    q, k, v = split(x @ w_q), split(x @ w_k), split(x @ w_k)
    scores = q @ k.transpose(-2, -1) / math.sqrt(d_model)
    heads = scores.softmax(dim=-1) @ v
    return heads.reshape(batch, seq_len, d_model) @ w_o


def from_the_chapter(x, w_q, w_k, w_v, w_o, n_heads):
    return mha(x, x, w_q, w_k, w_v, w_o, n_heads)


def with_chunks(x, w_q, w_k, w_v, w_o, n_heads):
    heads = []
    for q, k, v in zip(*((x @ w).chunk(n_heads, dim=-1) for w in (w_q, w_k, w_v)), strict=True):
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        heads.append(scores.softmax(dim=-1) @ v)
    return torch.cat(heads, dim=-1) @ w_o


def as_a_sum_over_heads(x, w_q, w_k, w_v, w_o, n_heads):
    w_q, w_k, w_v = (w.unflatten(1, (n_heads, -1)) for w in (w_q, w_k, w_v))
    scores = torch.einsum("bqc,chf,bkd,dhf->bhqk", x, w_q, x, w_k) / math.sqrt(w_q.shape[-1])
    return torch.einsum("bhqk,bkd,dhf,hfo->bqo", scores.softmax(-1), x, w_v, w_o.unflatten(0, (n_heads, -1)))


def _on_itself(attention):
    return lambda x, w_q, w_k, w_v, w_o, n_heads: attention(x, x, w_q, w_k, w_v, w_o, n_heads)


# In which states the parts of the listing may be when somebody checks it: name ("" where it is right), the steps of
# `_mha`, and what to ask. Cut and join come together, because a missing swap changes what the join does.
_CUT = "What does `view` do with the *tokens* when nothing is transposed?"
_JOIN = "Before the last `reshape`: which axis stands next to the features, and which should?"
_UNSWAPPED = "Print the shape of the scores: the heads of one token attend to each other. Which two axes must swap?"
_LAYOUTS = (
    ("", "", {}, ""),
    ("cut", "", {"split": _by_view}, _CUT),
    ("", "join", {"merge": _reshaped}, _JOIN),
    ("cut", "join", {"split": _by_view, "merge": _reshaped}, f"{_CUT} {_JOIN}"),
    ("cut-not-swapped", "", {"split": _cut, "merge": _joined_as_if_swapped}, _UNSWAPPED),
    (
        "cut-not-swapped",
        "join",
        {"split": _cut, "merge": lambda x: x.flatten(2)},
        f"{_UNSWAPPED} And again at the end?",
    ),
)
_PROJECTIONS = (
    ("", {}, ""),
    ("copied-line", {"project": _values_copied}, "Which of the four matrices is never used?"),
)
_SCALES = (
    ("", {}, ""),
    ("scale", {"scale": _model_scale}, "How many terms has one score of one head?"),
    ("no-scale", {"scale": _no_scale}, "By what must a score of d_k terms be divided?"),
)


def _partly_repaired():
    """Every way to find some of the four bugs, each with its own message: what is found, and where to look next."""
    for layout, projection, scale in itertools.product(_LAYOUTS, _PROJECTIONS, _SCALES):
        cut, join, layout_steps, layout_asks = layout
        left = [name for name in (cut, projection[0], scale[0], join) if name]
        if not left or left == ["cut", "copied-line", "scale", "join"]:  # all found, or the listing as it was given
            continue
        names = {"the cut": cut, "the copied line": projection[0], "the scale": scale[0], "the join": join}
        found = [what for what, name in names.items() if not name]
        asks = " ".join(filter(None, (layout_asks, projection[2], scale[2])))
        begin = f"{('None', 'One', 'Two', 'Three')[len(found)]} of four found"
        yield Mistake(
            "left-" + "-and-".join(left),
            _on_itself(_mha(**layout_steps, **projection[1], **scale[1])),
            f"{begin}: {', '.join(found)}. {asks}" if found else f"{begin} yet. {asks}",
        )


def _repair_cases():
    def inputs(batch, seq_len, d_model, seed):
        matrices = [_random(d_model, d_model, seed=seed + step) / d_model**0.5 * 2 for step in range(1, 5)]
        return _random(batch, seq_len, d_model, seed=seed), *matrices

    return [
        case(*inputs(1, 3, 4, seed=0), 2, about="three tokens, two heads"),
        case(*inputs(2, 5, 21, seed=10), 3, about="all sizes different"),
        case(*inputs(3, 4, 8, seed=20), 4, about="as many heads as tokens"),
        case(*inputs(4, 4, 4, seed=30), 2, about="all sizes equal"),
        case(*inputs(2, 3, 6, seed=40), 6, about="heads of one feature"),
    ]


REPAIR = Exercise(
    id="multi_head.repair",
    title="Bug hunt: four bugs, no error",
    task="Find the four bugs, so that the function computes self-attention with n_heads heads.",
    reference=self_attention_with_heads,
    starter=self_attention_with_heads_starter,
    cases=_repair_cases,
    mistakes=(
        *_partly_repaired(),
        Mistake(
            "scale-without-the-root",
            _on_itself(_mha(scale=lambda d_k, *_: d_k)),
            "Everything else is right, but the root has gone with the bug: √d_k.",
        ),
        Mistake(
            "scaled-by-the-length",
            _on_itself(_mha(scale=lambda d_k, d_model, n_heads, k_len: math.sqrt(k_len))),
            "Everything else is right. The scale is not the number of tokens: a score is a sum over *features*.",
        ),
        Mistake(
            "cut-in-threads",
            _on_itself(_mha(split=_in_threads)),
            "Everything else is right, but your head i takes every n_heads-th feature. A head is d_k features side by "
            "side.",
        ),
        Mistake(
            "scaled-by-n-heads",
            _on_itself(_mha(scale=lambda d_k, d_model, n_heads, k_len: math.sqrt(n_heads))),
            "Everything else is right. The scale is not the number of heads: how many terms has one score?",
        ),
        Mistake(
            "values-through-w-q",
            _on_itself(_mha(project=lambda x, y, q, k, v: (x @ q, y @ k, y @ q))),
            "Everything else is right, but the values now go through `w_q`. `w_v` is still never used.",
        ),
        Mistake(
            "keys-through-w-v",
            _on_itself(_mha(project=lambda x, y, q, k, v: (x @ q, y @ v, y @ k))),
            "Everything else is right, but you gave the *keys* the matrix of the values. Which of the three lines was "
            "the copied one?",
        ),
        Mistake(
            "heads-joined-in-threads",
            _on_itself(_mha(merge=lambda x: x.permute(0, 2, 3, 1).flatten(2))),
            "Everything else is right, but the join threads the heads into each other. Only the heads and the tokens "
            "change places.",
        ),
        Mistake(
            "tokens-and-features-swapped",
            _on_itself(_mha(merge=lambda x: _reshaped(x, swapped=(2, 3)))),
            "Everything else is right, but the join swaps tokens and features. Heads and tokens change places.",
        ),
        Mistake(
            "heads-and-features-swapped",
            _on_itself(_mha(merge=lambda x: _reshaped(x, swapped=(1, 3)))),
            "Everything else is right, but the join swaps heads and features. Heads and *tokens* change places.",
        ),
        Mistake(
            "w-o-lost",
            _on_itself(_mha(finish=_without_w_o)),
            "The four bugs are gone, and so is W_O: it mixes the heads at the end.",
        ),
    ),
    hints=(
        "Read it step by step: cut, project, score, join. One bug in each, and no step changes the shape of the "
        "result.",
        "Four questions: does the cut keep each token's features together? Is each matrix used once? How many terms "
        "has a score? Which axes become one in the last line?",
        "`view(batch, seq_len, n_heads, d_k).transpose(1, 2)`, `split(x @ w_v)`, `math.sqrt(d_k)`, and a "
        "`.transpose(1, 2)` before the last `reshape`.",
    ),
    alternatives=(from_the_chapter, with_chunks, as_a_sum_over_heads),
    difficulty=3,
    minutes=15,
)

EXERCISES = [SPLIT, MERGE, CONTRIBUTIONS, PARAMETERS, MHA, REPAIR]
