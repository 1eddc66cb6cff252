"""From a matplotlib figure to a piece of SVG that can stand in a page: it follows the theme and is deterministic."""

import hashlib
import io
import re
import sys
import warnings
from html import escape
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib.axis import Tick
from matplotlib.figure import Figure
from matplotlib.patheffects import Normal
from matplotlib.text import Text

from course_lib.figures.compact import compact, short
from course_lib.figures.style import STYLE, write_in_shipped_fonts
from course_lib.figures.symbols import marked

LIMIT = 290_000  # bytes an output may weigh
EMPHASIS = re.compile(r"\*(\S[^*]*?)\*")

_REFERENCE = re.compile(r"""(url\(#|href="#)([^")]+)""")
_POWER_OF_TEN = re.compile(r"\$\\mathdefault\{[^a-z{}]*\^\{[^a-z{}]*\}\}\$")


def figure_to_svg(fig: Figure, alt: str, salt: str = "", crop: bool = True) -> str:
    """The figure as an `<svg>` element with `alt` as its name; the same figure gives the same bytes.

    `salt` tells apart two drawings of one page that are otherwise equal; `crop` cuts empty margins off.
    """
    alt = checked_alt(alt)
    root = ElementTree.fromstring(_draw(fig, crop))
    body = compact(root)
    body = _rename(body, "f" + hashlib.sha256((salt + alt + body).encode()).hexdigest()[:8])
    width, height = (short(float(root.get(side).removesuffix("pt")) * 4 / 3, 2) for side in ("width", "height"))
    box = " ".join(short(number, 2) for number in root.get("viewBox").split())
    return (
        f'<svg viewBox="{box}" width="{width}" height="{height}" role="img" aria-label="{escape(plain(alt))}" '
        f'fill="currentColor" stroke-linejoin="round">{body}</svg>'
    )


def checked_alt(alt: str) -> str:
    """`alt` on one line; refused when it says nothing."""
    if not isinstance(alt, str) or not alt.strip():
        raise ValueError(
            f"expected alt: a sentence that says what the figure shows, got {alt!r}. "
            "Write what a reader who cannot see the figure has to know."
        )
    return " ".join(alt.split())


def plain(alt: str) -> str:
    """The words without the marks of *emphasis*, for who hears them.

    >>> plain("*flies* looks mostly at *fruit*.")
    'flies looks mostly at fruit.'
    """
    return EMPHASIS.sub(r"\1", alt)


def emphasized(alt: str) -> str:
    """The attribute that holds the words with their emphasis for the caption; "" where they have none."""
    return f' data-caption="{escape(alt)}"' if EMPHASIS.search(alt) else ""


def check_size(html: str, advice: str) -> str:
    """`html` itself, or an error that names the budget."""
    size = len(html.encode())
    if size > LIMIT:
        raise ValueError(f"expected an output of at most {LIMIT // 1000} KB, got {size // 1000} KB. {advice}")
    return html


def _draw(fig: Figure, crop: bool) -> bytes:
    if not isinstance(fig, Figure):
        raise TypeError(
            f"expected a matplotlib Figure, got {type(fig).__name__}. "
            "Pass the figure itself: fig, ax = new_figure(); …; show(fig, alt=…)."
        )
    buffer = io.BytesIO()
    settings = {name: STYLE[name] for name in ("svg.fonttype", "svg.hashsalt", "font.family", "mathtext.fontset")}
    with mpl.rc_context(settings), warnings.catch_warnings():
        # The reader's browser has glyphs that the shipped fonts lack (emoji); matplotlib only measures the text.
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        write_in_shipped_fonts(fig)
        engine = fig.get_layout_engine()
        engine.execute(fig) if engine else fig.draw_without_rendering()
        fig.set_layout_engine("none")  # keep the layout: another round would cost time and move the panels a little
        formulas = _formulas_as_text(fig)
        box = {"bbox_inches": "tight", "pad_inches": 0.04} if crop else {"bbox_inches": None}
        fig.savefig(buffer, format="svg", transparent=True, metadata={"Date": None}, **box)
    for text, written in formulas.items():
        text.set(text=written, parse_math=True)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close(fig)
    return buffer.getvalue()


def _formulas_as_text(fig: Figure) -> dict[Text, str]:
    """Formulas of letters become text in the page's own fonts; they are returned. What is more than that is drawn as
    outlines, because it is set for matplotlib's font.

    So are those of ticks, which write their text anew whenever they are drawn; but powers of ten stay as they are: they
    read well in any font, and there are many of them.
    """
    formulas = {}
    ticks = {label for tick in fig.findobj(Tick) for label in (tick.label1, tick.label2)}
    for text in fig.findobj(Text):
        written = text.get_text()
        formula = text.get_parse_math() and written.replace(r"\$", "").count("$") >= 2
        if not formula or _POWER_OF_TEN.fullmatch(written) or text.get_path_effects():
            continue
        letters = marked(written)
        if letters is None or text in ticks:
            text.set_path_effects([Normal()])
        else:
            formulas[text] = written
            text.set(text=letters, parse_math=False)
    return formulas


def _rename(body: str, prefix: str) -> str:
    """Give every referenced id a name of this figure's own; drop the ids nothing refers to."""
    used = dict.fromkeys(old for _, old in _REFERENCE.findall(body))
    names = {old: f"{prefix}-{number}" for number, old in enumerate(used)}
    body = _REFERENCE.sub(lambda found: found[1] + names[found[2]], body)
    return re.sub(r' id="([^"]+)"', lambda found: f' id="{names[found[1]]}"' if found[1] in names else "", body)
