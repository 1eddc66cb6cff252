"""Heat maps of attention weights: rows are queries, columns are keys."""

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib.figures.arrays import as_allowed, as_array, as_tokens
from course_lib.figures.style import INK, MASK, SEQUENTIAL, apply_style, ink_on, new_figure

TOKENS_MAX = 24  # positions that still get their token as a label
CELLS_MAX = 600  # cells drawn one by one; more become one image
ANNOTATED_MAX = 12  # keys that still get their number written into the cell


def heatmap(
    weights,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    *,
    title: str | None = None,
    ax: Axes | None = None,
    annotate: bool = True,
    mask=None,
    vmin: float | None = None,
    vmax: float | None = None,
    colorbar: bool = False,
) -> Figure:
    """Draw weights (q_len, k_len) as a map: queries are rows, keys are columns; returns the figure.

    `mask` (q_len, k_len), True = may attend: hidden cells are hatched gray. Without `keys` the queries are used for
    both axes (self-attention). Give the figure to `show`.

    >>> from course_lib.figures import heatmap, show
    >>> fig = heatmap([[0.7, 0.3], [0.2, 0.8]], ["the", "cat"])
    >>> show(fig, alt="Both words look mostly at themselves.")
    Figure: Both words look mostly at themselves.
    """
    apply_style()
    values = as_array(weights, "weights")
    if values.ndim != 2:
        raise ValueError(
            f"expected weights: (q_len, k_len), got shape {values.shape}. "
            "Pick one: weights[batch, head]; several heads: heatmaps(weights[batch], …)."
        )
    n_queries, n_keys = values.shape
    hidden = ~as_allowed(mask, values.shape)
    if keys is None and queries is not None and n_queries == n_keys:
        keys = queries
    rows = as_tokens(queries, n_queries, "queries") if queries is not None else None
    columns = as_tokens(keys, n_keys, "keys") if keys is not None else None
    if ax is None:
        _, ax = new_figure(*_size(values.shape, rows))
    colors = mpl.cm.ScalarMappable(mpl.colors.Normalize(*_range(values, vmin, vmax)), SEQUENTIAL)
    _cells(ax, values, hidden, colors)
    if annotate and n_keys <= ANNOTATED_MAX and n_queries <= TOKENS_MAX:
        _numbers(ax, values, hidden, colors)
    _labels(ax, rows, columns, values.shape)
    if title:
        ax.set_title(title)
    if colorbar:
        ax.figure.colorbar(colors, ax=ax, shrink=0.8).outline.set_visible(False)
    return ax.figure


def heatmaps(
    weights,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    *,
    titles: Sequence[str] | None = None,
    cols: int = 4,
    annotate: bool = False,
    mask=None,
    vmin: float | None = None,
    vmax: float | None = None,
) -> Figure:
    """Draw weights (n_heads, q_len, k_len), one panel a head, on one color scale; returns the figure.

    >>> from course_lib.figures import heatmaps, show
    >>> fig = heatmaps([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], ["the", "cat"])
    >>> show(fig, alt="Head 0 looks at itself, head 1 at the other word.")
    Figure: Head 0 looks at itself, head 1 at the other word.
    """
    values = as_array(weights, "weights")
    if values.ndim != 3:
        raise ValueError(
            f"expected weights: (n_heads, q_len, k_len), got shape {values.shape}. "
            "Pick one sentence: weights[batch]; one map alone: heatmap(weights[batch, head], …)."
        )
    n_heads = len(values)
    names = as_tokens(titles if titles is not None else [f"head {i}" for i in range(n_heads)], n_heads, "titles")
    hidden = ~as_allowed(mask, values.shape)
    vmin, vmax = _range(values, vmin, vmax)
    cols = min(cols, n_heads)
    rows = -(-n_heads // cols)
    width, height = _size(values.shape[1:], queries)
    scale = min(1.0, 7.2 / (cols * width))
    fig, axes = new_figure(cols * width * scale, rows * max(height * scale, 1.8), rows, cols, squeeze=False)
    for number, ax in enumerate(axes.flat):
        if number >= n_heads:
            ax.set_axis_off()
            continue
        heatmap(
            values[number], queries, keys, title=names[number], ax=ax, annotate=annotate,
            mask=~hidden[number], vmin=vmin, vmax=vmax,
        )  # fmt: skip
        ax.label_outer()
    return fig


def _range(values, vmin, vmax) -> tuple[float, float]:
    """0 to 1 for probabilities, so that all maps compare; otherwise from the lowest value to the highest."""
    probabilities = values.size == 0 or (values.min() >= -1e-6 and values.max() <= 1 + 1e-6)
    low, high = (0.0, 1.0) if probabilities else (values.min(), values.max())
    return (low if vmin is None else vmin), (high if vmax is None else vmax)


def _size(shape, rows) -> tuple[float, float]:
    """Inches: a cell is half an inch where numbers fit, and never more than a page in all."""
    n_queries, n_keys = shape
    cell = min(0.62, 5.6 / max(n_keys, 1), 5.6 / max(n_queries, 1))
    label = 0.11 * max((len(str(row)) for row in rows or [""]), default=0) if n_queries <= TOKENS_MAX else 0.3
    return n_keys * cell + label + 0.7, n_queries * cell + label + 0.7


def _cells(ax: Axes, values, hidden, colors) -> None:
    n_queries, n_keys = values.shape
    ax.set(xlim=(0, n_keys), ylim=(n_queries, 0), aspect="equal")
    if values.size > CELLS_MAX:
        image = colors.to_rgba(values)
        image[hidden] = mpl.colors.to_rgba(MASK)
        ax.imshow(image, extent=(0, n_keys, n_queries, 0), interpolation="nearest")
        return
    for (row, column), value in np.ndenumerate(values):
        if hidden[row, column]:
            look = {"facecolor": "none", "edgecolor": MASK, "hatch": "///"}
        else:
            look = {"facecolor": colors.to_rgba(value), "edgecolor": INK}
        ax.add_patch(Rectangle((column, row), 1, 1, linewidth=0.5, **look))


def _numbers(ax: Axes, values, hidden, colors) -> None:
    for (row, column), value in np.ndenumerate(values):
        if not hidden[row, column]:
            text = f"{value:.2f}"
            ax.text(column + 0.5, row + 0.5, text, ha="center", va="center", color=ink_on(colors.to_rgba(value)))


def _labels(ax: Axes, rows, columns, shape) -> None:
    ax.set(xlabel="keys", ylabel="queries")
    ax.xaxis.set_label_position("top")
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    for axis, labels, count in ((ax.xaxis, columns, shape[1]), (ax.yaxis, rows, shape[0])):
        if labels is None or count > TOKENS_MAX:
            step = max(1, -(-count // 8))
            axis.set_ticks(np.arange(0, count, step) + 0.5, [str(i) for i in range(0, count, step)])
            continue
        axis.set_ticks(np.arange(count) + 0.5, labels)
        for label in axis.get_ticklabels():
            label.set_parse_math(False)  # a token may contain a dollar sign
    if columns is not None and max(map(len, columns)) * 0.11 > 0.6:
        for label in ax.get_xticklabels():
            label.set(rotation=45, ha="left", rotation_mode="anchor")
