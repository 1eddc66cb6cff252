"""Exercise: attention over an image, from matrices."""

import math

import torch
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_practice.engine import Exercise, Mistake
from course_practice.exercises.image_attention._steps import (
    attend,
    back_by_columns,
    back_by_view,
    by_view,
    inputs,
    keys,
)


def block(x, w_q, w_k, w_v, w_o, gamma):
    """x + γ · attention over its pixels, for x (batch, channels, height, width).

    w_q, w_k (channels, d_k), w_v (channels, d_v), w_o (d_v, channels)

    >>> x, one = torch.ones(1, 1, 2, 3), torch.ones(1, 1)
    >>> block(x, one, one, one, 2 * one, 0.5)
    tensor([[[[2., 2., 2.],
              [2., 2., 2.]]]])
    """
    tokens = x.flatten(start_dim=2).mT
    mixed, _weights = scaled_dot_product_attention(tokens @ w_q, tokens @ w_k, tokens @ w_v)
    image = (mixed @ w_o).mT.unflatten(2, x.shape[2:])
    return x + gamma * image


def with_einsum(x, w_q, w_k, w_v, w_o, gamma):
    q, k, v = (torch.einsum("bchw,cd->bhwd", x, w) for w in (w_q, w_k, w_v))
    scores = torch.einsum("bijd,bkld->bijkl", q, k) / w_q.shape[1] ** 0.5
    weights = scores.flatten(3).softmax(dim=-1).view(scores.shape)
    return x + gamma * torch.einsum("bijkl,bkld,dc->bcij", weights, v, w_o)


def with_convolutions(x, w_q, w_k, w_v, w_o, gamma):
    q, k, v = (F.conv2d(x, w.mT[:, :, None, None]).flatten(2).mT for w in (w_q, w_k, w_v))
    mixed = F.scaled_dot_product_attention(q, k, v).mT.unflatten(2, x.shape[2:])
    return x + gamma * F.conv2d(mixed, w_o.mT[:, :, None, None])


def channels_first(x, w_q, w_k, w_v, w_o, gamma):
    flat = x.flatten(2)
    scores = (w_q.T @ flat).mT @ (w_k.T @ flat) * w_k.shape[1] ** -0.5
    return x + gamma * (w_o.T @ (w_v.T @ flat) @ scores.softmax(dim=2).mT).reshape(x.shape)


def _over_channels(x, w_q, w_k, w_v, w_o, gamma):
    q, k, v = (w.T @ x.flatten(2) for w in (w_q, w_k, w_v))
    weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(dim=-1)
    mixed = weights @ v if weights.shape[-1] == v.shape[1] else torch.zeros_like(v)
    return x + gamma * (w_o.T @ mixed[:, : w_o.shape[0]]).reshape(x.shape)


def _still_tokens(*arguments):
    return block(*arguments).flatten(2).mT


def _tokens_mixed(x, w_q, w_k, w_v, w_o, gamma):
    tokens = x.flatten(2).mT
    mixed, _weights = scaled_dot_product_attention(tokens @ w_q, tokens @ w_k, tokens)
    return x + gamma * mixed.mT.unflatten(2, x.shape[2:])


def _along_rows(x, w_q, w_k, w_v, w_o, gamma):
    rows = x.permute(0, 2, 3, 1)
    mixed = F.scaled_dot_product_attention(rows @ w_q, rows @ w_k, rows @ w_v)
    return x + gamma * (mixed @ w_o).permute(0, 3, 1, 2)


def _whole_batch(x, *matrices_and_gamma):
    """The images side by side in one, and apart again."""
    side_by_side = torch.cat(x.split(1), dim=3)
    return torch.cat(block(side_by_side, *matrices_and_gamma).split(x.shape[3], dim=3))


