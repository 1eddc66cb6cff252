"""The colleague's machine: the small Transformer of the bug hunt, with all or some of its four bugs."""

from torch import nn
from torch.nn import functional as F

from course_lib.decoder import Decoder
from course_lib.encoder import Encoder
from course_lib.layer_norm import LayerNorm
from course_lib.masks import causal_mask, padding_mask
from course_lib.positional_encoding import InputEmbedding, SinusoidalPositions
from course_lib.transformer import initialize

BUGS = ("source", "norm", "causal", "tie")


class NormOverTime(LayerNorm):
    """Mean and variance over all positions and features: one statistic a sentence."""

    def forward(self, x):
        return self.gain * F.layer_norm(x, x.shape[1:]) + self.bias


class Machine(nn.Module):
    """A tied post-norm Transformer without dropout, with none of the bugs."""

    bugs: tuple[str, ...] = ()

    def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers):
        super().__init__()
        positions = SinusoidalPositions(d_model)
        self.embedding = InputEmbedding(vocab_size, d_model, positions, dropout=0.0)
        self.encoder = Encoder(n_layers, d_model, n_heads, d_ff, dropout=0.0)
        self.decoder = Decoder(n_layers, d_model, n_heads, d_ff, dropout=0.0)
        if "norm" in self.bugs:
            for layer in self.decoder.layers:
                for residual in layer.residuals:
                    residual.norm = NormOverTime(d_model)
        self.output = nn.Linear(d_model, vocab_size, bias=False)
        self.apply(initialize)
        if "tie" in self.bugs:
            self.output.weight.data = self.embedding.tokens.weight.data.clone()
        else:
            self.output.weight = self.embedding.tokens.weight

    def encode(self, src):
        mask = padding_mask(src)
        if "causal" in self.bugs:
            mask = mask & causal_mask(src.shape[1])
        return self.encoder(self.embedding(src), mask)

    def forward(self, src, tgt_in):
        tgt_mask = padding_mask(tgt_in) & causal_mask(tgt_in.shape[1])
        src_mask = None if "source" in self.bugs else padding_mask(src)
        return self.output(self.decoder(self.embedding(tgt_in), self.encode(src), tgt_mask, src_mask))


def machine_with(bugs):
    """The machine with these bugs, as a class."""
    return type("Machine", (Machine,), {"bugs": tuple(bugs)})
