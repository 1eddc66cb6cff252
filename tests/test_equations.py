"""Each equation of the paper, computed with NumPy as it stands in book/equations.yml, equals what the library computes.

The rows also lead to headings, definitions, and tests that exist.
"""

import sys
from importlib import import_module

import numpy as np
import pytest
import torch
import yaml
from torch import Tensor

from course_lib.attention import scaled_dot_product_attention
from course_lib.decoder import DecoderLayer
from course_lib.encoder import Encoder, FeedForward
from course_lib.layer_norm import Residual, layer_norm
from course_lib.masks import causal_mask, padding_mask
from course_lib.multi_head import MultiHeadAttention
from course_lib.positional_encoding import InputEmbedding, SinusoidalPositions, sinusoidal_encoding
from course_lib.tokens import BOS
from course_lib.transformer import Transformer, TransformerConfig
from tests.oracles import scramble
from tools.environment import CHAPTERS, ROOT
from tools.form import read
from tools.gates.links import anchors

sys.path.insert(0, str(ROOT / "book" / "_ext"))
page_equations = import_module("page_equations")

ROWS = yaml.safe_load((ROOT / "book" / "equations.yml").read_text(encoding="utf-8"))
SIZES = TransformerConfig(vocab_size=13, d_model=6, n_heads=2, d_ff=10, n_layers=2, dropout=0.0)

each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])


@pytest.fixture(autouse=True)
def _double_precision():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    with torch.no_grad():
        yield
    torch.set_default_dtype(torch.float32)


def assert_same(ours: Tensor, paper: np.ndarray) -> None:
    np.testing.assert_allclose(ours.numpy(), paper, rtol=0, atol=1e-12)


def softmax(x: np.ndarray) -> np.ndarray:
    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray | float = 0.0) -> np.ndarray:
    return softmax(q @ k.T / np.sqrt(q.shape[-1]) + m) @ v


def norm(x: np.ndarray, gain: np.ndarray, b: np.ndarray, epsilon: float) -> np.ndarray:
    mu = x.mean(axis=-1, keepdims=True)
    variance = ((x - mu) ** 2).mean(axis=-1, keepdims=True)
    return gain * (x - mu) / np.sqrt(variance + epsilon) + b


def multi_head(layer: MultiHeadAttention, q: np.ndarray, k: np.ndarray, v: np.ndarray, m: np.ndarray | float = 0.0):
    """The heads one after the other; W_i are the columns of head i."""
    w_q, w_k, w_v, w_o = (linear.weight.T.numpy() for linear in (layer.w_q, layer.w_k, layer.w_v, layer.w_o))
    d_k = w_q.shape[1] // layer.n_heads
    columns = [slice(i * d_k, (i + 1) * d_k) for i in range(layer.n_heads)]
    heads = [attention(q @ w_q[:, i], k @ w_k[:, i], v @ w_v[:, i], m) for i in columns]
    return np.concatenate(heads, axis=-1) @ w_o


# One test for each row, named after it


@pytest.mark.parametrize("n", [1, 2, 5, 11])
def test_encoder(n):
    encoder = Encoder(n_layers=2, d_model=6, n_heads=2, d_ff=10, dropout=0.0)
    z = encoder(torch.randn(1, n, 6))
    assert z.shape == (1, n, 6)
    assert isinstance(encoder.norm, torch.nn.Identity), "a post-norm stack ends as the paper's does"


def test_autoregressive():
    """The product of what each step says, given the right beginning, is what the parallel pass says at once."""
    model = scramble(Transformer(SIZES)).eval()
    src, y = torch.tensor([[5, 7, 9, 2]]), torch.tensor([[6, 8, 4, 2]])
    tgt_in = torch.cat([torch.full((1, 1), BOS), y[:, :-1]], dim=1)
    at_once = softmax(model(src, tgt_in)[0].numpy())[range(4), y[0]].prod()
    state, product = model.start(src), 1.0
    for t in range(4):
        logits, state = model.step(tgt_in[:, t : t + 1], state)
        product *= softmax(logits[0, 0].numpy())[y[0, t]]
    assert at_once == pytest.approx(product, rel=1e-9)


