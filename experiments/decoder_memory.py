"""What does a decoder take from the memory, from the words before, and from its masks? Three seeds each.

    python -m experiments.decoder_memory

The task is that of chapter 01: two to six symbols out of ten, to be written in reverse, then EOS. A trained model is
given another memory, or loses its cross-attention; others are trained with labels that are shifted wrongly, with
softmax over the queries, and without a mask in the cross-attention, on batches without pads and with few or many. About
six minutes on one core.
"""

from collections.abc import Callable
from multiprocessing import Pool

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_lib.masks import padding_mask
from course_lib.multi_head import MultiHeadAttention, merge_heads, split_heads
from course_lib.probes import dependency
from course_lib.tokens import BOS, EOS, PAD
from experiments import store
from experiments.decoder_question import Translator

FIRST, VOCAB, SHORTEST, LONGEST = 4, 14, 2, 6
SEEDS, UPDATES, EVERY, RANDOM_UPDATES, HELD_OUT = [0, 1, 2], 400, 20, 150, 500
Batch = tuple[Tensor, Tensor, Tensor]


def reversals(batch: int, generator: torch.Generator) -> Batch:
    """src, and its reversal as tgt_in and tgt_out, padded on the right."""
    n = torch.randint(SHORTEST, LONGEST + 1, (batch, 1), generator=generator)
    src = torch.randint(FIRST, VOCAB, (batch, LONGEST), generator=generator)
    at = torch.arange(LONGEST)
    tgt = src.gather(1, (n - 1 - at).clamp(min=0)).masked_fill(at >= n, PAD)
    tgt_out = F.pad(tgt, (0, 1), value=PAD).scatter(1, n, EOS)
    return src.masked_fill(at >= n, PAD), F.pad(tgt, (1, 0), value=BOS), tgt_out


def same_length(batch: int, generator: torch.Generator) -> Batch:
    """All sentences of a batch have one length, so that there are no pads."""
    n = int(torch.randint(SHORTEST, LONGEST + 1, (), generator=generator))
    src = torch.randint(FIRST, VOCAB, (batch, n), generator=generator)
    return src, F.pad(src.flip(1), (1, 0), value=BOS), F.pad(src.flip(1), (0, 1), value=EOS)


def more_pads(batch: int, generator: torch.Generator) -> Batch:
    """Up to eight further pads behind all sentences, also those of six symbols."""
    src, tgt_in, tgt_out = reversals(batch, generator)
    n_pads = int(torch.randint(0, 9, (), generator=generator))
    return F.pad(src, (0, n_pads), value=PAD), tgt_in, tgt_out


def not_shifted(batch: int, generator: torch.Generator) -> Batch:
    src, _tgt_in, tgt_out = reversals(batch, generator)
    return src, tgt_out, tgt_out


def shifted_twice(batch: int, generator: torch.Generator) -> Batch:
    src, tgt_in, tgt_out = reversals(batch, generator)
    return src, tgt_in[:, :-1], tgt_out[:, 1:]


