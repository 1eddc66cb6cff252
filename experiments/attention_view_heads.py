"""What the heads of three translators do: alignment, interventions in single rows, every head cut, the clause heads.

    python -m experiments.attention_view_heads

Seed 0 is the stored translator; seeds 1 and 2 are trained as it was (two minutes each on two idle cores). All
measurements are by teacher forcing on the test split. About twelve minutes.
"""

from itertools import pairwise
from random import Random

import torch
from torch import Tensor

from course_lib.attention_view import WordRows, cut_key, edit_attention, sum_words, word_rows
from course_lib.batching import pad
from course_lib.corpus import Sentence, course_corpus, tagged
from course_lib.probes import record_attention
from course_lib.reproducible import make_reproducible
from course_lib.stored import FOLDER, model
from course_lib.tokens import BOS, EOS, PAD
from course_lib.transformer import Transformer
from course_lib.translation import Translator
from experiments import store
from experiments.translator import UPDATES, all_right, trained

SEEDS = (0, 1, 2)
CROSS = ["decoder.layers.0.cross_attention", "decoder.layers.1.cross_attention"]
OWN = "decoder.layers.0.self_attention"
TAGS = ("simple", "because", "coordination")


@torch.no_grad()
def predicted(transformer: Transformer, rows: WordRows, edit=lambda name, weights: weights) -> Tensor:
    with edit_attention(transformer, edit):
        return rows.of(transformer(rows.src, rows.tgt_in)).argmax(dim=-1)


def one_wrong(rows: WordRows, seed: int = 0):
    """All the weight of each head on one source token, drawn from those that were not its favorite."""
    real, generator = (rows.src != PAD)[:, None], torch.Generator().manual_seed(seed)

    def change(weights: Tensor) -> Tensor:
        noise = torch.rand(weights.shape, generator=generator).masked_fill(~real, -1.0)
        noise = noise.scatter(-1, weights.argmax(dim=-1, keepdim=True), -1.0)
        return torch.nn.functional.one_hot(noise.argmax(dim=-1), weights.shape[-1]).to(weights)

    return change


def permuted(rows: WordRows, seed: int = 0):
    """Each head's weights in an order of its own; pads stay where they are."""
    lengths = (rows.src != PAD).sum(dim=1).tolist()
    generator = torch.Generator().manual_seed(seed)

    def change(weights: Tensor) -> Tensor:
        new = weights.clone()
        for b, n in enumerate(lengths):
            for head in range(weights.shape[1]):
                new[b, head, :n] = weights[b, head, torch.randperm(n, generator=generator)]
        return new

    return change


def without(tokens: Tensor):
    """The tokens (copies, src_len) hidden from every head, the rest renormalized."""

    def change(weights: Tensor) -> Tensor:
        kept = weights.masked_fill(tokens[:, None], 0.0)
        return kept / kept.sum(dim=-1, keepdim=True).clamp(min=1e-12)

    return change


def weights_of(transformer: Transformer, rows: WordRows) -> dict[str, Tensor]:
    with torch.no_grad(), record_attention(transformer) as recorded:
        transformer(rows.src, rows.tgt_in)
    return {name: rows.of(recorded[name]) for name in CROSS}


def hits(rows: WordRows, scores: Tensor) -> float:
    """The share of linked words whose largest word score (copies, words) belongs to a partner."""
    best = rows.words == scores.argmax(dim=-1)[:, None]
    return float((best & rows.gold).any(dim=1)[rows.linked].float().mean())


def gradient_norms(transformer: Transformer, rows: WordRows) -> Tensor:
    """|d log p(target) / d embedding| of each source token, (copies, src_len)."""
    found = []
    embedding = transformer.src_embedding.register_forward_hook(lambda m, i, output: found.append(output))
    try:
        logits = rows.of(transformer(rows.src, rows.tgt_in))
    finally:
        embedding.remove()
    log_probs = logits.log_softmax(dim=-1).gather(1, rows.target[:, None])
    return torch.autograd.grad(log_probs.sum(), found[0])[0].norm(dim=-1)  # the source is embedded first


def tau(first: Tensor, second: Tensor, words: Tensor) -> float:
    """Kendall's rank correlation over the source words, the mean over the copies; ties count as neither."""
    found = []
    for a, b, index in zip(first, second, words, strict=True):
        n = int(index.max()) + 1
        if n > 1:
            signs = torch.sign(a[:n, None] - a[None, :n]) * torch.sign(b[:n, None] - b[None, :n])
            found.append(float(signs.triu(diagonal=1).sum()) / (n * (n - 1) / 2))
    return sum(found) / len(found)


