"""What a short training forgives: the Transformer with one wrong part, beside the right one with five seeds.

    python -m experiments.translation_own

Simple sentences of the course corpus (seed 0), the course's recipe, 200 updates on the plain modules, float32. The
seed decides the first weights and the order of the batches. Kept for each machine: the validation loss, and of 200
simple sentences of the test split the share that greedy search writes exactly, and their BLEU. Five seeds of the right
machine, three of the one whose positions are wrong, one of each other. About four minutes on one core.
"""

import torch

from course_lib.batching import Batches, encode_pairs, pad
from course_lib.beam_search import greedy_search
from course_lib.bleu import corpus_bleu
from course_lib.bpe import BPE
from course_lib.corpus import Sentence, tagged
from course_lib.fast.memory import keep_freed_memory
from course_lib.reproducible import make_reproducible
from course_lib.tokens import EOS
from course_lib.training import plain_loss
from course_lib.training.trainer import Trainer
from course_lib.transformer import Transformer
from course_practice.assembly.wrong_parts import WRONG_PARTS, put_in
from experiments import store
from experiments.translator import RECIPE, new_transformer, ready, settings

UPDATES, SENTENCES, LONGEST = 200, 200, 20
SEEDS = [0, 1, 2, 3, 4]
TWICE = "positions: sine twice"
ARMS = [("right", seed) for seed in SEEDS] + [(TWICE, seed) for seed in SEEDS[:3]]
ARMS += [(name, 0) for name in WRONG_PARTS if name != TWICE]


def run(seed: int, material: tuple) -> dict[str, float]:
    """Train one machine of the parts that are in place, and let it write."""
    corpus, vocabulary = material
    train, val, test = (tagged(corpus[split], "simple") for split in ("train", "val", "test"))
    make_reproducible(seed)
    model = new_transformer(vocabulary)
    batches = Batches(encode_pairs(train, vocabulary), RECIPE["max_tokens"], seed)
    val_batches = Batches(encode_pairs(val, vocabulary), RECIPE["max_tokens"], shuffle=False)(0)
    state = Trainer(model, batches, settings(UPDATES, seed), val_batches, loss=plain_loss, quiet=True).run()
    _texts, exact, bleu = judged(model, vocabulary, test[:SENTENCES], LONGEST)
    return {"loss": round(state.curve[-1]["val_loss"], 3), "exact": exact, "bleu": bleu}


def judged(model: Transformer, vocabulary: BPE, pairs: list[Sentence], longest: int) -> tuple[list[str], float, float]:
    """What greedy search writes for these pairs, the share that is exactly right, and BLEU."""
    model.eval()
    src = pad([[*ids, EOS] for ids in vocabulary.encode_batch([pair.src_text for pair in pairs])])
    with torch.no_grad():
        written = greedy_search(model.step, model.start(src), len(src), max_len=longest)
    texts = [vocabulary.decode(hypothesis.tokens) for hypothesis in written]
    references = [pair.tgt_text for pair in pairs]
    right = sum(text == reference for text, reference in zip(texts, references, strict=True))
    return texts, round(right / len(pairs), 3), round(corpus_bleu(texts, references).score, 1)


def main() -> None:
    keep_freed_memory()
    corpus, vocabulary, _ = ready(0)
    rows = []
    for name, seed in ARMS:
        with put_in(WRONG_PARTS.get(name, {})):
            rows.append({"part": name, "seed": seed, **run(seed, (corpus, vocabulary))})
        print(rows[-1], flush=True)
        store(__file__, seeds=SEEDS, rows=rows)


if __name__ == "__main__":
    main()
