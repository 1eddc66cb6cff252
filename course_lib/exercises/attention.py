"""Exercises of chapter 02, attention."""

import math
from itertools import product

import torch
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_lib.exercises.engine import Convention, Exercise, Mistake, case

SPREAD = 40.0  # makes scores of a few thousand: exp of one of them is infinite


def _random(*shape, seed=0, scale=1.0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * scale


def _one_query(d_k, k_len, d_v, about, scale=1.0, seed=0):
    query, key = _random(d_k, seed=seed, scale=scale), _random(k_len, d_k, seed=seed + 1, scale=scale)
    return case(query, key, _random(k_len, d_v, seed=seed + 2), about=about)


def _queries(lead, q_len, k_len, d_k, d_v, about, scale=1.0, seed=0):
    query = _random(*lead, q_len, d_k, seed=seed, scale=scale)
    key = _random(*lead, k_len, d_k, seed=seed + 1, scale=scale)
    return case(query, key, _random(*lead, k_len, d_v, seed=seed + 2), about=about)


# attention.soft_lookup


def soft_lookup(query, key, value):
    """One query asks a soft dictionary: the mean of all values, weighted by how well their keys match.

    query (d_k) · key (k_len, d_k) · value (k_len, d_v) → output (d_v)

    >>> key, value = torch.eye(2), torch.tensor([[10.0], [20.0]])
    >>> soft_lookup(torch.tensor([0.0, 0.0]), key, value)
    tensor([15.])
    """
    scores = key @ query
    weights = scores.softmax(dim=-1)
    return weights @ value


def starter_soft_lookup(query, key, value):
    """The mean of all values, weighted by how well their keys match the query."""
    scores = ...  # (k_len): one number for each key
    weights = scores.softmax(dim=...)  # (k_len): positive, their sum is 1
    return weights @ ...  # (d_v): the mean


def lookup_key_by_key(query, key, value):
    scores = torch.stack([(query * k).sum() for k in key])
    exps = (scores - scores.max()).exp()
    return sum(weight * v for weight, v in zip(exps / exps.sum(), value, strict=True))


def lookup_with_einsum(query, key, value):
    weights = torch.einsum("d,kd->k", query, key).softmax(dim=0)
    return torch.einsum("k,kv->v", weights, value)


def lookup_with_the_library(query, key, value):
    return F.scaled_dot_product_attention(query[None], key, value, scale=1.0)[0]


def _lookup(score=lambda q, k: k @ q, weigh=lambda s: s.softmax(dim=-1), mix=lambda w, k, v: w @ v):
    return lambda query, key, value: mix(weigh(score(query, key)), key, value)


def _distance(query, key):
    return -(key - query).norm(dim=-1)


def _squared_distance(query, key):
    return -(key - query).square().sum(dim=-1)


def _naive_softmax(scores):
    return scores.exp() / scores.exp().sum(dim=-1, keepdim=True)


def _share(scores):
    return scores / scores.sum(dim=-1, keepdim=True)


def _root_d_k(query, key):
    return key @ query / math.sqrt(query.shape[-1])


SOFT_LOOKUP = Exercise(
    id="attention.soft_lookup",
    title="Look up one query",
    task="One query asks a soft dictionary: score every key with a dot product (no scaling yet), softmax, and return "
    "the mean of the values by these weights.",
    reference=soft_lookup,
    starter=starter_soft_lookup,
    cases=lambda: [
        case(torch.tensor([1.0, 0.0]), torch.eye(2), torch.tensor([[10.0], [20.0]]), about="two keys"),
        _one_query(2, 3, 5, "three keys"),
        _one_query(7, 5, 3, "seven features", seed=3),
        _one_query(3, 3, 3, "all sizes equal", seed=6),
        _one_query(5, 1, 2, "a single key", seed=9),
        _one_query(3, 7, 2, "large scores", scale=SPREAD, seed=12),
    ],
    mistakes=(
        Convention(
            "scaled",
            _lookup(_root_d_k),
            "This is the scaled form, right in a Transformer. Here the plain dot product is wanted: the division comes "
            "in a later exercise.",
        ),
        Mistake(
            "divided-by-d-k",
            _lookup(lambda q, k: k @ q / q.shape[-1]),
            "You divide the scores by d_k. Here the plain dot product is wanted (and later it will be √d_k).",
        ),
        Mistake(
            "divided-by-root-of-the-number-of-keys",
            _lookup(lambda q, k: k @ q / math.sqrt(k.shape[0])),
            "You divide by the root of the number of keys. Nothing is divided here, and later it will be √d_k: which "
            "axis is summed over in a dot product?",
        ),
        Mistake(
            "hard-lookup",
            _lookup(mix=lambda w, k, v: v[w.argmax()]),
            "You return the value of the best key alone. That is a hard lookup: it cannot learn. A soft one mixes "
            "*all* values.",
        ),
        Mistake(
            "best-value-times-its-weight",
            _lookup(mix=lambda w, k, v: w.max() * v[w.argmax()]),
            "You return the best value times its weight. The other values belong to the mean as well.",
        ),
        Mistake(
            "no-softmax",
            _lookup(weigh=lambda s: s),
            "Raw scores are not weights: they may be negative, and their sum is anything. What turns numbers into "
            "positive ones that sum to 1?",
        ),
        Mistake(
            "no-softmax-divided-by-the-number-of-keys",
            _lookup(weigh=lambda s: s / len(s)),
            "You use the scores as weights and divide by their number. That sum is anything, and scores may be "
            "negative: what turns numbers into positive ones that sum to 1?",
        ),
        Mistake(
            "exp-without-sum",
            _lookup(weigh=torch.exp),
            "Your weights are positive, but they do not sum to 1. What is missing after the exponential?",
        ),
        Mistake(
            "share-without-exp",
            _lookup(weigh=_share),
            "Divided by their sum, the scores sum to 1, but some are negative, and the sum may be near 0. The "
            "exponential comes first.",
        ),
        Mistake(
            "share-of-absolute-scores",
            _lookup(weigh=lambda s: _share(s.abs())),
            "With absolute values, the key that points *away* from the query counts as a good match. Softmax keeps "
            "the sign: e to the power of the score.",
        ),
        Mistake(
            "share-of-positive-scores",
            _lookup(weigh=lambda s: _share(s.relu())),
            "You cut negative scores off at 0. Softmax gives every key a weight above 0, so that each of them can "
            "still learn.",
        ),
        Mistake(
            "sigmoid",
            _lookup(weigh=torch.sigmoid),
            "A sigmoid judges every key alone, so the weights do not sum to 1. Softmax lets the keys compete.",
        ),
        Mistake(
            "log-softmax",
            _lookup(weigh=lambda s: s.log_softmax(dim=-1)),
            "With `log_softmax` you have the *logarithms* of the weights, all of them negative. A mean needs the "
            "weights.",
        ),
        Mistake(
            "softmax-twice",
            _lookup(weigh=lambda s: s.softmax(dim=-1).softmax(dim=-1)),
            "You apply softmax to what is already a softmax: the second one makes all weights nearly equal. One is "
            "enough.",
        ),
        Mistake(
            "unstable-softmax",
            _lookup(weigh=_naive_softmax),
            "Right for small scores, NaN for large ones: the exponential of 100 is infinite in float32. `softmax` "
            "subtracts the largest score first; the weights stay the same.",
        ),
        Mistake(
            "softmin",
            _lookup(weigh=lambda s: (-s).softmax(dim=-1)),
            "Your weights are largest where the match is worst: a sign is turned round.",
        ),
        Mistake(
            "plain-mean",
            _lookup(weigh=lambda s: torch.full_like(s, 1 / len(s))),
            "You return the plain mean of the values: the query makes no difference. Where do its scores come in?",
        ),
        Mistake(
            "plain-sum",
            _lookup(mix=lambda w, k, v: v.sum(dim=0)),
            "You add all values up, each with weight 1. Multiply each by its weight first.",
        ),
        Mistake(
            "mixes-the-keys",
            _lookup(mix=lambda w, k, v: w @ k),
            "You mix the *keys*. Keys are what a query is compared with; what you hand out are the values.",
        ),
        Mistake(
            "returns-the-weights",
            _lookup(mix=lambda w, k, v: w),
            "These are the weights. One step is left: mix the values by them.",
        ),
        Mistake(
            "returns-the-scores",
            _lookup(weigh=lambda s: s, mix=lambda w, k, v: w),
            "These are the scores. Two steps are left: softmax, and the mean of the values.",
        ),
        Mistake(
            "weighted-rows-not-added",
            _lookup(mix=lambda w, k, v: w[:, None] * v),
            "Each value has its weight, and one step is missing: add the rows up. The answer is one vector of "
            "length d_v.",
        ),
        Mistake(
            "mean-of-weighted-rows",
            _lookup(mix=lambda w, k, v: (w[:, None] * v).mean(dim=0)),
            "The weights sum to 1 already, so the weighted values are to be *summed*. `mean` divides by the number of "
            "keys once more.",
        ),
        Mistake(
            "softmax-at-the-end",
            _lookup(weigh=lambda s: s, mix=lambda w, k, v: (w @ v).softmax(dim=-1)),
            "The softmax stands at the end, around the output. It belongs to the scores, before the values come in: "
            "values of 7 must give 7.",
        ),
        Mistake(
            "distance",
            _lookup(_distance),
            "You score by distance, which is a sensible choice, but another one. Here it is the dot product.",
        ),
        Mistake(
            "squared-distance",
            _lookup(_squared_distance),
            "You score by squared distance. It differs from the dot product by the lengths of the keys: long keys "
            "lose, where the dot product lets them win.",
        ),
        Mistake(
            "cosine",
            _lookup(lambda q, k: F.cosine_similarity(k, q[None], dim=-1)),
            "You divide by the lengths of query and key (the cosine). The dot product keeps them: a longer query asks "
            "more decidedly.",
        ),
        Mistake(
            "keys-transposed",
            _lookup(lambda q, k: q @ k),
            "The features of the query met the *numbers* of the keys. Each row of `key` is one key: multiply each row "
            "with the query.",
        ),
        Mistake(
            "keys-transposed-by-t",
            _lookup(lambda q, k: k.T @ q),
            "Written `key.T`, the features stand in the rows. A row of `key` is one key already: no transpose is "
            "needed on that side.",
        ),
    ),
    hints=(
        "Three lines, three shapes: scores (k_len), weights (k_len), output (d_v).",
        "Each row of `key` is one key. A matrix times a vector takes the dot product of every row with the vector.",
        "`key @ query`, then `.softmax(dim=-1)`, then `weights @ value`.",
    ),
    alternatives=(lookup_key_by_key, lookup_with_einsum, lookup_with_the_library),
    difficulty=1,
    minutes=5,
)


# attention.additive_score


def additive_score(query, key, w_q, w_k, v):
    """score(q, k) = v · tanh(q W_q + k W_k) of every query with every key, as in chapter 01.

    query (batch, q_len, d_q) · key (batch, k_len, d_k) → (batch, q_len, k_len). The projections take the two to one
    hidden width; an axis of size 1 in each lets every query meet every key.

    >>> one = torch.ones(1, 1)
    >>> additive_score(torch.tensor([[[0.5]]]), torch.tensor([[[-0.5], [0.0]]]), one, one, torch.tensor([2.0]))
    tensor([[[0.0000, 0.9242]]])
    """
    q, k = query @ w_q, key @ w_k
    compared = torch.tanh(q[:, :, None, :] + k[:, None, :, :])  # (batch, q_len, k_len, d_hidden)
    return compared @ v


def additive_with_loops(query, key, w_q, w_k, v):
    def row(q, keys):
        return torch.stack([v @ torch.tanh(q @ w_q + k @ w_k) for k in keys])

    return torch.stack([torch.stack([row(q, keys) for q in qs]) for qs, keys in zip(query, key, strict=True)])


def additive_of_pairs_joined(query, key, w_q, w_k, v):
    q_len, k_len = query.shape[1], key.shape[1]
    left = query.unsqueeze(2).expand(-1, -1, k_len, -1)
    right = key.unsqueeze(1).expand(-1, q_len, -1, -1)
    pairs = torch.cat([left, right], dim=-1) @ torch.cat([w_q, w_k])
    return (pairs.tanh() * v).sum(dim=-1)


def additive_with_einsum(query, key, w_q, w_k, v):
    q = torch.einsum("bqi,ih->bqh", query, w_q).unsqueeze(2)
    k = torch.einsum("bki,ih->bkh", key, w_k).unsqueeze(1)
    return torch.einsum("bqkh,h->bqk", torch.tanh(q + k), v)


def _pairs(query, key, w_q, w_k):
    return (query @ w_q)[:, :, None], (key @ w_k)[:, None]


def _additive(compare, finish=lambda compared, v: compared @ v):
    def implementation(query, key, w_q, w_k, v):
        return finish(compare(*_pairs(query, key, w_q, w_k)), v)

    return implementation


def _tanh_of_sum(q, k):
    return torch.tanh(q + k)


def _additive_case(batch, q_len, k_len, d_q, d_k, d_hidden, about, seed=0):
    shapes = [(batch, q_len, d_q), (batch, k_len, d_k), (d_q, d_hidden), (d_k, d_hidden), (d_hidden,)]
    return case(*(_random(*shape, seed=seed + n) for n, shape in enumerate(shapes)), about=about)


ADDITIVE_SCORE = Exercise(
    id="attention.additive_score",
    title="The additive score",
    task="Return v · tanh(q W_q + k W_k) for every query with every key, shape (batch, q_len, k_len).",
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
            _additive(lambda q, k: q + k, lambda c, v: torch.tanh(c @ v)),
            "The tanh stands around the finished score. It belongs inside: tanh of the sum, then the product with `v`.",
        ),
        Mistake(
            "tanh-twice",
            _additive(_tanh_of_sum, lambda c, v: torch.tanh(c @ v)),
            "One tanh too many: the score itself is not squeezed.",
        ),
        Mistake(
            "product-instead-of-sum",
            _additive(lambda q, k: torch.tanh(q * k)),
            "You multiply query and key. The additive score *adds* the two projections (hence its name).",
        ),
        Mistake(
            "difference-instead-of-sum",
            _additive(lambda q, k: torch.tanh(q - k)),
            "You subtract the key. The formula adds the two; `w_k` can learn the sign by itself.",
        ),
        Mistake(
            "sigmoid",
            _additive(lambda q, k: torch.sigmoid(q + k)),
            "You use a sigmoid where the formula has a tanh: one lies between 0 and 1, the other between −1 and 1.",
        ),
        Mistake(
            "relu",
            _additive(lambda q, k: torch.relu(q + k)),
            "You use a ReLU where the formula has a tanh.",
        ),
        Mistake(
            "v-forgotten",
            _additive(_tanh_of_sum, lambda c, v: c.sum(dim=-1)),
            "You add the hidden features up with equal weights. `v` says how much each of them counts.",
        ),
        Mistake(
            "mean-over-the-hidden-features",
            _additive(_tanh_of_sum, lambda c, v: (c * v).mean(dim=-1)),
            "You take the mean over the hidden features. The product with `v` is a *sum* over them.",
        ),
        Mistake(
            "hidden-features-not-summed",
            _additive(_tanh_of_sum, lambda c, v: c * v),
            "Each pair still holds all its hidden features. A score is one number a pair: sum over the last axis.",
        ),
        Mistake(
            "returns-the-compared",
            _additive(_tanh_of_sum, lambda c, v: c),
            "This is the tanh, with one vector for each pair. `v` turns each vector into one number.",
        ),
        Mistake(
            "trailing-axis",
            _additive(_tanh_of_sum, lambda c, v: c @ v[:, None]),
            "The values are right, but an axis of size 1 is left at the end. `squeeze(-1)` removes it.",
        ),
        Mistake(
            "returns-weights",
            _additive(_tanh_of_sum, lambda c, v: (c @ v).softmax(dim=-1)),
            "These are the weights, after the softmax. Here the scores alone are wanted.",
        ),
        Mistake(
            "scaled",
            _additive(_tanh_of_sum, lambda c, v: c @ v / math.sqrt(v.shape[0])),
            "You divide by the root of the hidden width. The additive score is not scaled: its tanh keeps every term "
            "between −1 and 1 already.",
        ),
        Mistake(
            "keys-by-queries",
            _additive(_tanh_of_sum, lambda c, v: (c @ v).transpose(1, 2)),
            "Your table is (batch, k_len, q_len). Rows are queries, columns are keys: on which axis does each get "
            "its size 1?",
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
            lambda query, key, w_q, w_k, v: torch.tanh(query @ w_q + key @ w_k) @ v,
            "Query i meets only key i, if the lengths agree at all. Every query must meet *every* key: give each of "
            "the two an axis of size 1 for the other.",
        ),
        Mistake(
            "axis-for-keys-only",
            lambda query, key, w_q, w_k, v: torch.tanh(query @ w_q + (key @ w_k)[:, None]) @ v,
            "Only the keys got a new axis. The queries need one too, for the keys: `[:, :, None]`.",
        ),
        Mistake(
            "axis-for-queries-only",
            lambda query, key, w_q, w_k, v: torch.tanh((query @ w_q)[:, :, None] + key @ w_k) @ v,
            "Only the queries got a new axis. The keys need one too, for the queries: `[:, None]`.",
        ),
        Mistake(
            "one-matrix-for-both",
            lambda query, key, w_q, w_k, v: torch.tanh((query @ w_q)[:, :, None] + (key @ w_q)[:, None]) @ v,
            "You project the keys with `w_q`. They have a matrix of their own, `w_k`.",
        ),
        Mistake(
            "matrices-swapped",
            lambda query, key, w_q, w_k, v: torch.tanh((query @ w_k)[:, :, None] + (key @ w_q)[:, None]) @ v,
            "The two matrices have changed places: `w_q` belongs to the queries.",
        ),
        Mistake(
            "matrices-transposed",
            lambda query, key, w_q, w_k, v: torch.tanh((query @ w_q.T)[:, :, None] + (key @ w_k.T)[:, None]) @ v,
            "Here a matrix is (features in, hidden out), so it is `query @ w_q`. (`nn.Linear` stores it the other "
            "way round: there you would transpose.)",
        ),
        Mistake(
            "queries-not-projected",
            lambda query, key, w_q, w_k, v: torch.tanh(query[:, :, None] + (key @ w_k)[:, None]) @ v,
            "The queries enter as they are. They need their projection `w_q` first, which takes them to the hidden "
            "width.",
        ),
        Mistake(
            "keys-not-projected",
            lambda query, key, w_q, w_k, v: torch.tanh((query @ w_q)[:, :, None] + key[:, None]) @ v,
            "The keys enter as they are. They need their projection `w_k` first, which takes them to the hidden width.",
        ),
        Mistake(
            "dot-product",
            lambda query, key, w_q, w_k, v: (query @ w_q) @ (key @ w_k).transpose(1, 2),
            "That is a dot product of the two projections (Luong's *general* score). The additive score sums, applies "
            "tanh, and uses `v`.",
        ),
        Mistake(
            "no-tanh-and-keys-by-queries",
            _additive(lambda q, k: q + k, lambda c, v: (c @ v).transpose(1, 2)),
            "Two things: the tanh is missing, and rows must be queries, columns keys.",
        ),
        Mistake(
            "no-tanh-and-returns-weights",
            _additive(lambda q, k: q + k, lambda c, v: (c @ v).softmax(dim=-1)),
            "Two things: the tanh is missing (look: all your rows are the same), and the scores are wanted, without "
            "softmax.",
        ),
        Mistake(
            "no-tanh-and-v-forgotten",
            _additive(lambda q, k: q + k, lambda c, v: c.sum(dim=-1)),
            "Two things: the tanh is missing, and `v` says how much each hidden feature counts.",
        ),
    ),
    hints=(
        "Write the four shapes down first: q W_q, k W_k, their sum for all pairs, and the scores.",
        "The sum needs (batch, q_len, k_len, d_hidden): an axis of size 1 in each term says 'the same for all of "
        "the other'.",
        "`torch.tanh((query @ w_q)[:, :, None] + (key @ w_k)[:, None])`, and the product with `v` sums over the "
        "last axis.",
    ),
    alternatives=(additive_with_loops, additive_of_pairs_joined, additive_with_einsum),
    difficulty=2,
    minutes=10,
)


