"""Answers to the exercises on masks as strangers write them: wrong ones are refused and named, right ones pass.

Beside each wrong answer stands the diagnosis it must get; None where it only must be refused.
"""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from course_lib.attention import scaled_dot_product_attention
from course_lib.exercises import check
from course_lib.masks import causal_mask, padding_mask
from course_lib.tokens import PAD

inf = float("inf")


def answers(*pairs):
    return pytest.mark.parametrize(("answer", "diagnosis"), [pytest.param(a, d, id=a.__name__) for a, d in pairs])


def right(*functions):
    return pytest.mark.parametrize("answer", functions, ids=lambda f: f.__name__)


def refuse(exercise, answer, diagnosis):
    result = check(exercise, answer)
    assert result.attempted
    assert not result.passed, "a wrong answer passed"
    if diagnosis is not None:
        assert result.diagnosis == diagnosis, str(result)


def accept(exercise, answer):
    result = check(exercise, answer)
    assert result.passed, str(result)


# masks.causal


def c_strict_less(n):
    return torch.arange(n).view(1, n) < torch.arange(n).view(n, 1)


def c_rows_and_columns_mixed_up(n):
    row, column = torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij")
    return row <= column


def c_meshgrid_xy(n):
    row, column = torch.meshgrid(torch.arange(n), torch.arange(n), indexing="xy")
    return column <= row


def c_range_plus_two(n):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        mask[i, : i + 2] = True
    return mask


def c_range_stops_early(n):
    mask = np.zeros((n, n), dtype=bool)
    for i in range(n):
        mask[i, :i] = True
    return mask


def c_ignore_mask(n):
    return torch.triu(torch.ones(n, n), diagonal=1) == 1


def c_generate_square_subsequent_mask(n):
    return torch.nn.Transformer.generate_square_subsequent_mask(n)


def c_annotated(n):
    return torch.from_numpy(np.triu(np.ones((1, n, n)), k=1).astype("uint8")) == 0


def c_minus_1e4(n):
    return torch.triu(torch.ones(n, n) * -1e4, diagonal=1)


def c_infinity_times(n):
    return torch.tril(torch.ones(n, n)).eq(0) * -inf


def c_a_single_row(n):
    return torch.ones(n).cumsum(0) <= n


def c_everything(n):
    return torch.ones(n, n) > 0


def c_identity(n):
    return torch.arange(n)[:, None] == torch.arange(n)


def c_flipped(n):
    return torch.tril(torch.ones(n, n)).bool().fliplr()


def c_previous_only(n):
    return torch.diag(torch.ones(n - 1), -1).bool()


def c_upside_down(n):
    return torch.tensor([[j < n - i for j in range(n)] for i in range(n)])


def c_ignore_off_by_one(n):
    return torch.ones(n, n).bool().triu(2)


def c_one_too_many_rows(n):
    return torch.ones(n + 1, n + 1).tril().bool()


@answers(
    (c_strict_less, "excludes-self"),
    (c_rows_and_columns_mixed_up, "transposed"),
    (c_range_plus_two, "one-too-far"),
    (c_range_stops_early, "excludes-self"),
    (c_ignore_mask, "true-means-ignore"),
    (c_generate_square_subsequent_mask, "additive"),
    (c_annotated, "wrong-shape"),
    (c_minus_1e4, "additive"),
    (c_meshgrid_xy, "transposed"),
    (c_infinity_times, "zero-times-infinity"),
    (c_a_single_row, "wrong-shape"),
    (c_everything, "hides-nothing"),
    (c_identity, "only-itself"),
    (c_flipped, "flipped"),
    (c_previous_only, "one-before-only"),
    (c_upside_down, "flipped-upside-down"),
    (c_ignore_off_by_one, "true-means-ignore-and-one-too-far"),
    (c_one_too_many_rows, "wrong-shape"),
)
def test_causal_refuses(answer, diagnosis):
    refuse("masks.causal", answer, diagnosis)


def c_numpy(n):
    return np.tri(n, dtype=bool)


def c_lists(n):
    return [[i >= j for j in range(n)] for i in range(n)]


def c_zeros_and_ones(n):
    return torch.tril(torch.ones(n, n))


def c_float64(n):
    return torch.ones(n, n, dtype=torch.float64).tril()


def c_from_the_additive(n):
    return torch.nn.Transformer.generate_square_subsequent_mask(n) == 0


