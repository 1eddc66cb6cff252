"""The course's translator, Korean to English: trained once, rounded to a byte a weight, and stored.

    python -m experiments.translator

Corpus, vocabulary, sizes, and settings are those of `python -m course_lib train` without options. That trains for 60
seconds, about 1,560 updates on two idle cores; here it is 1,500 updates, which is the same number on every machine.
Kept are the shares of sentences whose tokens are all right,
before and after the rounding, and what greedy search reaches. About two minutes.
"""

import torch

from course_lib.batching import Batches, encode_pairs, make_batch
from course_lib.bpe import BPE
from course_lib.corpus import Corpus, Sentence, course_corpus
from course_lib.fast import fast_loss
from course_lib.fast.memory import keep_freed_memory
from course_lib.reproducible import make_reproducible
from course_lib.stored import FOLDER, model
from course_lib.tokens import PAD
from course_lib.training import TrainingSettings
from course_lib.training.trainer import Trainer
from course_lib.transformer import Transformer, TransformerConfig
from course_lib.translation import Translator
from course_lib.translation.recipes import PRESETS
from course_lib.translation.report import evaluate
from experiments import store_model

SEED, UPDATES, RECIPE = 0, 1500, PRESETS["course"]
SIZES = {name: RECIPE[name] for name in ("d_model", "n_heads", "d_ff", "n_layers", "dropout")}
SPLITS = ("test", "held_out_pairs", "held_out_names", "depth", "length", "ambiguous")


def ready(seed: int) -> tuple[Corpus, BPE, list]:
    """The corpus of a seed, the vocabulary of its training sentences, and these as ids."""
    corpus = course_corpus(seed)
    texts = [text for pair in corpus["train"] for text in (pair.src_text, pair.tgt_text)]
    vocabulary = BPE.train(texts, RECIPE["merges"])
    return corpus, vocabulary, encode_pairs(corpus["train"], vocabulary)


def settings(updates: int, seed: int, peak_lr: float = RECIPE["peak_lr"]) -> TrainingSettings:
    """The recipe of the course corpus for so many updates; nothing is evaluated on the way."""
    return TrainingSettings(
        steps=updates, peak_lr=peak_lr, weight_decay=RECIPE["weight_decay"], seed=seed, evaluate_every=updates
    )


def new_transformer(vocabulary: BPE) -> Transformer:
    """The course's Transformer, untrained."""
    return Transformer(TransformerConfig(vocabulary.vocab_size, **SIZES, norm_first=True))


@torch.no_grad()
def all_right(translator: Translator, pairs: list[Sentence]) -> list[bool]:
    """Of each sentence: is every token the likeliest, given the right ones before?

    Greedy search then writes the same tokens. Other tokens that spell the same text, and another reading of an
    ambiguous source, count as wrong.
    """
    translator.model.eval()
    verdicts = []
    for start in range(0, len(pairs), 100):
        batch = make_batch(encode_pairs(pairs[start : start + 100], translator.vocabulary))
        likeliest = translator.model(batch.src, batch.tgt_in).argmax(dim=-1)
        verdicts += ((likeliest == batch.tgt_out) | (batch.tgt_out == PAD)).all(dim=1).tolist()
    return verdicts


def share_right(translator: Translator, pairs: list[Sentence]) -> float:
    """The share of sentences that are all right."""
    return round(sum(all_right(translator, pairs)) / len(pairs), 4)


def trained(seed: int = SEED, updates: int = UPDATES) -> tuple[Translator, Corpus]:
    """The course's translator after so many updates, with the corpus that it was trained on."""
    make_reproducible(seed)
    keep_freed_memory()
    corpus, vocabulary, pairs = ready(seed)
    characters = {character for pair in corpus["train"] for character in pair.src_text}
    translator = Translator(new_transformer(vocabulary), vocabulary, characters)
    batches = Batches(pairs, RECIPE["max_tokens"], seed)
    Trainer(translator.model, batches, settings(updates, seed), loss=fast_loss).run()
    return translator, corpus


def main(updates: int = UPDATES, folder=FOLDER, sentences: int | None = None) -> None:
    translator, corpus = trained(updates=updates)
    before = {split: share_right(translator, corpus[split][:sentences]) for split in SPLITS}
    about = {"updates": updates, "all tokens right before rounding": before}
    store_model(__file__, translator, [SEED], folder, **about)
    rounded = model("translator") if folder == FOLDER else translator
    after = {split: share_right(rounded, corpus[split][:sentences]) for split in SPLITS}
    found = evaluate(rounded, Corpus("course", "ko", "en", {s: corpus[s][:sentences] for s in SPLITS}), splits=SPLITS)
    about |= {
        "all tokens right after rounding": after,
        "exact_match": found["exact_match"],
        "bleu": found["bleu"],
        "alignment": found["alignment"],
    }
    store_model(__file__, translator, [SEED], folder, **about, bleu_signature=found["bleu_signature"])
    print(about)


if __name__ == "__main__":
    main()
