import math

import torch

from course_lib.attention import scaled_dot_product_attention
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn
from course_practice.exercises.watched import tensors_made


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


def _makes_the_table(obj, given):
    """Are there more scores at a time than asked for? A mask (n, n) is no score and may be made whole."""
    query, key, value, size, _causal = given.args
    n, lead = query.shape[-2], math.prod(query.shape[:-2])
    inputs = max(tensor.numel() for tensor in (query, key, value))
    allowed = max(inputs, lead * size * n)
    if lead * n * n <= allowed:
        return ""  # a table would be no larger than what is allowed
    made = tensors_made(obj, *given.args)
    large = (math.prod(shape) > (allowed if is_product else lead * n * n) for shape, is_product in made)
    return "whole-table" if any(large) else ""


def _case(lead, n, d_k, d_v, size, causal, about, seed):
    shapes = [(*lead, n, d_k), (*lead, n, d_k), (*lead, n, d_v)]
    return case(*(randn(*shape, seed=seed + i) for i, shape in enumerate(shapes)), size, causal, about=about)


EXERCISE = Exercise(
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
    alternatives=(into_a_buffer,),
)
