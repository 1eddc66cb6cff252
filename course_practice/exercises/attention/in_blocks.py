import math

import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.attention._inputs import SPREAD, queries
from course_practice.exercises.watched import tensors_made


def attention_in_blocks(query, key, value, block_size):
    """The output of attention, with the keys read block by block.

    Each query carries three things along: its largest score so far, the sum of
    its exponentials, and the sum of its values weighted by them. When a larger
    score turns up, both sums shrink to the new scale.
    Source: Milakov and Gimelshein 2018, section 3 (normalizer in one pass);
    Dao et al. 2022, section 3.1.

    >>> query, key = torch.zeros(1, 2), torch.eye(3)[:, :2]
    >>> value = torch.tensor([[3.0], [6.0], [9.0]])
    >>> attention_in_blocks(query, key, value, block_size=2)
    tensor([[6.]])
    """
    query = query / math.sqrt(query.shape[-1])
    largest = torch.full_like(query[..., :1], -math.inf)
    total = torch.zeros_like(largest)
    mixed = torch.zeros_like(largest)  # (…, q_len, d_v) after the first block
    for start in range(0, key.shape[-2], block_size):
        keys = key[..., start : start + block_size, :]
        values = value[..., start : start + block_size, :]
        scores = query @ keys.transpose(-2, -1)
        new_largest = torch.maximum(largest, scores.amax(dim=-1, keepdim=True))
        exps = (scores - new_largest).exp()
        shrink = (largest - new_largest).exp()
        total = total * shrink + exps.sum(dim=-1, keepdim=True)
        mixed = mixed * shrink + exps @ values
        largest = new_largest
    return mixed / total


def blocks_joined_by_logsumexp(query, key, value, block_size):
    outputs, sizes = [], []
    for keys, values in zip(key.split(block_size, dim=-2), value.split(block_size, dim=-2), strict=True):
        scores = query @ keys.transpose(-2, -1) / math.sqrt(query.shape[-1])
        outputs.append(scores.softmax(dim=-1) @ values)
        sizes.append(scores.logsumexp(dim=-1))
    shares = torch.stack(sizes).softmax(dim=0)
    return (shares[..., None] * torch.stack(outputs)).sum(dim=0)


def _makes_large_tables(obj, given):
    query, key, value, block_size = given.args
    q_len, k_len = query.shape[-2], key.shape[-2]
    others = {query.shape[-1], value.shape[-1], block_size, 1}
    if {q_len, k_len} & others or q_len == k_len or block_size > k_len:
        return ""  # here a shape does not say what it is
    made = tensors_made(obj, *given.args)
    if any({q_len, k_len} <= set(shape) for shape, _is_product in made):
        return "whole-table"
    sizes = {size for shape, is_product in made if is_product and q_len in shape for size in shape}
    sizes -= {q_len, *others, value.shape[-1] + 1}  # a column of ones beside the values sums up the weights
    return "large-blocks" if any(block_size < size < k_len for size in sizes) else ""


def _blocks_case(lead, q_len, k_len, d_k, d_v, block_size, about, scale=1.0, seed=0):
    given = queries(lead, q_len, k_len, d_k, d_v, about, scale, seed)
    return case(*given.args, block_size, about=about)


EXERCISE = Exercise(
    reference=attention_in_blocks,
    cases=lambda: [
        _blocks_case((), 1, 2, 1, 1, 1, "two keys, one a block"),
        _blocks_case((), 3, 6, 5, 2, 3, "two full blocks"),
        _blocks_case((), 5, 7, 3, 2, 3, "a last block that is not full", seed=3),
        _blocks_case((), 3, 11, 5, 7, 4, "three blocks", seed=6),
        _blocks_case((), 3, 11, 5, 7, 2, "six blocks", seed=18),
        _blocks_case((), 3, 5, 7, 4, 13, "one block for everything", seed=9),
        _blocks_case((), 3, 3, 3, 3, 1, "all sizes equal", seed=12),
        _blocks_case((), 6, 7, 5, 4, 2, "large scores", scale=SPREAD, seed=15),
        case(
            torch.tensor([[1.0, 1.0]]),
            torch.tensor([[-150.0, -151.0], [-149.0, -152.0], [-150.0, -150.0]]),
            torch.tensor([[3.0], [6.0], [9.0]]),
            2,
            about="all scores far below zero",
        ),
    ],
    excluded=_makes_large_tables,
    alternatives=(blocks_joined_by_logsumexp,),
)
