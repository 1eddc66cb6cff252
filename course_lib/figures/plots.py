"""The standard plots, each one call: `lines` and `bars`."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from course_lib.figures.arrays import as_array
from course_lib.figures.display import Shown, show
from course_lib.figures.style import INK, KEY, MASK, PALETTE, QUERY, VALUE, new_figure, text_width

WIDTH = 5.4  # inches: on a phone of 390 pixels, text is then still 11 pixels high
HEIGHT = 3.2
LINE = 0.2  # inches from one line of text to the next
FEW = 12  # so many values are told apart as dots
# A series of one of these names has its color; the others take what is left, in order.
MEANINGS = {"query": QUERY, "key": KEY, "value": VALUE}


def lines(
    x,
    ys,
    *,
    alt: str,
    xlabel: str = "",
    ylabel: str = "",
    title: str | None = None,
    xlog: bool = False,
    ylog: bool = False,
    mark: Mapping[str, float] | None = None,
    colors: Mapping[str, str] | None = None,
    ylim: tuple[float, float] | None = None,
) -> Shown:
    """Draw one curve a name over `x`. Each is a list of numbers; or an array (seeds, x): the median and, as a band,
    the lowest to the highest; or a tuple (middle, low, high) of lists.

    A curve's name stands at its end, where there is room. `mark` draws dotted upright lines, each with its name.
    `colors` gives curves colors of their own. One curve alone needs no name.

    >>> from course_lib.figures import lines
    >>> steps = [0, 100, 200]
    >>> lines(steps, {"hard": [1, 1, 1], "soft": [1.0, 0.6, 0.4]}, xlabel="updates", ylabel="loss", alt="Soft falls.")
    Figure: Soft falls.
    """
    x = as_array(x, "x")
    if x.ndim != 1 or x.size < 2:
        raise ValueError(f"expected x: a list of at least two numbers, got shape {x.shape}. One value a name: bars(…).")
    series = {name: _band(name, values, x) for name, values in _named(ys).items()}
    for axis, log, low in (("x", xlog, x.min()), ("y", ylog, min(low.min() for _, low, _ in series.values()))):
        if log and low <= 0:
            raise ValueError(
                f"expected {axis}: values above 0 on a logarithmic axis, got {low:g}. Leave out {axis}log=True."
            )
    inks = _colors(series, colors)
    fig, ax = new_figure(WIDTH, HEIGHT)
    ax.set(xlabel=xlabel, ylabel=_upright(ylabel), title=title or "", xscale="log" if xlog else "linear")
    ax.set_yscale("log" if ylog else "linear")
    for number, (name, (middle, low, high)) in enumerate(series.items()):
        style = ("-", "--", ":")[number // len(PALETTE) % 3]
        ax.plot(x, middle, style, color=inks[name], marker="o" if x.size <= FEW else "", markersize=4, label=name)
        if (low < high).any():
            ax.fill_between(x, low, high, color=inks[name], alpha=0.2, linewidth=0)
    if xlog and x.size <= FEW // 2:
        ax.set_xticks(x, [f"{value:g}" for value in x])
        ax.xaxis.set_minor_locator(NullLocator())
    if ylim is not None:
        ax.set_ylim(*ylim)
    ax.margins(x=0.02)
    _marks(ax, mark or {})
    if series.keys() != {""}:
        _names(ax, {name: (x[-1], middle[-1]) for name, (middle, _, _) in series.items()}, inks)
    return show(fig, alt=alt)


def bars(
    values,
    *,
    alt: str,
    label: str = "",
    title: str | None = None,
    groups: Sequence[str] | None = None,
    error=None,
    horizontal: bool | None = None,
    digits: int | None = 2,
    log: bool = False,
    colors: Mapping[str, str] | None = None,
) -> Shown:
    """Draw one bar a name, its number at its end; a list of several numbers (seeds) is their median, with a whisker
    from the lowest to the highest. With `groups`, each name has one value a group: a bar of its color in each.

    `label` names the axis of values. `error` gives half-lengths of whiskers: one number, or one a name. Bars lie
    (`horizontal`) where names are long. `digits` are the decimals of the numbers; None leaves them out.

    >>> from course_lib.figures import bars
    >>> bars({"no mask": 0.41, "causal mask": [0.97, 0.98, 0.99]}, label="accuracy", alt="Only the mask is accurate.")
    Figure: Only the mask is accurate.
    >>> bars({"small": [1, 2], "large": [3, 4]}, groups=["2 heads", "4 heads"], alt="Large is higher in both.")
    Figure: Large is higher in both.
    """
    if not isinstance(values, Mapping):
        raise TypeError(f'expected values: a number for each name, got {type(values).__name__}. Name them: {{"a": 1}}.')
    series = _named(values)
    if groups is None:
        places, table = list(series), {"": [_seeds(name, given) for name, given in series.items()]}
        inks = {"": [(colors or {}).get(place, QUERY) for place in places]}
    else:
        places, table = list(map(str, groups)), {name: _columns(name, given, groups) for name, given in series.items()}
        inks = _colors(series, colors)
    halves = _halves(error, list(series), grouped=groups is not None)
    if horizontal is None:
        horizontal = max(map(text_width, places)) > (WIDTH - 0.8) / len(places) - 0.1
    thick = min(0.8 / len(table), 0.2 * len(places))  # few bars are no blocks
    height = max(1.2, 0.34 * len(places) * max(1, 0.75 * len(table)) + 0.7) if horizontal else HEIGHT
    fig, ax = new_figure(WIDTH, height)
    ends, texts = [0.0], []
    for number, (name, columns) in enumerate(table.items()):
        at = np.arange(len(places)) + (number - (len(table) - 1) / 2) * thick
        middle, low, high = (np.array([take(column) for column in columns]) for take in (np.median, np.min, np.max))
        if name in halves:
            low, high = middle - halves[name], middle + halves[name]
        _bars(ax, at, (middle, low, high), thick * 0.9, horizontal, color=inks[name], label=name, log=log)
        ends += [*low, *high]
        if digits is not None:
            texts += [
                _number(ax, *where, digits, horizontal)
                for where in zip(at, middle, np.where(middle < 0, low, high), strict=True)
            ]
    ticks, limits = (ax.set_yticks, ax.set_xlim) if horizontal else (ax.set_xticks, ax.set_ylim)
    ticks(range(len(places)), places)
    ax.tick_params("y" if horizontal else "x", length=0)
    ax.set(**({"xlabel": label} if horizontal else {"ylabel": _upright(label)}), title=title or "")
    if not log:  # room for the numbers
        text = (max(map(text_width, texts), default=0.0) if horizontal else LINE) + 0.16
        room = max(2.5 * text, WIDTH - max(map(text_width, places)) - 0.6 if horizontal else HEIGHT - 1)
        lowest, highest = min(ends), max(ends)
        sides = (lowest < 0) + (highest > 0)
        spare = (highest - lowest) * text / max(room - sides * text, text)
        limits(lowest - spare * (lowest < 0), highest + spare * (highest > 0))
    if horizontal:
        ax.invert_yaxis()
    if groups is not None:
        fig.legend(loc="outside upper center", ncols=len(table))
    return show(fig, alt=alt)


def _upright(label: str) -> str:
    """A label beside the axes, on two lines where one is higher than they are."""
    words = label.split()
    if text_width(label) <= HEIGHT - 0.7 or len(words) < 2:
        return label
    lines = [(" ".join(words[:cut]), " ".join(words[cut:])) for cut in range(1, len(words))]
    return "\n".join(min(lines, key=lambda pair: max(map(text_width, pair))))


def _named(values) -> dict[str, object]:
    """The series by name; one alone has the name ''."""
    if not isinstance(values, Mapping):
        return {"": values}
    if not values:
        raise ValueError('expected at least one series, got none. Name it: {"loss": [3.1, 2.4]}.')
    return {str(name): given for name, given in values.items()}


def _band(name: str, values, x) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Middle, low and high of one curve."""
    what = f"ys[{name!r}]" if name else "ys"
    if isinstance(values, tuple) and len(values) == 3 and np.ndim(values[0]) == 1:
        middle, low, high = (as_array(part, what) for part in values)
    else:
        array = as_array(values, what)
        seeds = array if array.ndim == 2 else array[None]
        if seeds.ndim != 2 or not len(seeds):
            raise ValueError(f"expected {what}: (x) or (seeds, x), got shape {array.shape}. Pick two axes.")
        middle, low, high = np.median(seeds, axis=0), seeds.min(axis=0), seeds.max(axis=0)
    if not middle.shape == low.shape == high.shape == x.shape:
        raise ValueError(
            f"expected {what}: {x.size} values, one for each of x, got {middle.shape[-1] if middle.ndim else 1}. "
            "Seeds are rows: shape (seeds, x)."
        )
    return middle, low, high


