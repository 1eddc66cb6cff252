"""Exercise: multi-head attention on bare matrices."""

import itertools
import math

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_lib.multi_head import merge_heads, split_heads
from course_practice.engine import Convention, Exercise, Mistake, case
from course_practice.exercises.inputs import randn
from course_practice.exercises.multi_head._steps import (
    NEG_INF,
    by_view,
    cut,
    in_threads,
    joined_as_if_swapped,
    masked,
    mha_of,
    model_scale,
    no_scale,
    reshaped,
    softmax_of_masked,
    sources,
    values_copied,
    viewed_after_the_swap,
    without_w_o,
)


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


def _by_columns(query, key_value, w_q, w_k, w_v):
    return query @ w_q.T, key_value @ w_k.T, key_value @ w_v.T


def _unmasked(scores, mask):
    return scores.softmax(dim=-1)


def _hides_the_visible(scores, mask):
    return (scores if mask is None else scores.masked_fill(mask, NEG_INF)).softmax(dim=-1)


def _exchanged(query, key_value, w_q, w_k, w_v):
    return key_value @ w_q, query @ w_k, query @ w_v


def _uncut(x, n_heads):
    return x[:, None]


def _query_alone(query, key_value, w_q, w_k, w_v):
    return query @ w_q, query @ w_k, query @ w_v


# The commonest mistakes, each a wrong step of `mha_of`: name, the step, and one sentence for where two of them meet.
_COMMON = (
    ("scaled-by-d-model", {"scale": model_scale}, "The scores are divided by √d_model, not by √d_k."),
    ("not-scaled", {"scale": no_scale}, "The scores are not divided by √d_k."),
    ("cut-by-view", {"split": by_view}, "The cut is a `view` that cannot move the heads before the tokens."),
    ("joined-by-view", {"merge": reshaped}, "The heads are joined before they stand next to their features."),
    ("values-through-w-k", {"project": values_copied}, "The values go through `w_k`; `w_v` is never used."),
    ("self-attention-only", {"project": _query_alone}, "Keys and values must come from `key_value`."),
    (
        "roles-swapped",
        {"project": _exchanged},
        "Queries come from `query`, keys and values from `key_value`: yours are exchanged.",
    ),
    ("mask-ignored", {"weigh": _unmasked}, "The mask has no effect."),
    ("true-hides", {"weigh": _hides_the_visible}, "Here True = may attend: hide where the mask is False."),
    ("w-o-forgotten", {"finish": without_w_o}, "W_O is missing at the end."),
    (
        "one-big-head",
        {"split": _uncut, "scale": model_scale, "merge": merge_heads},
        "There is one head of full width: where does `n_heads` come in?",
    ),
    (
        "no-transpose",
        {"split": cut, "merge": lambda x: x.flatten(2)},
        "Without a transpose, the heads of one token attend to each other.",
    ),
)


def _two_at_once():
    """Pairs of the commonest mistakes, in different steps; `cut-and-joined-by-view` has a message of its own."""
    for (name, step, says), (other, other_step, also_says) in itertools.combinations(_COMMON, 2):
        if not step.keys() & other_step.keys() and (name, other) != ("cut-by-view", "joined-by-view"):
            yield Mistake(f"{name}-and-{other}", mha_of(**step, **other_step), f"Two things. {says} {also_says}")


def _hides_the_visible_by_a_number(scores, mask):
    return (scores if mask is None else scores.masked_fill(mask, -1e9)).softmax(dim=-1)


_FIXED_SCALE = (
    "Your scores come out divided by {} whatever the sizes are. A head's scores are sums of d_k terms, and d_k follows "
    "from d_model and `n_heads`."
)

_BIG_HEADS_ADDED = (
    "Your output is n_heads times that of one head of full width. Head i has d_k columns of its own, and heads are "
    "laid side by side, not added."
)


