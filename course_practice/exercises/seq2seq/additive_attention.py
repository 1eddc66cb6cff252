"""Exercise: additive attention."""

import torch

from course_practice.engine import Convention, Exercise, Mistake, case
from course_practice.exercises.inputs import randn

NEG_INF = float("-inf")


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


def of_pairs_joined(query, memory, w_q, w_k, u, mask):
    pairs = torch.cat([query[:, None].expand(-1, memory.shape[1], -1), memory], dim=-1)
    scores = (pairs @ torch.cat([w_q, w_k])).tanh().mul(u).sum(dim=-1)
    exps = (scores - scores.amax(dim=-1, keepdim=True)).exp() * mask
    weights = exps / exps.sum(dim=-1, keepdim=True)
    return (weights.unsqueeze(-1) * memory).sum(dim=1), weights


def with_loops(query, memory, w_q, w_k, u, mask):
    contexts, weights = [], []
    for q, words, real in zip(query, memory, mask, strict=True):
        scores = torch.stack([torch.tanh(q @ w_q + word @ w_k) @ u for word in words])
        weights.append(torch.where(real, scores, torch.tensor(NEG_INF)).softmax(dim=0))
        contexts.append(weights[-1] @ words)
    return torch.stack(contexts), torch.stack(weights)


def tanh_by_a_sigmoid(query, memory, w_q, w_k, u, mask):
    keys = memory @ w_k
    compared = 2 * torch.sigmoid(2 * (keys + (query @ w_q).unsqueeze(1).expand_as(keys))) - 1
    scores = (compared * u).sum(-1) + torch.zeros_like(mask, dtype=keys.dtype).masked_fill(~mask, -1e9)
    weights = torch.nn.functional.softmax(scores, dim=-1)
    return torch.bmm(weights[:, None], memory)[:, 0], weights


def _tanh_of_sum(q, k):
    return torch.tanh(q + k)


def _hide(scores, mask):
    return scores.masked_fill(~mask, NEG_INF)


def _mean(weights, memory, keys):
    return (weights[:, None] @ memory).squeeze(1)


def _additive(
    compare=_tanh_of_sum,
    score=lambda compared, u: compared @ u,
    weigh=lambda scores, mask: _hide(scores, mask).softmax(dim=-1),
    mix=_mean,
    give=lambda context, weights, scores: (context, weights),
):
    """The right answer with some of its steps exchanged."""

    def answer(query, memory, w_q, w_k, u, mask):
        keys = memory @ w_k
        scores = score(compare((query @ w_q)[:, None], keys), u)
        weights = weigh(scores, mask)
        return give(mix(weights, memory, keys), weights, scores)

    return answer


def _after(scores, mask):
    return scores.softmax(dim=-1) * mask


def _case(lengths, src_len, d_q, d_m, d, about, seed=0):
    batch = len(lengths)
    shapes = [(batch, d_q), (batch, src_len, d_m), (d_q, d), (d_m, d), (d,)]
    mask = torch.arange(src_len) < torch.tensor(lengths)[:, None]
    return case(*(randn(*shape, seed=seed + n) for n, shape in enumerate(shapes)), mask, about=about)


