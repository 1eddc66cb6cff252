"""Exercise: bug hunt: four bugs in one table."""

import itertools
import math

import torch

from course_lib.positional_encoding import sinusoidal_encoding
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn
from course_practice.exercises.positional_encoding._clocks import interleaved, places, speeds


def embed(ids, words, max_len=50):
    """√d_model times the words' vectors, plus sinusoidal positions."""
    d = words.shape[1]
    x = words[ids] * math.sqrt(d)
    position = torch.arange(max_len)[:, None, None]
    angle = position / 10000 ** (torch.arange(0, d, 2) / d)
    table = torch.zeros(max_len, 1, d)
    table[..., 0::2] = angle.sin()
    table[..., 1::2] = angle.cos()
    x = x + table[: ids.shape[1], 0]
    return x


def embed_starter(ids, words, max_len=50):
    d = words.shape[1]
    x = words[ids] * math.sqrt(d)
    position = torch.arange(max_len)[:, None, None]
    angle = position / 10000 ** (2 * torch.arange(0, d, 2) / d)
    table = torch.zeros(max_len, 1, d)
    table[..., 0::2] = angle.sin()
    table[..., 1::2] = angle.sin()
    x + table[: ids.shape[0]]
    return x


def from_the_library(ids, words, max_len=50):
    return words[ids] * words.shape[1] ** 0.5 + sinusoidal_encoding(ids.shape[1], words.shape[1])


def by_transposing(ids, words, max_len=50):
    d = words.shape[1]
    angle = torch.arange(ids.size(1)).float().outer(torch.exp(torch.arange(0, d, 2) * -(math.log(10000.0) / d)))
    table = torch.stack((angle.sin(), angle.cos()), dim=2).reshape(ids.size(1), 1, d)
    return (words[ids].transpose(0, 1) * math.sqrt(d) + table).transpose(0, 1)


def token_by_token(ids, words, max_len=50):
    d = words.shape[1]
    speed = [10000 ** (-2 * (channel // 2) / d) for channel in range(d)]
    rows = [[(math.sin, math.cos)[c % 2](p * speed[c]) for c in range(d)] for p in range(ids.shape[1])]
    return math.sqrt(d) * words[ids] + torch.tensor(rows)


_OPEN = {
    "exponent": "how far does the second clock turn at each position?",
    "sines": "what should row 0 of the table hold?",
    "batch": "which axis of the ids counts positions?",
    "middle": "the rows are (n, 1, d_model). With which axis of x does their first one line up?",
}


def _embed(exponent=False, sines=False, batch=False, middle=False, scale=True, first=0, power=2.0, odd=torch.cos):
    """The repaired listing with some of its bugs left in."""

    def embed(ids, words, max_len=50):
        d = words.shape[1]
        angle = places(max_len, first) * speeds(d, exponent=4.0 if exponent else power)
        table = interleaved(angle.cos() if odd is torch.sin else angle.sin(), (torch.sin if sines else odd)(angle), d)
        x = words[ids] * (math.sqrt(d) if scale else 1.0)
        rows = table[: ids.shape[0 if batch else 1]]
        return x + (rows[:, None] if batch or middle else rows)

    return embed


def _partial_repairs():
    for left in itertools.chain.from_iterable(itertools.combinations(_OPEN, size) for size in (1, 2, 3)):
        if {"batch", "middle"} <= set(left):
            continue
        found = ("Three of four are", "Two of four are", "One of four is")[len(left) - 1]
        clues = [_OPEN[name] for name in left]
        text = clues[0] if len(clues) == 1 else " ".join(f"({i}) {clue}" for i, clue in enumerate(clues, 1))
        yield Mistake(
            "still-" + "-and-".join(left),
            _embed(**dict.fromkeys(left, True)),
            f"{found} repaired{'' if 'middle' in left else ': the positions arrive now'}. Still open: {text}",
        )


EXERCISE = Exercise(
    title="Bug hunt: four bugs in one embedding",
    task="Find and repair the four planted bugs: the function returns √d_model times the words' vectors, plus the "
    "sinusoidal positions of a sentence. ids (batch, n), words (vocab_size, d_model), d_model even.",
    reference=embed,
    starter=embed_starter,
    cases=lambda: [
        case(torch.tensor([[3, 1, 4]]), randn(5, 4), about="one sentence"),
        case(torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]]), randn(10, 6, seed=1), about="two sentences"),
        case(torch.tensor([[2, 2, 2], [2, 2, 2], [2, 2, 2]]), randn(3, 8, seed=2), about="the same word everywhere"),
        case(torch.tensor([[7, 0], [1, 1], [0, 6], [5, 5]]), randn(8, 2, seed=3), about="more sentences than tokens"),
        case(torch.arange(12)[None] % 7, randn(7, 10, seed=4), about="twelve tokens"),
        case(torch.arange(16).view(4, 4) % 4, randn(4, 4, seed=5), about="all sizes equal"),
    ],
    mistakes=(
        *_partial_repairs(),
        Mistake(
            "sum-not-kept",
            lambda ids, words, max_len=50: words[ids] * math.sqrt(words.shape[1]),
            "Your result has no positions in it, so nothing that you repaired in the table can be seen. Which line "
            "keeps the sum?",
        ),
        Mistake(
            "one-row-for-all",
            lambda ids, words, max_len=50: (
                words[ids] * math.sqrt(words.shape[1])
                + sinusoidal_encoding(ids.shape[1] + 1, words.shape[1])[ids.shape[1]]
            ),
            "All tokens get the same row, that of position n. Each token has one of its own: the rows up to n.",
        ),
        Mistake(
            "scale-removed",
            _embed(scale=False),
            "All four are repaired, but the factor √d_model is gone. It was right.",
        ),
        Mistake(
            "rows-of-the-words",
            lambda ids, words, max_len=50: (
                words[ids] * math.sqrt(words.shape[1]) + sinusoidal_encoding(int(ids.max()) + 1, words.shape[1])[ids]
            ),
            "Your rows are chosen by the ids, so equal words get equal positions. The row is the token's place in the "
            "sentence.",
        ),
        Mistake(
            "scale-on-all",
            lambda ids, words, max_len=50: math.sqrt(words.shape[1]) * _embed(scale=False)(ids, words),
            "The factor √d_model multiplies the positions as well. It belongs to the words alone, and there it was "
            "right.",
        ),
        Mistake(
            "sine-and-cosine-swapped",
            _embed(odd=torch.sin),
            "Sine and cosine have changed places now. The even channels hold the sine, and that was right.",
        ),
        Mistake(
            "exponent-halved",
            _embed(power=1.0),
            "Your exponents are half as large now. Clock i needs 2i / d_model, and `torch.arange(0, d, 2)` is 2i.",
        ),
        Mistake(
            "starts-at-one",
            _embed(first=1),
            "Your positions begin at 1 now. They began at 0, and that was right.",
        ),
    ),
    hints=(
        "Repair the last lines first: until the sum arrives, no other repair can be seen.",
        "Four questions. Which line keeps the sum? Which axis of `ids` counts positions? What should row 0 of the "
        "table hold? Is `torch.arange(0, d, 2)` i, or 2i?",
        "`x = x + table[: ids.shape[1], 0]`, `angle.cos()` in the odd channels, and `torch.arange(0, d, 2) / d`.",
    ),
    alternatives=(from_the_library, by_transposing, token_by_token),
    difficulty=3,
    minutes=15,
)
