"""`shapes`: a matrix product as boxes, each with its name and its sizes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle

from course_lib.figures.display import Shown, show
from course_lib.figures.style import BROAD, INK, KEY, MASK, QUERY, VALUE, new_figure, text_width
from course_lib.figures.svg import checked_alt
from course_lib.figures.symbols import PLAIN, SYMBOL

COLORS = {"query": QUERY, "key": KEY, "value": VALUE, "mask": MASK}
WORDS = {"@": "times", "=": "equals", "+": "plus", "×": "times elementwise", "−": "minus"}

PAGE = 5.35  # inches: on a phone of 390 pixels, text is then still 11 pixels high
BETWEEN = 0.6  # inches from one row to the next beside it
UNIT, LARGEST, SMALLEST = 0.24, 1.45, 0.2  # inches of one cell, of the largest side and the smallest
COUNTED = 8  # so many rows and columns are drawn one by one
BEHIND = 0.09  # inches from one box of a stack to the next
GAP, LINE, PAD = 0.14, 0.2, 0.07
ZOOMS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)


@dataclass(frozen=True)
class Box:
    """A matrix with its name, its axes (name and size, outermost first) and its color."""

    name: str
    axes: tuple[tuple[str, int], ...]
    color: str | None = None

    @property
    def rows(self) -> tuple[str, int]:
        return self.axes[-2] if len(self.axes) > 1 else ("", 1)

    @property
    def columns(self) -> tuple[str, int]:
        return self.axes[-1]

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes, less those of 1 in front: a row is a vector."""
        sizes = tuple(size for _, size in self.axes)
        first = next((number for number, size in enumerate(sizes[:-1]) if size > 1), len(sizes) - 1)
        return sizes[first:]

    def __str__(self) -> str:
        return f"{self.name.replace('$', '')} ({' × '.join(str(size) for _, size in self.axes)})"


def box(name: str, axes: str, color: str | None = None) -> Box:
    """A matrix for `shapes`: its name, its axes with their sizes, its color.

    The last two axes are rows and columns; those before are drawn as boxes behind. `color` is "query", "key", "value",
    "mask", or any color.

    >>> from course_lib.figures import box
    >>> str(box("Q", "heads=2 q_len=3 d_k=4", "query"))
    'Q (2 × 3 × 4)'
    >>> str(box("b", "4"))
    'b (4)'
    """
    parts = [part.rpartition("=") for part in axes.split()] if isinstance(axes, str) else []
    if not parts or not all(size.isdigit() and int(size) for _, _, size in parts):
        raise ValueError(
            f"expected axes: a size for each axis, such as 'q_len=3 d_k=2' or '3 2', got {axes!r}. "
            "Rows come before columns; sizes are whole numbers of at least 1."
        )
    return Box(name, tuple((axis, int(size)) for axis, _, size in parts), COLORS.get(color, color))


def shapes(*parts, alt: str | None = None) -> Shown:
    """Draw a product of matrices as boxes with their sizes: `shapes(box(…), "@", box(…), "=", box(…))`.

    Between the boxes stand "@", "=", "+", "×", or a word ("softmax"), which becomes an arrow. Lists are rows, drawn
    one below the other; a long row is broken where it has to be. Sizes have to fit: columns of the left factor = rows
    of the right one. Without `alt`, the words say exactly what is drawn.

    >>> from course_lib.figures import box, shapes
    >>> query, key = box("Q", "q_len=3 d_k=2", "query"), box("Kᵀ", "d_k=2 k_len=4", "key")
    >>> shapes(query, "@", key, "=", box("scores", "q_len=3 k_len=4"))
    Figure: Q (3 × 2) times Kᵀ (2 × 4) equals scores (3 × 4).
    """
    rows = list(map(list, parts)) if parts and all(isinstance(part, list | tuple) for part in parts) else [list(parts)]
    for row in rows:
        _check(row)
    alt = checked_alt("; ".join(map(_in_words, rows)) + "." if alt is None else alt)
    narrow, broad = _drawing(rows, PAGE), _drawing(rows, BROAD)
    lower = broad.get_figheight() < 0.75 * narrow.get_figheight()
    return show(narrow, alt=alt, broad=broad if lower else None)


