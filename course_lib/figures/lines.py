"""`lines`: curves over one axis, each named at its end."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from course_lib.figures.arrays import as_array
from course_lib.figures.display import Shown, show
from course_lib.figures.plots import HEIGHT, LINE, WIDTH, colors_of, in_numbers, named, upright
from course_lib.figures.style import MASK, PALETTE, new_figure, text_width

FEW = 12  # so many values are told apart as dots


def lines(
    x,
    ys,
    *,
    alt: str,
    xlabel: str = "",
    ylabel: str = "",
    xlog: bool = False,
    ylog: bool = False,
    mark: Mapping[str, float] | None = None,
    colors: Mapping[str, str] | None = None,
    ylim: tuple[float, float] | None = None,
) -> Shown:
    """Draw one curve a name over `x`. Each is a list of numbers; or an array (seeds, x): the median and, as a band,
    the lowest to the highest; or a tuple (middle, low, high) of lists.

    A curve's name stands at its end, where there is room; one upon another is dashed. `mark` draws dotted upright
    lines, each with its name. `colors` gives curves colors of their own. One curve alone needs no name.

    >>> from course_lib.figures import lines
    >>> steps = [0, 100, 200]
    >>> lines(steps, {"hard": [1, 1, 1], "soft": [1.0, 0.6, 0.4]}, xlabel="updates", ylabel="loss", alt="Soft falls.")
    Figure: Soft falls.
    updates: 0, 100, 200
    hard: 1, 1, 1
    soft: 1, 0.6, 0.4
    """
    x = as_array(x, "x")
    if x.ndim != 1 or x.size < 2:
        raise ValueError(f"expected x: a list of at least two numbers, got shape {x.shape}. One value a name: bars(…).")
    series = {name: _band(name, values, x) for name, values in named(ys).items()}
    for axis, log, low in (("x", xlog, x.min()), ("y", ylog, min(low.min() for _, low, _ in series.values()))):
        if log and low <= 0:
            raise ValueError(
                f"expected {axis}: values above 0 on a logarithmic axis, got {low:g}. Leave out {axis}log=True."
            )
    inks = colors_of(series, colors)
    fig, ax = new_figure(WIDTH, HEIGHT)
    ax.set(xlabel=xlabel, ylabel=upright(ylabel), xscale="log" if xlog else "linear")
    ax.set_yscale("log" if ylog else "linear")
    for number, (name, (middle, low, high)) in enumerate(series.items()):
        hides = any(np.allclose(middle, other, rtol=0.02) for other, *_ in [*series.values()][:number])
        style = "--" if hides else ("-", "--", ":")[number // len(PALETTE) % 3]
        ax.plot(x, middle, style, color=inks[name], marker="o" if x.size <= FEW else "", markersize=4, label=name)
        if (low < high).any():
            ax.fill_between(x, low, high, color=inks[name], alpha=0.2, linewidth=0)
    if xlog and x.size <= FEW // 2:
        ax.set_xticks(x, [f"{value:g}" for value in x])
        ax.xaxis.set_minor_locator(NullLocator())
    elif not xlog and (x == x.round()).all():
        ax.locator_params("x", integer=True)
    if ylim is not None:
        ax.set_ylim(*ylim)
    ax.margins(x=0.02)
    _marks(ax, mark or {})
    if series.keys() != {""}:
        _names(ax, {name: (x[-1], middle[-1]) for name, (middle, _, _) in series.items()}, inks)
    return show(fig, alt=alt, numbers=_said(x, series, xlabel))


def _said(x, series: Mapping[str, tuple], xlabel: str) -> str:
    """Every number of short curves; of long ones the ends, the lowest, and the highest."""
    if x.size <= FEW:
        ends = {name: [*zip(low, middle, high, strict=True)] for name, (middle, low, high) in series.items()}
        return in_numbers({xlabel or "x": x} | ends, None)
    curves = {name: [m[0], m.min(), m.max(), m[-1]] for name, (m, _, _) in series.items()}
    return "first, lowest, highest, last\n" + in_numbers(curves, None)


def _band(name: str, values, x) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Middle, low and high of one curve."""
    what = f"ys[{name!r}]" if name else "ys"
    if isinstance(values, tuple) and len(values) == 3 and np.ndim(values[0]) == 1:
        middle, low, high = (as_array(part, what) for part in values)
    else:
        seeds = np.atleast_2d(as_array(values, what))
        if seeds.ndim != 2 or not len(seeds):
            raise ValueError(f"expected {what}: (x) or (seeds, x), got shape {seeds.shape}. Pick two axes.")
        middle, low, high = np.median(seeds, axis=0), seeds.min(axis=0), seeds.max(axis=0)
    if not middle.shape == low.shape == high.shape == x.shape:
        raise ValueError(
            f"expected {what}: {x.size} values, one for each of x, got {middle.shape[-1] if middle.ndim else 1}. "
            "Seeds are rows: shape (seeds, x)."
        )
    return middle, low, high


