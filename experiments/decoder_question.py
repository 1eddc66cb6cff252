"""Why does a decoder write one word after the other? One right answer against two, three seeds each.

    python -m experiments.decoder_question

A source is six words out of ten. Every word has a plain form and a polite form, and a target is right when all of its
words are plain, or all of them polite; in training each of the two comes half of the time. The same decoder is trained
in several ways: it reads the words before, or it reads BOS at every position, or the words that it has sampled itself.
In what the first of them reads, one word of the other form is planted.
About two minutes on one core.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.decoder import Decoder
from course_lib.encoder import Encoder
from course_lib.masks import causal_mask
from course_lib.tokens import BOS
from experiments import store

FIRST, N_WORDS, N = 4, 10, 6  # the first id of a word, words, and words in a sentence
PLAIN, POLITE, VOCAB = FIRST + N_WORDS, FIRST + 2 * N_WORDS, FIRST + 3 * N_WORDS
SEEDS, UPDATES, HELD_OUT = [0, 1, 2], 400, 1000
SUMS = 1500  # updates of the second task


class Translator(nn.Module):
    """An encoder and a decoder of few layers, between ids and logits."""

    def __init__(self, vocab_size: int, d_model: int = 32, n_layers: int = 1):
        super().__init__()
        self.word = nn.Embedding(vocab_size, d_model)
        self.position = nn.Embedding(16, d_model)
        sizes = {"n_layers": n_layers, "d_model": d_model, "n_heads": 4}
        self.encoder = Encoder(**sizes, d_ff=2 * d_model, dropout=0.0)
        self.decoder = Decoder(**sizes, d_ff=2 * d_model, dropout=0.0)
        self.output = nn.Linear(d_model, vocab_size)

    def embed(self, ids: Tensor) -> Tensor:
        return self.word(ids) + self.position.weight[: ids.shape[1]]

    def encode(self, src: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.encoder(self.embed(src), mask)

    def decode(self, tgt_in: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        x = self.embed(tgt_in)
        x = self.decoder(x, memory, causal_mask(tgt_in.shape[1]), mask)
        return self.output(x)

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        return self.decode(tgt_in, self.encode(src))


def pairs(batch: int, generator: torch.Generator, forms: str = "two") -> tuple[Tensor, Tensor]:
    """Source words, and the same words in one form, tossed for each sentence (or plain, with `forms="one"`).

    With `forms="named"` one more word of the source, 0 or 1, names the form; with `forms="sums"` each target word is
    the sum of the source words so far, modulo 10.
    """
    words = torch.randint(N_WORDS, (batch, N), generator=generator)
    if forms == "sums":
        return FIRST + words, PLAIN + words.cumsum(dim=1) % N_WORDS
    form = torch.randint(2, (batch, 1), generator=generator)
    form = torch.zeros_like(form) if forms == "one" else form
    src = FIRST + words
    if forms == "named":
        src = torch.cat([src, form], dim=1)
    return src, torch.where(form.bool(), POLITE, PLAIN) + words


def shifted(tgt: Tensor) -> Tensor:
    """The words before: BOS, and all but the last word. (All sentences have six words, so EOS is left out here.)"""
    return F.pad(tgt, (1, 0), value=BOS)[:, :-1]


def blind(tgt: Tensor) -> Tensor:
    """BOS at every position."""
    return torch.full_like(tgt, BOS)


@torch.no_grad()
def write(model: nn.Module, src: Tensor, reads=shifted, generator: torch.Generator | None = None) -> Tensor:
    """Word by word from the model's own words: sampled with a generator, the likeliest without."""
    tgt, memory = torch.full((len(src), N), BOS), model.encode(src)
    for t in range(N):
        logits = model.decode(reads(tgt), memory)[:, t]
        probs = logits.softmax(dim=-1)
        tgt[:, t] = logits.argmax(dim=-1) if generator is None else probs.multinomial(1, generator=generator)[:, 0]
    return tgt


