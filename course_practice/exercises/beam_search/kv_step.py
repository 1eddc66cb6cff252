"""Exercise: one step with a cache of keys and values."""

import math

import torch
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def kv_step(x, key, value, positions, w_q, w_k, w_v):
    """Attention of the newest token alone: (output (batch, d_v), key, value), the cache longer by one.

    `x` (batch, d) is its vector before the position is added; `key` and `value` (batch, n, …) are those of the n tokens
    before. `positions` (max_len, d) has a row for each position.

    >>> x, nothing = torch.ones(1, 2), torch.zeros(1, 0, 2)
    >>> output, key, value = kv_step(x, nothing, nothing, torch.zeros(4, 2), torch.eye(2), torch.eye(2), torch.eye(2))
    >>> output, key.shape
    (tensor([[1., 1.]]), torch.Size([1, 1, 2]))
    """
    x = x + positions[key.shape[1]]
    key = torch.cat([key, (x @ w_k)[:, None]], dim=1)
    value = torch.cat([value, (x @ w_v)[:, None]], dim=1)
    scores = (x @ w_q)[:, None] @ key.mT / math.sqrt(key.shape[-1])
    return (scores.softmax(dim=-1) @ value)[:, 0], key, value


def with_pytorch(x, key, value, positions, w_q, w_k, w_v):
    n = key.size(1)
    x = (x + positions[n : n + 1]).unsqueeze(1)
    key, value = torch.cat((key, x @ w_k), 1), torch.cat((value, x @ w_v), 1)
    return F.scaled_dot_product_attention(x @ w_q, key, value).squeeze(1), key, value


def into_a_buffer(x, key, value, positions, w_q, w_k, w_v):
    batch, n, d_k = key.shape
    x = x + positions[n]
    keys, values = x.new_empty(batch, n + 1, d_k), x.new_empty(batch, n + 1, value.shape[2])
    keys[:, :n], values[:, :n] = key, value
    keys[:, n], values[:, n] = x @ w_k, x @ w_v
    weights = torch.einsum("bd,bnd->bn", x @ w_q, keys).div(d_k**0.5).softmax(1)
    return torch.einsum("bn,bnd->bd", weights, values), keys, values


def sentence_by_sentence(x, key, value, positions, w_q, w_k, w_v):
    outputs, keys, values = [], [], []
    for row, old_key, old_value in zip(x, key, value, strict=True):
        row = row + positions[len(old_key)]
        keys.append(torch.vstack([old_key, row @ w_k]))
        values.append(torch.vstack([old_value, row @ w_v]))
        weights = torch.softmax(keys[-1] @ (row @ w_q) / w_k.shape[1] ** 0.5, dim=0)
        outputs.append(weights @ values[-1])
    return torch.stack(outputs), torch.stack(keys), torch.stack(values)


def _step(
    position=lambda positions, n: positions[n],
    kept=lambda old, new: torch.cat([old, new], dim=1),
    scale=math.sqrt,
    hide=lambda scores: scores,
    new_key=lambda x, w_q, w_k, w_v: x @ w_k,
    new_value=lambda x, w_q, w_k, w_v: x @ w_v,
    returns=lambda old, new: new,
):
    """The right answer with some of its steps exchanged."""

    def wrong(x, key, value, positions, w_q, w_k, w_v):
        old = key, value
        x = x + position(positions, key.shape[1])
        key = kept(key, new_key(x, w_q, w_k, w_v)[:, None])
        value = kept(value, new_value(x, w_q, w_k, w_v)[:, None])
        scores = hide((x @ w_q)[:, None] @ key.mT / scale(key.shape[-1]))
        output = (scores.softmax(dim=-1) @ value)[:, 0]
        return output, returns(old[0], key), returns(old[1], value)

    return wrong


