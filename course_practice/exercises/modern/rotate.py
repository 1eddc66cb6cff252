"""Exercise: turn queries and keys."""

import math

import torch

from course_practice.engine import Convention, Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def rotate_pairs(x, positions, base=10000.0):
    """Turn pair i, the features i and i + d_k / 2, by the angle p / base^(2i / d_k).

    x is (…, seq_len, d_k), and `positions` says where each token stands.

    >>> x = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    >>> rotate_pairs(x, positions=torch.tensor([0, 1])).round(decimals=2)
    tensor([[1.0000, 0.0000],
            [0.5400, 0.8400]])
    """
    d_k = x.shape[-1]
    angles = positions[:, None] / base ** (torch.arange(0, d_k, 2) / d_k)
    first, second = x.chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


def with_the_turned_half(x, positions, base=10000.0):
    d_k = x.shape[-1]
    speed = torch.exp(-math.log(base) * torch.arange(0, d_k, 2) / d_k)
    angles = torch.outer(positions.float(), speed).repeat(1, 2)
    first, second = x[..., : d_k // 2], x[..., d_k // 2 :]
    return x * angles.cos() + torch.cat([-second, first], dim=-1) * angles.sin()


def as_complex_numbers(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = positions[:, None].float() * base ** (-torch.arange(half) / half)
    turned = torch.complex(x[..., :half], x[..., half:]) * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([turned.real, turned.imag], dim=-1)


def by_a_matrix_for_each_token(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    matrices = torch.zeros(len(positions), 2 * half, 2 * half)
    for row, p in enumerate(positions.tolist()):
        for i in range(half):
            angle = p * base ** (-i / half)
            c, s = math.cos(angle), math.sin(angle)
            matrices[row, i, i], matrices[row, i, i + half] = c, -s
            matrices[row, i + half, i], matrices[row, i + half, i + half] = s, c
    return torch.einsum("nij,...nj->...ni", matrices, x)


def _angles(x, positions, base, exponent=2.0, width=None):
    d_k = width or x.shape[-1]
    pair = torch.arange(x.shape[-1] // 2, dtype=torch.float64)
    return positions[:, None].double() * base ** (-exponent * pair / d_k)


def _halves(x, angles):
    first, second = x.double().chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1).float()


def _neighbors(x, angles):
    first, second = x.double()[..., 0::2], x.double()[..., 1::2]
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([first * cos - second * sin, first * sin + second * cos], dim=-1).flatten(-2).float()


def _turned(angles=_angles, turn=_halves):
    return lambda x, positions, base=10000.0: turn(x, angles(x, positions, base))


def _both_signs(x, angles):
    first, second = x.double().chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos + second * sin, first * sin + second * cos], dim=-1).float()


def _cosine_alone(x, angles):
    return (x * angles.cos().repeat(1, 2)).float()


def _swapped_back(x, angles):
    first, second = x.double().chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * sin + second * cos, first * cos - second * sin], dim=-1).float()


def _sine_for_cosine(x, angles):
    """The first half has sine and cosine exchanged."""
    first, second = x.double().chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * sin - second * cos, first * sin + second * cos], dim=-1).float()


def _torn(x, angles):
    """Pairs read as halves, and angles laid out for neighbors."""
    angles = angles.repeat_interleave(2, dim=-1)
    first, second = x.double().chunk(2, dim=-1)
    return (x * angles.cos() + torch.cat([-second, first], dim=-1) * angles.sin()).float()


def _neighbors_written_as_halves(x, angles):
    first, second = x.double()[..., 0::2], x.double()[..., 1::2]
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1).float()


def _in_place_of_a_copy(x, angles):
    """The second line reads what the first one has written."""
    first, second = x.double().chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    first = first * cos - second * sin
    return torch.cat([first, first * sin + second * cos], dim=-1).float()


def _counted(x, positions, base=10000.0):
    return _halves(x, _angles(x, torch.arange(x.shape[-2]), base))


