import math

import torch
from torch.nn import functional as F

from course_lib.masks import causal_mask
from course_lib.tokens import BOS
from course_practice.engine import Exercise, case
from course_practice.engine.compare import as_tensor
from course_practice.exercises.inputs import randn, seeded
from course_practice.exercises.multi_head.mha import mha as my_mha


def writer(ids, words, layers, output, n_heads):
    """At every position a score for each word that may come next: (batch, n) → (batch, n, vocab_size).

    `words` (vocab_size, d_model) has a vector for each word, `layers` four matrices (d_model, d_model) for each layer
    of attention, and `output` (d_model, vocab_size) turns a vector into scores.
    """
    x = words[ids]
    mask = causal_mask(ids.shape[1])
    for w_q, w_k, w_v, w_o in layers:
        x = x + my_mha(x, x, w_q, w_k, w_v, w_o, n_heads, mask)
    return x @ output


def written_out(ids, words, layers, output, n_heads):
    batch, n = ids.shape
    d_model = words.shape[1]
    future = torch.ones(n, n, dtype=torch.bool).triu(1)
    x = F.embedding(ids, words)
    for w_q, w_k, w_v, w_o in layers:
        q, k, v = ((x @ w).view(batch, n, n_heads, -1).transpose(1, 2) for w in (w_q, w_k, w_v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(d_model // n_heads)
        weights = scores.masked_fill(future, float("-inf")).softmax(dim=-1)
        heads = (weights @ v).transpose(1, 2).reshape(batch, n, d_model)
        x = x + heads @ w_o
    return x @ output


def with_pytorchs_attention(ids, words, layers, output, n_heads):
    def split(x):
        return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)

    x = words[ids]
    for w_q, w_k, w_v, w_o in layers:
        heads = F.scaled_dot_product_attention(split(x @ w_q), split(x @ w_k), split(x @ w_v), is_causal=True)
        x = x + heads.transpose(1, 2).flatten(2) @ w_o
    return torch.matmul(x, output)


def _asked(obj, given):
    """The logits, the loss of the next words, or a sentence that is drawn word by word, as the case is about."""
    ids, *rest = given.args
    if given.about.startswith("the loss"):
        logits = as_tensor(obj(ids[:, :-1], *rest))
        whole = logits is not None and logits.shape[:2] == (len(ids), ids.shape[1] - 1)
        return F.cross_entropy(logits.mT, ids[:, 1:]) if whole else logits
    if given.about.startswith("a sentence"):
        return _written(obj, ids, rest)
    return obj(*given.args)


@torch.no_grad()
def _written(obj, ids, rest, n_words=6):
    """The ids after six words were drawn: each dart falls on a word of a line that the probabilities divide."""
    darts = torch.rand(n_words, len(ids), 1, generator=seeded(5), dtype=torch.float64)
    for dart in darts:
        logits = as_tensor(obj(ids, *rest))
        if logits is None or logits.dim() != 3 or logits.shape[:2] != ids.shape:
            return logits
        share = logits[:, -1].double().softmax(dim=-1).cumsum(dim=-1)
        ids = torch.cat([ids, (share < dart).sum(dim=-1, keepdim=True).clamp(max=share.shape[-1] - 1)], dim=1)
    return ids


def _trained(obj, given):
    """What is asked, and all the matrices that a step of training would move."""
    if given.about.startswith("a sentence"):
        return None, {}
    ids, words, layers, output, n_heads = given.args
    leaves = {"words": words, "output": output}
    for number, matrices in enumerate(layers):
        leaves |= {f"layer {number}'s matrix {part}": matrix for part, matrix in enumerate(matrices, start=1)}
    leaves = {name: matrix.detach().clone().requires_grad_() for name, matrix in leaves.items()}
    inside = [leaves[name] for name in leaves if name not in ("words", "output")]
    asking = [tuple(inside[4 * number : 4 * number + 4]) for number in range(len(layers))]
    asked = case(ids, leaves["words"], asking, leaves["output"], n_heads, about=given.about)
    return _asked(obj, asked), leaves


def _inputs(batch, n, vocab_size, d_model, n_layers, n_heads, seed, start=None):
    def matrix(rows, columns, step):
        return randn(rows, columns, seed=seed + step) / d_model**0.5 * 1.5

    # The sizes of the matrices, which other inputs may make larger, are the sizes of the model.
    layers = [tuple(matrix(d_model, d_model, 10 * layer + part) for part in range(1, 5)) for layer in range(n_layers)]
    words, output = matrix(vocab_size, d_model, 0), matrix(d_model, vocab_size, 9)
    ids = torch.randint(4, vocab_size, (batch, n), generator=seeded(seed)) if start is None else start
    return ids, words, layers, output, n_heads


EXERCISE = Exercise(
    reference=writer,
    cases=lambda: [
        case(*_inputs(1, 2, 5, 2, 1, 1, seed=0), about="logits: two words, one layer, one head"),
        case(*_inputs(2, 5, 11, 6, 1, 3, seed=100), about="logits: one layer, all sizes different"),
        case(*_inputs(2, 5, 11, 8, 3, 4, seed=200), about="logits: three layers"),
        case(*_inputs(6, 6, 6, 6, 2, 2, seed=300), about="logits: all sizes equal"),
        case(*_inputs(3, 6, 13, 6, 2, 2, seed=400), about="the loss of the next words"),
        case(*_inputs(2, 1, 13, 8, 2, 2, seed=500, start=torch.full((2, 1), BOS)),
             about="a sentence of six words, drawn one after the other"),
    ],
    call=_asked,
    alternatives=(written_out, with_pytorchs_attention),
    trained=_trained,
)  # fmt: skip
