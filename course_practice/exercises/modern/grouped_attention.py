"""Exercise: query heads that share keys and values."""

import math

import torch
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def grouped_attention(query, key, value, mask=None):
    """Attention whose neighboring query heads share a head of keys and values.

    query is (batch, n_heads, q_len, d_k); key and value have fewer heads,
    n_kv_heads. Returns the outputs (batch, n_heads, q_len, d_k).
    """
    group = query.shape[1] // key.shape[1]
    key = key.repeat_interleave(group, dim=1)
    value = value.repeat_interleave(group, dim=1)
    output, _weights = scaled_dot_product_attention(query, key, value, mask)
    return output


def with_one_more_axis(query, key, value, mask=None):
    batch, n_heads, q_len, d_k = query.shape
    grouped = query.view(batch, key.shape[1], -1, q_len, d_k)
    scores = grouped @ key[:, :, None].mT / math.sqrt(d_k)
    if mask is not None:
        mask = mask.expand(batch, n_heads, q_len, key.shape[2]).view(scores.shape)
        scores = scores.masked_fill(~mask, float("-inf"))
    return (scores.softmax(dim=-1) @ value[:, :, None]).flatten(1, 2)


def with_a_loop_over_heads(query, key, value, mask=None):
    batch, n_heads, q_len, _d_k = query.shape
    mask = None if mask is None else mask.expand(batch, n_heads, q_len, key.shape[2])
    outputs = []
    for head in range(n_heads):
        shared = head * key.shape[1] // n_heads
        seen = None if mask is None else mask[:, head]
        outputs.append(F.scaled_dot_product_attention(query[:, head], key[:, shared], value[:, shared], seen))
    return torch.stack(outputs, dim=1)


def with_pytorchs_function(query, key, value, mask=None):
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, enable_gqa=True)


def with_an_index(query, key, value, mask=None):
    n_heads, n_kv_heads = query.shape[1], key.shape[1]
    shared = torch.arange(n_heads) // (n_heads // n_kv_heads)
    scores = torch.einsum("bhqf,bhkf->bhqk", query, key[:, shared]) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.where(mask, torch.finfo(scores.dtype).min)
    return torch.einsum("bhqk,bhkf->bhqf", scores.softmax(-1), value[:, shared])


def _attend(query, key, value, mask=None, scale=None):
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)


