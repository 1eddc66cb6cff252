"""Heat maps of attention weights: rows are queries, columns are keys."""

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.transforms import Affine2D

from course_lib.figures.arrays import as_allowed, as_array, as_tokens
from course_lib.figures.display import Shown, show
from course_lib.figures.plots import in_numbers
from course_lib.figures.style import BROAD, INK, MASK, SEQUENTIAL, apply_style, ink_on, new_figure

TOKENS_MAX = 24  # positions that still get their token as a label
ANNOTATED_MAX = 12  # keys that still get their number written into the cell
PAGE, PHONE = 7.2, 5.4  # inches; what is wider than the second has small text on a phone
CELL, CELL_NUMBER, CELL_MIN = 0.62, 0.42, 0.19  # inches; the second holds a number, the smallest a line of text
LETTER = 0.11  # inches, about the width of one


def heatmap(
    weights,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    *,
    alt: str | None = None,
    title: str | None = None,
    ax: Axes | None = None,
    annotate: bool = True,
    mask=None,
    vmin: float | None = None,
    vmax: float | None = None,
) -> Shown | Figure:
    """Draw weights (q_len, k_len) as a map: queries are rows, keys are columns. `alt` says it in words.

    `mask` (q_len, k_len), True = may attend: hidden cells are hatched gray, and so are scores of -inf. Without `keys`
    the queries are used for both axes (self-attention). Colors run from 0 to 1 for weights, over the range of the
    values for scores, or from `vmin` to `vmax`. Without `alt` the figure itself is returned, to draw more into it.

    >>> from course_lib.figures import heatmap
    >>> heatmap([[0.7, 0.3], [0.2, 0.8]], ["the", "cat"], alt="Both words look mostly at themselves.")
    Figure: Both words look mostly at themselves.
    the: 0.70, 0.30
    cat: 0.20, 0.80
    """
    apply_style()
    values = as_array(weights, "weights", minus_infinity=True)
    if values.ndim != 2 or values.size == 0:
        raise ValueError(
            f"expected weights: (q_len, k_len), got shape {values.shape}. "
            "Pick one: weights[batch, head]; several heads: heatmaps(weights[batch], …)."
        )
    n_queries, n_keys = values.shape
    hidden = ~as_allowed(mask, values.shape) | np.isneginf(values)
    if keys is None and queries is not None and n_queries == n_keys:
        keys = queries
    rows = as_tokens(queries, n_queries, "queries") if queries is not None else None
    columns = as_tokens(keys, n_keys, "keys") if keys is not None else None
    if ax is None:
        slant = 0.7 * _margin(columns)  # of labels at 45 degrees, upwards and to the right
        beside, least = _margin(rows) + slant, CELL_NUMBER if annotate and n_keys <= ANNOTATED_MAX else CELL_MIN
        cell = min(CELL, 5.6 / max(values.shape), max(least, (PHONE - beside) / n_keys))
        _, ax = new_figure(n_keys * cell + beside, n_queries * cell + slant + 0.5)
    colors = mpl.cm.ScalarMappable(mpl.colors.Normalize(*_range(values[~hidden], vmin, vmax)), SEQUENTIAL)
    _cells(ax, values, hidden, colors)
    numbers = ""
    if annotate and n_keys <= ANNOTATED_MAX and n_queries <= TOKENS_MAX:
        for (row, column), value in np.ndenumerate(values):
            if not hidden[row, column]:
                ink = ink_on(colors.to_rgba(value))
                ax.text(column + 0.5, row + 0.5, f"{round(value, 2) + 0:.2f}", ha="center", va="center", color=ink)
        names = rows or [f"row {number}" for number in range(n_queries)]
        written = zip(names, values, hidden, strict=True)
        numbers = "\n".join(in_numbers({name: row[~gone]}) for name, row, gone in written)
    _labels(ax, rows, columns, values.shape)
    if title:
        ax.set_title(title)
    return ax.figure if alt is None else show(ax.figure, alt=alt, numbers=numbers)


