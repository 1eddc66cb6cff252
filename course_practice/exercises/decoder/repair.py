import math

import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.masks import causal_mask, masked_softmax
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn, seeded


def small_decoder(tgt, memory, src_mask, table, w_q, w_k, w_v):
    """Outputs (batch, n - 1, d) and the labels that they must predict; tgt (batch, n) begins with BOS."""
    tgt_in, labels = tgt[:, :-1], tgt[:, 1:]
    x = table[tgt_in]
    past = torch.ones(x.shape[1], x.shape[1]).tril().bool()
    x = x + masked_softmax(x @ x.mT, past) @ x
    scores = (x @ w_q) @ (memory @ w_k).mT / math.sqrt(w_q.shape[1])
    scores = scores.masked_fill(~src_mask, -1e9)
    weights = scores.softmax(dim=-1)
    return x + weights @ (memory @ w_v), labels


def from_the_library(tgt, memory, src_mask, table, w_q, w_k, w_v):
    x = table[tgt[:, :-1]]
    x = x + masked_softmax(x @ x.mT, causal_mask(x.shape[1])) @ x
    found, _weights = scaled_dot_product_attention(x @ w_q, memory @ w_k, memory @ w_v, src_mask)
    return x + found, tgt[:, 1:]


def _case(batch, n, src_len, d, real, about, seed, vocab_size=9):
    generator = seeded(seed)
    tgt = torch.randint(min(3, vocab_size - 2), vocab_size, (batch, n), generator=generator)
    tgt[:, 0] = 1
    mask = (torch.arange(src_len) < torch.tensor(real)[:, None])[:, None]
    table = randn(vocab_size, d, seed=seed + 1)
    memory = randn(batch, src_len, d, seed=seed + 2)
    return case(tgt, memory, mask, table, *(randn(d, d, seed=seed + 3 + i) for i in range(3)), about=about)


EXERCISE = Exercise(
    reference=small_decoder,
    cases=lambda: [
        _case(1, 3, 2, 2, [2], "one sentence, no pads", 0),
        _case(2, 5, 3, 4, [3, 1], "pads in the second source", 10),
        _case(3, 4, 4, 4, [4, 2, 3], "as many target as source words", 20),
        _case(3, 3, 3, 3, [3, 1, 2], "all sizes equal", 30, vocab_size=3),
        _case(2, 7, 5, 3, [2, 5], "a long target", 40),
    ],
    alternatives=(from_the_library,),
    trained=("memory", "table"),
)