def _marks(ax: Axes, mark: Mapping[str, float]) -> None:
    """Dotted upright lines; the names stand above the axes."""
    for name, at in mark.items():
        ax.axvline(at, color=MASK, linestyle=":", linewidth=1.5, zorder=0)
        left, right = ax.get_xlim()
        middle = (left * right) ** 0.5 if ax.get_xscale() == "log" else (left + right) / 2
        side, shift = ("right", -4) if at > middle else ("left", 4)
        look = {"textcoords": "offset points", "ha": side, "va": "bottom"}
        ax.annotate(name, (at, 1), xycoords=("data", "axes fraction"), xytext=(shift, 0), **look)


def _names(ax: Axes, ends: Mapping[str, tuple[float, float]], inks: Mapping[str, str]) -> None:
    """Each name beside the end of its curve, moved up or down a little where two would touch; else a legend."""
    ax.figure.draw_without_rendering()
    inch = ax.figure.dpi
    order = sorted(ends, key=lambda name: ends[name][1])
    wanted = np.array([ax.transData.transform(ends[name])[1] for name in order]) / inch
    low, high = ax.bbox.y0 / inch, ax.bbox.y1 / inch
    places = _apart(wanted, low, high)
    widest = max(map(text_width, ends))
    if places is None or np.abs(places - wanted).max() > 2 * LINE or widest > 0.3 * WIDTH:
        ax.figure.legend(loc="outside upper center", ncols=max(1, int(WIDTH // (widest + 0.6))))
        ax.figure.draw_without_rendering()  # the legend makes the axes lower
        ax.set_ylabel(upright(ax.get_ylabel(), ax.bbox.height / inch))
        return
    leader = {"arrowstyle": "-", "linewidth": 1.5, "shrinkA": 1, "shrinkB": 3, "relpos": (0, 0.5)}
    for name, place, end in zip(order, places, wanted, strict=True):
        ax.annotate(
            name, ends[name], xytext=(14, (place - end) * 72), textcoords="offset points", va="center",
            arrowprops=leader | {"color": inks[name]},
        )  # fmt: skip


def _apart(wanted: np.ndarray, low: float, high: float) -> np.ndarray | None:
    """Ascending places at least a line apart, as near as may be to those wanted; None where there is no room."""
    if (len(wanted) - 1) * LINE > high - low:
        return None
    steps = LINE * np.arange(len(wanted))
    # Without the steps it is the nearest ascending sequence: neighbors out of order share their mean.
    blocks: list[list[float]] = []
    for value in wanted - steps:
        blocks.append([value])
        while len(blocks) > 1 and np.mean(blocks[-2]) > np.mean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    level = np.concatenate([np.full(len(block), np.mean(block)) for block in blocks])
    return np.clip(level, low, high - steps[-1]) + steps
