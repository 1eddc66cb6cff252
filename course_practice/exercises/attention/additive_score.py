"""Exercise: the additive score."""

import math

import torch

from course_practice.engine import Exercise, Mistake, case
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


def additive_of_pairs_joined(query, key, w_q, w_k, u):
    q_len, k_len = query.shape[1], key.shape[1]
    left = query.unsqueeze(2).expand(-1, -1, k_len, -1)
    right = key.unsqueeze(1).expand(-1, q_len, -1, -1)
    pairs = torch.cat([left, right], dim=-1) @ torch.cat([w_q, w_k])
    return (pairs.tanh() * u).sum(dim=-1)


def additive_with_einsum(query, key, w_q, w_k, u):
    q = torch.einsum("bqi,ih->bqh", query, w_q).unsqueeze(2)
    k = torch.einsum("bki,ih->bkh", key, w_k).unsqueeze(1)
    return torch.einsum("bqkh,h->bqk", torch.tanh(q + k), u)


def _pairs(query, key, w_q, w_k):
    return (query @ w_q)[:, :, None], (key @ w_k)[:, None]


def _additive(compare, finish=lambda compared, u: compared @ u):
    def implementation(query, key, w_q, w_k, u):
        return finish(compare(*_pairs(query, key, w_q, w_k)), u)

    return implementation


def _tanh_of_sum(q, k):
    return torch.tanh(q + k)


def _additive_case(batch, q_len, k_len, d_q, d_k, d_hidden, about, seed=0):
    shapes = [(batch, q_len, d_q), (batch, k_len, d_k), (d_q, d_hidden), (d_k, d_hidden), (d_hidden,)]
    return case(*(randn(*shape, seed=seed + n) for n, shape in enumerate(shapes)), about=about)


