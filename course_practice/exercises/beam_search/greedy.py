"""Exercise: greedy search."""

from course_lib.tokens import BOS, EOS
from course_practice.engine import Exercise, Mistake, case
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


def by_recursion(log_probs, max_len, tokens=()):
    if max_len == 0:
        return [], 0.0
    scores = log_probs(tokens)
    token = int(scores.argmax())
    if token == EOS:
        return [], float(scores[EOS])
    rest, total = by_recursion(log_probs, max_len - 1, (*tokens, token))
    return [token, *rest], float(scores[token]) + total


def cut_at_the_end(log_probs, max_len):
    tokens, gains = [], []
    for _step in range(max_len):
        scores = log_probs(tokens)
        tokens.append(int(scores.argmax()))
        gains.append(scores.max())
    n = tokens.index(EOS) if EOS in tokens else max_len
    return tokens[:n], sum(gains[: n + 1])


def _loop(
    reads=lambda tokens: tokens,
    choose=lambda scores: scores.argmax(),
    gain=lambda best: best.item(),
    steps=lambda max_len: max_len,
    stops=True,
    counts_end=True,
    first=(),
):
    """The right answer with some of its steps exchanged."""

    def wrong(log_probs, max_len):
        tokens, total = [*first], 0.0
        for _step in range(steps(max_len)):
            scores = log_probs(reads(tokens))
            token = int(choose(scores))
            if token == EOS and stops and not counts_end:
                break
            total += gain(scores[token])
            if token == EOS and stops:
                break
            tokens.append(token)
        return tokens, total

    return wrong


def _end_kept(log_probs, max_len):
    tokens, total = greedy(log_probs, max_len)
    return (tokens, total) if len(tokens) == max_len else ([*tokens, EOS], total)


def _last_gain(log_probs, max_len):
    tokens, _total = greedy(log_probs, max_len)
    n = len(tokens)
    return tokens, float(log_probs(tokens).max() if n < max_len else log_probs(tokens[:-1]).max())


def _probability(log_probs, max_len):
    tokens, total = greedy(log_probs, max_len)
    return tokens, 2.718281828459045**total


def _mean(log_probs, max_len):
    tokens, total = greedy(log_probs, max_len)
    return tokens, total / min(len(tokens) + 1, max_len)


def _last_cut_off(log_probs, max_len):
    tokens, total = greedy(log_probs, max_len)
    return (tokens[:-1], total) if len(tokens) == max_len else (tokens, total)


def _end_always_added(log_probs, max_len):
    tokens, total = greedy(log_probs, max_len)
    return tokens, total + (log_probs(tokens)[EOS].item() if len(tokens) == max_len else 0.0)


def _ends_taken_out(log_probs, max_len):
    tokens, total = _loop(stops=False)(log_probs, max_len)
    return [token for token in tokens if token != EOS], total


EXERCISE = Exercise(
    title="Greedy search",
    task="log_probs(tokens) takes the list of ids written so far, without BOS, and returns the log-probabilities "
    "(vocab_size,) of what may follow. Take the likeliest token at every step until it is EOS, or until max_len tokens "
    "are written. Return (tokens without EOS, log-probability of what was written, EOS included).",
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
    mistakes=(
        Mistake(
            "end-without-its-probability",
            _loop(counts_end=False),
            "The tokens are right. The log-probability lacks EOS: add its gain before you leave the loop.",
        ),
        Mistake(
            "end-kept",
            _end_kept,
            "EOS stands in the list. It ends the sentence and is no word of it: leave it out of the tokens, and count "
            "its log-probability.",
        ),
        Mistake(
            "does-not-stop",
            _loop(stops=False),
            "The sentence goes on after EOS. Stop there: what follows an end is nobody's sentence.",
        ),
        Mistake(
            "reads-the-last-token",
            _loop(reads=lambda tokens: tokens[-1:]),
            "Each step reads the last token alone. Give `log_probs` all that is written so far.",
        ),
        Mistake(
            "reads-nothing",
            _loop(reads=lambda tokens: []),
            "Each step reads an empty sentence, so the same token comes again and again. Give `log_probs` all that is "
            "written so far.",
        ),
        Mistake(
            "begin-in-the-prefix",
            _loop(reads=lambda tokens: [BOS, *tokens]),
            "You put BOS before the tokens. Here `log_probs` takes the words alone; the first call gets an empty list.",
        ),
        Mistake(
            "begin-kept",
            _loop(first=(BOS,)),
            "Your list begins with BOS. Here it begins empty: `log_probs([])` gives the first word.",
        ),
        Mistake(
            "one-step-short",
            _loop(steps=lambda max_len: max_len - 1),
            "One token too few: `max_len` tokens may be written.",
        ),
        Mistake(
            "one-step-long",
            _loop(steps=lambda max_len: max_len + 1),
            "One token too many: at most `max_len` tokens may be written.",
        ),
        Mistake(
            "least-likely",
            _loop(choose=lambda scores: scores.argmin()),
            "You take the *least* likely token. A log-probability near 0 is a large one.",
        ),
        Mistake(
            "probabilities-added",
            _loop(gain=lambda best: best.exp().item()),
            "The tokens are right. You add up probabilities, but it is log-probabilities that are added.",
        ),
        Mistake(
            "last-gain-alone",
            _last_gain,
            "The tokens are right. The log-probability is that of the last step alone: add up all of them.",
        ),
        Mistake(
            "probability",
            _probability,
            "The tokens are right. You return the probability: return its logarithm, the sum.",
        ),
        Mistake(
            "mean",
            _mean,
            "The tokens are right. You return the mean of the log-probabilities: return their sum.",
        ),
        Mistake(
            "last-cut-off",
            _last_cut_off,
            "Where `max_len` is reached without EOS, the last token is cut off, although it is a word.",
        ),
        Mistake(
            "end-always-added",
            _end_always_added,
            "Where `max_len` is reached without EOS, you still add the log-probability of an EOS that was not written. "
            "Count what stands there, and no more.",
        ),
        Mistake(
            "ends-taken-out",
            _ends_taken_out,
            "The sentence goes on after EOS, and EOS is taken out later. Stop there: what follows an end is nobody's "
            "sentence.",
        ),
    ),
    hints=(
        "Two things grow from step to step: the list of tokens and the sum of their log-probabilities.",
        "At each step call `log_probs(tokens)`, take the largest, add it to the sum, and only then ask whether it was "
        "EOS.",
        "`best, token = log_probs(tokens).max(dim=-1)`, `total += best.item()`, then `if token == EOS: break`.",
    ),
    alternatives=(with_a_for_loop, by_recursion, cut_at_the_end),
    difficulty=1,
    minutes=10,
)
