"""A loss over pads: what it reports for one model, and whether a model that was trained with it is worse.

    python -m experiments.batching_pads

A small Transformer learns the course corpus from 150 random batches of 32 sentences, once with the cross-entropy of all
positions and once of the real ones only (`ignore_index`), each at three rates, three seeds; seed 0 alone also tries two
higher rates. Every model is then asked for the loss of the same 500 validation sentences, cut into batches
in seven ways, and averaged in three ways: over all positions, as the mean of the batches' means without pads, and as
the sum over real tokens divided by their number. About seven minutes of one core.
"""

import os
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from random import Random

import torch
import torch.nn.functional as F

from course_lib.batching import Batches, encode_pairs, make_batch
from course_lib.bpe import BPE
from course_lib.corpus import course_corpus
from course_lib.reproducible import make_reproducible
from course_lib.tokens import PAD
from course_lib.training import cosine
from course_lib.transformer import Transformer, TransformerConfig
from experiments import store

SEEDS = [0, 1, 2]
RATES, HIGHER = [0.003, 0.006, 0.012], [0.024, 0.048]
UPDATES, ROWS = 150, 32
WAYS = ["1", "8", "32", "128", "500", "32, sorted", "500 positions"]


@cache
def data():
    corpus = course_corpus()
    texts = [text for pair in corpus["train"] for text in (pair.src_text, pair.tgt_text)]
    tokenizer = BPE.train(texts, n_merges=400)
    pairs = {split: encode_pairs(corpus[split], tokenizer) for split in ("train", "val")}
    return pairs["train"], pairs["val"], tokenizer.vocab_size


def trained(pairs, vocab_size, pads_count, rate, seed):
    """A model after a short training, in double precision, so that it is the same on every processor."""
    make_reproducible(seed)
    config = TransformerConfig(vocab_size, 32, 4, 64, 1, dropout=0.0, norm_first=True)
    model = Transformer(config).double()
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    random = Random(seed)
    for step in range(UPDATES):
        optimizer.param_groups[0]["lr"] = cosine(step / UPDATES, rate)
        batch = make_batch(random.sample(pairs, ROWS))
        logits = model(batch.src, batch.tgt_in).flatten(0, 1)
        ignore = -100 if pads_count else PAD
        loss = F.cross_entropy(logits, batch.tgt_out.flatten(), ignore_index=ignore)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


def cut(pairs, way):
    """The validation sentences as batches."""
    if way == "500 positions":
        return list(Batches(pairs, max_tokens=500)(0))
    rows = int(way.split(",")[0])
    order = sorted(pairs, key=lambda pair: len(pair[1])) if "sorted" in way else pairs
    return [make_batch(order[i : i + rows]) for i in range(0, len(order), rows)]


@torch.no_grad()
def three_losses(model, batches):
    """Over all positions, as the mean of batch means, and over all real tokens."""
    positions = total = real = tokens = 0
    means = []
    for batch in batches:
        logits = model(batch.src, batch.tgt_in).flatten(0, 1)
        each = F.cross_entropy(logits, batch.tgt_out.flatten(), reduction="none")
        is_real = batch.tgt_out.flatten() != PAD
        positions, total = positions + each.numel(), total + each.sum().item()
        tokens, real = tokens + batch.n_tokens, real + each[is_real].sum().item()
        means.append(each[is_real].mean().item())
    found = [total / positions, sum(means) / len(means), real / tokens, (total - real) / max(1, positions - tokens)]
    return 1 - tokens / positions, found


def run(pads_count, rate, seed):
    torch.set_num_threads(1)
    train, val, vocab_size = data()
    model = trained(train, vocab_size, pads_count, rate, seed)
    rows = []
    for way in WAYS:
        pads, found = three_losses(model, cut(val, way))
        names = ("all positions", "mean of means", "per token", "per pad")
        losses = {name: round(loss, 3) for name, loss in zip(names, found, strict=True)}
        rows.append({"batches": way, "pads": round(pads, 3), **losses})
    print(pads_count, rate, seed, rows[2], flush=True)
    return {"pads count": pads_count, "rate": rate, "seed": seed, "rows": rows}


def main():
    jobs = [(pads_count, rate, seed) for pads_count in (True, False) for rate in RATES for seed in SEEDS]
    jobs += [(pads_count, rate, 0) for pads_count in (True, False) for rate in HIGHER]
    with ProcessPoolExecutor(max_workers=min(2, os.cpu_count())) as pool:
        runs = list(pool.map(run, *zip(*jobs, strict=True)))
    store(__file__, seeds=SEEDS, runs=runs)


if __name__ == "__main__":
    main()
