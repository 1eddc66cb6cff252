"""Answers to the exercises on attention as strangers write them: wrong ones are refused and named, right ones pass.

Beside each wrong answer stands the diagnosis it must get; None where it only must be refused.
"""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from course_lib.exercises import check


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


# attention.soft_lookup


def l_sorted_best(query, key, value):
    scores = torch.tensor([float(k @ query) for k in key])
    return value[int(torch.argsort(scores)[-1])]


def l_python_sum_of_raw_scores(query, key, value):
    return sum((k * query).sum() * v for k, v in zip(key, value, strict=True))


def l_divided_by_total(query, key, value):
    scores = torch.einsum("kd,d->k", key, query)
    return (scores / scores.sum()) @ value


def l_exp_by_hand(query, key, value):
    e = torch.exp(torch.mv(key, query))
    return (e[:, None] * value).sum(0) / e.sum()


def l_scaled_like_the_paper(query, key, value):
    a = F.softmax(torch.mv(key, query) * query.numel() ** -0.5, dim=0)
    return torch.mv(value.t(), a)


def l_average(query, key, value):
    return value.mean(0)


def l_hands_out_keys(query, key, value):
    return F.softmax(torch.matmul(key, query), dim=-1).matmul(key)


def l_stops_at_weights(query, key, value):
    return torch.softmax(torch.mv(key, query), 0)


def l_forgets_softmax_divides_by_count(query, key, value):
    return (key @ query) @ value / len(key)


def l_softmax_of_the_result(query, key, value):
    return torch.softmax((key @ query) @ value, 0)


def l_keeps_a_row_axis(query, key, value):
    return (key @ query).softmax(0)[None] @ value


def l_mean_of_products(query, key, value):
    weights = torch.softmax(key.matmul(query), dim=0).unsqueeze(1)
    return torch.mean(weights * value, dim=0)


def l_minus_distance(query, key, value):
    return F.softmax(-torch.cdist(query[None], key)[0], dim=0) @ value


def l_normalized_vectors(query, key, value):
    return (F.normalize(key, dim=1) @ F.normalize(query, dim=0)).softmax(0) @ value


def l_two_softmaxes(query, key, value):
    weights = F.softmax(key @ query, dim=0)
    return F.softmax(weights, dim=0) @ value


def l_top_two(query, key, value):
    best = (key @ query).topk(min(2, len(key)))
    return best.values.softmax(0) @ value[best.indices]


def l_base_two(query, key, value):
    scores = key @ query
    powers = 2.0 ** (scores - scores.max())
    return powers / powers.sum() @ value


def l_temperature(query, key, value):
    return ((key @ query) * 10).softmax(0) @ value


@answers(
    (l_sorted_best, "hard-lookup"),
    (l_python_sum_of_raw_scores, "no-softmax"),
    (l_divided_by_total, "share-without-exp"),
    (l_exp_by_hand, "unstable-softmax"),
    (l_scaled_like_the_paper, "scaled"),
    (l_average, "plain-mean"),
    (l_hands_out_keys, "mixes-the-keys"),
    (l_stops_at_weights, "returns-the-weights"),
    (l_forgets_softmax_divides_by_count, "no-softmax-divided-by-the-number-of-keys"),
    (l_softmax_of_the_result, "softmax-at-the-end"),
    (l_keeps_a_row_axis, "wrong-shape"),
    (l_mean_of_products, "mean-of-weighted-rows"),
    (l_minus_distance, "distance"),
    (l_normalized_vectors, "cosine"),
    (l_two_softmaxes, "softmax-twice"),
    (l_top_two, None),
    (l_base_two, None),
    (l_temperature, None),
)
def test_soft_lookup_refuses(answer, diagnosis):
    refuse("attention.soft_lookup", answer, diagnosis)


def l_numpy(query, key, value):
    scores = key.numpy() @ query.numpy()
    exps = np.exp(scores - scores.max())
    return exps / exps.sum() @ value.numpy()


def l_lists(query, key, value):
    scores = [sum(a * b for a, b in zip(query.tolist(), k, strict=True)) for k in key.tolist()]
    top = max(scores)
    exps = [math.exp(s - top) for s in scores]
    return [
        sum(e * row[n] for e, row in zip(exps, value.tolist(), strict=True)) / sum(exps) for n in range(len(value[0]))
    ]


