"""Guessing hidden words, as BERT is trained: what an encoder layer can do without one of its two parts.

    python -m experiments.encoder_masked

One word of each English sentence of the course's corpus is replaced by [MASK], another one each time, and a pre-norm
encoder of one layer names it. Left out in its turn: attention, or the feed-forward network. Each arm is trained at the
rate of `RATES` that fills most gaps of the validation sentences with a seed that is not used again, then with three
seeds, and is tested on 1,000 other sentences. Float32. About three minutes on one core.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.corpus import course_corpus
from course_lib.encoder import Encoder
from course_lib.masks import padding_mask
from course_lib.positional_encoding import InputEmbedding, SinusoidalPositions
from course_lib.tokens import PAD
from experiments import store

MASK, FIRST_WORD = 1, 4
D_MODEL, N_HEADS, D_FF = 32, 4, 128
RATES, CHOOSING, SEEDS, UPDATES, BATCH = [0.008, 0.0128, 0.02], 100, [0, 1, 2], 800, 64
N_TRAIN = 5000
ARMS = {"attention and feed-forward": "", "no attention": "attention", "no feed-forward": "feed-forward"}


class Skip(nn.Module):
    """In the place of a residual: the stream goes on, and the part adds nothing."""

    def forward(self, x: Tensor, _part: nn.Module) -> Tensor:
        return x


class Guesser(nn.Module):
    """Logits of the vocabulary at every position."""

    def __init__(self, vocab_size: int, without: str):
        super().__init__()
        self.embedding = InputEmbedding(vocab_size, D_MODEL, SinusoidalPositions(D_MODEL), dropout=0.0)
        self.encoder = Encoder(1, D_MODEL, N_HEADS, D_FF, dropout=0.0, norm_first=True)
        for number, part in enumerate(("attention", "feed-forward")):
            if part == without:
                self.encoder.layers[0].residuals[number] = Skip()
        self.output = nn.Linear(D_MODEL, vocab_size)

    def forward(self, ids: Tensor) -> Tensor:
        return self.output(self.encoder(self.embedding(ids), padding_mask(ids)))


def data() -> tuple[int, dict[str, Tensor]]:
    """The size of the vocabulary, and the ids of the sentences of each split, with pads at the end."""
    corpus = course_corpus(n_train=N_TRAIN)
    sentences = {split: [pair.tgt for pair in corpus[split]] for split in ("train", "val", "test")}
    words = sorted({word for split in sentences.values() for sentence in split for word in sentence})
    number = {word: i for i, word in enumerate(words, start=FIRST_WORD)}
    ids = {
        split: nn.utils.rnn.pad_sequence(
            [torch.tensor([number[word] for word in sentence]) for sentence in chosen],
            batch_first=True,
            padding_value=PAD,
        )
        for split, chosen in sentences.items()
    }
    return FIRST_WORD + len(words), ids


def hidden(ids: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """The sentences with one word replaced by [MASK], where it was, and which word it was."""
    lengths = (ids != PAD).sum(dim=1)
    where = (torch.rand(len(ids), generator=generator) * lengths).long()
    rows = torch.arange(len(ids))
    given = ids.clone()
    given[rows, where] = MASK
    return given, where, ids[rows, where]


def filled(model: nn.Module, ids: Tensor) -> float:
    """The share of gaps that are filled with the hidden word."""
    given, where, word = hidden(ids, torch.Generator().manual_seed(99))
    with torch.no_grad():
        guess = model(given)[torch.arange(len(given)), where].argmax(dim=-1)
    return round((guess == word).double().mean().item(), 4)


def trained(without: str, rate: float, seed: int, vocab_size: int, train: Tensor) -> nn.Module:
    torch.manual_seed(seed)
    model = Guesser(vocab_size, without)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    generator = torch.Generator().manual_seed(seed)
    for update in range(UPDATES):
        ids = train[torch.randint(len(train), (BATCH,), generator=generator)]
        ids = ids[:, : (ids != PAD).sum(dim=1).max()]
        given, where, word = hidden(ids, generator)
        logits = model(given)[torch.arange(len(given)), where]
        loss = F.cross_entropy(logits, word)
        optimizer.zero_grad()
        loss.backward()
        optimizer.param_groups[0]["lr"] = rate * min((update + 1) / 50, 1 - update / UPDATES)
        optimizer.step()
    return model.eval()


def main() -> None:
    torch.set_num_threads(1)
    vocab_size, ids = data()
    rows = []
    for name, without in ARMS.items():
        tried = {rate: filled(trained(without, rate, CHOOSING, vocab_size, ids["train"]), ids["val"]) for rate in RATES}
        rate = max(tried, key=tried.get)
        shares = [filled(trained(without, rate, seed, vocab_size, ids["train"]), ids["test"]) for seed in SEEDS]
        rows.append({"arm": name, "rate": rate, "tried": [*tried.values()], "filled": shares})
        print(rows[-1], flush=True)
    store(__file__, seeds=SEEDS, rates=RATES, updates=UPDATES, rows=rows)


if __name__ == "__main__":
    main()
