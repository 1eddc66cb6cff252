"""The Transformer and a recurrent network at equal parameters; then 200 examples of what both lack.

    python -m experiments.translation_depth

Both get the course's recipe, corpus, and batches: the Transformer for 1,100 updates, a `Seq2Seq` with attention of
nearly as many parameters (d_model 124) for 1,220, meant to take as long. Each has a peak rate of its own, and is
also trained at the other's; the GRU, with the first seed, at twice its own as well. Then copies of both are
trained for 150 more updates on 1,800 of the old sentences and 200 new ones: old ones again (the control), or deep ones
of some kinds. Kept are the shares of sentences that are all right, by split and by kind, and for the deep ones what
greedy search writes. Three seeds, each of which also seeds its corpus. About twenty minutes on one core.
"""

import copy
import time

from course_lib.batching import Batches, encode_pairs
from course_lib.bpe import BPE
from course_lib.corpus import Corpus, Sentence, generate, tagged
from course_lib.fast import fast_loss
from course_lib.fast.memory import keep_freed_memory
from course_lib.reproducible import make_reproducible
from course_lib.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.training import plain_loss
from course_lib.training.trainer import Trainer
from course_lib.transformer import Transformer
from course_lib.translation import Translator
from experiments import store
from experiments.translator import RECIPE, all_right, new_transformer, ready, settings

SEEDS = [0, 1, 2]
UPDATES = {"Transformer": 1100, "GRU": 1220}
RATES = {"Transformer": RECIPE["peak_lr"], "GRU": 2 * RECIPE["peak_lr"]}
OTHERS = (("GRU", 1, SEEDS), ("Transformer", 2, SEEDS), ("GRU", 4, SEEDS[:1]))  # other peak rates, in the recipe's
LOSS = {"Transformer": fast_loss, "GRU": plain_loss}
KINDS = ("two relatives", "relative in relative", "quote in quote")
ARMS = {
    "none": (),
    "two relatives": KINDS[:1],
    "the other two kinds": KINDS[1:],
    "all three kinds": KINDS,
}
MORE_UPDATES, OLD, NEW, MORE_RATE = 150, 1800, 200, 1e-3
SPLITS = ("test", "held_out_pairs", "held_out_names", "depth")


def share(verdicts: list[bool]) -> float:
    return round(sum(verdicts) / max(len(verdicts), 1), 4)


def by_kind(translator: Translator, corpus: Corpus) -> dict[str, float]:
    return {kind: share(all_right(translator, tagged(corpus["depth"], kind))) for kind in KINDS}


def deep_sentences(seed: int, corpus: Corpus, kinds: tuple[str, ...], size: int) -> list[Sentence]:
    """New deep sentences that stand in no split."""
    seen = {words for pairs in corpus.splits.values() for pair in pairs for words in (pair.src, pair.tgt)}
    return generate(seed, f"more {len(kinds)}", size, dict.fromkeys(kinds, 1), seen)


def written(translator: Translator, pairs: list[Sentence]) -> dict[str, float]:
    """How often greedy search writes `that`, and how long its sentences are, beside the references."""
    texts = [text.split() for text in translator.translate([pair.src_text for pair in pairs], beam_size=1)]
    return {
        "that": round(sum(words.count("that") for words in texts) / len(texts), 2),
        "that in references": round(sum(pair.tgt.count("that") for pair in pairs) / len(pairs), 2),
        "length": round(sum(map(len, texts)) / sum(len(pair.tgt) for pair in pairs), 3),
    }


def trained(name: str, rate: float, seed: int, scale: float, vocabulary: BPE, pairs: list) -> tuple[Translator, dict]:
    """One of the two, trained at this peak rate, and what it took."""
    make_reproducible(seed)
    recurrent = Seq2SeqConfig(vocabulary.vocab_size, d_model=124, dropout=0.0)
    model = new_transformer(vocabulary) if name == "Transformer" else Seq2Seq(recurrent)
    begun, updates = time.process_time(), max(1, round(scale * UPDATES[name]))
    batches = Batches(pairs, RECIPE["max_tokens"], seed)
    Trainer(model, batches, settings(updates, seed, rate), loss=LOSS[name]).run()
    seconds = time.process_time() - begun
    return Translator(model, vocabulary), {
        "rate": rate,
        "parameters": sum(p.numel() for p in model.parameters()),
        "updates": updates,
        "processor ms an update": round(1000 * seconds / updates, 1),
    }


def judged(translator: Translator, corpus: Corpus) -> dict:
    """What is kept of the verdicts on every sentence of the splits."""
    return {
        "exact": {split: share(all_right(translator, corpus[split])) for split in SPLITS},
        "by kind": by_kind(translator, corpus),
        "written": written(translator, corpus["depth"]),
    }


def run(seed: int, scale: float = 1.0, sentences: int | None = None) -> dict:
    make_reproducible(seed)
    keep_freed_memory()
    corpus, vocabulary, pairs = ready(seed)
    corpus = Corpus("course", "ko", "en", {name: corpus[name][: sentences or None] for name in corpus.splits})
    found: dict = {"seed": seed, "models": {}, "other rates": [], "more": []}
    for name, rate in RATES.items():
        translator, about = trained(name, rate, seed, scale, vocabulary, pairs)
        found["models"][name] = {**about, **judged(translator, corpus)}
        print(seed, name, found["models"][name], flush=True)
        for arm, kinds in ARMS.items():
            if name == "GRU" and arm not in ("none", "two relatives"):
                continue
            row = more(translator, seed, scale, corpus, pairs, kinds)
            found["more"].append({"model": name, "new": arm, **row})
            print(seed, found["more"][-1], flush=True)
    for name, factor, seeds in OTHERS:
        if seed in seeds:
            translator, about = trained(name, factor * RECIPE["peak_lr"], seed, scale, vocabulary, pairs)
            found["other rates"].append({"model": name, **about, **judged(translator, corpus)})
            print(seed, found["other rates"][-1], flush=True)
    return found


def more(
    translator: Translator, seed: int, scale: float, corpus: Corpus, pairs: list, kinds: tuple[str, ...]
) -> dict[str, float]:
    """A copy of the translator after some more updates, on old sentences and new ones of these kinds."""
    vocabulary = translator.vocabulary
    new = encode_pairs(deep_sentences(seed, corpus, kinds, NEW) if kinds else [], vocabulary)
    chosen = pairs[: OLD + NEW - len(new)] + new
    again = Translator(copy.deepcopy(translator.model), vocabulary)
    batches = Batches(chosen, RECIPE["max_tokens"], seed)
    few = settings(max(1, round(scale * MORE_UPDATES)), seed, MORE_RATE)
    loss = fast_loss if isinstance(again.model, Transformer) else plain_loss
    Trainer(again.model, batches, few, loss=loss).run()
    return {**by_kind(again, corpus), "test": share(all_right(again, corpus["test"]))}


def main() -> None:
    rows = []
    for seed in SEEDS:
        rows.append(run(seed))
        store(__file__, seeds=SEEDS[: len(rows)], rows=rows)


if __name__ == "__main__":
    main()
