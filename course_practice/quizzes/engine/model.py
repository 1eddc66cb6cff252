"""What a question is: its text, its options, and for every option why it is right or wrong."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

ID = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Option:
    """One answer to choose. `why` is shown once it is chosen: the reason, for wrong answers as for right ones.

    Texts are plain, with `code` in backticks.
    """

    text: str
    correct: bool
    why: str


@dataclass(frozen=True)
class Question:
    """A question with its options: one right, or with `many` any number of right ones.

    A `guess` is asked before a cell is run: its reasons stay folded until the reader has seen the output.
    ValueError where the id, a text or a reason is missing, or the number of right options does not fit.

    >>> from course_practice.quizzes import Option, Question
    >>> Question(
    ...     id="masks.empty",
    ...     text="One plus one?",
    ...     options=[Option("2", True, "1 + 1 = 2."), Option("11", False, "That joins the digits.")],
    ... ).right
    ('2',)
    """

    id: str
    text: str
    options: Sequence[Option]
    many: bool = False
    guess: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not ID.fullmatch(self.id):
            raise ValueError(f"expected an id like 'masks.polarity', got {self.id!r}: use small letters, digits and _")
        if not self.text.strip():
            raise ValueError(f"{self.id}: expected a question, got an empty text: write what is asked")
        if len(self.options) < 2:
            raise ValueError(
                f"{self.id}: expected two options or more, got {len(self.options)}: add some to choose from"
            )
        for option in self.options:
            self._check(option)
        texts = [option.text for option in self.options]
        if len(set(texts)) < len(texts):
            raise ValueError(f"{self.id}: expected options that differ, got {texts}: change or drop the repeated one")
        if not self.right or (len(self.right) > 1 and not self.many):
            wanted = "at least one correct option" if self.many else "exactly one correct option"
            advice = "mark the right ones" if self.many else "mark one, or declare the question with many=True"
            raise ValueError(f"{self.id}: expected {wanted}, got {len(self.right)}: {advice}")

    def _check(self, option: Option) -> None:
        if not isinstance(option, Option):
            raise TypeError(
                f"{self.id}: expected options of type Option, got {type(option).__name__}: "
                "write Option(text, correct, why)"
            )
        if not option.text.strip():
            raise ValueError(f"{self.id}: expected a text for every option, got an empty one: write what it says")
        if not isinstance(option.correct, bool):
            raise TypeError(f"{self.id}: expected correct to be True or False, got {option.correct!r}: say which")
        if not option.why.strip():
            raise ValueError(
                f"{self.id}: expected a reason (why) for {option.text!r}, got none: say why it holds or fails"
            )

    @property
    def right(self) -> tuple[str, ...]:
        """The texts of the right options."""
        return tuple(option.text for option in self.options if option.correct)

    @property
    def shown(self) -> tuple[Option, ...]:
        """The options in an order drawn from the question's id: not as they were typed, and the same each time."""
        draws = [hashlib.sha256(f"{self.id} {number}".encode()).digest() for number in range(len(self.options))]
        return tuple(option for _, option in sorted(zip(draws, self.options, strict=True), key=lambda pair: pair[0]))
