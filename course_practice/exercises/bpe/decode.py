from course_lib.bpe import MARK
from course_practice.engine import Exercise, case


def decode(tokens):
    """The text of tokens: every mark is a space, but none after the last word.

    >>> decode(["lo", "w</w>", "w", "est</w>"])
    'low west'
    """
    return "".join(tokens).replace(MARK, " ").removesuffix(" ")


def split_at_the_marks(tokens):
    words = "".join(tokens).split(MARK)
    return " ".join(words[:-1] if len(words) > 1 and words[-1] == "" else words)


def _as_text(obj, given):
    """A list in one line, so that lists can be told from one another."""
    made = obj(*given.args)
    return f"the list {made}" if isinstance(made, list) else made


EXERCISE = Exercise(
    reference=decode,
    call=_as_text,
    cases=lambda: [
        case(["lo", "w</w>", "w", "est</w>"], about="two words"),
        case(["low</w>"], about="one token"),
        case(["n", "e", "w", "e", "r</w>"], about="one word in five tokens"),
        case(["low</w>", "lo", "w", "er</w>", "new", "est</w>"], about="three words"),
        case(["low</w>", "new"], about="the last word is not finished"),
        case(["low</w>", "</w>", "er</w>"], about="a text with two spaces in a row"),
        case(["low</w>", "</w>"], about="a text that ends with a space"),
        case(["</w>", "low</w>"], about="a text that begins with a space"),
    ],
    alternatives=(split_at_the_marks,),
)