def _does_not_see_itself(x, key, value, positions, w_q, w_k, w_v):
    _, new_key, new_value = kv_step(x, key, value, positions, w_q, w_k, w_v)
    if not key.shape[1]:
        return torch.zeros_like(new_value[:, 0]), new_key, new_value
    query = ((x + positions[key.shape[1]]) @ w_q)[:, None]
    return scaled_dot_product_attention(query, key, value)[0][:, 0], new_key, new_value


def _position_for_the_query_alone(x, key, value, positions, w_q, w_k, w_v):
    query = ((x + positions[key.shape[1]]) @ w_q)[:, None]
    key, value = torch.cat([key, (x @ w_k)[:, None]], dim=1), torch.cat([value, (x @ w_v)[:, None]], dim=1)
    return scaled_dot_product_attention(query, key, value)[0][:, 0], key, value


def _first_key_alone(scores):
    return scores.masked_fill(torch.arange(scores.shape[-1]) > 0, float("-inf"))


def _position_by_the_batch(x, key, value, positions, w_q, w_k, w_v):
    x = x + positions[len(key)] - positions[key.shape[1]]
    return kv_step(x, key, value, positions, w_q, w_k, w_v)


def _no_axis_for_the_token(x, key, value, positions, w_q, w_k, w_v):
    return torch.cat([key, x @ w_k], dim=1)


def _axis_kept(x, key, value, positions, w_q, w_k, w_v):
    output, key, value = kv_step(x, key, value, positions, w_q, w_k, w_v)
    return output[:, None], key, value


def _weights_over_the_batch(x, key, value, positions, w_q, w_k, w_v):
    _, key, value = kv_step(x, key, value, positions, w_q, w_k, w_v)
    x = x + positions[key.shape[1] - 1]
    scores = ((x @ w_q)[:, None] * key).sum(dim=-1) / math.sqrt(key.shape[-1])
    return (scores.softmax(dim=0)[..., None] * value).sum(dim=1), key, value


def _case(batch, n, d, d_k, about, seed, max_len=12):
    return case(
        randn(batch, d, seed=seed),
        randn(batch, n, d_k, seed=seed + 1),
        randn(batch, n, d_k, seed=seed + 2),
        randn(max_len, d, seed=seed + 3),
        *(randn(d, d_k, seed=seed + 4 + i) for i in range(3)),
        about=about,
    )