def _colors(series: Mapping, colors: Mapping | None) -> dict[str, str]:
    chosen = {name: MEANINGS[name] for name in series if name in MEANINGS} | dict(colors or {})
    unknown = set(chosen) - set(series)
    if unknown:
        raise ValueError(f"expected colors: only names among {list(series)}, got {sorted(unknown)}. Rename them.")
    free = [color for color in PALETTE if color not in chosen.values()] or list(PALETTE)
    rest = [name for name in series if name not in chosen]
    return chosen | {name: free[number % len(free)] for number, name in enumerate(rest)}


def _seeds(name: str, values) -> np.ndarray:
    """What one bar stands for: one number, or several."""
    seeds = np.atleast_1d(as_array(values, f"values[{name!r}]"))
    if seeds.ndim > 1 or not seeds.size:
        raise ValueError(
            f"expected values[{name!r}]: one number or a list of seeds, got shape {seeds.shape}. "
            "Name the groups: groups=[…]."
        )
    return seeds


def _columns(name: str, values, groups: Sequence) -> np.ndarray:
    """One value a group, or a row of them for every seed, as (groups, seeds)."""
    array = as_array(values, f"values[{name!r}]")
    if array.ndim not in (1, 2) or array.shape[-1] != len(groups):
        raise ValueError(
            f"expected values[{name!r}]: {len(groups)} numbers, one a group, got shape {array.shape}. "
            "Several seeds: an array (seeds, groups)."
        )
    return np.atleast_2d(array).T


