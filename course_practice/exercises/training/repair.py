"""Exercise: bug hunt in a training loop."""

from dataclasses import dataclass
from itertools import product

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.batching import make_batch
from course_lib.tokens import PAD
from course_lib.training import label_smoothed_loss
from course_practice.engine import Exercise, Mistake, case
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


def training_mode_restored(model, optimizer, epochs, rate, validate):
    curve, update = [], 0
    model.train()
    for batches in epochs:
        for batch in batches:
            update += 1
            logits, real = model(batch.src, batch.tgt_in), batch.tgt_out != PAD
            loss = F.cross_entropy(logits[real], batch.tgt_out[real])
            loss.backward()
            norm = torch.sqrt(sum(p.grad.square().sum() for p in model.parameters()))
            for p in model.parameters():
                p.grad *= (1.0 / norm).clamp(max=1.0)
            optimizer.param_groups[0].update(lr=rate(update))
            optimizer.step()
            optimizer.zero_grad()
        model.train(False)
        curve.append(float(validate(model)))
        model.train()
    return torch.tensor(curve)


def sum_over_tokens(model, optimizer, epochs, rate, validate):
    curve = []
    pairs = [(epoch, batch) for epoch, batches in enumerate(epochs) for batch in batches]
    for number, (epoch, batch) in enumerate(pairs):
        model.train()
        total = F.cross_entropy(
            model(batch.src, batch.tgt_in).flatten(0, 1), batch.tgt_out.flatten(), ignore_index=0, reduction="sum"
        )
        optimizer.zero_grad()
        (total / batch.n_tokens).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.param_groups[0]["lr"] = rate(number + 1)
        optimizer.step()
        if number + 1 == len(pairs) or pairs[number + 1][0] > epoch:
            model.eval()
            curve.append(validate(model))
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


@dataclass(frozen=True)
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
    model = _Spy(run.scale)
    optimizer = _Recorded(model.parameters())
    curve = obj(model, optimizer, run.epochs(), _rate, _validate)
    if curve is None or curve is ...:
        return curve
    modes = (torch.tensor(model.trained).double(), torch.tensor(model.validated).double())
    seen = (torch.tensor(optimizer.rates).double(), *modes, torch.tensor(optimizer.norms).double())
    return *seen, model.table.detach().clone(), curve


def _over_real(losses, batch):
    return losses.sum() / batch.n_tokens


def _fit(
    rate="update",
    mode="each",
    clip="after",
    pads=True,
    zero="before",
    eval_mode=True,
    curve_of="epoch",
    mean=_over_real,
):
    """The repaired loop with some of its bugs left in, or others put in."""

    def answer(model, optimizer, epochs, rate_of, validate):
        update, curve = 0, []
        model.train()
        for batches in epochs:
            if mode == "each":
                model.train()
            if rate == "epoch":
                update += 1
                optimizer.param_groups[0]["lr"] = rate_of(update)
            for batch in batches:
                if rate not in ("epoch", "late"):
                    optimizer.param_groups[0]["lr"] = rate_of(update + (rate != "behind"))
                update += rate != "epoch"
                logits = model(batch.src, batch.tgt_in)
                ignored = {"ignore_index": PAD} if pads else {}
                loss = mean(F.cross_entropy(logits.mT, batch.tgt_out, reduction="none", **ignored), batch)
                if zero == "before":
                    optimizer.zero_grad()
                if clip == "before":
                    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                loss.backward()
                if clip == "after":
                    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                if clip == "value":
                    nn.utils.clip_grad_value_(model.parameters(), 1.0)
                if zero == "after":
                    optimizer.zero_grad()
                optimizer.step()
                if rate == "late":
                    optimizer.param_groups[0]["lr"] = rate_of(update)
                if curve_of == "batch":
                    curve.append(validate(model.eval()))
                    model.train()
            if eval_mode:
                model.eval()
            if curve_of == "epoch":
                curve.append(validate(model))
            if rate == "anew":
                update = 0
        return curve

    return answer


_OPEN = {
    "rate": ("the rate", "how many updates does an epoch have, and how many rates does it get?"),
    "mode": ("the mode", "in which mode is the model in the second epoch, after the first `eval()`?"),
    "clip": ("the clipping", "between which two lines are there gradients that no step has used yet?"),
    "pads": ("the pads", "which targets does the loss count?"),
}
_LEFT = {
    "rate": {"rate": "epoch"},
    "mode": {"mode": "once"},
    "clip": {"clip": "before"},
    "pads": {"pads": False, "mean": lambda losses, batch: losses.mean()},
}


