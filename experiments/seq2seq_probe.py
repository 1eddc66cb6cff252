"""What one vector holds, and whether seeing all the vectors at once is enough.

    python -m experiments.seq2seq_probe

`probes`: the model of `seq2seq_lengths` with one vector, of width 32, after its 1,000 updates. A linear and a two-layer
readout are trained on 20,000 sequences of six symbols to name each symbol from the vector alone; 2,000 others are the
test. `side_by_side`: a decoder that gets the vectors of all symbols at every step, in a row, the last one first, and no
attention. Three seeds. About three minutes on one core.
"""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.positional_encoding import look_up
from course_lib.reproducible import make_reproducible
from course_lib.seq2seq import Seq2Seq
from experiments import store
from experiments.seq2seq_lengths import FIRST, LENGTHS, SEEDS, UPDATES, VOCAB, build, exact, pairs, train

WIDTH, SYMBOLS, STEPS, N_TRAIN, N_TEST = 32, 6, 3000, 20_000, 2000
SLOTS = max(LENGTHS)


class SideBySide(Seq2Seq):
    """Every step gets the vectors of all symbols in a row, the last one first, and zeros behind them."""

    def __init__(self, config):
        super().__init__(config)
        d_model, width = config.d_model, SLOTS * config.d_model
        self.cell = nn.GRUCell(d_model + width, d_model)
        self.output = nn.Linear(d_model + width, config.vocab_size)

    def start(self, src):
        state = super().start(src)
        row = F.pad(state.memory.flip(1), (0, 0, 0, SLOTS - src.shape[1]))
        return replace(state, last=row.flatten(1)[:, None])

    def advance(self, tokens, state):
        context = state.last
        x = torch.cat([look_up(self.embedding, tokens), context], dim=-1).flatten(0, 1)
        hidden = self.cell(x, state.hidden.flatten(0, 1)).view_as(state.hidden)
        return torch.cat([hidden, context], dim=-1), replace(state, hidden=hidden)


def probe(model: Seq2Seq, readout: nn.Module) -> dict:
    """How well a readout names the symbols of new sequences from their vector: all of them, and by position."""
    with torch.no_grad():
        src, _ = pairs(N_TRAIN + N_TEST, SYMBOLS, torch.Generator().manual_seed(5))
        vectors = model.start(src).last[:, 0]
    optimizer = torch.optim.Adam(readout.parameters(), lr=0.003)
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = 0.003 * (1 - step / STEPS)
        chosen = torch.randint(N_TRAIN, (256,))
        logits = readout(vectors[chosen]).view(256, SYMBOLS, VOCAB - FIRST)
        loss = F.cross_entropy(logits.flatten(0, 1), src[chosen].flatten() - FIRST)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        logits = readout(vectors[N_TRAIN:]).view(-1, SYMBOLS, VOCAB - FIRST)
    right = (logits.argmax(dim=-1) + FIRST == src[N_TRAIN:]).double()
    by_position = [round(share, 3) for share in right.mean(dim=0).tolist()]
    return {"exact": round((right.sum(dim=1) == SYMBOLS).double().mean().item(), 3), "by_position": by_position}


def one_seed(seed: int) -> dict:
    torch.set_num_threads(1)
    make_reproducible(seed)
    model = build("fixed", WIDTH, one_direction=False)
    train(model, seed, UPDATES, 0.01)
    found = {"seed": seed, "lengths": LENGTHS, "exact": [round(exact(model, n), 3) for n in LENGTHS]}
    symbols = SYMBOLS * (VOCAB - FIRST)
    readouts = {
        "linear": nn.Linear(WIDTH, symbols),
        "two layers": nn.Sequential(nn.Linear(WIDTH, 256), nn.ReLU(), nn.Linear(256, symbols)),
    }
    found["probes"] = {name: probe(model, readout.double()) for name, readout in readouts.items()}
    found["probes"]["its own decoder"] = {"exact": round(exact(model, SYMBOLS), 3)}
    print(found, flush=True)
    config = model.config
    make_reproducible(seed)
    wide = SideBySide(config).double()
    train(wide, seed, UPDATES, 0.01)
    found["side_by_side"] = [round(exact(wide, n), 3) for n in LENGTHS]
    found["side_by_side_parameters"] = sum(p.numel() for p in wide.parameters())
    print(seed, found["side_by_side"], flush=True)
    return found


def main() -> None:
    with ProcessPoolExecutor(max_workers=2) as pool:
        rows = list(pool.map(one_seed, SEEDS))
    store(__file__, seeds=SEEDS, rows=rows)


if __name__ == "__main__":
    main()
