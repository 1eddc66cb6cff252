import math

import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


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


def with_chunks(x, w_q, w_k, w_v, w_o, n_heads):
    heads = []
    for q, k, v in zip(*((x @ w).chunk(n_heads, dim=-1) for w in (w_q, w_k, w_v)), strict=True):
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        heads.append(scores.softmax(dim=-1) @ v)
    return torch.cat(heads, dim=-1) @ w_o


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
    reference=self_attention_with_heads, cases=_repair_cases, alternatives=(with_chunks,), trained=("x",)
)
