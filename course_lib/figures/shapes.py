"""`shapes`: a matrix product as boxes, each with its name and its sizes."""

from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course_lib.figures.display import Shown, show
from course_lib.figures.style import INK, KEY, MASK, QUERY, VALUE, new_figure, text_width
from course_lib.figures.svg import checked_alt

COLORS = {"query": QUERY, "key": KEY, "value": VALUE, "mask": MASK}
WORDS = {"@": "times", "=": "equals", "+": "plus", "×": "times elementwise", "−": "minus"}

PAGE = 5.3  # inches: on a phone of 390 pixels, text is then still 11 pixels high
UNIT, LARGEST, SMALLEST = 0.24, 1.45, 0.2  # inches of one cell, of the largest side and the smallest
COUNTED = 8  # so many rows and columns are drawn one by one
BEHIND = 0.09  # inches from one box of a stack to the next
GAP, LINE = 0.12, 0.2


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
    def sizes(self) -> str:
        return " × ".join(str(size) for _, size in self.axes)

    def __str__(self) -> str:
        return f"{self.name} ({self.sizes})"


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
    parsed = []
    for part in axes.split() if isinstance(axes, str) else []:
        axis, _, size = part.rpartition("=")
        if not size.isdigit() or int(size) == 0:
            parsed = []
            break
        parsed.append((axis, int(size)))
    if not parsed:
        raise ValueError(
            f"expected axes: a size for each axis, such as 'q_len=3 d_k=2' or '3 2', got {axes!r}. "
            "Rows come before columns; sizes are whole numbers of at least 1."
        )
    return Box(name, tuple(parsed), COLORS.get(color, color))


def shapes(*parts, alt: str | None = None, title: str | None = None) -> Shown:
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
    scale = _Scale([size for row in rows for part in row if isinstance(part, Box) for _, size in part.axes[-2:]])
    broken = [line for row in rows for line in _break(row, scale)]
    measured = [[_measure(part, scale) for part in line] for line in broken]
    width = max(sum(wide for wide, _ in line) for line in measured) + 0.1
    heights = [max(tall for _, tall in line) for line in measured]
    total = sum(heights) + GAP * (len(heights) - 1) + (0.3 if title else 0)
    fig, ax = new_figure(width, total)
    fig.set_layout_engine("none")
    ax.set_position((0, 0, 1, 1))
    ax.set(xlim=(0, width), ylim=(0, total))
    ax.set_axis_off()
    top = total
    if title:
        ax.text(width / 2, top, title, ha="center", va="top", weight="bold")
        top -= 0.3
    for line, sizes, height in zip(broken, measured, heights, strict=True):
        left, middle = 0.05, top - height / 2
        for part, (wide, _) in zip(line, sizes, strict=True):
            _draw(ax, part, left, wide, middle, scale)
            left += wide
        top -= height + GAP
    return show(fig, alt=alt)


class _Scale:
    """Inches of a side: cells of one size where they can be counted, gently shrunk where sizes differ much."""

    def __init__(self, sizes: list[int]):
        self.largest = max(sizes)

    def __call__(self, size: int) -> float:
        if self.largest <= COUNTED:
            return min(UNIT, LARGEST / self.largest) * size
        return max(SMALLEST, LARGEST * (size / self.largest) ** 0.6)


def _check(row: list) -> None:
    """Every part is a box or a sign, and the sizes fit."""
    if not row or not isinstance(row[0], Box) or not isinstance(row[-1], Box):
        raise ValueError("expected a box at both ends of a row, got none. Begin: shapes(box(…), …, box(…)).")
    for number, part in enumerate(row):
        if not isinstance(part, Box if number % 2 == 0 else str):
            raise TypeError(
                f"expected boxes and signs in turn, got {part!r} as part {number + 1}. "
                'Write shapes(box(…), "@", box(…), "=", box(…)).'
            )
    result = row[0]
    for sign, right in zip(row[1::2], row[2::2], strict=True):
        if sign == "@":
            if result.columns[1] != right.rows[1]:
                raise ValueError(
                    f"expected as many columns of {result.name} as rows of {right.name}, "
                    f"got {result} and {right}. Transpose one, or correct a size."
                )
            result = Box(f"{result.name} @ {right.name}", (*result.axes[:-1], right.columns), None)
        elif sign == "=":
            if (result.rows[1], result.columns[1]) != (right.rows[1], right.columns[1]):
                raise ValueError(
                    f"expected {right.name} with the sizes {result.rows[1]} × {result.columns[1]} of {result.name}, "
                    f"got {right}. Correct its sizes."
                )
            result = right
        elif sign not in WORDS:
            result = right


