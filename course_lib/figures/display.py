"""`show`: the one way a figure gets into a notebook."""

from base64 import b64encode
from dataclasses import dataclass

from matplotlib.figure import Figure

from course_lib.figures.page import css, instead
from course_lib.figures.raster import figure_to_png, image
from course_lib.figures.svg import check_size, checked_alt, figure_to_svg

# JupyterLab shows the first line of a folded output, whatever it is: a blank one gives neither the answer nor markup.
BLANK = " \n"


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

    def __repr__(self) -> str:
        return f"Figure: {self.alt}" + (f"\n{self.numbers}" if self.numbers else "")

    def page(self) -> str:
        return f'<figure hidden="hidden" class="course-figure">{css("figure")}{self.picture}</figure>'


def show(fig: Figure, *, alt: str, numbers: str = "") -> Shown:
    """Show a matplotlib figure as a picture that follows the page's theme; `alt` says it in words.

    `numbers` are what it draws (`in_numbers` writes them), for the text form alone. Put the call on the last line of a
    cell. ValueError when `alt` is empty or the picture weighs more than 290 KB.

    >>> from course_lib.figures import new_figure, show
    >>> fig, ax = new_figure(4, 3)
    >>> _ = ax.plot([0, 1, 2], [0, 1, 4])
    >>> show(fig, alt="A curve that rises from 0 to 4.")
    Figure: A curve that rises from 0 to 4.
    """
    picture = figure_to_svg(fig, alt)
    advice = "Draw fewer points, or give the artist with many points rasterized=True."
    return Shown(checked_alt(alt), check_size(picture, advice), figure_to_png(fig), numbers)
