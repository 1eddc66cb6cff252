"""What helps attention: reaching all vectors of the source, or being given the right one at each step?

    python -m experiments.seq2seq_choosing

The decoders of `seq2seq_lengths` and `seq2seq_probe`, of width 32, after 1,000 updates. `handed`: step t is given the
vector of the symbol that it must write, and nothing about the choice is learned. `two layers`: the output layer has a
hidden layer of 128, so that it could choose by itself. Three seeds. About two minutes on two cores.
"""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import product

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.positional_encoding import look_up
from course_lib.reproducible import make_reproducible
from course_lib.seq2seq import Seq2Seq, Seq2SeqConfig
from experiments import store
from experiments.seq2seq_lengths import LENGTHS, SEEDS, UPDATES, VOCAB, exact, train
from experiments.seq2seq_probe import WIDTH, SideBySide


class Handed(Seq2Seq):
    """Every step is given one vector of the memory: the last one first, then the one before it, and so on."""

    def start(self, src):
        state = super().start(src)
        return replace(state, memory=state.memory.flip(1))

    def advance(self, tokens, state):
        context = state.memory[:, :1]
        x = torch.cat([look_up(self.embedding, tokens), context], dim=-1).flatten(0, 1)
        hidden = self.cell(x, state.hidden.flatten(0, 1)).view_as(state.hidden)
        rest = F.pad(state.memory[:, 1:], (0, 0, 0, 1))  # zeros after the first symbol
        return torch.cat([hidden, context], dim=-1), replace(state, hidden=hidden, memory=rest)


KINDS = {"one vector": Seq2Seq, "side by side": SideBySide, "handed": Handed}


def row(setting: tuple[str, bool, int]) -> dict:
    kind, two_layers, seed = setting
    torch.set_num_threads(1)
    make_reproducible(seed)
    model = KINDS[kind](Seq2SeqConfig(vocab_size=VOCAB, d_model=WIDTH, attention=False, dropout=0.0))
    if two_layers:
        model.output = nn.Sequential(nn.Linear(model.output.in_features, 128), nn.ReLU(), nn.Linear(128, VOCAB))
    model = model.double()
    train(model, seed, UPDATES, 0.01)
    found = {"kind": kind, "two_layers": two_layers, "seed": seed}
    found["parameters"] = sum(p.numel() for p in model.parameters())
    found["exact"] = [round(exact(model, n), 3) for n in LENGTHS]
    print(found, flush=True)
    return found


def main() -> None:
    settings = [("handed", False), *product(("one vector", "side by side"), (True,))]
    plan = [(*setting, seed) for setting in settings for seed in SEEDS]
    with ProcessPoolExecutor(max_workers=2) as pool:
        rows = list(pool.map(row, plan))
    store(__file__, seeds=SEEDS, lengths=LENGTHS, rows=rows)


if __name__ == "__main__":
    main()
