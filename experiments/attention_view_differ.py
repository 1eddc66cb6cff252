"""Where two maps differ, what another sentence's reading does, and what clause heads cost one by one and together.

    python -m experiments.attention_view_differ

Two stored translators, which other experiments trained on different sentences; all is measured
by teacher forcing on the test split, and only at words that the translator predicts right.

`differ`: of the words with a partner that are predicted right, those whose favorites in the two cross-attentions (the
word with the largest mean weight) agree, and those whose favorites differ. Each favorite is hidden in one row, in both
layers or in its own layer alone; then the partners, and a word that neither layer prefers.

`patch`: in the row that predicts a word, the output of a cross-attention is replaced by what it is in another sentence
of the same length and kind, at the same word. The donor's word there is another one or, as a control that moves the
output as well, the same one. Counted are the predictions that become the donor's word. `size` is how far the
replacement lies from what was there, in lengths of the latter.

`clause`: the share of sentences of two clauses that stay right when the connective is cut out of the head that looks at
it most, out of the second one, and out of both; and, in sentences with *because*, when *all* weight of one head in the
second clause goes to one wrong token, the lowest and highest of three draws. About two minutes.
"""

import torch
from torch import Tensor

from course_lib.attention_view import WordRows, edit_attention, sum_words, word_rows
from course_lib.corpus import Sentence, course_corpus, tagged
from course_lib.stored import FOLDER, model
from course_lib.transformer import PrefixState, Transformer
from course_lib.translation import Translator
from experiments import store
from experiments.attention_view_heads import CROSS, OWN, cut_behind, on_connective, weights_of, without
from experiments.translator import all_right

MODELS, AT_ONCE, DRAWS = ("translator", "page_translator"), 40, 3


@torch.no_grad()
def likeliest(transformer: Transformer, rows: WordRows, state: PrefixState) -> Tensor:
    """What is predicted in the one row of each copy; edits of cross-attentions leave the encoder's `state` alone."""
    return transformer.output(rows.of(transformer.decode(rows.tgt_in, state.memory, state.src_mask))).argmax(dim=-1)


def differ(transformer: Transformer, pairs: list[Sentence], vocabulary) -> dict:
    """Counts of words, by whether the two layers' favorites agree."""
    found = {kind: {"words": 0} for kind in ("agree", "differ")}
    for start in range(0, len(pairs), AT_ONCE):
        rows = word_rows(pairs[start : start + AT_ONCE], vocabulary)
        state, weights = transformer.start(rows.src), weights_of(transformer, rows)
        before = likeliest(transformer, rows, state)
        favorites = [sum_words(weights[name].mean(dim=1), rows.words).argmax(dim=-1) for name in CROSS]
        tokens = [rows.words == favorite[:, None] for favorite in favorites]
        free = ((rows.words >= 0) & ~tokens[0] & ~tokens[1] & ~rows.gold).int()
        first_free = rows.words.gather(1, free.argmax(dim=1, keepdim=True))
        other = (rows.words == first_free) & free.bool()
        asked = {f"{layer}, hidden in both": (tokens[layer], CROSS) for layer in (0, 1)}
        asked |= {f"{layer}, hidden in its own": (tokens[layer], [CROSS[layer]]) for layer in (0, 1)}
        asked |= {"partners, hidden in both": (rows.gold, CROSS), "another, hidden in both": (other, CROSS)}
        counted = {}
        for name, (hidden, names) in asked.items():
            with edit_attention(transformer, rows.edit(names, without(hidden))):
                counted[name] = likeliest(transformer, rows, state) != before
        for layer in (0, 1):
            counted[f"{layer} is a partner"] = (tokens[layer] & rows.gold).any(dim=1)
        chosen = (before == rows.target) & rows.linked
        for kind, some in (("agree", favorites[0] == favorites[1]), ("differ", favorites[0] != favorites[1])):
            found[kind]["words"] += int((chosen & some).sum())
            for name, hit in counted.items():
                found[kind][name] = found[kind].get(name, 0) + int((hit & chosen & some).sum())
    return found


def replaced(transformer: Transformer, names: list[str], rows: WordRows, new: dict[str, Tensor]) -> Tensor:
    """What is predicted if the outputs of these modules are replaced in the one row of each copy."""

    def hook_of(name: str):
        def hook(_module, _inputs, output: tuple) -> tuple:
            changed = output[0].clone()
            changed[torch.arange(len(rows.row)), rows.row] = new[name]
            return changed, output[1]

        return hook

    handles = [transformer.get_submodule(name).register_forward_hook(hook_of(name)) for name in names]
    try:
        return likeliest(transformer, rows, transformer.start(rows.src))
    finally:
        for handle in handles:
            handle.remove()


