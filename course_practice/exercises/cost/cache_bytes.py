import math

from course_practice.engine import Exercise, case


def cache_bytes(n_layers, n_kv_heads, d_k, n, batch, bytes_each):
    """Bytes of the keys and values that a decoder keeps of n tokens.

    >>> cache_bytes(n_layers=2, n_kv_heads=4, d_k=8, n=10, batch=1, bytes_each=4)
    5120
    """
    keys_and_values = 2
    return keys_and_values * n_layers * n_kv_heads * d_k * n * batch * bytes_each


def as_a_product(n_layers, n_kv_heads, d_k, n, batch, bytes_each):
    return math.prod((2, n_layers, n_kv_heads, d_k, n, batch, bytes_each))


EXERCISE = Exercise(
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
    alternatives=(as_a_product,),
)
