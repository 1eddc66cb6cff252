"""A small bench on which recipes of training compete: few words, a tiny Transformer, and a loop of parts."""

from collections import Counter
from dataclasses import dataclass
from functools import cache

import torch
from torch import nn

from course_lib.batching import Batches, IdPair
from course_lib.corpus import generate
from course_lib.reproducible import make_reproducible
from course_lib.tokens import PAD
from course_lib.training import cosine, label_smoothed_loss
from course_lib.transformer import Transformer, TransformerConfig

UPDATES = 300


@dataclass(frozen=True)
class Recipe:
    """One way to train: what the chapter's loop does, and what it leaves out.

    `warmup` is a share of all updates. At update `spoiled` the gradients are
    multiplied by `factor`; with `forget`, Adam's averages are cleared right
    after it, "both" or the one of the gradients ("mean").
    """

    rate: float
    optimizer: str = "adam"  # or "sgd"
    beta2: float = 0.98
    warmup: float = 0.1
    schedule: str = "cosine"  # or "constant"
    clip: float = 1.0
    smoothing: float = 0.1
    norm_first: bool = True
    spoiled: int | None = None
    factor: float = 1e4
    forget: str = ""  # or "both", or "mean"

    def rate_at(self, update: int, updates: int) -> float:
        """The learning rate of an update, counted from 1."""
        if self.schedule == "cosine":
            return cosine(update / updates, self.rate, self.warmup)
        return self.rate * min(1.0, update / max(round(self.warmup * updates), 1))


@cache
def bench_pairs() -> tuple[list[IdPair], list[IdPair], int]:
    """Training pairs, 200 validation pairs, and the vocabulary's size.

    The simple sentences of the course's grammar whose English words are
    among the 200 most frequent ones; every word, Korean or English, is a token.
    """
    sentences = generate(0, "train", 16_000, {"simple": 1}, set())
    counts = Counter(word for pair in sentences for word in pair.tgt)
    frequent = {word for word, _ in counts.most_common(200)}
    kept = [pair for pair in sentences if frequent.issuperset(pair.tgt)]
    words = sorted({word for pair in kept for word in pair.src + pair.tgt})
    number = {word: i for i, word in enumerate(words, start=4)}
    pairs = [([number[w] for w in pair.src], [number[w] for w in pair.tgt]) for pair in kept]
    return pairs[200:], pairs[:200], 4 + len(words)


def bench_model(seed: int, norm_first: bool = True, dropout: float = 0.0) -> Transformer:
    """One layer on each side, 48 features, in float64: the same digits on every machine."""
    make_reproducible(seed)
    vocab_size = bench_pairs()[2]
    config = TransformerConfig(vocab_size, 48, 4, 96, 1, dropout, norm_first)
    return Transformer(config).double()


@torch.no_grad()
def measure(model: Transformer) -> dict[str, float]:
    """On the validation sentences: the loss without smoothing in nats a token, the share of tokens whose likeliest word
    is right, the mean probability of that word, and the share of sentences of which all tokens are right."""
    loss = right = top = exact = n_tokens = n_sentences = 0.0
    for batch in Batches(bench_pairs()[1], max_tokens=2000, shuffle=False)(0):
        logits = model(batch.src, batch.tgt_in)
        real = batch.tgt_out != PAD
        hits = logits.argmax(dim=-1) == batch.tgt_out
        loss += label_smoothed_loss(logits, batch.tgt_out, 0.0).item() * batch.n_tokens
        right += (hits & real).sum().item()
        top += logits.softmax(dim=-1).amax(dim=-1)[real].sum().item()
        exact += (hits | ~real).all(dim=1).sum().item()
        n_tokens, n_sentences = n_tokens + batch.n_tokens, n_sentences + len(batch.src)
    return {"loss": loss / n_tokens, "accuracy": right / n_tokens, "top": top / n_tokens, "exact": exact / n_sentences}


def train_once(recipe: Recipe, seed: int, updates: int = UPDATES, every: int = 20) -> dict:
    """Train the bench's model by a recipe, and measure it: all that depends on chance depends on `seed`.

    Gives the last measurements, the validation loss after `every` updates ("curve"), the training loss of each update
    ("training"), the share of updates whose gradient was clipped ("clipped"), and how far a typical weight moves in an
    update ("moved"): the root of the mean square over all weights, averaged over the updates.
    """
    model = bench_model(seed, recipe.norm_first)
    if recipe.optimizer == "sgd":
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0, momentum=0.9)
    else:
        optimizer = torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, recipe.beta2), eps=1e-9)
    stream = Batches(bench_pairs()[0], max_tokens=150, seed=seed).stream()
    curve, training, clipped, moved = [], [], 0, 0.0
    for update in range(1, updates + 1):
        batch = next(stream)[1]
        loss = label_smoothed_loss(model(batch.src, batch.tgt_in), batch.tgt_out, recipe.smoothing)
        optimizer.zero_grad()
        loss.backward()
        if update == recipe.spoiled:
            for p in model.parameters():
                p.grad *= recipe.factor
        clipped += nn.utils.clip_grad_norm_(model.parameters(), recipe.clip).item() > recipe.clip
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate_at(update, updates)
        before = nn.utils.parameters_to_vector(model.parameters()).detach()
        optimizer.step()
        after = nn.utils.parameters_to_vector(model.parameters()).detach()
        moved += (after - before).square().mean().sqrt().item()
        if update == recipe.spoiled and recipe.forget == "both":
            optimizer.state.clear()
        elif update == recipe.spoiled and recipe.forget == "mean":
            for averages in optimizer.state.values():
                averages["exp_avg"].zero_()
        training.append(loss.item())
        if update % every == 0:
            curve.append(measure(model)["loss"])
    found = {"curve": curve, "training": training, "clipped": clipped / updates, "moved": moved / updates}
    return measure(model) | found
