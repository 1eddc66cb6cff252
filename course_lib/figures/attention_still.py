"""The attention view as a drawing that stands still: one layer and head, every query's lines, one query in color."""

import numpy as np
from matplotlib.figure import Figure

from course_lib.figures.style import INK, KEY, MASK, QUERY, new_figure, text_width

ROW = 0.3  # inches from one token to the next
ACROSS = 1.8  # inches that the lines have
FAINT = 0.1  # weights below it are drawn for the chosen query only
LONGEST = 22  # letters of a token


def still(queries: list[str], keys: list[str], weights: np.ndarray, hidden: np.ndarray, query: int) -> Figure:
    """Queries on the left, keys with the weights of `query` on the right, lines as wide as the weights (q_len, k_len).

    >>> fig = still(["it"], ["cat", "mat"], np.array([[0.75, 0.25]]), np.zeros((1, 2), dtype=bool), 0)
    >>> [text.get_text() for text in fig.axes[0].texts]
    ['queries', 'keys', 'it', 'cat', '0.75', 'mat', '0.25']
    """
    left = max(map(text_width, ["queries", *map(_cut, queries)])) + 0.15
    right = max(map(text_width, ["keys", *map(_cut, keys)])) + 0.2
    number = text_width("masked")
    rows = max(len(queries), len(keys)) + 1
    fig, ax = new_figure(left + ACROSS + right + number, rows * ROW)
    fig.set_layout_engine("none")
    ax.set_position((0, 0, 1, 1))
    ax.set(xlim=(-left, ACROSS + right + number), ylim=(rows - 1.5, -1.5))
    ax.set_axis_off()
    ax.text(-0.1, -1, "queries", ha="right", va="center", weight="bold")
    ax.text(ACROSS + 0.1, -1, "keys", va="center", weight="bold")
    for i, token in enumerate(queries):
        _write(ax, -0.1, i, token, ha="right", weight="bold" if i == query else "normal")
    for j, token in enumerate(keys):
        _write(ax, ACROSS + 0.1, j, token, color=MASK if hidden[query, j] else INK)
        written = "masked" if hidden[query, j] else f"{weights[query, j]:.2f}"
        ax.text(ACROSS + right + number, j, written, ha="right", va="center", color=MASK if hidden[query, j] else INK)
    faint = np.where(np.arange(len(queries)) == query, 0.005, FAINT)[:, None]
    for i, j in sorted(np.argwhere(~hidden & (weights >= faint)).tolist(), key=lambda cell: cell[0] == query):
        chosen = i == query
        ax.plot(
            [0, ACROSS], [i, j], color=QUERY if chosen else INK, solid_capstyle="butt",
            linewidth=0.8 + 4 * weights[i, j], alpha=0.4 + 0.6 * weights[i, j] if chosen else 0.3 * weights[i, j],
        )  # fmt: skip
    ax.plot([0, 0], [query - 0.5, query + 0.5], color=QUERY, linewidth=2)
    ax.plot([ACROSS] * 2, [-0.5, len(keys) - 0.5], color=KEY, linewidth=2)
    return fig


def _cut(token: str) -> str:
    return token if len(token) <= LONGEST else token[: LONGEST - 1] + "…"


def _write(ax, x: float, y: float, token: str, **look) -> None:
    ax.text(x, y, _cut(token), va="center", parse_math=False, **look)
