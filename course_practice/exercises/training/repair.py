from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.batching import make_batch
from course_lib.tokens import PAD
from course_lib.training import label_smoothed_loss
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def fit(model, optimizer, epochs, rate, validate):
    """Train on each epoch's batches; the validation loss after each epoch."""
    update, curve = 0, []
    for batches in epochs:
        model.train()
        for batch in batches:
            update += 1
            optimizer.param_groups[0]["lr"] = rate(update)
            logits = model(batch.src, batch.tgt_in)
            loss = F.cross_entropy(logits.mT, batch.tgt_out, ignore_index=PAD)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        model.eval()
        curve.append(validate(model))
    return curve


def starter_repair(model, optimizer, epochs, rate, validate):
    curve = []
    model.train()
    for number, batches in enumerate(epochs, start=1):
        optimizer.param_groups[0]["lr"] = rate(number)
        for batch in batches:
            logits = model(batch.src, batch.tgt_in)
            loss = F.cross_entropy(logits.mT, batch.tgt_out)
            optimizer.zero_grad()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            loss.backward()
            optimizer.step()
        model.eval()
        curve.append(validate(model))
    return curve


def with_the_courses_loss(model, optimizer, epochs, rate, validate):
    curve, update = [], 1
    for batches in epochs:
        for batch in batches:
            model.train()
            loss = label_smoothed_loss(model(batch.src, batch.tgt_in), batch.tgt_out, 0.0)
            for group in optimizer.param_groups:
                group["lr"] = rate(update)
            model.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm=1.0)
            optimizer.step()
            update += 1
        curve += [validate(model.eval())]
    return curve


class _Spy(nn.Module):
    """A table of next words that remembers in which mode it was called; `scale` makes its gradient large or small."""

    def __init__(self, scale):
        super().__init__()
        self.scale = scale
        self.table = nn.Parameter(3 * randn(9, 9, seed=1).double())
        self.trained, self.validated = [], []

    def forward(self, src, tgt_in):
        (self.trained if torch.is_grad_enabled() else self.validated).append(self.training)
        return self.scale * self.table[tgt_in]


def _validate(model):
    with torch.no_grad():
        batch = make_batch([([4], [4, 5, 6, 7])])
        return F.cross_entropy(model(batch.src, batch.tgt_in).mT, batch.tgt_out).item()


def _rate(update):
    return 0.5 / (1 + update)


class _Recorded(torch.optim.Optimizer):
    """Plain SGD that remembers its rates and how large the gradients were.

    It begins without `Optimizer.__init__`, whose imports may take long; a scheduler takes it all the same.
    """

    def __init__(self, parameters):
        self.param_groups = [{"params": list(parameters), "lr": 0.0}]
        self.rates, self.norms = [], []

    def zero_grad(self, set_to_none=True):
        for parameter in self.param_groups[0]["params"]:
            parameter.grad = None

    @torch.no_grad()
    def step(self, closure=None):
        (group,) = self.param_groups
        self.rates.append(group["lr"])
        (table,) = group["params"]
        self.norms.append(0.0 if table.grad is None else table.grad.norm().item())
        if table.grad is not None:
            table -= group["lr"] * table.grad


@dataclass
class _Run:
    """Epochs of batches whose sentences have these lengths, and how large the gradients of the model are."""

    sizes: tuple[tuple[tuple[int, ...], ...], ...]
    scale: float = 8.0

    def epochs(self):
        return [
            [make_batch([([4], [4 + (i + n) % 5 for i in range(n)]) for n in lengths]) for lengths in epoch]
            for epoch in self.sizes
        ]

    def __repr__(self):
        epochs = "; ".join(" and ".join(map(str, map(list, epoch))) for epoch in self.sizes)
        return f"a small one, and the lengths of the sentences in each epoch's batches are: {epochs}"


def _call(obj, given):
    """The rates, the modes in training and in validation, the norms, the weights, and the curve."""
    (run,) = given.args
    model, made = _Spy(run.scale), run.epochs()
    optimizer = _Recorded(model.parameters())
    curve = obj(model, optimizer, mine := [*map(list, made)], _rate, _validate)
    run.sizes = run.sizes if mine == made else ()  # a case is compared: whoever changes it is told so
    if curve is None or curve is ...:
        return curve
    modes = (torch.tensor(model.trained).double(), torch.tensor(model.validated).double())
    seen = (torch.tensor(optimizer.rates).double(), *modes, torch.tensor(optimizer.norms).double())
    return *seen, model.table.detach().clone(), curve


EXERCISE = Exercise(
    reference=fit,
    starter=starter_repair,
    call=_call,
    cases=lambda: [
        case(_Run((((3,),), ((3,),), ((3,),))), about="three epochs of one sentence"),
        case(_Run((((3,), (2,), (4,)),)), about="one epoch of three sentences"),
        case(_Run((((3, 1), (2, 4)), ((1, 1), (2, 5)))), about="two epochs of padded batches"),
        case(_Run((((3, 1), (2, 4)), ((1, 1), (2, 5))), scale=0.3), about="gradients too small to be clipped"),
    ],
    alternatives=(with_the_courses_loss,),
)
