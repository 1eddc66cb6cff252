"""Exercise: the most probable sentence of all."""

import heapq

import torch

from course_lib.tokens import EOS
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.beam_search._tables import Table, fresh

MOST = 400


def exact(log_probs, max_len):
    """The most probable finished sentence of at most `max_len` tokens: (tokens without EOS, log-probability).

    >>> import torch
    >>> rows = {(): [0, 0, 0.1, 0.9], (3,): [0, 0, 0.9, 0.1]}
    >>> exact(lambda tokens: torch.tensor(rows[tuple(tokens)]).log(), max_len=2)[0]
    [3]
    """
    heap = [(0.0, [], False)]  # minus the log-probability first
    while heap:
        cost, tokens, finished = heapq.heappop(heap)
        if finished:
            return tokens, -cost
        if len(tokens) == max_len:
            continue
        for token, gain in enumerate(log_probs(tokens).tolist()):
            if token == EOS:
                heapq.heappush(heap, (cost - gain, tokens, True))
            else:
                heapq.heappush(heap, (cost - gain, [*tokens, token], False))
    return None


def depth_first_with_a_bound(log_probs, max_len):
    best = ([], -float("inf"))

    def visit(tokens, total):
        nonlocal best
        scores = log_probs(tokens)
        if total + scores[EOS] > best[1]:
            best = (tokens, float(total + scores[EOS]))
        if len(tokens) + 1 < max_len:
            for token in scores.argsort(descending=True).tolist():
                if token != EOS and total + scores[token] > best[1]:
                    visit([*tokens, token], float(total + scores[token]))

    visit([], 0.0)
    return best


def with_a_sorted_list(log_probs, max_len):
    frontier = [(0.0, ())]
    while True:
        frontier.sort()
        total, tokens = frontier.pop()
        if tokens and tokens[-1] == EOS:
            return list(tokens[:-1]), total
        if len(tokens) < max_len:
            frontier += [(total + gain, (*tokens, token)) for token, gain in enumerate(log_probs(tokens).tolist())]


def level_by_level_with_a_bound(log_probs, max_len):
    best, level = (None, -float("inf")), {(): 0.0}
    for _length in range(max_len):
        following = {}
        for tokens, total in sorted(level.items(), key=lambda item: -item[1]):
            if total <= best[1]:
                break
            scores = log_probs(tokens)
            for token in range(len(scores)):
                value = total + scores[token].item()
                if token == EOS and value > best[1]:
                    best = (list(tokens), value)
                elif token != EOS:
                    following[(*tokens, token)] = value
        level = following
    return best


def _search(
    order=lambda cost, tokens: cost,
    top=None,
    ends=True,
    counts_end=True,
    most=lambda max_len: max_len,
    adds=lambda cost, gain: cost - gain,
    result=lambda tokens, cost: (tokens, -cost),
):
    """The right answer with some of its steps exchanged."""

    def wrong(log_probs, max_len):
        heap = [(0.0, 0.0, [], False)]
        while heap:
            _, cost, tokens, finished = heapq.heappop(heap)
            if finished:
                return result(tokens, cost)
            if len(tokens) >= most(max_len):
                continue
            gains = log_probs(tokens)
            kept = range(len(gains)) if top is None else gains.topk(top).indices.tolist()
            for token in kept:
                end = token == EOS
                total = adds(cost, gains[token].item()) if not end or counts_end else cost
                written = tokens if end else [*tokens, token]
                heapq.heappush(heap, (order(total, [*tokens, token]), total, written, end and ends))
        return [], 0.0

    return wrong


def _first_pushed(log_probs, max_len):
    heap = [(0.0, [])]
    while heap:
        cost, tokens = heapq.heappop(heap)
        gains = log_probs(tokens).tolist()
        if max(gains) == gains[EOS] or len(tokens) + 1 == max_len:
            return tokens, gains[EOS] - cost
        for token, gain in enumerate(gains):
            if token != EOS:
                heapq.heappush(heap, (cost - gain, [*tokens, token]))
    return None


def _where_the_end_is_likeliest(log_probs, max_len):
    heap = [(0.0, [])]
    while heap:
        cost, tokens = heapq.heappop(heap)
        if len(tokens) < max_len:
            gains = log_probs(tokens).tolist()
            if max(gains) == gains[EOS]:
                return tokens, gains[EOS] - cost
            for token, gain in enumerate(gains):
                if token != EOS:
                    heapq.heappush(heap, (cost - gain, [*tokens, token]))
    return None


