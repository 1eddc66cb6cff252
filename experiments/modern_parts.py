"""A language model of 2017, and each part of today swapped in, at equal parameters.

    python -m experiments.modern_parts

The English side of the course corpus as one text; about 139,500 parameters; windows of 64 words, 16 of them an update,
in the same order for each model of a seed. AdamW at the rate 0.01, warm-up over a tenth of the updates, then a cosine.
(Updates are counted from 0, so the first one has the rate 0 and moves nothing, for all models alike.) `rates` says what
the other rates give with seed 0. Five seeds, two lengths of training.

The controls train for the shorter time. In them sinusoids are not added to the words, but to what W^Q and W^K read:
positions are absolute, and arrive where RoPE brings them, in the first layer or in each; in the last of these W^V reads
them, too. In "sinusoids × 2" they are added to the words, twice as large. `uncentered` are the losses of the 2017
models whose norms stop centering after the training.
About 30 minutes on one core.
"""

import dataclasses
import statistics
import time
from collections import Counter

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_lib.corpus import course_corpus
from course_lib.language_model import LanguageModel, LanguageModelConfig, windows
from course_lib.layer_norm import LayerNorm
from course_lib.modern import GroupedQueryAttention, RMSNorm
from course_lib.multi_head import merge_heads, split_heads
from course_lib.positional_encoding import SinusoidalPositions, sinusoidal_encoding
from course_lib.tokens import EOS, UNK
from course_lib.training import cosine
from experiments import store

SEEDS = [0, 1, 2, 3, 4]
UPDATES = [300, 1200]
LENGTH, BATCH, RATE, ROUNDS = 64, 16, 0.01, 30
RATES = {300: [0.001, 0.003, 0.03], 1200: [0.003, 0.03]}
OLD = {"rms_norm": False, "positions": "sinusoidal", "swiglu": False, "n_kv_heads": 4, "d_ff": 256}
PARTS = {
    "2017": {},
    "RMSNorm": {"rms_norm": True},
    "SwiGLU": {"swiglu": True, "d_ff": 172},
    "grouped queries": {"n_kv_heads": 2, "d_ff": 288},
    "RoPE": {"positions": "rotary"},
    "all four": {"rms_norm": True, "swiglu": True, "positions": "rotary", "n_kv_heads": 2, "d_ff": 193},
}
CONTROLS = {  # layers whose queries and keys read sinusoids, and whether values do
    "no positions": (0, False),
    "first layer": (1, False),
    "every layer": (2, False),
    "every layer, values too": (2, True),
    "sinusoids × 2": (0, False),
}


def text() -> tuple[Tensor, Tensor, list[str]]:
    """The training text, the validation text, and the words, as ids."""
    corpus = course_corpus()
    sides = [[[*pair.tgt_text.split(" "), None] for pair in corpus[name]] for name in ("train", "val", "test")]
    counts = Counter(word for words in sides[0] for word in words if word)
    known = ["PAD", "BOS", "EOS", "UNK", *sorted(counts, key=lambda word: (-counts[word], word))]
    ids = {word: i for i, word in enumerate(known)} | {None: EOS}
    numbers = [torch.tensor([ids.get(word, UNK) for words in side for word in words]) for side in sides]
    return numbers[0], torch.cat(numbers[1:]), known


class Placed(GroupedQueryAttention):
    """Attention that adds sinusoids to what its queries and keys are made from, and its values if `in_values`."""

    in_values = False

    def forward(self, x, mask=None, angles=None, cache=None):
        placed = x + sinusoidal_encoding(x.shape[1], x.shape[2]).to(x)
        query, key = split_heads(self.w_q(placed), self.n_heads), split_heads(self.w_k(placed), self.n_kv_heads)
        value = split_heads(self.w_v(placed if self.in_values else x), self.n_kv_heads)
        output, weights = scaled_dot_product_attention(query, key, value, mask)
        return self.w_o(merge_heads(output)), weights, (key, value)


class Louder(SinusoidalPositions):
    """Adds sinusoids twice as large."""

    def rows(self, start, stop):
        return 2 * super().rows(start, stop)


def make(part: str, vocab_size: int, seed: int) -> LanguageModel:
    torch.manual_seed(seed)
    config = LanguageModelConfig(vocab_size, d_model=64, n_layers=2, **OLD)
    model = LanguageModel(dataclasses.replace(config, **PARTS.get(part, {"positions": "none"})))
    if part == "sinusoids × 2":
        model.positions = Louder(config.d_model)
    n_layers, in_values = CONTROLS.get(part, (0, False))
    for block in model.blocks[:n_layers]:
        block.attention.__class__ = Placed
        block.attention.in_values = in_values
    return model