EXERCISE = Exercise(
    title="The block, from matrices",
    task="x (batch, channels, height, width), w_q and w_k (channels, d_k), w_v (channels, d_v), w_o (d_v, channels), "
    "and a number gamma: return x + gamma times attention over all pixels, in the shape of x.",
    reference=block,
    cases=lambda: [
        inputs(1, 2, 1, 2, 2, 2, 1.0, "two pixels"),
        inputs(2, 5, 3, 7, 11, 13, 0.7, "all sizes different", seed=10),
        inputs(4, 4, 4, 4, 4, 4, 0.7, "all sizes equal", seed=20),
        inputs(2, 3, 4, 2, 5, 3, -1.5, "gamma below zero", seed=30),
        inputs(2, 3, 2, 5, 2, 7, 0.0, "gamma is 0", seed=40),
        inputs(1, 7, 5, 3, 2, 3, 2.0, "narrow queries", seed=50),
    ],
    mistakes=(
        Mistake(
            "no-residual",
            attend(add=lambda x, image, gamma: gamma * image),
            "Your result lacks x: with gamma = 0 your block erases the image. It should return x itself then.",
        ),
        Mistake(
            "gamma-forgotten",
            attend(add=lambda x, image, gamma: x + image),
            "Your result is that of gamma = 1, whatever gamma is.",
        ),
        Mistake(
            "gamma-times-everything",
            attend(add=lambda x, image, gamma: gamma * (x + image)),
            "Your gamma multiplies x as well. With gamma = 0 the block should return x itself.",
        ),
        Mistake(
            "gamma-times-x",
            attend(add=lambda x, image, gamma: gamma * x + image),
            "Your gamma multiplies x, not what attention adds to it.",
        ),
        Mistake(
            "a-mixture",
            attend(add=lambda x, image, gamma: (1 - gamma) * x + gamma * image),
            "You mix the two with 1 − gamma and gamma. Here x keeps its full size, and gamma times the rest is added.",
        ),
        Mistake(
            "cut-without-moving",
            attend(cut=by_view),
            "Your tokens mix pixels and channels: a reshape alone cuts the numbers in their old order. Move the "
            "channels to the end.",
        ),
        Mistake(
            "rebuilt-without-moving",
            attend(back=back_by_view),
            "The tokens are right, but on the way back a reshape alone puts the channels of a pixel side by side as "
            "if they were pixels. Exchange the axes first.",
        ),
        Mistake(
            "cut-and-rebuilt-without-moving",
            attend(cut=by_view, back=back_by_view),
            "Your tokens mix pixels and channels, and so does your image: a reshape alone cuts the numbers in their "
            "old order, both times.",
        ),
        Mistake(
            "rebuilt-column-by-column",
            attend(back=back_by_columns),
            "Your image is rebuilt column after column. The tokens run row after row: (height, width).",
        ),
        Mistake(
            "softmax-over-queries",
            attend(axis=1),
            "Your weights sum to 1 over the queries. Each pixel's own weights, over the keys, must sum to 1.",
        ),
        Mistake(
            "pooling",
            attend(scale=lambda x, q, k: math.inf),
            "Every pixel gets the same mean of all values. With its own weights, each pixel gets what it asks for.",
        ),
        Mistake(
            "channels-attend",
            _over_channels,
            "Your scores compare channels with channels. The pixels are the tokens.",
        ),
        Mistake(
            "scaled-by-channels",
            attend(scale=lambda x, q, k: x.shape[1] ** 0.5),
            "Your scores come out divided by the root of the channels. A score is a sum of d_k products.",
        ),
        Mistake(
            "scaled-by-pixels",
            attend(scale=lambda x, q, k: q.shape[1] ** 0.5),
            "Your scores come out divided by the root of the number of pixels. A score is a sum of d_k products.",
        ),
        Mistake(
            "not-scaled",
            attend(scale=lambda x, q, k: 1.0),
            "Your scores are not divided by √d_k. (Zhang et al. 2019 leave this out; the course keeps it.)",
        ),
        Mistake(
            "no-softmax",
            attend(axis=None),
            "Your scores are used as weights. A softmax over the keys is missing.",
        ),
        Mistake(
            "queries-and-keys-exchanged",
            attend(project=lambda t, w_q, w_k, w_v: (t @ w_k, t @ w_q, t @ w_v)),
            "Queries and keys have changed places in your scores: each row should be for what `w_q` makes, each column "
            "for what `w_k` makes.",
        ),
        Mistake(
            "keys-from-w-q",
            attend(project=lambda t, w_q, w_k, w_v: (t @ w_q, t @ w_q, t @ w_v)),
            "Your keys are the queries, so `w_k` makes no difference.",
        ),
        Mistake(
            "values-not-projected",
            _tokens_mixed,
            "Attention mixes the tokens themselves, so `w_v` and `w_o` make no difference. It mixes the values, and "
            "`w_o` leads back to the channels.",
        ),
        Mistake(
            "along-rows",
            _along_rows,
            "Your pixels look along their own row alone. All pixels of the image are one sequence: join height and "
            "width first.",
        ),
        Mistake(
            "whole-batch",
            _whole_batch,
            "Your images look at one another: the pixels of the whole batch stand in one sequence. The batch stays an "
            "axis of its own.",
        ),
        Mistake(
            "tokens-returned",
            _still_tokens,
            "The numbers are right, but they are still tokens, (batch, height · width, channels). Exchange the last "
            "two axes, and split the pixels into height and width.",
        ),
        Mistake(
            "no-way-back",
            attend(back=lambda tokens, x: tokens),
            "You add tokens, (batch, height · width, channels), to the image, (batch, channels, height, width). Make "
            "an image of them first: exchange the last two axes, and split the pixels into height and width.",
        ),
        Mistake(
            "wrong-sign",
            attend(project=lambda t, w_q, w_k, w_v: (*keys(t, w_q, w_k, w_v)[:2], -(t @ w_v))),
            "What attention adds comes out with the wrong sign.",
        ),
    ),
    hints=(
        "The order: image to tokens, three projections, attention, w_o, tokens to image, and the sum with x.",
        "After w_o the tokens are (batch, height · width, channels). Exchange the last two axes before you split the "
        "pixels into height and width.",
        "`image = (mixed @ w_o).mT.unflatten(2, x.shape[2:])` and `return x + gamma * image`.",
    ),
    alternatives=(with_einsum, with_convolutions, channels_first),
    difficulty=2,
    minutes=10,
)
