"""Exercise: attention, a strip of queries at a time."""

import math

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib.attention import scaled_dot_product_attention
from course_practice.engine import Convention, Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def attention_in_chunks(query, key, value, size, causal):
    """Attention of `size` queries at a time; `causal` hides later keys.

    >>> query, value = torch.zeros(1, 3, 2), torch.tensor([[[1.0], [3.0], [5.0]]])
    >>> attention_in_chunks(query, query, value, size=2, causal=True)
    tensor([[[1.],
             [2.],
             [3.]]])
    """
    k_len = key.shape[-2]
    outputs = []
    for start in range(0, query.shape[-2], size):
        strip = query[..., start : start + size, :]
        mask = None
        if causal:
            rows = start + torch.arange(strip.shape[-2])
            mask = torch.arange(k_len) <= rows[:, None]
        outputs.append(scaled_dot_product_attention(strip, key, value, mask)[0])
    return torch.cat(outputs, dim=-2)


def into_a_buffer(query, key, value, size, causal):
    n = query.shape[-2]
    output = query.new_empty(*query.shape[:-1], value.shape[-1])
    for start in range(0, n, size):
        stop = min(start + size, n)
        scores = query[..., start:stop, :] @ key.mT / math.sqrt(query.shape[-1])
        if causal:
            later = torch.ones(stop - start, key.shape[-2], dtype=torch.bool).triu(start + 1)
            scores = scores.masked_fill(later, -math.inf)
        output[..., start:stop, :] = scores.softmax(-1) @ value
    return output


def only_the_keys_it_sees(query, key, value, size, causal):
    outputs, start = [], 0
    for strip in query.split(size, dim=-2):
        stop = start + strip.shape[-2]
        end = stop if causal else key.shape[-2]
        scores = strip @ key[..., :end, :].transpose(-2, -1) * query.shape[-1] ** -0.5
        if causal:
            scores = scores + torch.full((stop - start, end), -math.inf).triu(start + 1)
        outputs.append(scores.softmax(dim=-1) @ value[..., :end, :])
        start = stop
    return torch.cat(outputs, dim=-2)


def blocks_of_keys(query, key, value, size, causal):
    n = query.shape[-2]
    sizes = torch.full_like(query[..., :1], -math.inf)
    output = query.new_zeros(*query.shape[:-1], value.shape[-1])
    for start in range(0, key.shape[-2], size):
        keys, values = key[..., start : start + size, :], value[..., start : start + size, :]
        scores = query @ keys.mT / math.sqrt(query.shape[-1])
        if causal:
            columns = start + torch.arange(keys.shape[-2])
            scores = scores.masked_fill(columns > torch.arange(n)[:, None], -math.inf)
        own = scores.logsumexp(-1, keepdim=True)
        both = torch.logaddexp(sizes, own)
        mixed = (scores - both).exp() @ values
        output, sizes = output * (sizes - both).exp() + mixed, both
    return output


_PRODUCTS = (torch.ops.aten.mm, torch.ops.aten.bmm, torch.ops.aten.addmm, torch.ops.aten.baddbmm)


class _Largest(TorchDispatchMode):
    """The largest number of entries that a matrix product makes, and that anything makes."""

    def __init__(self):
        super().__init__()
        self.product = self.anything = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        for output in made if isinstance(made, tuple | list) else [made]:
            if isinstance(output, Tensor) and output._base is None:
                self.anything = max(self.anything, output.numel())
                if function.overloadpacket in _PRODUCTS:
                    self.product = max(self.product, output.numel())
        return made


def _makes_the_table(obj, given):
    """Are there more scores at a time than asked for? A mask (n, n) is no score and may be made whole."""
    query, key, value, size, _causal = given.args
    n, lead = query.shape[-2], math.prod(query.shape[:-2])
    inputs = max(tensor.numel() for tensor in (query, key, value))
    allowed = max(inputs, lead * size * n)
    if lead * n * n <= allowed:
        return ""  # a table would be no larger than what is allowed
    with _Largest() as largest:
        obj(*given.args)
    return "whole-table" if largest.product > allowed or largest.anything > lead * n * n else ""


def _whole(query, key, value, size, causal):
    n = query.shape[-2]
    mask = torch.ones(n, key.shape[-2], dtype=torch.bool).tril() if causal else None
    return scaled_dot_product_attention(query, key, value, mask)[0]