# attention.einsum


def einsum_attention(query, key, value):
    """Scaled dot-product attention of many heads, written with the letters of its axes.

    b batch · h head · q query · k key · d feature of query and key · v feature of value. A letter that does not stand
    after the arrow is summed over: `d` in the scores, `k` in the output.

    >>> query, key, value = torch.zeros(1, 1, 2, 4), torch.zeros(1, 1, 3, 4), torch.tensor([[[[3.0], [6.0], [9.0]]]])
    >>> einsum_attention(query, key, value).flatten()
    tensor([6., 6.])
    """
    scores = torch.einsum("bhqd,bhkd->bhqk", query, key)
    weights = (scores / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return torch.einsum("bhqk,bhkv->bhqv", weights, value)


def starter_einsum(query, key, value):
    """Attention for (batch, n_heads, …): b, h, q, k, d (of query and key), v (of value)."""
    scores = torch.einsum(..., query, key)
    weights = (scores / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return torch.einsum(..., weights, value)


def with_an_ellipsis(query, key, value):
    scores = torch.einsum("...id,...jd->...ij", query, key)
    weights = (scores / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return torch.einsum("...ij,...jd->...id", weights, value)


def with_matmul(query, key, value):
    scores = torch.matmul(query, key.transpose(2, 3))
    weights = (scores / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return torch.matmul(weights, value)


def with_a_broadcast_and_a_sum(query, key, value):
    scores = (query[:, :, :, None] * key[:, :, None]).sum(dim=-1)
    weights = (scores / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return (weights[..., None] * value[:, :, None]).sum(dim=-2)


def _letters(score, mix, scale=math.sqrt):
    def implementation(query, key, value):
        scores = torch.einsum(score, query, key)
        weights = (scores / scale(query.shape[-1])).softmax(dim=-1)
        return torch.einsum(mix, weights, value)

    return implementation


def _any_letters(function, given):
    """einsum complains in the learner's own letters; a mistake is the same one in any letters."""
    try:
        return function(*given.args, **given.kwargs)
    except RuntimeError as error:
        if "einsum(" in str(error):
            error.args = ("einsum(): the letters do not fit the shapes",)
        raise


SCORE, MIX = "bhqd,bhkd->bhqk", "bhqk,bhkv->bhqv"
_SCORE_SLIPS = {
    "scores-keys-by-queries": (
        "bhqd,bhkd->bhkq",
        "The scores come out as (…, k_len, q_len), so the softmax runs over the queries. Queries first, keys last.",
    ),
    "features-have-two-letters": (
        "bhqd,bhke->bhqk",
        "The features of query and key have two different letters, so each is summed by itself and nothing is "
        "compared. One letter for both makes it a dot product.",
    ),
    "heads-mixed": (
        "bhqd,bgkd->bhqk",
        "The heads of query and key have two different letters: every head is compared with the sum over all heads.",
    ),
    "sentences-mixed": (
        "bhqd,ahkd->bhqk",
        "The sentences of query and key have two different letters: each sentence is compared with all the batch.",
    ),
    "keys-read-as-transposed": (
        "bhqd,bhdk->bhqk",
        "The keys are (batch, n_heads, k_len, d_k) as they come: einsum needs no transpose, the letters do that.",
    ),
}
_MIX_SLIPS = {
    "sums-over-the-queries": (
        "bhqk,bhqv->bhkv",
        "You sum over the queries. Which letter do `weights` and `value` share: the last axis of the one, the "
        "second-to-last of the other?",
    ),
    "values-not-tied-to-the-weights": (
        "bhqk,bhjv->bhqv",
        "The keys of `weights` and those of `value` have two different letters: the weights add up to 1 by "
        "themselves, and every query gets the plain sum of the values.",
    ),
    "heads-of-the-values-mixed": (
        "bhqk,bgkv->bhqv",
        "The heads of `weights` and `value` have two different letters: every head gets the values of all heads.",
    ),
    "output-transposed": (
        "bhqk,bhkv->bhvq",
        "The output has its last two axes swapped: (…, d_v, q_len) instead of (…, q_len, d_v).",
    ),
    "heads-behind-the-queries": (
        "bhqk,bhkv->bqhv",
        "Your output is (batch, q_len, n_heads, d_v), one step ahead: that is the order for merging the heads. Here "
        "the axes stay as they came.",
    ),
}


EINSUM = Exercise(
    id="attention.einsum",
    title="The letters of attention",
    task="Fill in the two einsum strings: query (batch, n_heads, q_len, d_k), key (batch, n_heads, k_len, d_k), "
    "value (batch, n_heads, k_len, d_v), output (batch, n_heads, q_len, d_v).",
    reference=einsum_attention,
    starter=starter_einsum,
    call=_any_letters,
    cases=lambda: [
        _queries((1, 1), 1, 2, 2, 1, "one query, two keys"),
        _queries((2, 3), 5, 7, 11, 13, "all sizes different", seed=3),
        _queries((3, 2), 7, 5, 4, 6, "more queries than keys", seed=6),
        _queries((2, 3), 4, 4, 5, 7, "as many queries as keys", seed=9),
        _queries((3, 3), 3, 3, 3, 3, "all sizes equal", seed=12),
        _queries((2, 1), 3, 1, 5, 2, "a single key", seed=15),
    ],
    mistakes=(
        *(Mistake(name, _letters(score, MIX), message) for name, (score, message) in _SCORE_SLIPS.items()),
        *(Mistake(name, _letters(SCORE, mix), message) for name, (mix, message) in _MIX_SLIPS.items()),
        Mistake(
            "keys-not-summed",
            _letters(SCORE, "bhqk,bhkv->bhqkv"),
            "The keys are still there: your output has an axis for them. Leave their letter out after the arrow, and "
            "einsum sums over it.",
        ),
        Mistake(
            "heads-summed",
            _letters(SCORE, "bhqk,bhkv->bqv"),
            "Your output has lost its heads: a letter that is missing after the arrow is summed over.",
        ),
        Mistake(
            "no-scale",
            _letters(SCORE, MIX, scale=lambda d_k: 1.0),
            "The strings are right; the division by √d_k, which was there, is gone.",
        ),
        Mistake(
            "divides-by-d-k",
            _letters(SCORE, MIX, scale=lambda d_k: d_k),
            "The strings are right; the scores are divided by d_k where √d_k stood.",
        ),
        Mistake(
            "both-the-wrong-way-round",
            _letters("bhqd,bhkd->bhkq", "bhkq,bhkv->bhqv"),
            "The shapes agree, because two swaps hide each other: the scores are (…, k_len, q_len), so the softmax "
            "over the last axis runs over the *queries*. Put queries first, keys last, in both lines.",
        ),
    ),
    hints=(
        "Write each tensor's axes as letters first: `query` is b h q d. What are `key`, `scores`, `value`, the output?",
        "Letters that appear in both inputs are matched; letters missing after the arrow are summed over. Scores sum "
        "over the features, the output over the keys.",
        '`"bhqd,bhkd->bhqk"` compares every q with every k; the second string takes `bhqk` and `bhkv` and drops k.',
    ),
    alternatives=(with_an_ellipsis, with_matmul, with_a_broadcast_and_a_sum),
    difficulty=1,
    minutes=10,
)


# attention.scaled_dot_product


def attention_with_einsum(query, key, value, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", query, key) * query.shape[-1] ** -0.5
    weights = F.softmax(scores, dim=-1)
    return torch.einsum("...qk,...kv->...qv", weights, value), weights


def attention_query_by_query(query, key, value, mask=None):
    weights = []
    for i in range(query.shape[-2]):
        scores = (query[..., i : i + 1, :] * key).sum(dim=-1) / math.sqrt(key.shape[-1])
        exps = (scores - scores.amax(dim=-1, keepdim=True)).exp()
        weights.append(exps / exps.sum(dim=-1, keepdim=True))
    weights = torch.stack(weights, dim=-2)
    return (weights[..., None] * value[..., None, :, :]).sum(dim=-2), weights


def attention_of_the_library(query, key, value, mask=None):
    output = F.scaled_dot_product_attention(query, key, value)
    ones = torch.eye(key.shape[-2], dtype=value.dtype).expand(*key.shape[:-1], key.shape[-2])
    return output, F.scaled_dot_product_attention(query, key, ones)  # values of an identity: the weights come back


def _dots(query, key):
    return query @ key.transpose(-2, -1)


def _root(size):
    return lambda scores, query, key, value: scores / math.sqrt(size(query, key, value))


def _by_d_k(query, key, value):
    return query.shape[-1]


def _softmax(scores):
    return scores.softmax(dim=-1)


def _softmax_over(axis):
    return lambda scores: scores.softmax(dim=axis)


def _mean(weights, key, value):
    return weights @ value


_by_root_d_k = _root(_by_d_k)


def _both(output, weights):
    return output, weights


def _attend(score=_dots, scale=_by_root_d_k, weigh=_softmax, mix=_mean, give=_both):
    def implementation(query, key, value, mask=None):
        weights = weigh(scale(score(query, key), query, key, value))
        return give(mix(weights, key, value), weights)

    return implementation


def _unscaled(scores, query, key, value):
    return scores


def _divided_by_d_k(scores, query, key, value):
    return scores / query.shape[-1]


def _reshaped(query, key):
    return query @ key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])


def _softmax_at_the_end(query, key, value, mask=None):
    scores = _dots(query, key) / math.sqrt(query.shape[-1])
    return (scores @ value).softmax(dim=-1), scores


def _unpacks_three_sizes(query, key, value, mask=None):
    _batch, _q_len, d_k = query.shape
    weights = (_dots(query, key) / math.sqrt(d_k)).softmax(dim=-1)
    return weights @ value, weights


def _hides_the_future(scores):
    return scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -math.inf).softmax(dim=-1)


def _scaled_after_the_softmax(query, key, value, mask=None):
    weights = _softmax(_dots(query, key)) / math.sqrt(query.shape[-1])
    return weights @ value, weights


SCALED_DOT_PRODUCT = Exercise(
    id="attention.scaled_dot_product",
    title="Scaled dot-product attention",
    task="Return (output, weights): softmax(Q Kᵀ / √d_k) V and the softmax itself, for any number of leading axes.",
    reference=scaled_dot_product_attention,
    cases=lambda: [
        case(torch.tensor([[1.0, 0.0]]), torch.eye(2), torch.tensor([[10.0], [20.0]]), about="one query, two keys"),
        _queries((), 3, 5, 7, 2, "one sentence, without a batch axis"),
        _queries((2,), 3, 7, 5, 11, "a batch of two", seed=3),
        _queries((2, 3), 5, 7, 11, 13, "two sentences, three heads", seed=6),
        _queries((2,), 7, 3, 5, 4, "more queries than keys", seed=9),
        _queries((3,), 3, 3, 3, 3, "all sizes equal", seed=12),
        _queries((2,), 5, 1, 3, 4, "a single key", seed=15),
        _queries((2,), 2, 3, 64, 5, "d_k = 64", seed=18),
        _queries((1,), 3, 5, 7, 2, "large scores", scale=SPREAD, seed=21),
    ],
    mistakes=(
        Mistake(
            "no-scale",
            _attend(scale=_unscaled),
            "The scores are not scaled. They are sums of d_k terms and spread like √d_k: divide by that before the "
            "softmax.",
        ),
        Mistake(
            "divides-by-d-k",
            _attend(scale=_divided_by_d_k),
            "You divide by d_k, where the formula has its *root*. The standard deviation of a sum of d_k terms grows "
            "like √d_k; divided by d_k, the weights come out too even.",
        ),
        Mistake(
            "multiplies-by-root-d-k",
            _attend(scale=lambda s, q, k, v: s * math.sqrt(q.shape[-1])),
            "You *multiply* by √d_k. The spread of the scores must go down, not up.",
        ),
        Mistake(
            "divides-by-fourth-root",
            _attend(scale=lambda s, q, k, v: s / q.shape[-1] ** 0.25),
            "You divide by the fourth root of d_k. (Half of the scaling belongs to the query and half to the key only "
            "if you apply it to both.)",
        ),
        Mistake(
            "divides-by-both",
            _attend(scale=lambda s, q, k, v: s / q.shape[-1] ** 1.5),
            "You divide by √d_k and by d_k, one of them too many.",
        ),
        Mistake(
            "root-of-the-number-of-keys",
            _attend(scale=_root(lambda q, k, v: k.shape[-2])),
            "You divide by the root of the number of *keys*. A score is a sum over features: how many terms has it?",
        ),
        Mistake(
            "root-of-the-number-of-queries",
            _attend(scale=_root(lambda q, k, v: q.shape[-2])),
            "You divide by the root of the number of *queries*. A score is a sum over features: how many terms has it?",
        ),
        Mistake(
            "root-of-d-v",
            _attend(scale=_root(lambda q, k, v: v.shape[-1])),
            "You divide by √d_v. The values take no part in the scores: it is the width of query and key that counts.",
        ),
        Mistake(
            "root-of-the-first-size",
            _attend(scale=_root(lambda q, k, v: q.shape[0])),
            "You divide by the root of the *first* size of the query. Its features are the last axis: `shape[-1]`.",
        ),
        Mistake(
            "root-of-all-heads-together",
            _attend(scale=_root(lambda q, k, v: q.shape[-1] * (q.shape[-3] if q.dim() > 3 else 1))),
            "With heads, you divide by the root of the width of all heads together (d_model). The scores of one head "
            "have d_k terms.",
        ),
        Mistake(
            "scaled-after-the-softmax",
            _scaled_after_the_softmax,
            "You divide *after* the softmax. The rows no longer sum to 1, and the softmax was as sharp as before: "
            "scale the scores.",
        ),
        Mistake(
            "softmax-over-the-queries",
            _attend(weigh=_softmax_over(-2)),
            "Your softmax runs over the queries: the columns sum to 1, and a query may get nothing at all. Each row "
            "(each query) shares out 1 among the *keys*: the last axis.",
        ),
        Mistake(
            "softmax-over-axis-0",
            _attend(weigh=_softmax_over(0)),
            "Your softmax runs over axis 0, in a batch the sentences. The keys are the last axis, however many stand "
            "before it.",
        ),
        Mistake(
            "softmax-over-axis-1",
            _attend(weigh=_softmax_over(1)),
            "Axis 1 is the keys only without a batch; with one it is the queries, with heads the heads. Count from "
            "the end: `dim=-1`.",
        ),
        Mistake(
            "softmax-over-axis-2",
            _attend(weigh=_softmax_over(2)),
            "Axis 2 is the keys with one batch axis, the queries with heads, and without a batch it does not exist. "
            "Count from the end: `dim=-1`.",
        ),
        Mistake(
            "softmax-without-dim",
            _attend(weigh=lambda s: F.softmax(s, dim=1 if s.dim() in (2, 4) else 0)),
            "Without `dim=`, softmax picks an axis by old rules, in a batch the sentences. Name it: `dim=-1`.",
        ),
        Mistake(
            "softmax-over-everything",
            _attend(weigh=lambda s: s.flatten(-2).softmax(dim=-1).view_as(s)),
            "Your softmax runs over the whole table, so that all its weights together make 1. Each *row* makes 1.",
        ),
        Mistake(
            "no-softmax",
            _attend(weigh=lambda s: s),
            "The softmax is missing: scores may be negative and do not sum to 1, so the output is no mean.",
        ),
        Mistake(
            "share-without-exp",
            _attend(weigh=_share),
            "You divide the scores by their sum. Some are negative, and the sum may be near 0: the exponential comes "
            "first.",
        ),
        Mistake(
            "exp-without-sum",
            _attend(weigh=torch.exp),
            "The exponentials are not divided by their sum: the rows do not sum to 1.",
        ),
        Mistake(
            "sigmoid",
            _attend(weigh=torch.sigmoid),
            "A sigmoid judges every key alone, so the rows do not sum to 1. Softmax lets the keys compete.",
        ),
        Mistake(
            "softmax-twice",
            _attend(weigh=lambda s: s.softmax(dim=-1).softmax(dim=-1)),
            "Softmax is applied twice: the second one sees numbers between 0 and 1 and makes them nearly equal.",
        ),
        Mistake(
            "log-softmax",
            _attend(weigh=lambda s: s.log_softmax(dim=-1)),
            "The result of `log_softmax` are the logarithms of the weights. The mean needs the weights themselves.",
        ),
        Mistake(
            "unstable-softmax",
            _attend(weigh=_naive_softmax),
            "Right for small scores, NaN for large ones: the exponential of 100 is infinite in float32. `softmax` "
            "subtracts each row's largest score first, and the weights stay the same.",
        ),
        Mistake(
            "softmax-at-the-end",
            _softmax_at_the_end,
            "The softmax stands at the end, around (QKᵀ)V. It belongs to the scores, before the values: values of 7 "
            "must give 7.",
        ),
        Mistake(
            "reshape-instead-of-transpose",
            _attend(score=_reshaped),
            "Reshaped (or viewed) to (d_k, k_len), the keys have the right *shape* and are cut to pieces. Rows must "
            "become columns: `transpose(-2, -1)`.",
        ),
        Mistake(
            "no-transpose",
            _attend(score=lambda q, k: q @ k),
            "The keys are not transposed. A dot product needs the features of `query` (its last axis) to meet the "
            "features of `key`, also its last: swap the last two axes of `key`.",
        ),
        Mistake(
            "transposes-axes-0-and-1",
            _attend(score=lambda q, k: q @ k.transpose(0, 1)),
            "You swap axes 0 and 1: right without a batch, wrong with one. The last two axes are meant: "
            "`transpose(-2, -1)`.",
        ),
        Mistake(
            "transposes-axes-1-and-2",
            _attend(score=lambda q, k: q @ k.transpose(1, 2)),
            "You swap axes 1 and 2: right for (batch, k_len, d_k) alone. Without a batch, or with heads, the last two "
            "axes have other numbers: count from the end.",
        ),
        Mistake(
            "three-axes-only",
            _attend(score=lambda q, k: torch.bmm(q, k.transpose(1, 2)), mix=lambda w, k, v: torch.bmm(w, v)),
            "Right for (batch, tokens, features) alone: `bmm` and axes 1 and 2 need three axes exactly. With `@` and "
            "axes counted from the end, any number may stand in front.",
        ),
        Mistake(
            "unpacks-three-sizes",
            _unpacks_three_sizes,
            "You unpack exactly three sizes from the shape. Here there may be two axes, or four: `query.shape[-1]` "
            "is the width in any case.",
        ),
        Mistake(
            "permutes-three-axes",
            _attend(score=lambda q, k: q @ k.permute(0, 2, 1)),
            "Written `permute(0, 2, 1)`, it needs three axes exactly. Swap the last two, however many there are: "
            "`transpose(-2, -1)`.",
        ),
        Mistake(
            "transposes-axes-2-and-3",
            _attend(score=lambda q, k: q @ k.transpose(2, 3)),
            "You swap axes 2 and 3, which is right with heads alone. Without them there are fewer axes: count from "
            "the end.",
        ),
        Mistake(
            "reverses-all-axes",
            _attend(score=lambda q, k: q @ k.permute(*reversed(range(k.dim())))),
            "You reverse *all* axes (as `.T` does), the batch too. `transpose(-2, -1)` or `.mT` swap the last two.",
        ),
        Mistake(
            "keys-ask-queries",
            _attend(score=lambda q, k: k @ q.transpose(-2, -1)),
            "Query and key have changed places: you have one row for each *key*. Each query gets a row, each key a "
            "column.",
        ),
        Mistake(
            "sums-over-the-queries",
            _attend(mix=lambda w, k, v: torch.einsum("...qk,...qv->...kv", w, v)),
            "Your output sums over the queries, with the letters of the einsum. Which letter is shared by the *last* "
            "axis of the weights and the second-to-last of the values?",
        ),
        Mistake(
            "weights-transposed",
            _attend(mix=lambda w, k, v: w.transpose(-2, -1) @ v),
            "You transpose the weights before the product, so it sums over the queries. With values of ones the output "
            "must be ones: try it.",
        ),
        Mistake(
            "mixes-the-keys",
            _attend(mix=lambda w, k, v: w @ k),
            "You mix the *keys*. They are there to be compared; what is handed out are the values.",
        ),
        Mistake(
            "causal-mask",
            _attend(weigh=_hides_the_future),
            "You hide the keys that stand after the query. That is a causal mask (chapter 05); here every query sees "
            "every key.",
        ),
        Mistake(
            "hard-choice",
            _attend(mix=lambda w, k, v: F.one_hot(w.argmax(dim=-1), w.shape[-1]).to(v.dtype) @ v),
            "Each query takes the value of its best key alone. The output is the mean of *all* values, by weight.",
        ),
        Mistake(
            "weights-first",
            _attend(give=lambda output, weights: (weights, output)),
            "Both results are right, in the wrong order: (output, weights).",
        ),
        Mistake(
            "output-only",
            _attend(give=lambda output, weights: output),
            "The output is right. Return the weights as well: (output, weights).",
        ),
        Mistake(
            "weights-only",
            _attend(give=lambda output, weights: weights),
            "The weights are right. One step is left, the mean of the values; return (output, weights).",
        ),
        Mistake(
            "returns-the-scores",
            _attend(
                weigh=lambda s: s,
                mix=lambda s, k, v: _softmax(s) @ v,
            ),
            "The output is right; the second result are the scores. Return the weights, after the softmax.",
        ),
        Mistake(
            "no-scale-and-output-only",
            _attend(scale=_unscaled, give=lambda output, weights: output),
            "Two things: the scores are not divided by √d_k, and the weights belong to the answer: (output, weights).",
        ),
        Mistake(
            "no-scale-and-softmax-over-the-queries",
            _attend(scale=_unscaled, weigh=_softmax_over(-2)),
            "Two things: the scores are not divided by √d_k, and the softmax runs over the queries, not the keys.",
        ),
        Mistake(
            "no-scale-and-softmax-over-axis-1",
            _attend(scale=_unscaled, weigh=_softmax_over(1)),
            "Two things: the scores are not divided by √d_k, and `dim=1` is the keys only when there is no batch.",
        ),
        Mistake(
            "divides-by-d-k-and-softmax-over-the-queries",
            _attend(scale=_divided_by_d_k, weigh=_softmax_over(-2)),
            "Two things: you divide by d_k instead of its root, and the softmax runs over the queries.",
        ),
        Mistake(
            "no-scale-and-reshape",
            _attend(score=_reshaped, scale=_unscaled),
            "Two things: `reshape` cuts the keys to pieces where a transpose is needed, and the division by √d_k is "
            "missing.",
        ),
        Mistake(
            "reshape-and-softmax-over-the-queries",
            _attend(score=_reshaped, weigh=_softmax_over(-2)),
            "Two things: `reshape` cuts the keys to pieces where a transpose is needed, and the softmax runs over the "
            "queries.",
        ),
        Mistake(
            "no-scale-and-transposes-axes-1-and-2",
            _attend(score=lambda q, k: q @ k.transpose(1, 2), scale=_unscaled),
            "Two things: the division by √d_k is missing, and axes 1 and 2 are the last two only with a batch and "
            "without heads.",
        ),
        Mistake(
            "no-scale-and-unstable",
            _attend(scale=_unscaled, weigh=_naive_softmax),
            "Two things: the division by √d_k is missing, and exponentials of large scores overflow: subtract each "
            "row's largest score first.",
        ),
        Mistake(
            "no-scale-and-sums-over-the-queries",
            _attend(scale=_unscaled, mix=lambda w, k, v: torch.einsum("...qk,...qv->...kv", w, v)),
            "Two things: the division by √d_k is missing, and the output sums over the queries instead of the keys.",
        ),
    ),
    hints=(
        "Four steps, four lines: scores, scaling, weights, output. Write the shape behind each.",
        "Each query shares out a weight of 1 among the keys. So which axis does the softmax run over, and which axis "
        "does the last product sum over?",
        "`scores = query @ key.transpose(-2, -1) / math.sqrt(d_k)`, softmax over the last axis, `weights @ value`.",
    ),
    alternatives=(attention_with_einsum, attention_query_by_query, attention_of_the_library),
    difficulty=2,
    minutes=10,
)


# attention.max_weight


def max_weight(query, key, scaled):
    """The largest attention weight of each query, averaged over the queries: how decided is attention?

    query (q_len, d_k) · key (k_len, d_k) → one number between 1 / k_len (no preference) and 1 (one key takes all).

    >>> max_weight(torch.zeros(3, 2), torch.eye(2), scaled=True)
    tensor(0.5000)
    """
    scores = query @ key.transpose(-2, -1)
    if scaled:
        scores = scores / math.sqrt(query.shape[-1])
    return scores.softmax(dim=-1).amax(dim=-1).mean()


def max_weight_query_by_query(query, key, scaled):
    scale = 1 / query.shape[1] ** 0.5 if scaled else 1.0
    largest = [float((key @ q * scale).softmax(dim=0).max()) for q in query]
    return sum(largest) / len(largest)


def max_weight_by_logsumexp(query, key, scaled):
    scores = torch.einsum("qd,kd->qk", query, key)
    scores = scores * query.size(-1) ** -0.5 if scaled else scores
    return (scores.max(dim=-1).values - scores.logsumexp(dim=-1)).exp().mean()


def max_weight_of_the_library(query, key, scaled):
    identity = torch.eye(len(key), dtype=key.dtype)
    weights = F.scaled_dot_product_attention(query, key, identity, scale=None if scaled else 1.0)
    return torch.topk(weights, 1).values.mean().item()


def _largest(
    scale=lambda q, k: math.sqrt(q.shape[-1]),
    weigh=_softmax,
    pick=lambda w: w.amax(dim=-1).mean(),
    when=lambda scaled: scaled,
):
    def implementation(query, key, scaled):
        scores = query @ key.transpose(-2, -1)
        return pick(weigh(scores / scale(query, key) if when(scaled) else scores))

    return implementation


def _experiment(q_len, k_len, d_k, scaled, about, seed=0):
    query, key = _random(q_len, d_k, seed=seed).double(), _random(k_len, d_k, seed=seed + 1).double()
    return case(query, key, scaled, about=f"{about}, {'scaled' if scaled else 'not scaled'}")


MAX_WEIGHT = Exercise(
    id="attention.max_weight",
    title="How decided is attention?",
    task="Return the largest weight of each query, averaged over the queries. With scaled=True divide the scores by "
    "√d_k first, with False leave them.",
    reference=max_weight,
    cases=lambda: [
        case(torch.zeros(2, 3), torch.ones(5, 3), True, about="no preference"),
        _experiment(5, 3, 7, True, "seven features", seed=3),
        _experiment(5, 3, 7, False, "seven features", seed=3),
        _experiment(7, 16, 64, True, "64 features", seed=6),
        _experiment(7, 16, 64, False, "64 features", seed=6),
        _experiment(3, 3, 3, True, "all sizes equal", seed=9),
        _experiment(2, 5, 1, False, "one feature", seed=12),
    ],
    mistakes=(
        Mistake(
            "never-scales",
            _largest(when=lambda scaled: False),
            "The argument `scaled` makes no difference: you never divide. With `scaled=True`, divide the scores by "
            "√d_k before the softmax.",
        ),
        Mistake(
            "always-scales",
            _largest(when=lambda scaled: True),
            "The argument `scaled` makes no difference: you always divide. With `scaled=False` the scores stay as "
            "they are.",
        ),
        Mistake(
            "the-other-way-round",
            _largest(when=lambda scaled: not scaled),
            "You scale when `scaled` is False, and not when it is True.",
        ),
        Mistake(
            "divides-by-d-k",
            _largest(scale=lambda q, k: q.shape[-1]),
            "You divide by d_k. A sum of d_k terms spreads like √d_k; divided by d_k, they leave no preference.",
        ),
        Mistake(
            "root-of-the-number-of-keys",
            _largest(scale=lambda q, k: math.sqrt(k.shape[0])),
            "You divide by the root of the number of keys. How many terms has one score?",
        ),
        Mistake(
            "root-of-the-number-of-queries",
            _largest(scale=lambda q, k: math.sqrt(q.shape[0])),
            "You divide by the root of the number of queries. How many terms has one score?",
        ),
        Mistake(
            "multiplies",
            _largest(scale=lambda q, k: 1 / math.sqrt(q.shape[-1])),
            "You multiply by √d_k where you should divide: attention becomes *more* decided.",
        ),
        Mistake(
            "scales-the-weights",
            lambda query, key, scaled: (
                (query @ key.mT).softmax(dim=-1).amax(dim=-1).mean() / (math.sqrt(query.shape[-1]) if scaled else 1)
            ),
            "You divide after the softmax. The scores are to be scaled, before it: afterwards the weights no longer "
            "sum to 1.",
        ),
        Mistake(
            "largest-of-all",
            _largest(pick=lambda w: w.max()),
            "That is the one largest weight of the whole table. Each query has a largest weight of its own; the mean "
            "of those is asked for.",
        ),
        Mistake(
            "one-for-each-query",
            _largest(pick=lambda w: w.amax(dim=-1)),
            "These are the largest weights, one for each query. Their mean is asked for, one number.",
        ),
        Mistake(
            "max-over-the-queries",
            _largest(pick=lambda w: w.amax(dim=0).mean()),
            "You take the largest weight of each *key*. Each query (row) has its own: the maximum over the last axis.",
        ),
        Mistake(
            "mean-instead-of-max",
            _largest(pick=lambda w: w.mean()),
            "The mean weight is always 1 / k_len, because each row sums to 1. Take the *largest* of each row first.",
        ),
        Mistake(
            "smallest-weight",
            _largest(pick=lambda w: w.amin(dim=-1).mean()),
            "You take the smallest weight of each query; the largest is asked for.",
        ),
        Mistake(
            "sum-instead-of-mean",
            _largest(pick=lambda w: w.amax(dim=-1).sum()),
            "You add the largest weights up. Their mean is asked for: it does not grow with the number of queries.",
        ),
        Mistake(
            "median",
            _largest(pick=lambda w: w.amax(dim=-1).median()),
            "That is the median of the largest weights. The mean is asked for.",
        ),
        Mistake(
            "first-query-only",
            _largest(pick=lambda w: w[0].max()),
            "That is the first query's largest weight. Take all queries, and the mean.",
        ),
        Mistake(
            "place-instead-of-weight",
            _largest(pick=lambda w: w.argmax(dim=-1).double().mean()),
            "You ask `argmax`, which says *where* the largest weight stands. Its size is asked for: `max` or `amax`.",
        ),
        Mistake(
            "largest-score",
            _largest(weigh=lambda s: s),
            "That is the largest *score*. A weight is what comes out of the softmax.",
        ),
        Mistake(
            "softmax-over-the-queries",
            _largest(weigh=lambda s: s.softmax(dim=0)),
            "Your softmax runs over the queries. Each query shares out 1 among the keys: the last axis.",
        ),
        Mistake(
            "softmax-over-the-queries-and-max-of-each-key",
            _largest(weigh=lambda s: s.softmax(dim=0), pick=lambda w: w.amax(dim=0).mean()),
            "Rows and columns have changed places: the softmax and the maximum both run over the queries. Rows are "
            "queries; both run over the keys, the last axis.",
        ),
        Mistake(
            "softmax-over-everything",
            _largest(weigh=lambda s: s.flatten().softmax(dim=0).view_as(s)),
            "Your softmax runs over the whole table. Each row has its own.",
        ),
        Mistake(
            "never-scales-and-largest-of-all",
            _largest(when=lambda scaled: False, pick=lambda w: w.max()),
            "Two things: `scaled` makes no difference, and the mean over the queries is missing.",
        ),
        Mistake(
            "divides-by-d-k-and-largest-of-all",
            _largest(scale=lambda q, k: q.shape[-1], pick=lambda w: w.max()),
            "Two things: you divide by d_k instead of its root, and the mean over the queries is missing.",
        ),
    ),
    hints=(
        "Scores, perhaps scaled; weights; one number for each query; one number.",
        "A row of weights belongs to one query. Which axis do softmax and maximum run over, and what does the mean "
        "run over?",
        "`weights.amax(dim=-1).mean()`, after `scores / math.sqrt(query.shape[-1])` where `scaled` is True.",
    ),
    alternatives=(max_weight_query_by_query, max_weight_by_logsumexp, max_weight_of_the_library),
    difficulty=2,
    minutes=10,
)


# attention.repair


def repaired_attention(query, key, value):
    """Attention for (batch, q_len, d_k), (batch, k_len, d_k) and (batch, k_len, d_v), without its three bugs."""
    d_k = query.shape[-1]
    scores = torch.bmm(query, key.transpose(1, 2))  # reshape kept the numbers in order: no transpose
    scores = scores / math.sqrt(d_k)  # a score is a sum of d_k terms, not of k_len
    weights = scores.softmax(dim=2)  # axis 1 is the queries, axis 2 the keys
    return torch.bmm(weights, value), weights


def starter_repair(query, key, value):
    batch, k_len, d_k = key.shape
    scores = torch.bmm(query, key.reshape(batch, d_k, k_len))
    scores = scores / math.sqrt(k_len)
    weights = scores.softmax(dim=1)
    return torch.bmm(weights, value), weights


def repaired_with_einsum(query, key, value):
    scores = torch.einsum("bqd,bkd->bqk", query, key)
    weights = (scores / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return torch.einsum("bqk,bkv->bqv", weights, value), weights


def repaired_sentence_by_sentence(query, key, value):
    pairs = [scaled_dot_product_attention(q, k, v) for q, k, v in zip(query, key, value, strict=True)]
    return torch.stack([output for output, _ in pairs]), torch.stack([weights for _, weights in pairs])


def repaired_by_scaling_the_query(query, key, value):
    d_k = query.shape[2]
    scores = torch.bmm(query * d_k**-0.5, key.permute(0, 2, 1))
    weights = F.softmax(scores, dim=2)
    return weights @ value, weights


_KEYS = {
    "": _dots,
    "reshape": _reshaped,
}
_SCALES = {
    "": _by_root_d_k,
    "root of k_len": _root(lambda q, k, v: k.shape[1]),
    "d_k": _divided_by_d_k,
    "nothing": _unscaled,
    "root of q_len": _root(lambda q, k, v: q.shape[1]),
    "root of d_v": _root(lambda q, k, v: v.shape[-1]),
    "k_len": lambda s, q, k, v: s / k.shape[1],
    "times root of d_k": lambda s, q, k, v: s * math.sqrt(q.shape[-1]),
}
_AXES = {"": -1, "queries": 1, "sentences": 0}
_OPEN = {
    "reshape": "print a small `key` beside its reshape: which numbers stand in the first column?",
    "root of k_len": "a score is a sum over features, so what does its spread grow with?",
    "d_k": "the spread grows with the *root* of the number of terms;",
    "nothing": "without any division the scores spread like √d_k;",
    "root of q_len": "the number of queries has nothing to do with the spread of a score;",
    "root of d_v": "the values take no part in the scores;",
    "k_len": "a score is a sum over features: neither the number of keys nor a missing root fits;",
    "times root of d_k": "multiplied, the spread of the scores grows where it should shrink;",
    "queries": "add up the rows of `weights`, then its columns: which sum to 1?",
    "sentences": "axis 0 of the scores is the batch: do sentences share their attention?",
}


def _partial_repairs():
    for (keys, score), (scale, divide), (axis, dim) in product(_KEYS.items(), _SCALES.items(), _AXES.items()):
        left = [name for name in (keys, scale, axis) if name]
        if not left or left == ["reshape", "root of k_len", "queries"]:
            continue
        found = {0: "None of the three is repaired", 1: "One of three is repaired", 2: "Two of three are repaired"}
        name = "-and-".join("-".join(part.replace("_", " ").split()) for part in left)
        clues = " ".join(f"({n}) {_OPEN[part]}" if len(left) > 1 else _OPEN[part] for n, part in enumerate(left, 1))
        clues = clues.removesuffix(";") + ("." if clues.endswith(";") else "")
        implementation = _attend(score=score, scale=divide, weigh=_softmax_over(dim))
        yield Mistake(name, implementation, f"{found[3 - len(left)]}. Still open: {clues}")


REPAIR = Exercise(
    id="attention.repair",
    title="Bug hunt: three bugs in six lines",
    task="Find and repair the three planted bugs: for (batch, q_len, d_k), (batch, k_len, d_k), (batch, k_len, d_v), "
    "return (output, weights).",
    reference=repaired_attention,
    starter=starter_repair,
    cases=lambda: [
        _queries((1,), 1, 2, 2, 1, "one query, two keys"),
        _queries((2,), 3, 5, 7, 11, "all sizes different", seed=3),
        _queries((3,), 7, 4, 5, 2, "more queries than keys", seed=6),
        _queries((2,), 3, 7, 4, 5, "four features", seed=9),
        _queries((3,), 3, 3, 3, 3, "all sizes equal", seed=12),
        _queries((2,), 3, 1, 5, 4, "a single key", seed=15),
    ],
    mistakes=(
        *_partial_repairs(),
        Mistake(
            "transposes-axes-0-and-1",
            _attend(score=lambda q, k: torch.bmm(q, k.transpose(0, 1))),
            "Almost: axis 0 of `key` is the batch and stays where it is. Which two axes change places?",
        ),
        Mistake(
            "sums-over-the-queries",
            _attend(mix=lambda w, k, v: w.transpose(1, 2) @ v),
            "The weights are right, and the last product was right before: it must sum over the keys.",
        ),
        Mistake(
            "output-only",
            _attend(give=lambda output, weights: output),
            "All three are repaired, but the weights are no longer returned: (output, weights).",
        ),
    ),
    hints=(
        "The first three lines of arithmetic hold one bug each. Small sizes that are all different show the most.",
        "Ask three questions. Is a column of the second factor one key? How many terms has a score? Which sums of the "
        "weights are 1, the rows' or the columns'?",
        "`key.transpose(1, 2)`, `math.sqrt(d_k)`, `dim=2`.",
    ),
    alternatives=(repaired_with_einsum, repaired_sentence_by_sentence, repaired_by_scaling_the_query),
    difficulty=3,
    minutes=15,
)


# attention.in_blocks


def attention_in_blocks(query, key, value, block_size):
    """The output of attention, with the keys read block by block: the whole table of scores never exists.

    Each query carries three things along: its largest score so far, the sum of its exponentials, and the sum of its
    values weighted by them. When a larger score turns up, both sums shrink to the new scale.
    Source: Milakov and Gimelshein 2018, section 3 (softmax in one pass); Dao et al. 2022, section 3.1.

    >>> query, key, value = torch.zeros(1, 2), torch.eye(3)[:, :2], torch.tensor([[3.0], [6.0], [9.0]])
    >>> attention_in_blocks(query, key, value, block_size=2)
    tensor([[6.]])
    """
    query = query / math.sqrt(query.shape[-1])
    largest = torch.full_like(query[..., :1], -math.inf)
    total = torch.zeros_like(largest)
    mixed = torch.zeros_like(largest)  # becomes (…, q_len, d_v) with the first block
    for keys, values in zip(key.split(block_size, dim=-2), value.split(block_size, dim=-2), strict=True):
        scores = query @ keys.transpose(-2, -1)
        new_largest = torch.maximum(largest, scores.amax(dim=-1, keepdim=True))
        exps = (scores - new_largest).exp()
        shrink = (largest - new_largest).exp()
        total = total * shrink + exps.sum(dim=-1, keepdim=True)
        mixed = mixed * shrink + exps @ values
        largest = new_largest
    return mixed / total


def blocks_joined_by_logsumexp(query, key, value, block_size):
    outputs, sizes = [], []
    for keys, values in zip(key.split(block_size, dim=-2), value.split(block_size, dim=-2), strict=True):
        scores = query @ keys.transpose(-2, -1) / math.sqrt(query.shape[-1])
        outputs.append(scores.softmax(dim=-1) @ values)
        sizes.append(scores.logsumexp(dim=-1))
    shares = torch.stack(sizes).softmax(dim=0)
    return (shares[..., None] * torch.stack(outputs)).sum(dim=0)


def blocks_in_two_passes(query, key, value, block_size):
    def scores_of(start):
        return query @ key[..., start : start + block_size, :].transpose(-2, -1) / math.sqrt(query.shape[-1])

    starts = range(0, key.shape[-2], block_size)
    largest = torch.stack([scores_of(start).amax(dim=-1) for start in starts]).amax(dim=0).unsqueeze(-1)
    total, mixed = 0.0, 0.0
    for start in starts:
        exps = (scores_of(start) - largest).exp()
        total = total + exps.sum(dim=-1, keepdim=True)
        mixed = mixed + exps @ value[..., start : start + block_size, :]
    return mixed / total


def all_keys_at_once(query, key, value, block_size):
    """Right as well, and the reason for the exercise: this one does hold the whole table of scores."""
    return F.scaled_dot_product_attention(query, key, value)


def _blocks(
    scale=lambda q: math.sqrt(q.shape[-1]),
    shrink_total=True,
    shrink_mixed=True,
    factor=lambda old, new: (old - new).exp(),
    running=torch.maximum,
    first=-math.inf,
    finish=lambda mixed, total: mixed / total,
    keep=lambda key, block_size: key.shape[-2],
):
    def implementation(query, key, value, block_size):
        largest = total = mixed = None
        end = keep(key, block_size)
        for start in range(0, end, block_size):
            keys = key[..., start : min(start + block_size, end), :]
            values = value[..., start : min(start + block_size, end), :]
            scores = query @ keys.transpose(-2, -1) / scale(query)
            found = scores.amax(dim=-1, keepdim=True)
            new = found.clamp(min=first) if largest is None else running(largest, found)
            exps = (scores - new).exp()
            sums, mixes = exps.sum(dim=-1, keepdim=True), exps @ values
            if largest is None:
                total, mixed = sums, mixes
            else:
                shrink = factor(largest, new)
                total = total * (shrink if shrink_total else 1.0) + sums
                mixed = mixed * (shrink if shrink_mixed else 1.0) + mixes
            largest = new
        return finish(mixed, total)

    return implementation


def _no_maximum(query, key, value, block_size):
    total = mixed = 0.0
    for keys, values in zip(key.split(block_size, dim=-2), value.split(block_size, dim=-2), strict=True):
        exps = (query @ keys.transpose(-2, -1) / math.sqrt(query.shape[-1])).exp()
        total, mixed = total + exps.sum(dim=-1, keepdim=True), mixed + exps @ values
    return mixed / total


def _one_maximum_for_all(query, key, value, block_size):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    exps = (scores - scores.max()).exp()
    return exps @ value / exps.sum(dim=-1, keepdim=True)


def _own_softmax(join, scale=lambda q: math.sqrt(q.shape[-1])):
    def implementation(query, key, value, block_size):
        outputs = []
        for keys, values in zip(key.split(block_size, dim=-2), value.split(block_size, dim=-2), strict=True):
            outputs.append((query @ keys.transpose(-2, -1) / scale(query)).softmax(dim=-1) @ values)
        return join(torch.stack(outputs))

    return implementation


def _shared(size):
    """Join the blocks' own outputs by a softmax over a size of each block; the right size is the logsumexp."""

    def implementation(query, key, value, block_size):
        outputs, sizes = [], []
        for keys, values in zip(key.split(block_size, dim=-2), value.split(block_size, dim=-2), strict=True):
            scores = query @ keys.transpose(-2, -1) / math.sqrt(query.shape[-1])
            outputs.append(scores.softmax(dim=-1) @ values)
            sizes.append(size(scores))
        return (torch.stack(sizes).softmax(dim=0)[..., None] * torch.stack(outputs)).sum(dim=0)

    return implementation


def _full_blocks_only(key, block_size):
    return max(key.shape[-2] // block_size, 1) * block_size if key.shape[-2] >= block_size else key.shape[-2]


def _blocks_case(lead, q_len, k_len, d_k, d_v, block_size, about, scale=1.0, seed=0):
    given = _queries(lead, q_len, k_len, d_k, d_v, about, scale, seed)
    return case(*given.args, block_size, about=about)


IN_BLOCKS = Exercise(
    id="attention.in_blocks",
    title="Attention without the table",
    task="For query (q_len, d_k), key (k_len, d_k) and value (k_len, d_v), compute the output of scaled dot-product "
    "attention while reading block_size keys at a time; no tensor of shape (q_len, k_len) may be needed.",
    reference=attention_in_blocks,
    cases=lambda: [
        _blocks_case((), 1, 2, 1, 1, 1, "two keys, one a block"),
        _blocks_case((), 3, 6, 5, 2, 3, "two full blocks"),
        _blocks_case((), 5, 7, 3, 2, 3, "a last block that is not full", seed=3),
        _blocks_case((), 3, 11, 5, 7, 4, "three blocks", seed=6),
        _blocks_case((), 3, 5, 7, 4, 13, "one block for everything", seed=9),
        _blocks_case((), 3, 3, 3, 3, 1, "all sizes equal", seed=12),
        _blocks_case((), 6, 7, 5, 4, 2, "large scores", scale=SPREAD, seed=15),
        case(
            torch.tensor([[1.0, 1.0]]),
            torch.tensor([[-150.0, -151.0], [-149.0, -152.0], [-150.0, -150.0]]),
            torch.tensor([[3.0], [6.0], [9.0]]),
            2,
            about="all scores far below zero",
        ),
    ],
    mistakes=(
        Mistake(
            "no-maximum",
            _no_maximum,
            "Right for small scores, NaN for large ones: the exponential of 100 is infinite in float32. Keep the "
            "largest score so far and subtract it.",
        ),
        Mistake(
            "maximum-starts-at-zero",
            _blocks(running=lambda old, found: torch.maximum(old, found).clamp(min=0.0), first=0.0),
            "Your largest score starts at 0, so a query whose scores are all far below 0 gets 0 divided by 0. Start at "
            "−∞.",
        ),
        Mistake(
            "one-maximum-for-all",
            _one_maximum_for_all,
            "You subtract one maximum, the largest score of all queries. A query whose scores lie far below gets 0 "
            "divided by 0: each query (row) needs its own maximum.",
        ),
        Mistake(
            "mean-of-the-blocks",
            _own_softmax(lambda outputs: outputs.mean(dim=0)),
            "Each block has a softmax of its own, and you average the blocks. A block full of bad matches then counts "
            "as much as a block of good ones. What says how much a block deserves?",
        ),
        Mistake(
            "mean-by-block-length",
            _shared(lambda scores: torch.full_like(scores[..., 0], math.log(scores.shape[-1]))),
            "Each block has a softmax of its own, and counts by the number of its keys. But a block full of bad "
            "matches deserves less: its share is the sum of its exponentials.",
        ),
        Mistake(
            "shares-by-the-largest-score",
            _shared(lambda scores: scores.amax(dim=-1)),
            "Each block counts by its *largest* score. Its share is the sum of *all* its exponentials: two good "
            "matches deserve more than one.",
        ),
        Mistake(
            "best-block-only",
            _shared(lambda scores: scores.logsumexp(dim=-1) * 1e9),
            "Each query takes its best block and forgets the others. All blocks count, each by the sum of its "
            "exponentials.",
        ),
        Mistake(
            "sum-of-the-blocks",
            _own_softmax(lambda outputs: outputs.sum(dim=0)),
            "Each block has a softmax of its own, and you add the blocks up: the weights of one query sum to the "
            "number of blocks. Divide once, at the end, by the total of all exponentials.",
        ),
        Mistake(
            "last-block-only",
            _own_softmax(lambda outputs: outputs[-1]),
            "Only the last block is left in your answer: what came before is overwritten, not added to.",
        ),
        Mistake(
            "drops-the-last-keys",
            _blocks(keep=_full_blocks_only),
            "The last block is not full, and you leave it out. All keys count: where does your loop end?",
        ),
        Mistake(
            "never-shrinks",
            _blocks(shrink_total=False, shrink_mixed=False),
            "When a larger score turns up, the exponentials of before are on the old scale. Both sums must be "
            "multiplied by exp(old largest − new largest).",
        ),
        Mistake(
            "shrinks-the-total-only",
            _blocks(shrink_mixed=False),
            "The total is brought to the new scale, the sum of the values is not. Both are sums of the same "
            "exponentials.",
        ),
        Mistake(
            "shrinks-the-values-only",
            _blocks(shrink_total=False),
            "The sum of the values is brought to the new scale, the total is not. Both are sums of the same "
            "exponentials.",
        ),
        Mistake(
            "grows-instead-of-shrinking",
            _blocks(factor=lambda old, new: (new - old).exp()),
            "The factor is turned round: it must be exp(old − new), at most 1, because the old exponentials were "
            "divided by too little.",
        ),
        Mistake(
            "factor-without-exp",
            _blocks(factor=lambda old, new: old - new),
            "You multiply by the difference of the two maxima. The sums hold *exponentials*, so the factor is the "
            "exponential of that difference.",
        ),
        Mistake(
            "maximum-of-this-block",
            _blocks(running=lambda old, found: found),
            "You go on with the largest score of *this* block. If an earlier one was larger, exp(old − new) may be "
            "infinite: keep the larger of the two.",
        ),
        Mistake(
            "maximum-of-this-block-never-shrinks",
            _blocks(running=lambda old, found: found, shrink_total=False, shrink_mixed=False),
            "Each block subtracts its own largest score, so the blocks are on different scales when you add them up. "
            "One scale for all: the largest so far, and sums that follow it.",
        ),
        Mistake(
            "no-division",
            _blocks(finish=lambda mixed, total: mixed),
            "The sum of the values is right, the division by the total of the exponentials is missing.",
        ),
        Mistake(
            "no-scale",
            _blocks(scale=lambda q: 1.0),
            "The blocks are joined rightly; the scores are not divided by √d_k.",
        ),
        Mistake(
            "divides-by-d-k",
            _blocks(scale=lambda q: q.shape[-1]),
            "The blocks are joined rightly; the scores are divided by d_k instead of √d_k.",
        ),
        Mistake(
            "no-scale-and-mean-of-the-blocks",
            _own_softmax(lambda outputs: outputs.mean(dim=0), scale=lambda q: 1.0),
            "Two things: the division by √d_k is missing, and the mean of the blocks treats good and bad ones alike.",
        ),
        Mistake(
            "no-scale-and-never-shrinks",
            _blocks(scale=lambda q: 1.0, shrink_total=False, shrink_mixed=False),
            "Two things: the division by √d_k is missing, and the sums do not follow when the largest score changes.",
        ),
        Mistake(
            "shrinks-and-drops-the-last-keys",
            _blocks(keep=_full_blocks_only, shrink_total=False, shrink_mixed=False),
            "Two things: the keys of the last, incomplete block are left out, and the sums do not follow when the "
            "largest score changes.",
        ),
    ),
    hints=(
        "Start with two sums for each query, over all blocks: of exp(score), and of exp(score) · value. Their ratio is "
        "the answer, as long as no exponential overflows.",
        "Against the overflow, subtract the largest score so far. When it changes from old to new, what is already in "
        "the sums is too large by a factor of exp(new − old).",
        "In each block: `new = torch.maximum(old, scores.amax(-1, keepdim=True))`, then both sums times "
        "`(old - new).exp()` plus what the block adds with `(scores - new).exp()`.",
    ),
    alternatives=(blocks_joined_by_logsumexp, blocks_in_two_passes, all_keys_at_once),
    difficulty=3,
    minutes=20,
)


EXERCISES = [SOFT_LOOKUP, ADDITIVE_SCORE, EINSUM, SCALED_DOT_PRODUCT, MAX_WEIGHT, REPAIR, IN_BLOCKS]
