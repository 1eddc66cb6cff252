"""One recipe, eight seeds: what eight half-trained translators write, and how far apart their scores are.

    python -m experiments.bleu_seeds

A small Transformer (1,000 merges, d_model 64, two and two layers) learns simple Korean sentences of at most six words
in 400 updates; the seed decides its first weights and its batches. 2,000 of the training pairs are set aside, and
nothing is trained on them. We keep the translations (greedy) of the 394 test sentences, and the scores on more and
more sentences: how often do two seeds differ by more than the sentences explain? About five minutes of one core.
"""

import os
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import combinations
from random import Random

import numpy as np
import torch

from course_lib.batching import encode_pairs, make_batch
from course_lib.bleu.significance import paired_bootstrap, sentence_counts
from course_lib.bpe import BPE
from course_lib.corpus import course_corpus, tagged
from course_lib.fast import fast_loss
from course_lib.reproducible import make_reproducible
from course_lib.training import cosine
from course_lib.transformer import Transformer, TransformerConfig
from course_lib.translation import Translator, exact_match
from experiments import store

SEEDS = list(range(8))
STEPS, BATCH, RATE = 400, 18, 0.006
SET_ASIDE = 2000
SIZES = [100, 200, 394, 800, 1600, 2394]


@cache
def data():
    """Training pairs, and the pairs to test on: those of `test` first, then those set aside."""
    corpus = course_corpus()
    short = {s: [pair for pair in tagged(corpus[s], "simple") if len(pair.src) <= 6] for s in ("train", "test")}
    Random(0).shuffle(short["train"])
    aside = short["train"][:SET_ASIDE]
    seen = {pair.src for pair in [*aside, *short["test"]]}
    return [pair for pair in short["train"][SET_ASIDE:] if pair.src not in seen], short["test"] + aside


@cache
def vocabulary():
    return BPE.train([text for pair in data()[0] for text in (pair.src_text, pair.tgt_text)], 1000)


def run(seed):
    torch.set_num_threads(1)
    make_reproducible(seed)
    train, test = data()
    pairs = encode_pairs(train, vocabulary())
    config = TransformerConfig(vocabulary().vocab_size, 64, 4, 128, 2, dropout=0.0, norm_first=True)
    model = Transformer(config)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    random = Random(seed)
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = cosine(step / STEPS, RATE)
        batch = make_batch([pairs[row] for row in random.sample(range(len(pairs)), BATCH)])
        loss = fast_loss(model, batch.src, batch.tgt_in, batch.tgt_out)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return Translator(model, vocabulary()).translate([pair.src_text for pair in test], beam_size=1, max_len=40)


def compare(texts):
    """For each number of sentences and each pair of seeds: the difference, and whether the bootstrap calls it real."""
    references = [pair.tgt_text for pair in data()[1]]
    counts = [sentence_counts(written, references) for written in texts]
    rows = []
    for size in SIZES:
        for one, other in combinations(range(len(texts)), 2):
            found = paired_bootstrap(counts[one][:size], counts[other][:size])
            row = {"sentences": size, "pair": [SEEDS[one], SEEDS[other]], "difference": round(found.difference, 2)}
            row |= {"sd": round(float(np.std(found.differences)), 2)}
            row |= {"p": round(found.p_value, 4), "p sacrebleu": round(found.p_sacrebleu, 4)}
            rows.append(row)
    return rows


def main():
    with ProcessPoolExecutor(max_workers=min(2, os.cpu_count())) as pool:
        texts = list(pool.map(run, SEEDS))
    train, test = data()
    number = len(test) - SET_ASIDE
    for seed, written in zip(SEEDS, texts, strict=True):
        print(seed, exact_match(written[:number], test[:number]), exact_match(written, test))
    rows = compare(texts)
    store(
        __file__,
        seeds=SEEDS,
        trained_on=len(train),
        translations=["\n".join(written[:number]) for written in texts],
        rows=rows,
    )


if __name__ == "__main__":
    main()
