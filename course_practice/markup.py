"""The two marks that messages and questions may hold, as HTML."""

import re
from html import escape


def inline_html(text: str) -> str:
    """Plain text with `code` in backticks and *stress* between asterisks; everything else is escaped.

    >>> inline_html("a < b: `x * y * z` is *not* 2 * 3")
    'a &lt; b: <code>x * y * z</code> is <em>not</em> 2 * 3'
    """
    parts = escape(text, quote=False).split("`")
    if len(parts) % 2 == 0:  # a backtick without its partner is a character
        parts[-2:] = ["`".join(parts[-2:])]
    plain = [re.sub(r"(?<![\w*])\*(\S|\S[^*]*?\S)\*(?![\w*])", r"<em>\1</em>", part) for part in parts[::2]]
    code = [f"<code>{part}</code>" for part in parts[1::2]]
    return "".join(part for pair in zip(plain, [*code, ""], strict=True) for part in pair)
