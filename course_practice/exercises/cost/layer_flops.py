"""Exercise: the operations of one layer."""

import torch
from torch.utils.flop_counter import FlopCounterMode

from course_lib.encoder import EncoderLayer
from course_practice.engine import Convention, Exercise, Mistake, case


def layer_flops(n, d_model, d_ff):
    """Operations of the matrix products of one encoder layer on n tokens, forward.

    >>> layer_flops(3, 4, 8)
    912
    """
    projections = 4 * 2 * n * d_model * d_model
    scores_and_means = 2 * 2 * n * n * d_model
    feed_forward = 2 * 2 * n * d_model * d_ff
    return projections + scores_and_means + feed_forward


def bracketed(n, d_model, d_ff):
    return 4 * n * d_model * (2 * d_model + n + d_ff)


def product_by_product(n, d_model, d_ff):
    def product(rows, terms, columns):
        return 2 * rows * terms * columns

    total = sum(product(n, d_model, d_model) for _name in "qkvo")
    total += product(n, d_model, n) + product(n, n, d_model)
    return total + product(n, d_model, d_ff) + product(n, d_ff, d_model)


def counted(n, d_model, d_ff):
    layer = EncoderLayer(d_model, 1, d_ff)
    with FlopCounterMode(display=False) as counter:
        layer(torch.randn(1, n, d_model))
    return counter.get_total_flops()


def _count(factor=2, projections=4, products=2, matrices=2, times=1, over=1):
    """The count with some of its numbers changed."""

    def count(n, d_model, d_ff):
        inside = products * n * n * d_model
        terms = projections * n * d_model**2 + inside + matrices * n * d_model * d_ff
        return factor * terms * times // over

    return count


EXERCISE = Exercise(
    title="The operations of one layer",
    task="Return how many operations the matrix products of one encoder layer take for n tokens in the forward pass: "
    "four projections (d_model, d_model), scores, weighted means, and a feed-forward network with d_ff features "
    "inside. A multiplication and an addition are two operations. The number of heads does not matter.",
    reference=layer_flops,
    cases=lambda: [
        case(3, 4, 8, about="the numbers of the text: 912"),
        case(5, 2, 3, about="five tokens"),
        case(1, 7, 11, about="one token"),
        case(13, 5, 2, about="more tokens than features"),
        case(4, 4, 4, about="all sizes equal"),
        case(50, 512, 2048, about="50 tokens in the base model"),
    ],
    mistakes=(
        Convention(
            "multiplications-alone",
            _count(factor=1),
            "You count multiplications alone, as chapter 03 does. Here an addition counts as well, so the result is "
            "twice as large.",
        ),
        Mistake(
            "three-projections",
            _count(projections=3),
            "You count three projections. There is a fourth one, W_O, behind the heads.",
        ),
        Mistake(
            "without-projections",
            _count(projections=0),
            "The projections are left out: four products of (n, d_model) with (d_model, d_model).",
        ),
        Mistake(
            "scores-alone",
            _count(products=1),
            "The term with n² is half as large as it should be. There are two products with n² in them, the scores, "
            "(n, d) @ (d, n), and the weighted means, (n, n) @ (n, d), and in an encoder no mask hides a half of them.",
        ),
        Mistake(
            "half-table-with-diagonal",
            lambda n, d_model, d_ff: layer_flops(n, d_model, d_ff) - 2 * n * (n - 1) * d_model,
            "You count n (n + 1) / 2 scores, as many as a causal mask leaves. In an encoder every token sees every "
            "other one: n² scores.",
        ),
        Mistake(
            "power-written-as-xor",
            lambda n, d_model, d_ff: 8 * n * d_model ^ 2 + 4 * n ^ 2 * d_model + 4 * n * d_model * d_ff,
            "In Python `^` is no power: it compares bits, and it comes after `+`. A power is `**`.",
        ),
        Mistake(
            "one-matrix-of-two",
            _count(matrices=1),
            "The feed-forward network has two matrices, (d_model, d_ff) and (d_ff, d_model). You count one.",
        ),
        Mistake(
            "without-feed-forward",
            _count(matrices=0),
            "The feed-forward network is left out. In most models it is the larger part of a layer.",
        ),
        Mistake(
            "three-matrices",
            _count(matrices=3),
            "You count three matrices in the feed-forward network. The one of 2017 has two.",
        ),
        Mistake(
            "d-ff-as-4d",
            lambda n, d_model, d_ff: layer_flops(n, d_model, 4 * d_model),
            "You take d_ff = 4 · d_model, which is usual but not given: use the argument `d_ff`.",
        ),
        Mistake(
            "with-backward",
            _count(times=3),
            "This is forward and backward together: backward takes twice as much again. The forward pass is asked for.",
        ),
        Mistake(
            "multiplications-without-w-o",
            _count(factor=1, projections=3),
            "Two things are left out: the additions (a factor of 2), and the fourth projection, W_O.",
        ),
        Mistake(
            "parameters",
            lambda n, d_model, d_ff: 4 * d_model * d_model + 2 * d_model * d_ff,
            "This is the number of weights. Each of them is used once for every token, and the products of tokens "
            "with tokens need none.",
        ),
        Mistake(
            "weights-times-tokens",
            _count(factor=1, products=0),
            "This is the number of weights, once for each token. An addition counts as well (a factor of 2), and the "
            "products of tokens with tokens, scores and weighted means, use no weights.",
        ),
        Mistake(
            "two-for-each-weight",
            _count(products=0),
            "Two operations for each weight and token. The products of tokens with tokens use no weights: scores and "
            "weighted means are left out.",
        ),
        Mistake(
            "for-one-token",
            lambda n, d_model, d_ff: layer_flops(n, d_model, d_ff) // n,
            "This is the share of a single token. All n tokens are asked for.",
        ),
    ),
    hints=(
        "A product (a, b) @ (b, c) has a · c entries, and each is a sum of b products: 2abc operations. Write down the "
        "eight products of a layer.",
        "Four are (n, d) @ (d, d). Two have the table in them: (n, d) @ (d, n) and (n, n) @ (n, d). Two belong to the "
        "feed-forward network.",
        "`8 * n * d_model**2 + 4 * n**2 * d_model + 4 * n * d_model * d_ff`.",
    ),
    alternatives=(bracketed, product_by_product, counted),
    difficulty=1,
    minutes=6,
)
