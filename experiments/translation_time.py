"""How long does an update take, by the length of the sentences: the Transformer, and a GRU with attention.

    python -m experiments.translation_time

Both have the sizes of chapter 17's comparison, nearly as many parameters. There are two controls: the GRU with dot
products in the place of its additive scores, and the GRU without attention, whose operations for a token are the same
at every length. Each batch has 2,048 random source tokens and
as many target tokens, in sentences of equal length. Forward and backward, float32, one thread of a CPU: milliseconds of
CPU time, the smallest of several runs. About five minutes on one core.
"""

import time

import torch
from torch import Tensor, nn

from course_lib.attention import scaled_dot_product_attention
from course_lib.reproducible import make_reproducible
from course_lib.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.training import plain_loss
from course_lib.transformer import Transformer, TransformerConfig
from experiments import store

VOCABULARY, TOKENS, LENGTHS, RUNS = 1749, 2048, [8, 16, 32, 64, 128, 256, 512], 6


class DotAttention(nn.Module):
    """Takes the place of `AdditiveAttention`: the same projections, and scaled dot products for scores."""

    def __init__(self, additive: nn.Module):
        super().__init__()
        self.w_q, self.w_k = additive.w_q, additive.w_k

    def forward(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        return scaled_dot_product_attention(self.w_q(query), keys, values, mask)


def milliseconds(model: nn.Module, n: int) -> float:
    """CPU time of one forward and backward pass over sentences of n tokens."""
    src, tgt_in, tgt_out = torch.randint(4, VOCABULARY, (3, TOKENS // n, n))
    times = []
    for _ in range(RUNS):
        model.zero_grad()
        begun = time.process_time()
        plain_loss(model, src, tgt_in, tgt_out, 0.1).backward()
        times.append(time.process_time() - begun)
    return float(f"{1000 * min(times):.2g}")


def main() -> None:
    torch.set_num_threads(1)
    make_reproducible(0)
    transformer = TransformerConfig(VOCABULARY, 128, 8, 256, 2, dropout=0.0, norm_first=True)
    models = {
        "Transformer": Transformer(transformer),
        "GRU": Seq2Seq(Seq2SeqConfig(VOCABULARY, d_model=124, dropout=0.0)),
        "GRU, no attention": Seq2Seq(Seq2SeqConfig(VOCABULARY, d_model=124, attention=False, dropout=0.0)),
    }
    dots = models["GRU, dot products"] = Seq2Seq(Seq2SeqConfig(VOCABULARY, d_model=124, dropout=0.0))
    dots.attention = DotAttention(dots.attention)
    rows = []
    for n in LENGTHS:
        rows.append({"n": n, "milliseconds": {name: milliseconds(model, n) for name, model in models.items()}})
        print(rows[-1], flush=True)
    parameters = {name: sum(p.numel() for p in model.parameters()) for name, model in models.items()}
    store(__file__, seeds=[0], parameters=parameters, rows=rows)


if __name__ == "__main__":
    main()
