import torch

from course_lib.attention_view import entropy
from course_lib.masks import causal_mask, masked_softmax
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def with_a_safe_logarithm(weights, mask=None):
    logs = torch.where(weights > 0, weights, 1.0).log()
    n_keys = (
        weights.new_full(weights.shape[:-1], weights.shape[-1]) if mask is None else mask.expand_as(weights).sum(-1)
    )
    return -(weights * logs).sum(-1) / n_keys.clamp(min=2).log()


EXERCISE = Exercise(
    reference=entropy,
    cases=lambda: [
        case(torch.tensor([[0.5, 0.5], [0.9, 0.1]]), about="two keys"),
        case(torch.tensor([[0.5, 0.5, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]]), about="weights of zero"),
        case(masked_softmax(randn(5, 5, seed=1), causal_mask(5)), mask=causal_mask(5), about="a causal mask"),
        case(
            masked_softmax(2 * randn(2, 3, 4, 7, seed=2), torch.arange(7) < torch.tensor([5, 7])[:, None, None, None]),
            mask=torch.arange(7) < torch.tensor([5, 7])[:, None, None, None],
            about="a batch with heads and pads",
        ),
        case(torch.tensor([[[1.0, 0.0, 0.0], [0.0, 0.25, 0.75]]]), about="all weight on one key"),
        case(
            torch.tensor([[0.5, 0.5, 0.0, 0.0]]),
            mask=torch.tensor([[True, True, True, False]]),
            about="a key that may be seen and gets no weight",
        ),
    ],
    alternatives=(with_a_safe_logarithm,),
)
