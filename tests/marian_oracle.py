"""A Hugging Face Marian model with the weights of our Transformer: an independent translator to compare with."""

import dataclasses
import os

import torch
from torch import nn

from course_lib.tokens import BOS, EOS, PAD
from course_lib.transformer import Transformer, TransformerConfig

os.environ.setdefault("HF_HUB_OFFLINE", "1")


def marian_pair(vocab_size: int = 17, seed: int = 0, **changes) -> tuple[Transformer, nn.Module]:
    """(ours, theirs): post-norm, tied, float64, eval mode, all weights random; `changes` go into our configuration.

    Marian lays its sinusoids out in halves, so its table goes into our learned positions.
    """
    from transformers import MarianConfig, MarianMTModel

    torch.manual_seed(seed)
    config = TransformerConfig(vocab_size, d_model=8, n_heads=2, d_ff=13, n_layers=2, dropout=0.0, max_len=64)
    config = dataclasses.replace(config, positions="learned", **changes)
    theirs = MarianMTModel(
        MarianConfig(
            vocab_size=config.vocab_size,
            d_model=config.d_model,
            encoder_layers=config.n_layers,
            decoder_layers=config.n_layers,
            encoder_attention_heads=config.n_heads,
            decoder_attention_heads=config.n_heads,
            encoder_ffn_dim=config.d_ff,
            decoder_ffn_dim=config.d_ff,
            dropout=0.0,
            attention_dropout=0.0,
            activation_dropout=0.0,
            activation_function=config.activation,
            scale_embedding=True,
            pad_token_id=PAD,
            eos_token_id=EOS,
            bos_token_id=BOS,
            decoder_start_token_id=BOS,
            forced_eos_token_id=None,
            max_position_embeddings=config.max_len,
        )
    )
    ours = Transformer(config)
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            if "embed_positions" not in name:
                parameter.copy_(torch.randn_like(parameter) * 0.4 + (1.0 if "norm.weight" in name else 0.0))
        copy_marian(ours, theirs)
    return ours.double().eval(), theirs.double().eval()


@torch.no_grad()
def copy_marian(ours: Transformer, theirs: nn.Module) -> None:
    core = theirs.model
    ours.src_embedding.tokens.weight.copy_(core.shared.weight)
    ours.src_embedding.positions.table.copy_(core.encoder.embed_positions.weight)
    for our_layer, their_layer in zip(ours.encoder.layers, core.encoder.layers, strict=True):
        copy_attention(our_layer.attention, their_layer.self_attn)
        copy_rest(our_layer, their_layer, (their_layer.self_attn_layer_norm, their_layer.final_layer_norm))
    for our_layer, their_layer in zip(ours.decoder.layers, core.decoder.layers, strict=True):
        copy_attention(our_layer.self_attention, their_layer.self_attn)
        copy_attention(our_layer.cross_attention, their_layer.encoder_attn)
        norms = (their_layer.self_attn_layer_norm, their_layer.encoder_attn_layer_norm, their_layer.final_layer_norm)
        copy_rest(our_layer, their_layer, norms)


def copy_attention(ours: nn.Module, theirs: nn.Module) -> None:
    for our_name, their_name in (("w_q", "q_proj"), ("w_k", "k_proj"), ("w_v", "v_proj"), ("w_o", "out_proj")):
        getattr(ours, our_name).load_state_dict(getattr(theirs, their_name).state_dict())


def copy_rest(ours: nn.Module, theirs: nn.Module, norms: tuple) -> None:
    ours.feed_forward.w_1.load_state_dict(theirs.fc1.state_dict())
    ours.feed_forward.w_2.load_state_dict(theirs.fc2.state_dict())
    for residual, norm in zip(ours.residuals, norms, strict=True):
        residual.norm.gain.copy_(norm.weight)
        residual.norm.bias.copy_(norm.bias)