def _strips(mask=lambda start, rows, k_len: None, scale=math.sqrt, join=-2, keep=lambda n, size: n):
    """The right answer with some of its steps exchanged."""

    def wrong(query, key, value, size, causal):
        outputs, end = [], keep(query.shape[-2], size)
        for start in range(0, end, size):
            strip = query[..., start : min(start + size, end), :]
            scores = strip @ key.mT / scale(query.shape[-1])
            if causal:
                hidden = mask(start, strip.shape[-2], key.shape[-2])
                scores = scores if hidden is None else scores.masked_fill(hidden, -math.inf)
            weights = scores.softmax(dim=-1)
            outputs.append(weights @ value)
        return torch.cat(outputs, dim=join)

    return wrong


def _later(start, rows, k_len, offset=0):
    return torch.arange(k_len) > (start + offset + torch.arange(rows))[:, None]


def _blocks_apart(join):
    """A softmax over each block of keys by itself."""

    def wrong(query, key, value, size, causal):
        outputs = []
        n = query.shape[-2]
        for start in range(0, key.shape[-2], size):
            keys, values = key[..., start : start + size, :], value[..., start : start + size, :]
            scores = query @ keys.mT / math.sqrt(query.shape[-1])
            if causal:
                columns = start + torch.arange(keys.shape[-2])
                scores = scores.masked_fill(columns > torch.arange(n)[:, None], -1e9)
            outputs.append(scores.softmax(dim=-1) @ values)
        return join(torch.stack(outputs))

    return wrong


def _strips_apart(query, key, value, size, causal):
    """Each strip attends to the keys of its own strip."""
    outputs = []
    parts = (tensor.split(size, dim=-2) for tensor in (query, key, value))
    for strip, keys, values in zip(*parts, strict=True):
        mask = torch.ones(strip.shape[-2], keys.shape[-2], dtype=torch.bool).tril() if causal else None
        outputs.append(scaled_dot_product_attention(strip, keys, values, mask)[0])
    return torch.cat(outputs, dim=-2)


