import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def additive_score(query, key, w_q, w_k, u):
    """score(q, k) = tanh(q W_q + k W_k) · u of every query with every key.

    query (batch, q_len, d_q) · key (batch, k_len, d_k) → (batch, q_len, k_len)
    An axis of size 1 in each of the two lets every query meet every key.

    >>> query, key = torch.tensor([[[0.5]]]), torch.tensor([[[-0.5], [0.0]]])
    >>> one = torch.ones(1, 1)
    >>> additive_score(query, key, one, one, torch.tensor([2.0]))
    tensor([[[0.0000, 0.9242]]])
    """
    q, k = query @ w_q, key @ w_k
    # (batch, q_len, 1, d_hidden) + (batch, 1, k_len, d_hidden)
    compared = torch.tanh(q[:, :, None, :] + k[:, None, :, :])
    return compared @ u


def additive_with_loops(query, key, w_q, w_k, u):
    def row(q, keys):
        return torch.stack([u @ torch.tanh(q @ w_q + k @ w_k) for k in keys])

    return torch.stack([torch.stack([row(q, keys) for q in qs]) for qs, keys in zip(query, key, strict=True)])


def _additive_case(batch, q_len, k_len, d_q, d_k, d_hidden, about, seed=0):
    shapes = [(batch, q_len, d_q), (batch, k_len, d_k), (d_q, d_hidden), (d_k, d_hidden), (d_hidden,)]
    return case(*(randn(*shape, seed=seed + n) for n, shape in enumerate(shapes)), about=about)


EXERCISE = Exercise(
    reference=additive_score,
    cases=lambda: [
        _additive_case(1, 1, 2, 1, 1, 1, "one query, two keys, one feature"),
        _additive_case(2, 3, 5, 7, 11, 13, "all sizes different", seed=5),
        _additive_case(3, 5, 2, 4, 7, 6, "more queries than keys", seed=10),
        _additive_case(3, 3, 3, 3, 3, 3, "all sizes equal", seed=15),
        _additive_case(1, 4, 4, 2, 3, 5, "one sentence, as many queries as keys", seed=20),
        _additive_case(2, 1, 7, 5, 3, 4, "one query a sentence", seed=25),
    ],
    alternatives=(additive_with_loops,),
    trained=("query", "key"),
)