def rates(transformer: Transformer, rows: WordRows, change, names: list[str]) -> list[float]:
    """Flips among the rows that were right: of words with a partner, and without."""
    before = predicted(transformer, rows)
    moved = predicted(transformer, rows, rows.edit(names, change)) != before
    right = before == rows.target
    return [round(float(moved[right & part].float().mean()), 3) for part in (rows.linked, ~rows.linked)]


def look_and_use(transformer: Transformer, rows: WordRows, seed: int) -> dict:
    """The maps of both layers against gold and gradient, and what interventions in one row do."""
    weights = weights_of(transformer, rows)
    gradient = sum_words(gradient_norms(transformer, rows), rows.words)
    maps = {name: sum_words(weights[name], rows.words) for name in CROSS}
    layers = []
    for name in CROSS:
        mean = maps[name].mean(dim=1)
        layers.append(
            {
                "alignment": round(hits(rows, mean), 3),
                "heads": [round(hits(rows, maps[name][:, h]), 3) for h in range(maps[name].shape[1])],
                "tau_gradient": round(tau(mean, gradient, rows.words), 3),
                "permute": rates(transformer, rows, permuted(rows), [name]),
                "one wrong token": rates(transformer, rows, one_wrong(rows), [name]),
            }
        )
    best = maps[CROSS[1]].mean(dim=1).argmax(dim=-1)
    looked_at = rows.words == best[:, None]
    random, other = Random(seed), torch.zeros_like(looked_at)
    for b, line in enumerate(rows.words.tolist()):
        linked = {w for w, g in zip(line, rows.gold[b].tolist(), strict=True) if g}
        free = sorted(set(line) - {-1, int(best[b])} - linked)
        if free:
            other[b] = rows.words[b] == random.choice(free)
    real = rows.src != PAD
    flat = (real / real.sum(dim=1, keepdim=True))[:, None]
    changes = {
        "hide the most attended word": without(looked_at),
        "hide the gold word": without(rows.gold),
        "hide a random other word": without(other),
        "permute": permuted(rows),
        "uniform": lambda w: flat.expand_as(w),
        "look at nothing": torch.zeros_like,
        "one-hot": lambda w: torch.nn.functional.one_hot(w.argmax(dim=-1), w.shape[-1]).to(w),
    }
    return {
        "layers": layers,
        "gradient": round(hits(rows, gradient), 3),
        "flips": {name: rates(transformer, rows, change, CROSS) for name, change in changes.items()},
    }


def shares(translator: Translator, groups: dict[str, list[Sentence]], edit) -> dict[str, float]:
    """The share of sentences that are all right, by group, under an edit."""
    with edit_attention(translator.model, edit):
        return {tag: round(sum(all_right(translator, pairs)) / len(pairs), 3) for tag, pairs in groups.items()}


def zeroed(heads: list[tuple[str, int]]):
    """An edit that zeroes heads, given as (module, head)."""

    def edit(name: str, weights: Tensor) -> Tensor:
        cut = [head for module, head in heads if module == name]
        if not cut:
            return weights
        weights = weights.clone()
        weights[:, cut] = 0.0
        return weights

    return edit


def every_head(translator: Translator, groups: dict[str, list[Sentence]]) -> dict:
    """Each head cut alone, then the 16 that cost least together, against 16 drawn at random."""
    config = translator.model.config
    modules = [name for name, _ in translator.model.named_modules() if name.endswith("attention")]
    heads = [(name, head) for name in modules for head in range(config.n_heads)]
    base = shares(translator, groups, zeroed([]))
    alone = [{"module": n, "head": h, **shares(translator, groups, zeroed([(n, h)]))} for n, h in heads]
    cost = [sum(base[tag] - row[tag] for tag in groups) for row in alone]
    order = sorted(range(len(heads)), key=lambda i: cost[i])
    together = {n: shares(translator, groups, zeroed([heads[i] for i in order[:n]])) for n in (4, 8, 16)}
    drawn = [shares(translator, groups, zeroed(Random(seed).sample(heads, 8))) for seed in range(3)]
    encoder = [head for head in heads if head[0].startswith("encoder")]
    return {
        "base": base,
        "alone": alone,
        "cheapest_together": together,
        "random_8": drawn,
        "blind_encoder": shares(translator, groups, zeroed(encoder)),
        "without_cross_0": shares(translator, groups, zeroed([(CROSS[0], h) for h in range(config.n_heads)])),
        "without_cross_1": shares(translator, groups, zeroed([(CROSS[1], h) for h in range(config.n_heads)])),
    }


