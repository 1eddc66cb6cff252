import heapq

import torch

from course_lib.tokens import EOS
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.beam_search._tables import Table, fresh

MOST = 400


def exact(log_probs, max_len):
    """The most probable finished sentence of at most `max_len` tokens: (tokens without EOS, log-probability).

    >>> import torch
    >>> rows = {(): [0, 0, 0.1, 0.9], (3,): [0, 0, 0.9, 0.1]}
    >>> exact(lambda tokens: torch.tensor(rows[tuple(tokens)]).log(), max_len=2)[0]
    [3]
    """
    heap = [(0.0, [], False)]  # minus the log-probability first
    while heap:
        cost, tokens, finished = heapq.heappop(heap)
        if finished:
            return tokens, -cost
        if len(tokens) == max_len:
            continue
        for token, gain in enumerate(log_probs(tokens).tolist()):
            if token == EOS:
                heapq.heappush(heap, (cost - gain, tokens, True))
            else:
                heapq.heappush(heap, (cost - gain, [*tokens, token], False))
    return None


def depth_first_with_a_bound(log_probs, max_len):
    best = ([], -float("inf"))

    def visit(tokens, total):
        nonlocal best
        scores = log_probs(tokens)
        if total + scores[EOS] > best[1]:
            best = (tokens, float(total + scores[EOS]))
        if len(tokens) + 1 < max_len:
            for token in scores.argsort(descending=True).tolist():
                if token != EOS and total + scores[token] > best[1]:
                    visit([*tokens, token], float(total + scores[token]))

    visit([], 0.0)
    return best


def _beam(k):
    """A beam search that keeps k beginnings."""

    def wrong(log_probs, max_len):
        beams, pool = [([], 0.0)], [([], -float("inf"))]
        for _step in range(max_len):
            found = [([*t, v], s + g) for t, s in beams for v, g in enumerate(log_probs(t).tolist())]
            found.sort(key=lambda f: -f[1])
            pool += [(t[:-1], s) for t, s in found[:k] if t[-1] == EOS]
            beams = [f for f in found if f[0][-1] != EOS][:k]
        return max(pool, key=lambda f: f[1])

    return wrong


class ManyWords(Table):
    """Eighty first words, nearly alike; only after the least probable one is the end sure."""

    def __call__(self, tokens):
        written, scores = [int(token) for token in tokens], torch.full_like(super().__call__(tokens), -30.0)
        if not written:
            scores[EOS + 1 :] = torch.linspace(0.0, -0.2, len(scores) - EOS - 1)
        elif written == [len(scores) - 1]:
            scores[EOS] = 0.0
        else:
            scores[EOS:] = 0.0
        return scores.log_softmax(dim=-1)


EXERCISE = Exercise(
    reference=exact,
    call=fresh,
    cases=lambda: [
        case(Table(1, most=MOST), 4, about="a small one"),
        case(Table(3, most=MOST), 8, about="longer sentences"),
        case(Table(6, most=MOST), 8, about="longer sentences"),
        case(Table(7, vocab_size=9, most=MOST), 8, about="a larger vocabulary"),
        case(Table(8, vocab_size=20, most=MOST), 10, about="a vocabulary of 20"),
        *(case(Table(seed, vocab_size=8, most=MOST), 9, about="one more model") for seed in range(21, 29)),
        case(Table(41, end=-2.0, most=MOST), 2, about="at most one word"),
        case(Table(47, end=-2.0, most=MOST), 2, about="at most one word"),
        case(Table(39, end=-2.0, most=MOST), 3, about="at most two words"),
        case(ManyWords(0, vocab_size=83, most=MOST), 2, about="eighty first words"),
    ],
    mistakes=tuple(
        Mistake(
            f"beam-of-{k}",
            _beam(k),
            f"A beam search finds no more than this, even one that keeps {k} beginnings. Whatever falls out of a "
            "beam may lead to the best end: keep all beginnings, and open the most probable one.",
        )
        for k in (2, 3, 4, 8)
    ),
    alternatives=(depth_first_with_a_bound,),
)
