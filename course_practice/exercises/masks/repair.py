import math

import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.masks import causal_mask, padding_mask
from course_lib.tokens import PAD
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def self_attention(query, key, value, ids):
    """Masked self-attention of a decoder: query, key, value (batch, n_heads, n, d_k), ids (batch, n)."""
    n = ids.shape[1]
    real = (ids != PAD)[:, None, None, :]
    order = torch.ones(n, n, dtype=torch.bool).tril()
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(~(real & order), float("-inf"))
    return scores.softmax(dim=-1) @ value


def self_attention_starter(query, key, value, ids):
    n = ids.shape[1]
    real = (ids != PAD)[:, None, :, None]
    order = torch.ones(n, n, dtype=torch.bool).triu()
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    scores.masked_fill(~(real | order), float("-inf"))
    return scores.softmax(dim=-1) @ value


def from_the_library(query, key, value, ids):
    mask = padding_mask(ids) & causal_mask(ids.shape[1])
    output, _weights = scaled_dot_product_attention(query, key, value, mask)
    return output


def _repair_cases():
    def tensors(*shape, seed):
        return [randn(*shape, seed=seed + step) for step in range(3)]

    return [
        case(*tensors(1, 1, 3, 2, seed=0), torch.tensor([[5, 6, 0]]), about="one sentence, one pad"),
        case(*tensors(1, 2, 4, 3, seed=3), torch.tensor([[5, 6, 7, 8]]), about="no pads"),
        case(*tensors(2, 3, 5, 7, seed=6), torch.tensor([[5, 6, 7, 0, 0], [8, 9, 4, 6, 5]]), about="pads on the right"),
        case(*tensors(3, 3, 3, 3, seed=9), torch.tensor([[5, 0, 0], [6, 7, 0], [8, 9, 4]]), about="all sizes equal"),
        case(*tensors(2, 3, 4, 5, seed=12), torch.tensor([[5, 0, 7, 8], [9, 4, 0, 6]]), about="a pad between words"),
        case(
            torch.full((1, 1, 3, 16), 64.0),  # scores of −16,384, −16,383, and −16,382, exactly
            torch.cat([torch.arange(3.0)[:, None] / 16, torch.zeros(3, 15)], dim=1)[None, None] - 64.0,
            randn(1, 1, 3, 2, seed=17),
            torch.tensor([[5, 6, 0]]),
            about="all scores lie far below zero",
        ),
    ]


EXERCISE = Exercise(
    reference=self_attention,
    starter=self_attention_starter,
    cases=_repair_cases,
    alternatives=(from_the_library,),
    trained=True,
)
