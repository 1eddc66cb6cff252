"""How a text becomes the tokens that BLEU counts: the choice changes the score, so every score names it."""

import re
from collections.abc import Callable


def tokenize_13a(text: str) -> list[str]:
    """Split as WMT's scorer mteval-v13a does: ASCII punctuation apart, but not in numbers (1,000.5), nor ' and -.

    >>> tokenize_13a("It's 3.5 km (about 2-3 miles), she said.")
    ["It's", '3.5', 'km', '(', 'about', '2', '-', '3', 'miles', ')', ',', 'she', 'said', '.']
    """
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, character in (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")):
        text = text.replace(entity, character)
    text = re.sub(r"([!-&(-+/:-@\[-`{-~])", r" \1 ", f" {text} ")
    text = re.sub(r"([^0-9])([.,])", r"\1 \2 ", text)
    text = re.sub(r"([.,])([^0-9])", r" \1 \2", text)
    return re.sub(r"([0-9])-", r"\1 - ", text).split()


TOKENIZERS: dict[str, Callable[[str], list[str]]] = {
    "13a": tokenize_13a,
    "none": str.split,
    "char": lambda text: list("".join(text.split())),
}
