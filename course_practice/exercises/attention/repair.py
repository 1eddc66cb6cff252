"""Exercise: bug hunt: three bugs in six lines."""

import math
from itertools import product

import torch
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_practice.engine import Exercise, Mistake
from course_practice.exercises.attention._inputs import queries
from course_practice.exercises.attention._steps import (
    attend,
    by_root_d_k,
    divided_by_d_k,
    dots,
    reshaped,
    root,
    softmax_over,
    unscaled,
)


def repaired_attention(query, key, value):
    """Attention for a batch, without its three bugs."""
    d_k = query.shape[-1]
    # A reshape keeps the numbers in order, so it is no transpose.
    scores = torch.bmm(query, key.transpose(1, 2))
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
    "": dots,
    "reshape": reshaped,
}


_SCALES = {
    "": by_root_d_k,
    "root of k_len": root(lambda q, k, v: k.shape[1]),
    "root of q_len": root(lambda q, k, v: q.shape[1]),
    "d_k": divided_by_d_k,
    "nothing": unscaled,
    "k_len": lambda s, q, k, v: s / k.shape[1],
}


_AXES = {"": -1, "queries": 1, "sentences": 0}


_OPEN = {
    "reshape": "print a small `key` beside its reshape: which numbers stand in the first column?",
    "root of k_len": "a score is a sum over features, so what does its spread grow with?",
    "root of q_len": "a score is a sum over features, and the number of queries has no part in it;",
    "d_k": "the spread grows with the *root* of the number of terms;",
    "nothing": "without any division the scores spread like √d_k;",
    "k_len": "a score is a sum over features: neither the number of keys nor a missing root fits;",
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
        implementation = attend(score=score, scale=divide, weigh=softmax_over(dim))
        yield Mistake(name, implementation, f"{found[3 - len(left)]}. Still open: {clues}")


EXERCISE = Exercise(
    title="Bug hunt: three bugs in six lines",
    task="Find and repair the three planted bugs: for (batch, q_len, d_k), (batch, k_len, d_k), (batch, k_len, d_v), "
    "return (output, weights).",
    reference=repaired_attention,
    starter=starter_repair,
    cases=lambda: [
        queries((1,), 1, 2, 2, 1, "one query, two keys"),
        queries((2,), 3, 5, 7, 11, "all sizes different", seed=3),
        queries((3,), 7, 4, 5, 2, "more queries than keys", seed=6),
        queries((2,), 3, 7, 4, 5, "four features", seed=9),
        queries((3,), 3, 3, 3, 3, "all sizes equal", seed=12),
        queries((2,), 3, 1, 5, 4, "a single key", seed=15),
    ],
    mistakes=(*_partial_repairs(),),
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
