"""Exercise: one step of beam search."""

import heapq

import torch

from course_practice.engine import Exercise, Mistake, case
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


def best_of_each_first(log_prob, log_probs, k):
    each, tokens = log_probs.topk(min(k, log_probs.shape[-1]))
    totals, places = (each + log_prob.unsqueeze(-1)).view(-1).sort(descending=True)
    places = places[:k]
    return totals[:k], torch.div(places, each.shape[1], rounding_mode="floor"), tokens.view(-1)[places]


def with_unravel_index(log_prob, log_probs, k):
    totals = torch.add(log_probs, log_prob.reshape(-1, 1))
    places = totals.reshape(-1).argsort(descending=True)[:k]
    parents, tokens = torch.unravel_index(places, totals.shape)
    return totals[parents, tokens], parents, tokens


def _step(total=lambda a, b: a[:, None] + b, largest=True, split=lambda places, v, k: (places // v, places % v)):
    """The right answer with some of its steps exchanged."""

    def wrong(log_prob, log_probs, k):
        totals, places = total(log_prob, log_probs).flatten().topk(k, largest=largest)
        return totals, *split(places, log_probs.shape[1], k)

    return wrong


def _within_each(log_prob, log_probs, k):
    """One continuation for each beam."""
    gains, tokens = log_probs.max(dim=-1)
    return log_prob + gains, torch.arange(len(log_prob)), tokens


def _within_each_sorted(log_prob, log_probs, k):
    totals, parents, tokens = _within_each(log_prob, log_probs, k)
    order = totals.argsort(descending=True)
    return totals[order], parents[order], tokens[order]


def _table_for_each(log_prob, log_probs, k):
    totals, tokens = (log_prob[:, None] + log_probs).topk(k, dim=-1)
    return totals, torch.arange(len(log_prob))[:, None].expand_as(tokens), tokens


def _of_the_best_beam(log_prob, log_probs, k):
    gains, tokens = log_probs[0].topk(k)
    return log_prob[0] + gains, torch.zeros_like(tokens), tokens


def _unordered(log_prob, log_probs, k):
    totals, parents, tokens = beam_step(log_prob, log_probs, k)
    return totals.flip(0), parents.flip(0), tokens.flip(0)


def _gains(log_prob, log_probs, k):
    _totals, parents, tokens = beam_step(log_prob, log_probs, k)
    return log_probs[parents, tokens], parents, tokens


def _case(beam, vocab_size, k, about, seed, first=None):
    log_prob = first if first is not None else -randn(beam, seed=seed).abs().cumsum(dim=0)
    log_probs = randn(beam, vocab_size, seed=seed + 1, scale=1.5).log_softmax(dim=-1)
    return case(log_prob, log_probs, k, about=about)


def _fewer_than_k(log_prob, log_probs, k):
    gains, tokens = log_probs.max(dim=-1)
    totals, parents = (log_prob + gains).topk(min(k, len(log_prob)))
    return totals, parents, tokens[parents]


EXERCISE = Exercise(
    title="One step of beam search",
    task="log_prob (beam,) is the log-probability of each beam, log_probs (beam, vocab_size) what each next token "
    "would add. Return (totals, parents, tokens), (k,) each: the k most probable continuations of all beams together, "
    "best first, with the number of the beam that each goes on from.",
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
    mistakes=(
        Mistake(
            "old-score-forgotten",
            _step(total=lambda a, b: b),
            "You rank by what the next token adds alone. Add what the beam has so far: "
            "`log_prob[:, None] + log_probs`.",
        ),
        Mistake(
            "right-choice-wrong-total",
            _gains,
            "Parents and tokens are right. Your totals lack what each beam had before this step.",
        ),
        Mistake(
            "multiplied",
            _step(total=lambda a, b: a[:, None] * b),
            "You multiply log-probabilities. Probabilities are multiplied, so their logarithms are added.",
        ),
        Mistake(
            "one-for-each-beam",
            _within_each_sorted,
            "Each beam goes on with its own best token. All continuations of all beams compete: a good beam may go on "
            "in several ways, and a bad one may die out.",
        ),
        Mistake(
            "one-for-each-beam-in-order",
            _within_each,
            "Each beam goes on with its own best token. All continuations of all beams compete, and the best comes "
            "first.",
        ),
        Mistake(
            "k-for-each-beam",
            _table_for_each,
            "You return k continuations of *each* beam. Flatten the table first, so that all continuations compete for "
            "k places.",
        ),
        Mistake(
            "first-beam-alone",
            _of_the_best_beam,
            "Only beam 0 goes on. All continuations of all beams compete.",
        ),
        Mistake(
            "parents-and-tokens-swapped",
            _step(split=lambda places, v, k: (places % v, places // v)),
            "Parents and tokens have changed places. In the flattened table each beam takes up `vocab_size` places, so "
            "`//` by it gives the beam, and `%` the token.",
        ),
        Mistake(
            "divided-by-k",
            _step(split=lambda places, v, k: (places // k, places % k)),
            "You divide the place by k. One row of the table is `vocab_size` long: divide by that.",
        ),
        Mistake(
            "divided-by-the-beams",
            lambda log_prob, log_probs, k: (
                (found := beam_step(log_prob, log_probs, k))[0],
                (found[1] * log_probs.shape[1] + found[2]) // len(log_prob),
                (found[1] * log_probs.shape[1] + found[2]) % len(log_prob),
            ),
            "You divide the place by the number of beams. One row of the table is `vocab_size` long: divide by that.",
        ),
        Mistake(
            "places-not-split",
            lambda log_prob, log_probs, k: (
                (found := beam_step(log_prob, log_probs, k))[0],
                found[1],
                found[1] * log_probs.shape[1] + found[2],
            ),
            "Your tokens are places in the flattened table. The token is the place modulo `vocab_size`.",
        ),
        Mistake(
            "least-probable",
            _step(largest=False),
            "You take the k *least* probable continuations. A log-probability near 0 is a large one.",
        ),
        Mistake(
            "worst-first",
            _unordered,
            "The right k, but the worst comes first. Here the best comes first.",
        ),
        Mistake(
            "probabilities",
            lambda log_prob, log_probs, k: (
                (found := beam_step(log_prob, log_probs, k))[0].exp(),
                found[1],
                found[2],
            ),
            "Parents and tokens are right. Your totals are probabilities: keep the logarithms, the next step adds to "
            "them.",
        ),
        Mistake(
            "one-for-each-beam-at-most",
            _fewer_than_k,
            "Each beam goes on with its own best token, so there are never more continuations than beams. All "
            "continuations of all beams compete: a good beam may go on in several ways.",
        ),
    ),
    hints=(
        "Make the table of all totals, (beam, vocab_size), and choose in the *whole* table.",
        "`flatten()` lays the rows one behind the other, `vocab_size` places each. From a place you get the row by "
        "`//`, and the column by `%`.",
        "`totals, places = (log_prob[:, None] + log_probs).flatten().topk(k)`.",
    ),
    alternatives=(with_a_heap, best_of_each_first, with_unravel_index),
    difficulty=2,
    minutes=10,
)