def l_through_a_batch_of_one(query, key, value):
    weights = F.softmax(query.unsqueeze(0) @ key.t(), dim=1)
    return torch.squeeze(weights @ value, 0)


def l_in_double_by_distance(query, key, value):
    q, k = query.double(), key.double()
    scores = (k.square().sum(1) - (k - q).square().sum(1)) / 2
    return scores.softmax(0) @ value.double()


@right(l_numpy, l_lists, l_through_a_batch_of_one, l_in_double_by_distance)
def test_soft_lookup_accepts(answer):
    accept("attention.soft_lookup", answer)


# attention.additive_score


def a_linear_compare(query, key, w_q, w_k, v):
    return torch.einsum("bqkh,h->bqk", (query @ w_q).unsqueeze(2) + (key @ w_k).unsqueeze(1), v)


def a_each_squeezed(query, key, w_q, w_k, v):
    a, b = torch.tanh(torch.matmul(query, w_q)), torch.tanh(torch.matmul(key, w_k))
    return ((a.unsqueeze(2) + b.unsqueeze(1)) * v).sum(-1)


def a_squeezed_at_the_end(query, key, w_q, w_k, v):
    return torch.tanh((query @ w_q @ v)[:, :, None] + (key @ w_k @ v)[:, None, :])


def a_columns_are_queries(query, key, w_q, w_k, v):
    return torch.tanh((query @ w_q)[:, None] + (key @ w_k)[:, :, None]) @ v


def a_elementwise_product(query, key, w_q, w_k, v):
    return torch.tanh(torch.einsum("bqh,bkh->bqkh", query @ w_q, key @ w_k)) @ v


def a_gelu(query, key, w_q, w_k, v):
    return F.gelu((query @ w_q)[:, :, None] + (key @ w_k)[:, None]) @ v


def a_plain_sum(query, key, w_q, w_k, v):
    return ((query @ w_q)[:, :, None] + (key @ w_k)[:, None]).tanh().sum(-1)


def a_sum_before_tanh_only_same_place(query, key, w_q, w_k, v):
    return torch.matmul(torch.tanh(torch.matmul(query, w_q) + torch.matmul(key, w_k)), v)


def a_probabilities(query, key, w_q, w_k, v):
    e = torch.tanh(torch.matmul(query, w_q)[:, :, None] + torch.matmul(key, w_k)[:, None]).matmul(v)
    return F.softmax(e, -1)


def a_column_vector_left(query, key, w_q, w_k, v):
    return torch.tanh((query @ w_q)[:, :, None] + (key @ w_k)[:, None]).matmul(v.unsqueeze(-1))


def a_same_matrix(query, key, w_q, w_k, v):
    q, k = query.matmul(w_q), key.matmul(w_q)
    return torch.tanh(q.unsqueeze(2) + k.unsqueeze(1)).matmul(v)


def a_divides(query, key, w_q, w_k, v):
    hidden = torch.tanh((query @ w_q)[:, :, None] + (key @ w_k)[:, None])
    return (hidden * v).sum(-1) * len(v) ** -0.5


def a_one_row_for_all(query, key, w_q, w_k, v):
    hidden = torch.tanh((query @ w_q).mean(1, keepdim=True)[:, :, None] + (key @ w_k)[:, None])
    return (hidden @ v).expand(-1, query.shape[1], -1)


def a_scores_without_the_query(query, key, w_q, w_k, v):
    return (torch.tanh(key @ w_k) @ v)[:, None].expand(-1, query.shape[1], -1)


def a_general(query, key, w_q, w_k, v):
    return torch.bmm(query @ w_q, torch.bmm(key, w_k.expand(len(key), -1, -1)).mT)


@answers(
    (a_linear_compare, "no-tanh"),
    (a_each_squeezed, "tanh-of-each"),
    (a_squeezed_at_the_end, "tanh-of-the-score"),
    (a_columns_are_queries, "keys-by-queries"),
    (a_elementwise_product, "product-instead-of-sum"),
    (a_gelu, None),
    (a_plain_sum, "v-forgotten"),
    (a_sum_before_tanh_only_same_place, "pairs-by-position"),
    (a_probabilities, "returns-weights"),
    (a_column_vector_left, "trailing-axis"),
    (a_same_matrix, "one-matrix-for-both"),
    (a_divides, "scaled"),
    (a_one_row_for_all, None),
    (a_scores_without_the_query, "query-left-out"),
    (a_general, "dot-product"),
)
def test_additive_score_refuses(answer, diagnosis):
    refuse("attention.additive_score", answer, diagnosis)


