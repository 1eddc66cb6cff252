"""Is bucketing free? The same sentences and as many updates, in other batches: what it saves, and what it costs.

    python -m experiments.batching_order

A small Transformer of 1 + 1 layers learns 3,008 pairs of the course corpus from batches of exactly 16 sentences. The
arms differ only in which sentences meet, and in what order: at random; sorted inside pools of 20 batches; in buckets
(all sorted by length, the order of the batches shuffled); and in buckets without the shuffle, from short to long or
from long to short in every epoch. Two epochs are 376 updates, at the best of three rates, which seed 0 chooses for each
arm by the loss on the validation sentences; three of the arms also learn for eight epochs at the same rate. Two more
arms: the library's `Batches`, whose budget of 207 positions makes as many batches of an epoch (its rate is chosen in
the same way), and the buckets with each batch's loss weighted by its number of tokens. Three runs of each order without
a shuffle are measured after every twelfth of the training, too. Three seeds each. The loss is in nats a target token,
and also for the shortest, the middle, and the longest third of the sentences. The time is the shortest of five for a
forward and a backward pass over all the sentences, in CPU seconds relative to random batches, for the plain model and
for the library's packed form; the arms take turns. About nine minutes of one core.
"""

import os
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from random import Random
from time import process_time

import torch

from course_lib.batching import Batches, encode_pairs, make_batch, padding_share
from course_lib.bpe import BPE
from course_lib.corpus import course_corpus
from course_lib.fast import fast_loss
from course_lib.reproducible import make_reproducible
from course_lib.training import cosine, plain_loss
from course_lib.transformer import Transformer, TransformerConfig
from experiments import store

SEEDS = [0, 1, 2]
RATES = [0.003, 0.006, 0.012]
ROWS, POOL, PAIRS = 16, 20, 3008
EPOCHS, LONG = 2, 8
ARMS = ["random", "pools", "buckets", "short to long", "long to short"]
LONGER = ["random", "buckets", "short to long"]
BUDGET, WEIGHTED, WATCHED, MOMENTS = 207, "buckets by tokens", ["random", "short to long", "long to short"], 12


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
    size = {"random": 1, "pools": POOL * ROWS}.get(arm, len(order))
    order = [row for i in range(0, len(order), size) for row in sorted(order[i : i + size], key=length)]
    batches = [order[i : i + ROWS] for i in range(0, len(order), ROWS)]
    if arm in ("random", "pools", "buckets", WEIGHTED):
        random.shuffle(batches)
    return batches[::-1] if arm == "long to short" else batches


def new_model(vocab_size):
    return Transformer(TransformerConfig(vocab_size, 64, 4, 128, 1, dropout=0.0, norm_first=True))


def run(arm, rate, seed, epochs, moments=0):
    torch.set_num_threads(1)
    make_reproducible(seed)
    train, val, vocab_size = data()
    model = new_model(vocab_size)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    random = Random(seed)
    batches = [group for _ in range(epochs) for group in groups(arm, train, random)]
    updates, curve = len(batches), []
    mean_tokens = sum(1 + len(tgt) for _, tgt in train) * ROWS / len(train)
    for step, group in enumerate(batches):
        optimizer.param_groups[0]["lr"] = cosine(step / updates, rate)
        batch = make_batch([train[row] for row in group])
        loss = fast_loss(model, batch.src, batch.tgt_in, batch.tgt_out)
        if arm == WEIGHTED:
            loss = loss * (batch.n_tokens / mean_tokens)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if moments and (step + 1) * moments // updates > step * moments // updates:
            curve.append([step + 1, *(loss_of(model, part) for part in thirds(val))])
    found = [loss_of(model, part) for part in (val, *thirds(val))]
    row = {"arm": arm, "rate": rate, "seed": seed, "updates": updates, "loss": found[0], "thirds": found[1:]}
    row |= {"curve": curve} if moments else {}
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


def cost(repeats=5):
    """Share of pads, and CPU time for all the sentences relative to random batches."""
    torch.set_num_threads(1)
    make_reproducible(0)
    train, _val, vocab_size = data()
    model, losses = new_model(vocab_size), {"plain": plain_loss, "packed": fast_loss}
    batches = {
        arm: [make_batch([train[row] for row in group]) for group in groups(arm, train, Random(0))]
        for arm in ("random", "pools", "buckets")
    }
    seconds = {(arm, name): [] for arm in batches for name in losses}
    for (arm, name), found in [*seconds.items()] * repeats:
        start = process_time()
        for batch in batches[arm]:
            model.zero_grad()
            losses[name](model, batch.src, batch.tgt_in, batch.tgt_out, 0.0).backward()
        found.append(process_time() - start)
    time = {key: min(found) for key, found in seconds.items()}  # least disturbed by other programs
    return [
        {
            "arm": arm,
            "pads": round(padding_share(batches[arm]), 3),
            **{name: round(time[arm, name] / time["random", name], 2) for name in losses},
        }
        for arm in batches
    ]


def main():
    with ProcessPoolExecutor(max_workers=min(2, os.cpu_count())) as pool:
        arms = [*ARMS, "budget", WEIGHTED]
        jobs = [(arm, rate, 0, EPOCHS) for arm in arms for rate in RATES]
        tuned = list(pool.map(run, *zip(*jobs, strict=True)))
        best = {arm: min((r for r in tuned if r["arm"] == arm), key=lambda r: r["loss"])["rate"] for arm in arms}
        jobs = [(arm, best[arm], seed, EPOCHS) for seed in SEEDS[1:] for arm in arms]
        jobs += [(arm, best[arm], seed, LONG) for seed in SEEDS for arm in LONGER]
        others = list(pool.map(run, *zip(*jobs, strict=True)))
        jobs = [(arm, best[arm], seed, EPOCHS, MOMENTS) for arm in WATCHED for seed in SEEDS]
        watched = list(pool.map(run, *zip(*jobs, strict=True)))
    rows = [row for row in tuned if row["rate"] == best[row["arm"]]] + others
    store(__file__, seeds=SEEDS, rows=rows, tuned=tuned, watched=watched, cost=cost())


if __name__ == "__main__":
    main()
