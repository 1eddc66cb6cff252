"""`show`, the one way a figure gets into a notebook, and what every output carries, so that it looks and works alike
wherever it is opened: CSS, a little script, and a small static picture for viewers that take them out."""

import io
import warnings
from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from course_lib.figures.style import write_in_shipped_fonts
from course_lib.figures.svg import check_size, checked_alt, emphasized, figure_to_svg, plain

# JupyterLab shows the first line of a folded output, whatever it is: a blank one gives neither the answer nor markup.
BLANK = " \n"
# On every control: its keys are its own, so that JupyterLab takes neither an arrow nor a letter for a command.
KEYS = 'data-lm-suppress-shortcuts="true"'
LARGEST = 12_000  # bytes aimed at for a small picture
# Its dots an inch and colors: the finest that is small enough, or the last.
LOOKS = ((96, 32), (80, 32), (72, 24), (64, 24), (54, 16))
PADDING = 0.08  # inches of white around the drawing


class Output:
    """What a cell can end in: words, HTML, and a small static picture. Each viewer takes the best that it can show."""

    png: bytes | None

    def page(self) -> str:
        """The HTML for where styles and scripts work."""
        raise NotImplementedError

    def still(self) -> str:
        """The HTML for where they are taken out."""
        return image(self.png, repr(self).partition("\n")[0]) if self.png else ""

    def _repr_html_(self) -> str:
        return BLANK + self.page() + instead(self.still())

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        picture = {"image/png": b64encode(self.png).decode()} if self.png else {}
        return {"text/plain": repr(self), "text/html": self._repr_html_(), **picture}


@dataclass(frozen=True)
class Shown(Output):
    """A drawn figure: its text form is the alternative text with its numbers below, its HTML form the picture."""

    alt: str
    picture: str
    png: bytes
    numbers: str = ""
    broad: str = ""  # the same drawing for where there is more room

    def __repr__(self) -> str:
        return f"Figure: {plain(self.alt)}" + (f"\n{self.numbers}" if self.numbers else "")

    def page(self) -> str:
        drawings = self.picture
        if self.broad:
            drawings = f'<div class="course-narrow">{self.picture}</div><div class="course-broad">{self.broad}</div>'
        words = emphasized(self.alt)
        return f'<figure hidden="hidden" class="course-figure"{words}>{css("figure")}{drawings}</figure>'


def show(fig: Figure, *, alt: str, numbers: str = "", broad: Figure | None = None) -> Shown:
    """Show a matplotlib figure as a picture that follows the page's theme; `alt` says it in words.

    `numbers` are what it draws (`in_numbers` writes them), for the text form alone. `broad` draws the same for places
    at least 9.2 inches wide. Put the call on the last line of a cell. ValueError when `alt` is empty or the picture
    weighs more than 290 KB.

    >>> from course_lib.figures import new_figure, show
    >>> fig, ax = new_figure(4, 3)
    >>> _ = ax.plot([0, 1, 2], [0, 1, 4])
    >>> show(fig, alt="A curve that rises from 0 to 4.")
    Figure: A curve that rises from 0 to 4.
    """
    picture = figure_to_svg(fig, alt)
    advice = "Draw fewer points, or give the artist with many points rasterized=True."
    second = figure_to_svg(broad, alt) if broad else ""
    check_size(picture + second, advice)
    return Shown(checked_alt(alt), picture, figure_to_png(fig), numbers, second)


@cache
def css(*names: str) -> str:
    """The named style sheets as one `<style>`; colors are the page's own, so light and dark need no second set."""
    return f"<style>{''.join(_read(f'{name}.css') for name in names)}</style>"


@cache
def script(name: str) -> str:
    """The named script, run once for every element marked `data-course=name`: outputs may stand on a page twice."""
    return (
        f"<script>for (const root of document.querySelectorAll('[data-course={name}]:not([data-ready])')) {{\n"
        f'root.dataset.ready = "";\n{_read(f"{name}.js")}}}</script>'
    )


def instead(still: str) -> str:
    """What is seen where styles and scripts are taken out (a notebook not yet trusted); elsewhere nobody sees it.

    What carries the attribute `hidden` and the class `course-figure` is then hidden, and shown everywhere else.
    """
    return f'<section class="course-alt">{still}</section>'


def label(value) -> str:
    """A value as the reader sees it.

    >>> label(0.5), label(64), label(True)
    ('0.5', '64', 'on')
    """
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _read(name: str) -> str:
    lines = files(__package__).joinpath(name).read_text(encoding="utf-8").splitlines()
    return "".join(line.strip() + "\n" for line in lines)


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
