"""Hugging Face's Marian, the translation model of `transformers` that is built like ours."""

import os

import torch
from torch import Tensor, nn

from benchmarks.translators import copy_linear, copy_norm, layers
from course_lib.multi_head import MultiHeadAttention
from course_lib.positional_encoding import sinusoidal_encoding
from course_lib.tokens import BOS, EOS, PAD
from course_lib.transformer import Transformer, TransformerConfig

os.environ.setdefault("HF_HUB_OFFLINE", "1")


class Marian(nn.Module):
    """A `MarianMTModel` with the weights of ours, its sinusoids too; dropout where ours has it (its default)."""

    def __init__(self, ours: Transformer):
        from transformers import MarianMTModel

        super().__init__()
        self.model = MarianMTModel(marian_config(ours.config))
        copy_weights(self.model, ours)

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        masks = {"attention_mask": (src != PAD).long(), "decoder_attention_mask": (tgt_in != PAD).long()}
        return self.model(input_ids=src, decoder_input_ids=tgt_in, use_cache=False, **masks).logits

    def greedy(self, src: Tensor, n_tokens: int) -> list[list[int]]:
        return self.generate(src, n_tokens, num_beams=1)

    def beam(self, src: Tensor, n_tokens: int, beam_size: int) -> list[list[int]]:
        return self.generate(src, n_tokens, num_beams=beam_size, length_penalty=1.0)

    @torch.no_grad()
    def generate(self, src: Tensor, n_tokens: int, **search) -> list[list[int]]:
        """Its own search, with its cache; the first token, which is always BOS, is dropped."""
        ids = self.model.generate(
            input_ids=src, attention_mask=(src != PAD).long(), do_sample=False, max_new_tokens=n_tokens, **search
        )
        return ids[:, 1:].tolist()


def marian_config(c: TransformerConfig):
    """The configuration of the same size."""
    from transformers import MarianConfig

    sizes = {}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_layers": c.n_layers, f"{side}_attention_heads": c.n_heads, f"{side}_ffn_dim": c.d_ff}
    return MarianConfig(
        vocab_size=c.vocab_size,
        d_model=c.d_model,
        dropout=c.dropout,
        activation_function=c.activation,
        scale_embedding=True,
        max_position_embeddings=c.max_len,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=None,
        **sizes,
    )


@torch.no_grad()
def copy_weights(theirs: nn.Module, ours: Transformer) -> None:
    """Marian lays its sinusoids out in halves, but its table takes any: it gets ours."""
    core, c = theirs.model, ours.config
    core.shared.weight.copy_(ours.output.weight)
    for stack in (core.encoder, core.decoder):
        stack.embed_positions.weight.copy_(sinusoidal_encoding(c.max_len, c.d_model))
    for their, our in zip(core.encoder.layers, layers(ours.encoder), strict=True):
        copy_attention(their.self_attn, our.own)
        copy_rest(their, our, [their.self_attn_layer_norm, their.final_layer_norm])
    for their, our in zip(core.decoder.layers, layers(ours.decoder), strict=True):
        copy_attention(their.self_attn, our.own)
        copy_attention(their.encoder_attn, our.cross)
        copy_rest(their, our, [their.self_attn_layer_norm, their.encoder_attn_layer_norm, their.final_layer_norm])


def copy_attention(theirs: nn.Module, ours: MultiHeadAttention) -> None:
    """The four projections of an attention."""
    copy_linear(theirs.q_proj, ours.w_q)
    copy_linear(theirs.k_proj, ours.w_k)
    copy_linear(theirs.v_proj, ours.w_v)
    copy_linear(theirs.out_proj, ours.w_o)


def copy_rest(theirs: nn.Module, ours, norms: list[nn.LayerNorm]) -> None:
    """The feed-forward network and the norms of a layer."""
    copy_linear(theirs.fc1, ours.feed_forward.w_1)
    copy_linear(theirs.fc2, ours.feed_forward.w_2)
    for norm, our_norm in zip(norms, ours.norms, strict=True):
        copy_norm(norm, our_norm)
