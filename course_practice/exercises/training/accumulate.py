import copy
import weakref
from dataclasses import dataclass

import torch
from torch.nn import functional as F

from course_lib.batching import make_batch
from course_lib.tokens import PAD
from course_practice.engine import Exercise, case
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


def each_weighed_by_its_share(loss_sum, batches):
    counts = torch.tensor([batch.n_tokens for batch in batches], dtype=torch.float64)
    total = torch.zeros((), dtype=torch.float64)
    for share, batch in zip(counts / counts.sum(), batches, strict=True):
        loss = share * (loss_sum(batch) / batch.n_tokens)
        loss.backward()
        total += loss.detach()
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


@dataclass
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
    loss_sum, made = copy.deepcopy(loss_sum), batches.made()
    mean = obj(loss_sum, mine := [*made])
    batches.batches = batches.batches if mine == made else ()  # a case is compared: whoever changes it is told so
    if mean is None or mean is ...:
        return mean
    grad = loss_sum.weight.grad
    return mean, torch.zeros_like(loss_sum.weight) if grad is None else grad.clone()


class _Stored(torch.autograd.Function):
    """Hands a loss on. Its node lives as long as the graph does that the loss is part of."""

    @staticmethod
    def forward(ctx, loss, graphs):
        ctx.graphs = graphs
        graphs.add(ctx)
        return loss.clone()

    @staticmethod
    def backward(ctx, grad):
        ctx.graphs.discard(ctx)  # what it has stored is freed
        return grad, None


class _WatchedLoss(TokenLoss):
    """The loss of a case, which counts the graphs that are in memory when it is called."""

    def __init__(self, loss_sum):
        self.weight = loss_sum.weight.detach().clone().requires_grad_()
        self.graphs, self.most = weakref.WeakSet(), 0

    def __call__(self, batch):
        loss = super().__call__(batch)
        self.most = max(self.most, len(self.graphs))
        return _Stored.apply(loss, self.graphs) if loss.requires_grad else loss


def _keeps_all_graphs(obj, given):
    """Are two graphs still there when a third is made? One may be, under a name that is only now set anew."""
    loss_sum, batches = given.args
    watched = _WatchedLoss(loss_sum)
    obj(watched, batches.made())
    return "one-graph-for-all" if watched.most > 1 else ""


def _cases():
    return [
        case(TokenLoss(8, seed=1), Lengths(((2, 3),)), about="one batch"),
        case(TokenLoss(8, seed=2), Lengths(((3,), (3,))), about="two batches of equal length"),
        case(TokenLoss(8, seed=3), Lengths(((2, 2), (5,))), about="two batches of different length"),
        case(TokenLoss(9, seed=4), Lengths(((2, 5), (3,), (6, 2, 2))), about="three batches with pads"),
    ]


EXERCISE = Exercise(
    reference=accumulate,
    cases=_cases,
    call=_call,
    excluded=_keeps_all_graphs,
    alternatives=(each_weighed_by_its_share,),
)