EXERCISE = Exercise(
    title="The additive score",
    task="Return tanh(q W_q + k W_k) · u for every query with every key, shape (batch, q_len, k_len).",
    reference=additive_score,
    cases=lambda: [
        _additive_case(1, 1, 2, 1, 1, 1, "one query, two keys, one feature"),
        _additive_case(2, 3, 5, 7, 11, 13, "all sizes different", seed=5),
        _additive_case(3, 5, 2, 4, 7, 6, "more queries than keys", seed=10),
        _additive_case(3, 3, 3, 3, 3, 3, "all sizes equal", seed=15),
        _additive_case(1, 4, 4, 2, 3, 5, "one sentence, as many queries as keys", seed=20),
        _additive_case(2, 1, 7, 5, 3, 4, "one query a sentence", seed=25),
    ],
    mistakes=(
        Mistake(
            "no-tanh",
            _additive(lambda q, k: q + k),
            "The tanh is missing. Without it the query adds the same number to the scores of all keys, and softmax "
            "does not notice: every query would get the same weights.",
        ),
        Mistake(
            "tanh-of-each",
            _additive(lambda q, k: q.tanh() + k.tanh()),
            "You take the tanh of query and key *before* adding. Then each score is one part from the query plus one "
            "from the key, and softmax cancels the query's part. First the sum, then the tanh.",
        ),
        Mistake(
            "tanh-of-the-score",
            _additive(lambda q, k: q + k, lambda c, u: torch.tanh(c @ u)),
            "The tanh stands around the finished score. It belongs inside: tanh of the sum, then the product with `u`.",
        ),
        Mistake(
            "product-instead-of-sum",
            _additive(lambda q, k: torch.tanh(q * k)),
            "The projections come out multiplied. The additive score *adds* the two (hence its name).",
        ),
        Mistake(
            "u-forgotten",
            _additive(_tanh_of_sum, lambda c, u: c.sum(dim=-1)),
            "The hidden features are added up with equal weights. `u` says how much each of them counts.",
        ),
        Mistake(
            "returns-weights",
            _additive(_tanh_of_sum, lambda c, u: (c @ u).softmax(dim=-1)),
            "These are the weights, after the softmax. Here the scores alone are wanted.",
        ),
        Mistake(
            "scaled",
            _additive(_tanh_of_sum, lambda c, u: c @ u / math.sqrt(u.shape[0])),
            "Your scores come out divided by the root of the hidden width. The formula of the additive score has no "
            "such division.",
        ),
        Mistake(
            "keys-by-queries",
            _additive(_tanh_of_sum, lambda c, u: (c @ u).transpose(1, 2)),
            "Your table is (batch, k_len, q_len). Rows are queries, columns are keys: on which axis does each get its "
            "size 1?",
        ),
        Mistake(
            "query-left-out",
            _additive(lambda q, k: torch.tanh(k).expand(-1, q.shape[1], -1, -1)),
            "The queries make no difference: every row of your table is the same. Both projections go into the tanh.",
        ),
        Mistake(
            "key-left-out",
            _additive(lambda q, k: torch.tanh(q).expand(-1, -1, k.shape[2], -1)),
            "The keys make no difference: every column of your table is the same. Both projections go into the tanh.",
        ),
        Mistake(
            "pairs-by-position",
            lambda query, key, w_q, w_k, u: torch.tanh(query @ w_q + key @ w_k) @ u,
            "Query i meets only key i, if the lengths agree at all. Every query must meet *every* key: give each of "
            "the two an axis of size 1 for the other.",
        ),
        Mistake(
            "no-axis-for-the-batch",
            lambda query, key, w_q, w_k, u: torch.tanh((query @ w_q)[:, None] + (key @ w_k)[None]) @ u,
            "The axes of size 1 stand where they belong without a batch, so the batch of one term meets the queries or "
            "the keys of the other. Four axes are needed: (batch, q_len, 1, d_hidden) and (batch, 1, k_len, d_hidden).",
        ),
        Mistake(
            "u-inside-the-tanh",
            _additive(lambda q, k: q + k, lambda c, u: torch.tanh(c * u).sum(dim=-1)),
            "The sum comes out multiplied by `u` inside the tanh. First the tanh, then the product with `u`.",
        ),
        Mistake(
            "tanh-of-the-dot-product",
            lambda query, key, w_q, w_k, u: torch.tanh((query @ w_q) @ (key @ w_k).transpose(1, 2)),
            "That is the tanh of a dot product of the two projections. The additive score *adds* them, takes the tanh "
            "of each hidden feature, and multiplies with `u` last.",
        ),
        Mistake(
            "matrices-transposed",
            lambda query, key, w_q, w_k, u: torch.tanh((query @ w_q.T)[:, :, None] + (key @ w_k.T)[:, None]) @ u,
            "Here a matrix is (features in, hidden out), so it is `query @ w_q`. (`nn.Linear` stores it the other way "
            "round: there you would transpose.)",
        ),
        Mistake(
            "dot-product",
            lambda query, key, w_q, w_k, u: (query @ w_q) @ (key @ w_k).transpose(1, 2),
            "That is a dot product of the two projections (Luong's *general* score). The additive score sums, applies "
            "tanh, and uses `u`.",
        ),
        Mistake(
            "no-tanh-and-keys-by-queries",
            _additive(lambda q, k: q + k, lambda c, u: (c @ u).transpose(1, 2)),
            "Two things: the tanh is missing, and rows must be queries, columns keys.",
        ),
        Mistake(
            "no-tanh-and-returns-weights",
            _additive(lambda q, k: q + k, lambda c, u: (c @ u).softmax(dim=-1)),
            "Two things: the tanh is missing (look: all your rows are the same), and the scores are wanted, without "
            "softmax.",
        ),
        Mistake(
            "no-tanh-and-u-forgotten",
            _additive(lambda q, k: q + k, lambda c, u: c.sum(dim=-1)),
            "Two things: the tanh is missing, and `u` says how much each hidden feature counts.",
        ),
    ),
    hints=(
        "Write the four shapes down first: q W_q, k W_k, their sum for all pairs, and the scores.",
        "The sum needs (batch, q_len, k_len, d_hidden): an axis of size 1 in each term says 'the same for all of the "
        "other'.",
        "`torch.tanh((query @ w_q)[:, :, None] + (key @ w_k)[:, None])`, and the product with `u` sums over the last "
        "axis.",
    ),
    alternatives=(additive_with_loops, additive_of_pairs_joined, additive_with_einsum),
    difficulty=2,
    minutes=10,
)
