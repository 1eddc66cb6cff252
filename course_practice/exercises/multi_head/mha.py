import math

import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.multi_head import merge_heads, split_heads
from course_practice.engine import Exercise, case
from course_practice.engine.compare import as_tensor
from course_practice.exercises.inputs import randn


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


def step_by_step(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    def split(x):
        return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)

    q = split(query @ w_q)
    k = split(key_value @ w_k)
    v = split(key_value @ w_v)
    scores = q @ k.transpose(-2, -1)
    scores = scores / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    heads = weights @ v
    merged = heads.transpose(1, 2).flatten(2)
    return merged @ w_o


def _answer_alone(obj, given):
    """The output, also where the weights are handed back beside it."""
    answer = obj(*given.args, **given.kwargs)
    is_pair = isinstance(answer, tuple | list) and len(answer) == 2 and getattr(answer[0], "shape", None) is not None
    return answer[0] if is_pair and tuple(answer[0].shape) != tuple(given.args[0].shape[1:]) else answer


def _looks_at_every_mask(obj, given):
    """The name of the mistake where each head has a mask of its own, and head h sees h tokens in each direction."""
    n, n_heads = given.args[0].shape[1], given.args[6]
    if given.args[0].shape != given.args[1].shape:
        return ""
    far = (torch.arange(n) - torch.arange(n)[:, None]).abs()
    asked = case(*given.args[:7], (far <= torch.arange(n_heads)[:, None, None])[None])
    answer = as_tensor(_answer_alone(obj, asked)).float()
    return "" if torch.allclose(answer, mha(*asked.args), atol=1e-4) else "one-mask-for-all-heads"


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
    reference=mha,
    cases=_mha_cases,
    call=_answer_alone,
    excluded=_looks_at_every_mask,
    alternatives=(with_a_loop_over_heads, step_by_step),
    trained=("query", "key_value"),
)
