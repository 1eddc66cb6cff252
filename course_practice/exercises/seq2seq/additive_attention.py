import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def additive_attention(query, memory, w_q, w_k, u, mask):
    """One context for each sentence: scores tanh(query W_q + memory W_k) · u, softmax over the words, weighted mean.

    query (batch, d_q) · memory (batch, src_len, d_m) · mask (batch, src_len), True = may attend
    → context (batch, d_m), weights (batch, src_len).

    >>> one = torch.ones(1, 1)
    >>> query, memory = torch.zeros(1, 1), torch.tensor([[[3.0], [3.0], [9.0]]])
    >>> mask = torch.tensor([[True, True, False]])
    >>> additive_attention(query, memory, one, one, torch.ones(1), mask)
    (tensor([[3.]]), tensor([[0.5000, 0.5000, 0.0000]]))
    """
    compared = torch.tanh((query @ w_q)[:, None] + memory @ w_k)  # (batch, src_len, d)
    scores = (compared @ u).masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    return (weights[:, None] @ memory).squeeze(1), weights


def with_einsum(query, memory, w_q, w_k, u, mask):
    compared = torch.tanh((query @ w_q).unsqueeze(1) + torch.einsum("bsm,md->bsd", memory, w_k))
    scores = torch.einsum("bsd,d->bs", compared, u)
    weights = scores.masked_fill(mask.logical_not(), float("-inf")).softmax(dim=1)
    return torch.einsum("bs,bsm->bm", weights, memory), weights


def _case(lengths, src_len, d_q, d_m, d, about, seed=0):
    batch = len(lengths)
    shapes = [(batch, d_q), (batch, src_len, d_m), (d_q, d), (d_m, d), (d,)]
    mask = torch.arange(src_len) < torch.tensor(lengths)[:, None]
    return case(*(randn(*shape, seed=seed + n) for n, shape in enumerate(shapes)), mask, about=about)


EXERCISE = Exercise(
    reference=additive_attention,
    cases=lambda: [
        _case([2], 2, 1, 1, 1, "one sentence of two words"),
        _case([2, 5], 5, 7, 3, 4, "all sizes different", seed=5),
        _case([3, 1, 2], 3, 3, 3, 3, "all sizes equal", seed=10),
        _case([4, 2, 4, 1], 4, 5, 6, 3, "as many sentences as words", seed=15),
        _case([1, 3], 7, 2, 4, 4, "many pads", seed=20),
        _case([6, 6, 6], 6, 4, 2, 5, "no pads", seed=25),
    ],
    alternatives=(with_einsum,),
    trained=("query", "memory"),
)
