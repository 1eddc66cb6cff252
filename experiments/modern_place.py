"""The same text, placed elsewhere, and text that is longer than any in training.

    python -m experiments.modern_place

The models of `experiments.modern_parts`, 1200 updates in windows of 64 words. First the validation text is read with
its positions moved by an offset. "random offsets" are sinusoids trained at offsets up to 1000. Then it is read in
windows of 512: as it is; with the last 64 keys visible to each query; with a base of RoPE that is 64 times as large, or
with all angles divided by 8, both without training. The converse, in `gaps`: windows of 64 whose second half stands
further on, so that distances are new although there are no more keys than in training; "alone" is the second half that
does not see the first. Three seeds: about 10 minutes on one core.
"""

import dataclasses

import torch
from torch.nn import functional as F

from course_lib.language_model import windows
from experiments import store
from experiments.modern_parts import LENGTH, UPDATES, make, measure, text, train

SEEDS = [0, 1, 2]
OFFSETS = [0, 4, 8, 16, 32, 48, 64, 96, 128, 256, 512, 1024, 8192]
MODELS = {"sinusoids": "2017", "RoPE": "RoPE", "no positions": "no positions", "random offsets": "2017"}
FAR = 1000
GAPS = [0, 64, 128, 256, 448]
LONG = 512
RANGES = {"0–63": slice(0, 64), "64–127": slice(64, 128), "128–255": slice(128, 256), "256–511": slice(256, 512)}


class LastKeys(torch.nn.Module):
    """Attention in which a query sees the last `n` keys alone."""

    def __init__(self, attention, n):
        super().__init__()
        self.attention, self.n = attention, n

    def forward(self, x, mask=None, angles=None, cache=None):
        near = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1 - self.n)
        return self.attention(x, near if mask is None else mask & near, angles, cache)


def by_range(losses: torch.Tensor) -> dict[str, float]:
    return {name: round(losses[where].mean().item(), 3) for name, where in RANGES.items()}


def long_windows(model, test, kind: str) -> dict[str, dict[str, float]]:
    """The loss at four stretches of a window of 512, as the model is and repaired without training."""
    found = {"as it is": by_range(measure(model, test, LONG))}
    attentions = [block.attention for block in model.blocks]
    for block in model.blocks:
        block.attention = LastKeys(block.attention, LENGTH)
    found["last 64 keys"] = by_range(measure(model, test, LONG))
    for block, attention in zip(model.blocks, attentions, strict=True):
        block.attention = attention
    if kind == "RoPE":
        config = model.config
        model.config = dataclasses.replace(config, rope_base=64 * config.rope_base)
        found["base × 64"] = by_range(measure(model, test, LONG))
        model.config = config
        for attention in attentions:
            attention.forward = _slowly(attention.forward)
        found["angles / 8"] = by_range(measure(model, test, LONG))
        for attention in attentions:
            del attention.forward
    return found


@torch.no_grad()
def gaps(model, test) -> dict[str, float]:
    """The loss of the second halves of windows, when a gap in the positions stands before them."""
    read, said = (x.chunk(2, dim=1) for x in windows(test, LENGTH))
    model.eval()

    def loss(logits):
        return round(F.cross_entropy(logits.mT, said[1]).item(), 4)

    _logits, state = model.continued(read[0], model.start(read[0][:, :0]))
    found = {str(gap): loss(model.continued(read[1], state, offset=gap)[0]) for gap in GAPS}
    model.train()
    return found | {"alone": loss(model(read[1]))}


def _slowly(forward):
    return lambda x, mask, angles, cache: forward(x, mask, angles / 8, cache)


def main() -> None:
    ids, test, words = text()
    rows, places = [], []
    for name, part in MODELS.items():
        for seed in SEEDS:
            model = make(part, len(words), seed)
            train(model, ids, UPDATES[-1], seed, far=FAR if name == "random offsets" else 0)
            moved = [round(measure(model, test, offset=offset).mean().item(), 4) for offset in OFFSETS]
            rows.append({"model": name, "seed": seed, "loss": moved})
            if name in ("RoPE", "no positions"):
                places.append({"model": name, "seed": seed} | {"loss": long_windows(model, test, name)})
                places[-1]["gaps"] = gaps(model, test)
                curve = measure(model, test, LONG).view(-1, 16).mean(dim=1)
                places[-1]["curve"] = [round(x, 3) for x in curve.tolist()]
            print(rows[-1], places[-1:], flush=True)
    store(__file__, seeds=SEEDS, offsets=OFFSETS, rows=rows, long=places)


if __name__ == "__main__":
    main()
