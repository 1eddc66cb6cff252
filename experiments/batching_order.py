"""Is bucketing free? The same sentences and as many updates, in other batches: what it saves, and what it costs.

    python -m experiments.batching_order

A small Transformer of 1 + 1 layers learns 3,008 pairs of the course corpus from batches of exactly 16 sentences. The
arms differ only in which sentences meet, and in what order: at random; in buckets (all sorted by length, the order of
the batches shuffled); and in buckets without the shuffle, from short to long in every epoch. A fourth arm is the
library's `Batches`, whose budget of 207 positions makes as many batches of an epoch. Two epochs are 376 updates. Each
arm has its own rate from a grid of factor 1.6, the one whose mean loss on the validation sentences is lowest over three
seeds (one, for the last two arms). What is reported are ten other seeds at that rate (five, for the last two arms).
With five seeds, buckets also learn for 530 updates, which take about as much CPU time as 376 with random batches. The
loss is in nats a target token, and also for the shortest, the middle, and the longest third of the sentences. About ten
minutes of one core.
"""

from functools import cache
from random import Random
from statistics import mean

import torch

from course_lib.batching import Batches, encode_pairs, make_batch
from course_lib.bpe import BPE
from course_lib.corpus import course_corpus
from course_lib.fast import fast_loss
from course_lib.reproducible import make_reproducible
from course_lib.training import cosine
from course_lib.transformer import Transformer, TransformerConfig
from experiments import store

CHOOSING = {"random": [0, 1, 2], "buckets": [0, 1, 2], "budget": [0], "short to long": [0]}
SEEDS, FEWER = list(range(3, 13)), list(range(3, 8))
RATES = [0.0048, 0.0077, 0.0123]
ROWS, PAIRS, BUDGET = 16, 3008, 207
UPDATES, SAME_TIME = 376, 530


@cache
def data():
    corpus = course_corpus()
    texts = [text for pair in corpus["train"] for text in (pair.src_text, pair.tgt_text)]
    tokenizer = BPE.train(texts, n_merges=1000)
    train = encode_pairs(corpus["train"][:PAIRS], tokenizer)
    return train, encode_pairs(corpus["val"], tokenizer), tokenizer.vocab_size


def groups(arm, pairs, random):
    """The rows of the batches of one epoch."""
    if arm == "budget":
        return Batches(pairs, max_tokens=BUDGET, seed=random.randrange(10**6))(0).groups

    def length(row):
        return 1 + max(map(len, pairs[row]))

    order = random.sample(range(len(pairs)), len(pairs))
    if arm != "random":
        order.sort(key=length)
    batches = [order[i : i + ROWS] for i in range(0, len(order), ROWS)]
    if arm != "short to long":
        random.shuffle(batches)
    return batches


def new_model(vocab_size):
    return Transformer(TransformerConfig(vocab_size, 64, 4, 128, 1, dropout=0.0, norm_first=True))


def trained(arm, rate, seed, updates):
    torch.set_num_threads(1)
    make_reproducible(seed)
    train, _val, vocab_size = data()
    model = new_model(vocab_size)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    random, batches = Random(seed), []
    while len(batches) < updates:
        batches += groups(arm, train, random)
    for step, group in enumerate(batches[:updates]):
        optimizer.param_groups[0]["lr"] = cosine(step / updates, rate)
        batch = make_batch([train[row] for row in group])
        loss = fast_loss(model, batch.src, batch.tgt_in, batch.tgt_out)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def run(arm, rate, seed, updates):
    model, val = trained(arm, rate, seed, updates), data()[1]
    found = [loss_of(model, part) for part in (val, *thirds(val))]
    row = {"arm": arm, "rate": rate, "seed": seed, "updates": updates, "loss": found[0], "thirds": found[1:]}
    print(row, flush=True)
    return row


def thirds(val):
    """The shortest, the middle, and the longest third."""
    by_length = sorted(val, key=lambda pair: len(pair[1]))
    third = -(-len(val) // 3)
    return [by_length[i : i + third] for i in range(0, len(val), third)]


@torch.no_grad()
def loss_of(model, pairs):
    model.eval()
    batch = make_batch(pairs)
    loss = fast_loss(model, batch.src, batch.tgt_in, batch.tgt_out).item()
    model.train()
    return round(loss, 3)


def chosen(arm, rates, seeds, updates):
    """The rate with the lowest mean loss, and the runs that say so."""
    runs = [run(arm, rate, seed, updates) for rate in rates for seed in seeds]
    by_rate = {rate: mean(r["loss"] for r in runs if r["rate"] == rate) for rate in rates}
    return min(by_rate, key=by_rate.get), runs


def main():
    best, tuned, rows = {}, [], []
    for arm, seeds in CHOOSING.items():
        best[arm], runs = chosen(arm, RATES, seeds, UPDATES)
        tuned += runs
    for seed in SEEDS:
        rows += [run(arm, best[arm], seed, UPDATES) for arm in CHOOSING if seed in FEWER or len(CHOOSING[arm]) > 1]
    rows += [run("buckets", best["buckets"], seed, SAME_TIME) for seed in FEWER]
    store(__file__, seeds=[*CHOOSING["random"], *SEEDS], rows=rows, tuned=tuned)


if __name__ == "__main__":
    main()
