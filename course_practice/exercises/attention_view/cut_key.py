import torch

from course_lib.attention_view import cut_key
from course_lib.masks import causal_mask, masked_softmax
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def by_a_mask(weights, key):
    others = torch.arange(weights.shape[-1]) != key
    rest = weights * others
    total = rest.sum(-1, keepdim=True)
    return torch.where(total > 0, rest / total, torch.zeros_like(rest))


EXERCISE = Exercise(
    reference=cut_key,
    cases=lambda: [
        case(torch.tensor([[0.6, 0.3, 0.1], [0.2, 0.4, 0.4]]), 0, about="three keys, the first one cut"),
        case(randn(4, 5, seed=1).softmax(dim=-1), 2, about="four queries, five keys"),
        case(torch.tensor([[0.0, 1.0], [0.5, 0.5]]), 1, about="a row that has nothing else"),
        case(masked_softmax(randn(2, 3, 5, 5, seed=2), causal_mask(5)), 1, about="a causal mask"),
        case(randn(3, 3, seed=3).softmax(dim=-1), 2, about="as many queries as keys"),
        case((3 * randn(2, 4, 3, 7, seed=4)).softmax(dim=-1), 6, about="the last key of seven"),
    ],
    alternatives=(by_a_mask,),
)