def c_not_contiguous(n):
    return torch.ones(n, n, dtype=torch.bool).triu().T


def c_fill_row_by_row(n):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        mask[i, : i + 1] = True
    return mask


@right(c_numpy, c_lists, c_zeros_and_ones, c_float64, c_from_the_additive, c_not_contiguous, c_fill_row_by_row)
def test_causal_accepts(answer):
    accept("masks.causal", answer)


# masks.padding


def p_equal(ids, pad_id=0):
    return ids.eq(pad_id).unsqueeze(1).unsqueeze(1)


def p_nonzero(ids, pad_id=0):
    return ids.bool().view(ids.size(0), 1, 1, -1)


def p_forgets_axes(ids, pad_id=0):
    return ~(ids == pad_id)


def p_one_unsqueeze(ids, pad_id=0):
    return (ids != pad_id).unsqueeze(-2)


def p_wrong_unsqueeze(ids, pad_id=0):
    return (ids != pad_id).unsqueeze(1).unsqueeze(-1)


def p_both_at_the_end(ids, pad_id=0):
    return (ids != pad_id).unsqueeze(-1).unsqueeze(-1)


def p_both_in_front(ids, pad_id=0):
    return (ids != pad_id).unsqueeze(0).unsqueeze(0)


def p_outer(ids, pad_id=0):
    real = ids != pad_id
    return torch.einsum("bi,bj->bij", real.float(), real.float()).bool().unsqueeze(1)


def p_lengths(ids, pad_id=0):
    mask = torch.zeros(ids.shape[0], 1, 1, ids.shape[1])
    for i, row in enumerate(ids):
        mask[i, ..., : int((row != pad_id).sum())] = 1
    return mask.bool()


def p_until_first_pad(ids, pad_id=0):
    mask = torch.ones(ids.shape[0], 1, 1, ids.shape[1], dtype=torch.bool)
    for i, row in enumerate(ids.tolist()):
        if pad_id in row:
            mask[i, ..., row.index(pad_id) :] = False
    return mask


def p_additive(ids, pad_id=0):
    return torch.where(ids == pad_id, -inf, 0.0)[:, None, None]


def p_additive_finite(ids, pad_id=0):
    return (ids == pad_id)[:, None, None].float() * -1e9


def p_greater(ids, pad_id=0):
    return (ids > pad_id)[:, None, None, :]


def p_ids_themselves(ids, pad_id=0):
    return ids.unsqueeze(1).unsqueeze(2)


def p_times_ids(ids, pad_id=0):
    return ((ids != pad_id) * ids)[:, None, None, :]


def p_all_true(ids, pad_id=0):
    return torch.ones_like(ids, dtype=torch.bool)[:, None, None, :]


def p_ignores_everything_if_any(ids, pad_id=0):
    return (ids != pad_id).all(dim=1)[:, None, None, None].expand(-1, 1, 1, ids.shape[1])


def p_reshaped_the_wrong_way(ids, pad_id=0):
    return (ids != pad_id).T.reshape(ids.shape[0], 1, 1, ids.shape[1])


def p_equal_without_axes(ids, pad_id=0):
    return ids == pad_id


@answers(
    (p_equal, "true-means-ignore"),
    (p_nonzero, "pad-id-fixed-to-zero"),
    (p_forgets_axes, "two-axes"),
    (p_one_unsqueeze, "three-axes"),
    (p_wrong_unsqueeze, "hides-queries"),
    (p_both_at_the_end, "on-the-head-axis"),
    (p_both_in_front, "batch-on-the-query-axis"),
    (p_outer, "hides-queries-and-keys"),
    (p_lengths, "trusts-the-length"),
    (p_until_first_pad, "stops-at-the-first-pad"),
    (p_additive, "additive"),
    (p_additive_finite, "additive"),
    (p_greater, "above-the-pad-id"),
    (p_ids_themselves, "keeps-the-ids"),
    (p_times_ids, None),
    (p_all_true, "constant"),
    (p_ignores_everything_if_any, None),
    (p_reshaped_the_wrong_way, None),
    (p_equal_without_axes, "true-means-ignore-and-two-axes"),
)
def test_padding_refuses(answer, diagnosis):
    refuse("masks.padding", answer, diagnosis)


def p_numpy(ids, pad_id=0):
    return np.not_equal(ids.numpy(), pad_id)[:, np.newaxis, np.newaxis]


