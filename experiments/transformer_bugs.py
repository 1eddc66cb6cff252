"""The learning curves of six machines: without a bug, with one of four that no error reports, and with all four.

    python -m experiments.transformer_bugs

Task: 3 to 8 random words and EOS in, their translations in reverse order and EOS out. Two layers on each side, d_model
32, 4 heads, d_ff 64, batch 32, 500 updates of Adam at 5e-3 (50 of warm-up, then half a cosine to 0), float32. Kept for
each machine and seed: the validation loss on the way, the share of 300 sentences that the machine writes rightly from
its own words, and the same share with 20 pads behind every source. Three seeds. About four minutes on one core.
"""

import math

import torch
from torch.nn import functional as F

from course_lib.reproducible import make_reproducible
from course_lib.tokens import BOS, EOS, PAD
from course_practice.assembly.buggy_transformer import BUGS, machine_with
from experiments import store

N_WORDS, FIRST = 15, 4
VOCAB = FIRST + 2 * N_WORDS
LONGEST, STEPS, EVERY, SENTENCES, SEEDS = 8, 500, 50, 300, [0, 1, 2]


def sentences(batch, generator):
    """Sources with EOS, targets with EOS: the words' translations, in reverse; both padded on the right."""
    src = torch.full((batch, LONGEST + 1), PAD)
    tgt = src.clone()
    lengths = torch.randint(3, LONGEST + 1, (batch,), generator=generator)
    words = torch.randint(FIRST, FIRST + N_WORDS, (batch, LONGEST), generator=generator)
    for row, n in enumerate(lengths.tolist()):
        src[row, : n + 1] = F.pad(words[row, :n], (0, 1), value=EOS)
        tgt[row, : n + 1] = F.pad(words[row, :n].flip(0) + N_WORDS, (0, 1), value=EOS)
    return src, tgt


def loss_of(model, src, tgt):
    logits = model(src, F.pad(tgt[:, :-1], (1, 0), value=BOS))
    return F.cross_entropy(logits.flatten(0, 1), tgt.flatten(), ignore_index=PAD)


def rate(step, steps=STEPS, highest=5e-3, warm_up=50):
    if step < warm_up:
        return highest * (step + 1) / warm_up
    return highest * 0.5 * (1 + math.cos(math.pi * (step - warm_up) / (steps - warm_up)))


@torch.no_grad()
def written_rightly(model, src, tgt):
    """The share of whole sentences that greedy writing from the model's own words gets right."""
    written = torch.full((len(src), 1), BOS)
    for _ in range(tgt.shape[1]):
        written = torch.cat([written, model(src, written)[:, -1:].argmax(dim=-1)], dim=1)
    right = (written[:, 1:] == tgt) | (tgt == PAD)
    return right.all(dim=1).double().mean().item()


def run(bugs, seed):
    make_reproducible(seed)
    model = machine_with(bugs)(VOCAB, 32, 4, 64, 2)
    generator = torch.Generator().manual_seed(seed)
    valid = sentences(SENTENCES, torch.Generator().manual_seed(99))
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98))
    curve = []
    for step in range(STEPS):
        loss = loss_of(model, *sentences(32, generator))
        optimizer.param_groups[0]["lr"] = rate(step)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % EVERY == 0:
            with torch.no_grad():
                curve.append(round(loss_of(model, *valid).item(), 4))
    src, tgt = valid
    own, padded = written_rightly(model, src, tgt), written_rightly(model, F.pad(src, (0, 20)), tgt)
    return {"bugs": list(bugs), "seed": seed, "curve": curve, "own": round(own, 3), "padded": round(padded, 3)}


def main() -> None:
    rows = []
    for bugs in ((), BUGS, *((bug,) for bug in BUGS)):
        for seed in SEEDS:
            rows.append(run(bugs, seed))
            print(rows[-1], flush=True)
    store(__file__, seeds=SEEDS, steps=list(range(EVERY, STEPS + 1, EVERY)), rows=rows)


if __name__ == "__main__":
    main()
