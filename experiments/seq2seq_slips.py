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
from torch import nn
from torch.nn import functional as F

from course_lib.reproducible import make_reproducible
from course_lib.seq2seq import AdditiveAttention, GRUEncoder, Seq2Seq, Seq2SeqConfig
from course_lib.tokens import BOS, EOS
from experiments import store
from experiments.seq2seq_lengths import SEEDS, VOCAB, exact, pairs, train, write

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


class Unmasked(Seq2Seq):
    """Attention that may look at pads."""

    def start(self, src):
        state = super().start(src)
        return replace(state, src_mask=torch.ones_like(state.src_mask))


def build(kind: str, attention: bool) -> Seq2Seq:
    config = Seq2SeqConfig(vocab_size=VOCAB, d_model=WIDTH, attention=attention, dropout=0.0)
    model = {"last column": LastColumn, "pads read": Unmasked}.get(kind, Seq2Seq)(config)
    if kind == "wrong axis":
        model.attention = OverQueries(WIDTH)
    if kind == "pads read":
        model.encoder = NotPacked(WIDTH)
    return model.double()


def own_words(model: Seq2Seq, src, tgt_in) -> torch.Tensor:
    """The logits where every step reads the likeliest token of the step before."""
    state, tokens, found = model.start(src), tgt_in[:, :1], []
    for _step in range(tgt_in.shape[1]):
        logits, state = model.step(tokens, state)
        tokens = logits.argmax(dim=-1)
        found.append(logits)
    return torch.cat(found, dim=1)


def train_otherwise(model: Seq2Seq, seed: int, free: bool, most_pads: int) -> None:
    """The training of `seq2seq_lengths`, on the model's own words or with pads after the source."""
    generator = torch.Generator().manual_seed(seed)
    pads = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    for update in range(UPDATES):
        n = torch.randint(1, 13, (), generator=generator).item()
        src, tgt = pairs(64, n, generator)
        src = F.pad(src, (0, torch.randint(most_pads + 1, (), generator=pads).item()))
        tgt_in, tgt_out = F.pad(tgt, (1, 0), value=BOS), F.pad(tgt, (0, 1), value=EOS)
        logits = own_words(model, src, tgt_in) if free else model(src, tgt_in)
        loss = F.cross_entropy(logits.flatten(0, 1), tgt_out.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.param_groups[0]["lr"] = RATE * min((update + 1) / 50, 1 - update / UPDATES)
        optimizer.step()


@torch.no_grad()
def with_pads(model: Seq2Seq, n: int, n_pads: int) -> float:
    src, tgt = pairs(300, n, torch.Generator().manual_seed(1000 + n))
    right = write(model, F.pad(src, (0, n_pads)))[:, : n + 1] == F.pad(tgt, (0, 1), value=EOS)
    return round(right.all(dim=1).double().mean().item(), 3)


def row(setting: tuple[str, bool, int]) -> dict:
    kind, attention, seed = setting
    torch.set_num_threads(1)
    make_reproducible(seed)
    model = build(kind, attention)
    if kind in ("free", "pads read"):
        train_otherwise(model, seed, free=kind == "free", most_pads=3 if kind == "pads read" else 0)
    else:
        train(model, seed, UPDATES, RATE)
    found = {"kind": kind, "attention": attention, "seed": seed}
    if kind == "pads read":
        found["by_pads"] = {n: [with_pads(model, n, pads) for pads in PADS] for n in (5, 12)}
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