def p_expanded(ids, pad_id=0):
    return (ids != pad_id)[:, None, None, :].expand(-1, 1, ids.shape[1], -1)


def p_for_every_head(ids, pad_id=0):
    return (ids != pad_id)[:, None, None, :].repeat(1, 8, 1, 1)


def p_zeros_and_ones(ids, pad_id=0):
    return 1 - (ids == pad_id).view(ids.shape[0], 1, 1, ids.shape[1]).int()


def p_filled(ids, pad_id=0):
    mask = torch.ones(ids.shape[0], 1, 1, ids.shape[1], dtype=torch.bool)
    mask[ids.eq(pad_id)[:, None, None, :]] = False
    return mask


def p_lists(ids, pad_id=0):
    return [[[[t != pad_id for t in row]]] for row in ids.tolist()]


@right(p_numpy, p_expanded, p_for_every_head, p_zeros_and_ones, p_filled, p_lists)
def test_padding_accepts(answer):
    accept("masks.padding", answer)


# masks.target


def t_or(ids):
    return (ids != PAD).unsqueeze(1).unsqueeze(1) | torch.tril(torch.ones(ids.size(1), ids.size(1))).bool()


def t_only_causal(ids):
    n = ids.size(1)
    return torch.tril(torch.ones(n, n)).bool()


def t_only_causal_four_axes(ids):
    n = ids.size(1)
    return torch.tril(torch.ones(n, n)).bool().repeat(ids.size(0), 1, 1, 1)


def t_only_padding(ids):
    return ids.ne(PAD)[:, None, None]


def t_and_keyword(ids):
    return padding_mask(ids) and causal_mask(ids.size(1))


def t_three_axes(ids):
    return ids.ne(PAD).unsqueeze(1) & causal_mask(ids.size(1)).unsqueeze(0)


def t_upper(ids):
    return padding_mask(ids) & causal_mask(ids.size(1)).T


def t_strict(ids):
    n = ids.size(1)
    return padding_mask(ids) & (torch.arange(n) < torch.arange(n)[:, None])


def t_wide(ids):
    n = ids.size(1)
    return padding_mask(ids) & (torch.arange(n) <= torch.arange(n)[:, None] + 1)


def t_pads_as_rows(ids):
    return (ids != PAD)[:, None, :, None] & causal_mask(ids.size(1))


def t_pads_as_rows_and_columns(ids):
    real = ids != PAD
    return (real[:, :, None] & real[:, None, :]).unsqueeze(1) & causal_mask(ids.size(1))


def t_mixed_meanings(ids):
    n = ids.size(1)
    return padding_mask(ids) & torch.ones(n, n).triu(1).bool()


def t_mixed_meanings_other(ids):
    return (ids == PAD)[:, None, None] & causal_mask(ids.size(1))


def t_ignore(ids):
    n = ids.size(1)
    return (ids == PAD)[:, None, None] | torch.ones(n, n).triu(1).bool()


def t_ignore_joined_by_and(ids):
    n = ids.size(1)
    return (ids == PAD)[:, None, None] & torch.ones(n, n).triu(1).bool()


def t_plus(ids):
    return padding_mask(ids).int() + causal_mask(ids.size(1)).int()


def t_plus_booleans(ids):
    return padding_mask(ids) + causal_mask(ids.size(1))


def t_heads_last(ids):
    n = ids.size(1)
    return (ids.ne(PAD).unsqueeze(1) & causal_mask(n)).unsqueeze(-1)


def t_matmul(ids):
    n = ids.size(1)
    return (padding_mask(ids).float() @ causal_mask(n).float()).bool()


def t_size_of_batch(ids):
    return padding_mask(ids) & causal_mask(len(ids))


@answers(
    (t_or, "or-instead-of-and"),
    (t_only_causal, "order-alone"),
    (t_only_causal_four_axes, "order-alone-per-sentence"),
    (t_only_padding, "padding-alone"),
    (t_and_keyword, "python-and"),
    (t_three_axes, "no-axis-for-heads"),
    (t_upper, "shows-the-future"),
    (t_strict, "excludes-self"),
    (t_wide, "one-too-far"),
    (t_pads_as_rows, "hides-queries"),
    (t_pads_as_rows_and_columns, "hides-queries-and-keys"),
    (t_mixed_meanings, "hidden-future-marked-true"),
    (t_mixed_meanings_other, "pads-marked-true"),
    (t_ignore, "true-means-ignore"),
    (t_ignore_joined_by_and, "ignored-by-both"),
    (t_plus, "added"),
    (t_plus_booleans, "or-instead-of-and"),
    (t_heads_last, "wrong-shape"),
    (t_matmul, None),
    (t_size_of_batch, "raised"),
)
def test_target_refuses(answer, diagnosis):
    refuse("masks.target", answer, diagnosis)


