"""Matplotlib's SVG made small and fit for a page: presentation attributes, short numbers, shared looks written once."""

import re
from html import escape
from itertools import groupby
from xml.etree import ElementTree

from course_lib.figures.symbols import spans

Node = tuple[str, dict[str, str], str, list]  # name, attributes, text, children

_DROPPED = {"metadata", "style", "title", "desc"}
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
# Attributes that children inherit: three neighbors or more with the same ones share a <g>.
_INHERITED = (
    "fill", "fill-opacity", "stroke", "stroke-dasharray", "stroke-dashoffset", "stroke-linecap", "stroke-linejoin",
    "stroke-opacity", "stroke-width", "font-size", "font-style", "font-weight", "text-anchor",
)  # fmt: skip
_PRESENTATION = {*_INHERITED, "clip-path", "opacity"}
# What a browser assumes anyway.
_DEFAULTS = {"stroke-dashoffset": "0", "stroke-linecap": "butt", "opacity": "1"}


def compact(root: ElementTree.Element) -> str:
    """The children of an `<svg>` element as short markup; ids that nothing refers to are gone."""
    targets = {element.get("id"): _attributes(element)[1] for element in root.iter() if element.get("id")}
    return "".join(map(_write, _share(_nodes(root, targets))))


def _nodes(element, targets: dict[str, dict[str, str]]) -> list[Node]:
    nodes = []
    for child in element:
        name, attributes = _attributes(child)
        if name in _DROPPED:
            continue
        if name == "use":  # what the target sets itself cannot be changed from here
            target = targets.get(attributes.get("href", "")[1:], {})
            attributes = {key: value for key, value in attributes.items() if key not in target}
        children = _nodes(child, targets)
        has_text = name == "tspan" or (name == "text" and not children)
        text = (child.text or "").strip("\n") if has_text else ""
        if name in ("g", "defs") and not children:
            continue
        if name == "path" and attributes.get("fill") == "none" and not attributes.keys() & {"stroke", "id"}:
            continue  # an invisible background
        if name == "g" and not attributes:
            nodes += children
        else:
            nodes.append((name, attributes, text, children))
    return nodes


def _attributes(element) -> tuple[str, dict[str, str]]:
    name = element.tag.split("}")[-1]
    attributes = {}
    for key, value in element.attrib.items():
        key = key.split("}")[-1]
        if key == "style":
            attributes |= _style(value)
        elif key == "d":
            attributes["d"] = _path(value)
        elif key == "transform":
            moved = _shorten(re.sub(r"rotate\(-?0(?:\.0+)?[ ,)][^)]*\)?", "", value).strip(), 4)
            attributes |= {"transform": moved} if moved else {}
        elif key != "id" or name not in ("g", "text", "image"):
            attributes[key] = _shorten(value, 4 if name == "image" else 2)
    return name, attributes


def _style(value: str) -> dict[str, str]:
    """A style attribute as presentation attributes; black becomes the color of the page's text, fonts the page's."""
    attributes, rest = {}, []
    for item in value.split(";"):
        key, _, content = (part.strip() for part in item.partition(":"))
        if key == "font":
            size = re.search(r"([\d.]+)px", _shorten(content, 2))
            attributes["font-size"] = size[1] if size else "12"
            attributes |= {"font-style": "italic"} if re.search("italic|oblique", content) else {}
            attributes |= {"font-weight": "bold"} if re.search("bold|[6-9]00", content) else {}
        elif key in _PRESENTATION:
            content = "currentColor" if content == "#000000" else _shorten(content, 2).removesuffix("px")
            if content != _DEFAULTS.get(key):
                attributes[key] = content
        elif key and key != "font-family":
            rest.append(f"{key}:{content}")
    return attributes | ({"style": ";".join(rest)} if rest else {})


def _path(d: str) -> str:
    """Path data with few decimals, H and V for level and upright lines, and no way back to the start before a z."""
    decimals = 1 if len(d) > 5000 else 2
    written, start, last = [], None, None
    for command, numbers in re.findall(r"([A-Za-z])([^A-Za-z]*)", re.sub(r"(\d)e-\d+", r"\1", d)):
        points = [short(number, decimals) for number in numbers.split()]
        if command == "z":
            if start == last and written and written[-1][0] in "HVL":
                written.pop()
            written.append("z")
            continue
        if command == "L" and last and points[1] == last[1]:
            written.append(f"H{points[0]}")
        elif command == "L" and last and points[0] == last[0]:
            written.append(f"V{points[1]}")
        else:
            written.append(command + " ".join(points))
        last = points[-2:]
        start = last if command == "M" else start
    return "".join(written)


def short(number: str | float, decimals: int) -> str:
    """A number with at most so many decimals and no needless zero.

    >>> short("12.3400", 2), short("-0.001", 2), short("7", 2)
    ('12.34', '0', '7')
    """
    text = f"{float(number):.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _shorten(text: str, decimals: int) -> str:
    return _NUMBER.sub(lambda found: short(found[0], decimals), text)


def _share(nodes: list[Node]) -> list[Node]:
    """Neighbors with equal inherited attributes move into one `<g>` that carries them; in a text, into a `<tspan>`."""

    def look(node: Node):
        name, attributes, _, _ = node
        return name not in ("defs", "clipPath") and tuple(attributes.get(key) for key in _INHERITED)

    shared = []
    for common, group in groupby(nodes, look):
        members = [(name, attributes, text, _share(children)) for name, attributes, text, children in group]
        carried = {key: value for key, value in zip(_INHERITED, common or (), strict=False) if value is not None}
        if len(members) < 3 or not carried:
            shared += members
            continue
        bare = [
            (name, {key: value for key, value in attributes.items() if key not in carried}, text, children)
            for name, attributes, text, children in members
        ]
        shared.append(("tspan" if members[0][0] == "tspan" else "g", carried, "", bare))
    return shared


def _write(node: Node) -> str:
    name, attributes, text, children = node
    opening = name + "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
    inner = spans(text) + "".join(map(_write, children))
    return f"<{opening}>{inner}</{name}>" if inner else f"<{opening}/>"
