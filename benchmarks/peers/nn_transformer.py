"""`torch.nn.Transformer` as textbooks wrap it: embeddings, sinusoids, an output layer; padded, without a cache."""

import math
import warnings

import torch
from torch import Tensor, nn

from benchmarks.translators import copy_linear, copy_norm, layers
from course_lib.multi_head import MultiHeadAttention
from course_lib.positional_encoding import sinusoidal_encoding
from course_lib.tokens import BOS, PAD
from course_lib.transformer import Transformer


class NNTransformer(nn.Module):
    """A wrapped `nn.Transformer` with the weights of ours.

    It has two layer norms more, one behind each stack: with their first weights they change next to nothing.
    """

    def __init__(self, ours: Transformer):
        super().__init__()
        c = ours.config
        self.scale = math.sqrt(c.d_model)
        self.embedding = nn.Embedding(c.vocab_size, c.d_model)
        self.register_buffer("positions", sinusoidal_encoding(c.max_len, c.d_model))
        self.dropout = nn.Dropout(c.dropout)
        self.stacks = nn.Transformer(c.d_model, c.n_heads, c.n_layers, c.n_layers, c.d_ff, c.dropout, batch_first=True)
        self.output = nn.Linear(c.d_model, c.vocab_size, bias=False)
        self.output.weight = self.embedding.weight
        copy_weights(self, ours)

    def embed(self, ids: Tensor) -> Tensor:
        return self.dropout(self.embedding(ids) * self.scale + self.positions[: ids.shape[1]])

    def encode(self, src: Tensor) -> Tensor:
        return self.stacks.encoder(self.embed(src), src_key_padding_mask=src == PAD)

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        causal = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1])
        return self.stacks.decoder(
            self.embed(tgt), memory, tgt_mask=causal, memory_key_padding_mask=src == PAD, tgt_is_causal=True
        )

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        return self.output(self.decode(tgt_in, self.encode(src), src))

    @torch.no_grad()
    def greedy(self, src: Tensor, n_tokens: int) -> list[list[int]]:
        """It keeps nothing from one step to the next: the decoder reads all that is written, again and again."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its own fast path warns that it uses nested tensors
            memory = self.encode(src)
        written = torch.full((len(src), 1), BOS)
        for _ in range(n_tokens):
            logits = self.output(self.decode(written, memory, src)[:, -1])
            written = torch.cat([written, logits.argmax(dim=-1, keepdim=True)], dim=1)
        return written[:, 1:].tolist()


@torch.no_grad()
def copy_weights(theirs: NNTransformer, ours: Transformer) -> None:
    """Layer by layer; `nn.MultiheadAttention` keeps three projections in one matrix."""
    theirs.embedding.weight.copy_(ours.output.weight)
    for their, our in zip(theirs.stacks.encoder.layers, layers(ours.encoder), strict=True):
        copy_attention(their.self_attn, our.own)
        copy_rest(their, our)
    for their, our in zip(theirs.stacks.decoder.layers, layers(ours.decoder), strict=True):
        copy_attention(their.self_attn, our.own)
        copy_attention(their.multihead_attn, our.cross)
        copy_rest(their, our)


def copy_attention(theirs: nn.MultiheadAttention, ours: MultiHeadAttention) -> None:
    """Query, key and value projections one below the other, then the output projection."""
    projections = (ours.w_q, ours.w_k, ours.w_v)
    theirs.in_proj_weight.copy_(torch.cat([linear.weight for linear in projections]))
    theirs.in_proj_bias.copy_(torch.cat([linear.bias for linear in projections]))
    copy_linear(theirs.out_proj, ours.w_o)


def copy_rest(theirs: nn.Module, ours) -> None:
    """The feed-forward network and the norms of a layer."""
    copy_linear(theirs.linear1, ours.feed_forward.w_1)
    copy_linear(theirs.linear2, ours.feed_forward.w_2)
    for number, norm in enumerate(ours.norms, start=1):
        copy_norm(getattr(theirs, f"norm{number}"), norm)
