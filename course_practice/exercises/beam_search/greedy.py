from course_lib.tokens import EOS
from course_practice.engine import Exercise, case
from course_practice.exercises.beam_search._tables import Table, fresh


def greedy(log_probs, max_len):
    """The likeliest token at each step, until EOS or `max_len` tokens: (tokens without EOS, log-probability).

    >>> from math import log
    >>> import torch
    >>> half = torch.tensor([0.0, 0.0, 0.25, 0.75]).log()  # EOS with 1/4, token 3 with 3/4
    >>> greedy(lambda tokens: half if len(tokens) < 2 else half.flip(0).roll(1), max_len=2)[0]
    [3, 3]
    """
    tokens, total = [], 0.0
    while len(tokens) < max_len:
        best, token = log_probs(tokens).max(dim=-1)
        total += best.item()
        if token == EOS:
            break
        tokens.append(token.item())
    return tokens, total


def with_a_for_loop(log_probs, max_len):
    tokens, total = [], 0.0
    for _step in range(max_len):
        scores = log_probs(tokens).tolist()
        token = scores.index(max(scores))
        total = total + scores[token]
        if token == EOS:
            return tokens, total
        tokens = [*tokens, token]
    return tokens, total


EXERCISE = Exercise(
    reference=greedy,
    call=fresh,
    cases=lambda: [
        case(Table(1), 6, about="a short sentence"),
        case(Table(6), 9, about="another sentence"),
        case(Table(2, vocab_size=9), 12, about="a larger vocabulary"),
        case(Table(4), 4, about="a sentence that is cut off"),
        case(Table(5, vocab_size=4), 7, about="two words and an end"),
        *(case(Table(seed), 10, about="one more sentence") for seed in (11, 12, 13)),
    ],
    alternatives=(with_a_for_loop,),
)
