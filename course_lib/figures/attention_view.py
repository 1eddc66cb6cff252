"""`attention_view`: pick a layer and a head, move over the tokens, see where each one looks."""

import json
from collections.abc import Sequence
from html import escape

import numpy as np
from matplotlib.figure import Figure

from course_lib.figures.arrays import as_allowed, as_array, as_tokens
from course_lib.figures.display import Output, css, figure_to_png, script
from course_lib.figures.style import FADED, INK, KEY, QUERY, new_figure, text_width
from course_lib.figures.svg import check_size, checked_alt, emphasized, plain

ROW = 0.3  # inches from one token to the next
ACROSS = 1.8  # inches that the lines have
FAINT = 0.1  # weights below it are drawn for the chosen query only
LONGEST = 22  # letters of a token


class AttentionView(Output):
    """Attention weights as data, and the page that shows them: text form and HTML form."""

    def __init__(self, queries: list[str], keys: list[str], weights: np.ndarray, start: dict, alt: str, hidden):
        self.queries, self.keys, self.weights = queries, keys, weights
        self.start, self.alt, self.hidden = start, alt, hidden
        layer, head, query = start.values()
        self.png = figure_to_png(_still(queries, keys, weights[layer, head], hidden, query))

    def __repr__(self) -> str:
        n_layers, n_heads, q_len, k_len = self.weights.shape
        return (
            f"Attention view: {plain(self.alt)} Layers: {n_layers}, heads: {n_heads}, queries: {q_len}, keys: {k_len}."
        )

    def page(self) -> str:
        """A table of the first head shown, which the script replaces by the picture to move in."""
        data = {
            "queries": self.queries,
            "keys": self.keys,
            "start": list(self.start.values()),
            # thousandths: whole numbers are short, and equal on every processor
            "weights": np.rint(self.weights * 1000).astype(int).tolist(),
            "hidden": self.hidden.astype(int).tolist() if self.hidden.any() else None,
        }
        text = escape(json.dumps(data, ensure_ascii=False, separators=(",", ":")))
        # In an <svg>, because that is what the comparison of stored outputs leaves out: the last digit of a trained
        # model's weight differs from one processor to the next.
        return (
            f'<div hidden="hidden" class="course-figure" role="group" aria-label="{escape(plain(self.alt))}" '
            f'data-course="attention_view"{emphasized(self.alt)}>'
            f"{css('figure', 'controls', 'attention_view')}"
            f'<svg hidden data-weights="{text}"></svg>'
            f"{_table(self)}</div>{script('attention_view')}"
        )


def attention_view(
    tokens: Sequence[str],
    weights,
    *,
    alt: str,
    keys: Sequence[str] | None = None,
    mask=None,
    layer: int = 0,
    head: int = 0,
    query: int = 0,
) -> AttentionView:
    """Let the reader pick layer, head and query token, and see its weights as lines and as numbers.

    `weights` has shape (q_len, k_len), (n_heads, q_len, k_len) or (n_layers, n_heads, q_len, k_len). `tokens` are the
    queries, and the keys too unless `keys` names others (cross-attention). `mask` (q_len, k_len), True = may attend.
    `layer`, `head` and `query` are shown first. Weights are stored with three decimals; at most 290 KB.

    >>> from course_lib.figures import attention_view
    >>> attention_view(["the", "cat"], [[0.9, 0.1], [0.4, 0.6]], alt="Each word looks mostly at itself.")
    Attention view: Each word looks mostly at itself. Layers: 1, heads: 1, queries: 2, keys: 2.
    """
    alt = checked_alt(alt)
    values = as_array(weights, "weights")
    if values.ndim not in (2, 3, 4) or 0 in values.shape:
        raise ValueError(
            f"expected weights: (q_len, k_len), (n_heads, q_len, k_len) or (n_layers, n_heads, q_len, k_len), "
            f"got shape {values.shape}. Pick one sentence of the batch, and stack layers: torch.stack(layers)[:, 0]."
        )
    if values.min() < -1e-3 or values.max() > 1 + 1e-3:
        raise ValueError(
            f"expected weights: between 0 and 1, got {values.min():.3g} to {values.max():.3g}. "
            "Pass the weights after the softmax, not the scores."
        )
    values = values.reshape((1,) * (4 - values.ndim) + values.shape)
    n_layers, n_heads, q_len, k_len = values.shape
    queries = as_tokens(tokens, q_len, "tokens")
    keys = as_tokens(tokens if keys is None else keys, k_len, "keys")
    start = {"layer": layer, "head": head, "query": query}
    for (name, at), count in zip(start.items(), (n_layers, n_heads, q_len), strict=True):
        if not 0 <= at < count:
            raise ValueError(f"expected {name}: 0 to {count - 1}, got {at}. Counting starts at 0.")
    view = AttentionView(queries, keys, values, start, alt, ~as_allowed(mask, (q_len, k_len)))
    check_size(view._repr_html_(), "Show fewer layers or heads, or a shorter sentence.")
    return view


def _table(view: AttentionView) -> str:
    layer, head, _ = view.start.values()
    rows = "".join(
        f'<tr><th scope="row">{escape(query)}</th>'
        + "".join(
            f"<td>{'masked' if hidden else f'{weight:.2f}'}</td>" for weight, hidden in zip(weights, hides, strict=True)
        )
        + "</tr>"
        for query, weights, hides in zip(view.queries, view.weights[layer, head], view.hidden, strict=True)
    )
    heads = "".join(f'<th scope="col">{escape(key)}</th>' for key in view.keys)
    return (
        f'<div class="course-still"><table><caption>Layer {layer}, head {head}: rows are queries, columns are keys.'
        f"</caption><thead><tr><td></td>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _still(queries: list[str], keys: list[str], weights: np.ndarray, hidden: np.ndarray, query: int) -> Figure:
    """Queries on the left, keys with the weights of `query` on the right, lines as wide as the weights."""
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
        _write(ax, ACROSS + 0.1, j, token, color=FADED if hidden[query, j] else INK)
        written = "masked" if hidden[query, j] else f"{weights[query, j]:.2f}"
        ax.text(ACROSS + right + number, j, written, ha="right", va="center", color=FADED if hidden[query, j] else INK)
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