def test_residual():
    x, w = torch.randn(5, 7), torch.randn(7, 7)
    residual = scramble(Residual(7, dropout=0.0))
    g, b = residual.norm.gain.numpy(), residual.norm.bias.numpy()
    assert_same(residual(x, lambda y: y @ w), norm((x + x @ w).numpy(), g, b, 1e-5))


def test_layer_norm():
    x, g, b = torch.randn(5, 7), torch.randn(7), torch.randn(7)
    assert_same(layer_norm(x, g, b), norm(x.numpy(), g.numpy(), b.numpy(), 1e-5))


def test_attention():
    q, k, v = torch.randn(3, 4), torch.randn(5, 4), torch.randn(5, 7)
    output, _ = scaled_dot_product_attention(q, k, v)
    assert_same(output, attention(q.numpy(), k.numpy(), v.numpy()))


def test_variance_of_a_score():
    """Exact for components that are −1 or 1: over all pairs of such vectors, mean 0 and variance d_k."""
    for d_k in (1, 3, 5):
        vectors = np.array(np.meshgrid(*[[-1, 1]] * d_k)).reshape(d_k, -1).T
        scores = vectors @ vectors.T
        assert scores.mean() == 0
        assert scores.var() == d_k


def test_multi_head():
    layer = scramble(MultiHeadAttention(6, n_heads=3, bias=False))
    q, k, v = torch.randn(4, 6), torch.randn(5, 6), torch.randn(5, 6)
    output, _ = layer(q[None], k[None], v[None])
    assert_same(output[0], multi_head(layer, q.numpy(), k.numpy(), v.numpy()))


def test_head_sizes():
    layer = MultiHeadAttention(512, n_heads=8)
    assert 512 // layer.n_heads == 64
    for linear in (layer.w_q, layer.w_k, layer.w_v, layer.w_o):
        assert linear.weight.shape == (512, 512)


def test_mask():
    q, k, v = torch.randn(5, 4), torch.randn(5, 4), torch.randn(5, 7)
    m = np.array([[0.0 if j <= i else -np.inf for j in range(5)] for i in range(5)])
    output, _ = scaled_dot_product_attention(q, k, v, causal_mask(5))
    assert_same(output, attention(q.numpy(), k.numpy(), v.numpy(), m))


def test_cross_attention():
    """A whole layer of the decoder, sublayer after sublayer."""
    layer = scramble(DecoderLayer(6, n_heads=2, d_ff=10, dropout=0.0))
    for attends in (layer.self_attention, layer.cross_attention):
        for linear in (attends.w_q, attends.w_k, attends.w_v, attends.w_o):
            linear.bias.zero_()
    y, z = torch.randn(4, 6), torch.randn(5, 6)
    m = np.where(causal_mask(4).numpy(), 0.0, -np.inf)

    def normed(i: int, x: np.ndarray) -> np.ndarray:
        return norm(x, layer.residuals[i].norm.gain.numpy(), layer.residuals[i].norm.bias.numpy(), 1e-5)

    x = y.numpy()
    x = normed(0, x + multi_head(layer.self_attention, x, x, x, m))
    x = normed(1, x + multi_head(layer.cross_attention, x, z.numpy(), z.numpy()))
    x = normed(2, x + feed_forward(layer.feed_forward, x))
    assert_same(layer(y[None], z[None], causal_mask(4))[0], x)


def feed_forward(layer: FeedForward, x: np.ndarray) -> np.ndarray:
    w_1, b_1, w_2, b_2 = (p.numpy() for p in (layer.w_1.weight, layer.w_1.bias, layer.w_2.weight, layer.w_2.bias))
    return np.maximum(0, x @ w_1.T + b_1) @ w_2.T + b_2


def test_feed_forward():
    layer, x = scramble(FeedForward(6, 10)), torch.randn(5, 6)
    assert_same(layer(x), feed_forward(layer, x.numpy()))


def test_embedding():
    embedding = InputEmbedding(13, 6, SinusoidalPositions(6), dropout=0.0)
    ids = [4, 9, 4]
    expected = np.sqrt(6) * embedding.tokens.weight.numpy()[ids] + sinusoids(3, 6)
    assert_same(embedding(torch.tensor([ids]))[0], expected)


