"""Models that were trained with a slip, and models that were trained on what they wrote themselves.

    python -m experiments.seq2seq_slips

The models of `seq2seq_lengths`, of width 32, after 1,000 updates. `last column`: the decoder with one vector starts
from the encoder's last output. `wrong axis`: the softmax of attention runs over the queries. `pads read`: attention is
trained with 0 to 3 pads after every sequence, which are neither packed away nor masked; the test has 0 to 9. `free`:
each step reads the model's own likeliest token in place of the right one. Three seeds. About four minutes on two cores.
"""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import product

import torch
from torch.nn import functional as F

from course_lib.reproducible import make_reproducible
from course_lib.seq2seq import AdditiveAttention, GRUEncoder, Seq2Seq, Seq2SeqConfig
from experiments import store
from experiments.seq2seq_lengths import SEEDS, VOCAB, exact, train

WIDTH, UPDATES, RATE = 32, 1000, 0.01
TESTED = [4, 5, 6, 8, 10, 12]
PADS = [0, 1, 3, 9]


class LastColumn(Seq2Seq):
    """Starts from the encoder's last output, where the half that reads from the right has read one word."""

    def start(self, src):
        state = super().start(src)
        return replace(state, last=state.memory[:, -1:], hidden=state.memory[:, -1:])


class OverQueries(AdditiveAttention):
    """The softmax runs over the queries, of which there is one."""

    def forward(self, query, keys, memory, mask=None):
        compared = torch.tanh(self.w_q(query)[:, :, None] + keys[:, None])
        weights = self.u(compared).squeeze(-1).softmax(dim=1)
        return weights @ memory, weights


class NotPacked(GRUEncoder):
    """Reads on into the pads."""

    def forward(self, x, lengths):
        outputs, last = self.gru(x)
        return outputs, torch.cat([last[0], last[1]], dim=-1)


class PadsRead(Seq2Seq):
    """Trained with 0 to 3 pads after every source, and attention may look at them."""

    def __init__(self, config: Seq2SeqConfig):
        super().__init__(config)
        self.encoder = NotPacked(config.d_model)
        self.draws = torch.Generator()

    def start(self, src):
        state = super().start(src)
        return replace(state, src_mask=torch.ones_like(state.src_mask))

    def forward(self, src, tgt_in):
        return super().forward(F.pad(src, (0, torch.randint(4, (), generator=self.draws).item())), tgt_in)


class OwnWords(Seq2Seq):
    """Trained on its own words: every step reads the likeliest token of the step before."""

    def forward(self, src, tgt_in):
        state, tokens, found = self.start(src), tgt_in[:, :1], []
        for _step in range(tgt_in.shape[1]):
            logits, state = self.step(tokens, state)
            tokens = logits.argmax(dim=-1)
            found.append(logits)
        return torch.cat(found, dim=1)


SLIPS = {"last column": LastColumn, "pads read": PadsRead, "free": OwnWords}


def build(kind: str, attention: bool, seed: int) -> Seq2Seq:
    config = Seq2SeqConfig(vocab_size=VOCAB, d_model=WIDTH, attention=attention, dropout=0.0)
    model = SLIPS.get(kind, Seq2Seq)(config)
    if kind == "wrong axis":
        model.attention = OverQueries(WIDTH)
    if kind == "pads read":
        model.draws.manual_seed(seed)
    return model.double()


def row(setting: tuple[str, bool, int]) -> dict:
    kind, attention, seed = setting
    torch.set_num_threads(1)
    make_reproducible(seed)
    model = build(kind, attention, seed)
    train(model, seed, UPDATES, RATE)
    found = {"kind": kind, "attention": attention, "seed": seed}
    if kind == "pads read":
        found["by_pads"] = {n: [round(exact(model, n, n_pads=pads), 3) for pads in PADS] for n in (5, 12)}
    else:
        found["exact"] = [round(exact(model, n), 3) for n in TESTED]
    print(found, flush=True)
    return found


def main() -> None:
    kinds = [("right", False), ("right", True), ("last column", False), ("wrong axis", True), ("pads read", True)]
    kinds += product(["free"], [False, True])
    with ProcessPoolExecutor(max_workers=2) as pool:
        rows = list(pool.map(row, [(*kind, seed) for kind in kinds for seed in SEEDS]))
    store(__file__, seeds=SEEDS, lengths=TESTED, pads=PADS, rows=rows)


if __name__ == "__main__":
    main()