def train(model: LanguageModel, ids: Tensor, updates: int, seed: int, rate: float = RATE, far: int = 0) -> float:
    """Train, and return the CPU seconds. With `far`, each batch is placed at an offset below it."""
    read, said = windows(ids, LENGTH)
    order = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    began = time.process_time()
    for step in range(updates):
        for group in optimizer.param_groups:
            group["lr"] = cosine(step / updates, rate, warmup=0.1)
        rows = torch.randint(len(read), (BATCH,), generator=order)
        offset = int(torch.randint(far, (), generator=order)) if far else 0
        loss = F.cross_entropy(model(read[rows], offset=offset).flatten(0, 1), said[rows].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return time.process_time() - began


@torch.no_grad()
def measure(model: LanguageModel, ids: Tensor, length: int = LENGTH, offset: int = 0) -> Tensor:
    """The loss at each place of a window."""
    model.eval()
    read, said = windows(ids, length)
    size = max(1, 4096 // length)
    sums = torch.zeros(length, dtype=torch.float64)
    for i in range(0, len(read), size):
        logits = model(read[i : i + size], offset=offset)
        sums += F.cross_entropy(logits.mT, said[i : i + size], reduction="none").double().sum(dim=0)
    model.train()
    return sums / len(read)


class WithoutMean(LayerNorm):
    """A layer norm whose mean is left where it is."""

    def forward(self, x):
        return self.gain * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) + self.bias


def uncentered(model: LanguageModel, ids: Tensor) -> float:
    """The loss when the norms of a trained model no longer subtract the mean."""
    norms = [module for module in model.modules() if isinstance(module, LayerNorm)]
    for norm in norms:
        norm.__class__ = WithoutMean
    loss = measure(model, ids).mean().item()
    for norm in norms:
        norm.__class__ = LayerNorm
    return loss


def floors(ids: Tensor, test: Tensor, n_words: int) -> list[float]:
    """Losses of interpolated counts of one word, of pairs, and of triples."""
    train_ids, found = ids.tolist(), []
    probs = torch.full((len(test) - 2,), 1 / n_words, dtype=torch.float64)
    for n in (1, 2, 3):
        whole = Counter(zip(*(train_ids[i:] for i in range(n)), strict=False))
        before = Counter(zip(*(train_ids[i:] for i in range(n - 1)), strict=False)) if n > 1 else None
        follow = Counter(gram[:-1] for gram in whole) if n > 1 else None
        words = test.tolist()
        for t in range(2, len(words)):
            gram = tuple(words[t - n + 1 : t + 1])
            past = gram[:-1]
            total = before[past] if n > 1 else len(train_ids)
            kinds = follow[past] if n > 1 else len(whole)
            if total:  # Witten–Bell: the share of the shorter run grows with the number of kinds
                probs[t - 2] = (whole[gram] + kinds * probs[t - 2]) / (total + kinds)
        found.append(-probs.log().mean().item())
    return found


def norm_speed() -> dict[str, float]:
    """Milliseconds of four norms, forward and backward, on 1024 tokens of width 512: the medians."""
    norms = {"layer norm, course": LayerNorm(512), "RMSNorm, course": RMSNorm(512)}
    norms |= {"layer norm, PyTorch": nn.LayerNorm(512), "RMSNorm, PyTorch": nn.RMSNorm(512)}
    found = {}
    for name, norm in norms.items():
        x, times = torch.randn(1024, 512, requires_grad=True), []
        for _round in range(ROUNDS):
            began = time.perf_counter()
            norm(x).sum().backward()
            times.append(1000 * (time.perf_counter() - began))
        found[name] = round(statistics.median(times), 2)
    return found


def main() -> None:
    ids, test, words = text()
    rows, uncentered_losses = [], []
    for updates in UPDATES:
        for part in PARTS | (CONTROLS if updates == UPDATES[0] else {}):
            losses, seconds = [], []
            for seed in SEEDS:
                model = make(part, len(words), seed)
                seconds.append(train(model, ids, updates, seed))
                losses.append(round(measure(model, test).mean().item(), 4))
                if part == "2017" and updates == UPDATES[0]:
                    uncentered_losses.append(round(uncentered(model, test), 4))
            size = sum(p.numel() for p in model.parameters())
            row = {"part": part, "updates": updates, "parameters": size, "loss": losses}
            rows.append(row | {"seconds": [round(s, 1) for s in seconds]})
            print(rows[-1], flush=True)
    rates = []
    for updates, others in RATES.items():
        for part in PARTS if updates == UPDATES[0] else ("2017", "RoPE"):
            for rate in others:
                model = make(part, len(words), 0)
                train(model, ids, updates, 0, rate)
                loss = round(measure(model, test).mean().item(), 4)
                rates.append({"part": part, "updates": updates, "rate": rate, "loss": loss})
                print(rates[-1], flush=True)
    numbers = [round(x, 3) for x in floors(ids, test, len(words))]
    about = {"words": len(words), "tokens": len(ids), "floors": numbers, "uncentered": uncentered_losses}
    about["norm_ms"] = norm_speed()
    store(__file__, seeds=SEEDS, rates=rates, rows=rows, **about)


if __name__ == "__main__":
    main()
