"""How the weights start: the first loss, and the loss after 300 updates.

    python -m experiments.transformer_start

The task and the sizes of `transformer_bugs` (without a bug), batch 32, Adam with a peak of 5e-3. Fourteen starts: the
library's (Xavier for linear layers, embeddings with a standard deviation of d_model^-1/2), PyTorch's own for linear
layers, embeddings of standard deviation 1, both with and without tied weights, some also with positions divided
("quiet") or multiplied ("loud") by √d_model, and with logits divided by it ("small logits"), and linear layers that
are all zero or all the same number, the latter also with random numbers of two sizes added. Kept, too: how far the
heads' slices of W_Q still differ at the end, and how many inner matrices are still exactly zero. Three seeds. About six
minutes on one core.
"""

import torch
from torch import nn

from course_lib.multi_head import MultiHeadAttention
from course_lib.reproducible import make_reproducible
from course_lib.transformer import Transformer, TransformerConfig
from experiments import store
from experiments.transformer_bugs import SENTENCES, VOCAB, loss_of, rate, sentences

STEPS, SEEDS = 300, [0, 1, 2]
STARTS = (
    *("library", "library, untied", "library, untied, quiet", "PyTorch's linear layers"),
    *("wide", "wide, loud", "wide, small logits", "wide, loud, small logits"),
    *("wide, untied", "wide, untied, loud"),
    *("constant", "constant ± 0.001", "constant ± 0.05", "zero"),
)


def inner(model):
    """The linear layers but for the output, which may be the embedding."""
    return [m for m in model.modules() if isinstance(m, nn.Linear) and m is not model.output]


@torch.no_grad()
def begin(model, start):
    for layer in inner(model):
        if start.startswith("PyTorch"):
            layer.reset_parameters()
        elif start.startswith("constant"):
            layer.weight.fill_(0.05)
            size = float(start.partition(" ± ")[2] or 0)
            layer.weight += size * torch.randn_like(layer.weight) if size else 0
        elif start == "zero":
            layer.weight.zero_()
    embeddings = dict.fromkeys([model.src_embedding, model.tgt_embedding])  # in order, unlike a set
    if start.startswith("wide"):
        for embedding in embeddings:
            nn.init.normal_(embedding.tokens.weight)
        if not model.config.tied:
            nn.init.xavier_uniform_(model.output.weight)
    root = model.config.d_model**0.5
    louder = root if "loud" in start else 1 / root if "quiet" in start else 1
    if "small logits" in start:
        model.output.register_forward_hook(lambda _layer, _inputs, logits: logits / root)
    for embedding in embeddings:
        embedding.positions.table *= louder


@torch.no_grad()
def heads_differ(model):
    """The largest difference between two heads of any W_Q."""
    tables = [m.w_q.weight.unflatten(0, (m.n_heads, -1)) for m in model.modules() if isinstance(m, MultiHeadAttention)]
    return max((table - table[:1]).abs().max().item() for table in tables)


def run(start, seed):
    make_reproducible(seed)
    config = TransformerConfig(VOCAB, 32, 4, 64, 2, dropout=0.0, tied="untied" not in start)
    model = Transformer(config)
    begin(model, start)
    generator = torch.Generator().manual_seed(seed)
    valid = sentences(SENTENCES, torch.Generator().manual_seed(99))
    with torch.no_grad():
        first = loss_of(model, *valid).item()
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98))
    for step in range(STEPS):
        loss = loss_of(model, *sentences(32, generator))
        optimizer.param_groups[0]["lr"] = rate(step, STEPS)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        last = loss_of(model, *valid).item()
    zeros = sum(layer.weight.count_nonzero().item() == 0 for layer in inner(model))
    found = {"start": start, "seed": seed, "first": round(first, 3), "last": round(last, 3)}
    return found | {"heads_differ": float(f"{heads_differ(model):.1e}"), "zeros": zeros, "of": len(inner(model))}


def main() -> None:
    rows = []
    for start in STARTS:
        for seed in SEEDS:
            rows.append(run(start, seed))
            print(rows[-1], flush=True)
    store(__file__, seeds=SEEDS, steps=STEPS, rows=rows)


if __name__ == "__main__":
    main()
