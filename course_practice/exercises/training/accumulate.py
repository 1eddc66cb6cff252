"""Exercise: one gradient from many small batches."""

import copy
from dataclasses import dataclass

import torch
from torch.nn import functional as F

from course_lib.batching import make_batch
from course_lib.tokens import PAD
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def accumulate(loss_sum, batches):
    """The mean loss a token over all batches; their gradient is left in the weights. One batch in memory at a time."""
    n_tokens = sum(batch.n_tokens for batch in batches)
    mean = 0.0
    for batch in batches:
        loss = loss_sum(batch) / n_tokens
        loss.backward()
        mean += loss.item()
    return mean


def all_in_one_graph(loss_sum, batches):
    loss = sum(loss_sum(batch) for batch in batches) / sum(batch.n_tokens for batch in batches)
    loss.backward()
    return loss.item()


def count_the_targets(loss_sum, batches):
    n = sum(int((batch.tgt_out != PAD).sum()) for batch in batches)
    losses = []
    for batch in batches:
        losses.append(loss_sum(batch))
        losses[-1].backward(torch.tensor(1 / n))
    return torch.stack(losses).detach().sum() / n


def with_shares(loss_sum, batches):
    counts = torch.tensor([float(batch.tgt_lengths.sum()) for batch in batches])
    total = 0.0
    for share, batch in zip(counts / counts.sum(), batches, strict=True):
        mean = share * loss_sum(batch) / batch.n_tokens
        mean.backward()
        total = total + mean.detach()
    return total


class TokenLoss:
    """The summed loss of a batch's real target tokens, by a table that gives every word one guess at the next."""

    def __init__(self, vocab_size, seed):
        self.weight = randn(vocab_size, vocab_size, seed=seed).double().requires_grad_()

    def __call__(self, batch):
        logits = self.weight[batch.tgt_in]
        return F.cross_entropy(logits.flatten(0, 1), batch.tgt_out.flatten(), ignore_index=PAD, reduction="sum")

    def __eq__(self, other):
        return isinstance(other, TokenLoss) and torch.equal(self.weight, other.weight)

    __hash__ = None

    def __repr__(self):
        return "loss_sum(batch), the sum of the losses of its real target tokens"


@dataclass(frozen=True)
class Lengths:
    """Batches by the lengths of their targets, EOS counted: what a case holds, and a message shows."""

    batches: tuple[tuple[int, ...], ...]

    def made(self):
        return [make_batch([([5], list(range(4, 3 + length))) for length in lengths]) for lengths in self.batches]

    def __repr__(self):
        sizes = [str(sum(lengths)) for lengths in self.batches]
        return f"{len(sizes)} batches with {', '.join(sizes)} real target tokens"


def _call(obj, given):
    """The mean that comes back, and the gradient that was left in the weights."""
    loss_sum, batches = given.args
    loss_sum = copy.deepcopy(loss_sum)
    mean = obj(loss_sum, batches.made())
    if mean is None or mean is ...:
        return mean
    grad = loss_sum.weight.grad
    return mean, torch.zeros_like(loss_sum.weight) if grad is None else grad.clone()


def _cases():
    return [
        case(TokenLoss(8, seed=1), Lengths(((2, 3),)), about="one batch"),
        case(
            TokenLoss(8, seed=2),
            Lengths(
                (
                    (3,),
                    (3,),
                )
            ),
            about="two batches of equal length",
        ),
        case(
            TokenLoss(8, seed=3),
            Lengths(
                (
                    (2, 2),
                    (5,),
                )
            ),
            about="two batches of different length",
        ),
        case(
            TokenLoss(9, seed=4),
            Lengths(
                (
                    (2, 5),
                    (3,),
                    (6, 2, 2),
                )
            ),
            about="three batches with pads",
        ),
    ]


