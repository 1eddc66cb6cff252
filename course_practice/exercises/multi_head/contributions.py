"""Exercise: who wrote what."""

import torch

from course_lib.multi_head import merge_heads
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import counting, randn
from course_practice.exercises.multi_head._steps import reshaped


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


EXERCISE = Exercise(
    title="Who wrote what",
    task="Return what each head adds to the output, (batch, n_heads, q_len, d_model); their sum is concat @ w_o.",
    reference=head_contributions,
    cases=lambda: [
        case(torch.tensor([[[[1.0]], [[10.0]]]]), torch.tensor([[2.0, 3.0], [4.0, 5.0]]), about="two heads, one token"),
        case(counting(1, 2, 1, 2) + 1, randn(4, 4, seed=1), about="two heads of two features"),
        case(randn(2, 3, 5, 7, seed=2), randn(21, 21, seed=3), about="all sizes different"),
        case(randn(3, 3, 3, 3, seed=4), randn(9, 9, seed=5), about="as many heads as features"),
        case(randn(3, 3, 3, 1, seed=8), randn(3, 3, seed=9), about="all sizes equal"),
        case(randn(2, 4, 3, 2, seed=6), randn(8, 5, seed=7), about="an output narrower than the heads together"),
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
            "Each head met *columns* of `w_o`. In `concat @ w_o` a column belongs to an output feature, a row to an "
            "input feature: head i owns rows.",
        ),
        Mistake(
            "blocks-of-the-transpose",
            lambda heads, w_o: heads @ w_o.T.reshape(heads.shape[1], heads.shape[3], -1),
            "Each head met a block of the transpose of `w_o`. In `concat @ w_o` head i owns *rows* of `w_o` itself.",
        ),
        Mistake(
            "overlapping-rows",
            _by_slices(lambda w_o, start, stop, n_heads: w_o[start // (stop - start) :][: stop - start]),
            "Your blocks of rows overlap: head 1 begins at row 1. Where does it begin, when each head has d_v "
            "features?",
        ),
        Mistake(
            "joined-before-the-question",
            lambda heads, w_o: reshaped(heads) @ w_o,
            "That is one output for each token (and joined without moving the heads next to their features). Wanted "
            "is one for each *head*: multiply before anything is joined.",
        ),
        Mistake(
            "rows-of-the-first-head",
            _by_slices(lambda w_o, start, stop, n_heads: w_o[: stop - start]),
            "Every head uses the first d_v rows of `w_o`. Those belong to head 0; where do the rows of head i begin?",
        ),
        Mistake(
            "every-nth-row",
            lambda heads, w_o: heads @ w_o.reshape(heads.shape[3], heads.shape[1], -1).transpose(0, 1),
            "Each head met every n_heads-th row. The heads lie side by side in the concatenation, so head i owns d_v "
            "rows in a block.",
        ),
        Mistake(
            "what-is-left-without-the-head",
            lambda heads, w_o: _total(heads, w_o)[:, None] - head_contributions(heads, w_o),
            "That is the output *without* head i, all the others' work. Wanted is what head i adds by itself.",
        ),
        Mistake(
            "an-equal-share",
            lambda heads, w_o: _total(heads, w_o)[:, None].expand(-1, heads.shape[1], -1, -1) / heads.shape[1],
            "Every head got an equal share of the output. It sums up, but it does not say who wrote what.",
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
            "all-rows-for-each-head",
            lambda heads, w_o: heads @ w_o,
            "A head has d_v features and meets a matrix with n_heads · d_v rows, as many as all heads have together, "
            "so the product does not fit. Which rows of `w_o` are for head i?",
        ),
        Mistake(
            "all-rows-for-each-head-in-a-loop",
            lambda heads, w_o: heads[:, 0] @ w_o,
            "One head has d_v features and meets a matrix with n_heads · d_v rows, as many as all heads have together, "
            "so the product does not fit. Which rows of `w_o` are for head i?",
        ),
        Mistake(
            "separate-tensors",
            lambda heads, w_o: head_contributions(heads, w_o).unbind(dim=1),
            "The contributions are right, but they come as one tensor for each head. Make one tensor of them, with "
            "the heads behind the batch: `torch.stack` has a `dim`.",
        ),
        Mistake(
            "heads-before-the-batch",
            lambda heads, w_o: head_contributions(heads, w_o).transpose(0, 1),
            "The contributions are right, but the heads stand before the batch. `torch.stack` has a `dim`.",
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