def a_numpy(query, key, w_q, w_k, v):
    q, k = query.numpy() @ w_q.numpy(), key.numpy() @ w_k.numpy()
    return np.tanh(q[:, :, None] + k[:, None]) @ v.numpy()


def a_with_linear_modules(query, key, w_q, w_k, v):
    q, k = F.linear(query, w_q.T), F.linear(key, w_k.T)
    return F.linear(torch.tanh(q[:, :, None] + k[:, None]), v[None]).squeeze(-1)


def a_key_by_key(query, key, w_q, w_k, v):
    columns = [torch.tanh(query @ w_q + (key[:, j] @ w_k)[:, None]) @ v for j in range(key.shape[1])]
    return torch.stack(columns).permute(1, 2, 0)


def a_repeat_and_reshape(query, key, w_q, w_k, v):
    b, n, m = len(query), query.shape[1], key.shape[1]
    q = (query @ w_q).repeat_interleave(m, dim=1)
    k = (key @ w_k).repeat(1, n, 1)
    return (torch.tanh(q + k).double() @ v.double()).reshape(b, n, m)


@right(a_numpy, a_with_linear_modules, a_key_by_key, a_repeat_and_reshape)
def test_additive_score_accepts(answer):
    accept("attention.additive_score", answer)


# attention.einsum


def letters(first, second, name):
    def answer(query, key, value):
        scores = torch.einsum(first, query, key)
        weights = (scores / math.sqrt(query.shape[-1])).softmax(dim=-1)
        return torch.einsum(second, weights, value)

    answer.__name__ = name
    return answer


SCORES, OUTPUT = "nhid,nhjd->nhij", "nhij,nhjd->nhid"


@answers(
    (letters("nhid,nhjd->nhji", OUTPUT, "scores_turned"), "scores-keys-by-queries"),
    (letters(SCORES, "nhij,nhid->nhjd", "over_the_queries"), "sums-over-the-queries"),
    (letters(SCORES, "nhji,nhjd->nhid", "weights_read_turned"), "sums-over-the-queries"),
    (letters("nhid,nhje->nhij", OUTPUT, "two_letters_for_features"), "features-have-two-letters"),
    (letters("nhid,ngjd->nhij", OUTPUT, "all_heads"), "heads-mixed"),
    (letters("nhid,mhjd->nhij", OUTPUT, "all_sentences"), "sentences-mixed"),
    (letters(SCORES, "nhij,nhkd->nhid", "free_key_letter"), "values-not-tied-to-the-weights"),
    (letters(SCORES, "nhij,ngjd->nhid", "values_of_all_heads"), "heads-of-the-values-mixed"),
    (letters(SCORES, "nhij,nhjd->nhdi", "output_turned"), "output-transposed"),
    (letters(SCORES, "nhij,nhjd->nihd", "merged_too_early"), "heads-behind-the-queries"),
    (letters("nhid,nhjd->nhji", "nhji,nhjd->nhid", "two_turns"), "both-the-wrong-way-round"),
    (letters("nhid,nhdj->nhij", OUTPUT, "key_turned_in_advance"), "keys-read-as-transposed"),
    (letters("nhid,nhid->nhii", OUTPUT, "letter_used_twice"), None),
)
def test_einsum_refuses_wrong_letters(answer, diagnosis):
    refuse("attention.einsum", answer, diagnosis)


def e_values_keep_queries_apart(query, key, value):
    weights = (torch.einsum("bhqd,bhkd->bhqk", query, key) / math.sqrt(query.shape[-1])).softmax(-1)
    return torch.einsum("bhqk,bhkv->bhqkv", weights, value)


def e_forgets_the_scale(query, key, value):
    weights = torch.einsum("bhqd,bhkd->bhqk", query, key).softmax(-1)
    return torch.einsum("bhqk,bhkv->bhqv", weights, value)


@answers((e_values_keep_queries_apart, "keys-not-summed"), (e_forgets_the_scale, "no-scale"))
def test_einsum_refuses(answer, diagnosis):
    refuse("attention.einsum", answer, diagnosis)


