"""Exercise: how large the cache is."""

import math

import torch

from course_practice.engine import Exercise, Mistake, case


def cache_bytes(n_layers, n_kv_heads, d_k, n, batch, bytes_each):
    """Bytes of the keys and values that a decoder keeps of n tokens.

    >>> cache_bytes(n_layers=2, n_kv_heads=4, d_k=8, n=10, batch=1, bytes_each=4)
    5120
    """
    keys_and_values = 2
    return keys_and_values * n_layers * n_kv_heads * d_k * n * batch * bytes_each


def as_a_product(n_layers, n_kv_heads, d_k, n, batch, bytes_each):
    return math.prod((2, n_layers, n_kv_heads, d_k, n, batch, bytes_each))


def of_a_real_cache(n_layers, n_kv_heads, d_k, n, batch, bytes_each):
    cache = [
        (torch.empty(batch, n_kv_heads, n, d_k, device="meta"), torch.empty(batch, n_kv_heads, n, d_k, device="meta"))
        for _layer in range(n_layers)
    ]
    return sum(key.numel() + value.numel() for key, value in cache) * bytes_each


def token_by_token(n_layers, n_kv_heads, d_k, n, batch, bytes_each):
    total = 0
    for _token in range(n):
        for _layer in range(n_layers):
            total += (n_kv_heads * d_k + n_kv_heads * d_k) * bytes_each
    return total * batch


def _with(change):
    return lambda n_layers, n_kv_heads, d_k, n, batch, bytes_each: change(
        cache_bytes(n_layers, n_kv_heads, d_k, n, batch, bytes_each), n_layers, n_kv_heads, d_k, n, batch, bytes_each
    )


EXERCISE = Exercise(
    title="The bytes of a cache",
    task="Return how many bytes the key-value cache of a decoder takes: n_layers layers with n_kv_heads heads of keys "
    "and of values, each d_k wide, for n tokens of each of `batch` texts. A number takes bytes_each bytes.",
    reference=cache_bytes,
    cases=lambda: [
        case(1, 1, 3, 5, 1, 1, about="one layer, one head, five tokens"),
        case(2, 4, 8, 10, 1, 4, about="two layers of four heads"),
        case(3, 2, 7, 11, 5, 2, about="five texts, two bytes a number"),
        case(3, 3, 3, 3, 3, 4, about="all sizes equal"),
        case(32, 8, 128, 8192, 1, 2, about="an 8 B model at 8,192 tokens: 1 GiB"),
        case(126, 8, 128, 131072, 1, 2, about="a 405 B model at 131,072 tokens"),
    ],
    rtol=1e-9,
    atol=0.0,
    mistakes=(
        Mistake(
            "keys-alone",
            _with(lambda right, *_: right // 2),
            "Half of it: the cache keeps keys *and* values.",
        ),
        Mistake(
            "queries-too",
            _with(lambda right, *_: right * 3 // 2),
            "You count three tables. Queries are used once and not kept; the cache holds keys and values.",
        ),
        Mistake(
            "one-layer",
            _with(lambda right, n_layers, *_: right // n_layers),
            "This is one layer. Each layer has keys and values of its own.",
        ),
        Mistake(
            "one-head",
            _with(lambda right, n_layers, n_kv_heads, *_: right // n_kv_heads),
            "This is one head. Each of the n_kv_heads heads has keys and values of its own.",
        ),
        Mistake(
            "the-table",
            lambda n_layers, n_kv_heads, d_k, n, batch, bytes_each: n_layers * n_kv_heads * n * n * batch * bytes_each,
            "This is the table of weights, which grows as n². The cache has two vectors for each token, and grows as "
            "n.",
        ),
        Mistake(
            "grows-as-n-squared",
            _with(lambda right, n_layers, n_kv_heads, d_k, n, *_: right * n),
            "The number of tokens comes in twice. Each token has one key and one value in each head, whatever the "
            "other tokens are.",
        ),
        Mistake(
            "one-text",
            _with(lambda right, n_layers, n_kv_heads, d_k, n, batch, bytes_each: right // batch),
            "This is the cache of one text. Texts that are written side by side share nothing: multiply by `batch`.",
        ),
        Mistake(
            "numbers",
            _with(lambda right, n_layers, n_kv_heads, d_k, n, batch, bytes_each: right // bytes_each),
            "This is how many *numbers* the cache holds. Each takes bytes_each bytes.",
        ),
        Mistake(
            "four-bytes-always",
            _with(lambda right, n_layers, n_kv_heads, d_k, n, batch, bytes_each: right // bytes_each * 4),
            "You take 4 bytes a number, as float32 has. `bytes_each` says how many there are.",
        ),
        Mistake(
            "in-bits",
            _with(lambda right, *_: right * 8),
            "These are bits. Bytes are asked for.",
        ),
        Mistake(
            "in-mebibytes",
            _with(lambda right, *_: right / 2**20),
            "This is in mebibytes. Bytes are asked for.",
        ),
        Mistake(
            "one-token",
            _with(lambda right, n_layers, n_kv_heads, d_k, n, *_: right // n),
            "This is what a single token adds. All n are in the cache.",
        ),
        Mistake(
            "width-left-out",
            _with(lambda right, n_layers, n_kv_heads, d_k, *_: right // d_k),
            "You count one number for each key. A key has d_k of them.",
        ),
    ),
    hints=(
        "What is kept of a single token, in a single layer? Then multiply.",
        "In each layer and head a token leaves a key and a value of d_k numbers.",
        "`2 * n_layers * n_kv_heads * d_k * n * batch * bytes_each`.",
    ),
    alternatives=(as_a_product, of_a_real_cache, token_by_token),
    difficulty=1,
    minutes=5,
)
