import math

from torch.nn import functional as F

from course_practice.engine import Exercise
from course_practice.exercises.image_attention._inputs import (
    inputs,
)


def repaired_block(x, w_q, w_k, w_v, w_o, gamma):
    """x + γ · attention over its pixels, for x (batch, channels, height, width)."""
    tokens = x.flatten(start_dim=2).mT
    query, key, value = tokens @ w_q, tokens @ w_k, tokens @ w_v
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    weights = scores.softmax(dim=2)
    image = (weights @ value @ w_o).mT.unflatten(2, x.shape[2:])
    return x + gamma * image


def repair_starter(x, w_q, w_k, w_v, w_o, gamma):
    tokens = x.flatten(start_dim=2).mT
    query, key, value = tokens @ w_q, tokens @ w_k, tokens @ w_v
    scores = query @ key.mT / math.sqrt(x.shape[1])
    weights = scores.softmax(dim=1)
    image = (weights @ value @ w_o).reshape(x.shape)
    return gamma * (x + image)


def with_fused_attention(x, w_q, w_k, w_v, w_o, gamma):
    tokens = x.permute(0, 2, 3, 1).flatten(1, 2)
    mixed = F.scaled_dot_product_attention(tokens @ w_q, tokens @ w_k, tokens @ w_v) @ w_o
    return mixed.transpose(1, 2).reshape(x.shape) * gamma + x


EXERCISE = Exercise(
    reference=repaired_block,
    starter=repair_starter,
    cases=lambda: [
        inputs(1, 2, 1, 2, 3, 2, 1.0, "two pixels"),
        inputs(2, 5, 3, 7, 11, 13, 0.7, "all sizes different", seed=10),
        inputs(4, 4, 4, 4, 4, 4, 0.7, "all sizes equal", seed=20),
        inputs(2, 3, 4, 2, 5, 3, -1.5, "gamma below zero", seed=30),
        inputs(2, 3, 2, 5, 2, 7, 0.0, "gamma is 0", seed=40),
        inputs(1, 7, 5, 3, 2, 3, 2.0, "narrow queries", seed=50),
    ],
    alternatives=(with_fused_attention,),
)