def _full_strips_only(n, size):
    return max(n // size, 1) * size if n >= size else n


def _case(lead, n, d_k, d_v, size, causal, about, seed):
    shapes = [(*lead, n, d_k), (*lead, n, d_k), (*lead, n, d_v)]
    return case(*(randn(*shape, seed=seed + i) for i, shape in enumerate(shapes)), size, causal, about=about)


EXERCISE = Exercise(
    title="Free: attention in strips",
    task="Return the output of scaled dot-product attention of query, key (batch, n, d_k) and value (batch, n, d_v). "
    "Take `size` queries at a time, so that no tensor holds more than size · n scores for a head. With causal=True, "
    "query i sees the keys 0 … i. The last strip may be shorter.",
    reference=attention_in_chunks,
    cases=lambda: [
        _case((1,), 4, 3, 2, 2, False, "two strips of two queries", 0),
        _case((2,), 6, 5, 3, 3, False, "two strips of three queries", 3),
        _case((2,), 6, 5, 3, 3, True, "two strips of three queries, causal", 6),
        _case((1,), 7, 2, 3, 3, False, "a last strip that is shorter", 9),
        _case((2,), 11, 3, 5, 4, True, "a shorter last strip, causal", 12),
        _case((1,), 5, 3, 2, 1, True, "one query at a time, causal", 15),
        _case((1,), 3, 5, 2, 3, True, "one strip for all, causal", 18),
        _case((6,), 17, 3, 2, 2, True, "six texts, causal", 21),
        _case((3,), 3, 3, 3, 3, False, "all sizes equal", 24),
    ],
    excluded=_makes_the_table,
    mistakes=(
        Convention(
            "whole-table",
            _whole,
            "Valid, but on the way there is a tensor with more than size · n scores for a head, such as the whole "
            "table. Cut the queries *before* the product with the keys.",
        ),
        Mistake(
            "never-causal",
            _strips(),
            "Right without a mask. With causal=True, no query may see a later key.",
        ),
        Mistake(
            "always-causal",
            lambda query, key, value, size, causal: attention_in_chunks(query, key, value, size, True),
            "Right with causal=True. Without it, every query sees all the keys: look at `causal` before you mask.",
        ),
        Mistake(
            "mask-of-the-first-strip",
            _strips(lambda start, rows, k_len: _later(0, rows, k_len)),
            "The first strip is right. In the others each query sees too little, as if its strip stood at the "
            "beginning: add `start` to the number of the row.",
        ),
        Mistake(
            "sees-one-too-many",
            _strips(lambda start, rows, k_len: _later(start, rows, k_len, 1)),
            "With causal=True each query sees one key too many: the one behind it. Query i sees the keys 0 … i.",
        ),
        Mistake(
            "does-not-see-itself",
            _strips(lambda start, rows, k_len: (_later(start, rows, k_len, -1)) & (torch.arange(k_len) > 0)),
            "With causal=True a query does not see its own key. It sees the keys 0 … i, itself included.",
        ),
        Mistake(
            "sees-its-whole-strip",
            _strips(lambda start, rows, k_len: (torch.arange(k_len) >= start + rows).expand(rows, -1)),
            "With causal=True a query sees its whole strip, and so keys behind it. Each row needs its own limit.",
        ),
        Mistake(
            "blocks-averaged",
            _blocks_apart(lambda outputs: outputs.mean(dim=0)),
            "You cut the keys, take a softmax over each block by itself, and average. The weights of a query must sum "
            "to 1 over *all* keys: cut the queries instead, or carry the sums along.",
        ),
        Mistake(
            "blocks-added-never-causal",
            lambda query, key, value, size, causal: _blocks_apart(lambda outputs: outputs.sum(dim=0))(
                query, key, value, size, False
            ),
            "You cut the keys, take a softmax over each block by itself, and add, so that the weights of a query sum "
            "to the number of blocks. (And nothing is hidden with causal=True.)",
        ),
        Mistake(
            "blocks-added",
            _blocks_apart(lambda outputs: outputs.sum(dim=0)),
            "You cut the keys, take a softmax over each block by itself, and add. The weights of a query then sum to "
            "the number of blocks.",
        ),
        Mistake(
            "strips-apart",
            _strips_apart,
            "Each strip of queries sees only the keys with the same numbers. Cut the queries alone: every strip needs "
            "all the keys.",
        ),
        Mistake(
            "strips-apart-never-causal",
            lambda query, key, value, size, causal: _strips_apart(query, key, value, size, False),
            "You cut queries, keys, and values alike, so a strip sees only the keys with the same numbers. Cut the "
            "queries alone. (And nothing is hidden with causal=True.)",
        ),
        Mistake(
            "drops-the-last-queries",
            _strips(_later, keep=_full_strips_only),
            "The last strip is left out where it is shorter than the others.",
        ),
        Mistake(
            "joined-as-features",
            lambda query, key, value, size, causal: (
                torch.cat(attention_in_chunks(query, key, value, size, causal).split(size, dim=-2), dim=-1)
                if query.shape[-2] % size == 0
                else attention_in_chunks(query, key, value, size, causal)[..., :size, :]
            ),
            "The strips are joined along the features. They are rows: join them along the queries, dim=-2.",
        ),
        Mistake(
            "stacked",
            lambda query, key, value, size, causal: torch.stack(
                attention_in_chunks(query, key, value, size, causal).split(size, dim=-2), dim=-3
            ),
            "The strips are stacked, on an axis of their own, and a shorter last one does not fit there. They are rows "
            "of one output: `torch.cat` them along the queries, dim=-2.",
        ),
        Mistake(
            "joined-along-the-batch",
            lambda query, key, value, size, causal: torch.cat(
                attention_in_chunks(query, key, value, size, causal).split(size, dim=-2)
            ),
            "The strips are joined along the batch, the axis that `torch.cat` takes by itself. They are rows of one "
            "output: join them along the queries, dim=-2.",
        ),
        Mistake(
            "not-scaled",
            _strips(_later, scale=lambda d_k: 1.0),
            "The scores are not divided by √d_k.",
        ),
        Mistake(
            "scaled-twice",
            _strips(_later, scale=lambda d_k: d_k),
            "The scores are divided by d_k, as if they were scaled twice: divide by √d_k once.",
        ),
    ),
    hints=(
        "A softmax runs along one row of the table. What does a query need of the other queries?",
        "Cut the queries with `query[..., start : start + size, :]`, and let every strip see all the keys. Row r of a "
        "strip is query start + r.",
        "In the loop: scores of the strip, with `torch.arange(k_len) <= start + torch.arange(rows)[:, None]` as a "
        "causal mask, softmax, times value; at the end `torch.cat(outputs, dim=-2)`.",
    ),
    alternatives=(into_a_buffer, only_the_keys_it_sees, blocks_of_keys),
    difficulty=2,
    minutes=15,
)
