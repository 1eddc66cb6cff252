"""What the standard plots share: their size, the names of series, and their colors."""

from collections.abc import Collection, Mapping

import numpy as np

from course_lib.figures.style import KEY, PALETTE, QUERY, VALUE, text_width

WIDTH = 5.4  # inches: on a phone of 390 pixels, text is then still 11 pixels high
HEIGHT = 3.2
LINE = 0.2  # inches from one line of text to the next
# A series of one of these names has its color; the others take what is left, in order.
MEANINGS = {"query": QUERY, "key": KEY, "value": VALUE}


def named(values) -> dict[str, object]:
    """The series by name; one alone has the name ''.

    >>> named({1: [2, 3]}), named([2, 3])
    ({'1': [2, 3]}, {'': [2, 3]})
    """
    if not isinstance(values, Mapping):
        return {"": values}
    if not values:
        raise ValueError('expected at least one series, got none. Name it: {"loss": [3.1, 2.4]}.')
    return {str(name): given for name, given in values.items()}


def in_numbers(rows: Mapping[str, object], digits: int | None = 2) -> str:
    """The numbers that a figure draws as text, a line a row; of seeds, which are a list, the median and the range.

    Without `digits`, each number has at least three.

    >>> print(in_numbers({"share": [0.5, 1, [0.25, 0.5, 0.6]], "": [1e-9, 2048]}, None))
    share: 0.5, 1, 0.5 (0.25 to 0.6)
    1e-09, 2048
    """

    def written(value) -> str:
        if digits is None:
            return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
        return f"{round(value, digits) + 0.0:.{digits}f}"

    def said(value) -> str:
        low, middle, high = (written(take(value)) for take in (np.min, np.median, np.max))
        return middle if low == high else f"{middle} ({low} to {high})"

    return "\n".join((f"{name}: " if name else "") + ", ".join(map(said, row)) for name, row in rows.items())


def upright(label: str, high: float = HEIGHT - 0.7) -> str:
    """A label beside axes, on two lines where one is longer than they are `high` (inches).

    >>> print(upright("the share of all queries that fetch their value"))
    the share of all queries
    that fetch their value
    """
    words = label.split()
    if text_width(label) <= high or len(words) < 2:
        return label
    lines = [(" ".join(words[:cut]), " ".join(words[cut:])) for cut in range(1, len(words))]
    return "\n".join(min(lines, key=lambda pair: max(map(text_width, pair))))


def chosen_colors(names: Collection[str], colors: Mapping[str, str] | None) -> dict[str, str]:
    """The colors that are settled: those given, and those of names that have a meaning.

    >>> chosen_colors(["query", "hard", "soft"], {"hard": "#000000"})
    {'query': '#0072B2', 'hard': '#000000'}
    """
    if unknown := set(colors or {}) - set(names):
        raise ValueError(f"expected colors: only names among {list(names)}, got {sorted(unknown)}. Rename them.")
    return {name: MEANINGS[name] for name in names if name in MEANINGS} | dict(colors or {})


def colors_of(names: Collection[str], colors: Mapping[str, str] | None) -> dict[str, str]:
    """A color for each name: the settled ones, and for the others what is left of the palette, in order.

    >>> colors_of(["key", "a", "b"], None)
    {'key': '#D55E00', 'a': '#0072B2', 'b': '#009E73'}
    """
    chosen = chosen_colors(names, colors)
    free = [color for color in PALETTE if color not in chosen.values()] or list(PALETTE)
    rest = [name for name in names if name not in chosen]
    return chosen | {name: free[number % len(free)] for number, name in enumerate(rest)}
