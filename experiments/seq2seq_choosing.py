"""What helps attention: reaching all vectors of the source, or being given the right one at each step?

    python -m experiments.seq2seq_choosing

The decoders of `seq2seq_lengths` and `seq2seq_probe`, of width 32. `handed`: step t is given the vector of the symbol
that it must write, and zeros after the last one. `handed, no zeros`: the last vector is given again instead. Nothing
about the choice is learned. `two layers`: the output layer has a hidden layer of 128, so that it could choose by
itself. The long trainings are in float32, which is faster. Ten seeds where the chapter's conclusion rests on them, one
to six elsewhere. About twenty minutes on one core.
"""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import torch
from torch import nn

from course_lib.positional_encoding import look_up
from course_lib.reproducible import make_reproducible
from course_lib.seq2seq import Seq2Seq, Seq2SeqConfig
from experiments import store
from experiments.seq2seq_lengths import LENGTHS, UPDATES, VOCAB, exact, train
from experiments.seq2seq_probe import WIDTH, SideBySide

SEEDS, LONG, RATE = list(range(10)), 4 * UPDATES, 0.01


def plan() -> list[tuple[str, bool, int, int]]:
    """Every training: its kind, whether it has two layers, its updates, and its seed."""
    settings = [
        ("handed", False, UPDATES, 6),
        ("handed, no zeros", False, UPDATES, 3),
        ("one vector", True, UPDATES, 3),
        ("side by side", True, UPDATES, 3),
        ("one vector", True, LONG, 2),
        ("side by side", True, LONG, 10),
        ("side by side", False, LONG, 1),
    ]
    return [(*setting, seed) for *setting, n_seeds in settings for seed in range(n_seeds)]


class Handed(Seq2Seq):
    """Every step is given one vector of the memory: the last one first, then the one before it, and so on."""

    def start(self, src):
        state = super().start(src)
        return replace(state, memory=state.memory.flip(1))

    def after(self, memory):
        """What is given when all vectors have been given: zeros, which also tell the decoder to stop."""
        return torch.zeros_like(memory[:, :1])

    def advance(self, tokens, state):
        context = state.memory[:, :1]
        x = torch.cat([look_up(self.embedding, tokens), context], dim=-1).flatten(0, 1)
        hidden = self.cell(x, state.hidden.flatten(0, 1)).view_as(state.hidden)
        rest = torch.cat([state.memory[:, 1:], self.after(state.memory)], dim=1)
        return torch.cat([hidden, context], dim=-1), replace(state, hidden=hidden, memory=rest)


class HandedNoZeros(Handed):
    """The same, but the last vector is given again and again."""

    def after(self, memory):
        return memory[:, -1:]


KINDS = {"one vector": Seq2Seq, "side by side": SideBySide, "handed": Handed, "handed, no zeros": HandedNoZeros}


def row(setting: tuple[str, bool, int, int]) -> dict:
    kind, two_layers, updates, seed = setting
    torch.set_num_threads(1)
    make_reproducible(seed)
    model = KINDS[kind](Seq2SeqConfig(vocab_size=VOCAB, d_model=WIDTH, attention=False, dropout=0.0))
    if two_layers:
        model.output = nn.Sequential(nn.Linear(model.output.in_features, 128), nn.ReLU(), nn.Linear(128, VOCAB))
    train(model.double() if updates == UPDATES else model, seed, updates, RATE)
    found = {"kind": kind, "two_layers": two_layers, "updates": updates, "seed": seed}
    found["parameters"] = sum(p.numel() for p in model.parameters())
    found["exact"] = [round(exact(model, n), 3) for n in LENGTHS]
    print(found, flush=True)
    return found


def main() -> None:
    with ProcessPoolExecutor(max_workers=2) as pool:
        rows = list(pool.map(row, plan()))
    store(__file__, seeds=SEEDS, lengths=LENGTHS, rows=rows)


if __name__ == "__main__":
    main()
