"""What one sees inside a real model, each finding with its control: a sink, induction heads, the lens, patching.

    python -m experiments.real_model_inside

SmolLM2-135M-Instruct, from `make weights`; the page is that of `real_model_slips`. Layers and heads count from 0.

*Sink.* Ten windows of 79 tokens, spread over the page. From position 6 on, in all layers, the first token loses its
weight: the other tokens share it ("cut"), or nobody gets it ("emptied", which is the same as a value of 0); or it keeps
its weight, and its values come from the first token of another window ("exchanged"). The rows hold by how much the
loss of the tokens after that rises; the same as "cut" for each of the next five tokens in its place; the share of the
weight that the first token has ("share"), that a random word in its place has ("word"), and the largest share of
another token after the cut ("heir").

*Induction.* 40 random tokens, twice. One seed chooses the six heads with the largest scores, and the head that looks
most at the token before. Ten fresh seeds measure the loss of both copies: as it is, without the six, without that one
head, and without six of the half of all heads with the least scores (that one head apart), drawn five times a seed. In
"not repeated", 40 other random tokens follow in place of the second copy, as they are and without the six. "scores" has
the induction scores of the six: as they are, without that one head, and without another head of its layer, which the
seed draws.

*Lens.* "The capital of … is", twelve countries. After each layer, at the last position: the rank of the right capital
among all tokens, and how far its logit is above its mean at the eleven other prompts.

*Patching.* For each two of these countries, the stream after a layer, at the country's position or at the last, comes
from the other's prompt. Which of the twelve capitals is then the likeliest?

*Cut.* In one layer, the last position loses its weight on the country.

No chance is involved where no seed is named. About 15 minutes on one core.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.attention_view import cut_key
from course_lib.language_model import LanguageModel
from course_lib.multi_head import merge_heads
from course_lib.pretrained import smollm2
from course_lib.pretrained.inside import (
    attention_weights,
    edit_weights,
    induction_scores,
    logit_lens,
    patch,
    silence,
    streams,
)
from experiments import store
from experiments.real_model_slips import CAPITALS, page

CHOOSING = 0  # the seed that chooses heads
SEEDS = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19]  # those that measure
FIRST = 6  # so many tokens at the beginning are cut in turn, from this position on
WINDOW = 79
ROWS, COPY = 2, 40
BEST, DRAWS = 6, 5
COUNTRY, LAST = 3, 4  # positions in a prompt
LAYERS = [0, 10, 20, 21, 22, 23, 24, 25, 29]  # after which a stream is put in

Heads = list[tuple[int, int]]


def rounded(values: Tensor, digits: int = 3) -> list:
    return [round(x, digits) for x in values.tolist()]


# --- the sink


def cut(place: int) -> Callable:
    """That token's weight goes to the others, from position FIRST on."""
    return lambda _layer, weights: torch.cat([weights[:, :, :FIRST], cut_key(weights[:, :, FIRST:], place)], dim=2)


def emptied(_layer: int, weights: Tensor) -> Tensor:
    """The first token's weight goes to nobody, from position FIRST on."""
    weights = weights.clone()
    weights[:, :, FIRST:, 0] = 0
    return weights


@torch.no_grad()
def late_loss(model: LanguageModel, ids: Tensor, edit: Callable | None = None) -> float:
    """The mean loss per token of those that are predicted from position FIRST on."""
    with edit_weights(model, edit) if edit else nullcontext():
        return F.cross_entropy(model(ids)[0, FIRST:-1], ids[0, FIRST + 1 :]).item()


