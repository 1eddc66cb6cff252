"""A model with known probabilities, and how a found sentence is compared."""

from collections.abc import Callable

from course_lib.tokens import BOS, EOS, PAD
from course_practice.engine import Case
from course_practice.exercises.inputs import randn


class Table:
    """`log_probs(tokens)`: what may follow the tokens written so far (without BOS), as log-probabilities (vocab_size,).

    >>> Table(seed=0)([]).exp().sum().round().item()
    1.0
    """

    def __init__(self, seed: int, vocab_size: int = 6, end: float = 0.0, most: int | None = None):
        logits = 1.5 * randn(29, vocab_size, seed=seed).double()
        logits[:, EOS] += end
        logits[:, [PAD, BOS]] = -30.0  # a trained model writes neither
        self.rows, self.most, self.calls = logits.log_softmax(dim=-1), most, 0

    def __call__(self, tokens):
        written = [int(token) for token in tokens]
        self.calls += 1
        if self.most is not None and self.calls > self.most:
            raise RuntimeError(
                f"expected at most {self.most} calls of log_probs, got one more: most beginnings need not be opened, "
                "so which of them comes first, and when is nothing better to be found?"
            )
        state = 0
        for token in written:
            state = (5 * state + 3 * token + 1) % len(self.rows)
        return self.rows[state].clone()

    def __repr__(self):
        return "<a model with known probabilities>"


def fresh(obj: Callable, given: Case) -> object:
    """The answer as its words on one line and its log-probability; the table counts from 0.

    >>> fresh(lambda: ([5, 6], -1.5), Case(()))
    ('5 6', -1.5)
    """
    for arg in given.args:
        if isinstance(arg, Table):
            arg.calls = 0
    answer = obj(*given.args)
    if not isinstance(answer, list | tuple) or len(answer) != 2:
        return answer
    tokens, log_prob = answer
    try:
        words = [int(token) for token in tokens]
    except (TypeError, ValueError):
        return answer
    return " ".join(map(str, words)) or "(nothing)", log_prob
