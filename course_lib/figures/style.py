"""One look for every figure: colors by meaning, text as large as the page's, ink that follows the theme."""

import os
import warnings
from functools import cache
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.textpath import TextPath

# Okabe and Ito's palette, told apart by color-blind readers. A color has one meaning in the whole course.
QUERY = "#0072B2"  # blue
KEY = "#D55E00"  # vermillion
VALUE = "#009E73"  # green
MASK = "#999999"  # what may not be seen
ACCENT = "#CC79A7"  # purple: a fourth curve
EXTRA = "#56B4E9"  # sky blue: a fifth curve
PALETTE = (QUERY, KEY, VALUE, ACCENT, EXTRA, MASK)

# Black is the ink: `show` turns it into the page's own text color, so it is light on a dark page.
INK = "#000000"
FADED = (INK, 0.65)  # text that is less: still at 4.5 : 1 on a light page and on a dark one
# Near enough to black for AA contrast on any color of the map, and yet not the ink.
DARK, LIGHT = "#010101", "#ffffff"

# Perceptually uniform, readable by color-blind readers; low is dark, high is bright, on any page.
SEQUENTIAL = "viridis"

# Every text is written in matplotlib's own font, or where that has no letter in the Korean one that is shipped here. No
# font of the machine is among them: a text is as wide on one machine as on another.
FONTS = Path(__file__).parent / "fonts"
KOREAN = "Course Hangul"
FAMILIES = ["DejaVu Sans", KOREAN]

BROAD = 9.15  # inches of a drawing for wide screens

# Sizes in points; 12 points are 16 pixels, the text size of the page.
STYLE = {
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), "none"),
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
    "font.family": FAMILIES,
    "mathtext.fontset": "dejavusans",
    "font.size": 12,
    "axes.titlesize": 12,
    "axes.labelpad": 6,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": mpl.cycler(color=PALETTE),
    "lines.linewidth": 2.0,
    "grid.color": MASK,
    "grid.linewidth": 0.6,
    "hatch.color": MASK,
    "image.cmap": SEQUENTIAL,
    "svg.fonttype": "none",
    "svg.hashsalt": "course",
}


def apply_style() -> None:
    """Make the course's style the one matplotlib uses from now on; `new_figure` does it for you."""
    register_fonts()
    mpl.rcParams.update(STYLE)


def register_fonts() -> None:
    """Tell matplotlib of the shipped fonts, once: they are read when the first figure is drawn, not on import."""
    if any(font.name == KOREAN for font in font_manager.fontManager.ttflist):
        return
    folder = FONTS
    if os.environ.get("MPL_IGNORE_SYSTEM_FONTS"):
        # Then matplotlib looks for fonts in its own folder alone: the way to ours is written down as one from there.
        own = Path(mpl.get_data_path()) / "fonts"
        folder = own / os.path.relpath(FONTS.resolve(), own.resolve())
    for path in sorted(folder.glob("*.ttf")):
        font_manager.fontManager.addfont(path)


def write_in_shipped_fonts(fig: Figure) -> None:
    """Set every text of a figure in the shipped fonts, whatever it was made with."""
    register_fonts()
    for text in fig.findobj(Text):
        text.set_fontfamily(FAMILIES)


def new_figure(width: float = 6.0, height: float = 3.5, rows: int = 1, cols: int = 1, **options):
    """An empty figure in the course's style and its axes: one `Axes`, or an array of them for several panels.

    `width` and `height` are inches of the whole figure (1 inch = 96 pixels; a page is about 7 inches wide).
    `options` go to `Figure.subplots` (`sharex=True`, `width_ratios=[2, 1]`, …). Nothing has to be closed.

    >>> fig, ax = new_figure(4, 3)
    >>> fig, axes = new_figure(6, 3, cols=2)
    >>> axes.shape
    (2,)
    """
    apply_style()
    fig = Figure(figsize=(width, height), layout="constrained")
    return fig, fig.subplots(rows, cols, **options)


@cache
def text_width(text: str) -> float:
    """How many inches a line of text takes, with a little more than the page's own font needs.

    >>> text_width("mm") > text_width("il") > text_width("")
    True
    """
    if not text:
        return 0.0
    register_fonts()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        prop = font_manager.FontProperties(family=FAMILIES)
        path = TextPath((0, 0), text.replace("$", r"\$"), 12, prop=prop)
    return float(path.get_extents().width) / 72 if len(path.vertices) else 0.0


def ink_on(color) -> str:
    """Near-black or white: the one that reads better on `color`.

    >>> ink_on("#440154"), ink_on("#fde725")
    ('#ffffff', '#010101')
    """
    return DARK if _luminance(color) > 0.18 else LIGHT  # there the contrast is alike, by WCAG's formula


def _luminance(color) -> float:
    rgb = np.array(mpl.colors.to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
