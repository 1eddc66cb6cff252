"""Right numbers are not enough for what is trained: gradients have to flow back, and no digits may get lost."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_lib.decoder import DecoderLayer
from course_lib.encoder import EncoderLayer
from course_practice.engine import check_exercise
from course_practice.engine.compare import difference
from course_practice.exercises import registry
from course_practice.suggest import Budget

# Cut paths: what is lost, and how.


def queries_and_keys_detached(query, key, value):
    weights = (query.detach() @ key.detach().mT / key.shape[-1] ** 0.5).softmax(dim=-1)
    return weights @ value, weights


def weights_without_grad(query, key, value):
    with torch.no_grad():
        weights = (query @ key.mT / key.shape[-1] ** 0.5).softmax(dim=-1)
    return weights @ value, weights


def scores_detached(scores, mask=None):
    if mask is None:
        return scores.softmax(dim=-1)
    return scores.detach().masked_fill(~mask, -torch.inf).softmax(dim=-1).nan_to_num(0.0)


def row_after_row(x, table, offset=0):
    sentences = [
        [[n + t for n, t in zip(row, table[offset + i].tolist(), strict=True)] for i, row in enumerate(rows)]
        for rows in x.tolist()
    ]
    return torch.tensor(sentences)


def bias_item_by_item(n, table):
    most = len(table) // 2
    return torch.tensor([[table[max(-most, min(k - q, most)) + most].item() for k in range(n)] for q in range(n)])


def statistics_without_grad(x, gain, bias, eps=1e-5):
    with torch.no_grad():
        mean, variance = x.mean(dim=-1, keepdim=True), x.var(dim=-1, keepdim=True, correction=0)
    return (x - mean) / (variance + eps).sqrt() * gain + bias


def way_around_detached(x, f, norm, norm_first):
    return x.detach() + f(norm(x)) if norm_first else norm(x.detach() + f(x))


def through_numpy(x, gain, eps=1e-6):
    array = x.numpy()
    rms = np.sqrt((array**2).mean(-1, keepdims=True) + eps)
    return torch.from_numpy(array / rms) * gain


class Halved(nn.Module):
    """A feed-forward network whose second half alone learns."""

    def __init__(self, d_model, d_ff, activation="relu"):
        super().__init__()
        self.up, self.down, self.activation = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model), activation

    def forward(self, x):
        hidden = getattr(F, self.activation)(self.up(x)).data
        return self.down(hidden)


class DeafEncoderLayer(EncoderLayer):
    def forward(self, x, mask=None):
        return super().forward(x.detach(), mask)


class DeafDecoderLayer(DecoderLayer):
    def forward(self, x, memory, tgt_mask=None, src_mask=None):
        return super().forward(x, memory.detach(), tgt_mask, src_mask)


def told(name, answer):
    return check_exercise(registry()[name], answer, budget=Budget(work=0))


@pytest.mark.parametrize(
    ("name", "answer", "lost", "cut"),
    [
        ("attention.scaled_dot_product", queries_and_keys_detached, "`query` and `key`", "`.detach()`"),
        ("attention.scaled_dot_product", weights_without_grad, "`query` and `key`", "`torch.no_grad()`"),
        ("masks.softmax", scores_detached, "`scores`", "`.detach()`"),
        ("positional_encoding.add", row_after_row, "`x`", None),
        ("positional_encoding.relative_bias", bias_item_by_item, "`table`", "`.item()`"),
        ("layer_norm.norm", statistics_without_grad, "the gradient of `x` is not", "`torch.no_grad()`"),
        ("layer_norm.residual", way_around_detached, "the gradient of `x` is not", "`.detach()`"),
        ("modern.rms_norm", through_numpy, "a tensor leaves PyTorch on the way", "`.numpy()`"),
        ("encoder.feed_forward", Halved, "`x`", "`.data`"),
        ("encoder.layer", DeafEncoderLayer, "`x`", "`.detach()`"),
        ("decoder.layer", DeafDecoderLayer, "`memory`", "`.detach()`"),
    ],
)
def test_right_numbers_that_cannot_learn_are_refused_with_what_is_lost(name, answer, lost, cut):
    result = told(name, answer)
    assert result.diagnosis == "no-gradient", str(result)
    assert result.message.startswith("Your numbers are right, but ")
    assert lost in result.message
    if cut:
        (line,) = result.lines
        assert f"Look at line {line}: does {cut} cut the path?" in result.message
        assert cut.strip("`").removesuffix("()") in dict(result.details)[f"Line {line}"]


# Right ones, whatever their form.


def in_place_on_its_own_tensors(query, key, value):
    weights = query @ key.mT
    weights /= math.sqrt(key.shape[-1])
    return weights.softmax(dim=-1) @ value, weights.softmax(dim=-1)


def filled_in_place(scores, mask=None):
    scores = scores.clone()
    if mask is not None:
        scores.masked_fill_(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=-1)
    return weights if mask is None else weights * mask


def row_by_row(x, gain, bias, eps=1e-5):
    out = torch.zeros_like(x)
    for place in np.ndindex(*x.shape[:-1]):
        row = x[place]
        out[place] = (row - row.mean()) / (row.var(correction=0) + eps) ** 0.5 * gain + bias
    return out


def in_double_precision(x, gain, bias, eps=1e-5):
    x = x.double()
    return (
        (x - x.mean(-1, keepdim=True)) * (x.var(-1, keepdim=True, correction=0) + eps).rsqrt() * gain + bias
    ).float()


def matrices_in_layers(x, w_q, w_k, w_v):
    def through(w):
        layer = nn.Linear(w.shape[0], w.shape[1], bias=False)
        layer.weight.data = w.T
        return layer(x)

    weights = (through(w_q) @ through(w_k).mT / w_k.shape[1] ** 0.5).softmax(dim=-1)
    return weights @ through(w_v)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("attention.scaled_dot_product", in_place_on_its_own_tensors),
        ("masks.softmax", filled_in_place),
        ("layer_norm.norm", row_by_row),
        ("layer_norm.norm", in_double_precision),
        ("self_attention.layer", matrices_in_layers),
    ],
)
def test_right_answers_in_other_forms_keep_their_gradients(name, answer):
    assert told(name, answer).passed, str(told(name, answer))


def test_a_tensor_that_a_gradient_needs_may_not_be_written_into():
    def spoiled(x, gain, eps=1e-6):
        root = (x.pow(2).mean(dim=-1, keepdim=True) + eps).sqrt()
        inverse = 1 / root
        root += 1
        return x * inverse * gain

    result = told("modern.rms_norm", spoiled)
    assert result.diagnosis == "no-gradient"
    assert "your code writes into a tensor that a gradient needs" in result.message


def test_a_gradient_that_is_not_finite_somewhere_is_a_note():
    def by_hand(scores, mask=None):
        if mask is None:
            return scores.softmax(dim=-1)
        top = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).amax(dim=-1, keepdim=True)
        exps = torch.where(mask, torch.exp(scores - top), 0.0)
        return exps / exps.sum(dim=-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)

    result = told("masks.softmax", by_hand)
    assert result.passed
    assert "in some cases the gradient of `scores` is not finite" in result.message


# Types


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["attention.scaled_dot_product", "layer_norm.norm", "bleu.brevity_penalty"])
def test_a_coarser_answer_is_refused_in_its_own_words(name, dtype):
    exercise = registry()[name]

    def coarse(*args, **kwargs):
        answer = exercise.reference(*args, **kwargs)
        several = answer if isinstance(answer, tuple) else (answer,)
        found = tuple((1.03 * torch.as_tensor(one)).to(dtype) for one in several)
        return found if isinstance(answer, tuple) else found[0]

    result = told(name, coarse)
    assert result.diagnosis == "coarser", str(result)
    assert f"got {dtype}, which keeps" in result.message


@pytest.mark.parametrize(
    ("expected", "got", "kind"),
    [
        (torch.ones(2), 1.03 * torch.ones(2).bfloat16(), "coarser"),
        (torch.ones(2), torch.ones(2).bfloat16(), None),
        (torch.ones(2).half(), 1.03 * torch.ones(2).bfloat16(), "coarser"),
        (torch.ones(2).double(), torch.ones(2), None),
        (torch.ones(2).half(), 1.005 * torch.ones(2), None),
        (torch.ones(2).half(), 1.03 * torch.ones(2), "wrong-values"),
        (torch.ones(2).bool(), torch.ones(2).half(), None),
        (torch.tensor([3, 5]), torch.tensor([3, 5]).bfloat16(), None),
        (torch.tensor(300), torch.tensor(300).bfloat16(), None),
        (torch.tensor([257]), torch.tensor([257]).bfloat16(), "wrong-values"),
    ],
)
def test_the_tolerance_is_that_of_what_is_expected(expected, got, kind):
    found = difference(expected, got, 1e-4, 1e-5)
    assert (found and found.kind) == kind