def t_product(ids):
    n = ids.size(1)
    return ids.ne(PAD).float()[:, None, None, :] * torch.tril(torch.ones(n, n))


def t_numpy(ids):
    return (ids.numpy() != PAD)[:, None, None, :] & np.tri(ids.shape[1], dtype=bool)


def t_filled(ids):
    n = ids.size(1)
    mask = torch.ones(ids.size(0), 1, n, n, dtype=torch.bool).tril()
    return mask.masked_fill(ids.eq(PAD)[:, None, None, :], False)


def t_where(ids):
    return torch.where(causal_mask(ids.size(1)), padding_mask(ids), torch.tensor(False))


@right(t_product, t_numpy, t_filled, t_where)
def test_target_accepts(answer):
    accept("masks.target", answer)


# masks.softmax


def s_plain(scores, mask=None):
    return F.softmax(scores, dim=-1)


def s_discarded(scores, mask=None):
    scores.masked_fill(mask == 0, -inf)
    return torch.softmax(scores, -1)


def s_minus_1e9(scores, mask=None):
    return F.softmax(scores.masked_fill(mask == 0, -1e9), dim=-1)


def s_minus_1e4(scores, mask=None):
    return F.softmax(scores.masked_fill(mask == 0, -1e4), dim=-1)


def s_infinity(scores, mask=None):
    return F.softmax(torch.where(mask, scores, -inf), dim=-1)


def s_multiply(scores, mask=None):
    return torch.softmax(scores, -1) * mask


def s_multiply_scores(scores, mask=None):
    return torch.softmax(scores * mask, -1)


def s_multiply_scores_and_weights(scores, mask=None):
    return torch.softmax(scores * mask, -1) * mask


def s_double(scores, mask=None):
    w = torch.softmax(scores, -1)
    return torch.softmax(torch.where(mask, w, torch.zeros_like(w)), -1)


def s_double_then_zero(scores, mask=None):
    w = torch.softmax(torch.softmax(scores, -1) * mask, -1)
    return w * mask


def s_add(scores, mask=None):
    return torch.softmax(scores + mask.to(scores.dtype), -1)


def s_inverse(scores, mask=None):
    return torch.softmax(scores.masked_fill(mask, -inf), -1).nan_to_num()


def s_inverse_nan(scores, mask=None):
    return torch.softmax(scores.masked_fill(mask, -inf), -1)


def s_queries(scores, mask=None):
    return torch.softmax(scores.masked_fill(~mask, -inf), -2).nan_to_num()


def s_queries_nan(scores, mask=None):
    return torch.softmax(scores.masked_fill(~mask, -inf), -2)


def s_additive(scores, mask=None):
    return torch.softmax(scores + (1 - mask.to(scores.dtype)) * -inf, -1)


def s_additive_zeros(scores, mask=None):
    return torch.softmax(scores + (1 - mask.to(scores.dtype)) * -inf, -1).nan_to_num(0)


def s_lowest(scores, mask=None):
    return torch.softmax(scores.masked_fill(~mask, torch.finfo(scores.dtype).min), -1)


def s_tiny(scores, mask=None):
    return torch.softmax(scores.masked_fill(~mask, torch.finfo(scores.dtype).tiny), -1)


def s_small(scores, mask=None):
    return torch.softmax(scores.masked_fill(~mask, -2.0), -1)


def s_exp(scores, mask=None):
    e = scores.exp().masked_fill(~mask, 0)
    return e / e.sum(-1, keepdim=True)


def s_exp_clamped(scores, mask=None):
    e = scores.exp() * mask
    return (e / e.sum(-1, keepdim=True)).nan_to_num(0.0)


def s_in_place(scores, mask=None):
    return torch.softmax(scores.masked_fill_(~mask, -inf), -1).nan_to_num(0.0)


