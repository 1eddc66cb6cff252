"""Exercise: bug hunt: four bugs in a step of attention with a cache."""

import torch
from torch.nn import functional as F

from course_lib.modern import rotary_angles, rotate
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.half_repaired import half_repaired
from course_practice.exercises.inputs import randn


def cached_attention(query, key, value, old_key, old_value):
    """Attention of n new tokens to themselves and to those in the cache.

    All are (heads, tokens, d_k); there are fewer heads of keys and values
    than of queries, and the old keys are turned already. Returns the outputs
    and the keys that go into the cache.
    """
    past, n = old_key.shape[1], query.shape[1]
    angles = rotary_angles(torch.arange(past, past + n), query.shape[-1])
    query, key = rotate(query, angles), rotate(key, angles)
    key = torch.cat([old_key, key], dim=1)
    value = torch.cat([old_value, value], dim=1)
    group = len(query) // len(key)
    shared_key = key.repeat_interleave(group, dim=0)
    shared_value = value.repeat_interleave(group, dim=0)
    mask = torch.ones(n, past + n).tril(diagonal=past).bool()
    output = F.scaled_dot_product_attention(query, shared_key, shared_value, mask)
    return output, key


def cached_attention_starter(query, key, value, old_key, old_value):
    past, n = old_key.shape[1], query.shape[1]
    angles = rotary_angles(torch.arange(n), query.shape[-1])
    query, key = rotate(query, angles), rotate(key, angles)
    key = torch.cat([old_key, key], dim=1)
    value = torch.cat([old_value, rotate(value, angles)], dim=1)
    group = len(query) // len(key)
    shared_key = key.repeat(group, 1, 1)
    shared_value = value.repeat(group, 1, 1)
    mask = torch.ones(n, past + n).tril().bool()
    output = F.scaled_dot_product_attention(query, shared_key, shared_value, mask)
    return output, key


def with_pytorchs_groups(query, key, value, old_key, old_value):
    past, n = old_key.shape[1], query.shape[1]
    angles = rotary_angles(torch.arange(n) + past, query.shape[-1])
    key = torch.cat([old_key, rotate(key, angles)], dim=1)
    value = torch.cat([old_value, value], dim=1)
    mask = torch.arange(past + n) <= torch.arange(n)[:, None] + past
    query = rotate(query, angles)
    return F.scaled_dot_product_attention(query[None], key[None], value[None], attn_mask=mask, enable_gqa=True)[0], key