def _partly_repaired():
    """Every way to find some of the four bugs: what is found, and where to look next."""
    for left in product((False, True), repeat=4):
        names = [name for name, open_ in zip(_OPEN, left, strict=True) if open_]
        if not 0 < len(names) < 4:
            continue
        found = ", ".join(_OPEN[name][0] for name in _OPEN if name not in names)
        questions = " ".join(_OPEN[name][1].capitalize() for name in names)
        count = ("None", "One", "Two", "Three")[4 - len(names)]
        yield Mistake(
            "left-" + "-and-".join(names),
            _fit(**{key: value for name in names for key, value in _LEFT[name].items()}),
            f"{count} of four found: {found}. {questions}",
        )


EXERCISE = Exercise(
    title="Bug hunt: four bugs in a loop",
    task="Find the four bugs. The check records, in this order: the rates, the model's mode in training (1 is training "
    "mode), its mode in validation, the norms of the gradients at each step, the weights at the end, and the curve.",
    reference=fit,
    starter=starter_repair,
    call=_call,
    cases=lambda: [
        case(_Run((((3,),), ((3,),), ((3,),))), about="three epochs of one sentence"),
        case(_Run((((3,), (2,), (4,)),)), about="one epoch of three sentences"),
        case(_Run((((3, 1), (2, 4)), ((1, 1), (2, 5)))), about="two epochs of padded batches"),
        case(_Run((((3, 1), (2, 4)), ((1, 1), (2, 5))), scale=0.3), about="gradients too small to be clipped"),
    ],
    mistakes=(
        *_partly_repaired(),
        Mistake(
            "gradients-not-cleared",
            _fit(zero="never"),
            "The four bugs are gone, and so is `zero_grad`: each update still carries the gradients before it.",
        ),
        Mistake(
            "never-in-evaluation-mode",
            _fit(eval_mode=False),
            "Three and a half: the model now validates in training mode, with its dropout. It needs `eval()` before, "
            "and `train()` again after.",
        ),
        Mistake(
            "cleared-before-the-step",
            _fit(zero="after"),
            "The gradients are cleared between `backward` and `step`, so no step has any: the weights never change.",
        ),
        Mistake(
            "pads-below-the-line",
            _fit(mean=lambda losses, batch: losses.mean()),
            "The pads add nothing to your sum, but you divide by their number, too. Where clipping does not hide it, "
            "the gradient is too small: divide by the number of real targets.",
        ),
        Mistake(
            "summed",
            _fit(mean=lambda losses, batch: losses.sum()),
            "Your loss is a sum. Where clipping does not hide it, the gradient is too large: divide by the number of "
            "real targets.",
        ),
        Mistake(
            "clipped-by-value",
            _fit(clip="value"),
            "You cut each number of the gradient, which turns its direction. The listing clips the norm of all of "
            "them: `clip_grad_norm_`.",
        ),
        Mistake(
            "validated-after-each-batch",
            _fit(curve_of="batch"),
            "The curve has a value for each batch. Validate once, at the end of each epoch.",
        ),
        Mistake(
            "updates-counted-anew",
            _fit(rate="anew"),
            "The rate changes at each update, but each epoch counts from 1 again. Count on through all the epochs.",
        ),
        Mistake(
            "rate-after-the-step",
            _fit(rate="late"),
            "The rate is set after the step, so each update has the rate of the one before. Set it before `step`.",
        ),
        Mistake(
            "rate-one-behind",
            _fit(rate="behind"),
            "The rate now changes at each update, but one too late: updates count from 1, so add 1 before you ask "
            "for the rate.",
        ),
    ),
    hints=(
        "Four lines stand in the wrong place or lack something: the rate, the mode, the clipping, the loss.",
        "The rate belongs to an update, not to an epoch. `eval()` lasts until somebody calls `train()`. Clipping "
        "needs gradients. `cross_entropy` counts pads unless you tell it not to.",
        "Count the updates in the inner loop and set the rate there, move `model.train()` into the outer loop, and the "
        "clipping below `loss.backward()`. Add `ignore_index=PAD`.",
    ),
    alternatives=(with_the_courses_loss, training_mode_restored, sum_over_tokens),
    difficulty=3,
    minutes=15,
)
