"""In order or scrambled? A classifier on the course's English sentences, and what changes when a part of it changes.

    python -m experiments.encoder_order

Half of each batch is shuffled anew, with [CLS] left in first position; the classifier says which half a sentence is
from. A bag of words knows nothing about it. One encoder layer, three seeds. Two groups of rows: how loudly words and
positions enter (the paper multiplies word vectors by √d_model), and one part of the model changed or left out at a
time. As a second task, the tense of the main clause. Some rows are repeated at other learning rates and with four times
the updates. About eight minutes on one core.
"""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn import functional as F

from course_lib.corpus import course_corpus
from course_lib.encoder import Encoder, masked_mean
from course_lib.masks import padding_mask
from course_lib.positional_encoding import sinusoidal_encoding
from course_lib.tokens import PAD
from experiments import store

CLS, FIRST_WORD = 1, 4
D_MODEL, N_HEADS, D_FF = 32, 4, 64
RATE, BATCH, STEPS, SEEDS = 0.003, 32, 400, [0, 1, 2]
N_TRAIN, N_TEST = 5000, 1000
ROOT = math.sqrt(D_MODEL)


@dataclass(frozen=True)
class Setting:
    """One row: what the word vectors (of length about 1) and the positions are multiplied by, and the model."""

    words: float = 1.0
    positions: float = 1.0
    pooling: str = "mean"
    activation: str = "relu"
    norm_first: bool = True
    dropout: float = 0.0
    without: str = ""
    task: str = "order"
    rate: float = RATE
    steps: int = STEPS


SETTINGS = {
    "words × √d_model": Setting(words=ROOT),
    "neither": Setting(),
    "both × √d_model": Setting(words=ROOT, positions=ROOT),
    "positions × √d_model": Setting(positions=ROOT),
    "no positions": Setting(positions=0.0),
    "[CLS], words × √d_model": Setting(words=ROOT, pooling="cls"),
    "[CLS], neither": Setting(pooling="cls"),
    "tense, words × √d_model": Setting(words=ROOT, task="tense"),
    "tense, neither": Setting(task="tense"),
    "GELU": Setting(activation="gelu"),
    "no activation": Setting(activation="none"),
    "post-norm": Setting(norm_first=False),
    "dropout 0.1": Setting(dropout=0.1),
    "no attention": Setting(without="attention"),
    "no feed-forward": Setting(without="feed-forward"),
    "no attention or activation": Setting(without="attention", activation="none"),
    "no attention, words × √d_model": Setting(words=ROOT, without="attention"),
}
CHANGES = {f"rate {rate}": {"rate": rate} for rate in (0.001, 0.01)} | {"1,600 updates": {"steps": 1600}}
SETTINGS |= {
    f"{name}, {change}": replace(SETTINGS[name], **changed)
    for name in ("[CLS], words × √d_model", "[CLS], neither")
    for change, changed in CHANGES.items()
}
SETTINGS |= {
    f"{name}, 1,600 updates": replace(SETTINGS[name], steps=1600)
    for name in ("neither", "no attention", "no feed-forward")
}


class Skip(nn.Module):
    """In the place of a residual: the stream goes on, and the part adds nothing."""

    def forward(self, x: Tensor, _part: nn.Module) -> Tensor:
        return x


class Model(nn.Module):
    """Logits of two labels for sentences of ids that begin with [CLS]."""

    def __init__(self, vocab_size: int, max_len: int, setting: Setting):
        super().__init__()
        self.setting = setting
        self.word = nn.Embedding(vocab_size, D_MODEL)
        nn.init.normal_(self.word.weight, std=D_MODEL**-0.5)
        self.register_buffer("table", sinusoidal_encoding(max_len, D_MODEL).double())
        activation = setting.activation if setting.activation != "none" else "relu"
        self.encoder = Encoder(1, D_MODEL, N_HEADS, D_FF, setting.dropout, setting.norm_first, activation)
        if setting.activation == "none":
            self.encoder.layers[0].feed_forward.activation = lambda x: x
        for number, part in enumerate(("attention", "feed-forward")):
            if part == setting.without:
                self.encoder.layers[0].residuals[number] = Skip()
        self.output = nn.Linear(D_MODEL, 2)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.setting.words * self.word(ids) + self.setting.positions * self.table[: ids.shape[1]]
        hidden = self.encoder(x, padding_mask(ids))
        pooled = hidden[:, 0] if self.setting.pooling == "cls" else masked_mean(hidden, ids != PAD)
        return self.output(pooled)


