"""`x-transformers`: an encoder and decoder of the same sizes, but built in its own way (pre-norm, no biases, GELU)."""

import torch
from torch import Tensor, nn

from course_lib.tokens import BOS, EOS, PAD
from course_lib.transformer import Transformer, TransformerConfig


class XTransformers(nn.Module):
    """An `XTransformer` of the sizes of ours, with fused attention, and dropout as its README sets it.

    Its layers have other parameters than ours, so it gets no weights of ours: it starts from its own.
    """

    def __init__(self, ours: Transformer):
        from x_transformers import XTransformer

        super().__init__()
        c = ours.config
        self.model = XTransformer(dim=c.d_model, tie_token_emb=True, pad_value=PAD, ignore_index=PAD, **sizes(c))
        self.model.decoder.net.to_logits.weight = self.model.encoder.token_emb.emb.weight  # tied, as in ours

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        real = src != PAD
        memory = self.model.encoder(src, mask=real, return_embeddings=True)
        return self.model.decoder.net(tgt_in, context=memory, context_mask=real)

    @torch.no_grad()
    def greedy(self, src: Tensor, n_tokens: int) -> list[list[int]]:
        """Its own search, with its cache; it has no beam search."""
        start = torch.full((len(src), 1), BOS)
        return self.model.generate(src, start, n_tokens, mask=src != PAD, temperature=0.0, cache_kv=True).tolist()

    @torch.no_grad()
    def never_end(self) -> "XTransformers":
        """What `endless` does to ours."""
        self.model.decoder.net.to_logits.weight[[PAD, BOS, EOS]] = 0.0
        return self


def sizes(c: TransformerConfig) -> dict[str, object]:
    """Its keywords, for the encoder and for the decoder."""
    one = {
        "num_tokens": c.vocab_size,
        "max_seq_len": c.max_len,
        "depth": c.n_layers,
        "heads": c.n_heads,
        "attn_dim_head": c.d_model // c.n_heads,
        "ff_mult": c.d_ff / c.d_model,
        "attn_flash": True,
        "emb_dropout": c.dropout,
        "attn_dropout": c.dropout,
        "ff_dropout": c.dropout,
    }
    return {f"{side}_{name}": value for side in ("enc", "dec") for name, value in one.items()}