def _added(x, positions, base=10000.0):
    angles = _angles(x, positions, base)
    return (x + torch.cat([angles.cos(), angles.sin()], dim=-1)).float()


def _sines_added(x, positions, base=10000.0):
    angles = _angles(x, positions, base)
    return (x + torch.cat([angles.sin(), angles.cos()], dim=-1)).float()


def _four_features(x, positions, base=10000.0):
    first, second = x.chunk(2, dim=-1)
    angle = positions[:, None] / base ** (torch.arange(0, 4, 2) / 4)
    return torch.cat([first * angle.cos() - second * angle.sin(), first * angle.sin() + second * angle.cos()], dim=-1)


def _along_axis_1(x, positions, base=10000.0):
    """The positions are laid along the axis before the last but one, where that fits."""
    if x.dim() < 3 or x.shape[-3] != len(positions):
        return _halves(x, _angles(x, positions, base))
    return _halves(x.transpose(-3, -2), _angles(x, positions, base)).transpose(-3, -2)


def _cases():
    def rows(*positions):
        return torch.tensor(positions)

    return [
        case(torch.tensor([[2.0, 1.0], [2.0, 1.0]]), rows(0, 1), about="one pair, at positions 0 and 1"),
        case(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), rows(1), about="two pairs, at position 1"),
        case(randn(3, 6, seed=1), rows(0, 1, 2), about="three tokens, three pairs"),
        case(randn(2, 3, 5, 8, seed=2), rows(0, 1, 2, 3, 4), about="sentences and heads, all sizes different"),
        case(randn(4, 4, 4, 4, seed=3), rows(0, 1, 2, 3), about="all sizes equal"),
        case(randn(2, 3, 4, seed=4), rows(7, 8, 9), about="tokens that stand elsewhere"),
        case(randn(1, 2, 1, 6, seed=5), rows(40), about="one new token at position 40"),
        case(randn(2, 3, 8, seed=6), rows(5, 0, 2), 100.0, about="another base, and positions in any order"),
    ]


