"""The exercises of multi-head attention against answers that nobody registered: wrong ones, and right ones.

The wrong ones are written as a reader might write them, by another route than the registered mistakes. `named` is the
diagnosis we claim; "" claims only that the answer is refused.
"""

import itertools
import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_lib.exercises import check

WRONG, RIGHT = [], []


def wrong(exercise, named=""):
    def register(answer):
        WRONG.append(pytest.param(exercise, answer, named, id=f"{exercise}-{answer.__name__}"))
        return answer

    return register


def right(exercise):
    def register(answer):
        RIGHT.append(pytest.param(exercise, answer, id=f"{exercise}-{answer.__name__}"))
        return answer

    return register


@pytest.mark.parametrize(("exercise", "answer", "named"), WRONG)
def test_a_strangers_wrong_answer_is_refused(exercise, answer, named):
    result = check(f"multi_head.{exercise}", answer)
    assert result.attempted
    assert not result.passed
    assert named in ("", result.diagnosis), str(result)


@pytest.mark.parametrize(("exercise", "answer"), RIGHT)
def test_a_strangers_right_answer_passes(exercise, answer):
    result = check(f"multi_head.{exercise}", answer)
    assert result.passed, str(result)


def test_most_wrong_answers_are_claimed_to_be_named():
    named = [param.values[2] for param in WRONG]
    assert sum(map(bool, named)) >= 0.85 * len(named)


# split_heads


@wrong("split_heads", "no-transpose")
def reshape_with_minus_one(x, n_heads):
    b, n, _ = x.shape
    return x.reshape(b, n, n_heads, -1)


@wrong("split_heads", "no-transpose")
def stack_the_chunks_on_axis_two(x, n_heads):
    return torch.stack(torch.chunk(x, n_heads, dim=2), dim=2)


@wrong("split_heads", "view-instead-of-transpose")
def view_with_minus_one(x, n_heads):
    return x.view(x.size(0), n_heads, -1, x.size(2) // n_heads)


@wrong("split_heads", "view-instead-of-transpose")
def flatten_then_unflatten(x, n_heads):
    return x.flatten(1).unflatten(1, (n_heads, x.shape[1], -1))


@wrong("split_heads", "every-nth-feature")
def strided_slices(x, n_heads):
    return torch.stack([x[..., i::n_heads] for i in range(n_heads)], 1)


@wrong("split_heads", "every-nth-feature")
def unflatten_the_wrong_way_round(x, n_heads):
    return x.unflatten(2, (-1, n_heads)).permute(0, 3, 1, 2)


@wrong("split_heads", "head-count-taken-for-size")
def split_by_size(x, n_heads):
    return torch.stack(torch.split(x, n_heads, dim=-1), dim=1)


@wrong("split_heads", "heads-before-the-batch")
def stack_without_dim(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1))


@wrong("split_heads", "heads-before-the-batch")
def numpy_split(x, n_heads):
    return np.array(np.split(x.numpy(), n_heads, axis=2))