def _drawing(rows: list[list], page: float) -> Figure:
    """The figure for a page of so many inches."""
    sizes = [size for row in rows for part in row if isinstance(part, Box) for _, size in part.axes[-2:]]
    scales = [_Scale(sizes, zoom, between) for between in " \n" for zoom in ZOOMS]
    # The fewest lines; of several scales the largest, with numbers beside the names.
    scale = min(scales, key=lambda scale: len(_lines(rows, scale, page)))
    lines = _lines(rows, scale, page)
    measured = [[[_measure(part, scale) for part in row] for row in line] for line in lines]
    above = [max(size.above for row in line for size in row) for line in measured]
    below = [max(size.below for row in line for size in row) for line in measured]
    widths = [[sum(size.width for size in row) for row in line] for line in measured]
    starts = [(0.0, line[0] + BETWEEN)[: len(line)] for line in widths]
    height = sum(above) + sum(below) + GAP * (len(lines) - 1)
    fig, ax = new_figure(max(sum(line) + BETWEEN * (len(line) - 1) for line in widths) + 0.1, height)
    fig.set_layout_engine("none")
    ax.set_position((0, 0, 1, 1))
    ax.set(xlim=(0, fig.get_figwidth()), ylim=(height, 0))  # inches, from the upper left corner
    ax.set_axis_off()
    top = 0
    for line, line_sizes, begins, up, down in zip(lines, measured, starts, above, below, strict=True):
        for row, row_sizes, start in zip(line, line_sizes, begins, strict=True):
            left = 0.05 + start
            for part, size in zip(row, row_sizes, strict=True):
                draw = _draw_box if isinstance(part, Box) else _draw_sign
                draw(ax, part, left, size.width, top + up, scale)
                left += size.width
        top += up + down + GAP
    return fig


class _Size(NamedTuple):
    """Inches that a part takes, its texts included: above and below the line on which all stand."""

    width: float
    above: float
    below: float


class _Scale:
    """Inches of a side: cells of one size where they can be counted, gently shrunk where sizes differ much."""

    def __init__(self, sizes: list[int], zoom: float, between: str):
        self.largest, self.zoom = max(sizes), zoom
        self.between = between  # a name and its number below a box: side by side, or one above the other
        self.counted = self.largest <= COUNTED

    def __call__(self, size: int) -> float:
        if self.counted:
            return UNIT * self.zoom * size
        return max(SMALLEST, LARGEST * self.zoom * (size / self.largest) ** 0.6)


def _check(row: list) -> None:
    """Every part is a box or a sign, and the sizes fit."""
    wrong = [f"{part!r} as part {at + 1}" for at, part in enumerate(row) if not isinstance(part, (Box, str)[at % 2])]
    if not row or wrong or len(row) % 2 == 0:
        got = "none" if not row else wrong[0] if wrong else f"{row[-1]!r} at the end"
        raise ValueError(f'expected boxes and signs in turn, got {got}. Write shapes(box(…), "@", box(…)).')
    result = row[0]
    for sign, right in zip(row[1::2], row[2::2], strict=True):
        if sign == "@":
            if result.columns[1] != right.rows[1]:
                raise ValueError(
                    f"expected as many columns of {result.name} as rows of {right.name}, "
                    f"got {result} and {right}. Transpose one, or correct a size."
                )
            outer = max(result.axes[:-2], right.axes[:-2], key=len)
            inner = (result.rows, right.columns) if len(result.axes) > 1 else (right.columns,)
            result = Box(f"{result.name} @ {right.name}", (*outer, *inner))
        elif sign == "=" and result.shape != right.shape:
            raise ValueError(f"expected {right.name} as large as {result}, got {right}. Correct it, or a factor.")
        elif sign == "=" or sign not in WORDS:
            result = right


def _in_words(row: list) -> str:
    return " ".join(str(part) if isinstance(part, Box) else WORDS.get(part, f"becomes, by {part},") for part in row)


def _lines(rows: list[list], scale: _Scale, page: float) -> list[list[list]]:
    """The lines of a page, each with its rows: one, or on a broad page two side by side where both have room."""
    lines, left = [], 0.0  # inches
    for piece in (piece for row in rows for piece in _break(row, scale, page)):
        width = sum(_measure(part, scale).width for part in piece)
        if page > PAGE and BETWEEN + width <= left:
            lines[-1].append(piece)
            left = 0.0
        else:
            lines.append([piece])
            left = page - width
    return lines


def _break(row: list, scale: _Scale, page: float) -> list[list]:
    """The row in as many pieces as the page's width asks for, each further one begun by its sign."""
    pieces, wide = [[row[0]]], _measure(row[0], scale).width
    for sign, right in zip(row[1::2], row[2::2], strict=True):
        more = _measure(sign, scale).width + _measure(right, scale).width
        if wide + more > page:
            pieces.append([])
            wide = 0.0
        pieces[-1] += [sign, right]
        wide += more
    return pieces


