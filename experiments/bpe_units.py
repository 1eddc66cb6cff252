"""Characters, pieces, or words: the same translator on the same sentences, and a name that training never showed.

    python -m experiments.bpe_units

A small Transformer learns simple Korean sentences of at most six words. Its units are characters (no merges), pieces
(300 or 1,000 merges), whole words spelled as merges (as many merges as training allows), or a list of words with <unk>.
Every arm sees the same 500 batches of 18 sentences at its best of three rates, which seed 0 chooses by the loss on the
validation sentences; three seeds. Characters, 300 merges, and all merges also learn four times as long, once. So do two
arms that have all merges and write new words in the pieces of 300 merges; in one of them, a fifth of the words of
training is cut like this, too. We count exact translations (greedy) of test sentences, and of sentences with a name
that is held out, and how many of these names are written. About ten minutes of one core.
"""

import os
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from random import Random

import torch

from course_lib.batching import encode_pairs, make_batch
from course_lib.beam_search import greedy_search
from course_lib.bpe import BPE
from course_lib.bpe.subwords import SPECIALS
from course_lib.corpus import course_corpus, tagged
from course_lib.fast import fast_loss
from course_lib.fast.cached import CachedTransformer
from course_lib.reproducible import make_reproducible
from course_lib.tokens import UNK
from course_lib.training import cosine
from course_lib.transformer import Transformer, TransformerConfig
from experiments import store

SEEDS = [0, 1, 2]
RATES = [0.003, 0.006, 0.012]
STEPS, BATCH, LONG, MAX_LEN = 500, 18, 4, 60
UNITS = {"characters": 0, "300 merges": 300, "1,000 merges": 1000, "all merges": 10_000, "words": None}
CUT = {"all, 0 % cut": 0.0, "all, 20 % cut": 0.2}
LONGER = ["characters", "300 merges", "all merges", *CUT]


class Words:
    """A list of words: every other word is <unk>."""

    def __init__(self, texts):
        self.ids = {word: 4 + i for i, word in enumerate(sorted({w for text in texts for w in text.split(" ")}))}
        self.word_of = {i: word for word, i in [*self.ids.items(), *SPECIALS.items()]}
        self.vocab_size = 4 + len(self.ids)

    def check_course_ids(self):
        """Its words begin at 4."""

    def encode_batch(self, texts):
        return [[self.ids.get(word, UNK) for word in text.split(" ")] for text in texts]

    def decode(self, ids):
        return " ".join(self.word_of[i] for i in ids)


class Mixed:
    """Known words whole, others in the pieces of 300 merges; `sometimes` cuts a share of the known ones, too."""

    def __init__(self, whole, pieces, texts):
        self.whole, self.pieces = whole, pieces
        self.known = {word for text in texts for word in text.split(" ")}
        self.vocab_size, self.decode, self.check_course_ids = whole.vocab_size, whole.decode, whole.check_course_ids

    def ids(self, word, cut):
        if not cut:
            return self.whole.encode(word)
        return [self.whole.vocab[token] for token in self.pieces.tokens(self.pieces.encode(word))]

    def encode_batch(self, texts):
        return [[i for w in text.split(" ") for i in self.ids(w, w not in self.known)] for text in texts]

    def sometimes(self, text, random, share):
        return [i for word in text.split(" ") for i in self.ids(word, random.random() < share)]


@cache
def data():
    corpus = course_corpus()
    short = {
        split: [pair for pair in tagged(corpus[split], "simple") if len(pair.src) <= 6]
        for split in ("train", "val", "test", "held_out_names")
    }
    known = {word for pair in short["train"] for word in pair.tgt}
    return short, known


@cache
def tokenizer_of(units):
    texts = [text for pair in data()[0]["train"] for text in (pair.src_text, pair.tgt_text)]
    if units in CUT:
        return Mixed(tokenizer_of("all merges"), tokenizer_of("300 merges"), texts)
    return Words(texts) if units == "words" else BPE.train(texts, UNITS[units])


def run(units, rate, seed, times=1):
    torch.set_num_threads(1)
    make_reproducible(seed)
    short, known = data()
    tokenizer = tokenizer_of(units)
    pairs = {split: encode_pairs(sentences, tokenizer) for split, sentences in short.items()}
    config = TransformerConfig(tokenizer.vocab_size, 64, 4, 128, 2, dropout=0.0, norm_first=True)
    model = Transformer(config)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    random, steps = Random(seed), STEPS * times
    cut = pairs["train"].__getitem__
    if units in CUT:
        cutting = Random(seed)

        def cut(row):
            pair = short["train"][row]
            return tuple(tokenizer.sometimes(text, cutting, CUT[units]) for text in (pair.src_text, pair.tgt_text))

    for step in range(steps):
        optimizer.param_groups[0]["lr"] = cosine(step / steps, rate)
        batch = make_batch([cut(row) for row in random.sample(range(len(pairs["train"])), BATCH)])
        loss = fast_loss(model, batch.src, batch.tgt_in, batch.tgt_out)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    row = {"units": units, "rate": rate, "seed": seed, "updates": steps, "vocab_size": tokenizer.vocab_size}
    val = make_batch(pairs["val"])
    with torch.no_grad():
        row["tokens"] = round(val.n_tokens / len(val.rows), 1)  # of a target, with EOS
        row["nats a token"] = round(fast_loss(model, val.src, val.tgt_in, val.tgt_out).item(), 3)
        row["nats a sentence"] = round(row["nats a token"] * val.n_tokens / len(val.rows), 2)
        for split in ("test", "held_out_names"):
            written = translate(model, tokenizer, pairs[split])
            right = [pair.tgt_text == text for pair, text in zip(short[split], written, strict=True)]
            row[split] = round(sum(right) / len(right), 3)
    names = [[word for word in pair.tgt if word not in known] for pair in short["held_out_names"]]
    found = [name in text.split(" ") for new, text in zip(names, written, strict=True) for name in new]
    row["names"], row["names right"] = len(found), round(sum(found) / len(found), 3)
    print(row, flush=True)
    return row


@torch.no_grad()
def translate(model, tokenizer, pairs):
    written = []
    for start in range(0, len(pairs), 100):
        batch = make_batch(pairs[start : start + 100])
        cached = CachedTransformer(model)
        found = greedy_search(cached.step, cached.start(batch.src), len(batch.rows), max_len=MAX_LEN)
        written += [tokenizer.decode([i for i in hypothesis.tokens if i > UNK]) for hypothesis in found]
    return written


def main():
    jobs = [(units, rate, 0) for units in UNITS for rate in RATES]
    with ProcessPoolExecutor(max_workers=min(2, os.cpu_count())) as pool:
        tuned = list(pool.map(run, *zip(*jobs, strict=True)))
        best = {
            units: min((row for row in tuned if row["units"] == units), key=lambda row: row["nats a token"])["rate"]
            for units in UNITS
        }
        best |= dict.fromkeys(CUT, best["all merges"])
        jobs = [(units, best[units], seed) for seed in SEEDS[1:] for units in UNITS]
        jobs = [(*job, 1) for job in jobs]
        jobs += [(units, best[units], 0, LONG) for units in LONGER]
        others = list(pool.map(run, *zip(*jobs, strict=True)))
    rows = [row for row in tuned if row["rate"] == best[row["units"]]] + others
    store(__file__, seeds=SEEDS, rows=rows, tuned=tuned)


if __name__ == "__main__":
    main()
