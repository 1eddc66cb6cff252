"""Exercise: lay the heads side by side."""

import torch

from course_lib.multi_head import merge_heads
from course_practice.engine import Convention, Exercise, Mistake, case
from course_practice.exercises.inputs import counting, randn
from course_practice.exercises.multi_head._steps import reshaped


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


EXERCISE = Exercise(
    title="Lay the heads side by side",
    task="Undo split_heads: from x (batch, n_heads, seq_len, d_v) make (batch, seq_len, n_heads · d_v), head 0 first.",
    reference=merge_heads,
    cases=lambda: [
        case(counting(1, 2, 2, 2), about="two heads, two tokens"),
        case(counting(1, 2, 3, 1), about="heads of one feature"),
        case(randn(2, 3, 5, 7), about="all sizes different"),
        case(randn(3, 3, 3, 3, seed=1), about="all sizes equal"),
        case(randn(2, 4, 4, 3, seed=2), about="as many heads as tokens"),
        case(randn(5, 3, 2, 4, seed=3), about="more sentences than heads"),
        case(randn(2, 1, 3, 4, seed=4), about="one head"),
    ],
    mistakes=(
        Mistake(
            "no-transpose",
            reshaped,
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
            "Your result is the mean of the heads, and that gives away what several heads are for: their answers stay "
            "apart, side by side.",
        ),
        Mistake(
            "adds-the-heads",
            lambda x: x.sum(dim=1),
            "Your result is the sum of the heads: one head's answer can no longer be told from another's. Lay them "
            "side by side; mixing is the task of W_O.",
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
            "joins-tokens-and-features",
            lambda x: x.flatten(2),
            "You joined each head's tokens with its features. First the heads and the tokens change places.",
        ),
        Mistake(
            "everything-joined",
            lambda x: x.transpose(1, 2).flatten(1),
            "Too much is joined: the tokens are gone. Start joining at the axis of the heads, `start_dim=2`.",
        ),
        Mistake(
            "everything-joined-and-no-transpose",
            lambda x: x.flatten(1),
            "Too much is joined: one long vector for the whole sentence. Keep the tokens, and bring each token's "
            "heads together before you join.",
        ),
        Mistake(
            "tokens-joined-with-the-batch",
            lambda x: merge_heads(x).flatten(0, 1),
            "The vectors are right, but all sentences became one long list of tokens. The batch stays an axis.",
        ),
        Mistake(
            "view-with-features-before-tokens",
            lambda x: x.reshape(len(x), -1, x.shape[2]).transpose(1, 2),
            "The numbers are dealt out as they lie in memory, token after token of one head. First swap heads and "
            "tokens; then join.",
        ),
        Mistake(
            "joins-the-sentences",
            lambda x: torch.cat(list(x), dim=-1),
            "You joined the *sentences*, along the first axis of `x` (a loop over `x` walks along it, too). The heads "
            "are axis 1.",
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