def heatmaps(
    weights,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    *,
    alt: str | None = None,
    titles: Sequence[str] | None = None,
    cols: int | None = None,
    annotate: bool = False,
    mask=None,
) -> Shown | Figure:
    """Draw weights (n_heads, q_len, k_len), one panel a head, on one color scale. `alt` says it in words.

    `cols` panels stand side by side: as many as fit, at most four. Without `alt` the figure itself is returned.

    >>> from course_lib.figures import heatmaps
    >>> heatmaps([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], ["the", "cat"], alt="Head 0: itself. Head 1: the other word.")
    Figure: Head 0: itself. Head 1: the other word.
    """
    values = as_array(weights, "weights", minus_infinity=True)
    if values.ndim != 3 or values.size == 0:
        raise ValueError(
            f"expected weights: (n_heads, q_len, k_len), got shape {values.shape}. "
            "Pick one sentence: weights[batch]; one map alone: heatmap(weights[batch, head], …)."
        )
    n_heads = len(values)
    titles = [f"head {number}" for number in range(n_heads)] if titles is None else list(titles)
    if len(titles) != n_heads:
        raise ValueError(f"expected titles: {n_heads}, one a head, got {len(titles)}. Name every panel.")
    hidden = ~as_allowed(mask, values.shape) | np.isneginf(values)
    vmin, vmax = _range(values[~hidden])
    n_queries, n_keys = values.shape[1:]
    label = _margin(queries)
    panel = n_keys * (CELL_NUMBER if annotate and n_keys <= ANNOTATED_MAX else CELL_MIN) + 0.2

    def drawn(cols: int, room: float) -> Figure:
        rows = -(-n_heads // cols)
        cell = min(CELL, ((room - label) / cols - 0.2) / n_keys, 5.6 / n_queries)
        height = rows * (n_queries * cell + 0.4) + _margin(queries if keys is None else keys)
        fig, axes = new_figure(label + cols * (n_keys * cell + 0.2), height, rows, cols, squeeze=False)
        for number, ax in enumerate(axes.flat):
            if number >= n_heads:
                ax.set_axis_off()
                continue
            heatmap(
                values[number], queries, keys, title=titles[number], ax=ax, annotate=annotate,
                mask=~hidden[number], vmin=vmin, vmax=vmax,
            )  # fmt: skip
            ax.label_outer()
        return fig

    fitting = int((PHONE - label) // panel)
    if fitting < min(2, n_heads):
        fitting = max(1, int((PAGE - label) // panel))
    broad = not cols and n_heads > fitting and n_heads <= min(4, (BROAD - label) // panel)
    cols = cols or -(-n_heads // -(-n_heads // min(4, fitting)))
    fig = drawn(cols, PHONE if label + cols * panel <= PHONE else PAGE)
    return fig if alt is None else show(fig, alt=alt, broad=drawn(n_heads, BROAD) if broad else None)


def _range(values, vmin: float | None = None, vmax: float | None = None) -> tuple[float, float]:
    """0 to 1 for probabilities, so that all maps compare; otherwise from the lowest value to the highest."""
    probabilities = values.size == 0 or (values.min() >= -1e-6 and values.max() <= 1 + 1e-6)
    low, high = (0.0, 1.0) if probabilities else (values.min(), values.max())
    return (low if vmin is None else vmin), (high if vmax is None else vmax)


def _margin(labels) -> float:
    """Inches beside the map for the longest label and the name of the axis."""
    if labels is None or len(labels) > TOKENS_MAX:
        return 0.7
    return LETTER * max((len(str(label)) for label in labels), default=0) + 0.4


def _cells(ax: Axes, values, hidden, colors) -> None:
    """One image of the visible cells, hatching over the hidden ones, and lines between them."""
    n_queries, n_keys = values.shape
    image = colors.to_rgba(np.where(hidden, 0, values), bytes=True)
    image[hidden] = 0
    ax.imshow(image, extent=(0, n_keys, n_queries, 0), interpolation="none")
    cells = [Path.unit_rectangle().transformed(Affine2D().translate(j, i)) for i, j in np.argwhere(hidden)]
    if cells:
        ax.add_patch(PathPatch(Path.make_compound_path(*cells), facecolor="none", edgecolor=MASK, hatch="///", lw=0))
    if max(values.shape) <= TOKENS_MAX:
        ends = [((0, i), (n_keys, i)) for i in range(n_queries + 1)]
        ends += [((j, 0), (j, n_queries)) for j in range(n_keys + 1)]
        lines = Path(np.reshape(ends, (-1, 2)), [Path.MOVETO, Path.LINETO] * len(ends))
        ax.add_patch(PathPatch(lines, facecolor="none", edgecolor=INK, linewidth=0.5, clip_on=False))
    ax.set(xlim=(0, n_keys), ylim=(n_queries, 0), aspect="equal")


def _labels(ax: Axes, rows, columns, shape) -> None:
    ax.set_xlabel("keys", weight="bold")  # unlike the labels beside it
    ax.set_ylabel("queries", weight="bold")
    ax.xaxis.set_label_position("top")
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    for axis, labels, count in ((ax.xaxis, columns, shape[1]), (ax.yaxis, rows, shape[0])):
        if labels is None or count > TOKENS_MAX:
            shown = range(0, count, max(1, -(-count // 8)))
            axis.set_ticks(np.array(shown) + 0.5, list(map(str, shown)))
            continue
        axis.set_ticks(np.arange(count) + 0.5, labels)
        for label in axis.get_ticklabels():
            label.set_parse_math(False)  # a token may contain a dollar sign
    box = ax.get_window_extent()
    cell = min(box.width / shape[1], box.height / shape[0]) / ax.figure.dpi
    if columns is not None and LETTER * max(map(len, columns), default=0) > cell:
        turned = {"rotation": 90} if cell < 0.27 else {"rotation": 45, "ha": "left", "rotation_mode": "anchor"}
        for label in ax.get_xticklabels():
            label.set(**turned)