EXERCISE = Exercise(
    title="Turn queries and keys",
    task="Turn pair i of every token at position p by the angle p / base^(2i / d_k). Pair i is formed by the features "
    "i and i + d_k / 2.",
    reference=rotate_pairs,
    cases=_cases,
    mistakes=(
        Convention(
            "neighbors",
            _turned(turn=_neighbors),
            "Valid, and the layout of the paper: your pair i is (2i, 2i + 1), the *interleaved* layout. This exercise "
            "asks for the *half* layout, (i, i + d_k / 2).",
        ),
        Convention(
            "backwards",
            _turned(turn=lambda x, angles: _halves(x, -angles)),
            "Valid if queries and keys are both turned this way: the distances stay. But you turn against the "
            "formula's direction, so other people's weights will not fit. Which of the two sines has the minus?",
        ),
        Convention(
            "from-one",
            _turned(angles=lambda x, positions, base: _angles(x, positions + 1, base)),
            "Valid if all tokens are turned this way, since only distances count. But here the angle is p times the "
            "speed, so a token at position 0 is not turned at all.",
        ),
        Mistake(
            "both-signs-plus",
            _turned(turn=_both_signs),
            "That is no rotation: it changes the length of the vectors. One of the four products has a minus: "
            "(a, b) becomes (a·cos − b·sin, a·sin + b·cos).",
        ),
        Mistake(
            "halves-exchanged",
            _turned(turn=_swapped_back),
            "The two numbers of each pair have changed places: a·cos − b·sin stands in the first half.",
        ),
        Mistake(
            "sine-for-cosine",
            _turned(turn=_sine_for_cosine),
            "The second half is right. In the first, sine and cosine have changed places: a token at position 0 is not "
            "turned, so its a must be a·cos 0.",
        ),
        Mistake(
            "cosine-alone",
            _turned(turn=_cosine_alone),
            "Every number is multiplied by its cosine, and the sines are missing. A rotation mixes the two numbers of "
            "a pair.",
        ),
        Mistake(
            "overwritten-too-early",
            _turned(turn=_in_place_of_a_copy),
            "The first half is right. For the second half you used the first half as it is *after* the turn: keep the "
            "old one.",
        ),
        Mistake(
            "angles-for-the-other-layout",
            _turned(turn=_torn),
            "Your pairs are (i, i + d_k / 2), but your angles are laid out for neighbors, θ₀ θ₀ θ₁ θ₁: so the two "
            "numbers of a pair turn by different angles. Repeat the whole row, θ₀ θ₁ θ₀ θ₁.",
        ),
        Convention(
            "read-as-neighbors-written-as-halves",
            _turned(turn=_neighbors_written_as_halves),
            "Valid if queries and keys are both turned this way, because the same exchange of features cancels in "
            "their product. But you read neighbors (0::2, 1::2) and write halves (`cat`), so no one else's weights "
            "fit: here pair i is (i, i + d_k / 2), before and after.",
        ),
        Mistake(
            "exponent-doubled",
            _turned(angles=lambda x, positions, base: _angles(x, positions, base, exponent=4.0)),
            "Your exponents are twice as large. The numbers 0, 2, 4, … are 2i already.",
        ),
        Mistake(
            "exponent-halved",
            _turned(angles=lambda x, positions, base: _angles(x, positions, base, exponent=1.0)),
            "Your exponents are half as large: pair i needs 2i / d_k, which is i divided by the number of pairs.",
        ),
        Mistake(
            "one-speed",
            _turned(angles=lambda x, positions, base: _angles(x, positions, base, exponent=0.0)),
            "All your pairs turn at the same speed, one radian a position. Pair i divides by base^(2i / d_k).",
        ),
        Mistake(
            "speeds-up",
            _turned(angles=lambda x, positions, base: _angles(x, positions, base, exponent=-2.0)),
            "Your pairs get faster with i; they should get slower. Is base^(2i / d_k) a factor, or a divisor?",
        ),
        Mistake(
            "base-fixed",
            lambda x, positions, base=10000.0: _halves(x, _angles(x, positions, 10000.0)),
            "Right for the base 10,000. One case gives another base, and your result does not change with it.",
        ),
        Mistake(
            "counts-the-tokens",
            _counted,
            "Right where the first token stands at position 0. You count the tokens of x: use `positions`, which says "
            "where they stand.",
        ),
        Mistake(
            "one-angle-for-all-tokens",
            lambda x, positions, base=10000.0: _halves(x, _angles(x, positions[:1], base)),
            "All tokens are turned like the first one. Each has its own position: make `positions` a column, "
            "`positions[:, None]`.",
        ),
        Mistake(
            "along-the-heads",
            _along_axis_1,
            "Right where there is no axis that could be taken for the tokens. The tokens are the axis before the last, "
            "and the heads stand before them.",
        ),
        Mistake(
            "added",
            _added,
            "You add cosines and sines to x, as chapter 07 does. Here they multiply: each pair is turned.",
        ),
        Mistake(
            "sines-added",
            _sines_added,
            "You add sines and cosines to x, as chapter 07 does. RoPE adds nothing: it turns each pair, and the length "
            "of a token stays.",
        ),
        Mistake(
            "four-features-always",
            _four_features,
            "Right for four features. The text's example has d_k = 4; here `x.shape[-1]` says how many there are.",
        ),
    ),
    hints=(
        "Take one pair (a, b) and one angle first. Which are the two numbers of pair 0 if d_k is 4 and the pairs are "
        "the halves? How many angles does a token have?",
        "A turn makes (a·cos − b·sin, a·sin + b·cos) of (a, b). `x.chunk(2, dim=-1)` gives all the a and all the b, "
        "and the angles are a table (seq_len, d_k / 2).",
        "`angles = positions[:, None] / base ** (torch.arange(0, d_k, 2) / d_k)`, and then `torch.cat([first * cos - "
        "second * sin, …], dim=-1)`.",
    ),
    alternatives=(with_the_turned_half, as_complex_numbers, by_a_matrix_for_each_token),
    difficulty=2,
    minutes=12,
)
