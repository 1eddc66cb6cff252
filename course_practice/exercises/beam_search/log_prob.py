"""Exercise: the log-probability of a sentence."""

import torch
from torch.nn import functional as F

from course_lib.tokens import EOS, PAD
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn, seeded


def log_prob(logits, tgt_out):
    """log P of each sentence: (batch,). `tgt_out` ends with EOS; behind it stand pads.

    >>> log_prob(torch.zeros(1, 3, 4), torch.tensor([[3, 2, 0]]))  # two tokens, each with 1/4
    tensor([-2.7726])
    """
    each = logits.log_softmax(dim=-1).gather(-1, tgt_out[..., None])[..., 0]
    return each.masked_fill(tgt_out == PAD, 0.0).sum(dim=-1)


def with_cross_entropy(logits, tgt_out):
    return -F.cross_entropy(logits.mT, tgt_out, ignore_index=PAD, reduction="none").sum(dim=1)


def with_loops(logits, tgt_out):
    totals = []
    for scores, row in zip(logits, tgt_out.tolist(), strict=True):
        real = [token for token in row if token != PAD]
        totals.append(sum(scores[t].log_softmax(0)[token] for t, token in enumerate(real)))
    return torch.stack(totals)


def by_the_formula(logits, tgt_out):
    probs = logits.exp() / logits.exp().sum(-1, keepdim=True)
    picked = (probs * F.one_hot(tgt_out, logits.shape[-1])).sum(-1)
    return torch.where(tgt_out == PAD, torch.ones_like(picked), picked).log().sum(-1)


def _sum(values, keep=lambda tgt: tgt != PAD, total=lambda each, real: each.sum(dim=-1)):
    """The right answer with some of its steps exchanged."""

    def wrong(logits, tgt_out):
        each = values(logits).gather(-1, tgt_out[..., None])[..., 0]
        real = keep(tgt_out)
        return total(each.masked_fill(~real, 0.0), real)

    return wrong


def _log_softmax(logits):
    return logits.log_softmax(dim=-1)


def _product(logits, tgt_out):
    return log_prob(logits, tgt_out).exp()


def _case(batch, n, vocab_size, lengths, about, seed):
    tgt_out = torch.randint(3, vocab_size, (batch, n), generator=seeded(seed))
    for row, length in zip(tgt_out, lengths, strict=True):
        row[length - 1], row[length:] = EOS, PAD
    return case(randn(batch, n, vocab_size, seed=seed), tgt_out, about=about)


def _shifted(logits, tgt_out):
    later = tgt_out[:, 1:]
    each = _log_softmax(logits[:, :-1]).gather(-1, later[..., None])[..., 0]
    return each.masked_fill(later == PAD, 0.0).sum(dim=-1)


def _last_position_left_out(logits, tgt_out):
    each = _log_softmax(logits[:, :-1]).gather(-1, tgt_out[:, :-1, None])[..., 0]
    return each.masked_fill(tgt_out[:, :-1] == PAD, 0.0).sum(dim=-1)


EXERCISE = Exercise(
    title="The log-probability of a sentence",
    task="From logits (batch, tgt_len, vocab_size) and tgt_out (batch, tgt_len), which ends with EOS and is filled up "
    "with PAD, return the log-probability of each sentence, (batch,): EOS counts, pads do not.",
    reference=log_prob,
    cases=lambda: [
        _case(1, 3, 5, [3], "one sentence", 0),
        _case(2, 5, 7, [5, 3], "a sentence with pads", 1),
        _case(3, 2, 5, [1, 2, 2], "an empty sentence, of which EOS alone is left", 2),
        _case(4, 4, 4, [4, 2, 3, 1], "all sizes equal", 3),
    ],
    mistakes=(
        Mistake(
            "pads-counted",
            _sum(_log_softmax, keep=lambda tgt: tgt >= 0),
            "The pads are counted as if the model had written them. Only the tokens up to and including EOS belong to "
            "the sentence.",
        ),
        Mistake(
            "end-left-out",
            _sum(_log_softmax, keep=lambda tgt: (tgt != PAD) & (tgt != EOS)),
            "The words are right, and EOS is missing. That the sentence stops here has a probability, too; without it, "
            "every beginning of a sentence would be more probable than the sentence.",
        ),
        Mistake(
            "mean-over-tokens",
            _sum(_log_softmax, total=lambda each, real: each.sum(dim=-1) / real.sum(dim=-1)),
            "This is the log-probability for each token. The probability of a sentence is a product over its tokens, "
            "so its logarithm is a plain sum.",
        ),
        Mistake(
            "mean-over-positions",
            _sum(_log_softmax, total=lambda each, real: each.mean(dim=-1)),
            "You take a mean over all positions. The probability of a sentence is a product over its tokens, so its "
            "logarithm is a plain sum.",
        ),
        Mistake(
            "one-number-for-the-batch",
            _sum(_log_softmax, total=lambda each, real: each.sum()),
            "One number came out for the whole batch. Add up over the positions alone, the last axis that is left.",
        ),
        Mistake(
            "no-softmax",
            _sum(lambda logits: logits),
            "You add up the logits as they are. They are no log-probabilities yet: `log_softmax` over the vocabulary "
            "makes them so.",
        ),
        Mistake(
            "no-logarithm",
            _sum(lambda logits: logits.softmax(dim=-1)),
            "You add up probabilities. Probabilities of tokens are multiplied; it is their logarithms that are added.",
        ),
        Mistake(
            "probability",
            _product,
            "This is the probability itself. Return its logarithm: products of many small numbers become 0 on a "
            "machine, and sums of logarithms do not.",
        ),
        Mistake(
            "softmax-over-positions",
            _sum(lambda logits: logits.log_softmax(dim=1)),
            "The softmax runs over the positions. The tokens of the vocabulary compete with each other, so it runs "
            "over the last axis.",
        ),
        Mistake(
            "loss",
            lambda logits, tgt_out: -log_prob(logits, tgt_out),
            "The sign is turned: this is the loss. A log-probability is never above 0.",
        ),
        Mistake(
            "likeliest-tokens",
            lambda logits, tgt_out: (
                logits.log_softmax(dim=-1).max(dim=-1).values.masked_fill(tgt_out == PAD, 0.0).sum(dim=-1)
            ),
            "You take the largest log-probability at each position. Take that of the token that stands in `tgt_out`.",
        ),
        Mistake(
            "shifted",
            _shifted,
            "Each target is looked up one position too early. `tgt_out` is shifted already: the logits at position t "
            "predict `tgt_out` at position t.",
        ),
        Mistake(
            "last-position-left-out",
            _last_position_left_out,
            "The last position is left out, so the longest sentences lack their EOS. `tgt_out` is shifted already: "
            "every position of it has its logits.",
        ),
        Mistake(
            "logarithm-of-the-sum",
            lambda logits, tgt_out: _sum(lambda logits: logits.softmax(dim=-1))(logits, tgt_out).log(),
            "You add up probabilities and take the logarithm of the sum. Take the logarithm of each, then add.",
        ),
    ),
    hints=(
        "Three steps: a log-probability for every token of the vocabulary, then the one of the token that was written, "
        "then a sum without the pads.",
        "`log_softmax` over the vocabulary, `gather` along the same axis, and 0 where `tgt_out` is PAD.",
        "`each = logits.log_softmax(dim=-1).gather(-1, tgt_out[..., None])[..., 0]`, then mask the pads and sum over "
        "`dim=-1`.",
    ),
    alternatives=(with_cross_entropy, with_loops, by_the_formula),
    difficulty=1,
    minutes=5,
)