def _with(scale=lambda loss, batch, batches: loss / sum(b.n_tokens for b in batches), backward=True, chosen=list):
    """Each batch's loss, scaled and sent back, and the sum of what was sent."""

    def answer(loss_sum, batches):
        total = 0.0
        for batch in chosen(batches):
            loss = scale(loss_sum(batch), batch, batches)
            if backward:
                loss.backward()
            total += loss.item()
        return total

    return answer


def _right_mean_of(wrong):
    """The gradient of another answer, with the right mean returned."""

    def answer(loss_sum, batches):
        wrong(loss_sum, batches)
        with torch.no_grad():
            return sum(loss_sum(batch) for batch in batches) / sum(batch.n_tokens for batch in batches)

    return answer


def _returns_another(what):
    """The right gradient, with another number returned, made of each batch's share of the mean and its tokens."""

    def answer(loss_sum, batches):
        counts = [batch.n_tokens for batch in batches]
        shares = [loss_sum(batch) / sum(counts) for batch in batches]
        for share in shares:
            share.backward()
        return what([share.item() for share in shares], counts)

    return answer


def _sum_of_means_and_their_mean(loss_sum, batches):
    return _SUM_OF_MEANS(loss_sum, batches) / len(batches)


def _each_batch_twice(loss_sum, batches):
    for _ in range(2):
        mean = accumulate(loss_sum, batches)
    return mean


def _cells(batches):
    return sum(batch.tgt_out.numel() for batch in batches)


_MEAN_OF_MEANS = _with(lambda loss, batch, batches: loss / batch.n_tokens / len(batches))
_SUM_OF_MEANS = _with(lambda loss, batch, batches: loss / batch.n_tokens)
_SUM = _with(lambda loss, batch, batches: loss)

