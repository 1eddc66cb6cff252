import torch

from course_lib.sampling import top_k_filter, top_p_filter
from course_practice.engine import Exercise, case
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
    probs, index = logits.softmax(dim=-1).sort(descending=True)
    kept = probs.cumsum(dim=-1) - probs < top_p
    if top_p < 1:  # a sum in single precision reaches 1 before the last word
        probs = probs.masked_fill(~kept, 0.0)
    return torch.zeros_like(probs).scatter(0, index, probs / probs.sum())


def with_a_sorted_list(logits, temperature=1.0, top_k=None, top_p=1.0):
    probs = torch.softmax(logits / temperature, dim=0)
    order = probs.argsort(descending=True)
    if top_k is not None:
        probs[order[top_k:]] = 0
        probs = probs / probs.sum()
    total = 0.0
    for i in order.tolist():
        if top_p < 1 and total >= top_p:
            probs[i] = 0
        total += probs[i].item()
    return probs / probs.sum()


def with_both_filters(logits, temperature=1.0, top_k=None, top_p=1.0):
    logits = logits / temperature
    if top_k is not None:
        logits = top_k_filter(logits, top_k)
    return top_p_filter(logits, top_p).softmax(dim=-1)


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


EXERCISE = Exercise(reference=next_word_probs, cases=_cases, alternatives=(with_a_sorted_list, with_both_filters))