def _shared(x, n_heads):
    return x.repeat_interleave(n_heads // x.shape[1], dim=1)


def _tiled(x, n_heads):
    return x.repeat(1, n_heads // x.shape[1], 1, 1)


def _of(keys=_shared, values=_shared, scale=lambda d_k, n_heads, n_kv_heads: d_k**-0.5, masked=lambda mask: mask):
    def answer(query, key, value, mask=None):
        n_heads, n_kv_heads = query.shape[1], key.shape[1]
        factor = scale(query.shape[-1], n_heads, n_kv_heads)
        return _attend(query, keys(key, n_heads), values(value, n_heads), masked(mask), factor)

    return answer


def _first_head(x, n_heads):
    return x[:, :1].expand(-1, n_heads, -1, -1)


def _mean_of_heads(x, n_heads):
    return x.mean(dim=1, keepdim=True).expand(-1, n_heads, -1, -1)


def _backwards(x, n_heads):
    return _shared(x.flip(1), n_heads)


def _groups_for_size(x, n_heads):
    """Head h reads h // n_kv_heads, as if the number of groups were their size."""
    index = torch.arange(n_heads) // x.shape[1]
    return x[:, index.clamp(max=x.shape[1] - 1)]


def _mean_of_queries(query, key, value, mask=None):
    group = query.shape[1] // key.shape[1]
    means = query.unflatten(1, (key.shape[1], group)).mean(dim=2).repeat_interleave(group, dim=1)
    return _attend(means, _shared(key, query.shape[1]), _shared(value, query.shape[1]), mask)


def _one_query_a_group(query, key, value, mask=None):
    return scaled_dot_product_attention(query.unflatten(1, (key.shape[1], -1)).mean(dim=2), key, value, mask)[0]


def _no_softmax(query, key, value, mask=None):
    key, value = _shared(key, query.shape[1]), _shared(value, query.shape[1])
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return (scores if mask is None else scores.masked_fill(~mask, 0.0)) @ value


def _over_queries(query, key, value, mask=None):
    key, value = _shared(key, query.shape[1]), _shared(value, query.shape[1])
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-2) @ value


def _as_views(x, n_heads):
    """`repeat_interleave` over the tokens, then a view: the tokens of the heads are mixed."""
    batch, _heads, length, width = x.shape
    return x.repeat_interleave(n_heads // x.shape[1], dim=2).reshape(batch, length, n_heads, width).transpose(1, 2)


def _group_means(query, key, value, mask=None):
    outputs = _attend(query, _shared(key, query.shape[1]), _shared(value, query.shape[1]), mask)
    return outputs.unflatten(1, (key.shape[1], -1)).mean(dim=2)


def _merged(query, key, value, mask=None):
    outputs = _attend(query, _shared(key, query.shape[1]), _shared(value, query.shape[1]), mask)
    return outputs.transpose(1, 2).flatten(2)


def _cases():
    def inputs(batch, n_heads, n_kv_heads, q_len, k_len, d_k, seed):
        query = randn(batch, n_heads, q_len, d_k, seed=seed)
        key, value = (randn(batch, n_kv_heads, k_len, d_k, seed=seed + i) for i in (1, 2))
        return query, key, value

    causal = torch.ones(4, 4, dtype=torch.bool).tril()
    padding = torch.tensor([[True, True, True, False], [True, True, False, False]])[:, None, None]
    return [
        case(*inputs(1, 4, 2, 1, 3, 2, seed=0), about="four query heads, two heads of keys"),
        case(*inputs(2, 6, 3, 5, 7, 4, seed=10), about="six and three heads, all sizes different"),
        case(*inputs(2, 6, 2, 3, 5, 4, seed=20), about="six and two heads"),
        case(*inputs(2, 3, 1, 4, 4, 5, seed=30), causal, about="one head of keys for all, and a causal mask"),
        case(*inputs(2, 4, 4, 4, 4, 3, seed=40), causal, about="as many heads of keys as of queries"),
        case(*inputs(2, 8, 2, 4, 4, 3, seed=50), padding & causal, about="eight and two heads, with padding"),
        case(*inputs(4, 4, 4, 4, 4, 4, seed=60), about="all sizes equal"),
    ]


EXERCISE = Exercise(
    title="Heads that share keys and values",
    task="Return the outputs (batch, n_heads, q_len, d_k) of attention in which each run of n_heads / n_kv_heads "
    "neighboring query heads shares one head of keys and values.",
    reference=grouped_attention,
    cases=_cases,
    mistakes=(
        Mistake(
            "heads-not-shared",
            lambda query, key, value, mask=None: scaled_dot_product_attention(query, key, value, mask)[0],
            "The heads of keys do not fit those of queries, and a product of (batch, n_heads, …) and "
            "(batch, n_kv_heads, …) stops. Repeat each shared head for its readers first.",
        ),
        Mistake(
            "fewer-heads-of-queries",
            _one_query_a_group,
            "One output comes back for each head of keys, made of the mean of its queries. Every query head has an "
            "output of its own: repeat the keys and values, not the other way round.",
        ),
        Mistake(
            "in-turn-and-without-mask",
            lambda query, key, value, mask=None: _of(keys=_tiled, values=_tiled)(query, key, value),
            "Two things: the heads are handed out in turn, 0 1 0 1, where neighbors share, 0 0 1 1, and the mask has "
            "no effect.",
        ),
        Mistake(
            "repeat",
            _of(keys=_tiled, values=_tiled),
            "You hand the heads out in turn, 0 1 0 1. *Neighbors* share: 0 0 1 1. Which of `repeat` and "
            "`repeat_interleave` does that?",
        ),
        Mistake(
            "values-in-turn",
            _of(values=_tiled),
            "Keys are shared by neighbors, values in turn (0 1 0 1). A query then weighs the values of one head with "
            "the keys of another.",
        ),
        Mistake(
            "keys-in-turn",
            _of(keys=_tiled),
            "Values are shared by neighbors, keys in turn (0 1 0 1). A query then weighs the values of one head with "
            "the keys of another.",
        ),
        Mistake(
            "first-head-for-all",
            _of(keys=_first_head, values=_first_head),
            "All query heads read the first head of keys and values. That is right for one such head only.",
        ),
        Mistake(
            "first-values-for-all",
            _of(values=_first_head),
            "The keys are shared right, and all query heads read the first head of values.",
        ),
        Mistake(
            "mean-of-the-heads",
            _of(keys=_mean_of_heads, values=_mean_of_heads),
            "You take the mean of the heads of keys and values. They stay apart: each serves its own query heads.",
        ),
        Mistake(
            "mean-of-the-queries",
            _mean_of_queries,
            "You take the mean of the queries in a group. Each query head keeps its own queries and its own weights; "
            "only keys and values are shared.",
        ),
        Mistake(
            "number-for-size",
            _of(keys=_groups_for_size, values=_groups_for_size),
            "You take n_kv_heads for the size of a group. It is the *number* of groups; their size is "
            "n_heads / n_kv_heads.",
        ),
        Mistake(
            "groups-backwards",
            _of(keys=_backwards, values=_backwards),
            "The last query heads read the first head of keys. Head 0 of the queries reads head 0 of the keys.",
        ),
        Mistake(
            "tokens-of-heads-mixed",
            _of(keys=_as_views, values=_as_views),
            "You repeat along the tokens, so that tokens of one head land in another. The heads are axis 1.",
        ),
        Mistake(
            "one-output-a-group",
            _group_means,
            "You return one output for each group. Each query head has its own.",
        ),
        Mistake(
            "heads-merged",
            _merged,
            "The outputs are right, and you merge their heads. Here the heads stay apart: (batch, n_heads, q_len, "
            "d_k).",
        ),
        Mistake(
            "mask-ignored",
            _of(masked=lambda mask: None),
            "Right without a mask. The mask has no effect on your result.",
        ),
        Mistake(
            "true-hides",
            _of(masked=lambda mask: None if mask is None else ~mask | mask.all(dim=-1, keepdim=True)),
            "Right without a mask. Here True = may attend: hide where the mask is False.",
        ),
        Mistake(
            "not-scaled",
            _of(scale=lambda d_k, n_heads, n_kv_heads: 1.0),
            "The heads are shared right, and the scores are not divided by √d_k.",
        ),
        Mistake(
            "scaled-by-d-model",
            _of(scale=lambda d_k, n_heads, n_kv_heads: (d_k * n_heads) ** -0.5),
            "The heads are shared right, and the scores come out divided by √(n_heads · d_k). Sharing changes no "
            "width: √d_k.",
        ),
        Mistake(
            "no-softmax",
            _no_softmax,
            "The heads are shared right, and the scores weigh the values as they are: the softmax is missing.",
        ),
        Mistake(
            "softmax-over-queries",
            _over_queries,
            "The heads are shared right, and your softmax runs over the queries. The weights of one query sum to 1.",
        ),
    ),
    hints=(
        "With four query heads and two heads of keys, which head of keys does each query head read? Write the four "
        "numbers down.",
        "Neighbors share, so the numbers are 0 0 1 1. Make as many heads of keys and values as there are of queries, "
        "and the rest is the attention that you know.",
        "`key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)`, the same with `value`, and then "
        "`scaled_dot_product_attention(query, key, value, mask)[0]`.",
    ),
    alternatives=(with_one_more_axis, with_a_loop_over_heads, with_pytorchs_function, with_an_index),
    difficulty=2,
    minutes=10,
)
