"""The Transformer and a recurrent network at equal parameters and equal time; then 200 examples of what both lack.

    python -m experiments.translation_depth

Both get the course's recipe, corpus, and batches: the Transformer for 1,100 updates, a `Seq2Seq` with attention of
nearly as many parameters (d_model 124) for 1,220, which takes about as long. Then copies of both are trained for 150
more updates on 1,800 of the old sentences and 200 new ones: old ones again (the control), or deep ones of some kinds.
Kept are the shares of sentences that are all right, by split and by kind, and for the deep ones what greedy search
writes. Three seeds, each of which also seeds its corpus. About fifteen minutes on one core.
"""

import copy
import time

from course_lib.batching import Batches, encode_pairs
from course_lib.corpus import Corpus, Sentence, generate, tagged
from course_lib.fast import fast_loss
from course_lib.fast.memory import keep_freed_memory
from course_lib.reproducible import make_reproducible
from course_lib.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.training import plain_loss
from course_lib.training.trainer import Trainer
from course_lib.translation import Translator
from experiments import store
from experiments.translator import RECIPE, all_right, new_transformer, ready, settings

SEEDS = [0, 1, 2]
UPDATES = {"Transformer": 1100, "GRU": 1220}
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


def run(seed: int, scale: float = 1.0, sentences: int | None = None) -> dict:
    make_reproducible(seed)
    keep_freed_memory()
    corpus, vocabulary, pairs = ready(seed)
    corpus = Corpus("course", "ko", "en", {name: corpus[name][: sentences or None] for name in corpus.splits})
    found: dict = {"seed": seed, "models": {}, "more": []}
    verdicts = {}
    for name in UPDATES:
        make_reproducible(seed)
        recurrent = Seq2SeqConfig(vocabulary.vocab_size, d_model=124, dropout=0.0)
        model = new_transformer(vocabulary) if name == "Transformer" else Seq2Seq(recurrent)
        translator = Translator(model, vocabulary)
        begun, updates = time.process_time(), max(1, round(scale * UPDATES[name]))
        Trainer(model, Batches(pairs, RECIPE["max_tokens"], seed), settings(updates, seed), loss=LOSS[name]).run()
        seconds = time.process_time() - begun
        verdicts[name] = {split: all_right(translator, corpus[split]) for split in SPLITS}
        found["models"][name] = {
            "parameters": sum(p.numel() for p in model.parameters()),
            "updates": updates,
            "processor ms an update": round(1000 * seconds / updates, 1),
            "exact": {split: share(right) for split, right in verdicts[name].items()},
            "by kind": by_kind(translator, corpus),
            "written": written(translator, corpus["depth"]),
        }
        print(seed, name, found["models"][name], flush=True)
        for arm, kinds in ARMS.items():
            if name == "GRU" and arm not in ("none", "two relatives"):
                continue
            new = encode_pairs(deep_sentences(seed, corpus, kinds, NEW) if kinds else [], vocabulary)
            chosen = pairs[: OLD + NEW - len(new)] + new
            again = Translator(copy.deepcopy(model), vocabulary)
            batches = Batches(chosen, RECIPE["max_tokens"], seed)
            few = settings(max(1, round(scale * MORE_UPDATES)), seed, MORE_RATE)
            Trainer(again.model, batches, few, loss=LOSS[name]).run()
            row = {"model": name, "new": arm, **by_kind(again, corpus), "test": share(all_right(again, corpus["test"]))}
            found["more"].append(row)
            print(seed, row, flush=True)
    one, other = verdicts["Transformer"], verdicts["GRU"]
    found["only one is right"] = {
        split: [
            sum(a and not b for a, b in zip(one[split], other[split], strict=True)),
            sum(b and not a for a, b in zip(one[split], other[split], strict=True)),
        ]
        for split in SPLITS
    }
    return found


def main() -> None:
    rows = []
    for seed in SEEDS:
        rows.append(run(seed))
        store(__file__, seeds=SEEDS[: len(rows)], rows=rows)


if __name__ == "__main__":
    main()
