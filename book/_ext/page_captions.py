"""Sphinx extension: each figure of a chapter has a number, and under or beside it the words that say what it shows.

The words are those that stand for the figure where it is not seen: they state what can be seen in it. Shapes would be
read out box by box; their caption names what is made of what. Where the words change with the controls, `course.js`
changes them.
"""

import re
from html import escape, unescape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from course_lib.figures.svg import EMPHASIS
from course_lib.figures.symbols import NAME

FIGURE = re.compile(r'<(?:figure|div)\b[^>]*\bclass="course-figure"')
WORDS = re.compile(r'\baria-label="([^"]*)"')
MOVES = re.compile(r'data-course="(?:explore|play)"')
FIRST = re.compile(r'\bclass="course-frame" data-text="([^"]*)">')  # the others are hidden
SHOWN = " Shown: "  # in a figure with controls, what follows changes with them
MADE = re.compile(r"(?:equals|becomes, by [^;]+,) ([^;]+) \(\d+(?: × \d+)*\)")  # the words of `shapes`
WIDE = re.compile(r'<svg\b(?=[^>]* role="img")[^>]*? width="([\d.]+)"')  # how wide a drawing is where there is room
SMALL = re.compile(r"([_^])([^\W_]+)")
WITH_EMPHASIS = re.compile(r'(?<= data-caption=")[^"]*')  # the words with the *emphasis* that a label has not
POWER = re.compile(r"\b\d+(?:\.\d+)?e-\d+\b")  # breaks at its hyphen
FRAME = re.compile(r'(class="course-frame" data-text="([^"]*)")')


class Captions(SphinxPostTransform):
    """Number the figures of a chapter in their order, once its outputs are chosen."""

    default_priority = 901
    formats = ("html",)

    def run(self, **kwargs: object) -> None:
        folder, _, chapter = self.env.docname.rpartition("/")
        found = [raw for raw in self.document.findall(nodes.raw) if FIGURE.search(raw.astext())]
        for number, raw in enumerate(found if folder == "chapters" else (), 1):
            title = nearest(raw, nodes.section).next_node(nodes.title).astext()
            raw.children = [nodes.Text(captioned(raw.astext(), f"Figure {int(chapter[:2])}.{number}", title))]


def nearest(node: nodes.Node, kind: type[nodes.Node]) -> nodes.Node:
    return node if isinstance(node, kind) else nearest(node.parent, kind)


def captioned(html: str, number: str, title: str) -> str:
    """The figure, found under this title, with its caption. Who hears the figure has heard the words: the number is
    enough."""
    found = (FIRST if MOVES.search(html) else WORDS).search(html)
    words, shown, _ = unescape(found[1]).partition(SHOWN) if found else ("", "", "")
    moves = " data-course-moves" if MOVES.search(html) and not shown else ""
    heard = ' aria-hidden="true"' if any(words in unescape(label) for label in WORDS.findall(html)) else ""
    emphasis = WITH_EMPHASIS.search(html)
    told = worded(unescape(emphasis[0]).partition(SHOWN)[0] if emphasis else words)
    if made := list(dict.fromkeys(MADE.findall(words))):
        names = listed([symbol(escape(name)) for name in made])
        told, heard = f"{escape(title)}: the shape{'s' * (len(made) > 1)} of {names}.", ""
    text = f"<b>{number}</b> <span{heard}{moves}>{told}</span>"
    html = WIDE.sub(r'\g<0> style="--wide:\1px"', html)
    if moves:
        html = FRAME.sub(lambda frame: frame[1] + f' data-said="{escape(worded(unescape(frame[2])))}"', html)
    return f'<div class="course-captioned">{html}<p class="course-caption">{text}</p></div>'


def worded(words: str) -> str:
    """The words of a caption as HTML: emphasis, symbols with their index, names as code, numbers that do not break.

    >>> worded("*flies* for d_k = 4 and tgt_len = 5")
    '<em>flies</em> for <i>d</i><sub>k</sub> = 4 and <code>tgt_len</code> = 5'
    >>> worded("down to 1e-15")
    'down to <span class="course-tied">1e-15</span>'
    """

    def named(found: re.Match) -> str:
        if found["code"]:
            return f"<code>{found['code']}</code>"
        return f"<i>{found['letter']}</i><sub>{found['index']}</sub>"

    words = EMPHASIS.sub(r"<em>\1</em>", NAME.sub(named, escape(words)))
    return POWER.sub(r'<span class="course-tied">\g<0></span>', words)


def listed(names: list[str]) -> str:
    """The names in a row.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b, and c')
    """
    return ", and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 2 else " and ".join(names)


def symbol(name: str) -> str:
    """A name of letters with their indices, in italics; another one as it is.

    >>> symbol("xW^Q"), symbol("scores")
    ('<i>x</i><i>W</i><sup>Q</sup>', 'scores')
    """
    if len(name) > 1 and not re.fullmatch(r"[A-Za-z]?[A-Za-z](?:[_^][^\W_]+)+", name):
        return name
    italic = re.sub(r"[_^][^\W_]+|[A-Za-z]", lambda part: part[0] if part[0][1:] else f"<i>{part[0]}</i>", name)
    return SMALL.sub(small, italic)


def small(name: re.Match) -> str:
    tag = "sup" if name[1] == "^" else "sub"
    return f"<{tag}>{name[2]}</{tag}>"


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_post_transform(Captions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