EXERCISE = Exercise(
    title="One gradient from many batches",
    task="Leave in the weights the gradient of the mean loss a token over all batches together, and return this mean. "
    "loss_sum(batch) is the sum over the real target tokens, batch.n_tokens their number.",
    reference=accumulate,
    cases=_cases,
    call=_call,
    mistakes=(
        Mistake(
            "mean-of-means",
            _MEAN_OF_MEANS,
            "You average the means of the batches, so that a token of a small batch counts more than one of a large "
            "batch. Divide each sum by the number of tokens of *all* batches.",
        ),
        Mistake(
            "mean-of-means-returned-rightly",
            _right_mean_of(_MEAN_OF_MEANS),
            "The mean that you return is right, but the gradient is that of the mean of the batches' means, in which a "
            "token of a small batch counts more. Divide each sum by the number of tokens of *all* batches.",
        ),
        Mistake(
            "sum-of-means",
            _SUM_OF_MEANS,
            "You add up the means of the batches, so that the gradient grows with their number. Divide each sum by the "
            "number of tokens of *all* batches.",
        ),
        Mistake(
            "sum-of-means-returned-rightly",
            _right_mean_of(_SUM_OF_MEANS),
            "The mean that you return is right, but the gradient is that of the *sum* of the batches' means. Divide "
            "each sum by the number of tokens of all batches before `backward`.",
        ),
        Mistake(
            "sum-of-means-and-their-mean",
            _sum_of_means_and_their_mean,
            "The gradient is that of the *sum* of the batches' means, and what you return is the mean of these means. "
            "Divide each sum of losses by the number of tokens of *all* batches, before `backward`.",
        ),
        Mistake(
            "each-batch-twice",
            _each_batch_twice,
            "The mean is right, but the gradient is twice what it should be: each batch goes backward alone, and once "
            "more in the sum of all. One of the two is enough.",
        ),
        Mistake(
            "sum",
            _SUM,
            "Your loss and gradient are sums over all tokens. Divide by the number of tokens of all batches.",
        ),
        Mistake(
            "divided-after-backward",
            _right_mean_of(_SUM),
            "The mean that you return is right, but the gradient is that of the sum: `backward` ran before the "
            "division.",
        ),
        Mistake(
            "last-share-returned",
            _returns_another(lambda shares, counts: shares[-1]),
            "The gradient is right, but you return what the *last* batch adds to the mean. Add up what all of them do.",
        ),
        Mistake(
            "mean-of-means-returned",
            _returns_another(
                lambda shares, counts: (
                    sum(s * sum(counts) / n for s, n in zip(shares, counts, strict=True)) / len(counts)
                )
            ),
            "The gradient is right, but you return the mean of the batches' means. Divide the sum of all losses by the "
            "number of all tokens.",
        ),
        Mistake(
            "sum-returned",
            _returns_another(lambda shares, counts: sum(shares) * sum(counts)),
            "The gradient is right, but you return the sum of the losses. Divide it by the number of all tokens.",
        ),
        Mistake(
            "tokens-of-the-first-batch",
            _with(lambda loss, batch, batches: loss / batches[0].n_tokens / len(batches)),
            "You divide by the tokens of the first batch times the number of batches. They differ in length: add up "
            "`batch.n_tokens` of all batches.",
        ),
        Mistake(
            "by-cells",
            _with(lambda loss, batch, batches: loss / _cells(batches)),
            "You divide by the number of all cells, pads included. Only real target tokens count: `batch.n_tokens`.",
        ),
        Mistake(
            "by-sentences",
            _with(lambda loss, batch, batches: loss / sum(len(b.src) for b in batches)),
            "You divide by the number of sentences. The mean is over tokens: `batch.n_tokens`.",
        ),
        Mistake(
            "by-batches",
            _with(lambda loss, batch, batches: loss / len(batches)),
            "You divide by the number of batches. The mean is over tokens: `batch.n_tokens`, of all batches.",
        ),
        Mistake(
            "by-batches-returned-rightly",
            _right_mean_of(_with(lambda loss, batch, batches: loss / len(batches))),
            "The mean that you return is right, but the gradient is that of the sum divided by the number of "
            "*batches*. Divide by the number of tokens of all batches before `backward`.",
        ),
        Mistake(
            "source-tokens",
            _with(lambda loss, batch, batches: loss / sum(int(b.src_lengths.sum()) for b in batches)),
            "You divide by the number of source tokens. The losses belong to target tokens: `batch.n_tokens`.",
        ),
        Mistake(
            "last-batch-alone",
            _with(chosen=lambda batches: list(batches)[-1:]),
            "Only the last batch has left a gradient. Each batch needs its own `backward`, or one after the loop for "
            "the sum of all.",
        ),
        Mistake(
            "last-gradient-alone",
            _right_mean_of(_with(chosen=lambda batches: list(batches)[-1:])),
            "The mean is right, but only the last batch has left a gradient: call `backward` inside the loop.",
        ),
        Mistake(
            "first-batch-alone",
            _with(chosen=lambda batches: list(batches)[:1]),
            "Only the first batch counts. Does the `return` stand inside the loop?",
        ),
        Mistake(
            "no-backward",
            _with(backward=False),
            "The mean is right, but the weights have no gradient. Call `backward` on the loss that is computed from "
            "them: a number that `.item()` took out of it no longer leads back to the weights.",
        ),
        Mistake(
            "running-number-of-tokens",
            _with(
                lambda loss, batch, batches: (
                    loss / sum(b.n_tokens for b in batches[: 1 + [b is batch for b in batches].index(True)])
                )
            ),
            "Each batch is divided by the tokens seen *so far*. Count the tokens of all batches before the first "
            "`backward`.",
        ),
    ),
    hints=(
        "The mean over all tokens is one fraction: all losses above the line, all tokens below it. What does one batch "
        "add to it?",
        "Count first: `n_tokens = sum(batch.n_tokens for batch in batches)`. Gradients add up in the weights when "
        "`backward` is called several times.",
        "In the loop: `loss = loss_sum(batch) / n_tokens`, `loss.backward()`, and add `loss.item()` to the mean.",
    ),
    alternatives=(all_in_one_graph, count_the_targets, with_shares),
    difficulty=3,
    minutes=12,
)
