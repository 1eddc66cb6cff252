"""Symbols and names in the text of a drawing: d_k has a real subscript, tgt_len is code, both in the page's own fonts.

What is drawn is matplotlib's; here a line of its text becomes the runs of an SVG text.
"""

import re
from html import escape

# Characters of no width begin a run: matplotlib measures a text with them as if they were not there.
PLAIN, SYMBOL, BELOW, ABOVE, CODE = "\u2060", "\u2061", "\u2062", "\u2063", "\u2064"
_RUN = re.compile(f"([{PLAIN}-{CODE}])")

# A letter with an index, or a name of several words.
_LETTER = r"(?P<letter>[A-Za-z])_(?P<index>model|ff|kv|[a-zA-Z]|\d+)"
NAME = re.compile(rf"(?<![\w|])(?:{_LETTER}|(?P<code>[a-z]\w*_\w+))(?![\w|])")
_RAISED = re.compile("([A-Za-z])?([ᵀ⁰¹⁴⁵⁶⁷⁸⁹⁻]+)")
_LETTERS = str.maketrans("ᵀ⁰¹⁴⁵⁶⁷⁸⁹⁻", "T01456789−")

# Formulas of letters, digits, and signs, each with at most an index and an exponent of the same kind.
_PART = r"\{[\w−-]+\}|\w"
_ATOM = re.compile(rf"([A-Za-z])|\s*([^\\_^{{}}$A-Za-z]+)|([_^])({_PART})")
_BOTH = re.compile(rf"(\^(?:{_PART}))(_(?:{_PART}))")  # the index first: what follows stands behind the exponent
_SHIFT = {BELOW: 0.3, ABOVE: -0.5}  # of their own size, which is three quarters
_SMALL = 0.75


def marked(formula: str) -> str | None:
    """A formula of matplotlib's as a text with marks, or None where it needs more than one line of letters.

    >>> marked("$W^Q$ and $d_k$") == f"{SYMBOL}W{ABOVE}Q{PLAIN} and {SYMBOL}d{BELOW}k{PLAIN}"
    True
    >>> marked(r"$\\sqrt{d_k}$") is None
    True
    """
    written = ""
    formula = _BOTH.sub(r"\2\1", formula)
    for number, piece in enumerate(re.split(r"(?<!\\)\$", formula)):
        atoms = [*_ATOM.finditer(piece)] if number % 2 else []
        if "".join(atom[0] for atom in atoms) != piece and number % 2:
            return None
        for letter, sign, turn, part in (atom.groups() for atom in atoms):
            if turn:
                written += (BELOW if turn == "_" else ABOVE) + part.strip("{}").replace("-", "−")
            else:
                written += SYMBOL + letter if letter else PLAIN + sign
        written += piece.replace(r"\$", "$") if not number % 2 else PLAIN
    return written


def spans(text: str) -> str:
    """A line of text as the content of an SVG `<text>`.

    >>> spans("d_ff = 4")
    '<tspan font-style="italic">d</tspan><tspan dy=".3em" font-size=".75em">ff</tspan><tspan dy="-.225em"> = 4</tspan>'
    >>> spans("tgt_len < 3")
    '<tspan font-family="Course Code, monospace" font-size=".875em">tgt_len</tspan> &lt; 3'
    """
    text = NAME.sub(_named, _RAISED.sub(_raised, text))
    kinds = [PLAIN, *_RUN.findall(text)]
    runs = [(kind, run) for kind, run in zip(kinds, _RUN.split(text)[::2], strict=True) if run]
    written, down, before = "", 0.0, PLAIN
    for kind, run in runs:
        look = ' font-family="Course Code, monospace" font-size=".875em"' if kind == CODE else ""
        if kind == SYMBOL or (kind in _SHIFT and len(run) == 1 and run.isalpha()):
            look = ' font-style="italic"'
        size = _SMALL if kind in _SHIFT else 1.0
        target = _SHIFT.get(kind, 0.0) * size
        if target != down:
            look = f' dy="{_short((target - down) / size)}em"' + look
        if kind in _SHIFT:
            look += f' font-size="{_short(_SMALL)}em"'
            if (before, kind) == (BELOW, ABOVE):  # an exponent above an index
                look = ' dx="-.3em"' + look
        # "#" and quotes too: no token may be taken for a reference
        inner = escape(run, quote=False).replace("#", "&#35;").replace('"', "&quot;")
        written += f"<tspan{look}>{inner}</tspan>" if look else inner
        down, before = target, kind
    return written


def _named(found: re.Match) -> str:
    if found["code"]:
        return f"{CODE}{found[0]}{PLAIN}"
    return f"{SYMBOL}{found['letter']}{BELOW}{found['index']}{PLAIN}"


def _raised(found: re.Match) -> str:
    letter = SYMBOL + found[1] if found[1] else ""
    return f"{letter}{ABOVE}{found[2].translate(_LETTERS)}{PLAIN}"


def _short(number: float) -> str:
    return f"{number:.3f}".rstrip("0").rstrip(".").replace("0.", ".", 1)