def s_renormalized_nan(scores, mask=None):
    w = scores.softmax(-1) * mask
    return w / w.sum(-1, keepdim=True)


def s_no_keepdim(scores, mask=None):
    w = scores.softmax(-1) * mask
    return w / w.sum(-1)


def s_log(scores, mask=None):
    return F.log_softmax(scores.masked_fill(~mask, -inf), -1)


@answers(
    (s_plain, "mask-not-applied"),
    (s_discarded, "mask-not-applied"),
    (s_minus_1e9, "too-large-for-half-and-empty-row-uniform"),
    (s_minus_1e4, "empty-row-uniform"),
    (s_infinity, "empty-row-nan"),
    (s_multiply, "zeroed-without-renormalizing"),
    (s_multiply_scores, "fills-with-zero"),
    (s_multiply_scores_and_weights, "fills-with-zero-then-zeroed"),
    (s_double, "softmax-twice"),
    (s_double_then_zero, "softmax-twice-then-zeroed"),
    (s_add, "adds-zero-one-mask"),
    (s_inverse, "true-means-ignore"),
    (s_inverse_nan, "true-means-ignore-and-empty-row-nan"),
    (s_queries, "softmax-over-queries"),
    (s_queries_nan, "softmax-over-queries-and-nan"),
    (s_additive, "zero-times-infinity"),
    (s_additive_zeros, "all-zero"),
    (s_lowest, "empty-row-uniform"),
    (s_tiny, "fills-with-zero"),
    (s_small, None),
    (s_exp, "exponentials-overflow-and-empty-row-nan"),
    (s_exp_clamped, "exponentials-overflow"),
    (s_in_place, "changes-input"),
    (s_renormalized_nan, "empty-row-nan"),
    (s_no_keepdim, None),
    (s_log, "logarithms"),
)
def test_softmax_refuses(answer, diagnosis):
    refuse("masks.softmax", answer, diagnosis)


def s_safe(scores, mask=None):
    weights = F.softmax(scores.masked_fill(~mask, torch.finfo(scores.dtype).min), dim=-1)
    return weights * mask


def s_where(scores, mask=None):
    weights = torch.where(mask, scores, -inf).softmax(-1)
    return torch.where(mask.any(-1, keepdim=True), weights, 0.0)


def s_log_of_the_mask(scores, mask=None):
    return torch.nan_to_num(torch.softmax(scores.double() + mask.double().log(), dim=-1))


def s_numpy(scores, mask=None):
    s = np.where(mask.numpy(), scores.numpy().astype(np.float64), -np.inf)
    e = np.exp(s - np.max(scores.numpy().astype(np.float64), axis=-1, keepdims=True))
    total = e.sum(-1, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0)


def s_clone_then_in_place(scores, mask=None):
    scores = scores.clone()
    scores[~mask.expand_as(scores)] = -inf
    weights = scores.softmax(-1)
    weights[weights.isnan()] = 0
    return weights


@right(s_safe, s_where, s_log_of_the_mask, s_numpy, s_clone_then_in_place)
def test_softmax_accepts(answer):
    accept("masks.softmax", answer)


# masks.for_pytorch


def f_unchanged(real, order):
    return real, order, real[:, None, None, :] & order


def f_all_inverted(real, order):
    return ~real, ~order, ~real[:, None, None, :] | ~order


def f_only_order(real, order):
    return real, ~order, (real.unsqueeze(1) & order).unsqueeze(1)


def f_only_padding(real, order):
    return ~real, order, (real.unsqueeze(1) & order).unsqueeze(1)


def f_swapped(real, order):
    return real, order, ~(real[:, None, None, :] & order)


def f_or(real, order):
    return ~real, ~order, real[:, None, None] | order


def f_forgets_padding(real, order):
    return ~real, ~order, order


def f_forgets_order(real, order):
    return ~real, ~order, real[:, None, None]


def f_floats(real, order):
    return (~real).float(), (~order).float(), real[:, None, None, :] & order


def f_float_sdpa(real, order):
    return ~real, ~order, (real[:, None, None, :] & order).float()


def f_rows(real, order):
    return ~real, ~order, real[:, None, :, None] & order


def f_three_axes(real, order):
    return ~real, ~order, real[:, None] & order


def f_wrong_order(real, order):
    return ~order, ~real, real[:, None, None] & order


def f_two_masks(real, order):
    return ~real, ~order


