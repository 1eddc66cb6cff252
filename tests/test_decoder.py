"""The decoder against nn.TransformerDecoder, and what it must not see."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import assert_equal, copy_decoder_layer, copy_stack, gradient, scramble
from torch import nn

from course_lib.decoder import Decoder, DecoderLayer
from course_lib.masks import causal_mask, padding_mask


def random_ids(batch, seq_len):
    lengths = torch.randint(1, seq_len + 1, (batch, 1))
    return torch.randint(4, 50, (batch, seq_len)).masked_fill(torch.arange(seq_len) >= lengths, 0)


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from([(2, 5, 7, 3, 2, 11), (3, 2, 1, 5, 7, 13), (4, 4, 4, 4, 4, 4), (1, 1, 3, 1, 1, 1)]),
    st.booleans(),
    st.sampled_from(["relu", "gelu"]),
    st.integers(0, 99),
)
def test_layer_equals_torch_with_gradients(sizes, norm_first, activation, seed):
    batch, tgt_len, src_len, n_heads, d_k, d_ff = sizes
    torch.manual_seed(seed)
    d_model = n_heads * d_k
    theirs = scramble(
        nn.TransformerDecoderLayer(
            d_model, n_heads, d_ff, 0.0, activation, norm_first=norm_first, batch_first=True
        ).double(),
        seed,
    )
    ours = DecoderLayer(d_model, n_heads, d_ff, 0.0, norm_first, activation).double()
    copy_decoder_layer(ours, theirs)
    src, tgt = random_ids(batch, src_len), random_ids(batch, tgt_len)
    x = torch.randn(batch, tgt_len, d_model, dtype=torch.float64, requires_grad=True)
    memory = torch.randn(batch, src_len, d_model, dtype=torch.float64, requires_grad=True)
    tgt_mask = padding_mask(tgt) & causal_mask(tgt_len)
    mine = ours(x, memory, tgt_mask, padding_mask(src))
    reference = theirs(
        x, memory, tgt_mask=~causal_mask(tgt_len), tgt_key_padding_mask=tgt == 0, memory_key_padding_mask=src == 0
    )
    assert_equal(mine, reference)
    for one, other in zip(gradient(mine, x, memory), gradient(reference, x, memory), strict=True):
        assert_equal(one, other)
    assert_equal(
        gradient(mine, ours.cross_attention.w_v.weight)[0],
        gradient(reference, theirs.multihead_attn.in_proj_weight)[0][2 * d_model :],
    )


@pytest.mark.parametrize("norm_first", [False, True])
def test_stack_equals_torch(norm_first):
    layer = nn.TransformerDecoderLayer(6, 3, 11, 0.0, norm_first=norm_first, batch_first=True)
    theirs = scramble(nn.TransformerDecoder(layer, 3, nn.LayerNorm(6) if norm_first else None).double())
    ours = Decoder(3, 6, 3, 11, 0.0, norm_first).double()
    copy_stack(ours, theirs)
    x, memory = torch.randn(2, 5, 6, dtype=torch.float64), torch.randn(2, 7, 6, dtype=torch.float64)
    assert_equal(ours(x, memory, causal_mask(5)), theirs(x, memory, tgt_mask=~causal_mask(5)))


def test_nothing_leaks_back_and_every_source_token_counts():
    decoder = Decoder(2, 6, 3, 11).double().eval()
    x, memory = torch.randn(1, 5, 6, dtype=torch.float64), torch.randn(1, 7, 6, dtype=torch.float64)
    out = decoder(x, memory, causal_mask(5))
    for t in range(5):
        changed = x.clone()
        changed[0, t] += torch.randn(6, dtype=torch.float64)
        moved = (decoder(changed, memory, causal_mask(5)) - out).abs().sum(-1)[0] > 1e-9
        assert moved.tolist() == [i >= t for i in range(5)]
    for s in range(7):
        changed = memory.clone()
        changed[0, s] += torch.randn(6, dtype=torch.float64)
        assert ((decoder(x, changed, causal_mask(5)) - out).abs().sum(-1) > 1e-9).all()


def test_a_source_of_pads_alone_is_finite():
    decoder = Decoder(2, 6, 3, 11)
    memory = torch.randn(2, 3, 6, requires_grad=True)
    src = torch.tensor([[5, 6, 0], [0, 0, 0]])
    out = decoder(torch.randn(2, 5, 6), memory, causal_mask(5), padding_mask(src))
    out.sum().backward()
    assert out.isfinite().all()
    assert memory.grad.isfinite().all()
    assert memory.grad[1].eq(0).all()
