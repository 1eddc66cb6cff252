"""What pads cost in time: random batches, buckets, and several sentences packed into one row.

    python -m experiments.batching_time

The first 960 pairs and the same small Transformer as in `batching_order`. In a packed row, whole pairs follow one
another, as many as fit into a number of positions on both sides (first fit, the longest pairs first). The masks let a
token see its own sentence alone, and the positions begin at 0 in each sentence. Time is the shortest of three for a
forward and a backward pass over all the pairs, in CPU seconds relative to random batches of 16, for the plain model and
for the library's `fast_loss`; the arms take turns. A batch of packed rows has about as many tokens as 16 pairs. In
double precision, the loss that a trained model has on 256 validation pairs in packed rows is compared with that of the
same pairs one to a row: as packing should be, without the masks between sentences, and with positions that run on.
About a minute of one core.
"""

import math
from random import Random
from time import process_time

import torch
import torch.nn.functional as F

from course_lib.batching import make_batch, pad
from course_lib.fast import fast_loss
from course_lib.masks import causal_mask
from course_lib.reproducible import make_reproducible
from course_lib.tokens import BOS, EOS, PAD
from course_lib.training import plain_loss
from experiments import store
from experiments.batching_order import ROWS, UPDATES, data, groups, new_model, trained

ROOMS = {32: 6, 64: 3, 192: 1}
"""Positions of a packed row, and how many such rows make a batch."""
REPEATS, TIMED, PROVED = 3, 960, 256
RATE = 0.0077
NAMES = ("src", "tgt_in", "tgt_out")


def packs(pairs, room):
    """Pairs that share a row: each goes into the first row that has room for its source and its target."""
    rows = []
    for src, tgt in sorted(pairs, key=lambda pair: -max(map(len, pair))):
        needs = (len(src) + 1, len(tgt) + 1)
        row = next((row for row in rows if all(n <= left for n, left in zip(needs, row["left"], strict=True))), None)
        if row is None:
            rows.append(row := {"pairs": [], "left": (room, room)})
        row["pairs"].append((src, tgt))
        row["left"] = tuple(left - n for n, left in zip(needs, row["left"], strict=True))
    return [row["pairs"] for row in rows]


def packed_batch(rows):
    """Ids of the three tensors, and for both sides the number of each token's sentence (pads −1) and its place."""
    made = {name: [] for name in (*NAMES, "src number", "tgt number", "src place", "tgt place")}
    for pairs in rows:
        sides = {
            "src": [[*src, EOS] for src, _ in pairs],
            "tgt_in": [[BOS, *tgt] for _, tgt in pairs],
            "tgt_out": [[*tgt, EOS] for _, tgt in pairs],
        }
        for name in NAMES:
            made[name].append([token for ids in sides[name] for token in ids])
        for side, name in (("src", "src"), ("tgt", "tgt_in")):
            made[f"{side} number"].append([i for i, ids in enumerate(sides[name]) for _ in ids])
            made[f"{side} place"].append([place for ids in sides[name] for place in range(len(ids))])
    return {name: pad(rows, -1 if "number" in name else PAD) for name, rows in made.items()}


def packed_loss(model, batch, apart=True, restart=True):
    """The mean loss of the real targets; `apart` hides sentences from one another, `restart` counts places anew."""

    def embed(module, ids, place):
        place = place if restart else torch.arange(ids.shape[1]).expand_as(ids)
        x = module.tokens(ids) * math.sqrt(module.tokens.embedding_dim)
        return module.dropout(x + module.positions.rows(0, int(place.max()) + 1)[place])

    def same(queries, keys):
        if not apart:
            queries, keys = queries.clamp(max=0), keys.clamp(max=0)
        return (queries[:, :, None] == keys[:, None, :])[:, None]

    src, tgt = batch["src number"], batch["tgt number"]
    memory = model.encoder(embed(model.src_embedding, batch["src"], batch["src place"]), same(src, src))
    x = embed(model.tgt_embedding, batch["tgt_in"], batch["tgt place"])
    hidden = model.decoder(x, memory, same(tgt, tgt) & causal_mask(tgt.shape[1]), same(tgt, src))
    return F.cross_entropy(model.output(hidden).mT, batch["tgt_out"], ignore_index=PAD)


def pads(batches):
    """The share of all positions, source and target, that are pads."""
    ids = [batch[name] for batch in batches for name in ("src", "tgt_out")]
    return sum((x == PAD).sum().item() for x in ids) / sum(x.numel() for x in ids)


def cost():
    make_reproducible(0)
    train, _val, vocab_size = data()
    train = train[:TIMED]
    model, batches, steps = new_model(vocab_size), {}, {}
    for arm in ("random", "buckets"):
        made = [make_batch([train[row] for row in group]) for group in groups(arm, train, Random(0))]
        batches[arm] = [{name: getattr(batch, name) for name in NAMES} for batch in made]
        for name, loss in (("plain", plain_loss), ("fast", fast_loss)):
            steps[arm, name] = lambda batch, loss=loss: loss(model, *(batch[key] for key in NAMES), 0.0)
    for room, together in ROOMS.items():
        rows = packs(train, room)
        Random(0).shuffle(rows)
        arm = f"rows of {room}"
        batches[arm] = [packed_batch(rows[i : i + together]) for i in range(0, len(rows), together)]
        steps[arm, "plain"] = lambda batch: packed_loss(model, batch)
    seconds = {key: [] for key in steps}
    for (arm, name), found in [*seconds.items()] * REPEATS:
        start = process_time()
        for batch in batches[arm]:
            model.zero_grad()
            steps[arm, name](batch).backward()
        found.append(process_time() - start)
    time = {key: min(found) for key, found in seconds.items()}  # least disturbed by other programs
    rows = []
    for arm, made in batches.items():
        row = {"arm": arm, "batches": len(made), "pads": round(pads(made), 3)}
        row |= {
            name: round(time[arm, name] / time["random", name], 2) for name in ("plain", "fast") if (arm, name) in time
        }
        rows.append(row)
        print(row, flush=True)
    fast = round(time["random", "fast"] / time["random", "plain"], 2)
    return rows, fast


@torch.no_grad()
def proof():
    """How far the loss of packed rows is from that of the same pairs, one to a row."""
    pairs = data()[1][:PROVED]
    with torch.enable_grad():
        model = trained("random", RATE, 0, UPDATES)
    model.double().eval()
    one_a_row = plain_loss(model, *(getattr(make_batch(pairs), name) for name in NAMES), 0.0)
    batch = packed_batch(packs(pairs, 64))
    kinds = {
        "as it should be": {},
        "sentences see one another": {"apart": False},
        "positions run on": {"restart": False},
    }
    return {name: (packed_loss(model, batch, **how) - one_a_row).abs().item() for name, how in kinds.items()}


def main():
    torch.set_num_threads(1)
    moved = proof()
    print(moved, flush=True)
    rows, fast = cost()
    store(__file__, seeds=[0], rows=rows, fast=fast, moved=moved, batch=ROWS)


if __name__ == "__main__":
    main()
