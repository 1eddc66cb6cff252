"""What one sees inside a real model, each with its control: sinks, induction heads, the lens, patching.

    python -m experiments.real_model_inside

SmolLM2-135M-Instruct, from `make weights`.

*Sinks.* The paragraphs of a page, each read alone: the mean weight that later queries give to the first token, and how
long its value vector is beside the others', by layer. Then that token is hidden from all later queries, in every
layer, and the loss of the words from position 5 on is measured; as a control, another token is hidden (positions 1
to 4).

*Induction heads.* 40 random tokens, twice. A head's score is the mean weight that a query of the second copy gives to
the token *after* the earlier copy of its own. The best heads are found with some seeds. Others then measure the loss of
both copies as it is, with these heads silenced, and with as many others silenced: of the same layers, with as little
score as can be ("same layers"), or drawn from all ("random"). The page's loss says what else they do.

*Lens.* "The capital of … is", for countries whose names are one token: the stream after each layer, at the last
position, goes through the last norm and the output layer; the rank of the right capital, and, as a control, the mean
rank of the others'.

*Patching.* For each two of four of these countries, one layer's stream at one position comes from the other's prompt.
The share of pairs in which the other capital then beats the right one, by layer, at the country's position and at the
last. As controls, the stream comes from a third country's prompt, where the same is counted.

About 10 minutes on one core.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.language_model import LanguageModel
from course_lib.pretrained import chat, smollm2
from course_lib.probes import record_attention
from experiments import store
from experiments.real_model_slips import page, page_loss, paragraphs

SEEDS = [0, 1, 2]  # those that choose the heads
FRESH = [10, 11, 12, 13, 14, 15]  # those that measure
ROWS, COPY = 2, 40
BEST = 6
DRAWS = 10
HIDDEN = [0, 1, 2, 3, 4]
CAPITALS = {
    "France": "Paris",
    "Italy": "Rome",
    "Japan": "Tokyo",
    "Germany": "Berlin",
    "Spain": "Madrid",
    "Russia": "Moscow",
    "Egypt": "Cairo",
    "England": "London",
    "Greece": "Athens",
    "Ireland": "Dublin",
    "Cuba": "Havana",
    "China": "Beijing",
}
PATCHED = 4  # of the countries: their pairs are many
STORY = "Write a short story about a cat."
STORY_TOKENS = 60

Heads = list[tuple[int, int]]


# --- tools


@contextmanager
def silenced(model: LanguageModel, heads: Heads) -> Iterator[None]:
    """What these heads (layer, head) bring to W_O is 0."""
    width = model.config.head_width

    def hook(chosen: list[int]) -> Callable:
        def zero(_module, inputs):
            mixed = inputs[0].clone()
            for head in chosen:
                mixed[..., head * width : (head + 1) * width] = 0
            return (mixed,)

        return zero

    with ExitStack() as stack:
        for layer in {layer for layer, _ in heads}:
            chosen = [head for where, head in heads if where == layer]
            w_o = model.blocks[layer].attention.w_o
            stack.callback(w_o.register_forward_pre_hook(hook(chosen)).remove)
        yield


@contextmanager
def hidden_key(model: LanguageModel, place: int) -> Iterator[None]:
    """No later query sees the token at that place, in any layer; it sees itself."""

    def hide(_module, inputs):
        x, mask, *rest = inputs
        mask = mask.clone()
        mask[..., place + 1 :, place] = False
        return (x, mask, *rest)

    with ExitStack() as stack:
        for block in model.blocks:
            stack.callback(block.attention.register_forward_pre_hook(hide).remove)
        yield


@torch.no_grad()
def streams(model: LanguageModel, ids: Tensor) -> list[Tensor]:
    """The residual stream after each block, (batch, seq_len, d_model)."""
    found = []
    with ExitStack() as stack:
        for block in model.blocks:
            stack.callback(block.register_forward_hook(lambda _m, _i, output: found.append(output[0])).remove)
        model(ids)
    return found


@contextmanager
def patched(model: LanguageModel, layer: int, place: int, stream: Tensor) -> Iterator[None]:
    """After that layer the stream at a place is this one, (batch, d_model)."""

    def put(_module, _inputs, output):
        x, cache = output
        x = x.clone()
        x[:, place] = stream
        return x, cache

    handle = model.blocks[layer].register_forward_hook(put)
    try:
        yield
    finally:
        handle.remove()


def rounded(values: Tensor, digits: int = 3) -> list:
    return [round(x, digits) for x in values.tolist()]


# --- sinks


@torch.no_grad()
def sinks(model: LanguageModel, texts: list[Tensor]) -> dict:
    layers = model.config.n_layers
    weight, length, losses = torch.zeros(layers), torch.zeros(layers), {}
    for ids in texts:
        values = []
        with ExitStack() as stack, record_attention(model) as recorded:
            for block in model.blocks:
                hook = block.attention.w_v.register_forward_hook(lambda _m, _i, output, v=values: v.append(output[0]))
                stack.callback(hook.remove)
            model(ids)
        for layer, (weights, value) in enumerate(zip(recorded.values(), values, strict=True)):
            weight[layer] += weights[0, :, 1:, 0].mean() / len(texts)
            size = value.norm(dim=-1)
            length[layer] += size[0] / size[1:].mean() / len(texts)
    first = max(HIDDEN) + 1
    for place in [None, *HIDDEN]:
        total = 0.0
        for ids in texts:
            with hidden_key(model, place) if place is not None else ExitStack():
                logits = model(ids)[0, first:-1]
            total += F.cross_entropy(logits, ids[0, first + 1 :]).item() / len(texts)
        losses["none" if place is None else str(place)] = round(total, 3)
    return {"texts": len(texts), "weight": rounded(weight), "value": rounded(length), "hidden": losses}


# --- induction heads


def twice(model: LanguageModel, seed: int) -> Tensor:
    """Random tokens, and the same again."""
    generator = torch.Generator().manual_seed(seed)
    copy = torch.randint(100, model.config.vocab_size, (ROWS, COPY), generator=generator)
    return torch.cat([copy, copy], dim=1)


@torch.no_grad()
def induction_scores(model: LanguageModel) -> Tensor:
    """(layers, heads): the mean weight on the token after the earlier copy."""
    queries = torch.arange(COPY, 2 * COPY)
    total = 0
    for seed in SEEDS:
        with record_attention(model) as recorded:
            model(twice(model, seed))
        total = total + torch.stack([w[:, :, queries, queries - COPY + 1].mean(dim=(0, 2)) for w in recorded.values()])
    return total / len(SEEDS)


@torch.no_grad()
def copies_loss(model: LanguageModel, seeds: list[int]) -> list[list[float]]:
    """For each seed, the loss of the first copy and of the second."""
    found = []
    for seed in seeds:
        ids = twice(model, seed)
        losses = F.cross_entropy(model(ids)[:, :-1].mT, ids[:, 1:], reduction="none")
        found.append(rounded(torch.stack([losses[:, : COPY - 1].mean(), losses[:, COPY:].mean()])))
    return found


def induction(model: LanguageModel, text: Tensor) -> dict:
    scores = induction_scores(model)
    n_heads = scores.shape[1]
    order = scores.flatten().argsort(descending=True).tolist()
    best = [(i // n_heads, i % n_heads) for i in order[:BEST]]
    by_score = [(i // n_heads, i % n_heads) for i in reversed(order)]
    same, left = [], [layer for layer, _ in best]
    for head in by_score:
        if head[0] in left and head not in best:
            left.remove(head[0])
            same.append(head)
    arms = {"as it is": [[]], "best": [best], "same layers": [same], "random": random_heads(scores, best)}
    rows = []
    for name, groups in arms.items():
        for i, heads in enumerate(groups):
            with silenced(model, heads):
                seeds = FRESH if name != "random" else [FRESH[i % len(FRESH)]]
                row = {"silenced": name, "heads": heads, "copies": copies_loss(model, seeds)}
                rows.append(row | {"page": round(page_loss(model, text), 3)})
            print(rows[-1], flush=True)
    top = [{"layer": layer, "head": head, "score": round(scores[layer, head].item(), 3)} for layer, head in best]
    return {"best": top, "scores": [rounded(row, 2) for row in scores], "rows": rows}


def random_heads(scores: Tensor, best: Heads) -> list[Heads]:
    """Groups of as many heads, none of them among the best."""
    n_layers, n_heads = scores.shape
    others = [head for head in itertools.product(range(n_layers), range(n_heads)) if head not in best]
    generator = torch.Generator().manual_seed(0)
    draws = [torch.randperm(len(others), generator=generator)[: len(best)].tolist() for _ in range(DRAWS)]
    return [[others[i] for i in draw] for draw in draws]


# --- lens and patching


def prompts(tokenizer) -> tuple[list[str], Tensor, Tensor]:
    """The countries of whom each name and capital is a token, their prompts, and the ids of the capitals."""
    found = []
    for country, capital in CAPITALS.items():
        ids, answer = tokenizer.encode(f"The capital of {country} is"), tokenizer.encode(f" {capital}")
        if len(ids) == 5 and len(answer) == 1:
            found.append((country, ids, answer[0]))
    names, ids, answers = zip(*found, strict=True)
    return list(names), torch.tensor(ids), torch.tensor(answers)


@torch.no_grad()
def lens(model: LanguageModel, tokenizer, ids: Tensor, answers: Tensor) -> dict:
    right, others, words = [], [], []
    for stream in streams(model, ids):
        logits = model.output(model.norm(stream[:, -1]))
        ranks = (logits[:, None] > logits.gather(1, answers.expand(len(ids), -1))[..., None]).sum(dim=-1) + 1
        own = ranks.diagonal()
        right.append(own.tolist())
        others.append(round(((ranks.sum(dim=1) - own) / (len(ids) - 1)).mean().item(), 1))
        words.append([tokenizer.decode([i]) for i in logits[0].topk(3).indices.tolist()])
    return {"rank": right, "others": others, "words": words}


@torch.no_grad()
def patching(model: LanguageModel, ids: Tensor, answers: Tensor) -> dict:
    """The share of pairs that say the other capital, by layer, for each place."""
    n = len(ids)
    pairs = list(itertools.permutations(range(n), 2))
    to, source = (torch.tensor(side) for side in zip(*pairs, strict=True))
    third = torch.tensor([next(k for k in range(n) if k not in pair) for pair in pairs])
    kept, right = streams(model, ids), answers[to][:, None]
    shares = {}
    for name, place, origin in (
        ("country", 3, source),
        ("is", 4, source),
        ("country, from a third", 3, third),
        ("is, from a third", 4, third),
    ):
        row = []
        for layer in range(model.config.n_layers):
            with patched(model, layer, place, kept[layer][origin, place]):
                logits = model(ids[to])[:, -1]
            ahead = logits.gather(1, answers[source][:, None]) > logits.gather(1, right)
            row.append(round(ahead.float().mean().item(), 3))
        shares[name] = row
        print(name, row, flush=True)
    return {"pairs": len(pairs), "flipped": shares}


# --- a story


@torch.no_grad()
def story(model: LanguageModel, tokenizer) -> dict:
    """What it writes when it is asked for a story, always the likeliest token, and the smallest lead of one."""
    ids = torch.tensor([chat(tokenizer, [STORY])])
    state, tokens, written, gaps = model.start(ids[:, :-1]), ids[:, -1:], [], []
    while len(written) < STORY_TOKENS:
        logits, state = model.step(tokens, state)
        best = logits[0, 0].topk(2)
        gaps.append((best.values[0] - best.values[1]).item())
        tokens = best.indices[:1][None]
        written.append(tokens.item())
    return {"prompt": STORY, "text": tokenizer.decode(written), "smallest_gap": round(min(gaps), 3)}


def main(read: Callable = smollm2) -> None:
    model, tokenizer = read()
    text = page(tokenizer)
    texts = [torch.tensor([tokenizer.encode(paragraph)]) for paragraph in paragraphs()]
    texts = [ids for ids in texts if ids.shape[1] > 3 * len(HIDDEN)]
    names, ids, answers = prompts(tokenizer)
    found = {"sinks": sinks(model, texts)}
    print(found, flush=True)
    found |= {"story": story(model, tokenizer), "lens": lens(model, tokenizer, ids, answers)}
    print(found["lens"], found["story"], flush=True)
    found |= {"patching": patching(model, ids[:PATCHED], answers[:PATCHED]), "induction": induction(model, text)}
    capitals = [CAPITALS[name] for name in names]
    store(__file__, seeds=SEEDS + FRESH, copy=COPY, countries=names, capitals=capitals, **found)


if __name__ == "__main__":
    main()
