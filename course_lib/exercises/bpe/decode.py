"""Exercise: from tokens back to text."""

from course_lib.bpe import MARK
from course_lib.exercises.engine import Exercise, Mistake, case


def decode(tokens):
    """The text of tokens: every mark is a space, but none after the last word.

    >>> decode(["lo", "w</w>", "w", "est</w>"])
    'low west'
    """
    return "".join(tokens).replace(MARK, " ").removesuffix(" ")


def split_at_the_marks(tokens):
    words = "".join(tokens).split(MARK)
    return " ".join(words[:-1] if len(words) > 1 and words[-1] == "" else words)


def token_by_token(tokens):
    text = ""
    for number, token in enumerate(tokens, start=1):
        if token.endswith(MARK):
            token = token[: -len(MARK)] + (" " if number < len(tokens) else "")
        text += token
    return text


def word_by_word(tokens):
    words, word = [], ""
    for token in tokens:
        word += token.removesuffix(MARK)
        if token.endswith(MARK):
            words.append(word)
            word = ""
    return " ".join([*words, word] if word else words)


EXERCISE = Exercise(
    title="From tokens back to text",
    task="Return the text that the tokens stand for. Each mark </w> says where a word ends; the last word is followed "
    "by no space. A space that the text itself has must come back.",
    reference=decode,
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
    mistakes=(
        Mistake(
            "space-after-each-token",
            lambda tokens: " ".join(tokens).replace(MARK, ""),
            "A space stands after each token, so words fall apart. Only a mark ends a word.",
        ),
        Mistake(
            "words-run-together",
            lambda tokens: "".join(tokens).replace(MARK, ""),
            "The words run together. A mark is where a space was.",
        ),
        Mistake(
            "space-at-the-end",
            lambda tokens: "".join(tokens).replace(MARK, " "),
            "A space stands after the last word, too. The text ended there.",
        ),
        Mistake(
            "spaces-of-the-text-lost",
            lambda tokens: "".join(tokens).replace(MARK, " ").strip(),
            "The text's own spaces at its ends are gone (`.strip()` removes all of them). Only one space is not "
            "the text's: that of the last mark.",
        ),
        Mistake(
            "trailing-spaces-lost",
            lambda tokens: "".join(tokens).replace(MARK, " ").rstrip(),
            "A space at the end of the text is gone (`.rstrip()` removes all of them). Only one space is not the "
            "text's: that of the last mark.",
        ),
        Mistake(
            "spaces-collapsed",
            lambda tokens: " ".join("".join(tokens).replace(MARK, " ").split()),
            "Two spaces in a row became one, and those at the ends are gone. `.split()` without an argument does this.",
        ),
        Mistake(
            "marks-kept",
            lambda tokens: "".join(tokens),
            "The marks are still in the text. Each of them stands for a space.",
        ),
        Mistake(
            "marks-and-spaces",
            lambda tokens: " ".join(tokens).replace(MARK, " "),
            "A space stands after each token, and one for each mark. Join the tokens without a space.",
        ),
        Mistake(
            "last-character-cut",
            lambda tokens: "".join(tokens).replace(MARK, " ")[:-1],
            "The last character is cut off even where it is a letter: a text may end in the middle of a word.",
        ),
        Mistake(
            "first-mark-only",
            lambda tokens: "".join(tokens).replace(MARK, " ", 1).replace(MARK, ""),
            "Only the first mark becomes a space.",
        ),
    ),
    hints=(
        "Join the tokens first. What is left to do, once for each word?",
        "Each mark becomes a space, and the mark of the last word becomes nothing.",
        "`''.join(tokens).replace('</w>', ' ')`, and then `.removesuffix(' ')`, which takes away one space at most.",
    ),
    alternatives=(split_at_the_marks, token_by_token, word_by_word),
    difficulty=1,
    minutes=8,
)
