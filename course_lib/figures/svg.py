"""From a matplotlib figure to a small SVG that can stand in a page: theme-following, deterministic, with own ids."""

import hashlib
import io
import re
import sys
import warnings
from html import escape
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib.figure import Figure

from course_lib.figures.style import STYLE

LIMIT = 300_000  # bytes an output may weigh

# What matplotlib writes and the page does not need.
_DROP = {"metadata", "style"}
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_STYLES = {"fill", "stroke", "stroke-width", "stroke-linecap", "stroke-linejoin", "text-anchor", "clip-path"}


def figure_to_svg(fig: Figure, alt: str, salt: str = "") -> str:
    """The figure as an `<svg>` element with `alt` as its name; the same figure gives the same bytes.

    `salt` tells apart two drawings of one page that are otherwise equal.
    """
    alt = checked_alt(alt)
    root = ElementTree.fromstring(_draw(fig))
    body = _children(root, depth=0)
    prefix = "f" + hashlib.sha256((salt + alt + body).encode()).hexdigest()[:8]
    body = _rename(body, prefix)
    width, height = (float(root.get(side).removesuffix("pt")) * 4 / 3 for side in ("width", "height"))
    box = " ".join(_short(number, 1) for number in root.get("viewBox").split())
    return (
        f'<svg viewBox="{box}" width="{width:.0f}" height="{height:.0f}" role="img" aria-label="{escape(alt)}" '
        f'fill="currentColor" stroke-linejoin="round"><title>{escape(alt)}</title>{body}</svg>'
    )


def checked_alt(alt: str) -> str:
    """`alt` on one line; refused when it says nothing."""
    if not isinstance(alt, str) or not alt.strip():
        raise ValueError(
            f"expected alt: a sentence that says what the figure shows, got {alt!r}. "
            "Write what a reader who cannot see the figure has to know."
        )
    return " ".join(alt.split())


def check_size(html: str, advice: str) -> str:
    """`html` itself, or an error that names the budget."""
    size = len(html.encode())
    if size > LIMIT:
        raise ValueError(f"expected an output of at most {LIMIT // 1000} KB, got {size // 1000} KB. {advice}")
    return html


def _draw(fig: Figure) -> bytes:
    if not isinstance(fig, Figure):
        raise TypeError(
            f"expected a matplotlib Figure, got {type(fig).__name__}. "
            "Pass the figure itself: fig, ax = new_figure(); …; show(fig, alt=…)."
        )
    buffer = io.BytesIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": STYLE["svg.hashsalt"]}), warnings.catch_warnings():
        # The reader's browser has the glyphs (Korean, emoji); matplotlib only measures the text.
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        fig.savefig(
            buffer, format="svg", transparent=True, bbox_inches="tight", pad_inches=0.04, metadata={"Date": None}
        )
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close(fig)
    return buffer.getvalue()


def _children(element, depth: int) -> str:
    return "".join(_write(child, depth) for child in element)


def _write(element, depth: int) -> str:
    name = element.tag.split("}")[-1]
    if not isinstance(element.tag, str) or name in _DROP:
        return ""
    attributes = _attributes(element, name)
    inner = escape(element.text.strip("\n"), quote=False) if name in ("text", "tspan") and element.text else ""
    inner += _children(element, depth + 1)
    if name == "g" and not inner:
        return ""
    if name == "g" and not attributes:
        return inner
    written = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
    return f"<{name}{written}>{inner}</{name}>" if inner else f"<{name}{written}/>"


def _attributes(element, name: str) -> dict[str, str]:
    attributes = {}
    for key, value in element.attrib.items():
        key = key.split("}")[-1]
        if key == "style":
            attributes |= _style(value)
        elif key == "id":
            if name not in ("g", "text", "image"):
                attributes["id"] = value
        elif key == "d":
            attributes["d"] = _path(value)
        elif name == "image" or key == "transform":
            attributes[key] = _NUMBER.sub(lambda match: _short(match[0], 4), value)
        else:
            attributes[key] = _NUMBER.sub(lambda match: _short(match[0], 2), value)
    if attributes.get("transform", "").startswith("rotate(-0 "):
        del attributes["transform"]
    return attributes


def _style(value: str) -> dict[str, str]:
    """A style attribute as presentation attributes; black becomes the color of the page's text."""
    attributes, rest = {}, []
    for item in filter(None, (part.strip() for part in value.split(";"))):
        key, _, content = item.partition(":")
        key, content = key.strip(), content.strip()
        if content == "#000000":
            content = "currentColor"
        if key == "font":
            size = re.search(r"([\d.]+)px", content)
            attributes["font-size"] = _short(size[1], 2)
            rest += [f"font-{word}" for word in () if word in content]
            if "italic" in content or "oblique" in content:
                attributes["font-style"] = "italic"
            if "bold" in content or "700" in content:
                attributes["font-weight"] = "bold"
        elif key in _STYLES or key.endswith("opacity") or key in ("stroke-dasharray", "stroke-dashoffset"):
            attributes[key] = _NUMBER.sub(lambda match: _short(match[0], 2), content)
        else:
            rest.append(f"{key}:{content}")
    if rest:
        attributes["style"] = ";".join(rest)
    return attributes


def _path(d: str) -> str:
    """Path data with one decimal (long curves) or two (markers), without needless spaces."""
    d = " ".join(d.split())
    decimals = 1 if len(d) > 400 else 2
    d = _NUMBER.sub(lambda match: _short(match[0], decimals), d)
    return re.sub(r" ?([A-Za-z]) ?", r"\1", d)


def _short(number: str, decimals: int) -> str:
    text = f"{float(number):.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _rename(body: str, prefix: str) -> str:
    """Give every referenced id a name of this figure's own; drop the ids nothing refers to."""
    used = dict.fromkeys(_REFERENCE.findall(body) + re.findall(r'href="#([^"]+)"', body))
    names = {old: f"{prefix}-{number}" for number, old in enumerate(used)}
    body = _REFERENCE.sub(lambda match: f"url(#{names[match[1]]})", body)
    body = re.sub(r'href="#([^"]+)"', lambda match: f'href="#{names[match[1]]}"', body)
    return re.sub(r' id="([^"]+)"', lambda match: f' id="{names[match[1]]}"' if match[1] in names else "", body)
