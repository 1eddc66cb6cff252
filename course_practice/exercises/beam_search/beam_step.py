import heapq

import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def beam_step(log_prob, log_probs, k):
    """The k most probable continuations of all beams: their totals, parents, and tokens, (k,) each, best first.

    `log_prob` (beam,) is what each beam has so far, `log_probs` (beam, vocab_size) what each token would add.

    >>> log_prob, log_probs = torch.tensor([0.6, 0.4]).log(), torch.tensor([[0.5, 0.5], [0.9, 0.1]]).log()
    >>> totals, parents, tokens = beam_step(log_prob, log_probs, k=1)
    >>> totals.exp(), parents, tokens
    (tensor([0.3600]), tensor([1]), tensor([0]))
    """
    totals, places = (log_prob[:, None] + log_probs).flatten().topk(k)
    return totals, places // log_probs.shape[1], places % log_probs.shape[1]


def with_a_heap(log_prob, log_probs, k):
    found = (
        (float(log_prob[parent] + gain), parent, token)
        for parent, gains in enumerate(log_probs)
        for token, gain in enumerate(gains)
    )
    totals, parents, tokens = zip(*heapq.nlargest(k, found), strict=True)
    return torch.tensor(totals), torch.tensor(parents), torch.tensor(tokens)


def _case(beam, vocab_size, k, about, seed, first=None):
    log_prob = first if first is not None else -randn(beam, seed=seed).abs().cumsum(dim=0)
    log_probs = randn(beam, vocab_size, seed=seed + 1, scale=1.5).log_softmax(dim=-1)
    return case(log_prob, log_probs, k, about=about)


EXERCISE = Exercise(
    reference=beam_step,
    cases=lambda: [
        _case(2, 4, 2, "two beams", 0),
        _case(3, 7, 3, "three beams", 10),
        _case(3, 3, 3, "all sizes equal", 20),
        _case(1, 6, 3, "the first step: one beam", 30),
        _case(4, 5, 2, "fewer go on", 40),
        _case(3, 6, 4, "one beam is far better", 50, torch.tensor([-9.0, -0.5, -8.0])),
        _case(2, 11, 5, "a larger vocabulary", 60),
    ],
    alternatives=(with_a_heap,),
)
