"""What an exercise is: data. The rest of the engine only reads it."""

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from torch import Tensor

from course_practice.engine.changes import Change

_WORD = re.compile(r"(a|[a-z]{2,})\b(?!\()")  # else a name of code or of a formula


@dataclass(frozen=True)
class Case:
    """One call that the learner's object must answer: the arguments, and what the case is about in a few words."""

    args: tuple
    kwargs: dict[str, Any] = field(default_factory=dict)
    about: str = ""


def case(*args: Any, about: str = "", **kwargs: Any) -> Case:
    """Write a case as the call it stands for: `case(scores, mask=mask, about="a row with nothing to see")`."""
    return Case(args, kwargs, about)


@dataclass(frozen=True)
class Mistake:
    """A wrong answer that people really write, and what to tell whoever wrote it.

    `name` is a short slug ("softmax-over-queries"): the diagnosis that a result carries. `wrong` is the answer, as a
    change of a right one or as a function. `but_right` says what is right all the same, and `fault` goes on from there.
    `points` is False where the smallest change that makes every case right stands on another line than the one that
    the message speaks of.
    """

    name: str
    wrong: "Change | Callable"
    fault: str
    but_right: str = ""
    points: bool = True

    @property
    def message(self) -> str:
        """What is told where it is the only mistake."""
        return f"{self.but_right} {self.fault}".lstrip()

    @property
    def beside_another(self) -> str:
        """What is told where it is not the only one: the fault alone, because the rest need not be right then.

        >>> Mistake("four-axes", abs, "two axes are too many.", but_right="The values are right, but").beside_another
        'Two axes are too many.'
        >>> Mistake("overflow", abs, "exp(100) is too large.", but_right="Right on paper, but").beside_another
        'exp(100) is too large.'
        """
        return f"{self.fault[0].upper()}{self.fault[1:]}" if _WORD.match(self.fault) else self.fault

    @property
    def implementation(self) -> Callable:
        """The wrong answer, ready to be called."""
        return self.wrong.function if isinstance(self.wrong, Change) else self.wrong


@dataclass(frozen=True)
class Convention(Mistake):
    """Valid elsewhere, but the course agreed on something else: the message says what it is here."""


@dataclass(frozen=True)
class Exercise:
    """A reference, cases, mistakes and hints. The registry gives it its id, `<subject>.<name>`, from the file it is in.

    Title, task, hints, and mistakes come from the Markdown file beside it (see `texts`). `reference` is the solution,
    and the one source of what `show_solution` prints: the library's own function or, where the library has none, a
    function beside this exercise. `cases` makes the inputs afresh, small ones first. `alternatives` are right answers
    written another way: tests prove that they pass, and the solution shows the first. `starter` is the code the learner
    starts from, where that is more than a signature (a completion, a bug hunt). `call` says how to run the learner's
    object on a case, where that is more than calling it; `canonical` brings answers that differ only in form (a mask of
    shape (B, S) or (B, 1, 1, S)) to one form. `excluded` looks at an object whose answers are all right: run like
    `call`, it gives back the name of the mistake that the object makes all the same, by its way of finding the answer
    or on inputs made from the case, or "". `remark`, run in the same way on an answer that passes, gives back what is
    to be said about it all the same, or "".
    """

    reference: Callable
    cases: Callable[[], Iterable[Case]]
    alternatives: tuple[Callable, ...]
    title: str = ""
    task: str = ""
    mistakes: tuple[Mistake, ...] = ()
    hints: tuple[str, ...] = ()
    difficulty: int = 0
    minutes: int = 0
    starter: Callable | None = None
    call: Callable[[Any, Case], Any] | None = None
    canonical: Callable[[Tensor], Tensor] | None = None
    excluded: Callable[[Any, Case], str] | None = None
    remark: Callable[[Any, Case], str] | None = None
    trained: bool | tuple[str, ...] | Callable[[Any, Case], tuple[Any, dict[str, Any]]] = False
    rtol: float = 1e-4
    atol: float = 1e-5
    id: str = ""

    def run(self, obj: Any, given: Case) -> Any:
        """Run an object on the arguments of a case, as the exercise says it is run."""
        return self.call(obj, given) if self.call else obj(*given.args, **given.kwargs)

    @property
    def all_parameters(self) -> list[str]:
        """Names of the reference's parameters, in order."""
        return list(inspect.signature(self.reference).parameters)

    @property
    def parameters(self) -> list[str]:
        """Names of the reference's required parameters, in order: those a learner's function must take."""
        found = inspect.signature(self.reference).parameters.values()
        return [parameter.name for parameter in found if parameter.default is parameter.empty]


@dataclass
class Budget:
    """What a search may cost: so much work that the same answer gets the same message on a busy machine, too.

    A run of an answer on a case is 1, and more where it takes many steps or calls many functions. `seconds` limit all.
    """

    work: float = 1_500
    seconds: float = 30.0


class Repair(Protocol):
    """A small change of the learner's own code that makes every case right, as a search has found it."""

    kind: str
    lines: tuple[int, ...]
    sentence: str  # where to look, and at what
    quotes: tuple[tuple[str, str], ...]  # the lines to look at, as the learner wrote them
    hint: str  # the change itself
    remaining: Mistake | None  # known, and still there after the change


# `search(exercise, obj, cases, expected, wrong, error_line, **options)`: the engine is handed one, and knows none.
Search = Callable[..., Repair | None]
