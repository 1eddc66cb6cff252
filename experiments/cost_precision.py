"""Half precision: how fast products are in it, and what becomes of a training whose weights are in it.

    python -m experiments.cost_precision

`rates`: GFLOP/s of products of two (512, 512) matrices. `training`: a small translator of the course's corpus, trained
for 150 updates at three learning rates and with three seeds each: in float32, with products in bfloat16 under autocast
(the weights stay in float32), with everything in bfloat16, and, as a control, with everything in float32 except that
the weights are rounded to bfloat16 after each update. The loss is that on the validation sentences, computed in
float32. One thread; about five minutes.
"""

import time

import torch

from course_lib.batching import make_batch
from course_lib.corpus import course_corpus, tagged
from course_lib.reproducible import make_reproducible
from course_lib.training import plain_loss
from course_lib.transformer import Transformer, TransformerConfig
from experiments import store

RATES, SEEDS, UPDATES, BATCH, CHECK = [1e-2, 1e-3, 1e-4], [0, 1, 2], 150, 16, 256
ARMS = ["float32", "autocast", "bfloat16", "rounded"]
WARMUP, WIDTH, SECONDS = 30, 512, 1.0


def gflops(dtype: torch.dtype) -> float:
    a, b = torch.randn(2, WIDTH, WIDTH).to(dtype)
    times = []
    while len(times) < 3 or (sum(times) < SECONDS and len(times) < 200):
        start = time.process_time()
        a @ b
        times.append(time.process_time() - start)
    return float(f"{2 * WIDTH**3 / min(times) / 1e9:.2g}")


def sentences() -> tuple[list, list, int]:
    """Pairs of ids, to train on and to check with, and the number of words."""
    corpus = course_corpus()
    pairs = {part: tagged(corpus[part], "simple") for part in ("train", "val")}
    words = sorted({word for pair in pairs["train"] for text in (pair.src, pair.tgt) for word in text})
    number = {word: i for i, word in enumerate(words, start=4)}

    def ids(part, limit):
        made = [([number.get(w, 3) for w in pair.src], [number.get(w, 3) for w in pair.tgt]) for pair in pairs[part]]
        return made[:limit]

    return ids("train", None), ids("val", CHECK), 4 + len(words)


def train(arm: str, rate: float, seed: int, data: tuple[list, list, int]) -> float:
    training, check, vocab_size = data
    torch.manual_seed(seed)
    model = Transformer(TransformerConfig(vocab_size, d_model=64, n_heads=4, d_ff=128, n_layers=2, dropout=0.0))
    if arm == "bfloat16":
        model = model.bfloat16()
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, betas=(0.9, 0.98))
    generator = torch.Generator().manual_seed(seed)
    for update in range(UPDATES):
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1.0, (update + 1) / WARMUP)
        drawn = torch.randint(len(training), (BATCH,), generator=generator).tolist()
        batch = make_batch([training[i] for i in drawn])
        with torch.autocast("cpu", torch.bfloat16, enabled=arm == "autocast"):
            loss = plain_loss(model, batch.src, batch.tgt_in, batch.tgt_out, 0.0, reduction="mean")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if arm == "rounded":
            with torch.no_grad():
                for weight in model.parameters():
                    weight.copy_(weight.bfloat16())
    model = model.float().eval()
    batch = make_batch(check)
    with torch.no_grad():
        return round(plain_loss(model, batch.src, batch.tgt_in, batch.tgt_out, 0.0, reduction="mean").item(), 3)


def main() -> None:
    make_reproducible(0)
    torch.set_num_threads(1)
    rates = {
        str(dtype).removeprefix("torch."): gflops(dtype) for dtype in (torch.float32, torch.bfloat16, torch.float16)
    }
    print(rates, flush=True)
    data, rows = sentences(), []
    for rate in RATES:
        for arm in ARMS:
            losses = [train(arm, rate, seed, data) for seed in SEEDS]
            rows.append({"rate": rate, "arm": arm, "loss": losses})
            print(rows[-1], flush=True)
    store(__file__, seeds=SEEDS, updates=UPDATES, gflops=rates, training=rows)


if __name__ == "__main__":
    main()
