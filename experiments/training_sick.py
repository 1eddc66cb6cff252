"""Four sick trainings of the bench, whose learning curves tell them apart: the losses of training and of validation.

    python -m experiments.training_sick

The loop is the chapter's, without smoothing, so that both losses measure the same: Adam, warm-up, cosine, clipping, 300
updates. Each sickness changes one thing. The rate is 10 times the best one, or a thirtieth of it; there are only 60
pairs to train on; or the decoder reads the target itself in place of the shifted one, in training and in validation.
At the end each model is measured as it would be used, with shifted targets. About two minutes of one core.
"""

import torch
from torch import nn

from course_lib.batching import Batch, Batches
from course_lib.training import cosine, label_smoothed_loss
from course_lib.training.bench import UPDATES, bench_model, bench_pairs, measure
from course_lib.transformer import Transformer
from experiments import store

SEEDS, EVERY, BEST, FEW = [0, 1, 2], 20, 0.01, 60
SICK = {
    "rate too high": {"peak": 10 * BEST},
    "rate too low": {"peak": BEST / 30},
    "too few pairs": {"n_pairs": FEW},
    "targets not shifted": {"shifted": False},
}


def loss_of(model: Transformer, batch: Batch, shifted: bool) -> torch.Tensor:
    """Nats a token; not shifted, the decoder reads the very words that it has to predict."""
    tgt_in = batch.tgt_in if shifted else batch.tgt_out
    return label_smoothed_loss(model(batch.src, tgt_in), batch.tgt_out, 0.0)


@torch.no_grad()
def validation_loss(model: Transformer, shifted: bool) -> float:
    (batch,) = Batches(bench_pairs()[1], max_tokens=100_000, shuffle=False)(0)
    return loss_of(model, batch, shifted).item()


def train(seed: int, peak: float = BEST, n_pairs: int | None = None, shifted: bool = True) -> dict:
    """The losses after every 20 updates: the mean of these updates, and that of the validation sentences."""
    model = bench_model(seed)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    stream = Batches(bench_pairs()[0][:n_pairs], max_tokens=150, seed=seed).stream()
    training, validation, recent = [], [], []
    for update in range(1, UPDATES + 1):
        loss = loss_of(model, next(stream)[1], shifted)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = cosine(update / UPDATES, peak, warmup=0.1)
        optimizer.step()
        recent.append(loss.item())
        if update % EVERY == 0:
            training.append(round(sum(recent) / len(recent), 3))
            validation.append(round(validation_loss(model, shifted), 3))
            recent = []
    found = measure(model)
    return {"training": training, "validation": validation, "used": round(found["loss"], 3), "exact": found["exact"]}


def main() -> None:
    torch.set_num_threads(1)
    rows = [{"sick": name, "seed": seed} | train(seed, **changes) for name, changes in SICK.items() for seed in SEEDS]
    store(__file__, SEEDS, updates=list(range(EVERY, UPDATES + 1, EVERY)), rows=rows)


if __name__ == "__main__":
    main()
