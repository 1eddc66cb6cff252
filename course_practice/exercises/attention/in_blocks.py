"""Exercise: attention without the table."""

import math

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from course_practice.engine import Convention, Exercise, Mistake, case
from course_practice.exercises.attention._inputs import SPREAD, queries


def attention_in_blocks(query, key, value, block_size):
    """The output of attention, with the keys read block by block.

    Each query carries three things along: its largest score so far, the sum of
    its exponentials, and the sum of its values weighted by them. When a larger
    score turns up, both sums shrink to the new scale.
    Source: Milakov and Gimelshein 2018, section 3 (softmax in one pass);
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


def blocks_in_two_passes(query, key, value, block_size):
    def scores_of(start):
        return query @ key[..., start : start + block_size, :].transpose(-2, -1) / math.sqrt(query.shape[-1])

    starts = range(0, key.shape[-2], block_size)
    largest = torch.stack([scores_of(start).amax(dim=-1) for start in starts]).amax(dim=0).unsqueeze(-1)
    total, mixed = 0.0, 0.0
    for start in starts:
        exps = (scores_of(start) - largest).exp()
        total = total + exps.sum(dim=-1, keepdim=True)
        mixed = mixed + exps @ value[..., start : start + block_size, :]
    return mixed / total


def blocks_joined_pair_by_pair(query, key, value, block_size):
    size, output = -math.inf * torch.ones_like(query[..., :1]), 0.0
    for keys, values in zip(key.split(block_size, dim=-2), value.split(block_size, dim=-2), strict=True):
        scores = query @ keys.transpose(-2, -1) / math.sqrt(query.shape[-1])
        own = scores.logsumexp(dim=-1, keepdim=True)
        both = torch.logaddexp(size, own)
        output = output * (size - both).exp() + scores.softmax(dim=-1) @ values * (own - both).exp()
        size = both
    return output


_PRODUCTS = (torch.ops.aten.mm, torch.ops.aten.bmm, torch.ops.aten.addmm, torch.ops.aten.baddbmm)


class _Watch(TorchDispatchMode):
    """Looks at the shape of every tensor that is made, and of those that a matrix product makes."""

    def __init__(self):
        super().__init__()
        self.shapes, self.products = set(), set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        outputs = made if isinstance(made, tuple | list) else [made]
        shapes = {tuple(output.shape) for output in outputs if isinstance(output, Tensor)}
        self.shapes |= shapes
        self.products |= shapes if function.overloadpacket in _PRODUCTS else set()
        return made


def _makes_large_tables(obj, given):
    query, key, value, block_size = given.args
    q_len, k_len = query.shape[-2], key.shape[-2]
    others = {query.shape[-1], value.shape[-1], block_size, 1}
    if {q_len, k_len} & others or q_len == k_len or block_size > k_len:
        return ""  # here a shape does not say what it is
    with _Watch() as watch:
        obj(*given.args)
    if any({q_len, k_len} <= set(shape) for shape in watch.shapes):
        return "whole-table"
    sizes = {size for shape in watch.products if q_len in shape for size in shape}
    sizes -= {q_len, *others, value.shape[-1] + 1}  # a column of ones beside the values sums up the weights
    return "large-blocks" if any(block_size < size < k_len for size in sizes) else ""


def _all_keys_at_once(query, key, value, block_size):
    return (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).softmax(dim=-1) @ value


def _blocks(
    scale=lambda q: math.sqrt(q.shape[-1]),
    shrink_total=True,
    shrink_mixed=True,
    factor=lambda old, new: (old - new).exp(),
    running=torch.maximum,
    first=-math.inf,
    finish=lambda mixed, total: mixed / total,
    keep=lambda key, block_size: key.shape[-2],
):
    def implementation(query, key, value, block_size):
        largest = total = mixed = None
        end = keep(key, block_size)
        for start in range(0, end, block_size):
            keys = key[..., start : min(start + block_size, end), :]
            values = value[..., start : min(start + block_size, end), :]
            scores = query @ keys.transpose(-2, -1) / scale(query)
            found = scores.amax(dim=-1, keepdim=True)
            new = found.clamp(min=first) if largest is None else running(largest, found)
            exps = (scores - new).exp()
            sums, mixes = exps.sum(dim=-1, keepdim=True), exps @ values
            if largest is None:
                total, mixed = sums, mixes
            else:
                shrink = factor(largest, new)
                total = total * (shrink if shrink_total else 1.0) + sums
                mixed = mixed * (shrink if shrink_mixed else 1.0) + mixes
            largest = new
        return finish(mixed, total)

    return implementation


def _no_maximum(query, key, value, block_size):
    total = mixed = 0.0
    for keys, values in zip(key.split(block_size, dim=-2), value.split(block_size, dim=-2), strict=True):
        exps = (query @ keys.transpose(-2, -1) / math.sqrt(query.shape[-1])).exp()
        total, mixed = total + exps.sum(dim=-1, keepdim=True), mixed + exps @ values
    return mixed / total


def _one_maximum_for_all(query, key, value, block_size):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    exps = (scores - scores.max()).exp()
    return exps @ value / exps.sum(dim=-1, keepdim=True)


def _own_softmax(join, scale=lambda q: math.sqrt(q.shape[-1])):
    def implementation(query, key, value, block_size):
        outputs = []
        for keys, values in zip(key.split(block_size, dim=-2), value.split(block_size, dim=-2), strict=True):
            outputs.append((query @ keys.transpose(-2, -1) / scale(query)).softmax(dim=-1) @ values)
        return join(torch.stack(outputs))

    return implementation


def _as_many_blocks(query, key, value, block_size):
    k_len = key.shape[-2]
    return attention_in_blocks(query, key, value, math.ceil(k_len / min(block_size, k_len)))


def _first_maximum(query, key, value, block_size):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    exps = (scores - scores[..., :block_size].amax(dim=-1, keepdim=True)).exp()
    return exps @ value / exps.sum(dim=-1, keepdim=True)


def _cut_off(query, key, value, block_size):
    exps = (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).clamp(max=60.0).exp()
    return exps @ value / exps.sum(dim=-1, keepdim=True)


def _full_blocks_or(empty):
    def implementation(query, key, value, block_size):
        if key.shape[-2] < block_size:
            return empty(query, value)
        return _blocks(keep=_full_blocks_only)(query, key, value, block_size)

    return implementation


def _share_of_nothing(query, value):
    return value.new_full((*query.shape[:-1], value.shape[-1]), math.nan)


_DROPS = "Where the last block is not full, it is left out. All keys count: where does your loop end?"


def _shared(size):
    """Join the blocks' own outputs by a softmax over a size of each block; the right size is the logsumexp."""

    def implementation(query, key, value, block_size):
        outputs, sizes = [], []
        for keys, values in zip(key.split(block_size, dim=-2), value.split(block_size, dim=-2), strict=True):
            scores = query @ keys.transpose(-2, -1) / math.sqrt(query.shape[-1])
            outputs.append(scores.softmax(dim=-1) @ values)
            sizes.append(size(scores))
        return (torch.stack(sizes).softmax(dim=0)[..., None] * torch.stack(outputs)).sum(dim=0)

    return implementation