def _cost_of_the_last_token(log_probs, max_len):
    heap = [(0.0, [])]
    while heap:
        cost, tokens = heapq.heappop(heap)
        if tokens and tokens[-1] == EOS:
            return tokens[:-1], -cost
        if len(tokens) < max_len:
            for token, gain in enumerate(log_probs(tokens).tolist()):
                heapq.heappush(heap, (-gain, [*tokens, token]))
    return None


def _any_end_pushed(log_probs, max_len):
    gains = log_probs([]).tolist()
    return [], gains[EOS]


def _greedy(log_probs, max_len):
    tokens, total = [], 0.0
    for _step in range(max_len):
        best, token = log_probs(tokens).max(dim=-1)
        total += best.item()
        if token == EOS:
            break
        tokens.append(token.item())
    return tokens, total


def _beam(log_probs, max_len, k):
    beams, pool = [([], 0.0)], [([], -float("inf"))]
    for _step in range(max_len):
        found = [([*t, v], s + g) for t, s in beams for v, g in enumerate(log_probs(t).tolist())]
        found.sort(key=lambda f: -f[1])
        pool += [(t[:-1], s) for t, s in found[:k] if t[-1] == EOS]
        beams = [f for f in found if f[0][-1] != EOS][:k]
    return max(pool, key=lambda f: f[1])


def _by_the_last_gain(log_probs, max_len):
    heap = [(0.0, [], 0.0)]
    while heap:
        _, tokens, total = heapq.heappop(heap)
        if tokens and tokens[-1] == EOS:
            return tokens[:-1], total
        if len(tokens) < max_len:
            for token, gain in enumerate(log_probs(tokens).tolist()):
                heapq.heappush(heap, (-gain, [*tokens, token], total + gain))
    return None


def _unfinished(log_probs, max_len):
    heap = [(0.0, [])]
    while heap:
        cost, tokens = heapq.heappop(heap)
        if tokens and tokens[-1] == EOS:
            return tokens[:-1], -cost
        if len(tokens) == max_len:
            return tokens, -cost
        for token, gain in enumerate(log_probs(tokens).tolist()):
            heapq.heappush(heap, (cost - gain, [*tokens, token]))
    return None


def _largest_cost_first(log_probs, max_len):
    heap = [(0.0, [])]
    while heap:
        total, tokens = heapq.heappop(heap)
        if tokens and tokens[-1] == EOS:
            return tokens[:-1], total
        if len(tokens) < max_len:
            for token, gain in enumerate(log_probs(tokens).tolist()):
                heapq.heappush(heap, (total + gain, [*tokens, token]))
    return None


class ManyWords(Table):
    """Eighty first words, nearly alike; only after the least probable one is the end sure."""

    def __call__(self, tokens):
        written, scores = [int(token) for token in tokens], torch.full_like(super().__call__(tokens), -30.0)
        if not written:
            scores[EOS + 1 :] = torch.linspace(0.0, -0.2, len(scores) - EOS - 1)
        elif written == [len(scores) - 1]:
            scores[EOS] = 0.0
        else:
            scores[EOS:] = 0.0
        return scores.log_softmax(dim=-1)