def _in_words(row: list) -> str:
    return " ".join(str(part) if isinstance(part, Box) else WORDS.get(part, f"becomes, by {part},") for part in row)


def _break(row: list, scale: _Scale) -> list[list]:
    """The row in as many lines as the page's width asks for, each further one begun by its sign."""
    lines, wide = [[row[0]]], _measure(row[0], scale)[0]
    for sign, right in zip(row[1::2], row[2::2], strict=True):
        more = _measure(sign, scale)[0] + _measure(right, scale)[0]
        if wide + more > PAGE:
            lines.append([])
            wide = 0.0
        lines[-1] += [sign, right]
        wide += more
    return lines


def _side_text(axis: tuple[str, int]) -> list[str]:
    name, size = axis
    return [name, f"= {size}"] if name else [str(size)]


def _behind(part: Box) -> int:
    """How many boxes are seen behind: one or two, however many there are."""
    return min(2, max((size for _, size in part.axes[:-2]), default=1) - 1)


def _measure(part, scale: _Scale) -> tuple[float, float]:
    """Width and height that a part takes, its texts included."""
    if isinstance(part, str):
        return (text_width(part) + 0.3 if part in WORDS else text_width(part) + 0.35), 0.5
    left = max(map(text_width, _side_text(part.rows))) if len(part.axes) > 1 else 0
    body = scale(part.columns[1]) + BEHIND * _behind(part)
    under = text_width(" ".join(_side_text(part.columns)))
    wide = left + 0.08 + max(body, under, text_width(part.name)) + 0.06
    tall = max(scale(part.rows[1]) + BEHIND * _behind(part), 2 * LINE)
    return wide, tall + 2 * (LINE + 0.06) + (LINE if len(part.axes) > 2 else 0)


def _draw(ax: Axes, part, left: float, wide: float, middle: float, scale: _Scale) -> None:
    if isinstance(part, str):
        if part in WORDS:
            ax.text(left + wide / 2, middle, part, ha="center", va="center", fontsize=14)
            return
        ax.annotate(
            "", (left + wide - 0.08, middle), (left + 0.08, middle), arrowprops={"arrowstyle": "->", "color": INK}
        )
        ax.text(left + wide / 2, middle + 0.05, part, ha="center", va="bottom")
        return
    width, height = scale(part.columns[1]), scale(part.rows[1])
    beside = max(map(text_width, _side_text(part.rows))) if len(part.axes) > 1 else 0
    room = wide - beside - 0.14
    behind = _behind(part)
    x, y = left + beside + 0.08 + (room - width - BEHIND * behind) / 2, middle - height / 2
    color = part.color or INK
    for depth in range(behind, -1, -1):
        at = (x + BEHIND * depth, y + BEHIND * depth)
        ax.add_patch(Rectangle(at, width, height, facecolor=color, alpha=0.18, linewidth=0))
        ax.add_patch(Rectangle(at, width, height, facecolor="none", edgecolor=color, linewidth=1.6))
    if max(part.rows[1], part.columns[1]) <= COUNTED and scale.largest <= COUNTED:
        for number in range(1, part.columns[1]):
            ax.plot([x + width * number / part.columns[1]] * 2, [y, y + height], color=color, linewidth=0.5)
        for number in range(1, part.rows[1]):
            ax.plot([x, x + width], [y + height * number / part.rows[1]] * 2, color=color, linewidth=0.5)
    center = x + width / 2
    above = y + height + BEHIND * behind + 0.06
    if len(part.axes) > 2:
        ax.text(
            center, above, " · ".join(" ".join(_side_text(axis)) for axis in part.axes[:-2]), ha="center", va="bottom"
        )
        above += LINE
    ax.text(center, above, part.name, ha="center", va="bottom", weight="bold")
    ax.text(center, y - 0.06, " ".join(_side_text(part.columns)), ha="center", va="top")
    if len(part.axes) > 1:
        ax.text(x - 0.08, middle, "\n".join(_side_text(part.rows)), ha="right", va="center", linespacing=1.1)