def _full_blocks_only(key, block_size):
    return max(key.shape[-2] // block_size, 1) * block_size if key.shape[-2] >= block_size else key.shape[-2]


def _blocks_case(lead, q_len, k_len, d_k, d_v, block_size, about, scale=1.0, seed=0):
    given = queries(lead, q_len, k_len, d_k, d_v, about, scale, seed)
    return case(*given.args, block_size, about=about)


EXERCISE = Exercise(
    title="Attention without the table",
    task="For query (q_len, d_k), key (k_len, d_k) and value (k_len, d_v), compute the output of scaled dot-product "
    "attention while reading block_size keys at a time; no tensor of shape (q_len, k_len) may be needed.",
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
    mistakes=(
        Convention(
            "whole-table",
            _all_keys_at_once,
            "Valid, but on the way a tensor holds a number for each query and each key, (q_len, k_len): the table "
            "which this exercise does without. Carry along what each query needs of the blocks it has seen.",
        ),
        Convention(
            "large-blocks",
            _as_many_blocks,
            "The output is right, but a table of scores on the way has more than block_size keys. `block_size` says "
            "how many keys a block has, not how many blocks there are.",
        ),
        Mistake(
            "no-maximum",
            _no_maximum,
            "Right for small scores, NaN for large ones: the exponential of 100 is infinite in float32. Keep the "
            "largest score so far and subtract it.",
        ),
        Mistake(
            "maximum-starts-at-zero",
            _blocks(running=lambda old, found: torch.maximum(old, found).clamp(min=0.0), first=0.0),
            "Your largest score starts at 0, so a query whose scores are all far below 0 gets 0 divided by 0. Start "
            "at −∞.",
        ),
        Mistake(
            "one-maximum-for-all",
            _one_maximum_for_all,
            "A query whose scores lie far below those of another gets 0 divided by 0, as when one maximum is "
            "subtracted for all. Each query (row) needs its own.",
        ),
        Mistake(
            "mean-of-the-blocks",
            _own_softmax(lambda outputs: outputs.mean(dim=0)),
            "Your result is the plain mean of what each block gives by itself. A block full of bad matches then "
            "counts as much as a block of good ones. What says how much a block deserves?",
        ),
        Mistake(
            "mean-by-block-length",
            _shared(lambda scores: torch.full_like(scores[..., 0], math.log(scores.shape[-1]))),
            "Each block has a softmax of its own, and counts by the number of its keys. But a block full of bad "
            "matches deserves less: its share is the sum of its exponentials.",
        ),
        Mistake(
            "shares-by-the-largest-score",
            _shared(lambda scores: scores.amax(dim=-1)),
            "Each block counts by its *largest* score. Its share is the sum of *all* its exponentials: two good "
            "matches deserve more than one.",
        ),
        Mistake(
            "best-block-only",
            _shared(lambda scores: scores.logsumexp(dim=-1) * 1e9),
            "Each query takes its best block and forgets the others. All blocks count, each by the sum of its "
            "exponentials.",
        ),
        Mistake(
            "sum-of-the-blocks",
            _own_softmax(lambda outputs: outputs.sum(dim=0)),
            "Your result is the sum of what each block gives by itself, so that the weights of one query sum to the "
            "number of blocks. Divide once, at the end, by the total of all exponentials.",
        ),
        Mistake(
            "last-block-only",
            _own_softmax(lambda outputs: outputs[-1]),
            "Only the last block is left in your answer. Does each turn of the loop overwrite what came before?",
        ),
        Mistake(
            "drops-the-last-keys",
            _blocks(keep=_full_blocks_only),
            _DROPS,
        ),
        Mistake(
            "drops-the-last-keys-even-all",
            _full_blocks_or(_share_of_nothing),
            f"{_DROPS} (Where a block has room for more than all keys, none is read, and the answer is NaN.)",
        ),
        Mistake(
            "drops-the-last-keys-and-stops",
            _full_blocks_or(lambda query, value: 0 / 0),
            f"{_DROPS} (Where a block has room for more than all keys, none is read, and it stops: division by zero.)",
        ),
        Mistake(
            "maximum-of-the-first-block",
            _first_maximum,
            "You go on with the largest score of the *first* block. Where a later score is far larger, its exponential "
            "is infinite: keep the largest so far.",
        ),
        Mistake(
            "large-scores-cut-off",
            _cut_off,
            "Right for small scores, but the largest come out equal, as when they are cut off at a bound, and a query "
            "with scores far below 0 gets 0 divided by 0. Subtract the largest score so far instead.",
        ),
        Mistake(
            "never-shrinks",
            _blocks(shrink_total=False, shrink_mixed=False),
            "When a larger score turns up, the exponentials of before are on the old scale. Both sums must be "
            "multiplied by exp(old largest − new largest).",
        ),
        Mistake(
            "shrinks-the-total-only",
            _blocks(shrink_mixed=False),
            "The total is brought to the new scale, the sum of the values is not. Both are sums of the same "
            "exponentials.",
        ),
        Mistake(
            "shrinks-the-values-only",
            _blocks(shrink_total=False),
            "The sum of the values is brought to the new scale, the total is not. Both are sums of the same "
            "exponentials.",
        ),
        Mistake(
            "grows-instead-of-shrinking",
            _blocks(factor=lambda old, new: (new - old).exp()),
            "The factor is turned round: it must be exp(old − new), at most 1, because the old exponentials were "
            "divided by too little.",
        ),
        Mistake(
            "factor-without-exp",
            _blocks(factor=lambda old, new: old - new),
            "You multiply by the difference of the two maxima. The sums hold *exponentials*, so the factor is the "
            "exponential of that difference.",
        ),
        Mistake(
            "maximum-of-this-block",
            _blocks(running=lambda old, found: found),
            "You go on with the largest score of *this* block. If an earlier one was larger, exp(old − new) may be "
            "infinite: keep the larger of the two.",
        ),
        Mistake(
            "maximum-of-this-block-never-shrinks",
            _blocks(running=lambda old, found: found, shrink_total=False, shrink_mixed=False),
            "Each block subtracts its own largest score, so the blocks are on different scales when you add them up. "
            "One scale for all: the largest so far, and sums that follow it.",
        ),
        Mistake(
            "no-division",
            _blocks(finish=lambda mixed, total: mixed),
            "The sum of the values is right, the division by the total of the exponentials is missing.",
        ),
        Mistake(
            "no-scale",
            _blocks(scale=lambda q: 1.0),
            "The blocks are joined rightly; the scores are not divided by √d_k.",
        ),
        Mistake(
            "divides-by-d-k",
            _blocks(scale=lambda q: q.shape[-1]),
            "The blocks are joined rightly; the scores are divided by d_k instead of √d_k.",
        ),
        Mistake(
            "no-scale-and-mean-of-the-blocks",
            _own_softmax(lambda outputs: outputs.mean(dim=0), scale=lambda q: 1.0),
            "Two things: the division by √d_k is missing, and the mean of the blocks treats good and bad ones alike.",
        ),
        Mistake(
            "no-scale-and-never-shrinks",
            _blocks(scale=lambda q: 1.0, shrink_total=False, shrink_mixed=False),
            "Two things: the division by √d_k is missing, and the sums do not follow when the largest score changes.",
        ),
        Mistake(
            "shrinks-and-drops-the-last-keys",
            _blocks(keep=_full_blocks_only, shrink_total=False, shrink_mixed=False),
            "Two things: the keys of the last, incomplete block are left out, and the sums do not follow when the "
            "largest score changes.",
        ),
    ),
    hints=(
        "Start with two sums for each query, over all blocks: of exp(score), and of exp(score) · value. Their ratio "
        "is the answer, as long as no exponential overflows.",
        "Against the overflow, subtract the largest score so far. When it changes from old to new, what is already in "
        "the sums is too large by a factor of exp(new − old).",
        "In each block: `new = torch.maximum(old, scores.amax(-1, keepdim=True))`, then both sums times `(old - "
        "new).exp()` plus what the block adds with `(scores - new).exp()`.",
    ),
    alternatives=(blocks_joined_by_logsumexp, blocks_in_two_passes, blocks_joined_pair_by_pair),
    difficulty=3,
    minutes=20,
)
