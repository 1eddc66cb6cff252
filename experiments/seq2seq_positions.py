"""Where in a sequence one vector fails, and which memory vector each output of attention comes from.

    python -m experiments.seq2seq_positions

The models of `seq2seq_lengths`, of width 32. At eight symbols: the share of right symbols at each position, with the
right symbols before it given. For attention at eight symbols: how often the largest weight lies on the copied symbol,
and on it or a neighbor. At six symbols the weights are kept, one memory vector is replaced by another sequence's, and
we count how often the symbol written then changes. Three seeds. About two minutes on one core.
"""

from dataclasses import replace

import torch
from torch.nn import functional as F

from course_lib.reproducible import make_reproducible
from course_lib.tokens import BOS, EOS
from experiments import store
from experiments.seq2seq_lengths import SEEDS, UPDATES, build, pairs, train


@torch.no_grad()
def by_position(model, reverse: bool) -> list[float]:
    src, tgt = pairs(1000, 8, torch.Generator().manual_seed(1), reverse)
    right = model(src, F.pad(tgt, (1, 0), value=BOS)).argmax(dim=-1) == F.pad(tgt, (0, 1), value=EOS)
    return [round(share, 3) for share in right.double().mean(dim=0).tolist()]


@torch.no_grad()
def steps(model, src, tgt, other=None, offset=0):
    """Weights and symbols of every step; where `other` is given, the memory vector `offset` places from the copied one
    is that of `other`."""
    n = src.shape[1]
    state, weights, written = model.start(src), [], []
    for t, tokens in enumerate(F.pad(tgt, (1, 0), value=BOS)[:, :n].split(1, dim=1)):
        memory, j = state.memory.clone(), n - 1 - t + offset
        if other is not None and 0 <= j < n:
            memory[:, j] = other[:, j]
        _, found = model.attention(state.hidden, state.keys, memory, state.src_mask)
        logits, _ = model.step(tokens, replace(state, memory=memory))
        written.append(logits.argmax(dim=-1))
        weights.append(found)
        _, state = model.step(tokens, state)  # goes on with the memory as it was
    return torch.cat(weights, dim=1), torch.cat(written, dim=1)


def aligned(model) -> dict:
    n = 8
    weights, _ = steps(model, *pairs(1000, n, torch.Generator().manual_seed(1)))
    off = (weights.argmax(dim=-1) - (n - 1 - torch.arange(n))).abs()
    src, tgt = pairs(1000, 6, torch.Generator().manual_seed(2))
    with torch.no_grad():
        other = model.start(src.roll(1, 0)).memory
    _, before = steps(model, src, tgt)
    changed = {}
    for offset in (-2, -1, 0, 1, 2):  # at inner steps, where all five exist
        _, after = steps(model, src, tgt, other, offset)
        changed[offset] = round((after != before)[:, 2:4].double().mean().item(), 3)
    return {
        "on_the_copied": round((off == 0).double().mean().item(), 3),
        "on_it_or_beside_it": round((off <= 1).double().mean().item(), 3),
        "changed": changed,
    }


def main() -> None:
    positions = []
    for directions, reverse in ((2, True), (1, True), (1, False)):
        for seed in SEEDS:
            make_reproducible(seed)
            model = build("fixed", 32, one_direction=directions == 1)
            train(model, seed, UPDATES, 0.01, reverse=reverse)
            task = "reverse" if reverse else "copy"
            found = {"directions": directions, "task": task, "seed": seed, "right": by_position(model, reverse)}
            positions.append(found)
            print(found, flush=True)
    alignments = []
    for seed in SEEDS:
        make_reproducible(seed)
        model = build("attention", 32, one_direction=False)
        train(model, seed, UPDATES, 0.01)
        alignments.append({"seed": seed, **aligned(model)})
        print(alignments[-1], flush=True)
    store(__file__, seeds=SEEDS, positions=positions, alignments=alignments)


if __name__ == "__main__":
    main()