def f_dictionary(real, order):
    return {"key_padding_mask": ~real, "attn_mask": ~order}


def f_none_for_padding(real, order):
    return None, ~order, real[:, None, None] & order


def f_additive_the_wrong_way(real, order):
    def number(mask):
        return torch.zeros(mask.shape).masked_fill(mask, -inf)

    return number(real), number(order), number(real[:, None, None] & order)


@answers(
    (f_unchanged, "nothing-inverted"),
    (f_all_inverted, "sdpa-inverted"),
    (f_only_order, "padding-not-inverted"),
    (f_only_padding, "order-not-inverted"),
    (f_swapped, "polarities-swapped"),
    (f_or, "sdpa-or"),
    (f_forgets_padding, "sdpa-order-alone"),
    (f_forgets_order, "sdpa-padding-alone"),
    (f_floats, "adds-zero-one"),
    (f_float_sdpa, "sdpa-adds-zero-one"),
    (f_rows, "sdpa-queries"),
    (f_three_axes, "sdpa-no-axis-for-heads"),
    (f_wrong_order, "module-masks-swapped"),
    (f_two_masks, "raised"),
    (f_dictionary, "raised"),
    (f_none_for_padding, None),
    (f_additive_the_wrong_way, "polarities-swapped"),
)
def test_for_pytorch_refuses(answer, diagnosis):
    refuse("masks.for_pytorch", answer, diagnosis)


def f_finite_numbers(real, order):
    def number(mask):
        return (1.0 - mask.float()) * -1e9

    return number(real), number(order), number(real[:, None, None] & order)


def f_all_in_the_module(real, order):
    n = order.shape[0]
    return real.logical_not(), order.logical_not().view(n, n), torch.logical_and(real[:, None, None], order[None, None])


def f_numpy(real, order):
    r, o = real.numpy(), order.numpy()
    return np.logical_not(r), np.logical_not(o), r[:, None, None] & o


def f_exclusive_or(real, order):
    return real ^ True, order ^ True, real.view(len(real), 1, 1, -1) * order


def f_list(real, order):
    return [~real, ~order, (real[:, None] & order)[:, None].expand(-1, 2, -1, -1)]


@right(f_finite_numbers, f_all_in_the_module, f_numpy, f_exclusive_or, f_list)
def test_for_pytorch_accepts(answer):
    accept("masks.for_pytorch", answer)


# masks.leaks


def l_includes_itself(f, x):
    out = f(x)
    for i in range(x.shape[1]):
        y = x.clone()
        y[:, i] = 0
        if not torch.allclose(f(y)[:, : i + 1], out[:, : i + 1], atol=1e-5):
            return True
    return False


def l_whole_output(f, x):
    out = f(x)
    for i in range(x.shape[1]):
        y = x.clone()
        y[:, i] = torch.ones(x.shape[2]) * 9
        if (f(y) - out).abs().max() > 1e-5:
            return True
    return False


def l_after(f, x):
    out = f(x)
    moved = False
    for i in range(x.shape[1]):
        y = x.clone()
        y[:, i] += 2
        moved |= bool(((f(y) - out)[:, i + 1 :].abs() > 1e-5).any())
    return moved


def l_last(f, x):
    y = x.clone()
    y[:, -1] = y[:, -1] * -3 + 1
    return not torch.allclose(f(y)[:, :-1], f(x)[:, :-1], atol=1e-5)


def l_stops_early(f, x):
    out, n = f(x), x.shape[1]
    for i in range(1, n - 1):
        y = x.clone()
        y[:, i] += 5
        if ((f(y)[:, :i] - out[:, :i]).abs() > 1e-5).any():
            return True
    return False


def l_signed(f, x):
    out = f(x)
    return any(
        bool(((f(torch.cat([x[:, :i], x[:, i:] + 1], dim=1)) - out)[:, :i] > 1e-5).any()) for i in range(1, x.shape[1])
    )


def l_exact(f, x):
    out = f(x)
    for i in range(1, x.shape[1]):
        y = x.clone()
        y[:, i] += 1
        if not torch.equal(f(y)[:, :i], out[:, :i]):
            return True
    return False


def l_first_sentence(f, x):
    out = f(x)
    for i in range(1, x.shape[1]):
        y = x.clone()
        y[:, i] += 1
        if (f(y)[0, :i] - out[0, :i]).abs().max() > 1e-5:
            return True
    return False