EXERCISE = Exercise(
    title="Additive attention",
    task="Return (context, weights): scores tanh(query W_q + memory W_k) · u, a softmax over the words that the mask "
    "lets through, and the weighted mean of memory, for one query a sentence.",
    reference=additive_attention,
    cases=lambda: [
        _case([2], 2, 1, 1, 1, "one sentence of two words"),
        _case([2, 5], 5, 7, 3, 4, "all sizes different", seed=5),
        _case([3, 1, 2], 3, 3, 3, 3, "all sizes equal", seed=10),
        _case([4, 2, 4, 1], 4, 5, 6, 3, "as many sentences as words", seed=15),
        _case([1, 3], 7, 2, 4, 4, "many pads", seed=20),
        _case([6, 6, 6], 6, 4, 2, 5, "no pads", seed=25),
    ],
    mistakes=(
        Mistake(
            "no-tanh",
            _additive(lambda q, k: q + k),
            "The tanh is missing. Without it the query adds the same number to the scores of all words, and softmax "
            "does not notice: every query would get the same weights.",
        ),
        Mistake(
            "tanh-of-the-score",
            _additive(lambda q, k: q + k, lambda c, u: torch.tanh(c @ u)),
            "The tanh stands around the finished score. It belongs inside: tanh of the sum, then the product with `u`.",
        ),
        Mistake(
            "query-cancels",
            _additive(lambda q, k: q.tanh() + k.tanh()),
            "Your weights do not depend on the query. Either it is missing, or it stays outside the tanh of the keys: "
            "then it adds the same number to all scores, and the softmax cancels that. Take the tanh of the *sum*.",
        ),
        Mistake(
            "tanh-twice",
            _additive(score=lambda c, u: torch.tanh(c @ u)),
            "One tanh too many: the score itself is not squeezed.",
        ),
        Mistake(
            "sigmoid",
            _additive(lambda q, k: torch.sigmoid(q + k)),
            "Your weights are those of a sigmoid in place of the tanh.",
        ),
        Mistake(
            "relu",
            _additive(lambda q, k: torch.relu(q + k)),
            "Where the formula has a tanh, your result has a ReLU.",
        ),
        Mistake(
            "u-forgotten",
            _additive(score=lambda c, u: c.sum(dim=-1)),
            "The hidden features are added up with equal weights. `u` says how much each of them counts.",
        ),
        Mistake(
            "product-instead-of-sum",
            _additive(lambda q, k: torch.tanh(q * k)),
            "The projections come out multiplied. The additive score *adds* the two (hence its name).",
        ),
        Mistake(
            "dot-product",
            _additive(lambda q, k: q * k, lambda c, u: c.sum(dim=-1)),
            "That is a dot product of the two projections. The additive score sums, applies tanh, and uses `u`.",
        ),
        Mistake(
            "softmax-over-the-batch",
            _additive(weigh=lambda s, m: _hide(s, m).softmax(dim=0)),
            "Your *sentences* share the attention out: the softmax runs over axis 0, the batch. Each sentence shares "
            "one unit out among its own words, the last axis.",
        ),
        Mistake(
            "mask-forgotten",
            _additive(weigh=lambda s, m: s.softmax(dim=-1)),
            "The pads get weight: the mask makes no difference to your result. Give hidden scores −∞ before the "
            "softmax.",
        ),
        Mistake(
            "mask-after-the-softmax",
            _additive(weigh=_after),
            "The pads have weight 0, but the weights of a padded sentence no longer sum to 1: the pads still stood in "
            "the denominator. Mask *before* the softmax.",
        ),
        Mistake(
            "mask-times-scores",
            _additive(weigh=lambda s, m: (s * m).softmax(dim=-1)),
            "The scores of pads come out as 0, and exp(0) = 1 is no small number. Which score has exp(score) = 0?",
        ),
        Mistake(
            "mask-inverted",
            _additive(weigh=lambda s, m: s.masked_fill(m, NEG_INF).softmax(dim=-1)),
            "You hide the words and keep the pads. Here True = may attend: fill where the mask is False, `~mask`.",
        ),
        Mistake(
            "mask-added",
            _additive(weigh=lambda s, m: (s + m).softmax(dim=-1)),
            "The scores of the words come out 1 higher, and nothing is hidden: a mask that is *added* holds 0 and −∞.",
        ),
        Mistake(
            "softmax-twice",
            _additive(weigh=lambda s, m: _hide(s.softmax(dim=-1), m).softmax(dim=-1)),
            "Your weights are a softmax of weights. One softmax is enough, after the mask.",
        ),
        Mistake(
            "mean-of-the-keys",
            _additive(mix=lambda w, memory, keys: (w[:, None] @ keys).squeeze(1)),
            "The weights are right, but the context is the mean of the *projected* memory. Keys are for finding; what "
            "is handed out is `memory` itself.",
        ),
        Mistake(
            "not-summed",
            _additive(mix=lambda w, memory, keys: w[..., None] * memory),
            "The weights are right. Each word's vector is weighted, but they must still be added up: sum over the "
            "words, axis 1.",
        ),
        Mistake(
            "mean-over-the-words",
            _additive(mix=lambda w, memory, keys: (w[..., None] * memory).mean(dim=1)),
            "The weights are right, but the context is divided by the number of words once more. Weights that sum to "
            "1 already make a mean: use `sum`.",
        ),
        Mistake(
            "axis-left",
            _additive(mix=lambda w, memory, keys: w[:, None] @ memory),
            "The numbers are right. The context has an axis of size 1 in the middle: `squeeze(1)` removes it.",
        ),
        Mistake(
            "only-the-best-word",
            _additive(mix=lambda w, memory, keys: memory[torch.arange(len(w)), w.argmax(dim=-1)]),
            "The weights are right, but the context is the vector of the best word alone. Attention takes the weighted "
            "mean of all of them.",
        ),
        Mistake(
            "swapped",
            _additive(give=lambda context, weights, scores: (weights, context)),
            "Both are right, but in the wrong order: (context, weights).",
        ),
        Mistake(
            "scores-for-weights",
            _additive(give=lambda context, weights, scores: (context, scores)),
            "The context is right. The second result holds the scores before mask and softmax; the weights are wanted.",
        ),
        Mistake(
            "context-only",
            _additive(give=lambda context, weights, scores: context),
            "The context is right, and the weights are missing: return (context, weights).",
        ),
        Mistake(
            "no-axis-for-the-words",
            lambda query, memory, w_q, w_k, u, mask: _additive(lambda q, k: torch.tanh(q.squeeze(1) + k))(
                query, memory, w_q, w_k, u, mask
            ),
            "The query (batch, d) meets keys (batch, src_len, d) without an axis for the words, so query i is added "
            "to word i, if the sizes agree at all. `[:, None]` gives it one.",
        ),
        Mistake(
            "matrices-transposed",
            lambda query, memory, w_q, w_k, u, mask: _additive()(query, memory, w_q.T, w_k.T, u, mask),
            "Here a matrix is (features in, hidden out), so it is `query @ w_q`. (`nn.Linear` stores it the other way "
            "round: there you would transpose.)",
        ),
        Mistake(
            "no-tanh-and-mask-forgotten",
            _additive(lambda q, k: q + k, weigh=lambda s, m: s.softmax(dim=-1)),
            "Two things: the tanh is missing, and pads get weight, since the mask makes no difference.",
        ),
        Mistake(
            "mask-forgotten-and-softmax-over-the-batch",
            _additive(weigh=lambda s, m: s.softmax(dim=0)),
            "Two things: the softmax runs over the batch (each sentence shares its attention among its own words), and "
            "the mask makes no difference.",
        ),
        Convention(
            "scaled",
            _additive(score=lambda c, u: c @ u / len(u) ** 0.5),
            "Your scores come out divided by the root of the hidden width. Some texts scale them; the additive score "
            "of Bahdanau et al. has no such division.",
        ),
    ),
    hints=(
        "Write the shapes down first: query @ w_q, memory @ w_k, their sum, the scores, the weights.",
        "One query meets every word of its sentence, so it needs an axis of size 1 where the words are. And a hidden "
        "word must have the score −∞ before the softmax.",
        "`torch.tanh((query @ w_q)[:, None] + memory @ w_k) @ u`, then `.masked_fill(~mask, float('-inf'))`.",
    ),
    alternatives=(with_einsum, of_pairs_joined, with_loops, tanh_by_a_sigmoid),
    difficulty=2,
    minutes=10,
)