def _one_head(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return mha(query, key_value, w_q, w_k, w_v, w_o, 1, mask)


def _cuts_the_input(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    """Each head is given its slice of the input, and the matching square of each matrix."""
    d_k = query.shape[-1] // n_heads
    squares = torch.block_diag(*[torch.ones(d_k, d_k) for _ in range(n_heads)])
    return mha(query, key_value, w_q * squares, w_k * squares, w_v * squares, w_o, n_heads, mask)


def _scaled_by_q_len(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    root = math.sqrt(query.shape[1])
    return mha_of(scale=lambda *sizes: root)(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask)


def _scaled_after_the_softmax(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    d_k = query.shape[-1] // n_heads
    return mha_of(scale=no_scale)(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask) / math.sqrt(d_k)


def _first_slice_for_all(x, n_heads):
    return cut(x, n_heads)[:, :, :1].expand(-1, -1, n_heads, -1).transpose(1, 2)


def _inside_each_token(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    """No transpose: the scores are (batch, q_len, n_heads, n_heads), and a mask of that shape happens to fit or not."""
    q, k, v = (cut(x, n_heads) for x in sources(query, key_value, w_q, w_k, w_v))
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return (softmax_of_masked(scores, mask) @ v).reshape(query.shape) @ w_o


def _answer_alone(obj, given):
    """The output, also where the weights are handed back beside it."""
    answer = obj(*given.args, **given.kwargs)
    is_pair = isinstance(answer, tuple | list) and len(answer) == 2 and getattr(answer[0], "shape", None) is not None
    return answer[0] if is_pair and tuple(answer[0].shape) != tuple(given.args[0].shape[1:]) else answer


def _mha_cases():
    def inputs(batch, q_len, k_len, d_model, seed):
        x = randn(batch, q_len, d_model, seed=seed)
        memory = x if k_len is None else randn(batch, k_len, d_model, seed=seed + 1)
        return x, memory, *(randn(d_model, d_model, seed=seed + step) / d_model**0.5 * 2 for step in range(2, 6))

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


EXERCISE = Exercise(
    title="Multi-head attention on bare matrices",
    task="Compute Concat(head_1 … head_h) W_O from the weight matrices; `query @ w_q`, and no biases.",
    reference=mha,
    cases=_mha_cases,
    call=_answer_alone,
    mistakes=(
        Convention(
            "weights-stored-as-in-linear",
            mha_of(project=_by_columns, finish=lambda heads, w_o: heads @ w_o.T),
            "Valid for the weights of `nn.Linear`, which multiplies by the transpose. Here the matrices stand as in "
            "the formula: `query @ w_q`.",
        ),
        Mistake(
            "projections-transposed",
            mha_of(project=_by_columns),
            "W_O is applied as in the formula, the other three are transposed (`F.linear` does that). Here all four "
            "stand as in the formula: `query @ w_q`.",
        ),
        Mistake(
            "w-o-transposed",
            mha_of(finish=lambda heads, w_o: heads @ w_o.T),
            "Everything is right up to W_O, which you transposed (`F.linear` does that): `concat @ w_o`.",
        ),
        Mistake(
            "scaled-by-d-model",
            mha_of(scale=model_scale),
            "Your scores come out divided by √d_model. A head's scores are sums of d_k terms, so √d_k: what is the "
            "last axis of *one* head's queries?",
        ),
        Mistake(
            "not-scaled",
            mha_of(scale=no_scale),
            "The scores are not scaled: sums of d_k terms, they spread like √d_k. By what must they be divided?",
        ),
        Mistake(
            "view-after-transpose",
            mha_of(merge=viewed_after_the_swap),
            "The swap of axes is right. After it the numbers no longer lie in order, and `view` never copies: use "
            "`reshape` or `flatten`, or call `.contiguous()` first.",
        ),
        Mistake("scaled-by-root-eight", mha_of(scale=lambda *sizes: math.sqrt(8)), _FIXED_SCALE.format("√8")),
        Mistake("scaled-by-eight", mha_of(scale=lambda *sizes: 8), _FIXED_SCALE.format("8")),
        Mistake(
            "query-added",
            lambda query, *others: mha(query, *others) + query,
            "The output is right, and `query` has been added to it. Here the output alone is wanted.",
        ),
        Mistake(
            "scaled-without-the-root",
            mha_of(scale=lambda d_k, *_: d_k),
            "Your scores come out divided by d_k itself. The spread of a sum of d_k terms grows with the *root* of "
            "d_k.",
        ),
        Mistake(
            "scaled-by-n-heads",
            mha_of(scale=lambda d_k, d_model, n_heads, k_len: math.sqrt(n_heads)),
            "Your scores come out divided by √n_heads. The scores of a head know nothing of the other heads: they "
            "have d_k terms.",
        ),
        Mistake(
            "scaled-by-the-length",
            mha_of(scale=lambda d_k, d_model, n_heads, k_len: math.sqrt(k_len)),
            "Your scores come out divided by the root of the number of keys. A score is a sum over *features*: √d_k.",
        ),
        Mistake(
            "scaled-by-the-length-of-the-query",
            _scaled_by_q_len,
            "Your scores come out divided by the root of the number of queries. A score is a sum over *features*: "
            "√d_k.",
        ),
        Mistake(
            "scaled-after-the-softmax",
            _scaled_after_the_softmax,
            "Your weights come out divided *after* the softmax. Their rows no longer sum to 1, and the softmax was as "
            "sharp as before: scale the scores.",
        ),
        Mistake(
            "scaled-upwards",
            mha_of(scale=lambda d_k, *_: 1 / math.sqrt(d_k)),
            "Your scores come out multiplied by √d_k, where the formula divides.",
        ),
        Mistake(
            "w-o-twice",
            mha_of(finish=lambda heads, w_o: heads @ w_o @ w_o),
            "Everything is right up to W_O, which is applied twice.",
        ),
        Mistake(
            "first-block-of-w-o-for-all-heads",
            mha_of(merge=lambda x: x, finish=lambda heads, w_o: heads.sum(dim=1) @ w_o[: heads.shape[-1]]),
            "The heads are right, and then added up: one block of W_O, its first d_k rows, serves them all. Every head "
            "has d_k rows of W_O of its own, which is what laying them side by side does.",
        ),
        Mistake(
            "w-o-forgotten",
            mha_of(finish=without_w_o),
            "The heads are laid side by side, and W_O is missing: each head would write into its own slice of the "
            "output, and no other.",
        ),
        Mistake(
            "one-big-head",
            _one_head,
            "That is one head of full width, with one softmax for each query. Where does `n_heads` come in?",
        ),
        Mistake(
            "one-big-head-under-a-mask-for-many",
            lambda query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None: (
                scaled_dot_product_attention(query @ w_q, key_value @ w_k, key_value @ w_v, mask)[0] @ w_o
            ),
            "That is one head of full width, with one softmax for each query, and a mask that has an axis for heads "
            "does not suit it. Where does `n_heads` come in?",
        ),
        Mistake(
            "sum-of-big-heads",
            lambda *args: _one_head(*args) * args[6],
            _BIG_HEADS_ADDED,
        ),
        Mistake(
            "sum-of-big-heads-and-mask-ignored",
            lambda *args: _one_head(*args[:7]) * args[6],
            f"{_BIG_HEADS_ADDED} And the mask has no effect.",
        ),
        Mistake(
            "one-big-head-scaled-for-many",
            lambda query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None: _one_head(
                query, key_value, w_q * math.sqrt(n_heads), w_k, w_v, w_o, n_heads, mask
            ),
            "The scale is that of a head, but there is one softmax for each query, over the full width. Where are the "
            "heads?",
        ),
        Mistake(
            "cut-by-view",
            mha_of(split=by_view),
            "The heads have the right shape and the wrong numbers: dealt out as they lie in memory, a head gets a "
            "run of them, pieces of a few tokens. Cut the last axis, then swap two axes.",
        ),
        Mistake(
            "cut-and-joined-by-view",
            mha_of(split=by_view, merge=reshaped),
            "Cut and join deal the numbers out as they lie in memory. The two undo each other, so nothing looks "
            "wrong, but in between the heads hold pieces of other tokens: a transpose is missing in both.",
        ),
        Mistake(
            "joined-by-view",
            mha_of(merge=reshaped),
            "The heads are right, their joining is not: before the `reshape`, the heads of one token must stand next "
            "to its features.",
        ),
        Mistake(
            "no-transpose",
            _inside_each_token,
            "Print the shape of your scores: (batch, seq_len, n_heads, n_heads). The heads of one token attend to "
            "each other, and no token sees another. Which axis must stand behind the batch?",
        ),
        Mistake(
            "no-transpose-and-joined-as-if",
            mha_of(split=cut, merge=joined_as_if_swapped),
            "Your scores are (batch, seq_len, n_heads, n_heads): the heads of one token attend to each other. The "
            "swap at the end is there; the one after the cut is missing.",
        ),
        Convention(
            "every-nth-feature",
            mha_of(split=in_threads, merge=lambda x: x.permute(0, 2, 3, 1).flatten(2)),
            "Your head i takes every n_heads-th column. Valid for weights stored that way; here a head is d_k columns "
            "side by side.",
        ),
        Mistake(
            "cut-in-threads-joined-in-blocks",
            mha_of(split=in_threads),
            "Your head i takes every n_heads-th column, but the join puts the heads side by side. Here the cut, too, "
            "is in blocks of d_k.",
        ),
        Mistake(
            "all-heads-alike",
            mha_of(split=_first_slice_for_all),
            "All heads see the same d_k features, the first ones, so they are copies of one another. Head i begins at "
            "feature i · d_k.",
        ),
        Mistake(
            "cuts-the-input",
            _cuts_the_input,
            "Each head reads a slice of the input alone. Every head reads the *whole* vector: project first, cut the "
            "result.",
        ),
        Mistake(
            "self-attention-only",
            mha_of(project=_query_alone),
            "The argument `key_value` makes no difference: this is self-attention whatever is passed. Keys and values "
            "must come from it.",
        ),
        Mistake(
            "reads-the-memory-alone",
            mha_of(project=lambda x, y, q, k, v: (y @ q, y @ k, y @ v)),
            "The argument `query` makes no difference: all three come from `key_value`. The queries must come from "
            "`query`.",
        ),
        Mistake(
            "roles-swapped",
            mha_of(project=lambda x, y, q, k, v: (y @ q, x @ k, x @ v)),
            "The roles are swapped: the queries come from `query`, keys and values from `key_value`. The output has "
            "one row for each *query*.",
        ),
        Mistake(
            "values-from-the-query",
            mha_of(project=lambda x, y, q, k, v: (x @ q, y @ k, x @ v)),
            "The weights are right, but they weigh the wrong things: values come from `key_value`, like the keys.",
        ),
        Mistake(
            "keys-from-the-query",
            mha_of(project=lambda x, y, q, k, v: (x @ q, x @ k, y @ v)),
            "Your queries are compared with themselves: keys come from `key_value`, like the values.",
        ),
        Mistake(
            "values-through-w-k",
            mha_of(project=values_copied),
            "Your values went through `w_k`, and `w_v` makes no difference. A copied line?",
        ),
        Mistake(
            "values-through-w-q",
            mha_of(project=lambda x, y, q, k, v: (x @ q, y @ k, y @ q)),
            "Your values went through `w_q`, and `w_v` makes no difference. A copied line?",
        ),
        Mistake(
            "keys-through-w-q",
            mha_of(project=lambda x, y, q, k, v: (x @ q, y @ q, y @ v)),
            "Your keys went through `w_q`, and `w_k` makes no difference. A copied line?",
        ),
        Mistake(
            "keys-through-w-v",
            mha_of(project=lambda x, y, q, k, v: (x @ q, y @ v, y @ v)),
            "Your keys went through `w_v`, and `w_k` makes no difference. A copied line?",
        ),
        Mistake(
            "all-through-w-q",
            mha_of(project=lambda x, y, q, k, v: (x @ q, y @ q, y @ q)),
            "All three go through `w_q`. Asking, being found and answering are three tasks, with three matrices.",
        ),
        Mistake(
            "keys-and-values-swapped",
            mha_of(project=lambda x, y, q, k, v: (x @ q, y @ v, y @ k)),
            "Keys and values have each other's matrix: `w_k` makes what is compared, `w_v` what is carried away.",
        ),
        Mistake(
            "queries-and-keys-swapped",
            mha_of(project=lambda x, y, q, k, v: (x @ k, y @ q, y @ v)),
            "Queries and keys have each other's matrix. In self-attention that turns every question round.",
        ),
        Mistake(
            "not-projected-values",
            mha_of(project=lambda x, y, q, k, v: (x @ q, y @ k, y)),
            "The values are not projected: `w_v` makes no difference.",
        ),
        Mistake(
            "nothing-projected",
            mha_of(project=lambda x, y, q, k, v: (x, y, y)),
            "Nothing is projected: `w_q`, `w_k`, and `w_v` make no difference, and every head compares raw slices of "
            "the input.",
        ),
        Mistake(
            "mask-ignored",
            mha_of(weigh=_unmasked),
            "Right without a mask; the mask has no effect. Is it handed on, and is what `masked_fill` returns used?",
        ),
        Mistake(
            "true-hides",
            mha_of(weigh=_hides_the_visible),
            "You hide what the mask lets through. Here True = may attend (`nn.MultiheadAttention` has it the other "
            "way round).",
        ),
        Mistake(
            "true-hides-by-a-large-number",
            mha_of(weigh=_hides_the_visible_by_a_number),
            "You lowered the scores that the mask lets through. Here True = may attend: lower them where it is False.",
        ),
        Mistake(
            "true-hides-by-a-large-number-and-scaled-by-d-model",
            mha_of(weigh=_hides_the_visible_by_a_number, scale=model_scale),
            "Two things: the mask hides what it should let through (True = may attend), and the scores are divided by "
            "√d_model, not √d_k.",
        ),
        Mistake(
            "mask-transposed",
            mha_of(weigh=lambda s, mask: softmax_of_masked(s, None if mask is None else mask.transpose(-2, -1))),
            "The mask comes out transposed: a causal one now shows the future. Its rows are queries already, its "
            "columns keys.",
        ),
        Mistake(
            "zero-times-infinity",
            mha_of(weigh=lambda s, mask: (s if mask is None else s + (~mask).float() * NEG_INF).softmax(dim=-1)),
            "The visible cells are NaN, which is what zero times infinity gives. `masked_fill` writes −∞ only where "
            "it belongs.",
        ),
        Mistake(
            "infinity-after-the-softmax",
            mha_of(weigh=lambda s, m: s.softmax(dim=-1) if m is None else s.softmax(dim=-1).masked_fill(~m, NEG_INF)),
            "Hidden *weights* come out as −∞, and the output with them. Too late: −∞ belongs among the *scores*, "
            "before the softmax.",
        ),
        Mistake(
            "mask-added-as-zero-and-one",
            mha_of(weigh=lambda scores, mask: (scores if mask is None else scores + mask).softmax(dim=-1)),
            "Your visible scores come out 1 higher, and hidden keys keep much of their weight. Fill with −∞ where the "
            "mask is False.",
        ),
        Mistake(
            "hidden-scores-are-zero",
            mha_of(weigh=lambda scores, mask: (scores if mask is None else scores * mask).softmax(dim=-1)),
            "Hidden scores come out as 0, and a score of 0 is not a weight of 0: exp(0) = 1. Which score has the "
            "weight 0?",
        ),
        Mistake(
            "weights-zeroed-after-the-softmax",
            mha_of(weigh=lambda s, mask: s.softmax(dim=-1) if mask is None else s.softmax(dim=-1) * mask),
            "Hidden weights are 0, but what remains in a row no longer sums to 1. Mask the scores, before the softmax.",
        ),
        Mistake(
            "mask-with-an-axis-too-many",
            mha_of(weigh=lambda scores, mask: softmax_of_masked(scores, None if mask is None else mask.unsqueeze(1))),
            "The mask broadcasts as it is. With an axis more an (n, n) mask becomes (n, 1, n), which is one row for "
            "each *head*.",
        ),
        Mistake(
            "softmax-over-everything",
            mha_of(weigh=lambda s, mask: masked(s, mask).flatten(-2).softmax(dim=-1).view_as(s)),
            "The weights of a head's whole table make 1 together. Each *row* makes 1, over the keys: the last axis.",
        ),
        Mistake(
            "softmax-twice",
            mha_of(weigh=lambda s, mask: softmax_of_masked(s, mask).softmax(dim=-1)),
            "Your weights are a softmax of a softmax: the second makes them nearly equal, and gives hidden keys "
            "weight again (exp(0) = 1). One is enough.",
        ),
        Mistake(
            "softmax-over-queries",
            mha_of(weigh=lambda scores, mask: masked(scores, mask).softmax(dim=-2)),
            "Your columns sum to 1. Each query shares its attention out among the keys: the last axis.",
        ),
        Mistake(
            "softmax-over-heads",
            mha_of(weigh=lambda scores, mask: masked(scores, mask).softmax(dim=1)),
            "Your softmax lets the *heads* compete. Each head has a softmax of its own, over the keys: the last axis.",
        ),
        Mistake(
            "no-softmax",
            mha_of(weigh=lambda scores, mask: scores if mask is None else scores.masked_fill(~mask, 0.0)),
            "Raw scores are used as weights: the softmax is missing.",
        ),
        Mistake(
            "one-softmax-for-all-heads",
            mha_of(weigh=lambda s, mask: softmax_of_masked(s, mask).mean(dim=1, keepdim=True)),
            "The weights are averaged over the heads, so that all look at the same places. Each head keeps its own.",
        ),
        Mistake(
            "one-score-for-all-heads",
            mha_of(weigh=lambda s, mask: softmax_of_masked(s.mean(dim=1, keepdim=True), mask)),
            "The scores are averaged over the heads, so that all look at the same places. Each head keeps its own.",
        ),
        Mistake(
            "averages-the-heads",
            mha_of(merge=lambda x: x.mean(dim=1)),
            "What meets W_O is as wide as one head, d_k features, and W_O has d_model rows. The heads are neither "
            "averaged nor added: lay them side by side.",
        ),
        Mistake(
            "heads-behind-each-other",
            mha_of(merge=lambda x: x.flatten(1, 2)),
            "What meets W_O has the d_k features of a head, and W_O has d_model rows. First all heads of a token "
            "belong side by side, on the last axis.",
        ),
        Mistake(
            "heads-not-joined",
            mha_of(merge=lambda x: x, finish=without_w_o),
            "Each head is right, and the last two steps are missing: join them, (batch, q_len, d_model), then W_O.",
        ),
        Mistake(
            "heads-joined-in-threads",
            mha_of(merge=lambda x: x.permute(0, 2, 3, 1).flatten(2)),
            "The heads are right, but joined feature by feature. W_O expects head 0 as a whole first, then head 1.",
        ),
        Mistake(
            "heads-and-features-swapped",
            mha_of(merge=lambda x: reshaped(x, swapped=(1, 3))),
            "The heads are right, but before the join you swapped heads and features. Heads and *tokens* change "
            "places.",
        ),
        Mistake(
            "tokens-and-features-swapped",
            mha_of(merge=lambda x: reshaped(x, swapped=(2, 3))),
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