def l_summed(f, x):
    out = f(x).sum(dim=-1)
    for i in range(1, x.shape[1]):
        y = x.clone()
        y[:, i] += 1
        if (f(y).sum(dim=-1)[:, :i] - out[:, :i]).abs().max() > 1e-5:
            return True
    return False


def l_clean(f, x):
    out = f(x)
    for i in range(1, x.shape[1]):
        y = x.clone()
        y[:, i] += 1
        if (f(y)[:, :i] - out[:, :i]).abs().max() > 1e-5:
            return False
    return True


def l_forgets_clone(f, x):
    for i in range(1, x.shape[1]):
        y = x
        y[:, i] += 1
        if (f(y)[:, :i] - f(x)[:, :i]).abs().max() > 1e-5:
            return True
    return False


def l_edits_the_caller(f, x):
    out = f(x)
    for i in range(1, x.shape[1]):
        x[:, i] += 1
        if (f(x)[:, :i] - out[:, :i]).abs().max() > 1e-5:
            return True
    return False


def l_returns_in_the_first_round(f, x):
    out = f(x)
    for i in range(1, x.shape[1]):
        y = x.clone()
        y[:, i] += 1
        return bool((f(y)[:, :i] - out[:, :i]).abs().max() > 1e-5)
    return False


def l_always(f, x):
    return True


def l_a_number(f, x):
    out = f(x)
    worst = torch.tensor(0.0)
    for i in range(1, x.shape[1]):
        y = x.clone()
        y[:, i] += 1
        worst = torch.maximum(worst, (f(y)[:, :i] - out[:, :i]).abs().max())
    return worst


def l_flips(f, x):
    return not torch.allclose(f(torch.flip(x, [1])), torch.flip(f(x), [1]), atol=1e-5)


@answers(
    (l_includes_itself, "all-outputs-count"),
    (l_whole_output, "all-outputs-count"),
    (l_after, "watches-the-future"),
    (l_last, "last-token-only"),
    (l_stops_early, "stops-one-early"),
    (l_signed, None),
    (l_exact, "no-tolerance"),
    (l_first_sentence, "first-sentence-only"),
    (l_summed, "sums-before-comparing"),
    (l_clean, "true-means-clean"),
    (l_forgets_clone, "always-false"),
    (l_edits_the_caller, "edits-pile-up"),
    (l_returns_in_the_first_round, "second-token-only"),
    (l_always, "always-true"),
    (l_a_number, "wrong-type"),
    (l_flips, None),
)
def test_leaks_refuses(answer, diagnosis):
    refuse("masks.leaks", answer, diagnosis)


def l_python_bool(f, x):
    out = f(x)
    for t in range(x.shape[1]):
        y = x.clone()
        y[:, t] = 100 * torch.randn_like(y[:, t])
        if t and float((f(y) - out)[:, :t].abs().max()) > 1e-5:
            return True
    return False


def l_tensor(f, x):
    out, found = f(x), torch.tensor(False)
    for t in range(1, x.shape[1]):
        y = x.clone()
        y[:, t:] = -y[:, t:] + 0.5
        found = found | ((f(y)[:, :t] - out[:, :t]).abs() > 1e-5).any()
    return found


def l_with_the_librarys_probe(f, x):
    from course_lib.probes import leak_probe

    return not leak_probe(f, x)


def l_numpy(f, x):
    out = f(x).numpy()
    for t in range(1, x.shape[1]):
        y = x.numpy().copy()
        y[:, t] += 1
        if np.abs(f(torch.from_numpy(y)).numpy()[:, :t] - out[:, :t]).max() > 1e-5:
            return np.True_
    return np.False_


@right(l_python_bool, l_tensor, l_with_the_librarys_probe, l_numpy)
def test_leaks_accepts(answer):
    accept("masks.leaks", answer)


# masks.repair


def attend(scores, mask, value):
    return scores.masked_fill(~mask, -inf).softmax(-1) @ value


def scaled(query, key):
    return query @ key.mT / math.sqrt(query.shape[-1])


def r_assigned_only(query, key, value, ids):
    n = ids.shape[1]
    real = (ids != PAD)[:, None, :, None]
    order = torch.ones(n, n, dtype=torch.bool).triu()
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(~(real | order), float("-inf"))
    return scores.softmax(dim=-1) @ value