def word_by_word(query, key, value, old_key, old_value):
    outputs, group = [], len(query) // len(key)
    for t in range(query.shape[1]):
        angles = rotary_angles(torch.tensor([old_key.shape[1]]), query.shape[-1])
        old_key = torch.cat([old_key, rotate(key[:, t : t + 1], angles)], dim=1)
        old_value = torch.cat([old_value, value[:, t : t + 1]], dim=1)
        rows = []
        for head, q in enumerate(rotate(query[:, t : t + 1], angles)):
            weights = (q @ old_key[head // group].T / q.shape[-1] ** 0.5).softmax(dim=-1)
            rows.append(weights @ old_value[head // group])
        outputs.append(torch.stack(rows))
    return torch.cat(outputs, dim=1), old_key


def with_filled_scores(query, key, value, old_key, old_value):
    past, n, d_k = old_key.shape[1], *query.shape[1:]
    angles = rotary_angles(torch.arange(past + n)[past:], d_k)
    key = torch.cat([old_key, rotate(key, angles)], 1)
    value = torch.cat([old_value, value], 1)
    grouped = rotate(query, angles).unflatten(0, (len(key), -1))
    scores = grouped @ key[:, None].mT / d_k**0.5
    future = torch.ones(n, past + n, dtype=torch.bool).triu(past + 1)
    weights = scores.masked_fill(future, float("-inf")).softmax(-1)
    return (weights @ value[:, None]).flatten(0, 1), key


def _attention(position=False, values=False, heads=False, mask=False):
    """The repaired listing with some of its bugs left in."""

    def answer(query, key, value, old_key, old_value):
        past, n = old_key.shape[1], query.shape[1]
        angles = rotary_angles(torch.arange(n) + (0 if position else past), query.shape[-1])
        query, key = rotate(query, angles), rotate(key, angles)
        key = torch.cat([old_key, key], dim=1)
        value = torch.cat([old_value, rotate(value, angles) if values else value], dim=1)
        group = len(query) // len(key)
        share = (lambda x: x.repeat(group, 1, 1)) if heads else (lambda x: x.repeat_interleave(group, dim=0))
        seen = torch.ones(n, past + n).tril(diagonal=0 if mask else past).bool()
        return F.scaled_dot_product_attention(query, share(key), share(value), seen), key

    return answer


# What to say about each bug that is left.
_LEFT = {
    "position": "where does the first new token stand if five are in the cache?",
    "values": "what should depend on the position: which tokens are looked at, or also what they say?",
    "heads": "which head of keys does query head 1 read, if two of four heads share one?",
    "mask": "may the first new token see all the tokens of the cache?",
}


def _turns_the_cache_again(query, key, value, old_key, old_value):
    """The whole of the keys is turned, the cached ones a second time."""
    past, n = old_key.shape[1], query.shape[1]
    whole = rotary_angles(torch.arange(past + n), query.shape[-1])
    key = rotate(torch.cat([old_key, key], dim=1), whole)
    value = torch.cat([old_value, value], dim=1)
    query = rotate(query, whole[past:])
    group = len(query) // len(key)
    mask = torch.ones(n, past + n).tril(diagonal=past).bool()
    shared = key.repeat_interleave(group, dim=0), value.repeat_interleave(group, dim=0)
    return F.scaled_dot_product_attention(query, *shared, mask), key


def _placed(query_from, key_from):
    """The repaired listing, whose first new query and key stand so many places after `past` (None: at 0)."""

    def answer(query, key, value, old_key, old_value):
        past, n = old_key.shape[1], query.shape[1]
        places = [torch.arange(n) + (0 if start is None else past + start) for start in (query_from, key_from)]
        query, key = (rotate(x, rotary_angles(at, x.shape[-1])) for x, at in zip((query, key), places, strict=True))
        key, value = torch.cat([old_key, key], dim=1), torch.cat([old_value, value], dim=1)
        group = len(query) // len(key)
        shared = key.repeat_interleave(group, dim=0), value.repeat_interleave(group, dim=0)
        mask = torch.ones(n, past + n).tril(diagonal=past).bool()
        return F.scaled_dot_product_attention(query, *shared, mask), key

    return answer


def _no_mask(query, key, value, old_key, old_value):
    past, n = old_key.shape[1], query.shape[1]
    angles = rotary_angles(torch.arange(past, past + n), query.shape[-1])
    query, key = rotate(query, angles), torch.cat([old_key, rotate(key, angles)], dim=1)
    value = torch.cat([old_value, value], dim=1)
    group = len(query) // len(key)
    shared = key.repeat_interleave(group, dim=0), value.repeat_interleave(group, dim=0)
    return F.scaled_dot_product_attention(query, *shared), key


def _repaired(cached=lambda key, group: key, tile_keys=False, tile_values=False):
    """The repaired listing with another cache, or with keys or values handed out in turn."""

    def answer(query, key, value, old_key, old_value):
        key = cached_attention(query, key, value, old_key, old_value)[1]
        past, n = old_key.shape[1], query.shape[1]
        query = rotate(query, rotary_angles(torch.arange(past, past + n), query.shape[-1]))
        value = torch.cat([old_value, value], dim=1)
        group = len(query) // len(key)
        shared = (
            x.repeat(group, 1, 1) if tiled else x.repeat_interleave(group, dim=0)
            for x, tiled in ((key, tile_keys), (value, tile_values))
        )
        mask = torch.ones(n, past + n).tril(diagonal=past).bool()
        return F.scaled_dot_product_attention(query, *shared, mask), cached(key, group)

    return answer


def _cases():
    def inputs(n_heads, n_kv_heads, n, past, d_k, seed):
        query = randn(n_heads, n, d_k, seed=seed)
        key, value = (randn(n_kv_heads, n, d_k, seed=seed + i) for i in (1, 2))
        return query, key, value, *(randn(n_kv_heads, past, d_k, seed=seed + i) for i in (3, 4))

    return [
        case(*inputs(4, 2, 1, 3, 2, seed=0), about="one new token, three in the cache"),
        case(*inputs(4, 2, 3, 0, 2, seed=10), about="three new tokens, an empty cache"),
        case(*inputs(6, 2, 3, 5, 4, seed=20), about="three new tokens, five in the cache"),
        case(*inputs(6, 3, 2, 4, 8, seed=30), about="six and three heads"),
        case(*inputs(4, 4, 4, 4, 4, seed=40), about="all sizes equal"),
        case(*inputs(3, 1, 2, 7, 6, seed=50), about="one head of keys for all"),
    ]


EXERCISE = Exercise(
    title="Bug hunt: four bugs in a step with a cache",
    task="Find the four bugs, so that new tokens attend to those in the cache and to each other as in one whole pass.",
    reference=cached_attention,
    starter=cached_attention_starter,
    cases=_cases,
    mistakes=(
        *half_repaired(_LEFT, _attention),
        Mistake(
            "cache-turned-again",
            _turns_the_cache_again,
            "You turn all the keys, those of the cache as well. They were turned when they were put there.",
        ),
        Mistake(
            "one-place-too-far",
            _placed(1, 1),
            "Your new tokens stand one place too far. Positions count from 0: if five are in the cache, they stand at "
            "0 to 4. Where does the first new one stand?",
        ),
        Mistake(
            "keys-from-zero",
            _placed(0, None),
            "Your queries stand where they belong, but your keys are turned as if the cache were empty.",
        ),
        Mistake(
            "queries-from-zero",
            _placed(None, 0),
            "Your keys stand where they belong, but your queries are turned as if the cache were empty.",
        ),
        Mistake(
            "values-in-turn",
            _repaired(tile_values=True),
            "The keys are shared by neighbors, but the values are handed out in turn (0 1 0 1). The same bug stands in "
            "two places.",
        ),
        Mistake(
            "keys-in-turn",
            _repaired(tile_keys=True),
            "The values are shared by neighbors, but the keys are handed out in turn (0 1 0 1). The same bug stands in "
            "two places.",
        ),
        Mistake(
            "copies-in-the-cache",
            _repaired(cached=lambda key, group: key.repeat_interleave(group, dim=0)),
            "The outputs are right, but your cache holds a copy of the keys for every query head. It holds each shared "
            "head once.",
        ),
        Mistake(
            "no-mask",
            _no_mask,
            "Without a mask the first new token sees the later ones. One new token alone needs none, several do.",
        ),
    ),
    hints=(
        "Each of four lines holds one bug: that of the angles, that of the values, the two `repeat`s (one bug in "
        "both), and that of the mask.",
        "Where does the first new token stand? Which of query, key, and value may depend on the position? Which heads "
        "share? Which of the old tokens may the first new one see?",
        "`torch.arange(past, past + n)`, `value` as it is, `repeat_interleave(group, dim=0)`, and "
        "`.tril(diagonal=past)`.",
    ),
    alternatives=(with_pytorchs_groups, word_by_word, with_filled_scores),
    difficulty=3,
    minutes=15,
)