@wrong("split_heads", "heads-folded-into-the-batch")
def one_long_batch(x, n_heads):
    b, n, d = x.shape
    return x.view(b, n, n_heads, d // n_heads).transpose(1, 2).reshape(-1, n, d // n_heads)


@wrong("split_heads", "features-before-tokens")
def one_transpose_too_many(x, n_heads):
    b, n, d = x.shape
    return x.transpose(1, 2).reshape(b, n_heads, d // n_heads, n)


@wrong("split_heads", "swaps-before-the-cut")
def swapaxes_first(x, n_heads):
    b, n, d = x.shape
    return x.swapaxes(1, 2).contiguous().view(b, n_heads, n, d // n_heads)


@wrong("split_heads", "copies-instead-of-cuts")
def repeat_for_each_head(x, n_heads):
    return x[:, None].repeat(1, n_heads, 1, 1)


@wrong("split_heads", "swaps-the-batch")
def counts_axes_without_the_batch(x, n_heads):
    b, n, d = x.shape
    return x.view(b, n, n_heads, d // n_heads).permute(2, 1, 0, 3)


@wrong("split_heads", "stacked-after-the-tokens")
def stack_last(x, n_heads):
    d_k = x.shape[2] // n_heads
    return torch.stack([x[:, :, i * d_k : i * d_k + d_k] for i in range(n_heads)], dim=3)


@wrong("split_heads", "first-slice-for-all")
def first_slice_for_all(x, n_heads):
    d_k = x.shape[-1] // n_heads
    return torch.stack([x[..., :d_k] for _ in range(n_heads)], dim=1)


@wrong("split_heads", "returned-none")
def forgets_to_return(x, n_heads):
    x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


@right("split_heads")
def nested_lists(x, n_heads):
    d_k = x.shape[2] // n_heads
    return [[[t[i * d_k : (i + 1) * d_k] for t in s] for i in range(n_heads)] for s in x.tolist()]


@right("split_heads")
def numpy_and_double(x, n_heads):
    b, n, d = x.shape
    return np.moveaxis(x.numpy().astype("float64").reshape(b, n, n_heads, d // n_heads), 2, 1)


@right("split_heads")
def through_flat_rows(x, n_heads):
    b, n, d = x.shape
    return x.reshape(b * n, n_heads, d // n_heads).view(b, n, n_heads, -1).swapaxes(1, 2)


@right("split_heads")
def transpose_both_ends(x, n_heads):
    return x.mT.unflatten(1, (n_heads, -1)).mT


@right("split_heads")
def with_unfold(x, n_heads):
    d_k = x.shape[-1] // n_heads
    return x.unfold(2, d_k, d_k).transpose(1, 2)


# merge_heads


@wrong("merge_heads", "no-transpose")
def contiguous_in_the_wrong_place(x):
    b, h, n, d = x.shape
    return x.contiguous().view(b, n, h * d)


@wrong("merge_heads", "no-transpose")
def transposes_a_copy_nobody_keeps(x):
    x.transpose(1, 2)
    return x.reshape(x.shape[0], x.shape[2], -1)


@wrong("merge_heads", "view-after-transpose")
def permute_then_view(x):
    b, h, n, d = x.shape
    return x.permute(0, 2, 1, 3).view(b, n, h * d)


@wrong("merge_heads", "heads-behind-each-other")
def cat_on_the_tokens(x):
    return torch.cat([x[:, i] for i in range(x.shape[1])], dim=1)


@wrong("merge_heads", "adds-the-heads")
def plus_in_a_loop(x):
    total = 0
    for i in range(x.shape[1]):
        total = total + x[:, i]
    return total


@wrong("merge_heads", "averages-the-heads")
def mean_by_hand(x):
    return torch.einsum("bhnd->bnd", x) / x.size(1)


@wrong("merge_heads", "features-interleaved")
def stack_then_flatten(x):
    return torch.stack(x.unbind(1), dim=-1).flatten(2)


@wrong("merge_heads", "swaps-heads-and-features")
def axes_one_and_three(x):
    return x.swapaxes(1, 3).reshape(x.shape[0], x.shape[2], -1)


@wrong("merge_heads", "swaps-tokens-and-features")
def axes_two_and_three(x):
    b, h, n, d = x.shape
    return x.mT.reshape(b, n, h * d)


@wrong("merge_heads", "not-joined")
def permuted_only(x):
    return torch.permute(x, (0, 2, 1, 3))


@wrong("merge_heads", "everything-joined")
def flatten_from_one(x):
    return x.swapaxes(1, 2).reshape(len(x), -1)


@wrong("merge_heads", "joins-the-sentences")
def cat_of_a_list(x):
    return torch.cat([head for head in x], dim=-1)


@wrong("merge_heads", "tokens-before-the-batch")
def tokens_first(x):
    b, h, n, d = x.shape
    return x.permute(2, 0, 1, 3).reshape(n, b, h * d)


@wrong("merge_heads", "features-before-tokens")
def features_first(x):
    b, h, n, d = x.shape
    return x.permute(0, 1, 3, 2).reshape(b, h * d, n)


@wrong("merge_heads")
def last_head_first(x):
    return x.flip(1).transpose(1, 2).flatten(2)


@right("merge_heads")
def lists_of_lists(x):
    return [[[v for head in s for v in head[t]] for t in range(len(s[0]))] for s in x.tolist()]


@right("merge_heads")
def numpy_concatenate(x):
    return np.concatenate(list(np.swapaxes(x.numpy(), 0, 1)), axis=-1)


@right("merge_heads")
def not_contiguous_output(x):
    b, h, n, d = x.shape
    return x.permute(1, 3, 0, 2).reshape(h * d, b, n).permute(1, 2, 0)


@right("merge_heads")
def hstack_of_heads(x):
    return torch.stack([torch.hstack(tuple(sentence)) for sentence in x])


@right("merge_heads")
def in_double_precision(x):
    return x.double().movedim(1, 2).flatten(-2)


# contributions


@wrong("contributions", "only-the-sum")
def whole_output(heads, w_o):
    b, h, q, v = heads.shape
    return heads.transpose(1, 2).reshape(b, q, h * v) @ w_o


@wrong("contributions", "only-the-sum")
def loop_that_adds(heads, w_o):
    d_v = heads.shape[-1]
    return sum(heads[:, i] @ w_o[i * d_v : (i + 1) * d_v] for i in range(heads.shape[1]))


@wrong("contributions", "columns-instead-of-rows")
def slices_columns(heads, w_o):
    d_v = heads.shape[-1]
    return torch.stack([heads[:, i] @ w_o[:, i * d_v : (i + 1) * d_v].T for i in range(heads.shape[1])], dim=1)


@wrong("contributions", "every-nth-row")
def strided_rows(heads, w_o):
    h = heads.shape[1]
    return torch.stack([heads[:, i] @ w_o[i::h] for i in range(h)], dim=1)


@wrong("contributions", "rows-of-the-first-head")
def forgets_the_index(heads, w_o):
    d_v = heads.shape[-1]
    return torch.stack([heads[:, i] @ w_o[0:d_v] for i in range(heads.shape[1])], dim=1)


@wrong("contributions", "heads-before-the-batch")
def stacks_in_front(heads, w_o):
    parts = w_o.split(heads.shape[-1])
    return torch.stack([heads[:, i] @ part for i, part in enumerate(parts)])


@wrong("contributions", "heads-after-the-tokens")
def stacks_behind_the_tokens(heads, w_o):
    parts = w_o.split(heads.shape[-1])
    return torch.stack([heads[:, i] @ part for i, part in enumerate(parts)], dim=2)


@wrong("contributions", "side-by-side")
def concatenates(heads, w_o):
    parts = w_o.split(heads.shape[-1])
    return torch.cat([heads[:, i] @ part for i, part in enumerate(parts)], dim=-1)


@wrong("contributions", "what-is-left-without-the-head")
def silences_the_head_itself(heads, w_o):
    left = []
    for i in range(heads.shape[1]):
        rest = heads.clone()
        rest[:, i] = 0
        left.append(rest.transpose(1, 2).flatten(2) @ w_o)
    return torch.stack(left, dim=1)


@wrong("contributions", "an-equal-share")
def shares_fairly(heads, w_o):
    h = heads.shape[1]
    total = heads.transpose(1, 2).flatten(2) @ w_o
    return torch.stack([total / h] * h, dim=1)


@wrong("contributions", "without-w-o")
def pads_with_zeros(heads, w_o):
    h, d_v = heads.shape[1], heads.shape[3]
    return torch.stack([F.pad(heads[:, i], (i * d_v, (h - 1 - i) * d_v)) for i in range(h)], dim=1)


@wrong("contributions", "divided-by-the-heads")
def averages(heads, w_o):
    return heads @ w_o.unflatten(0, (heads.shape[1], -1)) / heads.size(1)


@wrong("contributions")
def transposed_matrix(heads, w_o):
    return heads @ w_o.T.contiguous().view(heads.shape[1], heads.shape[3], -1).flip(0)


@wrong("contributions", "returns-input")
def hands_the_heads_back(heads, w_o):
    return heads


@right("contributions")
def by_the_chain_of_zeros(heads, w_o):
    h, d_v = heads.shape[1], heads.shape[3]
    mask = torch.eye(h).repeat_interleave(d_v, dim=1)
    concat = heads.transpose(1, 2).flatten(2)
    return (concat[:, None] * mask[None, :, None]) @ w_o


@right("contributions")
def as_arrays(heads, w_o):
    h, d_v = heads.shape[1], heads.shape[3]
    return np.matmul(heads.numpy(), w_o.numpy().reshape(h, d_v, -1))


@right("contributions")
def number_by_number(heads, w_o):
    b, h, q, d_v = heads.shape
    out = torch.zeros(b, h, q, w_o.shape[1], dtype=torch.float64)
    for i in range(h):
        for j in range(d_v):
            out[:, i] += heads[:, i, :, j, None].double() * w_o[i * d_v + j].double()
    return out


@right("contributions")
def the_difference_it_makes(heads, w_o):
    def output(heads):
        return heads.transpose(1, 2).flatten(2) @ w_o

    parts = []
    for i in range(heads.shape[1]):
        rest = heads.clone()
        rest[:, i] = 0
        parts.append(output(heads) - output(rest))
    return torch.stack(parts, 1)


# count_parameters


@wrong("count_parameters", "usual-sizes-assumed")
def the_famous_formula(d_model, n_heads, d_k, d_v, bias):
    return 4 * (d_model**2 + (d_model if bias else 0))


@wrong("count_parameters", "usual-sizes-assumed")
def counts_a_pytorch_module(d_model, n_heads, d_k, d_v, bias):
    module = nn.MultiheadAttention(d_model, n_heads, bias=bias)
    return sum(p.numel() for p in module.parameters())


@wrong("count_parameters", "w-o-forgotten")
def three_projections(d_model, n_heads, d_k, d_v, bias):
    q = n_heads * (d_model + bias) * d_k
    v = n_heads * (d_model + bias) * d_v
    return q + q + v


@wrong("count_parameters", "one-head-only")
def a_single_head(d_model, n_heads, d_k, d_v, bias):
    layers = nn.Linear(d_model, d_k, bias), nn.Linear(d_model, d_k, bias), nn.Linear(d_model, d_v, bias)
    out = nn.Linear(d_v, d_model, bias)
    return sum(p.numel() for layer in (*layers, out) for p in layer.parameters())


@wrong("count_parameters", "projections-of-one-head")
def shared_projections(d_model, n_heads, d_k, d_v, bias):
    total = d_model * (2 * d_k + d_v) + n_heads * d_v * d_model
    if bias:
        total += 2 * d_k + d_v + d_model
    return total


@wrong("count_parameters", "w-o-assumed-square")
def output_square(d_model, n_heads, d_k, d_v, bias):
    inner = n_heads * (d_k * 2 + d_v)
    return d_model * inner + d_model**2 + (inner + d_model if bias else 0)


@wrong("count_parameters", "biases-forgotten")
def ignores_bias(d_model, n_heads, d_k, d_v, bias):
    return n_heads * d_model * (2 * d_k + 2 * d_v)


@wrong("count_parameters", "biases-always")
def bias_by_default(d_model, n_heads, d_k, d_v, bias):
    return (d_model + 1) * n_heads * (2 * d_k + d_v) + (n_heads * d_v + 1) * d_model


@wrong("count_parameters", "bias-of-w-o-forgotten")
def output_without_bias(d_model, n_heads, d_k, d_v, bias):
    w_in = nn.Linear(d_model, n_heads * (2 * d_k + d_v), bias)
    w_out = nn.Linear(n_heads * d_v, d_model, bias=False)
    return sum(p.numel() for layer in (w_in, w_out) for p in layer.parameters())


@wrong("count_parameters", "biases-as-wide-as-the-model")
def four_model_biases(d_model, n_heads, d_k, d_v, bias):
    weights = d_model * n_heads * (d_k + d_k + d_v + d_v)
    return weights + 4 * d_model if bias else weights


@wrong("count_parameters", "every-head-at-full-width-w-o-square")
def heads_times_three_squares(d_model, n_heads, d_k, d_v, bias):
    layer = d_model * d_model + (d_model if bias else 0)
    return 3 * n_heads * layer + layer


@wrong("count_parameters", "keys-forgotten")
def one_matrix_for_queries_and_keys(d_model, n_heads, d_k, d_v, bias):
    inner = n_heads * (d_k + d_v)
    return (d_model + bias) * inner + (n_heads * d_v + bias) * d_model


@wrong("count_parameters", "biases-of-one-head")
def bias_once_for_all_heads(d_model, n_heads, d_k, d_v, bias):
    total = n_heads * (d_model * d_k * 2 + d_model * d_v) + n_heads * d_v * d_model
    return total + (d_k + d_k + d_v + d_model if bias else 0)


@wrong("count_parameters")
def only_the_scores(d_model, n_heads, d_k, d_v, bias):
    return n_heads * d_k * d_k


@wrong("count_parameters")
def one_too_many(d_model, n_heads, d_k, d_v, bias):
    return n_heads * d_model * 2 * (d_k + d_v) + bias * (n_heads * (2 * d_k + d_v) + d_model) + 1


@right("count_parameters")
def from_shapes(d_model, n_heads, d_k, d_v, bias):
    shapes = [(d_model, n_heads * d_k)] * 2 + [(d_model, n_heads * d_v), (n_heads * d_v, d_model)]
    return sum(math.prod(shape) + bias * shape[1] for shape in shapes)


@right("count_parameters")
def as_a_tensor(d_model, n_heads, d_k, d_v, bias):
    widths = torch.tensor([d_k, d_k, d_v]) * n_heads
    return (widths * (d_model + bias)).sum() + d_model * (n_heads * d_v + bias)


@right("count_parameters")
def as_a_float(d_model, n_heads, d_k, d_v, bias):
    return float(n_heads * (2 * d_k + d_v) * (d_model + bias) + d_model * (n_heads * d_v + bias))


@right("count_parameters")
def with_numpy(d_model, n_heads, d_k, d_v, bias):
    rows = np.array([d_model, d_model, d_model, n_heads * d_v]) + int(bias)
    return rows @ np.array([n_heads * d_k, n_heads * d_k, n_heads * d_v, d_model])


# mha


@wrong("mha", "scaled-by-d-model")
def root_of_the_last_axis_of_x(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    heads = []
    for q, k, v in zip(*(_chunks(x, w, n_heads) for x, w in _pairs(query, key_value, w_q, w_k, w_v)), strict=True):
        heads.append(_attend(q, k, v, query.shape[-1] ** 0.5, _per_head(mask, len(heads))))
    return torch.cat(heads, -1) @ w_o


def _pairs(query, key_value, w_q, w_k, w_v):
    return (query, w_q), (key_value, w_k), (key_value, w_v)


def _chunks(x, w, n_heads):
    return torch.chunk(x @ w, n_heads, dim=-1)


def _per_head(mask, i):
    if mask is None or mask.dim() == 2:
        return mask
    return mask[:, min(i, mask.shape[1] - 1)]


def _attend(q, k, v, scale, mask=None):
    scores = torch.bmm(q, k.transpose(1, 2)) / scale
    if mask is not None:
        scores = torch.where(mask, scores, torch.tensor(-torch.inf))
    return torch.bmm(torch.softmax(scores, -1), v)


def _loop(query, key_value, w_q, w_k, w_v, n_heads, mask, scale=None):
    parts = zip(*(_chunks(x, w, n_heads) for x, w in _pairs(query, key_value, w_q, w_k, w_v)), strict=True)
    return [_attend(q, k, v, scale or q.shape[-1] ** 0.5, _per_head(mask, i)) for i, (q, k, v) in enumerate(parts)]


@wrong("mha", "not-scaled")
def loop_without_scale(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return torch.cat(_loop(query, key_value, w_q, w_k, w_v, n_heads, mask, scale=1.0), -1) @ w_o


@wrong("mha", "w-o-forgotten")
def loop_without_w_o(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return torch.cat(_loop(query, key_value, w_q, w_k, w_v, n_heads, mask), dim=2)


@wrong("mha", "heads-behind-each-other")
def loop_with_cat_on_the_tokens(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return torch.cat(_loop(query, key_value, w_q, w_k, w_v, n_heads, mask), dim=1) @ w_o


@wrong("mha", "averages-the-heads")
def loop_with_a_mean(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return torch.stack(_loop(query, key_value, w_q, w_k, w_v, n_heads, mask)).mean(0) @ w_o


@wrong("mha", "mask-ignored")
def loop_that_forgets_the_mask(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return torch.cat(_loop(query, key_value, w_q, w_k, w_v, n_heads, None), -1) @ w_o


@wrong("mha", "true-hides")
def sdpa_with_the_mask_turned_round(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (torch.stack(_chunks(x, w, n_heads), 1) for x, w in _pairs(query, key_value, w_q, w_k, w_v))
    heads = F.scaled_dot_product_attention(q, k, v, attn_mask=None if mask is None else ~mask)
    if mask is not None:
        hidden = (~mask).any(-1, keepdim=True).expand(*heads.shape[:3], 1)
        heads = torch.where(hidden, heads, torch.nan)
    return torch.cat(heads.unbind(1), -1) @ w_o


@wrong("mha", "mask-added-as-zero-and-one")
def sdpa_with_a_mask_of_numbers(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (torch.stack(_chunks(x, w, n_heads), 1) for x, w in _pairs(query, key_value, w_q, w_k, w_v))
    heads = F.scaled_dot_product_attention(q, k, v, attn_mask=None if mask is None else mask.float())
    return torch.cat(heads.unbind(1), -1) @ w_o


@wrong("mha", "weights-stored-as-in-linear")
def with_f_linear(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (
        F.linear(x, w).unflatten(-1, (n_heads, -1)).transpose(1, 2) for x, w in _pairs(query, key_value, w_q, w_k, w_v)
    )
    return F.linear(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2), w_o)


@wrong("mha", "weights-stored-as-in-linear")
def copies_into_pytorch_untransposed(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    d = query.shape[-1]
    if mask is not None:
        mask = ~mask.expand(len(query), n_heads, query.shape[1], key_value.shape[1]).reshape(
            -1, query.shape[1], key_value.shape[1]
        )
    output, _ = F.multi_head_attention_forward(
        query.transpose(0, 1), key_value.transpose(0, 1), key_value.transpose(0, 1), d, n_heads,
        torch.cat([w_q, w_k, w_v]), None, None, None, False, 0.0, w_o, None, attn_mask=mask,
    )  # fmt: skip
    return output.transpose(0, 1)


@wrong("mha", "self-attention-only")
def uses_the_query_three_times(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return torch.cat(_loop(query, query, w_q, w_k, w_v, n_heads, mask), -1) @ w_o


@wrong("mha", "values-through-w-k")
def copied_the_key_line(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return torch.cat(_loop(query, key_value, w_q, w_k, w_k, n_heads, mask), -1) @ w_o


@wrong("mha", "cut-by-view")
def views_to_the_heads(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    b, n, d = query.shape
    q, k, v = ((x @ w).view(b, n_heads, -1, d // n_heads) for x, w in _pairs(query, key_value, w_q, w_k, w_v))
    heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return heads.permute(0, 2, 1, 3).reshape(b, n, d) @ w_o


@wrong("mha", "cut-and-joined-by-view")
def views_there_and_back(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    b, n, d = query.shape
    q, k, v = ((x @ w).view(b, n_heads, -1, d // n_heads) for x, w in _pairs(query, key_value, w_q, w_k, w_v))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask).view(b, n, d) @ w_o


@wrong("mha", "joined-by-view")
def forgets_to_swap_back(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    heads = torch.stack(_loop(query, key_value, w_q, w_k, w_v, n_heads, mask), dim=1)
    return heads.reshape(query.shape) @ w_o


@wrong("mha", "heads-joined-in-threads")
def stacks_on_the_last_axis(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return torch.stack(_loop(query, key_value, w_q, w_k, w_v, n_heads, mask), dim=-1).flatten(2) @ w_o


@wrong("mha", "one-big-head")
def never_splits(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return _attend(query @ w_q, key_value @ w_k, key_value @ w_v, query.shape[-1] ** 0.5, _per_head(mask, 0)) @ w_o


@wrong("mha", "cuts-the-input")
def every_head_its_part(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    d_k = query.shape[-1] // n_heads
    heads = []
    for i in range(n_heads):
        s = slice(i * d_k, (i + 1) * d_k)
        x, y = query[..., s], key_value[..., s]
        heads.append(_attend(x @ w_q[s, s], y @ w_k[s, s], y @ w_v[s, s], d_k**0.5, _per_head(mask, i)))
    return torch.cat(heads, dim=-1) @ w_o


@wrong("mha", "softmax-over-heads")
def softmax_dim_one(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (torch.stack(_chunks(x, w, n_heads), 1) for x, w in _pairs(query, key_value, w_q, w_k, w_v))
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    return torch.einsum("bhqk,bhkd->bqhd", F.softmax(scores, 1), v).flatten(2) @ w_o


@wrong("mha")
def adds_the_input(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return query + torch.cat(_loop(query, key_value, w_q, w_k, w_v, n_heads, mask), -1) @ w_o


@wrong("mha", "wrong-type")
def answers_with_the_list_of_heads(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return {"heads": _loop(query, key_value, w_q, w_k, w_v, n_heads, mask)}


@right("mha")
def loop_and_cat(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    return torch.cat(_loop(query, key_value, w_q, w_k, w_v, n_heads, mask), -1) @ w_o


@right("mha")
def output_and_weights(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    output = torch.cat(_loop(query, key_value, w_q, w_k, w_v, n_heads, mask), -1) @ w_o
    return output, torch.zeros(len(query), n_heads, query.shape[1], key_value.shape[1])


@right("mha")
def with_a_finite_mask(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (torch.stack(_chunks(x, w, n_heads), 1) for x, w in _pairs(query, key_value, w_q, w_k, w_v))
    scores = q / q.shape[-1] ** 0.25 @ (k / q.shape[-1] ** 0.25).mT
    if mask is not None:
        scores = scores - 1e9 * (~mask).float()
    return (scores.softmax(-1) @ v).movedim(1, 2).flatten(2) @ w_o


@right("mha")
def sum_over_heads(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    heads = _loop(query, key_value, w_q, w_k, w_v, n_heads, mask)
    return sum(head @ rows for head, rows in zip(heads, w_o.chunk(n_heads), strict=True))


@right("mha")
def numpy_all_the_way(query, key_value, w_q, w_k, w_v, w_o, n_heads, mask=None):
    b, q_len, d = query.shape
    x, y, w_q, w_k, w_v, w_o = (t.double().numpy() for t in (query, key_value, w_q, w_k, w_v, w_o))
    q, k, v = ((z @ w).reshape(b, -1, n_heads, d // n_heads).swapaxes(1, 2) for z, w in _pairs(x, y, w_q, w_k, w_v))
    scores = q @ k.swapaxes(2, 3) / np.sqrt(d // n_heads)
    if mask is not None:
        scores = np.where(mask.numpy(), scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True) @ v).swapaxes(1, 2).reshape(b, q_len, d) @ w_o


# repair


def _repaired(split, pick, scale, join):
    """The listing of the bug hunt with the given repairs; which of the four are repairs is the caller's choice."""

    def answer(x, w_q, w_k, w_v, w_o, n_heads):
        b, n, d = x.shape
        q, k, v = (split(x @ w, b, n, n_heads, d // n_heads) for w in pick(w_q, w_k, w_v))
        weights = torch.softmax(torch.einsum("bhqd,bhkd->bhqk", q, k) / scale(d, n_heads), dim=-1)
        return join(torch.einsum("bhqk,bhkd->bhqd", weights, v), b, n, d) @ w_o

    return answer


SPLIT = {
    True: lambda t, b, n, h, d_k: torch.stack(t.split(d_k, dim=-1), dim=1),
    False: lambda t, b, n, h, d_k: t.reshape(b, h, n, d_k),
}
PICK = {True: lambda q, k, v: (q, k, v), False: lambda q, k, v: (q, k, k)}
SCALE = {True: lambda d, h: (d / h) ** 0.5, False: lambda d, h: d**0.5}
JOIN = {True: lambda t, b, n, d: torch.cat(t.unbind(1), dim=-1), False: lambda t, b, n, d: t.contiguous().view(b, n, d)}
PARTS = ("cut", "copied-line", "scale", "join")


SOME = [found for found in itertools.product([False, True], repeat=4) if 0 < sum(found) < 4]


@pytest.mark.parametrize("found", SOME, ids=str)
def test_every_partial_repair_is_counted_and_named(found):
    result = check("multi_head.repair", _repaired(SPLIT[found[0]], PICK[found[1]], SCALE[found[2]], JOIN[found[3]]))
    left = [part for part, is_found in zip(PARTS, found, strict=True) if not is_found]
    assert result.diagnosis == "left-" + "-and-".join(left)
    assert result.message.startswith(("One", "Two", "Three")[sum(found) - 1] + " of four found")


def test_another_spelling_of_the_unrepaired_listing_is_refused():
    assert not check("multi_head.repair", _repaired(SPLIT[False], PICK[False], SCALE[False], JOIN[False])).passed


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        (_repaired(SPLIT[True], PICK[True], lambda d, h: 1.0, JOIN[True]), "left-no-scale"),
        (_repaired(SPLIT[True], PICK[True], lambda d, h: d // h, JOIN[True]), "scale-without-the-root"),
        (_repaired(SPLIT[True], PICK[True], lambda d, h: math.sqrt(h), JOIN[True]), "scaled-by-n-heads"),
        (_repaired(SPLIT[True], lambda q, k, v: (q, k, q), SCALE[True], JOIN[True]), "values-through-w-q"),
        (_repaired(SPLIT[True], lambda q, k, v: (q, v, k), SCALE[True], JOIN[True]), "keys-through-w-v"),
        (_repaired(SPLIT[True], lambda q, k, v: (q, v, v), SCALE[True], JOIN[True]), ""),
        (
            _repaired(SPLIT[True], PICK[True], SCALE[True], lambda t, b, n, d: t.swapaxes(1, 3).reshape(b, n, d)),
            "heads-and-features-swapped",
        ),
        (
            _repaired(SPLIT[True], PICK[True], SCALE[True], lambda t, b, n, d: t.mT.reshape(b, n, d)),
            "tokens-and-features-swapped",
        ),
        (
            _repaired(
                lambda t, b, n, h, d_k: t.view(b, n, h, d_k),
                PICK[True],
                SCALE[True],
                lambda t, b, n, d: t.swapaxes(1, 2).reshape(b, n, d),
            ),
            "left-cut-not-swapped",
        ),
        (
            _repaired(lambda t, b, n, h, d_k: t.view(b, n, h, d_k), PICK[False], SCALE[True], JOIN[False]),
            "left-cut-not-swapped-and-copied-line-and-join",
        ),
    ],
)
def test_wrong_repairs_are_refused(answer, named):
    result = check("multi_head.repair", answer)
    assert not result.passed
    assert named in ("", result.diagnosis), str(result)


def test_a_repair_in_another_spelling_passes():
    assert check("multi_head.repair", _repaired(SPLIT[True], PICK[True], SCALE[True], JOIN[True])).passed
