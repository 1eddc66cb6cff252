"""A small static picture of every figure, for viewers that show no HTML or take its drawings out."""

import io
import warnings
from base64 import b64encode
from html import escape

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from course_lib.figures.style import write_in_shipped_fonts

LARGEST = 12_000  # bytes aimed at
# Dots an inch and colors: the finest that is small enough, or the last.
LOOKS = ((96, 32), (80, 32), (72, 24), (64, 24), (54, 16))
PADDING = 0.08  # inches of white around the drawing


def figure_to_png(fig: Figure) -> bytes:
    """The figure in dark ink on white, as a PNG of few colors: some kilobytes."""
    write_in_shipped_fonts(fig)
    for dpi, colors in LOOKS:
        png = _drawn(fig, dpi, colors)
        if len(png) <= LARGEST:
            break
    return png


def _drawn(fig: Figure, dpi: int, colors: int) -> bytes:
    drawn, small = io.BytesIO(), io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        look = {"facecolor": "white", "bbox_inches": "tight", "pad_inches": PADDING}
        FigureCanvasAgg(fig).print_figure(drawn, format="png", dpi=dpi, **look)
    picture = Image.open(drawn).convert("RGB")
    picture = picture.quantize(colors, method=Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE)
    picture.save(small, format="PNG", optimize=True, dpi=(dpi, dpi))
    return small.getvalue()


def image(png: bytes, alt: str) -> str:
    """The picture as an `<img>` that carries its own bytes, as wide as the figure is in inches of 96 pixels."""
    opened = Image.open(io.BytesIO(png))
    width = round(opened.width * 96 / opened.info["dpi"][0])
    return f'<img alt="{escape(alt)}" width="{width}" src="data:image/png;base64,{b64encode(png).decode()}">'