@torch.no_grad()
def outputs_of(transformer: Transformer, rows: WordRows) -> dict[str, Tensor]:
    """The outputs of both cross-attentions in the one row of each copy."""
    seen, handles = {}, []
    for name in CROSS:
        module = transformer.get_submodule(name)
        handles.append(
            module.register_forward_hook(lambda m, i, out, name=name: seen.__setitem__(name, rows.of(out[0])))
        )
    try:
        transformer(rows.src, rows.tgt_in)
    finally:
        for handle in handles:
            handle.remove()
    return seen


def donors(rows: WordRows, places: list[tuple[int, int, int]], usable: Tensor, same: bool) -> Tensor:
    """For each copy another sentence's copy of the same place, with the same word or another one; -1 if there is none.

    A place is (sentence, word, number of words).
    """
    found, targets = [], rows.target.tolist()
    for b, (sentence, *place) in enumerate(places):
        fits = [
            c
            for c, (other, *there) in enumerate(places)
            if there == place and other != sentence and usable[c] and (targets[c] == targets[b]) == same
        ]
        found.append(fits[b % len(fits)] if fits else -1)
    return torch.tensor(found)


def patch(transformer: Transformer, pairs: list[Sentence], vocabulary) -> dict:
    """Shares of predictions that become the donor's word, by the layers whose output is replaced."""
    rows = word_rows(pairs, vocabulary)
    places = [(n, j, len(pair.tgt)) for n, pair in enumerate(pairs) for j in range(len(pair.tgt))]
    before = likeliest(transformer, rows, transformer.start(rows.src))
    own = outputs_of(transformer, rows)
    usable, found = (before == rows.target) & rows.linked, {}
    for kind, same in (("another word", False), ("the same word", True)):
        donor = donors(rows, places, usable, same)
        some = usable & (donor >= 0)
        if not some.any():
            continue
        new = {name: own[name][donor] for name in CROSS}
        found[kind] = {"words": int(some.sum())}
        for what, names in (("layer 0", CROSS[:1]), ("layer 1", CROSS[1:]), ("both", CROSS)):
            after = replaced(transformer, names, rows, new)[some]
            size = torch.cat([(new[n] - own[n])[some].norm(dim=-1) / own[n][some].norm(dim=-1) for n in names]).mean()
            found[kind][what] = {
                "donor's": round((after == rows.target[donor][some]).double().mean().item(), 3),
                "its own": round((after == before[some]).double().mean().item(), 3),
                "size": round(size.item(), 2),
            }
    return found


def wrong_token(spot: int, head: int, draw: int):
    """An edit that puts all weight of a head, in the rows after `spot`, on one token that was not its favorite."""

    def edit(name: str, weights: Tensor) -> Tensor:
        if name != OWN:
            return weights
        weights, chance = weights.clone(), torch.Generator().manual_seed(draw)
        own = weights[:, head]
        noise = torch.rand(own.shape, generator=chance).tril().scatter(-1, own.argmax(dim=-1, keepdim=True), 0.0)
        wrong = torch.nn.functional.one_hot(noise.argmax(dim=-1), own.shape[-1]).to(own)
        weights[:, head, spot + 1 :] = wrong[:, spot + 1 :]
        return weights

    return edit


def clause(translator: Translator, pairs: list[Sentence]) -> dict:
    """The connective cut out of one head, another one, and both; and each head sent to a wrong token."""
    spots, look = on_connective(translator, pairs)
    order = look.argsort(descending=True).tolist()

    def left(some: list, edit) -> float:
        right = 0
        for pair, spot in some:
            with edit_attention(translator.model, edit(spot)):
                right += all_right(translator, [pair])[0]
        return round(right / max(len(some), 1), 3)

    cuts = {"none": [], "first": order[:1], "second": order[1:2], "both": order[:2]}
    found = {"sentences": len(spots), "heads": order[:2]}
    found |= {
        name: left(spots, lambda spot, heads=heads: cut_behind(spot, spot, heads)) for name, heads in cuts.items()
    }
    because = [(pair, spot) for pair, spot in spots if "because" in pair.tags]
    wrong = [
        [left(because, lambda spot, head=head, draw=draw: wrong_token(spot, head, draw)) for draw in range(DRAWS)]
        for head in range(len(look))
    ]
    return found | {"because": len(because), "wrong token": [[min(shares), max(shares)] for shares in wrong]}


def main(sentences: int = 200, folder=FOLDER) -> None:
    test, measured = course_corpus()["test"], []
    two = [p for a, b in zip(tagged(test, "because"), tagged(test, "coordination"), strict=False) for p in (a, b)]
    for name in MODELS:
        translator = model(name)
        row = {"model": name, **differ(translator.model, test[:sentences], translator.vocabulary)}
        row["patch"] = patch(translator.model, tagged(test, "simple")[: sentences // 2], translator.vocabulary)
        row["clause"] = clause(translator, two[: sentences // 2])
        measured.append(row)
        print(row, flush=True)
    store(__file__, list(range(DRAWS)), folder, sentences=sentences, rows=measured)


if __name__ == "__main__":
    main()
