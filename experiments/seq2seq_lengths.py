"""How long a sequence a recurrent network can reverse: with one vector for the source, and with attention.

    python -m experiments.seq2seq_lengths

Ten symbols, one length a batch, fresh data at every update. A row gives the share of 300 new sequences of each length
that are written completely right, the end included. The controls replace the attention's weights by equal ones, leave
out its tanh, change the rate, train longer, train on longer sequences, or read in one direction. Every training is
repeated with three seeds. About twenty minutes on one core.
"""

from concurrent.futures import ProcessPoolExecutor

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.reproducible import make_reproducible
from course_lib.seq2seq import AdditiveAttention, Seq2Seq, Seq2SeqConfig
from course_lib.tokens import BOS, EOS
from experiments import store

FIRST, VOCAB = 4, 14  # ten symbols, after PAD, BOS, EOS, UNK
LENGTHS = list(range(2, 17, 2))
SEEDS, UPDATES, SEQUENCES = [0, 1, 2], 1000, 300


class EqualWeights(AdditiveAttention):
    """Every state of the source is there, but nothing is selected: the context is their plain mean."""

    def forward(self, query, keys, memory, mask=None):
        weights = torch.full_like(query @ keys.mT, 1 / keys.shape[1])
        return weights @ memory, weights


class NoTanh(AdditiveAttention):
    """Query and key are added up, and nothing bends their sum."""

    def forward(self, query, keys, memory, mask=None):
        weights = self.u(self.w_q(query)[:, :, None] + keys[:, None]).squeeze(-1).softmax(dim=-1)
        return weights @ memory, weights


class OneDirection(nn.Module):
    """A GRU that reads from left to right only."""

    def __init__(self, d_model):
        super().__init__()
        self.gru = nn.GRU(d_model, d_model, batch_first=True)

    def forward(self, x, lengths):
        outputs, last = self.gru(x)
        return outputs, last[0]


KINDS = {"fixed": None, "attention": AdditiveAttention, "equal weights": EqualWeights, "no tanh": NoTanh}


def build(kind: str, d_model: int, one_direction: bool) -> Seq2Seq:
    config = Seq2SeqConfig(vocab_size=VOCAB, d_model=d_model, attention=kind != "fixed", dropout=0.0)
    model = Seq2Seq(config).double()
    if kind not in ("fixed", "attention"):
        model.attention = KINDS[kind](d_model).double()
    if one_direction:
        model.encoder = OneDirection(d_model).double()
    return model


def pairs(batch: int, n: int, generator: torch.Generator, reverse: bool = True):
    src = torch.randint(FIRST, VOCAB, (batch, n), generator=generator)
    return src, src.flip(1) if reverse else src


def train(model: Seq2Seq, seed: int, updates: int, rate: float, longest: int = 12, reverse: bool = True) -> None:
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for update in range(updates):
        n = torch.randint(1, longest + 1, (), generator=generator).item()
        src, tgt = pairs(64, n, generator, reverse)
        tgt_in, tgt_out = F.pad(tgt, (1, 0), value=BOS), F.pad(tgt, (0, 1), value=EOS)
        loss = F.cross_entropy(model(src, tgt_in).flatten(0, 1), tgt_out.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.param_groups[0]["lr"] = rate * min((update + 1) / 50, 1 - update / updates)
        optimizer.step()


@torch.no_grad()
def write(model: Seq2Seq, src: torch.Tensor) -> torch.Tensor:
    """The likeliest symbol at every step, for one step more than the source has symbols."""
    state, tokens, written = model.start(src), torch.full((len(src), 1), BOS), []
    for _step in range(src.shape[1] + 1):
        logits, state = model.step(tokens, state)
        tokens = logits.argmax(dim=-1)
        written.append(tokens)
    return torch.cat(written, dim=1)


def exact(model: Seq2Seq, n: int, reverse: bool = True, n_pads: int = 0) -> float:
    """The share of 300 new sequences of length n, with pads after them or not, that are written completely right."""
    src, tgt = pairs(SEQUENCES, n, torch.Generator().manual_seed(1000 + n), reverse)
    right = write(model, F.pad(src, (0, n_pads)))[:, : n + 1] == F.pad(tgt, (0, 1), value=EOS)
    return right.all(dim=1).double().mean().item()


def row(kind, d_model, seed, updates=UPDATES, rate=0.01, longest=12, one_direction=False, reverse=True) -> dict:
    make_reproducible(seed)
    model = build(kind, d_model, one_direction)
    train(model, seed, updates, rate, longest, reverse)
    lengths = list(range(2, longest + 5, 2))
    return {
        "kind": kind,
        "d_model": d_model,
        "parameters": sum(p.numel() for p in model.parameters()),
        "updates": updates,
        "rate": rate,
        "longest": longest,
        "directions": 1 if one_direction else 2,
        "task": "reverse" if reverse else "copy",
        "seed": seed,
        "lengths": lengths,
        "exact": [round(exact(model, n, reverse), 3) for n in lengths],
    }


def plan() -> list[dict]:
    """Every training: the sweep, and then the controls."""
    settings = [{"kind": "fixed", "d_model": d} for d in (16, 32, 64)]
    settings += [{"kind": "attention", "d_model": d} for d in (16, 32)]
    settings += [{"kind": kind, "d_model": 32} for kind in ("equal weights", "no tanh")]
    settings += [{"kind": "fixed", "d_model": 32, "updates": updates} for updates in (2000, 6000)]
    settings += [{"kind": "fixed", "d_model": 128, "rate": 0.003}]
    settings += [{"kind": "fixed", "d_model": 32, "rate": rate} for rate in (0.003, 0.03)]
    settings += [{"kind": "attention", "d_model": 32, "longest": 24}]
    settings += [{"kind": "fixed", "d_model": 32, "one_direction": True, "reverse": way} for way in (True, False)]
    return [{**setting, "seed": seed} for setting in settings for seed in SEEDS]


def told(setting: dict) -> dict:
    result = row(**setting)
    print({**setting, "exact": result["exact"]}, flush=True)
    return result


def main() -> None:
    with ProcessPoolExecutor(max_workers=2) as pool:
        rows = list(pool.map(told, plan()))
    store(__file__, seeds=SEEDS, rows=rows)


if __name__ == "__main__":
    main()
