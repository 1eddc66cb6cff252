import torch
from torch.nn import functional as F

from course_lib.modern import rotary_angles, rotate
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def cached_attention(query, key, value, old_key, old_value):
    """Attention of n new tokens to themselves and to those in the cache.

    All are (heads, tokens, d_k); there are fewer heads of keys and values
    than of queries, and the old keys are turned already. Returns the outputs
    and the keys that go into the cache.
    """
    past, n = old_key.shape[1], query.shape[1]
    angles = rotary_angles(torch.arange(past, past + n), query.shape[-1])
    query, key = rotate(query, angles), rotate(key, angles)
    key = torch.cat([old_key, key], dim=1)
    value = torch.cat([old_value, value], dim=1)
    group = len(query) // len(key)
    shared_key = key.repeat_interleave(group, dim=0)
    shared_value = value.repeat_interleave(group, dim=0)
    mask = torch.ones(n, past + n).tril(diagonal=past).bool()
    output = F.scaled_dot_product_attention(query, shared_key, shared_value, mask)
    return output, key


def with_pytorchs_groups(query, key, value, old_key, old_value):
    past, n = old_key.shape[1], query.shape[1]
    angles = rotary_angles(torch.arange(n) + past, query.shape[-1])
    key = torch.cat([old_key, rotate(key, angles)], dim=1)
    value = torch.cat([old_value, value], dim=1)
    mask = torch.arange(past + n) <= torch.arange(n)[:, None] + past
    query = rotate(query, angles)
    return F.scaled_dot_product_attention(query[None], key[None], value[None], attn_mask=mask, enable_gqa=True)[0], key


def _cases():
    def inputs(n_heads, n_kv_heads, n, past, d_k, seed):
        query = randn(n_heads, n, d_k, seed=seed)
        key, value = (randn(n_kv_heads, n, d_k, seed=seed + i) for i in (1, 2))
        return query, key, value, *(randn(n_kv_heads, past, d_k, seed=seed + i) for i in (3, 4))

    return [
        case(*inputs(4, 2, 1, 3, 2, seed=0), about="one new token, three in the cache"),
        case(*inputs(4, 2, 3, 0, 2, seed=10), about="three new tokens, an empty cache"),
        case(*inputs(6, 2, 3, 5, 4, seed=20), about="three new tokens, five in the cache"),
        case(*inputs(6, 3, 2, 4, 8, seed=30), about="six and three heads"),
        case(*inputs(4, 4, 4, 4, 4, seed=40), about="all sizes equal"),
        case(*inputs(3, 1, 2, 7, 6, seed=50), about="one head of keys for all"),
    ]


EXERCISE = Exercise(reference=cached_attention, cases=_cases, alternatives=(with_pytorchs_groups,), trained=True)
