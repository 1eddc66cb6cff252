"""Exercise: bug hunt: four bugs in one layer."""

import itertools
import math

import torch
from torch.nn import functional as F

from course_practice.engine import Exercise, Mistake
from course_practice.exercises.self_attention._steps import (
    attend,
    by_matrices,
    by_one,
    by_root_d_k,
    by_root_d_model,
    inputs,
    keys_from_w_q,
    root,
    softmax_over,
)


def repaired_layer(x, w_q, w_k, w_v):
    """x plus its self-attention, for x (batch, n, d_model)."""
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    scores = query @ key.transpose(1, 2)
    scores = scores / math.sqrt(query.shape[-1])
    weights = scores.softmax(dim=2)
    return x + weights @ value


def repair_starter(x, w_q, w_k, w_v):
    query, key, value = x @ w_q, x @ w_q, x @ w_v
    scores = query @ key.transpose(1, 2)
    scores = scores / math.sqrt(x.shape[-1])
    weights = scores.softmax(dim=1)
    return value + weights @ value


def with_fused_attention(x, w_q, w_k, w_v):
    return x + F.scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v)


def sentence_by_sentence(x, w_q, w_k, w_v):
    rows = []
    for tokens in x:
        weights = torch.softmax((tokens @ w_q) @ (tokens @ w_k).T * w_q.shape[1] ** -0.5, dim=1)
        rows.append(tokens + weights @ (tokens @ w_v))
    return torch.stack(rows)


def with_einsum(x, w_q, w_k, w_v):
    scores = torch.einsum("bic,cf,df,bjd->bij", x, w_q, w_k, x) / w_k.shape[-1] ** 0.5
    return torch.einsum("bij,bjc,cf->bif", scores.softmax(dim=-1), x, w_v) + x


def _adds_x(weights, x, q, k, v):
    return x + weights @ v


def _adds_value(weights, x, q, k, v):
    return v + weights @ v


def _adds_nothing(weights, x, q, k, v):
    return weights @ v


_KEYS = {"": by_matrices, "keys": keys_from_w_q}
_SCALES = {
    "": by_root_d_k,
    "root of d_model": by_root_d_model,
    "no scale": by_one,
    "root of n": root(lambda x, q: x.shape[1]),
}
_AXES = {"": 2, "queries": 1, "sentences": 0}
_SUMS = {"": _adds_x, "value added": _adds_value, "nothing added": _adds_nothing}
_OPEN = {
    "keys": "does `w_k` make any difference?",
    "root of d_model": "how many products does one score add up?",
    "no scale": "a score is a sum of d_k products, so by what must it be divided?",
    "root of n": "a score is a sum over features, not over tokens: by what must it be divided?",
    "queries": "which sums of the weights are 1, the rows' or the columns'?",
    "sentences": "axis 0 is the batch: do sentences share their attention?",
    "value added": "what is added to the weighted mean, the token or its value?",
    "nothing added": "the layer returns x *plus* its self-attention: where is x?",
}
_STARTER = ("keys", "root of d_model", "queries", "value added")


def _partial_repairs():
    for (keys, project), (scale, divide), (axis, dim), (added, mix) in itertools.product(
        _KEYS.items(), _SCALES.items(), _AXES.items(), _SUMS.items()
    ):
        left = [name for name in (keys, scale, axis, added) if name]
        if not left or tuple(left) == _STARTER:
            continue
        found = ("None of the four is", "One of four is", "Two of four are", "Three of four are")[4 - len(left)]
        name = "-and-".join(part.replace("_", " ").replace(" ", "-") for part in left)
        clues = " ".join(
            f"({number}) {_OPEN[part]}" if len(left) > 1 else _OPEN[part] for number, part in enumerate(left, 1)
        )
        implementation = attend(project, divide, softmax_over(dim), mix)
        yield Mistake(name, implementation, f"{found} repaired. Still open: {clues}")


EXERCISE = Exercise(
    title="Bug hunt: four bugs in one layer",
    task="Find and repair the four planted bugs: the layer returns x plus the self-attention of x (batch, n, d_model), "
    "with w_q and w_k (d_model, d_k) and w_v (d_model, d_model).",
    reference=repaired_layer,
    starter=repair_starter,
    cases=lambda: [
        inputs((1,), 2, 3, 2, 3, "two tokens"),
        inputs((2,), 5, 7, 3, 7, "all sizes different", seed=10),
        inputs((3,), 3, 3, 3, 3, "all sizes equal", seed=20),
        inputs((2,), 4, 2, 5, 2, "queries wider than the tokens", seed=30),
        inputs((3,), 7, 6, 2, 6, "a long sentence", seed=40),
        inputs((2,), 1, 4, 3, 4, "a single token", seed=50),
    ],
    mistakes=(*_partial_repairs(),),
    hints=(
        "Four lines hold one bug each; the second line is right.",
        "Four questions. Is there a matrix that is never used? How many products does a score add up? Which sums of "
        "the weights are 1? What is the mean added to?",
        "`x @ w_k`, `math.sqrt(query.shape[-1])`, `dim=2`, `x + …`.",
    ),
    alternatives=(with_fused_attention, sentence_by_sentence, with_einsum),
    difficulty=2,
    minutes=12,
)