def _label(axis: tuple[str, int], between: str = " ") -> str:
    name, size = axis
    name = f"{SYMBOL}{name}{PLAIN}" if len(name) == 1 else name
    return f"{name}{between}= {size}" if name else str(size)


def _behind(part: Box) -> int:
    """How many boxes are seen behind: one or two, however many there are."""
    return min(2, max((size for _, size in part.axes[:-2]), default=1) - 1)


def _beside(part: Box) -> str:
    """What stands to the left of the box: the rows, their number below their name, or beside a short one."""
    return _label(part.rows, "\n" if len(part.rows[0]) > 2 else " ") if len(part.axes) > 1 else ""


def _over(part: Box) -> list[str]:
    """What stands above the box: its name, and the axes of a stack."""
    return [part.name, *(_label(axis) for axis in part.axes[:-2])]


def _widest(lines: Iterable[str]) -> float:
    return max((text_width(line.replace("$", "")) for line in lines), default=0.0)


def _measure(part: Box | str, scale: _Scale) -> _Size:
    if isinstance(part, str):
        return _Size(text_width(part) + 0.32, 0.25, 0.25)
    body = scale(part.columns[1]) + BEHIND * _behind(part)
    under = _label(part.columns, scale.between).split("\n")
    width = _widest(_beside(part).split("\n")) + 2 * PAD + max(body, _widest([*_over(part), *under]))
    half = max(scale(part.rows[1]) / 2, LINE)
    return _Size(width, half + BEHIND * _behind(part) + PAD + LINE * len(_over(part)), half + PAD + LINE * len(under))


def _draw_sign(ax: Axes, sign: str, left: float, width: float, middle: float, scale: _Scale) -> None:
    """The sign itself, or an arrow under its word."""
    if sign in WORDS:
        ax.text(left + width / 2, middle, sign, ha="center", va="center", fontsize=14)
        return
    arrow = {"arrowstyle": "->", "color": INK, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", (left + width - 0.08, middle), (left + 0.08, middle), arrowprops=arrow)
    ax.text(left + width / 2, middle - 0.05, sign, ha="center", va="bottom")


def _draw_box(ax: Axes, part: Box, left: float, room: float, middle: float, scale: _Scale) -> None:
    width, height, behind = scale(part.columns[1]), scale(part.rows[1]), _behind(part)
    beside = _widest(_beside(part).split("\n")) + PAD
    x = left + beside + (room - PAD - beside - width - BEHIND * behind) / 2
    top, bottom = middle - height / 2, middle + height / 2
    color = part.color or INK
    look = {"facecolor": (color, 0.18), "edgecolor": color, "linewidth": 1.5}
    for depth in range(behind, 0, -1):
        a, b, step = x + BEHIND * (depth - 1), top - BEHIND * (depth - 1), BEHIND
        corners = [
            (a + step, b), (a + step, b - step), (a + step + width, b - step),
            (a + step + width, b - step + height), (a + width, b - step + height), (a + width, b),
        ]  # fmt: skip
        ax.add_patch(Polygon(corners, **look))
    ax.add_patch(Rectangle((x, top), width, height, **look))
    if scale.counted:
        columns = x + width * np.arange(1, part.columns[1]) / part.columns[1]
        rows = top + height * np.arange(1, part.rows[1]) / part.rows[1]
        ax.vlines(columns, top, bottom, colors=color, linewidths=0.5)
        ax.hlines(rows, x, x + width, colors=color, linewidths=0.5)
    center = x + width / 2
    for number, text in enumerate(reversed(_over(part))):
        weight = "bold" if text is part.name else "normal"
        above = top - BEHIND * behind - PAD - LINE * number
        name = f"${text}$" if len(text) == 1 else text  # a matrix is a symbol
        ax.text(center, above, name, ha="center", va="bottom", weight=weight, parse_math=text is part.name)
    under = _label(part.columns, scale.between)
    if _widest(under.split("\n")) > width:  # it would touch the rows' text
        bottom = max(bottom, middle + LINE)
    # Line by line: the page's own font is not as wide as the one that would place several.
    for number, line in enumerate(under.split("\n")):
        ax.text(center, bottom + PAD + LINE * number, line, ha="center", va="top", parse_math=False)
    lines = _beside(part).split("\n")
    for number, line in enumerate(lines):
        place = middle + LINE * (number - (len(lines) - 1) / 2)
        ax.text(x - PAD, place, line, ha="right", va="center", parse_math=False)
