"""Text that people bring: one spelling for what looks the same.

The same sentence can arrive as different characters: é is one character or two, a space may forbid a line break, a
copied word may carry marks that no screen shows. A model takes each spelling for another text. So every sentence of a
user passes through `clean`, before training and before use, and the book's page does the same.
"""

import re
from unicodedata import category, normalize

# Characters that nobody sees: controls, the soft hyphen, spaces of no width, byte-order marks, marks of direction.
UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufeff\ufff9-\ufffb]"
)
# The joiners U+200C and U+200D change what one sees where letters change their shapes, as in Persian, Hindi, Sinhala,
# or Mongolian, and in emoji that are made of others. Everywhere else nobody sees them.
SHAPED = "\u0600-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u18af\u1a20-\u1bff\ua840-\uaaff\ufb50-\ufdff\ufe70-\ufefc"
SHAPED += "\U00010a00-\U00010aff\U00010f30-\U00011fff\U0001e900-\U0001e95f"  # of scripts that came later
EMOJI = "\u00a9\u00ae\u203c-\u2bff\u3030\u303d\u3297\u3299\ufe0f\U0001f000-\U0001faff"
RUNS = re.compile("([\u200c\u200d])[\u200c\u200d]+")
JOINERS = re.compile(f"(?<![{SHAPED}{EMOJI}])[\u200c\u200d]|\u200c(?![{SHAPED}])")
ENDS = " .!?…\u3002．！？｡¿¡؟۔।॥"  # what near twins may have at one of their ends


def clean(text: str) -> str:
    """The text in NFC, with one space between words, and without characters that nobody sees.

    Spaces of every kind count: tabs, carriage returns, no-break and ideographic spaces. Joiners stay in scripts and
    emoji whose shapes they change. Cleaning a text twice changes nothing more.

    >>> clean("\\ufeff Cafe\\u0301\\u00a0 cre\\u0300me \\r")
    'Café crème'
    """
    text, before = normalize("NFC", UNSEEN.sub("", text)), None
    while text != before and ("\u200c" in text or "\u200d" in text):  # what one kept apart may join now
        before, text = text, normalize("NFC", JOINERS.sub("", RUNS.sub(r"\1", text)))
    return " ".join(text.split())


def twin(text: str) -> str:
    """What texts have in common that differ only in case, spaces, spelling (`clean`), or marks at their ends.

    >>> twin("Go away !") == twin("go  away.") == "go away"
    True
    """
    text = clean(text)
    return text.lower().strip(ENDS) or text


def hidden(text: str) -> bool:
    """Whether the text is spelled in a way that looks like another: not in NFC, or with characters that nobody sees.

    >>> hidden("cafe\\u0301"), hidden("two  spaces")
    (True, False)
    """
    return clean(text) != " ".join(text.split())


def is_mark(character: str) -> bool:
    """Whether the character is punctuation, a symbol, or part of an emoji: no letter, no digit, no space.

    >>> [is_mark(character) for character in "a1.€한"]
    [False, False, True, True, False]
    """
    kind = category(character)
    return kind[0] in "PS" or kind == "Cf" or "\ufe00" <= character <= "\ufe0f"
