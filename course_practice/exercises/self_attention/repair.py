import math

from torch.nn import functional as F

from course_practice.engine import Exercise
from course_practice.exercises.self_attention._inputs import inputs


def repaired_layer(x, w_q, w_k, w_v):
    """x plus its self-attention, for x (batch, n, d_model)."""
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    scores = query @ key.transpose(1, 2)
    scores = scores / math.sqrt(query.shape[-1])
    weights = scores.softmax(dim=2)
    return x + weights @ value


def with_fused_attention(x, w_q, w_k, w_v):
    return x + F.scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v)


EXERCISE = Exercise(
    reference=repaired_layer,
    cases=lambda: [
        inputs((1,), 2, 3, 2, 3, "two tokens"),
        inputs((2,), 5, 7, 3, 7, "all sizes different", seed=10),
        inputs((3,), 3, 3, 3, 3, "all sizes equal", seed=20),
        inputs((2,), 4, 2, 5, 2, "queries wider than the tokens", seed=30),
        inputs((3,), 7, 6, 2, 6, "a long sentence", seed=40),
        inputs((2,), 1, 4, 3, 4, "a single token", seed=50),
    ],
    alternatives=(with_fused_attention,),
    trained=("x",),
)