def r_all_but_assignment(query, key, value, ids):
    n = ids.shape[1]
    real = (ids != PAD)[:, None, None, :]
    order = torch.ones(n, n, dtype=torch.bool).tril()
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    scores.masked_fill(~(real & order), float("-inf"))
    return scores.softmax(dim=-1) @ value


def r_keeps_the_or(query, key, value, ids):
    return attend(scaled(query, key), padding_mask(ids) | causal_mask(ids.shape[1]), value)


def r_keeps_the_triangle(query, key, value, ids):
    return attend(scaled(query, key), padding_mask(ids) & causal_mask(ids.shape[1]).T, value)


def r_keeps_the_rows(query, key, value, ids):
    return attend(scaled(query, key), padding_mask(ids).mT & causal_mask(ids.shape[1]), value)


def r_keeps_rows_and_or(query, key, value, ids):
    return attend(scaled(query, key), padding_mask(ids).mT | causal_mask(ids.shape[1]), value)


def r_keeps_triangle_and_or(query, key, value, ids):
    return attend(scaled(query, key), padding_mask(ids) | causal_mask(ids.shape[1]).T, value)


def r_keeps_rows_and_triangle(query, key, value, ids):
    return attend(scaled(query, key), padding_mask(ids).mT & causal_mask(ids.shape[1]).T, value)


def r_drops_the_inversion(query, key, value, ids):
    return attend(scaled(query, key), ~(padding_mask(ids) & causal_mask(ids.shape[1])), value)


def r_diagonal_gone(query, key, value, ids):
    n = ids.shape[1]
    return attend(scaled(query, key), padding_mask(ids) & torch.ones(n, n).tril(-1).bool(), value)


def r_forgets_pads(query, key, value, ids):
    return F.scaled_dot_product_attention(query, key, value, is_causal=True)


def r_forgets_order(query, key, value, ids):
    return F.scaled_dot_product_attention(query, key, value, attn_mask=padding_mask(ids))


def r_hides_rows_as_well(query, key, value, ids):
    real = padding_mask(ids)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=real & real.mT & causal_mask(ids.shape[1]))


def r_unscaled(query, key, value, ids):
    return attend(query @ key.mT, padding_mask(ids) & causal_mask(ids.shape[1]), value)


def r_returns_weights(query, key, value, ids):
    return scaled(query, key).masked_fill(~(padding_mask(ids) & causal_mask(ids.shape[1])), -inf).softmax(-1)


@answers(
    (r_assigned_only, "three-bugs-left"),
    (r_all_but_assignment, "mask-not-applied"),
    (r_keeps_the_or, "one-bug-left-or"),
    (r_keeps_the_triangle, "one-bug-left-triangle"),
    (r_keeps_the_rows, "one-bug-left-rows"),
    (r_keeps_rows_and_or, "two-bugs-left-rows-and-or"),
    (r_keeps_triangle_and_or, "two-bugs-left-triangle-and-or"),
    (r_keeps_rows_and_triangle, "two-bugs-left-rows-and-triangle"),
    (r_drops_the_inversion, "fills-what-is-visible"),
    (r_diagonal_gone, None),
    (r_forgets_pads, "order-alone"),
    (r_forgets_order, "padding-alone"),
    (r_hides_rows_as_well, "hides-rows-too-as-zeros"),
    (r_unscaled, None),
    (r_returns_weights, None),
)
def test_repair_refuses(answer, diagnosis):
    refuse("masks.repair", answer, diagnosis)


def r_repaired_in_place(query, key, value, ids):
    n = ids.shape[1]
    real = (ids != PAD)[:, None, None, :]
    order = torch.ones(n, n, dtype=torch.bool).triu().T
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    scores.masked_fill_(~(real & order), float("-inf"))
    return scores.softmax(dim=-1) @ value


def r_by_the_library(query, key, value, ids):
    return scaled_dot_product_attention(query, key, value, padding_mask(ids) & causal_mask(ids.shape[1]))[0]


def r_finite_fill(query, key, value, ids):
    hidden = ~padding_mask(ids) | ~causal_mask(ids.shape[1])
    return scaled(query, key).masked_fill(hidden, -1e9).softmax(-1) @ value


@right(r_repaired_in_place, r_by_the_library, r_finite_fill)
def test_repair_accepts(answer):
    accept("masks.repair", answer)
