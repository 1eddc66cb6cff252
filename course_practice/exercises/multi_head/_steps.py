"""Multi-head attention in steps that can be exchanged one by one: what mistakes are made of."""

import math

from course_lib.multi_head import merge_heads

NEG_INF = float("-inf")


def cut(x, n_heads):
    """(batch, seq_len, n_heads, d_k): the cut, without the swap of axes."""
    return x.reshape(*x.shape[:2], n_heads, x.shape[2] // n_heads)


def by_view(x, n_heads):
    """(batch, n_heads, seq_len, d_k): the shape of heads, with the numbers as they lie in memory."""
    return x.reshape(len(x), n_heads, x.shape[1], x.shape[2] // n_heads)


def cut_into_threads(x, n_heads):
    """(batch, seq_len, d_k, n_heads): head i is given the features i, i + n_heads, i + 2 n_heads …"""
    return x.reshape(*x.shape[:2], x.shape[2] // n_heads, n_heads)


def reshaped(x, swapped=None):
    """The numbers as they come, after a swap of two axes or as they lie in memory, in the shape of merged heads."""
    batch, n_heads, seq_len, d_v = x.shape
    return (x.transpose(*swapped) if swapped else x).reshape(batch, seq_len, n_heads * d_v)


def right_scale(d_k, d_model, n_heads, k_len):
    return math.sqrt(d_k)


def side_by_side(x, n_heads):
    return cut(x, n_heads).transpose(1, 2)


def in_threads(x, n_heads):
    return cut_into_threads(x, n_heads).permute(0, 3, 1, 2)


def masked(scores, mask):
    return scores if mask is None else scores.masked_fill(~mask, NEG_INF)


def softmax_of_masked(scores, mask):
    return masked(scores, mask).softmax(dim=-1)


def sources(query, key_value, w_q, w_k, w_v):
    return query @ w_q, key_value @ w_k, key_value @ w_v


def mha_of(
    project=sources, split=side_by_side, scale=right_scale, weigh=softmax_of_masked, merge=merge_heads, finish=None
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


def model_scale(d_k, d_model, n_heads, k_len):
    return math.sqrt(d_model)


def no_scale(d_k, d_model, n_heads, k_len):
    return 1.0


def values_copied(query, key_value, w_q, w_k, w_v):
    return query @ w_q, key_value @ w_k, key_value @ w_k


def without_w_o(heads, w_o):
    return heads


def viewed_after_the_swap(x):
    """What raises an error in PyTorch: after a swap of axes the numbers do not lie in the order that `view` needs."""
    return x.transpose(1, 2).view(len(x), x.shape[2], -1)


def joined_as_if_swapped(x):
    """What the join of (batch, seq_len, n_heads, d_k) becomes for those who believe the heads stand in front."""
    batch, seq_len, n_heads, d_k = x.shape
    return x.transpose(1, 2).reshape(batch, seq_len, n_heads * d_k)
