"""Exercise: the probabilities from which the next word is drawn."""

import math

import torch

from course_lib.sampling import top_k_filter, top_p_filter
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def next_word_probs(logits, temperature=1.0, top_k=None, top_p=1.0):
    """The probabilities (vocab_size,) from which the next word is drawn.

    First the temperature divides the logits. Then only the `top_k` largest
    stay, and of these the most probable until they reach `top_p` together.

    >>> next_word_probs(torch.tensor([0.5, 0.3, 0.2]).log(), top_k=2)
    tensor([0.6250, 0.3750, 0.0000])
    """
    logits = logits / temperature
    if top_k is not None:
        logits = top_k_filter(logits, top_k)
    return top_p_filter(logits, top_p).softmax(dim=-1)


def with_a_sorted_list(logits, temperature=1.0, top_k=None, top_p=1.0):
    probs = torch.softmax(logits / temperature, dim=0)
    order = probs.argsort(descending=True)
    if top_k is not None:
        probs[order[top_k:]] = 0
        probs = probs / probs.sum()
    total = 0.0
    for i in order.tolist():
        if total >= top_p:
            probs[i] = 0
        total += probs[i].item()
    return probs / probs.sum()


def with_masks(logits, temperature=1.0, top_k=None, top_p=1.0):
    ordered, index = (logits.double() / temperature).sort(descending=True)
    k = len(logits) if top_k is None else min(top_k, len(logits))
    probs = ordered[:k].softmax(dim=-1)
    kept = probs.cumsum(dim=-1) - probs < top_p
    kept[0] = True
    result = torch.zeros(len(logits), dtype=torch.float64)
    result[index[:k][kept]] = probs[kept] / probs[kept].sum()
    return result


def with_powers(logits, temperature=1.0, top_k=None, top_p=1.0):
    weights = [math.exp(x / temperature) for x in (logits - logits.max()).tolist()]
    order = sorted(range(len(weights)), key=lambda i: -weights[i])[:top_k]
    total, kept = sum(weights[i] for i in order), {}
    for i in order:
        if kept and sum(kept.values()) / total >= top_p:
            break
        kept[i] = weights[i]
    return torch.tensor([kept.get(i, 0.0) / sum(kept.values()) for i in range(len(weights))])


def _filter_k(logits, k):
    return logits if k is None else top_k_filter(logits, k)


def _softmax(logits):
    return logits.softmax(dim=-1)


def _crossing_dropped(logits, p):
    """The word that reaches p is cut as well, and the likeliest stays."""
    ordered, index = logits.sort(descending=True)
    cut = ordered.softmax(-1).cumsum(-1) > p + 1e-6
    cut[0] = False
    return torch.full_like(logits, -math.inf).scatter(-1, index, ordered.masked_fill(cut, -math.inf))


def _nothing_left(logits, p):
    """The word that reaches p is cut as well, be it the only one."""
    ordered, index = logits.sort(descending=True)
    cut = ordered.softmax(-1).cumsum(-1) > p + 1e-6
    return torch.full_like(logits, -math.inf).scatter(-1, index, ordered.masked_fill(cut, -math.inf))


def _one_too_many(logits, p):
    ordered, index = logits.sort(descending=True)
    probs = ordered.softmax(-1)
    before = probs.cumsum(-1) - probs
    cut = (before >= p).roll(1)
    cut[0] = False
    return torch.full_like(logits, -math.inf).scatter(-1, index, ordered.masked_fill(cut, -math.inf))


def _in_sorted_places(logits, p):
    """What is kept is laid down in sorted order, not where the words stand."""
    ordered, _index = logits.sort(descending=True)
    probs = ordered.softmax(-1)
    return ordered.masked_fill(probs.cumsum(-1) - probs >= p, -math.inf) if p < 1 else logits


def _at_least_p(logits, p):
    probs = logits.softmax(-1)
    return logits.masked_fill(probs < min(p, probs.max().item()), -math.inf) if p < 1 else logits


def _least_likely(logits, p):
    return -top_p_filter(-logits, p).nan_to_num(posinf=math.inf) if p < 1 else logits


def _of(temper=lambda logits, temperature: logits / temperature, top_k=_filter_k, top_p=top_p_filter, finish=_softmax):
    def answer(logits, temperature=1.0, k=None, p=1.0):
        return finish(top_p(top_k(temper(logits, temperature), k), p))

    return lambda logits, temperature=1.0, top_k=None, top_p=1.0: answer(logits, temperature, top_k, top_p)


def _filters_first(logits, temperature=1.0, top_k=None, top_p=1.0):
    return (top_p_filter(_filter_k(logits, top_k), top_p) / temperature).softmax(dim=-1)


def _p_first(logits, temperature=1.0, top_k=None, top_p=1.0):
    return _filter_k(top_p_filter(logits / temperature, top_p), top_k).softmax(dim=-1)


def _not_renormalized(logits, temperature=1.0, top_k=None, top_p=1.0):
    logits = logits / temperature
    kept = ~top_p_filter(_filter_k(logits, top_k), top_p).isinf()
    return logits.softmax(dim=-1) * kept


def _zeros_for_infinity(logits, temperature=1.0, top_k=None, top_p=1.0):
    kept = top_p_filter(_filter_k(logits / temperature, top_k), top_p)
    return kept.masked_fill(kept.isinf(), 0.0).softmax(dim=-1)


def _the_logits(logits, temperature=1.0, top_k=None, top_p=1.0):
    return top_p_filter(_filter_k(logits / temperature, top_k), top_p)


def _one_more(logits, k):
    return logits if k is None else top_k_filter(logits, k + 1)


