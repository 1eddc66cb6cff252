import math

import torch
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def cross_attention(x, memory, w_q, w_k, w_v, src_mask):
    """One head: the target (batch, tgt_len, d_model) asks the memory (batch, src_len, d_model).

    `src_mask` (batch, 1, src_len) is True at real words of the source.

    >>> x, memory, table = torch.zeros(1, 2, 1), torch.tensor([[[4.0], [6.0], [99.0]]]), torch.ones(1, 1)
    >>> cross_attention(x, memory, table, table, table, torch.tensor([[[True, True, False]]]))
    tensor([[[5.],
             [5.]]])
    """
    output, _weights = scaled_dot_product_attention(x @ w_q, memory @ w_k, memory @ w_v, src_mask)
    return output


def with_pytorch(x, memory, w_q, w_k, w_v, src_mask):
    return F.scaled_dot_product_attention(x @ w_q, memory @ w_k, memory @ w_v, attn_mask=src_mask)


def with_one_matrix(x, memory, w_q, w_k, w_v, src_mask):
    key, value = (memory @ torch.cat([w_k, w_v], dim=1)).split([w_k.shape[1], w_v.shape[1]], dim=-1)
    scores = torch.einsum("btd,bsd->bts", x @ w_q, key) / math.sqrt(w_q.shape[1])
    weights = torch.where(src_mask, scores, torch.tensor(-torch.inf)).softmax(dim=-1)
    return torch.einsum("bts,bsv->btv", weights, value)


def _cases():
    def one(batch, tgt_len, src_len, d_model, d_k, d_v, real, about, seed):
        shapes = [(batch, tgt_len, d_model), (batch, src_len, d_model), (d_model, d_k), (d_model, d_k), (d_model, d_v)]
        mask = (torch.arange(src_len) < torch.tensor(real)[:, None])[:, None]
        return case(*(randn(*shape, seed=seed + i) for i, shape in enumerate(shapes)), mask, about=about)

    return [
        one(1, 2, 3, 2, 2, 2, [3], "one sentence, no pads", 0),
        one(2, 3, 5, 7, 4, 6, [5, 2], "pads in the second source", 10),
        one(3, 3, 3, 3, 3, 3, [3, 2, 1], "all sizes equal", 20),
        one(2, 5, 3, 4, 2, 3, [1, 3], "a target longer than the source", 30),
    ]


EXERCISE = Exercise(
    reference=cross_attention, cases=_cases, alternatives=(with_pytorch, with_one_matrix), trained=("x", "memory")
)
