"""The judges of a search: the most probable sentence of a real model, and all sentences of a tiny one."""

import heapq
from typing import Any

import torch

from course_lib.beam_search import LARGEST_PENALTY, Hypothesis, Step, check_numbers, log_probs_of
from course_lib.sizes import check_between, check_whole
from course_lib.tokens import BOS, EOS, PAD


@torch.no_grad()
def exact_search(step: Step, state: Any, max_len: int, max_calls: int = 1000) -> tuple[Hypothesis | None, int]:
    """The most probable finished sentence, and how many calls of `step` it took; None where `max_calls` are too few.

    Opens the most probable beginning of all, again and again. A longer one is never more probable, so the first
    *finished* one that comes out is the best. One sentence at a time, no length penalty, and states that a step leaves
    as they were (not those of a cache that is written to). Source: Dijkstra 1959.

    >>> next_token = torch.tensor([0, 4, 0, 0, 5, 2])         # a fake model: 1 → 4 → 5 → 2 (EOS)
    >>> fake = lambda tokens, state: (9.0 * torch.nn.functional.one_hot(next_token[tokens], 6), state)
    >>> found, calls = exact_search(fake, None, max_len=9)
    >>> found.tokens, calls
    ([4, 5], 3)
    """
    check_whole(max_len=max_len, max_calls=max_calls)
    best_end = -torch.inf
    heap = [(0.0, 0, [], False, state)]  # minus the log-probability first
    pushed = calls = 0
    while heap:
        cost, _, tokens, finished, state = heapq.heappop(heap)
        if finished:
            return Hypothesis(tokens, -cost, True), calls
        if len(tokens) == max_len:
            continue
        if calls == max_calls:
            return None, calls
        calls += 1
        logits, state = step(torch.tensor([[tokens[-1] if tokens else BOS]]), state)
        log_prob = -cost + log_probs_of(logits, (PAD, BOS))[0, 0].double()
        check_numbers(log_prob.max())
        best_end = max(best_end, log_prob[EOS].item())
        worth = (log_prob >= best_end) & (log_prob > -torch.inf)
        found = zip(worth.nonzero()[:, 0].tolist(), log_prob[worth].tolist(), strict=True)
        for token, value in found:
            pushed += 1  # of equally probable ones, the first comes out first
            written = tokens if token == EOS else [*tokens, token]
            heapq.heappush(heap, (-value, pushed, written, token == EOS, state))
    return None, calls


@torch.no_grad()
def exhaustive_search(step: Step, state: Any, max_len: int, length_penalty: float = 1.0) -> list[Hypothesis]:
    """Score every sentence of at most `max_len` tokens, EOS included; best first. The judge of the other searches.

    One sentence at a time, and tiny vocabularies only: there are vocab_size^max_len sentences.
    """
    check_whole(max_len=max_len)
    check_between(-LARGEST_PENALTY, LARGEST_PENALTY, length_penalty=length_penalty)
    finished = []
    written = torch.full((1, 1, 1), BOS)
    log_prob = torch.zeros(1, 1)
    for length in range(1, max_len + 1):
        logits, state = step(written[:, :, -1], state)
        total = log_prob[..., None] + log_probs_of(logits, (PAD, BOS))
        ended = zip(written[0, :, 1:].tolist(), total[0, :, EOS].tolist(), strict=True)
        finished += [Hypothesis(tokens, value, True) for tokens, value in ended]
        total[..., EOS] = -torch.inf
        parents, tokens = (total[0] > -torch.inf).nonzero(as_tuple=True)
        if length == max_len or not len(tokens):
            break
        log_prob = total[:, parents, tokens]
        written = torch.cat([written[:, parents], tokens[None, :, None]], dim=-1)
        state = state.reorder(parents[None])
    return sorted(finished, key=lambda h: -h.score(length_penalty))