EXERCISE = Exercise(
    title="One step with a cache",
    task="x (batch, d) is the newest token's vector, without its position; key and value (batch, n, d_k) are those of "
    "the n tokens before it; positions (max_len, d). Add the right position to x, and return (output (batch, d_k), "
    "key, value): the attention of the new token to all tokens, itself included, and the cache with the new token "
    "behind.",
    reference=kv_step,
    cases=lambda: [
        _case(1, 2, 3, 2, "two tokens before", 0),
        _case(2, 0, 4, 3, "the first token: the cache is empty", 10),
        _case(3, 5, 4, 7, "all sizes different", 20),
        _case(3, 3, 3, 3, "all sizes equal", 30),
        _case(3, 1, 3, 3, "one token before, and a table of three positions", 50, max_len=3),
        _case(2, 9, 5, 4, "a longer cache", 40),
    ],
    mistakes=(
        Mistake(
            "position-0",
            _step(position=lambda positions, n: positions[0]),
            "The new token gets position 0. It is alone in this step, but it is token n of the sentence: take "
            "`positions[key.shape[1]]`.",
        ),
        Mistake(
            "position-by-the-batch",
            _position_by_the_batch,
            "The new token gets the number of *sentences* as its position: the first axis of `key` is the batch. The "
            "number of tokens before it is `key.shape[1]`.",
        ),
        Mistake(
            "no-axis-for-the-token",
            _no_axis_for_the_token,
            "The cache is (batch, n, d_k), and the new key (batch, d_k) has no axis for tokens, so the two cannot be "
            "joined. Give it one, `[:, None]`: (batch, 1, d_k).",
        ),
        Mistake(
            "position-one-too-far",
            _step(position=lambda positions, n: positions[n + 1]),
            "The position is one too far: with n tokens in the cache, the new one has number n, because positions "
            "count from 0.",
        ),
        Mistake(
            "position-of-the-last",
            _step(position=lambda positions, n: positions[max(n - 1, 0)]),
            "The new token gets the position of the one before. With n tokens in the cache it has number n.",
        ),
        Mistake(
            "no-position",
            _step(position=lambda positions, n: 0.0),
            "The position is missing: `x` comes without it.",
        ),
        Mistake(
            "position-for-the-query-alone",
            _position_for_the_query_alone,
            "The query has the position, but the key and the value that you append lack it. Add it to `x` before all "
            "three products.",
        ),
        Mistake(
            "cache-overwritten",
            _step(kept=lambda old, new: new),
            "Only the new token is left in the cache. Append it to the old ones: `torch.cat([key, new], dim=1)`.",
        ),
        Mistake(
            "does-not-see-itself",
            _does_not_see_itself,
            "The new token sees the old ones, but not itself. Append its key and value *before* the attention.",
        ),
        Mistake(
            "cache-not-grown",
            _step(returns=lambda old, new: old),
            "The output is right. You give back the old cache, so the next step will not know this token.",
        ),
        Mistake(
            "new-in-front",
            _step(kept=lambda old, new: torch.cat([new, old], dim=1)),
            "The output is right, because attention knows no order. In the cache the new token stands in front: append "
            "it behind, so that slot t is token t.",
        ),
        Mistake(
            "no-scale",
            _step(scale=lambda d_k: 1.0),
            "The scores are not divided by √d_k.",
        ),
        Mistake(
            "first-key-alone",
            _step(hide=_first_key_alone),
            "The new token sees key 0 alone, as with `is_causal=True`, which lines its triangle up with the first key. "
            "Nothing in the cache is in the future: no mask is needed.",
        ),
        Mistake(
            "queries-cached",
            _step(new_key=lambda x, w_q, w_k, w_v: x @ w_q),
            "What you append to the keys is the new token's *query*. A query is used once; keys and values are kept.",
        ),
        Mistake(
            "inputs-cached",
            _step(new_key=lambda x, w_q, w_k, w_v: (x @ w_k) @ torch.zeros(w_k.shape[1], w_k.shape[1])),
            "The new key comes out as zeros. Append `x @ w_k`.",
        ),
        Mistake(
            "values-are-keys",
            _step(new_value=lambda x, w_q, w_k, w_v: x @ w_k),
            "What you append to the values is the new token's key. Its value is `x @ w_v`.",
        ),
        Mistake(
            "keys-and-values-swapped",
            _step(new_key=lambda x, w_q, w_k, w_v: x @ w_v, new_value=lambda x, w_q, w_k, w_v: x @ w_k),
            "New key and new value have changed places.",
        ),
        Mistake(
            "softmax-over-the-batch",
            _weights_over_the_batch,
            "The weights sum to 1 over the sentences of the batch. They sum to 1 over the keys of each sentence.",
        ),
        Mistake(
            "axis-kept",
            _axis_kept,
            "The numbers are right, with one axis too many: (batch, d_k) is wanted, without the axis of the single "
            "query.",
        ),
    ),
    hints=(
        "Four steps: the position, the new key and value, the cache, and attention with a single query.",
        "The number of the new token is the number of tokens in the cache. Append its key and value along the axis of "
        "the tokens, and attend to all of them without a mask.",
        "`x = x + positions[key.shape[1]]`, `key = torch.cat([key, (x @ w_k)[:, None]], dim=1)`, the same for the "
        "values, and one query `(x @ w_q)[:, None]`.",
    ),
    alternatives=(with_pytorch, into_a_buffer, sentence_by_sentence),
    difficulty=2,
    minutes=15,
)