def _smallest(logits, k):
    return logits if k is None else -top_k_filter(-logits, k).nan_to_num(neginf=-math.inf)


def _greedy(logits, temperature=1.0, top_k=None, top_p=1.0):
    return torch.nn.functional.one_hot(logits.argmax(), len(logits)).float()


def _cases():
    exponentials = torch.tensor([1.0, 16.0, 2.0, 4.0]).log()
    spread = torch.tensor([0.05, 0.4, 0.1, 0.25, 0.2]).log()
    return [
        case(exponentials, about="nothing to change"),
        case(exponentials, 2.0, about="temperature 2"),
        case(exponentials, 0.5, about="temperature ½"),
        case(spread, 1.0, 3, about="the 3 likeliest of 5 words"),
        case(spread, top_p=0.6, about="p = 0.6 of 5 words"),
        case(spread, top_p=0.1, about="a p that one word exceeds"),
        case(exponentials, 2.0, top_p=0.6, about="temperature 2 and p = 0.6"),
        case(spread, 1.0, 2, 0.5, about="the 2 likeliest, then p = 0.5 of those"),
        case(spread, 0.7, 4, 0.8, about="all three"),
        case(3 * randn(30, seed=1) + 5, 1.5, top_p=0.9, about="30 words"),
        case(2 * randn(12, seed=2), 1.0, 20, about="a k above the number of words"),
    ]


EXERCISE = Exercise(
    title="The next word's probabilities",
    task="Return the probabilities (vocab_size,) from which the next word is drawn: the temperature divides the "
    "logits, then the top_k largest stay, and of these the most probable words until they reach top_p together, at "
    "least one.",
    reference=next_word_probs,
    cases=_cases,
    mistakes=(
        Mistake(
            "temperature-multiplies",
            _of(temper=lambda logits, temperature: logits * temperature),
            "Your temperature sharpens where it should flatten: it *divides* the logits.",
        ),
        Mistake(
            "temperature-ignored",
            _of(temper=lambda logits, temperature: logits),
            "Right at temperature 1. The temperature has no effect on your result: it divides the *logits* (a divisor "
            "of probabilities cancels when they are normalized).",
        ),
        Mistake(
            "filters-before-temperature",
            _filters_first,
            "Right at temperature 1. You count the words for p at temperature 1 and apply the temperature afterwards: "
            "divide the logits first.",
        ),
        Mistake(
            "p-before-k",
            _p_first,
            "Each filter is right alone. Your p counts the probabilities of all words: here top-k comes first, and p "
            "counts what it has left, which sums to 1 again.",
        ),
        Mistake(
            "crossing-word-dropped",
            _of(top_p=_crossing_dropped),
            "Your top-p cuts one word too many: the word with which the sum *reaches* p stays.",
        ),
        Mistake(
            "no-word-left",
            _of(top_p=_nothing_left),
            "Your top-p cuts the word with which the sum reaches p. If the likeliest word alone exceeds p, nothing is "
            "left to draw.",
        ),
        Mistake(
            "one-word-too-many",
            _of(top_p=_one_too_many),
            "Your top-p keeps one word too many. The word with which the sum reaches p is the last one that stays.",
        ),
        Mistake(
            "ranks-for-words",
            _of(top_p=_in_sorted_places),
            "Your top-p returns the probabilities in sorted order, so that they belong to other words. Bring them back "
            "to the places of their words.",
        ),
        Mistake(
            "each-at-least-p",
            _of(top_p=_at_least_p),
            "You keep words whose *own* probability is at least p. p is what the kept words reach together.",
        ),
        Mistake(
            "top-p-ignored",
            _of(top_p=lambda logits, p: logits),
            "Right where top_p is 1. It has no effect on your result.",
        ),
        Mistake(
            "top-k-always",
            _of(top_k=top_k_filter),
            "Without `top_k` it stops with an error: `top_k` is None then, which is no number of words. Cut only "
            "`if top_k is not None`.",
        ),
        Mistake(
            "top-k-ignored",
            _of(top_k=lambda logits, k: logits),
            "Right where top_k is None. It has no effect on your result.",
        ),
        Mistake(
            "one-more-than-k",
            _of(top_k=_one_more),
            "Your top-k keeps k + 1 words.",
        ),
        Mistake(
            "k-smallest",
            _of(top_k=_smallest),
            "Your top-k keeps the k *least* likely words.",
        ),
        Mistake(
            "not-renormalized",
            _not_renormalized,
            "The right words are left, but their probabilities do not sum to 1. Divide by their sum.",
        ),
        Mistake(
            "zero-for-minus-infinity",
            _zeros_for_infinity,
            "The words that were cut get the logit 0, which is a probability like any other. Their logit is −∞.",
        ),
        Mistake(
            "logits-returned",
            _the_logits,
            "These are the logits. The softmax at the end is missing.",
        ),
        Mistake(
            "greedy",
            _greedy,
            "All the probability is on the likeliest word. That is what greedy search does.",
        ),
    ),
    hints=(
        "Three steps in this order: temperature, top-k, top-p. What does each one need of the step before it?",
        "`top_k_filter(logits, k)` and `top_p_filter(logits, p)` set what is cut to −∞. If you write the second "
        "yourself: sort, cumulate, and keep a word if those *before* it have not yet reached p.",
        "`logits = logits / temperature`, then `top_k_filter` if top_k is not None, and "
        "`top_p_filter(logits, top_p).softmax(dim=-1)`.",
    ),
    alternatives=(with_a_sorted_list, with_masks, with_powers),
    difficulty=2,
    minutes=12,
)
