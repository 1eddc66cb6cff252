"""Choosing a sentence: greedy and beam search, over any model that scores one step.

A `step(tokens, state)` takes the last token of every beam, (batch, beam), and gives unnormalized scores of what may
follow, (batch, beam, vocab_size), with the new state. A state has `reorder(parents)`, which says for every new beam
which old beam of the same sentence it continues, and `keep(sentences)`, which drops the sentences that are done.

Of equally probable continuations the better beam's comes first, then the smaller token, in every search.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.sizes import check_between, check_whole
from course_lib.tokens import BOS, EOS, PAD

LARGEST_PENALTY = 10  # a length to a larger power is no number of this machine
Step = Callable[[Tensor, Any], tuple[Tensor, Any]]


class Hypothesis(NamedTuple):
    """A sentence that a search wrote: its tokens without BOS and EOS, and the
    sum of their log-probabilities.

    `finished` says whether it ended with EOS; EOS counts as one of its tokens
    for probability and length.
    """

    tokens: list[int]
    log_prob: float
    finished: bool

    @property
    def length(self) -> int:
        return len(self.tokens) + self.finished

    def score(self, length_penalty: float) -> float:
        """The log-probability divided by length^length_penalty: the larger the
        penalty, the longer the winner.

        >>> short = Hypothesis([5], -1.0, finished=True)
        >>> long = Hypothesis([5, 6, 7], -1.6, finished=True)
        >>> [long.score(alpha) > short.score(alpha) for alpha in (0.0, 1.0)]
        [False, True]
        """
        return self.log_prob / max(self.length, 1) ** length_penalty


@torch.no_grad()
def greedy_search(
    step: Step, state: Any, batch: int, max_len: int, suppress: Sequence[int] = (PAD, BOS), device: Any = None
) -> list[Hypothesis]:
    """Take the most probable token at every step, for each of `batch` sentences, until EOS or `max_len` tokens.

    `state` is what `step` takes and gives back (see the head of this module), at first that of the `batch` sentences.
    Tokens in `suppress` are never written. `device` is where the model is: the first tokens are made there. A sentence
    that is done leaves the batch.

    >>> next_token = torch.tensor([0, 4, 0, 0, 5, 2]).log()         # a fake model: 1 → 4 → 5 → 2 (EOS)
    >>> fake = lambda tokens, state: (torch.nn.functional.one_hot(next_token.exp().long()[tokens], 6).float(), state)
    >>> class Nothing:
    ...     def keep(self, sentences): return self
    >>> greedy_search(fake, Nothing(), batch=1, max_len=9)[0].tokens
    [4, 5]
    """
    check_whole(max_len=max_len)
    check_whole(0, batch=batch, suppress=min(suppress, default=0))
    tokens = torch.full((batch, 1), BOS, device=device)
    written: list[list[int]] = [[] for _ in range(batch)]
    log_prob = [0.0] * batch
    finished = [False] * batch
    open_rows = list(range(batch))  # the sentence of each row of the batch
    while open_rows and len(written[open_rows[0]]) < max_len:
        logits, state = step(tokens, state)
        best, tokens = log_probs_of(logits, suppress).max(dim=-1)
        check_numbers(best)
        still_open = []
        chosen = zip(open_rows, tokens[:, 0].tolist(), best[:, 0].tolist(), strict=True)
        for row, (sentence, token, gain) in enumerate(chosen):
            if gain == -torch.inf:  # nothing may be written
                continue
            log_prob[sentence] += gain
            if token == EOS:
                finished[sentence] = True
            else:
                written[sentence].append(token)
                still_open.append(row)
        if len(still_open) < len(open_rows):
            keep = torch.tensor(still_open, dtype=torch.long, device=tokens.device)
            open_rows = [open_rows[row] for row in still_open]
            tokens, state = tokens[keep], state.keep(keep)
    return [Hypothesis(*found) for found in zip(written, log_prob, finished, strict=True)]


@dataclass
class _Open:
    """The sentences that are still being written: rows of the batch."""

    sentence: Int[Tensor, " rows"]  # which sentence each row is
    log_prob: Float[Tensor, "rows beam"]
    tokens: Int[Tensor, "rows beam length"]

    def keep(self, rows: Tensor) -> "_Open":
        return _Open(self.sentence[rows], self.log_prob[rows], self.tokens[rows])


@torch.no_grad()
def beam_search(
    step: Step,
    state: Any,
    batch: int,
    beam_size: int,
    max_len: int,
    length_penalty: float = 1.0,
    exact: bool = False,
    suppress: Sequence[int] = (PAD, BOS),
    device: Any = None,
) -> list[list[Hypothesis]]:
    """Keep the `beam_size` most probable beginnings of each sentence; give back finished ones, best score first.

    At every step all continuations of all beams compete. Those that end with EOS and stand among the best `beam_size`
    leave for a pool of finished hypotheses; the best `beam_size` others go on. A sentence is done when its pool is
    full and no open beam can beat the worst in it: judged at the open beam's present length, or with `exact` at the
    best length it can still reach. One that reaches `max_len` tokens without EOS is given back unfinished, after
    the finished ones. Source: Wu et al. 2016, section 7, for the length normalization (in its simpler form).

    `state` is what `step` takes and gives back (see the head of this module), at first that of the `batch` sentences. A
    `length_penalty` of 0 compares log-probabilities, 1 their mean per token. Tokens in `suppress` are never written.
    `device` is where the model is: the first tokens are made there.
    """
    check_whole(max_len=max_len, beam_size=beam_size)
    check_whole(0, batch=batch, suppress=min(suppress, default=0))
    check_between(-LARGEST_PENALTY, LARGEST_PENALTY, length_penalty=length_penalty)
    pools: list[list[Hypothesis]] = [[] for _ in range(batch)]
    rows = torch.arange(batch, device=device)
    open_ = _Open(rows, torch.zeros(batch, 1, device=device), torch.full((batch, 1, 1), BOS, device=device))
    for length in range(1, max_len + 1):
        if not len(open_.sentence):
            break
        logits, state = step(open_.tokens[:, :, -1], state)
        log_prob, parents, tokens = _best_continuations(open_.log_prob, logits, suppress, 2 * beam_size)
        ends = tokens == EOS
        _collect(pools, open_, log_prob, parents, ends & (log_prob > -torch.inf), beam_size, length_penalty)
        for row in (log_prob[:, 0] == -torch.inf).nonzero()[:, 0].tolist():  # nothing may follow
            pool = pools[open_.sentence[row]]
            pool += _unfinished(open_, row) if not pool else []  # where nothing has ended, what is written so far
        # The best that go on, in order: ends sort behind everything else.
        order = ends.long().argsort(dim=1, stable=True)[:, :beam_size]
        log_prob = log_prob.masked_fill(ends, -torch.inf).gather(1, order)
        parents, tokens = parents.gather(1, order), tokens.gather(1, order)
        history = open_.tokens.gather(1, parents[..., None].expand(-1, -1, length))
        open_ = _Open(open_.sentence, log_prob, torch.cat([history, tokens[..., None]], dim=-1))
        best_length = max_len if exact and length_penalty > 0 else length
        going_on = _can_improve(pools, open_, beam_size, length_penalty, best_length)
        state = state.reorder(parents)
        if len(going_on) < len(open_.sentence):
            open_, state = open_.keep(going_on), state.keep(going_on)
    for row, sentence in enumerate(open_.sentence.tolist()):
        pools[sentence] += _unfinished(open_, row)
    return [pool[:beam_size] for pool in pools]


def _unfinished(open_: _Open, row: int) -> list[Hypothesis]:
    """The open beams of one row, best first: all are equally long."""
    beams = zip(open_.tokens[row, :, 1:].tolist(), open_.log_prob[row].tolist(), strict=True)
    return [Hypothesis(tokens, total, False) for tokens, total in beams if total > -torch.inf]


def _best_continuations(
    log_prob: Float[Tensor, "rows beam"],
    logits: Float[Tensor, "rows beam vocab_size"],
    suppress: Sequence[int],
    count: int,
) -> tuple[Float[Tensor, "rows count"], Int[Tensor, "rows count"], Int[Tensor, "rows count"]]:
    """The `count` most probable continuations of each row: total log-probability, parent beam, token.

    The best of all are among the best of each beam.
    """
    best, tokens = largest(log_probs_of(logits, suppress), count)
    check_numbers(best)
    total = log_prob[..., None] + best
    per_beam = total.shape[-1]
    total, index = largest(total.flatten(1), count)
    return total, index // per_beam, tokens.flatten(1).gather(1, index)


def largest(
    scores: Float[Tensor, "*rows n"], count: int
) -> tuple[Float[Tensor, "*rows count"], Int[Tensor, "*rows count"]]:
    """The `count` largest scores of each row and their places; of equal ones the first comes first, as in `max`.

    `topk` leaves the order of equal scores open, and which of them it takes.

    >>> largest(torch.tensor([0.2, 0.3, 0.2, 0.3]), 3)
    (tensor([0.3000, 0.3000, 0.2000]), tensor([1, 3, 0]))
    """
    count = min(count, scores.shape[-1])
    values, places = scores.topk(count, dim=-1)
    if ((scores >= values[..., -1:]).sum(dim=-1) > count).any():  # the last one has equals that were not taken
        values, places = scores.sort(dim=-1, descending=True, stable=True)
        return values[..., :count], places[..., :count]
    places = places.sort(dim=-1).values
    values, order = scores.gather(-1, places).sort(dim=-1, descending=True, stable=True)
    return values, places.gather(-1, order)


def _collect(
    pools: list[list[Hypothesis]],
    open_: _Open,
    log_prob: Tensor,
    parents: Tensor,
    ends: Tensor,
    beam_size: int,
    length_penalty: float,
) -> None:
    """Move what ended among the best `beam_size` to the pools, which stay sorted and no longer than `beam_size`."""
    for row, rank in ends[:, :beam_size].nonzero().tolist():
        tokens = open_.tokens[row, parents[row, rank], 1:].tolist()
        pool = pools[open_.sentence[row]]
        pool.append(Hypothesis(tokens, log_prob[row, rank].item(), True))
        pool.sort(key=lambda h: -h.score(length_penalty))
        del pool[beam_size:]


def _can_improve(
    pools: list[list[Hypothesis]], open_: _Open, beam_size: int, length_penalty: float, best_length: int
) -> Int[Tensor, " rows"]:
    """The rows whose best open beam may still beat the worst hypothesis of its full pool."""
    going_on = []
    for row, (sentence, best) in enumerate(zip(open_.sentence.tolist(), open_.log_prob[:, 0].tolist(), strict=True)):
        pool = pools[sentence]
        hopeless = len(pool) == beam_size and best / best_length**length_penalty <= pool[-1].score(length_penalty)
        if not hopeless and best > -torch.inf:
            going_on.append(row)
    return torch.tensor(going_on, dtype=torch.long, device=open_.sentence.device)


def log_probs_of(
    logits: Float[Tensor, "*shape vocab_size"], suppress: Sequence[int]
) -> Float[Tensor, "*shape vocab_size"]:
    """The model's own log-probabilities, in single precision or better; what is suppressed has none.

    >>> log_probs_of(torch.zeros(4), suppress=(0,)).exp()
    tensor([0.0000, 0.2500, 0.2500, 0.2500])
    """
    log_probs = logits.log_softmax(dim=-1, dtype=torch.float64 if logits.dtype == torch.float64 else torch.float32)
    log_probs[..., list(suppress)] = -torch.inf
    return log_probs


def check_numbers(best: Tensor) -> None:
    """NaN is larger than everything for `max` and `topk`: where there is one, it is among the best."""
    if best.isnan().any():
        raise ValueError("expected scores that are numbers, got NaN: look at the weights of the model")
