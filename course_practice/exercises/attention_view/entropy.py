"""Exercise: how flat a row is."""

import math

import torch

from course_lib.attention_view import entropy
from course_lib.masks import causal_mask, masked_softmax
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def with_a_safe_logarithm(weights, mask=None):
    logs = torch.where(weights > 0, weights, 1.0).log()
    n_keys = (
        weights.new_full(weights.shape[:-1], weights.shape[-1]) if mask is None else mask.expand_as(weights).sum(-1)
    )
    return -(weights * logs).sum(-1) / n_keys.clamp(min=2).log()


def row_by_row(weights, mask=None):
    if mask is None:
        mask = torch.ones_like(weights, dtype=torch.bool)
    rows = zip(weights.flatten(0, -2).tolist(), mask.expand_as(weights).flatten(0, -2).tolist(), strict=True)
    found = []
    for row, seen in rows:
        total = -sum(w * math.log(w) for w in row if w > 0)
        found.append(total / math.log(sum(seen)) if sum(seen) > 1 else 0.0)
    return torch.tensor(found).view(weights.shape[:-1])


def with_xlogy_in_bits(weights, mask=None):
    seen = torch.ones_like(weights) if mask is None else mask.to(weights).expand(weights.shape)
    n_keys = seen.sum(dim=-1)
    bits = -torch.special.xlogy(weights, weights).sum(dim=-1) / math.log(2)
    return (bits / n_keys.log2()).nan_to_num(0.0)


def _entropy(weights, mask, dim=-1, n_keys=None):
    seen = torch.ones_like(weights) if mask is None else mask.expand_as(weights).to(weights)
    n = seen.sum(dim=dim) if n_keys is None else n_keys(weights, seen)
    total = torch.special.entr(weights).sum(dim=dim)
    return torch.where(n > 1, total / n.clamp(min=2).log(), 0.0)


def _log_of_zero(weights, mask=None):
    seen = torch.ones_like(weights) if mask is None else mask.expand_as(weights).to(weights)
    return -(weights * weights.log()).sum(dim=-1) / seen.sum(dim=-1).clamp(min=2).log()


def _divided_by_zero(weights, mask=None):
    seen = torch.ones_like(weights) if mask is None else mask.expand_as(weights).to(weights)
    return torch.special.entr(weights).sum(dim=-1) / seen.sum(dim=-1).log()


def _all_keys(weights, mask=None):
    return _entropy(weights, None)


def _queries(weights, mask=None):
    return _entropy(weights, mask, dim=-2)


def _bits(weights, mask=None):
    return torch.special.entr(weights).sum(dim=-1) / math.log(2)


def _bits_over_nats(weights, mask=None):
    return _entropy(weights, mask) / math.log(2)


def _positive(weights, mask=None):
    return _entropy(weights, mask, n_keys=lambda w, seen: (w > 0).to(w).sum(dim=-1))


def _by_the_count(weights, mask=None):
    seen = torch.ones_like(weights) if mask is None else mask.expand_as(weights).to(weights)
    return torch.special.entr(weights).sum(dim=-1) / seen.sum(dim=-1)


def _mean(weights, mask=None):
    seen = torch.ones_like(weights) if mask is None else mask.expand_as(weights).to(weights)
    return torch.special.entr(weights).mean(dim=-1) / seen.sum(dim=-1).clamp(min=2).log()


def _softmax_again(weights, mask=None):
    return entropy((weights if mask is None else weights.masked_fill(~mask, -1e9)).softmax(dim=-1), mask)


def _hidden_counted(weights, mask=None):
    hidden = torch.ones_like(weights) if mask is None else (~mask).expand_as(weights).to(weights)
    n_keys = hidden.sum(dim=-1)
    return torch.where(n_keys > 1, torch.special.entr(weights).sum(dim=-1) / n_keys.clamp(min=2).log(), 0.0)