def data() -> tuple[int, dict[str, tuple[Tensor, Tensor]]]:
    """The size of the vocabulary, and ids with the labels of their tense, to train on and to test with."""
    corpus = course_corpus(n_train=N_TRAIN)
    splits = {"train": corpus["train"], "test": corpus["test"][:N_TEST]}
    words = sorted({word for pairs in splits.values() for pair in pairs for word in pair.tgt})
    number = {word: i for i, word in enumerate(words, start=FIRST_WORD)}
    longest = 1 + max(len(pair.tgt) for pairs in splits.values() for pair in pairs)
    found = {}
    for split, pairs in splits.items():
        ids = torch.full((len(pairs), longest), PAD)
        for row, pair in enumerate(pairs):
            ids[row, : 1 + len(pair.tgt)] = torch.tensor([CLS, *(number[word] for word in pair.tgt)])
        found[split] = ids, torch.tensor([int("past" in pair.tags) for pair in pairs])
    return FIRST_WORD + len(words), found


def scrambled(ids: Tensor, generator: torch.Generator) -> Tensor:
    """Each sentence with its words in another order; [CLS] stays first and pads stay last."""
    keys = torch.rand(ids.shape, generator=generator)
    keys[:, 0] = -1
    keys[ids == PAD] = 2
    return ids.gather(1, keys.argsort(dim=1))


def half_scrambled(ids: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """The second half of the sentences scrambled, and the labels: 1 = in order."""
    half = len(ids) // 2
    return torch.cat([ids[:half], scrambled(ids[half:], generator)]), (torch.arange(len(ids)) < half).long()


def trained(setting: Setting, vocab_size: int, splits: dict[str, tuple[Tensor, Tensor]]) -> list[float]:
    """Train a model for each seed, all at once: the shares of right answers on the sentences to test with."""
    (train, train_tense), (test, test_tense) = splits["train"], splits["test"]
    models = []
    for seed in SEEDS:
        torch.manual_seed(seed)
        models.append(Model(vocab_size, train.shape[1], setting).double())
    parameters, buffers = stack_module_state(models)
    run = vmap(functional_call, in_dims=(None, (0, 0), 0), randomness="different")
    generators = [torch.Generator().manual_seed(seed) for seed in SEEDS]
    optimizer = torch.optim.Adam(parameters.values(), lr=setting.rate)

    def batch(generator: torch.Generator) -> tuple[Tensor, Tensor]:
        rows = torch.randint(len(train), (BATCH,), generator=generator)
        if setting.task == "tense":
            return train[rows], train_tense[rows]
        return half_scrambled(train[rows], generator)

    for _step in range(setting.steps):
        ids, labels = map(torch.stack, zip(*map(batch, generators), strict=True))
        ids = ids[..., : int((ids != PAD).sum(dim=-1).max())]
        logits = run(models[0], (parameters, buffers), (ids,))
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten()) * len(SEEDS)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    models[0].eval()
    ids, labels = half_scrambled(test, torch.Generator().manual_seed(99))
    if setting.task == "tense":
        ids, labels = test, test_tense
    with torch.no_grad():
        logits = run(models[0], (parameters, buffers), (ids.expand(len(SEEDS), -1, -1),))
    return [round(share, 4) for share in (logits.argmax(dim=-1) == labels).double().mean(dim=1).tolist()]


def main() -> None:
    vocab_size, splits = data()
    rows = {}
    for name, setting in SETTINGS.items():
        rows[name] = trained(setting, vocab_size, splits)
        print(f"{name:28}", rows[name], flush=True)
    path = store(__file__, seeds=SEEDS, steps=STEPS, vocab_size=vocab_size, rows=rows)
    print("wrote", path.name)


if __name__ == "__main__":
    main()
