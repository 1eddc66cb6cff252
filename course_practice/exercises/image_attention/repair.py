import math

from torch.nn import functional as F

from course_practice.engine import Exercise
from course_practice.exercises.image_attention._inputs import cases


def repaired_block(x, w_q, w_k, w_v, w_o, gamma):
    """x + γ · attention over its pixels, for x (batch, channels, height, width)."""
    tokens = x.flatten(start_dim=2).mT
    query, key, value = tokens @ w_q, tokens @ w_k, tokens @ w_v
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    weights = scores.softmax(dim=2)
    image = (weights @ value @ w_o).mT.unflatten(2, x.shape[2:])
    return x + gamma * image


def with_fused_attention(x, w_q, w_k, w_v, w_o, gamma):
    tokens = x.permute(0, 2, 3, 1).flatten(1, 2)
    mixed = F.scaled_dot_product_attention(tokens @ w_q, tokens @ w_k, tokens @ w_v) @ w_o
    return mixed.transpose(1, 2).reshape(x.shape) * gamma + x


EXERCISE = Exercise(reference=repaired_block, cases=cases, alternatives=(with_fused_attention,), trained=("x",))
