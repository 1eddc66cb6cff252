"""What four heads look at after learning to fill a gap in the course's English sentences of eight words.

    python -m experiments.multi_head_sentences

One layer: vectors of words and positions, self-attention with four heads (or one), one linear layer. A word is left
out at random and must be named. As controls, weights held equal, and no attention at all (every position sees itself
alone). Kept: accuracy over three seeds, with and without each of the four heads, where the heads look, and the weights
of the first seed on two sentences. About ten minutes on one core.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.corpus import course_corpus
from course_lib.multi_head import MultiHeadAttention
from experiments import store

SEQ_LEN, D_MODEL, GAP, RATE, BATCH = 8, 64, 0, 0.003, 128
SEEDS, STEPS, N_HEADS = [0, 1, 2], 4000, 4
EXAMPLES = [  # of the sentences to test with, and where the gap is
    ("three painters think that Arin ate a cake", 6),
    ("Yeonsu explains that Seungju did not see Eunyeong", 1),
]


class FillTheGap(nn.Module):
    """Logits over the words for the gap (id 0) of each sentence, and the attention weights."""

    def __init__(self, n_words: int, n_heads: int, held: Tensor | None = None):
        super().__init__()
        self.word = nn.Embedding(n_words, D_MODEL)
        self.position = nn.Embedding(SEQ_LEN, D_MODEL)
        self.attention = MultiHeadAttention(D_MODEL, n_heads)
        self.readout = nn.Linear(D_MODEL, n_words)
        self.held = held  # weights to use instead of learned ones

    def forward(self, ids: Tensor, gap: Tensor) -> tuple[Tensor, Tensor]:
        x = self.word(ids) + self.position.weight
        if self.held is None:
            seen, weights = self.attention(x, x, x)
        else:
            seen, weights = self.attention.w_o(self.held @ self.attention.w_v(x)), self.held
        return self.readout(seen[torch.arange(len(ids)), gap]), weights


def data() -> tuple[list[str], Tensor, Tensor]:
    """The words (the gap first), and ids (sentences, 8) to train on and to test with."""
    corpus = course_corpus(n_train=60_000)
    train, val, test = ([s.tgt for s in corpus[split] if len(s.tgt) == SEQ_LEN] for split in ("train", "val", "test"))
    words = ["▁", *sorted({word for sentence in train for word in sentence})]
    ids = {word: i for i, word in enumerate(words)}
    known = [sentence for sentence in [*val, *test] if all(word in ids for word in sentence)]
    return words, *(torch.tensor([[ids[word] for word in s] for s in split]) for split in (train, known))


def with_gap(ids: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
    """The sentences with a gap at one position each, and the words that stood there."""
    rows = torch.arange(len(ids))
    given = ids.clone()
    given[rows, at] = GAP
    return given, ids[rows, at]


@torch.no_grad()
def accuracy(model: nn.Module, ids: Tensor) -> float:
    """The share of words named, over all sentences and all positions of the gap."""
    hits = []
    for position in range(SEQ_LEN):
        at = torch.full((len(ids),), position)
        given, answer = with_gap(ids, at)
        hits.append(model(given, at)[0].argmax(dim=-1) == answer)
    return torch.stack(hits).double().mean().item()


def trained(words: list[str], ids: Tensor, seed: int, n_heads: int, held: Tensor | None = None) -> FillTheGap:
    torch.manual_seed(seed)
    model = FillTheGap(len(words), n_heads, held)
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    for _step in range(STEPS):
        batch = ids[torch.randint(len(ids), (BATCH,), generator=generator)]
        at = torch.randint(SEQ_LEN, (BATCH,), generator=generator)
        given, answer = with_gap(batch, at)
        loss = F.cross_entropy(model(given, at)[0], answer)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


@torch.no_grad()
def without_head(model: FillTheGap, head: int, ids: Tensor) -> float:
    """The accuracy when one head's rows of W_O are zeros."""
    w_o = model.attention.w_o.weight  # transposed: the rows of W_O are its columns
    kept, own = w_o.clone(), slice(head * D_MODEL // N_HEADS, (head + 1) * D_MODEL // N_HEADS)
    w_o[:, own] = 0
    share = accuracy(model, ids)
    w_o.copy_(kept)
    return share


@torch.no_grad()
def on_neighbors(model: FillTheGap, ids: Tensor) -> list[list[float]]:
    """For each head, the mean weight from the gap to the word before and to the word after."""
    means = []
    for position in range(1, SEQ_LEN - 1):
        at = torch.full((len(ids),), position)
        weights = model(with_gap(ids, at)[0], at)[1].mean(dim=0)[:, position]  # (heads, keys)
        means.append(weights[:, [position - 1, position + 1]])
    return [[round(share, 3) for share in head] for head in torch.stack(means).mean(dim=0).tolist()]


@torch.no_grad()
def example(model: FillTheGap, words: list[str], sentence: str, position: int) -> dict:
    """One sentence with its gap: the three words the model finds likeliest, and the weights of all heads."""
    ids = torch.tensor([[words.index(word) for word in sentence.split()]])
    at = torch.tensor([position])
    given, _answer = with_gap(ids, at)
    logits, weights = model(given, at)
    return {
        "sentence": sentence.split(),
        "gap": position,
        "guesses": [words[i] for i in logits[0].topk(3).indices],
        "weights": [[[round(w, 3) for w in row] for row in head] for head in weights[0].tolist()],
    }


def main() -> None:
    torch.set_num_threads(1)
    words, train, test = data()
    print(len(train), "sentences to train on,", len(test), "to test with,", len(words), "words", flush=True)
    kinds = {
        "itself alone": {"n_heads": 1, "held": torch.eye(SEQ_LEN)},
        "equal weights": {"n_heads": 1, "held": torch.full((SEQ_LEN, SEQ_LEN), 1 / SEQ_LEN)},
        "one head": {"n_heads": 1},
        "four heads": {"n_heads": N_HEADS},
    }
    shares = {}
    for name, kind in kinds.items():
        models = [trained(words, train, seed, **kind) for seed in SEEDS]
        shares[name] = [round(accuracy(model, test), 3) for model in models]
        print(name, shares[name], flush=True)
    silenced = [[round(without_head(model, head, test), 3) for head in range(N_HEADS)] for model in models]
    neighbors = [on_neighbors(model, test) for model in models]
    print(silenced, neighbors)
    examples = [example(models[0], words, sentence, position) for sentence, position in EXAMPLES]
    numbers = {"accuracy": shares, "accuracy without head": silenced, "weight before and after": neighbors}
    store(__file__, seeds=SEEDS, **numbers, examples=examples)


if __name__ == "__main__":
    main()