def test_output():
    """The hidden vectors times the source embedding's matrix, which is the target embedding's and the output's."""
    model = scramble(Transformer(SIZES)).eval()
    src, tgt_in = torch.tensor([[5, 7, 9, 2]]), torch.tensor([[BOS, 6, 8]])
    hidden = model.decode(tgt_in, model.encode(src), padding_mask(src))[0].numpy()
    table = model.src_embedding.tokens.weight.numpy()
    assert_same(model(src, tgt_in)[0].softmax(dim=-1), softmax(hidden @ table.T))


def sinusoids(n: int, d_model: int) -> np.ndarray:
    table = np.empty((n, d_model))
    for pos in range(n):
        for i in range(d_model // 2):
            table[pos, 2 * i] = np.sin(pos / 10000 ** (2 * i / d_model))
            table[pos, 2 * i + 1] = np.cos(pos / 10000 ** (2 * i / d_model))
    return table


def test_sinusoids():
    assert_same(sinusoidal_encoding(50, 6), sinusoids(50, 6))


def test_wavelengths():
    """After a whole wavelength a pair of features is where it was; the longest is 3.5 % shorter than 10000 · 2π."""
    d_model = 512
    wavelengths = 2 * np.pi * 10000 ** (2 * np.arange(d_model // 2) / d_model)
    slow = np.arcsin(sinusoidal_encoding(2, d_model)[1, 0::2].numpy())  # the angle of one position: below 90° for all
    np.testing.assert_allclose(2 * np.pi / slow, wavelengths, rtol=1e-9)
    np.testing.assert_allclose(wavelengths[1:] / wavelengths[:-1], 10000 ** (2 / d_model))
    assert round(100 * (1 - wavelengths[-1] / (10000 * 2 * np.pi)), 1) == 3.5


def test_shift():
    table, delta = sinusoidal_encoding(60, 6).numpy(), 7
    r = np.zeros((6, 6))
    for i in range(3):
        angle = delta / 10000 ** (2 * i / 6)
        turn = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        r[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = turn
    np.testing.assert_allclose(table[delta:], table[:-delta] @ r, atol=1e-12)


# The rows lead somewhere


@each_row
def test_a_row_has_a_test_of_its_name(row):
    assert f"test_{row['id']}" in globals(), f"write test_{row['id']} here: the equation with NumPy against the library"


def test_each_test_of_a_row_has_a_row():
    """What stands above the rows' own tests, and nothing else, bears the name of a row."""
    names = [
        name
        for name in globals()
        if name.startswith("test_") and not name.startswith(("test_a_", "test_each_", "test_the_"))
    ]
    assert names == [f"test_{row['id']}" for row in ROWS]


@each_row
def test_a_row_leads_to_tests_that_exist(row):
    for test in row["proof"]:
        file, name = test.split("::")
        text = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert f"\ndef {name}(" in text, f"{row['id']}: {file} has no {name}"


@each_row
def test_a_row_leads_to_a_section_and_to_a_definition_of_its_chapter(row):
    name = None
    if row["library"]:
        module, name = row["library"].rsplit(".", 1)
        assert getattr(import_module(module), name).__module__ == module
    path = CHAPTERS / f"{row['chapter']}.ipynb"
    if not path.exists():
        assert row["heading"] is None, f"{row['id']}: {path.name} is planned, so leave its heading empty"
        return
    assert row["heading"] in anchors(path), f"{row['id']}: {path.name} has no heading #{row['heading']}"
    code = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "code")
    assert name is None or name in code, f"{row['id']}: no cell of {path.name} uses {name}"


def test_the_page_has_every_row_and_links_only_to_chapters_that_exist():
    """Fixture: a book in which chapter 02 alone exists."""

    class Environment:
        srcdir, found_docs = ROOT, {"chapters/02_attention"}

        def note_dependency(self, path: str) -> None:
            pass

    page = page_equations.page(Environment())
    assert page.count("### ") == len(ROWS)
    assert "[02 · Attention](/chapters/02_attention.ipynb#scaled-dot-product-attention)" in page
    assert "* **Chapter:** 04 · Multi-head attention\n" in page
    assert "None" not in page
