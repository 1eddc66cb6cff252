"""The encoder against nn.TransformerEncoder, the classifier against its parts."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import assert_equal, copy_encoder_layer, copy_stack, gradient, scramble
from torch import nn

from course_lib.encoder import Classifier, Encoder, EncoderLayer, FeedForward, masked_mean
from course_lib.masks import padding_mask
from course_lib.positional_encoding import InputEmbedding, SinusoidalPositions


def random_ids(batch, seq_len, lengths):
    ids = torch.randint(4, 50, (batch, seq_len))
    return ids.masked_fill(torch.arange(seq_len) >= torch.tensor(lengths)[:, None], 0)


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from([(2, 5, 3, 2, 7), (3, 2, 1, 5, 11), (4, 4, 4, 4, 4), (1, 1, 1, 1, 1)]),
    st.booleans(),
    st.sampled_from(["relu", "gelu"]),
    st.integers(0, 99),
)
def test_layer_equals_torch_with_gradients(sizes, norm_first, activation, seed):
    batch, seq_len, n_heads, d_k, d_ff = sizes
    torch.manual_seed(seed)
    d_model = n_heads * d_k
    theirs = scramble(
        nn.TransformerEncoderLayer(
            d_model, n_heads, d_ff, 0.0, activation, norm_first=norm_first, batch_first=True
        ).double(),
        seed,
    )
    ours = EncoderLayer(d_model, n_heads, d_ff, 0.0, norm_first, activation).double()
    copy_encoder_layer(ours, theirs)
    lengths = torch.randint(1, seq_len + 1, (batch,)).tolist()
    ids = random_ids(batch, seq_len, lengths)
    x = torch.randn(batch, seq_len, d_model, dtype=torch.float64, requires_grad=True)
    real = (ids != 0)[..., None]
    mine = ours(x, padding_mask(ids)) * real
    reference = theirs(x, src_key_padding_mask=ids == 0) * real
    assert_equal(mine, reference)
    assert_equal(gradient(mine, x)[0], gradient(reference, x)[0])
    assert_equal(
        gradient(mine, ours.attention.w_k.weight)[0],
        gradient(reference, theirs.self_attn.in_proj_weight)[0][d_model : 2 * d_model],
    )


@pytest.mark.parametrize("norm_first", [False, True])
def test_stack_equals_torch(norm_first):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(6, 3, 11, 0.0, norm_first=norm_first, batch_first=True)
    norm = nn.LayerNorm(6) if norm_first else None
    theirs = scramble(nn.TransformerEncoder(layer, 3, norm, enable_nested_tensor=False).double())
    ours = Encoder(3, 6, 3, 11, 0.0, norm_first).double()
    copy_stack(ours, theirs)
    x = torch.randn(2, 5, 6, dtype=torch.float64)
    assert_equal(ours(x), theirs(x))


def test_feed_forward_is_two_convolutions_of_width_one():
    ours = FeedForward(6, 11).double()
    first, second = nn.Conv1d(6, 11, 1).double(), nn.Conv1d(11, 6, 1).double()
    with torch.no_grad():
        for conv, linear in ((first, ours.w_1), (second, ours.w_2)):
            conv.weight.copy_(linear.weight[..., None])
            conv.bias.copy_(linear.bias)
    x = torch.randn(2, 5, 6, dtype=torch.float64)
    assert_equal(ours(x), second(first(x.mT).relu()).mT, 1e-12)


def test_an_unknown_activation_is_refused():
    with pytest.raises(ValueError, match="expected activation 'relu' or 'gelu', got 'swish': choose one of the two"):
        FeedForward(4, 8, "swish")


def test_layers_have_weights_of_their_own():
    encoder = Encoder(3, 4, 2, 8)
    assert len(list(encoder.parameters())) == 3 * len(list(encoder.layers[0].parameters()))
    assert not torch.equal(encoder.layers[0].attention.w_q.weight, encoder.layers[1].attention.w_q.weight)


def test_a_row_of_pads_is_finite_and_touches_no_other_row():
    encoder = Encoder(2, 6, 3, 11).eval()
    x = torch.randn(3, 5, 6, requires_grad=True)
    ids = random_ids(3, 5, [5, 0, 2])
    out = encoder(x, padding_mask(ids))
    assert out.isfinite().all()
    assert_equal(out[[0, 2]], encoder(x[[0, 2]], padding_mask(ids[[0, 2]])), 1e-5)
    out.sum().backward()
    assert x.grad.isfinite().all()


def test_masked_mean_is_the_mean_of_the_real_tokens():
    hidden = torch.randn(3, 5, 7, dtype=torch.float64)
    ids = random_ids(3, 5, [5, 0, 2])
    pooled = masked_mean(hidden, ids != 0)
    assert_equal(pooled[0], hidden[0].mean(dim=0), 1e-12)
    assert_equal(pooled[2], hidden[2, :2].mean(dim=0), 1e-12)
    assert pooled[1].eq(0).all()


def classifier(pooling):
    embedding = InputEmbedding(50, 6, SinusoidalPositions(6))
    return Classifier(embedding, Encoder(2, 6, 3, 11), d_model=6, n_classes=4, pooling=pooling).double().eval()


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_classifier_ignores_padding_and_batch_mates(pooling):
    model = classifier(pooling)
    ids = random_ids(3, 7, [7, 4, 1])
    together = model(ids)
    assert together.shape == (3, 4)
    for row, length in enumerate([7, 4, 1]):
        assert_equal(model(ids[row : row + 1, :length])[0], together[row], 1e-9)


def test_the_two_poolings_differ_and_every_parameter_learns():
    ids = random_ids(3, 7, [7, 4, 2])
    cls, mean = classifier("cls"), classifier("mean")
    mean.load_state_dict(cls.state_dict())
    assert not torch.allclose(cls(ids), mean(ids))
    nn.functional.cross_entropy(mean(ids), torch.tensor([0, 1, 2])).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in mean.parameters())


def test_an_unknown_pooling_is_refused():
    with pytest.raises(ValueError, match="expected pooling 'cls' or 'mean', got 'max': choose one of the two"):
        classifier("max")


def test_mean_of_many_in_half_precision():
    hidden = torch.full((1, 1000, 1), 100.0, dtype=torch.float16)
    mean = masked_mean(hidden, torch.ones(1, 1000, dtype=torch.bool))
    assert (mean.item(), mean.dtype) == (100.0, torch.float16)


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.bool])
def test_the_mean_of_whole_numbers_is_refused_and_loses_no_fraction(dtype, unchecked):
    with pytest.raises(TypeError, match=f"expected hidden in floating-point numbers, got {dtype}: write hidden.float"):
        masked_mean(torch.ones(1, 3, 2).to(dtype), torch.tensor([[True, True, False]]))


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("ids", [[0, 0, 5, 6, 7], [5, 6, 7, 0, 0], [0, 5, 0, 6, 7]])
def test_a_classifier_does_not_mind_on_which_side_the_pads_are(pooling, ids):
    embedding = InputEmbedding(50, 4, SinusoidalPositions(4), 0.0)
    model = Classifier(embedding, Encoder(2, 4, 2, 7, 0.0), 4, 3, pooling).double().eval()
    alone = model(torch.tensor([[5, 6, 7]]))
    assert_equal(model(torch.tensor([ids, [8, 9, 8, 9, 8]]))[:1], alone)
