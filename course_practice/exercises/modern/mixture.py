import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn
from course_practice.exercises.layer_norm.residual import Named


def mixture(x, router, experts, k):
    """Each token is handed to the k experts that the router prefers.

    x is (n_tokens, d_model), the router a matrix (d_model, n_experts), and
    `experts` a list of functions. Returns (n_tokens, d_model): the outputs of
    the k experts, weighted by the softmax over their k logits.
    """
    kept, chosen = (x @ router).topk(k, dim=-1)
    gates = kept.softmax(dim=-1)
    output = torch.zeros_like(x)
    for e, expert in enumerate(experts):
        token, slot = (chosen == e).nonzero(as_tuple=True)
        output[token] += gates[token, slot, None] * expert(x[token])
    return output


def all_experts_with_zeros(x, router, experts, k):
    logits = x @ router
    smallest = logits.sort(dim=-1, descending=True).values[:, k - 1 : k]
    gates = logits.masked_fill(logits < smallest, float("-inf")).softmax(dim=-1)
    return sum(gates[:, e : e + 1] * expert(x) for e, expert in enumerate(experts))


def _cases():
    def expert(d, seed):
        weight = randn(d, d, seed=seed)
        return Named(f"expert {seed % 10}", lambda y: torch.tanh(y @ weight) + seed % 10)

    def several(number, d, seed):
        return [expert(d, seed + e) for e in range(number)]

    plain = [Named(f"{factor} times", lambda y, factor=factor: factor * y) for factor in (10, 100, 1000)]
    by_hand = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    router = torch.tensor([[1.0, 3.0, 4.0], [5.0, 2.0, 2.5]]).log()
    return [
        case(by_hand, router, plain, 2, about="two tokens by hand, k = 2"),
        case(by_hand, router, plain, 1, about="the same, k = 1"),
        case(by_hand, router, plain, 3, about="the same with all three experts"),
        case(randn(5, 3, seed=1), randn(3, 4, seed=2), several(4, 3, 10), 2, about="all sizes different"),
        case(randn(4, 4, seed=3), randn(4, 4, seed=4), several(4, 4, 20), 2, about="all sizes equal"),
        case(randn(3, 2, seed=5), 3 * randn(2, 7, seed=6), several(7, 2, 30), 3, about="experts that no token chooses"),
        case(randn(6, 3, seed=7), randn(3, 2, seed=8), several(2, 3, 40), 1, about="two experts, k = 1"),
    ]


EXERCISE = Exercise(reference=mixture, cases=_cases, alternatives=(all_experts_with_zeros,), trained=True)
