"""`bars`: one bar a name, its number at its end."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from course_lib.figures.arrays import as_array
from course_lib.figures.display import Shown, show
from course_lib.figures.plots import HEIGHT, LINE, WIDTH, chosen_colors, colors_of, in_numbers, named, upright
from course_lib.figures.style import INK, QUERY, new_figure, text_width


def bars(
    values,
    *,
    alt: str,
    label: str = "",
    title: str | None = None,
    groups: Sequence[str] | None = None,
    horizontal: bool | None = None,
    digits: int | None = 2,
    colors: Mapping[str, str] | None = None,
    told: bool = True,
) -> Shown:
    """Draw one bar a name, its number at its end; a list of several numbers (seeds) is their median, with a whisker
    from the lowest to the highest. With `groups`, each name has one value a group: a bar of its color in each.

    `label` names the axis of values. Bars lie (`horizontal`) where names are long. `digits` are the decimals of the
    numbers; None leaves them out. The text form tells them unless `told` is False, as for times, which differ.

    >>> from course_lib.figures import bars
    >>> bars({"no mask": 0.41, "causal mask": [0.97, 0.98, 0.99]}, label="accuracy", alt="Only the mask is accurate.")
    Figure: Only the mask is accurate.
    no mask: 0.41
    causal mask: 0.98 (0.97 to 0.99)
    >>> bars({"small": [1, 2], "large": [3, 4]}, groups=["2 heads", "4 heads"], alt="Large is higher in both.")
    Figure: Large is higher in both.
    small, 2 heads: 1.00
    small, 4 heads: 2.00
    large, 2 heads: 3.00
    large, 4 heads: 4.00
    """
    if not isinstance(values, Mapping):
        raise TypeError(f'expected values: a number for each name, got {type(values).__name__}. Name them: {{"a": 1}}.')
    series = named(values)
    if groups is None:
        places, table = list(series), {"": [_seeds(name, given) for name, given in series.items()]}
        own = chosen_colors(places, colors)
        inks = {"": [own.get(place, QUERY) for place in places]}
    else:
        places, table = list(map(str, groups)), {name: _columns(name, given, groups) for name, given in series.items()}
        inks = colors_of(series, colors)
    if horizontal is None:
        horizontal = max(map(text_width, places)) > (WIDTH - 0.8) / len(places) - 0.1
    thick = min((0.65 if horizontal and len(table) == 2 else 0.8) / len(table), 0.2 * len(places))  # few are no blocks
    height = max(1.2, 0.34 * len(places) * max(1, 0.75 * len(table)) + 0.7) if horizontal else HEIGHT
    fig, ax = new_figure(WIDTH, height)
    ends, texts, said = [0.0], [], {}
    for number, (name, columns) in enumerate(table.items()):
        at = np.arange(len(places)) + (number - (len(table) - 1) / 2) * thick
        middle, low, high = (np.array([take(column) for column in columns]) for take in (np.median, np.min, np.max))
        draw, side, ends_at = (ax.barh, "xerr", (middle, at)) if horizontal else (ax.bar, "yerr", (at, middle))
        draw(at, middle, thick * 0.9, color=inks[name], label=name)
        whiskers = np.where(low < high, [middle - low, high - middle], np.nan)
        ax.errorbar(*ends_at, **{side: whiskers}, fmt="none", ecolor=INK, capsize=3)
        ends += [*low, *high]
        spans = zip(places, low, middle, high, strict=True)
        said |= {f"{name}, {place}" if name else place: [span] for place, *span in spans}
        if digits is not None:
            numbers = zip(at, middle, np.where(middle < 0, low, high), strict=True)
            texts += [_number(ax, *number, digits, horizontal, groups is None) for number in numbers]
    ticks, limits = (ax.set_yticks, ax.set_xlim) if horizontal else (ax.set_xticks, ax.set_ylim)
    ticks(range(len(places)), places)
    ax.tick_params("y" if horizontal else "x", length=0)
    ax.set(**({"xlabel": label} if horizontal else {"ylabel": upright(label)}), title=title or "")
    # room for the numbers
    text = (max(map(text_width, texts), default=0.0) if horizontal else LINE) + 0.16
    room = max(2.5 * text, WIDTH - max(map(text_width, places)) - 0.6 if horizontal else HEIGHT - 1)
    lowest, highest = min(ends), max(ends)
    sides = (lowest < 0) + (highest > 0)
    spare = (highest - lowest) * text / max(room - sides * text, text)
    limits(lowest - spare * (lowest < 0), highest + spare * (highest > 0))
    if horizontal:
        ax.invert_yaxis()
    if groups is not None:
        fig.legend(loc="outside upper center", ncols=max(1, int(WIDTH // (max(map(text_width, table)) + 0.6))))
    return show(fig, alt=alt, numbers=in_numbers(said, digits) if told else "")


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


def _number(ax: Axes, place: float, value: float, end: float, digits: int, horizontal: bool, alone: bool) -> str:
    """Write the number at the outer end of its bar, or of its whisker; beside a long whisker, where there is room."""
    written, side = f"{value:.{digits}f}".replace("-", "−"), -1 if value < 0 else 1
    if horizontal:
        look = {"xy": (end, place), "xytext": (4 * side, 0), "ha": "left" if side > 0 else "right", "va": "center"}
    else:
        beside = alone and abs(end - value) > abs(value) / 4
        look = {"xy": (place, value if beside else end), "xytext": (5 * beside, 3 * side)}
        look |= {"ha": "left" if beside else "center", "va": "bottom" if side > 0 else "top"}
    ax.annotate(written, textcoords="offset points", **look)
    return written
