import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def clip(grads, most):
    """The gradients, scaled by one factor so that the norm of all of them together is at most `most`."""
    norm = torch.sqrt(sum(grad.square().sum() for grad in grads))
    factor = min(1.0, most / norm)
    return tuple(factor * grad for grad in grads)


def as_one_vector(grads, most):
    norm = torch.cat([grad.flatten() for grad in grads]).norm().item()
    return [grad * (most / norm) if norm > most else grad.clone() for grad in grads]


def _cases():
    return [
        case([torch.tensor([2.0]), torch.tensor([3.0, 6.0])], 1.0, about="norm 7, to 1"),
        case([torch.tensor([2.0]), torch.tensor([3.0, 6.0])], 8.0, about="norm 7, at most 8"),
        case([torch.tensor([2.0]), torch.tensor([3.0, 6.0])], 7.0, about="exactly as large as allowed"),
        case([torch.tensor([0.3, 0.4])], 0.25, about="norm ½, to ¼"),
        case([torch.tensor([0.3, 0.4])], 1.0, about="norm ½, at most 1"),
        case([randn(3, 5, seed=1), randn(5, seed=2), randn(2, 2, 2, seed=3)], 1.5, about="three tensors"),
        case([torch.tensor([-3.0]), torch.tensor([0.0, -4.0])], 1.0, about="negative gradients"),
        case([torch.tensor([1e3, 2e3]), torch.tensor([2e3])], 1.0, about="one spoiled batch"),
        case([torch.zeros(2), torch.zeros(3)], 1.0, about="nothing to learn: all gradients are 0"),
    ]


EXERCISE = Exercise(reference=clip, cases=_cases, alternatives=(as_one_vector,))
