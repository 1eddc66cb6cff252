import math

import torch
from torch.nn import functional as F

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def kv_step(x, key, value, positions, w_q, w_k, w_v):
    """Attention of the newest token alone: (output (batch, d_v), key, value), the cache longer by one.

    `x` (batch, d) is its vector before the position is added; `key` and `value` (batch, n, …) are those of the n tokens
    before. `positions` (max_len, d) has a row for each position.

    >>> x, nothing = torch.ones(1, 2), torch.zeros(1, 0, 2)
    >>> output, key, value = kv_step(x, nothing, nothing, torch.zeros(4, 2), torch.eye(2), torch.eye(2), torch.eye(2))
    >>> output, key.shape
    (tensor([[1., 1.]]), torch.Size([1, 1, 2]))
    """
    x = x + positions[key.shape[1]]
    key = torch.cat([key, (x @ w_k)[:, None]], dim=1)
    value = torch.cat([value, (x @ w_v)[:, None]], dim=1)
    scores = (x @ w_q)[:, None] @ key.mT / math.sqrt(key.shape[-1])
    return (scores.softmax(dim=-1) @ value)[:, 0], key, value


def with_pytorch(x, key, value, positions, w_q, w_k, w_v):
    n = key.size(1)
    x = (x + positions[n : n + 1]).unsqueeze(1)
    key, value = torch.cat((key, x @ w_k), 1), torch.cat((value, x @ w_v), 1)
    return F.scaled_dot_product_attention(x @ w_q, key, value).squeeze(1), key, value


def _case(batch, n, d, d_k, about, seed, max_len=12):
    return case(
        randn(batch, d, seed=seed),
        randn(batch, n, d_k, seed=seed + 1),
        randn(batch, n, d_k, seed=seed + 2),
        randn(max_len, d, seed=seed + 3),
        *(randn(d, d_k, seed=seed + 4 + i) for i in range(3)),
        about=about,
    )


EXERCISE = Exercise(
    reference=kv_step,
    cases=lambda: [
        _case(3, 1, 2, 4, "one token before", 0, max_len=5),
        _case(2, 0, 4, 3, "the first token: the cache is empty", 10),
        _case(3, 5, 4, 7, "all sizes different", 20),
        _case(3, 3, 3, 3, "all sizes equal", 30),
        _case(4, 1, 4, 4, "a table of as many positions as sentences", 50, max_len=4),
        _case(2, 9, 5, 4, "a longer cache", 40),
    ],
    alternatives=(with_pytorch,),
)
