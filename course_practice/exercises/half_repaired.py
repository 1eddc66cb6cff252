"""Bug hunts of four bugs: what to say where some of them are left."""

import itertools
from collections.abc import Callable, Iterator

from course_practice.engine import Mistake

_FOUND = {1: "Three", 2: "Two", 3: "One"}


def half_repaired(questions: dict[str, str], hunted: Callable[..., Callable]) -> Iterator[Mistake]:
    """A mistake for each one, two, or three of the four bugs that are left, with a question about each.

    `hunted(**{bug: True, …})` gives the function that still has these bugs.

    >>> questions = {"axis": "which axis?", "sign": "which sign?", "scale": "which scale?", "mask": "which mask?"}
    >>> next(half_repaired(questions, lambda **left: abs)).message
    'Three of four found. Which axis?'
    """
    for n_left in (1, 2, 3):
        for left in itertools.combinations(questions, n_left):
            asked = " And ".join(questions[bug] for bug in left)
            message = f"{_FOUND[n_left]} of four found. {asked[0].upper()}{asked[1:]}"
            yield Mistake("left-" + "-and-".join(left), hunted(**dict.fromkeys(left, True)), message)
