"""Exercise: bug hunt: four bugs in one block."""

import itertools
import math

import torch
from torch.nn import functional as F

from course_practice.engine import Exercise, Mistake
from course_practice.exercises.image_attention._steps import (
    attend,
    back_by_columns,
    back_by_unflatten,
    back_by_view,
    by_flatten,
    by_view,
    inputs,
    residual,
    root_d_k,
)


def repaired_block(x, w_q, w_k, w_v, w_o, gamma):
    """x + γ · attention over its pixels, for x (batch, channels, height, width)."""
    tokens = x.flatten(start_dim=2).mT
    query, key, value = tokens @ w_q, tokens @ w_k, tokens @ w_v
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    weights = scores.softmax(dim=2)
    image = (weights @ value @ w_o).mT.unflatten(2, x.shape[2:])
    return x + gamma * image


def repair_starter(x, w_q, w_k, w_v, w_o, gamma):
    tokens = x.flatten(start_dim=2).mT
    query, key, value = tokens @ w_q, tokens @ w_k, tokens @ w_v
    scores = query @ key.mT / math.sqrt(x.shape[1])
    weights = scores.softmax(dim=1)
    image = (weights @ value @ w_o).reshape(x.shape)
    return gamma * (x + image)


def with_fused_attention(x, w_q, w_k, w_v, w_o, gamma):
    tokens = x.permute(0, 2, 3, 1).flatten(1, 2)
    mixed = F.scaled_dot_product_attention(tokens @ w_q, tokens @ w_k, tokens @ w_v) @ w_o
    return mixed.transpose(1, 2).reshape(x.shape) * gamma + x


def with_einsum(x, w_q, w_k, w_v, w_o, gamma):
    flat = x.flatten(2)
    scores = torch.einsum("bcn,cd,ed,bem->bnm", flat, w_q, w_k, flat) / w_q.shape[1] ** 0.5
    mixed = torch.einsum("bnm,bcm,cd,de->ben", scores.softmax(-1), flat, w_v, w_o)
    return x + gamma * mixed.view(x.shape)


def image_by_image(x, w_q, w_k, w_v, w_o, gamma):
    images = []
    for image in x:
        tokens = image.flatten(1).T
        weights = torch.softmax((tokens @ w_q) @ (tokens @ w_k).T / w_k.shape[1] ** 0.5, dim=1)
        images.append(image + gamma * (weights @ tokens @ w_v @ w_o).T.reshape(image.shape))
    return torch.stack(images)


_CUTS = {"": by_flatten, "cut": by_view}
_SCALES = {
    "": root_d_k,
    "root of channels": lambda x, q, k: math.sqrt(x.shape[1]),
    "no scale": lambda x, q, k: 1.0,
}
_AXES = {"": 2, "queries": 1}
_BACKS = {"": back_by_unflatten, "reshape": back_by_view}
_SUMS = {
    "": residual,
    "gamma times all": lambda x, image, gamma: gamma * (x + image),
    "gamma times x": lambda x, image, gamma: gamma * x + image,
    "no residual": lambda x, image, gamma: gamma * image,
    "no gamma": lambda x, image, gamma: x + image,
}
_OPEN = {
    "root of channels": "how many products does one score add up?",
    "no scale": "a score is a sum of d_k products, so by what must it be divided?",
    "queries": "which sums of the weights are 1, the rows' or the columns'?",
    "reshape": "after `w_o` the channels come last. Where does the image have them?",
    "gamma times all": "with gamma = 0 the block should return x. What is left of x here?",
    "gamma times x": "gamma should multiply what attention adds. What does it multiply here?",
    "no residual": "the block returns x *plus* what attention adds: where is x?",
    "no gamma": "what does gamma change in your block?",
    "cut": "the first line was right: what does a reshape alone make of channels and pixels?",
}
_STARTER = ("root of channels", "queries", "reshape", "gamma times all")


def _partial_repairs():
    kinds = (_CUTS, _SCALES, _AXES, _BACKS, _SUMS)
    for (cut, by), (scale, divide), (axis, dim), (back, fold), (added, add) in itertools.product(
        *[kind.items() for kind in kinds]
    ):
        left = [name for name in (scale, axis, back, added) if name]
        if not left + [cut] * bool(cut) or (tuple(left) == _STARTER and not cut):
            continue
        if cut and len(left) > 1:
            continue
        found = ("None of the four is", "One of four is", "Two of four are", "Three of four are", "All four are")
        left += [cut] * bool(cut)
        name = "-and-".join(part.replace(" ", "-") for part in left)
        clues = " ".join(
            f"({number}) {_OPEN[part]}" if len(left) > 1 else _OPEN[part] for number, part in enumerate(left, 1)
        )
        repaired = found[4 - len([part for part in left if part != "cut"])]
        implementation = attend(by, scale=divide, axis=dim, back=fold, add=add)
        yield Mistake(name, implementation, f"{repaired} repaired. Still open: {clues}")


EXERCISE = Exercise(
    title="Bug hunt: four bugs in one block",
    task="Find and repair the four planted bugs: the block returns x plus gamma times attention over its pixels, for x "
    "(batch, channels, height, width), w_q and w_k (channels, d_k), w_v (channels, d_v), and w_o (d_v, channels).",
    reference=repaired_block,
    starter=repair_starter,
    cases=lambda: [
        inputs(1, 2, 1, 2, 3, 2, 1.0, "two pixels"),
        inputs(2, 5, 3, 7, 11, 13, 0.7, "all sizes different", seed=10),
        inputs(4, 4, 4, 4, 4, 4, 0.7, "all sizes equal", seed=20),
        inputs(2, 3, 4, 2, 5, 3, -1.5, "gamma below zero", seed=30),
        inputs(2, 3, 2, 5, 2, 7, 0.0, "gamma is 0", seed=40),
        inputs(1, 7, 5, 3, 2, 3, 2.0, "narrow queries", seed=50),
    ],
    mistakes=(
        *_partial_repairs(),
        Mistake(
            "rebuilt-column-by-column",
            attend(back=back_by_columns),
            "Three of four are repaired, and the fourth by half: the channels are in front, but your image is rebuilt "
            "column after column. The tokens run row after row: (height, width).",
        ),
    ),
    hints=(
        "The last four lines hold one bug each; the first two are right.",
        "Four questions. How many products does a score add up? Which sums of the weights are 1? In which order do the "
        "channels and pixels come after `w_o`? What is left of x when gamma is 0?",
        "`math.sqrt(query.shape[-1])`, `dim=2`, `.mT.unflatten(2, x.shape[2:])`, `x + gamma * image`.",
    ),
    alternatives=(with_fused_attention, with_einsum, image_by_image),
    difficulty=2,
    minutes=12,
)