def connective(pair: Sentence, vocabulary) -> int:
    """Where the token *because* (or *and* between the clauses) stands in the target, counted with BOS; else -1."""
    ids = [BOS, *vocabulary.encode(pair.tgt_text)]
    texts = [vocabulary.decode([token]).strip() for token in ids]
    word = "because" if "because" in pair.tags else "and"
    return texts.index(word) if texts.count(word) == 1 else -1


def cut_behind(spot: int, key: int, heads: list[int]):
    """An edit that cuts one key out of some heads, in the rows after `spot`."""

    def edit(name: str, weights: Tensor) -> Tensor:
        if name != OWN:
            return weights
        weights = weights.clone()
        weights[:, heads, spot + 1 :] = cut_key(weights[:, heads, spot + 1 :], key)
        return weights

    return edit


def on_connective(translator: Translator, pairs: list[Sentence]) -> tuple[list[tuple[Sentence, int]], torch.Tensor]:
    """The sentences that have a connective, each with its place, and the mean weight that the second clause puts there
    in each head of the decoder's first self-attention."""
    spots = [(pair, connective(pair, translator.vocabulary)) for pair in pairs]
    spots = [(pair, spot) for pair, spot in spots if spot > 0]
    found = torch.zeros(translator.model.config.n_heads)
    for pair, spot in spots:
        src, tgt = (translator.vocabulary.encode(text) for text in (pair.src_text, pair.tgt_text))
        with torch.no_grad(), record_attention(translator.model) as recorded:
            translator.model(pad([[*src, EOS]]), pad([[BOS, *tgt]]))
        found += recorded[OWN][0, :, spot + 1 :, spot].mean(dim=1) / len(spots)
    return spots, found


def clause_heads(translator: Translator, pairs: list[Sentence]) -> dict:
    """How much weight each head of the decoder's first self-attention puts on the connective in the second clause,
    and what is left when that one token is cut out of the top one, the top two, the others."""
    spots, found = on_connective(translator, pairs)
    order = found.argsort(descending=True).tolist()

    def share(heads: list[int], shift: int = 0) -> float:
        right = 0
        for pair, spot in spots:
            with edit_attention(translator.model, cut_behind(spot, spot + shift, heads)):
                right += all_right(translator, [pair])[0]
        return round(right / len(spots), 3)

    return {
        "sentences": len(spots),
        "weight": [round(w, 3) for w in found.tolist()],
        "base": share([]),
        "top": share(order[:1]),
        "top_two": share(order[:2]),
        "others": share(order[2:]),
        "before_it_in_all": share(order, shift=-1),
    }


def main(updates: int = UPDATES, seeds: tuple[int, ...] = SEEDS, sentences: int = 100, folder=FOLDER) -> None:
    test = course_corpus()["test"]
    two = [p for a, b in zip(tagged(test, "because"), tagged(test, "coordination"), strict=False) for p in (a, b)]
    measured, maps = [], []
    for seed in seeds:
        translator = model("translator") if seed == 0 else trained(seed, updates)[0]
        translator.model.eval()
        make_reproducible(seed)
        groups = {tag: tagged(test, tag)[:sentences] for tag in TAGS}
        row = {"seed": seed, **look_and_use(translator.model, word_rows(test[:sentences], translator.vocabulary), seed)}
        row["heads"] = every_head(translator, groups)
        row["clause"] = clause_heads(translator, two[: sentences // 2])
        torch.manual_seed(seed)
        untrained = Transformer(translator.model.config).eval()
        rows = word_rows(test[:sentences], translator.vocabulary)
        floor = weights_of(untrained, rows)
        row["untrained"] = [round(hits(rows, sum_words(floor[name], rows.words).mean(dim=1)), 3) for name in CROSS]
        measured.append(row)
        # Words are the same for all vocabularies, so the maps of two models can be compared.
        known = weights_of(translator.model, rows)
        maps.append((sum_words(known[CROSS[1]].mean(dim=1), rows.words), rows.words))
        print(row)
    between = [round(tau(a[0], b[0], a[1]), 3) for a, b in pairwise(maps)]
    store(__file__, list(seeds), folder, sentences=sentences, tau_between_models=between, rows=measured)


if __name__ == "__main__":
    main()