def _halves(error, names: list[str], grouped: bool) -> dict[str, np.ndarray]:
    """Half the length of the whiskers, for each series of the table."""
    if error is None:
        return {}
    if not isinstance(error, Mapping):
        return dict.fromkeys(names if grouped else [""], as_array(error, "error"))
    if set(error) != set(names):
        raise ValueError(f"expected error: the names {names}, got {list(error)}. Give one number, or one a name.")
    halves = {name: as_array(error[name], f"error[{name!r}]") for name in names}
    return halves if grouped else {"": np.array([halves[name] for name in names])}


def _bars(ax: Axes, at, spans, thick: float, horizontal: bool, **look) -> None:
    """Bars as long as the middles, whiskers where low and high differ."""
    middle, low, high = spans
    whiskers = np.where(low < high, [middle - low, high - middle], np.nan)
    whisker = {"fmt": "none", "ecolor": INK, "capsize": 3}
    if horizontal:
        ax.barh(at, middle, thick, **look)
        ax.errorbar(middle, at, xerr=whiskers, **whisker)
    else:
        ax.bar(at, middle, thick, **look)
        ax.errorbar(at, middle, yerr=whiskers, **whisker)


def _marks(ax: Axes, mark: Mapping[str, float]) -> None:
    """Dotted upright lines; the names stand above the axes."""
    for name, at in mark.items():
        ax.axvline(at, color=MASK, linestyle=":", linewidth=1.5, zorder=0)
        left, right = ax.get_xlim()
        middle = (left * right) ** 0.5 if ax.get_xscale() == "log" else (left + right) / 2
        side = "right" if at > middle else "left"
        ax.annotate(
            name, (at, 1), xycoords=("data", "axes fraction"), xytext=(-4 if side == "right" else 4, 0),
            textcoords="offset points", ha=side, va="bottom",
        )  # fmt: skip
    if mark and ax.get_title():
        ax.set_title(ax.get_title(), pad=20)


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


def _number(ax: Axes, place: float, value: float, end: float, digits: int, horizontal: bool) -> str:
    """Write the number at the outer end of its bar, or of its whisker."""
    written, side = f"{value:.{digits}f}".replace("-", "−"), -1 if value < 0 else 1
    if horizontal:
        look = {"xy": (end, place), "xytext": (4 * side, 0), "ha": "left" if side > 0 else "right", "va": "center"}
    else:
        look = {"xy": (place, end), "xytext": (0, 3 * side), "ha": "center", "va": "bottom" if side > 0 else "top"}
    ax.annotate(written, textcoords="offset points", **look)
    return written
