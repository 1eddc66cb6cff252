"""`machine`: the whole Transformer, drawn by hand once for the map of the course, its chapters, and its readme."""

import re
from functools import cache
from html import escape
from pathlib import Path

from course_lib.figures.display import Shown
from course_lib.figures.svg import checked_alt, plain

CORE = re.compile(r'viewBox="[^"]*" data-core="([^"]*)" data-machine="([^"]*)"')
DRAWING, STILL = (Path(__file__).with_name(f"transformer.{kind}") for kind in ("svg", "png"))
AROUND = '  <g class="around">'  # what follows is no part of the machine


@cache
def drawing() -> str:
    """The drawing as an `<svg>`: on a wide screen the middle and its margins, which hold the masks."""
    return DRAWING.read_text(encoding="utf-8")


def framed(svg: str) -> str:
    """The drawing in a place of its own: where that is narrow, its margins are not seen, so that letters stay large."""
    svg = CORE.sub(r'viewBox="\1"', svg, count=1)
    return f'<div class="course-machine">{svg}</div>'


def machine(*, alt: str) -> Shown:
    """The encoder, the decoder, and what leads into them and out, with a shape at each arrow. `alt` says it in words.

    >>> from course_lib.figures import machine
    >>> machine(alt="The encoder on the left, the decoder on the right.")
    Figure: The encoder on the left, the decoder on the right.
    """
    alt = checked_alt(alt)
    return Shown(alt, picture(alt), STILL.read_bytes())


def picture(alt: str) -> str:
    """The machine alone, without the chapters around it."""
    svg = drawing().partition(AROUND)[0] + "</svg>"
    width, height = CORE.search(svg)[2].split()[2:]
    svg = re.sub(r"  <(title|desc) id=.*?</\1>\n", "", svg)
    named = f'width="{width}" height="{height}" role="img" aria-label="{escape(plain(alt))}"'
    svg = CORE.sub(r'viewBox="\2"', svg, count=1).replace('role="img" aria-labelledby="map-title map-desc"', named)
    return framed(svg)
