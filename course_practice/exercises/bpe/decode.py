"""Exercise: from tokens back to text."""

from course_lib.bpe import MARK
from course_practice.engine import Exercise, Mistake, case


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


def _as_text(obj, given):
    """A list in one line, so that lists can be told from one another."""
    made = obj(*given.args)
    return f"the list {made}" if isinstance(made, list) else made


def _space_before_the_last_piece(tokens):
    spaced = ((" " * token.endswith(MARK)) + token.removesuffix(MARK) for token in tokens)
    return "".join(spaced).removeprefix(" ")


EXERCISE = Exercise(
    title="From tokens back to text",
    task="Return the text that the tokens stand for. Each mark </w> says where a word ends; the last word is followed "
    "by no space. A space that the text itself has must come back. The tokens may end in the middle of a word.",
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
            "Two spaces in a row became one, and those at the ends are gone. `.split()` without an argument does "
            "this, and so does leaving out empty words.",
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
            "mark-stripped-as-letters",
            lambda tokens: "".join(
                token.rstrip(MARK) + " " if token.endswith(MARK) else token for token in tokens
            ).removesuffix(" "),
            "With `rstrip`, every character that is <, /, w, or > goes, so the w of *low* is gone as well. "
            "`removesuffix` takes the mark away as a whole.",
        ),
        Mistake(
            "first-mark-only",
            lambda tokens: "".join(tokens).replace(MARK, " ", 1).replace(MARK, ""),
            "Only the first mark becomes a space.",
        ),
        Mistake(
            "unfinished-word-lost",
            lambda tokens: " ".join("".join(tokens).split(MARK)[:-1]),
            "A word whose end is not there yet is lost: the tokens may stop before its mark.",
        ),
        Mistake(
            "list-of-words",
            lambda tokens: "".join(tokens).split(MARK)[:-1],
            "These are words in a list. A text is one string: join them with spaces.",
        ),
        Mistake(
            "list-of-all-words",
            lambda tokens: "".join(tokens).removesuffix(MARK).split(MARK),
            "The words are right, but they stand in a list. One step is missing: join them with a space.",
        ),
        Mistake(
            "space-before-the-last-piece",
            _space_before_the_last_piece,
            "The space stands before the last token of a word. It belongs behind it: the mark says that the word ends "
            "there.",
        ),
        Mistake(
            "space-before-each-mark",
            lambda tokens: "".join(
                " " + token.removesuffix(MARK) if token.endswith(MARK) else token for token in tokens
            ),
            "A space stands before each token that has a mark, also at the beginning of the text. The mark says that "
            "the word ends *behind* this token.",
        ),
        Mistake(
            "letters-stripped",
            lambda tokens: decode([token.strip(MARK) + MARK * token.endswith(MARK) for token in tokens]),
            "Letters are missing. `strip` and its kin take a set of characters away, here <, /, w, and >, so w goes as "
            "well. `removesuffix` takes the mark as a whole.",
        ),
        Mistake(
            "letters-stripped-at-the-end",
            lambda tokens: "".join(tokens).rstrip(MARK).replace(MARK, " "),
            "A letter is missing at the end. `rstrip` takes a set of characters away, here <, /, w, and >, so w goes "
            "as well. `removesuffix` takes the mark as a whole.",
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