class OverQueries(MultiHeadAttention):
    """The bug: the softmax runs over the queries."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        q, k, v = (split_heads(w(x), self.n_heads) for w, x in ((self.w_q, query), (self.w_k, key), (self.w_v, value)))
        weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(dim=-2)
        weights = weights if mask is None else weights.masked_fill(~mask, 0.0)
        return self.w_o(merge_heads(weights @ v)), weights


class Nothing(nn.Module):
    """In the place of the cross-attention: it adds zeros to the stream."""

    def forward(self, query: Tensor, *_others: Tensor) -> tuple[Tensor, None]:
        return torch.zeros_like(query), None


def trained(
    seed: int,
    make: Callable[[int, torch.Generator], Batch] = reversals,
    cross: Callable[[], nn.Module] | None = None,
    cross_mask: bool = True,
    rate: float = 0.01,
    every: int = 0,
) -> tuple[nn.Module, list]:
    """A model trained on what `make` returns; with `every`, what `progress` says on the way."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = Translator(VOCAB).double()
    if cross is not None:
        model.decoder.layers[0].cross_attention = cross().double()
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, betas=(0.9, 0.98))
    warm_up_then_fall = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, rate, UPDATES, pct_start=0.1, cycle_momentum=False
    )
    seen = []
    for update in range(1, UPDATES + 1):
        src, tgt_in, tgt_out = make(64, generator)
        real = padding_mask(src)
        logits = model.decode(tgt_in, model.encode(src, real), real if cross_mask else None)
        loss = F.cross_entropy(logits.mT, tgt_out, ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        warm_up_then_fall.step()
        if every and update % every == 0:
            seen.append(progress(model))
    return model.eval(), seen


def held_out(make: Callable = reversals) -> Batch:
    return make(HELD_OUT, torch.Generator().manual_seed(99))


@torch.no_grad()
def write(model: nn.Module, memory: Tensor, mask: Tensor | None, steps: int = LONGEST + 1) -> Tensor:
    """The likeliest words, each from the model's own words before it; PAD behind EOS."""
    tgt = torch.full((len(memory), 1), BOS)
    for _step in range(steps):
        best = model.decode(tgt, memory, mask)[:, -1].argmax(dim=-1, keepdim=True)
        ended = (tgt == EOS).any(dim=1, keepdim=True)
        tgt = torch.cat([tgt, best.masked_fill(ended, PAD)], dim=1)
    return tgt[:, 1:]


def share(right: Tensor) -> float:
    return round(right.double().mean().item(), 3)


@torch.no_grad()
def loss_of(model: nn.Module, memory: Tensor, mask: Tensor | None, tgt_in: Tensor, tgt_out: Tensor) -> float:
    logits = model.decode(tgt_in, memory, mask)
    return round(F.cross_entropy(logits.mT, tgt_out, ignore_index=PAD).item(), 4)


@torch.no_grad()
def progress(model: nn.Module) -> list[float]:
    """The share of right tokens: with the right words before each, and with its own words before each."""
    src, tgt_in, tgt_out = held_out()
    mask, real = padding_mask(src), tgt_out != PAD
    memory = model.encode(src, mask)
    forced = model.decode(tgt_in, memory, mask).argmax(dim=-1)
    own = write(model, memory, mask)
    return [share((words == tgt_out)[real]) for words in (forced, own)]


@torch.no_grad()
def memories(seed: int, model: nn.Module) -> list[dict]:
    """The same trained decoder with six memories, and with its cross-attention cut."""
    src, tgt_in, tgt_out = held_out()
    mask = padding_mask(src)
    memory = model.encode(src, mask)
    order = torch.randperm(LONGEST, generator=torch.Generator().manual_seed(1))
    real = mask[:, 0, 0, :, None]
    mean = ((memory * real).sum(dim=1, keepdim=True) / real.sum(dim=1, keepdim=True)).expand_as(memory)
    given = {
        "as it is": (memory, mask),
        "rows shuffled": (memory[:, order], mask[..., order]),
        "another sentence's": (memory.roll(1, 0), mask.roll(1, 0)),
        "mean of its rows": (mean, mask),
        "zeros": (torch.zeros_like(memory), mask),
    }
    rows = []
    for name, (rows_of_it, visible) in given.items():
        own = write(model, rows_of_it, visible)
        others = (own == tgt_out.roll(1, 0)).all(dim=1) & (tgt_out != tgt_out.roll(1, 0)).any(dim=1)
        rows.append(
            {
                "memory": name,
                "seed": seed,
                "loss": loss_of(model, rows_of_it, visible, tgt_in, tgt_out),
                "own": share((own == tgt_out).all(dim=1)),
                "others": share(others),
            }
        )
    layer = model.decoder.layers[0]
    kept, layer.cross_attention = layer.cross_attention, Nothing()
    rows.append({"memory": "cross-attention cut", "seed": seed, "loss": loss_of(model, memory, mask, tgt_in, tgt_out)})
    layer.cross_attention = kept
    return rows


@torch.no_grad()
def after_a_wrong_word(model: nn.Module) -> list[float]:
    """One word of the input is replaced by another: the share of right tokens at the next positions."""
    src, tgt_in, tgt_out = held_out()
    mask = padding_mask(src)
    long = (src != PAD).all(dim=1)
    wrong = tgt_in.clone()
    wrong[:, 2] = FIRST + (wrong[:, 2] - FIRST + 1) % (VOCAB - FIRST)
    best = model.decode(wrong, model.encode(src, mask), mask).argmax(dim=-1)
    return [share((best == tgt_out)[long, t]) for t in range(2, LONGEST + 1)]


def wrong_shift(seed: int, make: Callable) -> dict:
    model, _ = trained(seed, make)
    src, tgt_in, tgt_out = held_out(make)
    mask = padding_mask(src)
    memory = model.encode(src, mask)
    own, right = write(model, memory, mask), held_out()[2]
    repeats = (own[:, 1:] == own[:, :-1]).all(dim=1)
    without_first = F.pad(right[:, 1:], (0, 1), value=PAD)
    return {
        "labels": make.__name__,
        "seed": seed,
        "loss": loss_of(model, memory, mask, tgt_in, tgt_out),
        "own": share((own == right).all(dim=1)),
        "one word repeated": share(repeats),
        "without its first word": share((own == without_first).all(dim=1)),
    }


def random_words(seed: int, shift: int, diagonal: int) -> float:
    """The loss on words that no one can know, with labels `shift` positions on and the mask `tril(diagonal)`."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = Translator(VOCAB).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    mask = torch.ones(LONGEST, LONGEST, dtype=torch.bool).tril(diagonal)
    memory = torch.zeros(64, 1, 32, dtype=torch.float64)
    losses = []
    for _update in range(RANDOM_UPDATES):
        words = torch.randint(FIRST, VOCAB, (64, LONGEST + 2), generator=generator)
        x = model.decoder(model.embed(words[:, :LONGEST]), memory, mask)
        loss = F.cross_entropy(model.output(x).mT, words[:, shift : shift + LONGEST])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return round(sum(losses[-20:]) / 20, 4)


def over_queries(seed: int) -> dict:
    """A model whose cross-attention has its softmax over the queries, and how far a later word moves an output."""
    model, _ = trained(seed, cross=lambda: OverQueries(32, n_heads=4))
    model.requires_grad_(False)
    src, tgt_in, tgt_out = held_out()
    mask = padding_mask(src)
    memory = model.encode(src, mask)
    whole = (src != PAD).all(dim=1)
    moved = dependency(lambda ids: model.decode(ids, memory[whole], mask[whole]), tgt_in[whole], range(FIRST, VOCAB))
    return {
        "seed": seed,
        "loss": loss_of(model, memory, mask, tgt_in, tgt_out),
        "own": share((write(model, memory, mask) == tgt_out).all(dim=1)),
        "future": round(moved.triu(1).max().item(), 4),
    }


def pads_appended(seed: int, masked: bool, make: Callable[[int, torch.Generator], Batch]) -> dict:
    """Trained on batches without pads, with up to 4, or with up to 8 more: the share of right sentences in such a
    batch, and after pads are appended to sources of six symbols, the same for all. The encoder has its mask."""
    model, _ = trained(seed, make, cross_mask=masked)
    model.requires_grad_(False)

    def right(src: Tensor, tgt_out: Tensor) -> float:
        mask = padding_mask(src)
        own = write(model, model.encode(src, mask), mask if masked else None, tgt_out.shape[1])
        return share((own == tgt_out).all(dim=1))

    src, _tgt_in, tgt_out = held_out(make)
    six = torch.randint(FIRST, VOCAB, (HELD_OUT, LONGEST), generator=torch.Generator().manual_seed(99))
    reversed_six = F.pad(six.flip(1), (0, 1), value=EOS)
    return {
        "cross-attention": "masked" if masked else "no mask",
        "trained on": make.__name__,
        "seed": seed,
        "as trained": right(src, tgt_out),
        "pads": [0, 1, 2, 4, 8],
        "own": [right(F.pad(six, (0, n_pads), value=PAD), reversed_six) for n_pads in (0, 1, 2, 4, 8)],
    }


def one_seed(seed: int) -> dict[str, list]:
    torch.set_num_threads(1)
    model, on_the_way = trained(seed, every=EVERY)
    found = {"memories": memories(seed, model), "learning": [on_the_way], "wrong word": [after_a_wrong_word(model)]}
    found["shifts"] = [wrong_shift(seed, make) for make in (not_shifted, shifted_twice)]
    found["random"] = [
        {"shift": shift, "diagonal": diagonal, "seed": seed, "loss": random_words(seed, shift, diagonal)}
        for shift, diagonal in ((1, 0), (0, 0), (0, -1), (1, -1), (1, 1), (2, 0))
    ]
    found["pads"] = [
        pads_appended(seed, masked, make)
        for masked, make in ((True, same_length), (False, same_length), (False, reversals), (False, more_pads))
    ]
    found["softmax"] = [over_queries(seed)]
    found["without"] = []
    for rate in (0.003, 0.01):
        blind, _ = trained(seed, cross=Nothing, rate=rate)
        src, tgt_in, tgt_out = held_out()
        mask = padding_mask(src)
        loss = loss_of(blind, blind.encode(src, mask), mask, tgt_in, tgt_out)
        found["without"].append({"rate": rate, "seed": seed, "loss": loss})
    return found


def main() -> None:
    with Pool(len(SEEDS)) as pool:
        runs = pool.map(one_seed, SEEDS)
    found = {name: [row for run in runs for row in run[name]] for name in runs[0]}
    for name, rows in found.items():
        print(name, *rows, sep="\n  ")
    store(__file__, seeds=SEEDS, **found)


if __name__ == "__main__":
    main()
