import math

import torch

from course_lib.attention import scaled_dot_product_attention
from course_practice.engine import Exercise, case
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


EXERCISE = Exercise(reference=grouped_attention, cases=_cases, alternatives=(with_one_more_axis,), trained=True)