def shares(model: LanguageModel, ids: Tensor) -> Tensor:
    """(n_layers, seq_len): how much queries of the last three quarters look at each token, as a mean over heads."""
    return attention_weights(model, ids)[:, 0, :, ids.shape[1] // 4 :].mean(dim=(1, 2))


@torch.no_grad()
def first_values(model: LanguageModel, ids: Tensor) -> Tensor:
    """(n_layers, batch, n_kv_heads, head_width): the values of the first token."""
    found = []
    with ExitStack() as stack:
        for block in model.blocks:
            handle = block.attention.register_forward_hook(lambda *call: found.append(call[-1][2][1][:, :, 0]))
            stack.callback(handle.remove)
        model(ids)
    return torch.stack(found)


@contextmanager
def exchanged(model: LanguageModel, values: Tensor) -> Iterator[None]:
    """Queries from position FIRST on read these values of the first token; its weights stay."""

    def listen(given: Tensor) -> Callable:
        def hook(attention, _inputs, output):
            _, weights, (key, value) = output
            other = value.clone()
            other[:, :, 0] = given
            own, other = (v.repeat_interleave(attention.n_heads // attention.n_kv_heads, dim=1) for v in (value, other))
            read = torch.cat([weights[:, :, :FIRST] @ own, weights[:, :, FIRST:] @ other], dim=2)
            return attention.w_o(merge_heads(read)), weights, (key, value)

        return hook

    with ExitStack() as stack:
        for block, given in zip(model.blocks, values, strict=True):
            stack.callback(block.attention.register_forward_hook(listen(given)).remove)
        yield


@torch.no_grad()
def value_lengths(model: LanguageModel, ids: Tensor) -> Tensor:
    """(n_layers): how long the first token's values are, divided by the median of the others'."""
    before = [model.tokens(ids), *streams(model, ids)[:-1]]
    values = [block.attention.w_v(block.norm_1(x))[0] for block, x in zip(model.blocks, before, strict=True)]
    lengths = torch.stack(values).norm(dim=-1)
    return lengths[:, 0] / lengths[:, 1:].median(dim=1).values


def sink(model: LanguageModel, text: Tensor) -> dict:
    """A row for each window, and the lengths of the first token's values, by layer."""
    starts = [i * (len(text) - WINDOW) // (len(SEEDS) - 1 or 1) for i in range(len(SEEDS))]
    rows, lengths = [], []
    for start, following, seed in zip(starts, starts[1:] + starts[:1], SEEDS, strict=True):
        ids = text[None, start : start + WINDOW]
        loss = late_loss(model, ids)
        row = {"start": start, "loss": loss, "share": shares(model, ids)[:, 0].mean().item()}
        row |= {"cut": late_loss(model, ids, cut(0)) - loss, "emptied": late_loss(model, ids, emptied) - loss}
        with exchanged(model, first_values(model, text[None, following : following + 1])):
            row["exchanged"] = late_loss(model, ids) - loss
        with edit_weights(model, cut(0)):
            row["heir"] = shares(model, ids).mean(dim=0)[1:].max().item()
        row["word"] = shares(model, begun(model, ids, seed))[:, 0].mean().item()
        row = {name: round(value, 3) for name, value in row.items()}
        rows.append(row | {"others": [round(late_loss(model, ids, cut(i)) - loss, 3) for i in range(1, FIRST)]})
        lengths.append(value_lengths(model, ids))
        print(rows[-1], flush=True)
    return {"rows": rows, "values": rounded(torch.stack(lengths).mean(dim=0), 2)}


def begun(model: LanguageModel, ids: Tensor, seed: int) -> Tensor:
    """The same text with a random token in the first place."""
    word = torch.randint(100, model.config.vocab_size, (1, 1), generator=torch.Generator().manual_seed(seed))
    return torch.cat([word, ids[:, 1:]], dim=1)


# --- induction heads


def twice(model: LanguageModel, seed: int) -> Tensor:
    """Random tokens, and the same again."""
    copy = torch.randint(100, model.config.vocab_size, (ROWS, COPY), generator=torch.Generator().manual_seed(seed))
    return torch.cat([copy, copy], dim=1)


def not_repeated(model: LanguageModel, seed: int) -> Tensor:
    """The same random tokens, followed by others."""
    first = twice(model, seed)[:, :COPY]
    return torch.cat([first, twice(model, seed + 1000)[:, :COPY]], dim=1)


def six_scores(model: LanguageModel, ids: Tensor, six: Heads, silenced: Heads) -> list[float]:
    """The induction scores of the six without some heads."""
    with edit_weights(model, silence(*silenced)):
        scores = induction_scores(attention_weights(model, ids), COPY).mean(dim=1)
    return rounded(torch.stack([scores[head] for head in six]))


@torch.no_grad()
def copies_loss(model: LanguageModel, ids: Tensor, heads: Heads) -> list[float]:
    """The loss of the first copy and of the second without these heads."""
    with edit_weights(model, silence(*heads)):
        losses = F.cross_entropy(model(ids)[:, :-1].mT, ids[:, 1:], reduction="none")
    return rounded(torch.stack([losses[:, : COPY - 1].mean(), losses[:, COPY:].mean()]))


def induction(model: LanguageModel) -> dict:
    weights = attention_weights(model, twice(model, CHOOSING))
    scores = induction_scores(weights, COPY).mean(dim=1)
    previous = induction_scores(weights, 2).mean(dim=1)  # with a period of 2, the key is the token before
    n_heads = model.config.n_heads
    order = [divmod(i, n_heads) for i in scores.flatten().argsort(descending=True).tolist()]
    before = divmod(previous.argmax().item(), n_heads)
    best, least = order[:BEST], [head for head in order[len(order) // 2 :] if head != before]
    rows = []
    for seed in SEEDS:
        ids, generator = twice(model, seed), torch.Generator().manual_seed(seed)
        draws = [torch.randperm(len(least), generator=generator)[:BEST].tolist() for _ in range(DRAWS)]
        row = {"seed": seed, "as it is": copies_loss(model, ids, [])}
        row |= {"six": copies_loss(model, ids, best), "previous": copies_loss(model, ids, [before])}
        row["others"] = [copies_loss(model, ids, [least[i] for i in draw]) for draw in draws]
        other_text = not_repeated(model, seed)
        row["not repeated"] = {
            "as it is": copies_loss(model, other_text, []),
            "six": copies_loss(model, other_text, best),
        }
        neighbors = [head for head in range(n_heads) if head != before[1]]
        neighbor = (before[0], neighbors[torch.randint(len(neighbors), (1,), generator=generator).item()])
        row["scores"] = {
            "as it is": six_scores(model, ids, best, []),
            "previous": six_scores(model, ids, best, [before]),
            "neighbor": six_scores(model, ids, best, [neighbor]),
        }
        rows.append(row)
        print(row, flush=True)
    return {
        "heads": [list(head) for head in best],
        "scores": rounded(torch.stack([scores[head] for head in order[: BEST + 1]])),
        "previous": [*before, round(previous[before].item(), 3), round(scores[before].item(), 3)],
        "rows": rows,
    }


# --- capitals


@torch.no_grad()
def read_lens(model: LanguageModel, after: Tensor, capitals: Tensor) -> dict:
    logits = logit_lens(model, after[:, :, LAST])
    among = logits[:, :, capitals]  # (n_layers, prompt, capital)
    own = among.diagonal(dim1=1, dim2=2)
    lead = own - (among.sum(dim=1) - own) / (len(capitals) - 1)
    ranks = (logits > own[..., None]).sum(dim=-1) + 1
    return {"rank": ranks.tolist(), "lead": [rounded(row, 2) for row in lead]}


@torch.no_grad()
def likeliest(model: LanguageModel, ids: Tensor, capitals: Tensor) -> Tensor:
    """Which of the capitals it is, for each prompt."""
    return model(ids)[:, -1, capitals].argmax(dim=1)


def patching(model: LanguageModel, ids: Tensor, after: Tensor, capitals: Tensor) -> dict:
    """By position, the shares of pairs that say the given country's capital and their own, after each of LAYERS."""
    pairs = torch.tensor([*itertools.permutations(range(len(ids)), 2)])
    own, given = pairs.T
    found = {"pairs": len(pairs), "layers": LAYERS}
    for name, place in (("country", COUNTRY), ("last", LAST)):
        said = []
        for layer in LAYERS:
            with patch(model, layer, place, after[layer, given, place]):
                said.append(likeliest(model, ids[own], capitals))
        said = torch.stack(said)
        found[name] = {"given": rounded((said == given).float().mean(dim=1))}
        found[name]["own"] = rounded((said == own).float().mean(dim=1))
        print(name, found[name], flush=True)
    return found


def cuts(model: LanguageModel, ids: Tensor, capitals: Tensor) -> list[int]:
    """For each layer that does not see the country from the last position: how many prompts get their capital."""
    found = []
    for layer in range(model.config.n_layers):

        def edit(where, weights, layer=layer):
            weights = weights.clone()
            weights[:, :, LAST, COUNTRY] *= where != layer
            return weights

        with edit_weights(model, edit):
            found.append((likeliest(model, ids, capitals) == torch.arange(len(ids))).sum().item())
    return found


def main(read: Callable = smollm2) -> None:
    model, tokenizer = read()
    ids = torch.tensor([tokenizer.encode(f"The capital of {country} is") for country in CAPITALS])
    capitals = torch.tensor([tokenizer.encode(f" {capital}")[0] for capital in CAPITALS.values()])
    after = streams(model, ids)
    found = {"lens": read_lens(model, after, capitals), "cuts": cuts(model, ids, capitals)}
    print(found, flush=True)
    found |= {"patching": patching(model, ids, after, capitals), "sink": sink(model, page(tokenizer)[0])}
    store(__file__, seeds=[CHOOSING, *SEEDS], capitals=CAPITALS, **found, induction=induction(model))


if __name__ == "__main__":
    main()