EXERCISE = Exercise(
    title="The most probable sentence of all",
    task="log_probs(tokens) takes the list of ids written so far, without BOS, and returns the log-probabilities "
    "(vocab_size,) of what may follow. Return the most probable finished sentence of at most max_len tokens, EOS "
    f"included: (tokens without EOS, log-probability). At most {MOST} calls of log_probs, far fewer than there are "
    "sentences.",
    reference=exact,
    call=fresh,
    cases=lambda: [
        case(Table(1, most=MOST), 4, about="a small one"),
        case(Table(3, most=MOST), 8, about="longer sentences"),
        case(Table(6, most=MOST), 8, about="longer sentences"),
        case(Table(7, vocab_size=9, most=MOST), 8, about="a larger vocabulary"),
        case(Table(8, vocab_size=20, most=MOST), 10, about="a vocabulary of 20"),
        *(case(Table(seed, vocab_size=8, most=MOST), 9, about="one more model") for seed in range(21, 29)),
        case(Table(41, end=-2.0, most=MOST), 2, about="at most one word"),
        case(Table(47, end=-2.0, most=MOST), 2, about="at most one word"),
        case(Table(39, end=-2.0, most=MOST), 3, about="at most two words"),
        case(ManyWords(0, vocab_size=83, most=MOST), 2, about="eighty first words"),
    ],
    mistakes=(
        Mistake(
            "greedy",
            _greedy,
            "You follow the likeliest token alone. Keep all beginnings in a heap, and open the most probable one.",
        ),
        Mistake(
            "stops-when-an-end-is-likeliest",
            _first_pushed,
            "You stop where an end is *seen*. It is proved to be the best only when it comes out of the heap, because "
            "then every other beginning is less probable already.",
        ),
        Mistake(
            "only-where-an-end-is-likeliest",
            _where_the_end_is_likeliest,
            "You stop at a beginning whose likeliest continuation is EOS, and find nothing where there is none. Put "
            "the ends into the heap like everything else: the first that comes out is the best.",
        ),
        Mistake(
            "first-end-of-all",
            _any_end_pushed,
            "The empty sentence ends in the first step, and you return it at once. An end is the best only when "
            "nothing that is still open is more probable: put it into the heap like everything else, and wait until "
            "it comes *out*.",
        ),
        Mistake(
            "mean-in-the-heap",
            _search(order=lambda cost, tokens: cost / len(tokens)),
            "You order the heap by the log-probability for each token. A mean can rise again when a sentence goes on, "
            "so the first end that comes out proves nothing. Order by the sum.",
        ),
        Mistake(
            "best-token-alone",
            _search(top=1),
            "Each beginning goes on with its best token alone, and that is greedy search. Push all continuations.",
        ),
        Mistake(
            "two-best-tokens-alone",
            _search(top=2),
            "Each beginning goes on with its two best tokens. The best sentence may use a third: push all "
            "continuations.",
        ),
        Mistake(
            "end-for-nothing",
            _search(counts_end=False),
            "An end costs nothing here, so sentences stop too early. EOS has a probability, too: add it.",
        ),
        Mistake(
            "one-token-long",
            _search(most=lambda max_len: max_len + 1),
            "Your sentences may have one token too many. `max_len` counts EOS.",
        ),
        Mistake(
            "one-token-short",
            _search(most=lambda max_len: max_len - 1),
            "Your sentences may have one token too few: with `max_len` 2, one word and EOS are allowed.",
        ),
        Mistake(
            "sign-of-the-result",
            _search(result=lambda tokens, cost: (tokens, cost)),
            "The tokens are right. The heap holds *minus* the log-probability: turn the sign back.",
        ),
        Mistake(
            "end-kept",
            _search(result=lambda tokens, cost: ([*tokens, EOS], -cost)),
            "The right sentence, but EOS stands in the list. Leave it out of the tokens.",
        ),
        Mistake(
            "probability",
            _search(result=lambda tokens, cost: (tokens, 2.718281828459045**-cost)),
            "The tokens are right. You return the probability: return its logarithm.",
        ),
        *(
            Mistake(
                f"beam-of-{k}",
                lambda log_probs, max_len, k=k: _beam(log_probs, max_len, k),
                f"A beam search finds no more than this, even one that keeps {k} beginnings. Whatever falls out of a "
                "beam may lead to the best end: keep all beginnings, and open the most probable one.",
            )
            for k in (2, 3, 4, 8)
        ),
        Mistake(
            "by-the-last-gain",
            _by_the_last_gain,
            "You open the beginning whose *last* token is the likeliest. Order by the sum over all of its tokens.",
        ),
        Mistake(
            "cost-of-the-last-token",
            _cost_of_the_last_token,
            "The cost in your heap is that of the newest token alone, and so is what you return. Add what the tokens "
            "before it have cost: `cost - gain`.",
        ),
        Mistake(
            "unfinished",
            _unfinished,
            "You also return sentences of `max_len` tokens without EOS. They are not finished: leave them out.",
        ),
        Mistake(
            "largest-cost-first",
            _largest_cost_first,
            "You open the *least* probable beginning first. `heapq` gives the smallest number first, so push minus the "
            "log-probability.",
        ),
    ),
    hints=(
        "Keep a heap of beginnings. Which one do you open next, and when may you stop?",
        "Open the most probable beginning. A longer one is never more probable, so the first *finished* sentence that "
        "comes out of the heap beats everything that is still in it.",
        "`heapq` gives the smallest first: push `(cost - gain, tokens + [token])` with `cost` = minus the "
        "log-probability, and return when what you pop ends with EOS.",
    ),
    alternatives=(depth_first_with_a_bound, with_a_sorted_list, level_by_level_with_a_bound),
    difficulty=3,
    minutes=20,
)