def e_numpy(query, key, value):
    scores = np.einsum("bhqd,bhkd->bhqk", query.numpy(), key.numpy()) / np.sqrt(query.shape[-1])
    exps = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bhqk,bhkv->bhqv", exps / exps.sum(-1, keepdims=True), value.numpy())


def e_spaces_and_ellipsis(query, key, value):
    scores = torch.einsum("... q d, ... k d -> ... q k", query, key)
    return torch.einsum("... q k, ... k v -> ... q v", (scores * query.shape[-1] ** -0.5).softmax(-1), value)


def e_non_contiguous(query, key, value):
    scores = torch.einsum("bhqd,bhkd->bqhk", query, key).transpose(1, 2)
    weights = (scores / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return torch.einsum("bhqk,bhkv->bvqh", weights, value).permute(0, 3, 2, 1)


renamed_between_the_lines = letters("hnid,hnjd->hnij", "abcd,abde->abce", "renamed_between_the_lines")


@right(e_numpy, e_spaces_and_ellipsis, e_non_contiguous, renamed_between_the_lines)
def test_einsum_accepts(answer):
    accept("attention.einsum", answer)


# attention.scaled_dot_product


def d_forgets_to_scale(query, key, value):
    attn = F.softmax(torch.matmul(query, key.mT), dim=-1)
    return torch.matmul(attn, value), attn


def d_squared_scale(query, key, value):
    attn = F.softmax(torch.matmul(query, key.mT) / key.size(-1), dim=-1)
    return attn.matmul(value), attn


def d_scales_by_length(query, key, value):
    attn = torch.softmax(query @ key.mT * key.size(-2) ** -0.5, -1)
    return attn @ value, attn


def d_scales_by_rows(query, key, value):
    scores = torch.matmul(query, key.transpose(-1, -2)) / len(query) ** 0.5
    return scores.softmax(-1) @ value, scores.softmax(-1)


def d_column_softmax(query, key, value):
    scores = torch.einsum("...qd,...kd->...qk", query, key) / math.sqrt(key.shape[-1])
    weights = torch.softmax(scores, dim=scores.dim() - 2)
    return weights.matmul(value), weights


def d_old_softmax(query, key, value):
    weights = F.softmax(query @ key.mT / math.sqrt(key.shape[-1]), 1)
    return weights @ value, weights


def d_unpacks_three(query, key, value):
    scores = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(query.size(2))
    weights = scores.softmax(2)
    return torch.bmm(weights, value), weights


def d_views_the_keys(query, key, value):
    *lead, k_len, d_k = key.shape
    weights = (query @ key.contiguous().view(*lead, d_k, k_len) / math.sqrt(d_k)).softmax(-1)
    return weights @ value, weights


def d_swaps_the_pair(query, key, value):
    weights = ((query / math.sqrt(query.shape[-1])) @ key.mT).softmax(-1)
    return weights, weights @ value


def d_only_the_output(query, key, value):
    return F.scaled_dot_product_attention(query, key, value)


def d_scores_as_weights(query, key, value):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return F.softmax(scores, -1) @ value, scores


def d_turned_product(query, key, value):
    weights = (query @ key.mT / math.sqrt(query.shape[-1])).softmax(-1)
    return weights.mT @ value, weights


def d_associates_right(query, key, value):
    scores = query @ (key.mT @ value) / math.sqrt(query.shape[-1])
    return scores.softmax(-1), query @ key.mT / math.sqrt(query.shape[-1])


def d_scale_after(query, key, value):
    weights = torch.matmul(query, key.mT).softmax(-1).div(math.sqrt(query.shape[-1]))
    return weights.matmul(value), weights


def d_exp_over_sum(query, key, value):
    e = torch.exp(query @ key.mT / math.sqrt(query.shape[-1]))
    weights = e / e.sum(-1, keepdim=True)
    return weights @ value, weights


def d_sum_without_keepdim(query, key, value):
    e = torch.exp(query @ key.mT / math.sqrt(query.shape[-1]))
    weights = e / e.sum(-1)
    return weights @ value, weights


def d_keys_first(query, key, value):
    weights = (key @ query.mT / math.sqrt(query.shape[-1])).softmax(-1)
    return weights @ value, weights


def d_both_scaled(query, key, value):
    root = math.sqrt(query.shape[-1])
    weights = ((query / root) @ (key / root).mT).softmax(-1)
    return weights @ value, weights


def d_dropout_left_on(query, key, value):
    weights = F.dropout((query @ key.mT / math.sqrt(query.shape[-1])).softmax(-1), 0.5)
    return weights @ value, weights


def d_masks_the_future(query, key, value):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    hidden = torch.ones_like(scores, dtype=torch.bool).triu(1)
    weights = scores.masked_fill(hidden, -math.inf).softmax(-1)
    return weights @ value, weights


@answers(
    (d_forgets_to_scale, "no-scale"),
    (d_squared_scale, "divides-by-d-k"),
    (d_scales_by_length, "root-of-the-number-of-keys"),
    (d_scales_by_rows, "root-of-the-first-size"),
    (d_column_softmax, "softmax-over-the-queries"),
    (d_old_softmax, "softmax-over-axis-1"),
    (d_unpacks_three, "three-axes-only"),
    (d_views_the_keys, "reshape-instead-of-transpose"),
    (d_swaps_the_pair, "weights-first"),
    (d_only_the_output, "output-only"),
    (d_scores_as_weights, "returns-the-scores"),
    (d_turned_product, "weights-transposed"),
    (d_associates_right, "softmax-at-the-end"),
    (d_scale_after, "scaled-after-the-softmax"),
    (d_exp_over_sum, "unstable-softmax"),
    (d_sum_without_keepdim, None),
    (d_keys_first, "keys-ask-queries"),
    (d_both_scaled, "divides-by-d-k"),
    (d_dropout_left_on, None),
    (d_masks_the_future, "causal-mask"),
)
def test_scaled_dot_product_refuses(answer, diagnosis):
    refuse("attention.scaled_dot_product", answer, diagnosis)


def d_numpy(query, key, value):
    q, k, v = (t.numpy() for t in (query, key, value))
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = exps / exps.sum(axis=-1, keepdims=True)
    return weights @ v, weights


def d_list_of_two_in_double(query, key, value):
    q, k, v = query.double(), key.double(), value.double()
    weights = torch.softmax(q @ k.mT * q.size(-1) ** -0.5, -1)
    return [weights @ v, weights]


def d_half_the_scale_on_each(query, key, value):
    root = query.shape[-1] ** 0.25
    weights = torch.einsum("...id,...jd->...ij", query / root, key / root).softmax(-1)
    return (weights.unsqueeze(-1) * value.unsqueeze(-3)).sum(-2), weights


def d_transposed_throughout(query, key, value):
    columns = (key @ query.transpose(-1, -2) / math.sqrt(key.shape[-1])).softmax(-2)
    return (value.transpose(-1, -2) @ columns).transpose(-1, -2), columns.transpose(-1, -2)


def d_with_mask_argument(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = F.softmax(scores, dim=-1)
    return torch.nan_to_num(weights) @ value, weights


@right(d_numpy, d_list_of_two_in_double, d_half_the_scale_on_each, d_transposed_throughout, d_with_mask_argument)
def test_scaled_dot_product_accepts(answer):
    accept("attention.scaled_dot_product", answer)


# attention.max_weight


def m_ignores_the_flag(query, key, scaled):
    return torch.softmax(query @ key.T, 1).max(1)[0].mean()


def m_ignores_the_flag_the_other_way(query, key, scaled):
    return torch.softmax(query @ key.T / math.sqrt(key.shape[1]), 1).max(1)[0].mean()


def m_flag_turned(query, key, scaled):
    divisor = 1.0 if scaled else math.sqrt(query.size(1))
    return F.softmax(query @ key.T / divisor, -1).max(-1).values.mean()


def m_no_root(query, key, scaled):
    scores = query @ key.T
    scores = scores / key.size(-1) if scaled else scores
    return F.softmax(scores, -1).max(-1).values.mean()


def m_global_max(query, key, scaled):
    scores = query @ key.T / (math.sqrt(key.size(-1)) if scaled else 1)
    return float(torch.max(F.softmax(scores, dim=1)))


def m_list_of_maxima(query, key, scaled):
    scores = query @ key.T / (math.sqrt(key.size(-1)) if scaled else 1)
    return [float(row.softmax(0).max()) for row in scores]


def m_maxima_down_the_columns(query, key, scaled):
    scores = query @ key.T / (math.sqrt(key.size(-1)) if scaled else 1)
    return scores.softmax(1).max(0).values.mean()


def m_column_softmax(query, key, scaled):
    scores = query @ key.T / (math.sqrt(key.size(-1)) if scaled else 1)
    return scores.softmax(-2).max(-1).values.mean()


def m_all_means(query, key, scaled):
    scores = query @ key.T / (math.sqrt(key.size(-1)) if scaled else 1)
    return F.softmax(scores, dim=1).mean(1).mean()


def m_forgot_softmax(query, key, scaled):
    scores = query @ key.T / (math.sqrt(key.size(-1)) if scaled else 1)
    return scores.max(dim=1).values.mean()


def m_number_of_keys(query, key, scaled):
    scores = query @ key.T / (len(key) ** 0.5 if scaled else 1)
    return scores.softmax(1).max(dim=1).values.mean()


def m_index(query, key, scaled):
    scores = query @ key.T / (math.sqrt(key.size(-1)) if scaled else 1)
    return scores.softmax(1).max(dim=1).indices.float().mean()


def m_both_returned(query, key, scaled):
    scores = query @ key.T / (math.sqrt(key.size(-1)) if scaled else 1)
    return scores.softmax(1).max(dim=1)


def m_flag_ignored_and_global(query, key, scaled):
    return (query @ key.T).softmax(1).max()


def m_softmax_of_the_largest_score(query, key, scaled):
    best = (query @ key.T / (math.sqrt(key.size(-1)) if scaled else 1)).max(1).values
    return best.softmax(0).mean()


@answers(
    (m_ignores_the_flag, "never-scales"),
    (m_ignores_the_flag_the_other_way, "always-scales"),
    (m_flag_turned, "the-other-way-round"),
    (m_no_root, "divides-by-d-k"),
    (m_global_max, "largest-of-all"),
    (m_list_of_maxima, "one-for-each-query"),
    (m_maxima_down_the_columns, "max-over-the-queries"),
    (m_column_softmax, "softmax-over-the-queries"),
    (m_all_means, "mean-instead-of-max"),
    (m_forgot_softmax, "largest-score"),
    (m_number_of_keys, "root-of-the-number-of-keys"),
    (m_index, "place-instead-of-weight"),
    (m_both_returned, None),
    (m_flag_ignored_and_global, "never-scales-and-largest-of-all"),
    (m_softmax_of_the_largest_score, None),
)
def test_max_weight_refuses(answer, diagnosis):
    refuse("attention.max_weight", answer, diagnosis)


def m_numpy(query, key, scaled):
    scores = query.numpy() @ key.numpy().T / (np.sqrt(query.shape[1]) if scaled else 1.0)
    exps = np.exp(scores - scores.max(1, keepdims=True))
    return (exps / exps.sum(1, keepdims=True)).max(1).mean()


def m_python_float_in_single(query, key, scaled):
    factor = query.size(-1) ** (-0.5 * scaled)
    return float(((query.float() @ key.float().T) * factor).softmax(-1).max(-1).values.mean())


def m_sorted(query, key, scaled):
    divisor = math.sqrt(query.size(-1)) if scaled else 1
    return torch.stack([(key @ q / divisor).softmax(0).sort().values[-1] for q in query]).mean()


@right(m_numpy, m_python_float_in_single, m_sorted)
def test_max_weight_accepts(answer):
    accept("attention.max_weight", answer)


# attention.repair


def repair(keys, scale, axis, name, last=torch.bmm):
    def answer(query, key, value):
        batch, k_len, d_k = key.shape
        turned = {"reshape": lambda: key.reshape(batch, d_k, k_len), "permute": lambda: key.permute(0, 2, 1)}[keys]()
        weights = F.softmax(torch.bmm(query, turned) * scale(query, key, value), dim=axis)
        return last(weights, value), weights

    answer.__name__ = name
    return answer


def by(number):
    return lambda query, key, value: number(query, key, value)


ROOT = by(lambda q, k, v: q.shape[2] ** -0.5)
ROOT_K_LEN = by(lambda q, k, v: k.shape[1] ** -0.5)


@answers(
    (repair("permute", ROOT_K_LEN, 1, "transpose_found"), "root-of-k-len-and-queries"),
    (repair("reshape", ROOT, 1, "scale_found"), "reshape-and-queries"),
    (repair("reshape", ROOT_K_LEN, -1, "axis_found"), "reshape-and-root-of-k-len"),
    (repair("permute", ROOT, 1, "axis_left"), "queries"),
    (repair("permute", ROOT_K_LEN, 2, "scale_left"), "root-of-k-len"),
    (repair("reshape", ROOT, 2, "transpose_left"), "reshape"),
    (repair("permute", by(lambda q, k, v: 1 / q.shape[2]), 2, "no_root"), "d-k"),
    (repair("permute", by(lambda q, k, v: 1.0), 2, "scale_removed"), "nothing"),
    (repair("permute", by(lambda q, k, v: q.shape[1] ** -0.5), -1, "query_length"), "root-of-q-len"),
    (repair("permute", ROOT, 0, "axis_of_the_batch"), "sentences"),
    (repair("reshape", by(lambda q, k, v: 1 / q.shape[2]), 1, "wrong_scale_only"), "reshape-and-d-k-and-queries"),
    (repair("permute", ROOT, 2, "broke_the_output", lambda w, v: torch.bmm(w.mT, v)), "sums-over-the-queries"),
    (repair("permute", by(lambda q, k, v: q.shape[2] ** 0.5), 2, "multiplies"), "times-root-of-d-k"),
    (repair("permute", ROOT, -1, "value_turned", lambda w, v: torch.bmm(w, v.flip(1))), None),
)
def test_repair_refuses(answer, diagnosis):
    refuse("attention.repair", answer, diagnosis)


def r_minimal_repair(query, key, value):
    _batch, _k_len, d_k = key.shape
    scores = torch.bmm(query, key.mT)
    scores = scores / math.sqrt(d_k)
    weights = scores.softmax(dim=-1)
    return torch.bmm(weights, value), weights


def r_rewritten(query, key, value):
    identity = torch.eye(key.shape[1]).expand(len(key), -1, -1)
    return tuple(F.scaled_dot_product_attention(query, key, x) for x in (value, identity))


def r_swapaxes_in_double(query, key, value):
    scores = query.double() @ key.double().swapaxes(1, 2) / query.shape[-1] ** 0.5
    weights = torch.exp(scores - torch.logsumexp(scores, dim=2, keepdim=True))
    return weights @ value.double(), weights


@right(r_minimal_repair, r_rewritten, r_swapaxes_in_double)
def test_repair_accepts(answer):
    accept("attention.repair", answer)


# attention.in_blocks


def pieces(query, key, value, size):
    for start in range(0, key.shape[-2], size):
        scores = query @ key[..., start : start + size, :].mT / math.sqrt(query.shape[-1])
        yield scores, value[..., start : start + size, :]


def b_two_plain_sums(query, key, value, block_size):
    numerator, denominator = 0, 0
    for scores, values in pieces(query, key, value, block_size):
        numerator = numerator + torch.exp(scores) @ values
        denominator = denominator + torch.exp(scores).sum(-1, keepdim=True)
    return numerator / denominator


def b_average_of_parts(query, key, value, block_size):
    parts = [s.softmax(-1) @ v for s, v in pieces(query, key, value, block_size)]
    return sum(parts) / len(parts)


def b_total_of_parts(query, key, value, block_size):
    return sum(s.softmax(-1) @ v for s, v in pieces(query, key, value, block_size))


def b_weighted_by_block_length(query, key, value, block_size):
    found = list(pieces(query, key, value, block_size))
    return sum((s.softmax(-1) @ v) * s.shape[-1] for s, v in found) / sum(s.shape[-1] for s, _ in found)


def b_floor_division(query, key, value, block_size):
    blocks = max(1, key.shape[-2] // block_size)
    end = min(blocks * block_size, key.shape[-2])
    return F.scaled_dot_product_attention(query, key[..., :end, :], value[..., :end, :])


def b_overwrites(query, key, value, block_size):
    for scores, values in pieces(query, key, value, block_size):
        output = scores.softmax(-1) @ values
    return output


def b_forgets_to_shrink(query, key, value, block_size):
    top = torch.full((*query.shape[:-1], 1), -math.inf)
    norm, acc = torch.zeros_like(top), 0
    for s, v in pieces(query, key, value, block_size):
        top = torch.maximum(top, s.max(-1, keepdim=True).values)
        p = torch.exp(s - top)
        norm, acc = norm + p.sum(-1, keepdim=True), acc + p @ v
    return acc / norm


def b_shrinks_only_the_sum(query, key, value, block_size):
    top = torch.full((*query.shape[:-1], 1), -math.inf)
    norm, acc = torch.zeros_like(top), 0
    for s, v in pieces(query, key, value, block_size):
        new = torch.maximum(top, s.max(-1, keepdim=True).values)
        p = torch.exp(s - new)
        norm, acc = norm * torch.exp(top - new) + p.sum(-1, keepdim=True), acc + p @ v
        top = new
    return acc / norm


def b_local_maxima(query, key, value, block_size):
    norm, acc = 0, 0
    for s, v in pieces(query, key, value, block_size):
        p = torch.exp(s - s.max(-1, keepdim=True).values)
        norm, acc = norm + p.sum(-1, keepdim=True), acc + p @ v
    return acc / norm


def b_one_shift_for_everybody(query, key, value, block_size):
    shift = max(float(s.max()) for s, _ in pieces(query, key, value, block_size))
    found = [(torch.exp(s - shift), v) for s, v in pieces(query, key, value, block_size)]
    return sum(p @ v for p, v in found) / sum(p.sum(-1, keepdim=True) for p, _ in found)


def b_never_divides(query, key, value, block_size):
    top = torch.cat([s for s, _ in pieces(query, key, value, block_size)], -1).max(-1, keepdim=True).values
    return sum(torch.exp(s - top) @ v for s, v in pieces(query, key, value, block_size))


def b_unscaled(query, key, value, block_size):
    return F.scaled_dot_product_attention(query, key, value, scale=1.0)


def b_blocks_of_queries_and_keys(query, key, value, block_size):
    parts = [
        F.scaled_dot_product_attention(
            query[..., i : i + block_size, :], key[..., i : i + block_size, :], value[..., i : i + block_size, :]
        )
        for i in range(0, query.shape[-2], block_size)
    ]
    return torch.cat(parts, dim=-2)


def b_best_block_only(query, key, value, block_size):
    best = torch.stack([s.logsumexp(-1) for s, _ in pieces(query, key, value, block_size)]).argmax(0)
    outputs = torch.stack([s.softmax(-1) @ v for s, v in pieces(query, key, value, block_size)])
    return torch.gather(outputs, 0, best[None, ..., None].expand(1, *outputs.shape[1:]))[0]


def b_shares_by_the_largest_score(query, key, value, block_size):
    found = list(pieces(query, key, value, block_size))
    shares = torch.stack([s.amax(-1) for s, _ in found]).softmax(0)
    return sum(share[..., None] * (s.softmax(-1) @ v) for share, (s, v) in zip(shares, found, strict=True))


@answers(
    (b_two_plain_sums, "no-maximum"),
    (b_average_of_parts, "mean-of-the-blocks"),
    (b_total_of_parts, "sum-of-the-blocks"),
    (b_weighted_by_block_length, "mean-by-block-length"),
    (b_floor_division, "drops-the-last-keys"),
    (b_overwrites, "last-block-only"),
    (b_forgets_to_shrink, "never-shrinks"),
    (b_shrinks_only_the_sum, "shrinks-the-total-only"),
    (b_local_maxima, "maximum-of-this-block-never-shrinks"),
    (b_one_shift_for_everybody, "one-maximum-for-all"),
    (b_never_divides, "no-division"),
    (b_unscaled, "no-scale"),
    (b_blocks_of_queries_and_keys, None),
    (b_best_block_only, "best-block-only"),
    (b_shares_by_the_largest_score, "shares-by-the-largest-score"),
)
def test_in_blocks_refuses(answer, diagnosis):
    refuse("attention.in_blocks", answer, diagnosis)


def b_key_by_key(query, key, value, block_size):
    scores, values = zip(*pieces(query, key, value, 1), strict=True)
    shares = torch.stack(scores).squeeze(-1).double().softmax(0)
    return sum(share[..., None] * v.double() for share, v in zip(shares, values, strict=True))


def b_logaddexp(query, key, value, block_size):
    size, mean = None, None
    for s, v in pieces(query, key, value, block_size):
        own, part = s.logsumexp(-1, keepdim=True), s.softmax(-1) @ v
        if size is None:
            size, mean = own, part
        else:
            both = torch.logaddexp(size, own)
            mean = mean * (size - both).exp() + part * (own - both).exp()
            size = both
    return mean


@right(b_key_by_key, b_logaddexp)
def test_in_blocks_accepts(answer):
    accept("attention.in_blocks", answer)
