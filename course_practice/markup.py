"""The marks that messages, hints, and questions may hold, as HTML."""

import re
from html import escape

SYMBOL = re.compile(r"\b([Wbd])([_^])([\dQKVOqkvo]|model|ff)\b")


def inline_html(text: str) -> str:
    """Plain text with `code` in backticks, *stress* between asterisks, and the index of a symbol small: `d_k` has it
    below, `W^Q` above; everything else is escaped.

    >>> inline_html("a < b: `x * y * z` is *not* 2 * 3")
    'a &lt; b: <code>x * y * z</code> is <em>not</em> 2 * 3'
    >>> inline_html("W^Q has `d_k` columns: d_k")
    'W<sup>Q</sup> has <code>d_k</code> columns: d<sub>k</sub>'
    """
    parts = escape(text, quote=False).split("`")
    if len(parts) % 2 == 0:  # a backtick without its partner is a character
        parts[-2:] = ["`".join(parts[-2:])]
    plain = [re.sub(r"(?<![\w*])\*(\S|\S[^*]*?\S)\*(?![\w*])", r"<em>\1</em>", _small(part)) for part in parts[::2]]
    code = [f"<code>{part}</code>" for part in parts[1::2]]
    return "".join(part for pair in zip(plain, [*code, ""], strict=True) for part in pair)


def _small(text: str) -> str:
    marks = {"_": r"\1<sub>\3</sub>", "^": r"\1<sup>\3</sup>"}
    return SYMBOL.sub(lambda found: found.expand(marks[found[2]]), text)