EXERCISE = Exercise(
    title="How flat is a row?",
    task="Return the entropy of each row of `weights`, divided by the logarithm of the number of keys the row may see. "
    "`mask`, True = may attend, says which; without one, a row sees all keys. A row with one key is 0.",
    reference=entropy,
    cases=lambda: [
        case(torch.tensor([[0.5, 0.5], [0.9, 0.1]]), about="two keys"),
        case(torch.tensor([[0.5, 0.5, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]]), about="weights of zero"),
        case(masked_softmax(randn(5, 5, seed=1), causal_mask(5)), mask=causal_mask(5), about="a causal mask"),
        case(
            masked_softmax(2 * randn(2, 3, 4, 7, seed=2), torch.arange(7) < torch.tensor([5, 7])[:, None, None, None]),
            mask=torch.arange(7) < torch.tensor([5, 7])[:, None, None, None],
            about="a batch with heads and pads",
        ),
        case(torch.tensor([[[1.0, 0.0, 0.0], [0.0, 0.25, 0.75]]]), about="all weight on one key"),
        case(
            torch.tensor([[0.5, 0.5, 0.0, 0.0]]),
            mask=torch.tensor([[True, True, True, False]]),
            about="a key that may be seen and gets no weight",
        ),
    ],
    mistakes=(
        Mistake(
            "logarithm-of-zero",
            _log_of_zero,
            "A weight of 0 makes your row NaN: 0 · log 0 is 0 by convention, and a computer says NaN. "
            "`torch.special.entr(w)` is −w log w, and 0 at 0.",
        ),
        Mistake(
            "one-key-divides-by-zero",
            _divided_by_zero,
            "A row that sees one key has log 1 = 0 below the line, and comes out as NaN. It should be 0.",
        ),
        Mistake(
            "all-keys-counted",
            _all_keys,
            "You divide by the logarithm of all keys, hidden ones too. Then a row of a causal mask looks sharp because "
            "it is short. Count the keys that the row may see.",
        ),
        Mistake(
            "over-the-queries",
            _queries,
            "You sum over the queries. The weights of one *row* sum to 1, so the sum runs over the keys, the last "
            "axis.",
        ),
        Mistake(
            "bits",
            _bits,
            "That is the entropy in bits. A row with more keys can have more of them: divide by its largest value, the "
            "logarithm of the number of keys.",
        ),
        Mistake(
            "nats",
            lambda weights, mask=None: torch.special.entr(weights).sum(dim=-1),
            "That is the entropy. Its largest value depends on the number of keys: divide by the logarithm of it.",
        ),
        Mistake(
            "two-bases",
            _bits_over_nats,
            "Above the line stands a logarithm to base 2, below it a natural one. Any base will do, if it is the same.",
        ),
        Mistake(
            "positive-weights-counted",
            _positive,
            "You count the keys that got some weight. A key that may be seen and gets none counts as well: leaving it "
            "out is what makes a row sharp.",
        ),
        Mistake(
            "divided-by-the-count",
            _by_the_count,
            "You divide by the number of keys. The entropy of equal weights is the *logarithm* of that number.",
        ),
        Mistake(
            "averaged",
            _mean,
            "The terms are averaged over the keys. Entropy is their sum.",
        ),
        Mistake(
            "sign",
            lambda weights, mask=None: -entropy(weights, mask),
            "The sign is turned: logarithms of weights are negative, so the sum needs a minus in front.",
        ),
        Mistake(
            "softmax-again",
            _softmax_again,
            "The weights went through a second softmax, which makes every row flatter. They are weights already, and "
            "sum to 1.",
        ),
        Mistake(
            "hidden-keys-counted",
            _hidden_counted,
            "You count the keys that are *hidden*. In `mask`, True = may attend.",
        ),
        Mistake(
            "sharpness",
            lambda weights, mask=None: 1 - entropy(weights, mask),
            "That is 1 for a sharp row and 0 for a flat one. Entropy goes the other way.",
        ),
        Mistake(
            "one-number",
            lambda weights, mask=None: entropy(weights, mask).mean(),
            "That is the mean over all rows. Return one number a row.",
        ),
        Mistake(
            "exponential",
            lambda weights, mask=None: torch.special.entr(weights).sum(dim=-1).exp(),
            "That is the exponential of the entropy, a number of keys. Divide the entropy itself by the logarithm of "
            "the number of keys.",
        ),
    ),
    hints=(
        "Take the row ½ ½ 0 0 by hand. What is 0 · log 0, and what is the largest entropy of four keys?",
        "`torch.special.entr(weights).sum(dim=-1)` is the entropy. `mask.expand_as(weights).sum(dim=-1)` counts keys.",
        "Divide by `n_keys.clamp(min=2).log()`: a row with one key has entropy 0, and 0 / log 2 is 0.",
    ),
    alternatives=(with_a_safe_logarithm, row_by_row, with_xlogy_in_bits),
    difficulty=2,
    minutes=10,
)