def trained(
    seed: int,
    reads=shifted,
    forms: str = "two",
    rate: float = 0.01,
    own: bool = False,
    **sizes: int,
) -> nn.Module:
    """A new model, trained to write each word from what it reads."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = Translator(VOCAB, **sizes).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, betas=(0.9, 0.98))
    updates = SUMS if forms == "sums" else UPDATES
    warm_up_then_fall = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, rate, updates, pct_start=0.1, cycle_momentum=False
    )
    for _update in range(updates):
        src, tgt = pairs(64, generator, forms)
        tgt_in = reads(write(model, src, reads, generator) if own else tgt)
        loss = F.cross_entropy(model(src, tgt_in).mT, tgt)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        warm_up_then_fall.step()
    return model.eval()


def one_form(tgt: Tensor, src: Tensor) -> float:
    """The share of sentences whose words are right and all in one form."""
    words = src[:, :N] - FIRST
    plain, polite = (tgt == PLAIN + words).all(dim=1), (tgt == POLITE + words).all(dim=1)
    return (plain | polite).double().mean().item()


@torch.no_grad()
def measured(model: nn.Module, reads=shifted, forms: str = "two") -> dict:
    """Nats at each position of new sentences, and the share in one form: sampled, and greedy."""
    generator = torch.Generator().manual_seed(99)
    src, tgt = pairs(HELD_OUT, generator, forms)
    nats = F.cross_entropy(model(src, reads(tgt)).mT, tgt, reduction="none").mean(dim=0)
    samples, likeliest = write(model, src, reads, generator), write(model, src, reads)
    if forms == "sums":
        shares = [(words == tgt).all(dim=1).double().mean().item() for words in (samples, likeliest)]
    else:
        shares = [one_form(words, src) for words in (samples, likeliest)]
    return {
        "nats": [round(nat, 4) for nat in nats.tolist()],
        "sampled": round(shares[0], 3),
        "greedy": round(shares[1], 3),
    }


@torch.no_grad()
def after_another_form(model: nn.Module, at: int) -> list[float]:
    """Word `at` (from 0) is given in the other form: the share of each later word, written greedily, in the first."""
    src, tgt = pairs(HELD_OUT, torch.Generator().manual_seed(99))
    other = torch.where(tgt >= POLITE, tgt - POLITE + PLAIN, tgt - PLAIN + POLITE)
    memory, own = model.encode(src), tgt.clone()
    own[:, at] = other[:, at]
    for t in range(at + 1, N):
        own[:, t] = model.decode(shifted(own), memory)[:, t].argmax(dim=-1)
    return [round(share, 3) for share in (own == tgt).double().mean(dim=0)[at + 1 :].tolist()]


ARMS = {
    "reads the words before": {},
    "reads BOS only": {"reads": blind},
    "BOS only, rate 0.003": {"reads": blind, "rate": 0.003},
    "BOS only, 2 + 2 layers, d = 64": {"reads": blind, "rate": 0.003, "n_layers": 2, "d_model": 64},
    "BOS only, one right form": {"reads": blind, "forms": "one"},
    "BOS only, source names form": {"reads": blind, "forms": "named"},
    "trained on its own words": {"own": True},
    "own words, rate 0.003": {"own": True, "rate": 0.003},
}
for rate in (0.003, 0.005, 0.01):
    ARMS[f"sums, words before, {rate}"] = {"forms": "sums", "rate": rate}
    ARMS[f"sums, BOS only, {rate}"] = {"forms": "sums", "reads": blind, "rate": rate}


def main() -> None:
    torch.set_num_threads(1)
    rows, planted = [], []
    for arm, given in ARMS.items():
        asked = {name: given[name] for name in ("reads", "forms") if name in given}
        for seed in SEEDS:
            model = trained(seed, **given)
            rows.append({"arm": arm, "seed": seed, **measured(model, **asked)})
            print(rows[-1])
            if not given:
                planted += [{"at": at, "seed": seed, "kept": after_another_form(model, at)} for at in (1, 2, 3)]
    store(__file__, seeds=SEEDS, rows=rows, planted=planted)


if __name__ == "__main__":
    main()
