"""Questions of chapter 19, the cost."""


def _layer(n, d, d_ff):
    """Operations of an encoder layer: all, and those of scores and weighted means."""
    inside = 4 * n * n * d
    return 8 * n * d * d + 4 * n * d * d_ff + inside, inside


def _share(n, d):
    total, inside = _layer(n, d, 4 * d)
    return f"{inside / total:.0%}".replace("%", " %")


def _table(h, n):
    return f"{4 * h * n * n / 2**30:g} GiB"


def _cache(layers, heads, d_k, n):
    return f"{2 * 2 * layers * heads * d_k * n / 2**30:g} GiB"
