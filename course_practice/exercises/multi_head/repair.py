"""Exercise: bug hunt: four bugs, no error."""

import itertools
import math

import torch

from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn
from course_practice.exercises.multi_head._steps import (
    by_view,
    cut,
    in_threads,
    joined_as_if_swapped,
    mha_of,
    model_scale,
    no_scale,
    reshaped,
    values_copied,
    viewed_after_the_swap,
    without_w_o,
)
from course_practice.exercises.multi_head.mha import mha


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
# `mha_of`, and what to ask. Cut and join come together, because a missing swap changes what the join does.
_CUT = "What does `view` do with the *tokens* when nothing is transposed?"


_JOIN = "Before the last `reshape`: which axis stands next to the features, and which should?"


_UNSWAPPED = "Print the shape of the scores: the heads of one token attend to each other. Which two axes must swap?"


_LAYOUTS = (
    ("", "", {}, ""),
    ("cut", "", {"split": by_view}, _CUT),
    ("", "join", {"merge": reshaped}, _JOIN),
    ("cut", "join", {"split": by_view, "merge": reshaped}, f"{_CUT} {_JOIN}"),
    ("cut-not-swapped", "", {"split": cut, "merge": joined_as_if_swapped}, _UNSWAPPED),
    (
        "cut-not-swapped",
        "join",
        {"split": cut, "merge": lambda x: x.flatten(2)},
        f"{_UNSWAPPED} And again at the end?",
    ),
)


_PROJECTIONS = (
    ("", {}, ""),
    ("copied-line", {"project": values_copied}, "Which of the four matrices is never used?"),
)


_SCALES = (
    ("", {}, ""),
    ("scale", {"scale": model_scale}, "How many terms has one score of one head?"),
    ("no-scale", {"scale": no_scale}, "By what must a score of d_k terms be divided?"),
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
            _on_itself(mha_of(**layout_steps, **projection[1], **scale[1])),
            f"{begin}: {', '.join(found)}. {asks}" if found else f"{begin} yet. {asks}",
        )


def _repair_cases():
    def inputs(batch, seq_len, d_model, seed):
        matrices = [randn(d_model, d_model, seed=seed + step) / d_model**0.5 * 2 for step in range(1, 5)]
        return randn(batch, seq_len, d_model, seed=seed), *matrices

    return [
        case(*inputs(1, 3, 4, seed=0), 2, about="three tokens, two heads"),
        case(*inputs(2, 5, 21, seed=10), 3, about="all sizes different"),
        case(*inputs(3, 4, 8, seed=20), 4, about="as many heads as tokens"),
        case(*inputs(4, 4, 4, seed=30), 2, about="all sizes equal"),
        case(*inputs(2, 3, 6, seed=40), 6, about="heads of one feature"),
    ]


EXERCISE = Exercise(
    title="Bug hunt: four bugs, no error",
    task="Find the four bugs, so that the function computes self-attention with n_heads heads.",
    reference=self_attention_with_heads,
    starter=self_attention_with_heads_starter,
    cases=_repair_cases,
    mistakes=(
        *_partly_repaired(),
        Mistake(
            "scale-without-the-root",
            _on_itself(mha_of(scale=lambda d_k, *_: d_k)),
            "Everything else is right, but the root has gone with the bug: √d_k.",
        ),
        Mistake(
            "scaled-by-the-length",
            _on_itself(mha_of(scale=lambda d_k, d_model, n_heads, k_len: math.sqrt(k_len))),
            "Everything else is right. The scale is not the number of tokens: a score is a sum over *features*.",
        ),
        Mistake(
            "cut-in-threads",
            _on_itself(mha_of(split=in_threads)),
            "Everything else is right, but your head i takes every n_heads-th feature. A head is d_k features side by "
            "side.",
        ),
        Mistake(
            "scaled-by-n-heads",
            _on_itself(mha_of(scale=lambda d_k, d_model, n_heads, k_len: math.sqrt(n_heads))),
            "Everything else is right. The scale is not the number of heads: how many terms has one score?",
        ),
        Mistake(
            "view-after-transpose",
            _on_itself(mha_of(merge=viewed_after_the_swap)),
            "The swap of axes is right. After it the numbers no longer lie in order, and `view` never copies: use "
            "`reshape` or `flatten`, or call `.contiguous()` first.",
        ),
        Mistake(
            "scaled-by-root-eight",
            _on_itself(mha_of(scale=lambda *sizes: math.sqrt(8))),
            "Everything else is right, but the scores come out divided by √8 whatever the sizes are. How many terms "
            "has one score?",
        ),
        Mistake(
            "scaled-by-eight",
            _on_itself(mha_of(scale=lambda *sizes: 8)),
            "Everything else is right, but the scores come out divided by 8 whatever the sizes are. How many terms "
            "has one score?",
        ),
        Mistake(
            "queries-through-w-v",
            _on_itself(mha_of(project=lambda x, y, q, k, v: (x @ v, y @ k, y @ v))),
            "Everything else is right, but the queries now go through `w_v`, and `w_q` is never used.",
        ),
        Mistake(
            "values-through-w-q",
            _on_itself(mha_of(project=lambda x, y, q, k, v: (x @ q, y @ k, y @ q))),
            "Everything else is right, but the values now go through `w_q`. `w_v` is still never used.",
        ),
        Mistake(
            "keys-through-w-v",
            _on_itself(mha_of(project=lambda x, y, q, k, v: (x @ q, y @ v, y @ k))),
            "Everything else is right, but you gave the *keys* the matrix of the values. Which of the three lines was "
            "the copied one?",
        ),
        Mistake(
            "heads-joined-in-threads",
            _on_itself(mha_of(merge=lambda x: x.permute(0, 2, 3, 1).flatten(2))),
            "Everything else is right, but the join threads the heads into each other. Only the heads and the tokens "
            "change places.",
        ),
        Mistake(
            "tokens-and-features-swapped",
            _on_itself(mha_of(merge=lambda x: reshaped(x, swapped=(2, 3)))),
            "Everything else is right, but the join swaps tokens and features. Heads and tokens change places.",
        ),
        Mistake(
            "heads-and-features-swapped",
            _on_itself(mha_of(merge=lambda x: reshaped(x, swapped=(1, 3)))),
            "Everything else is right, but the join swaps heads and features. Heads and *tokens* change places.",
        ),
        Mistake(
            "w-o-lost",
            _on_itself(mha_of(finish=without_w_o)),
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
    alternatives=(with_chunks, from_the_chapter, as_a_sum_over_heads),
    difficulty=3,
    minutes=15,
)
