import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    """The new weights and the new averages; `step` is counted from 1."""
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad**2
    m_hat = m / (1 - beta1**step)
    v_hat = v / (1 - beta2**step)
    return p - rate * m_hat / (v_hat.sqrt() + eps), m, v


def corrections_in_the_rate(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    m, v = m.lerp(grad, 1 - beta1), v.lerp(grad.square(), 1 - beta2)
    root = (1 - beta2**step) ** 0.5
    return p - rate * root / (1 - beta1**step) * m / (v.sqrt() + eps * root), m, v


def _cases():
    def of(*numbers):
        """Tensors of one number each. No two are the same object, or writing into one would change another."""
        return [torch.tensor([number]) for number in numbers]

    half = {"beta1": 0.5, "beta2": 0.5, "eps": 0.0}
    return [
        case(*of(0.0, 5.0, 0.0, 0.0), 1, 1.0, **half, about="the first gradient, 5"),
        case(*of(-1.0, -1.0, 2.5, 12.5), 2, 1.0, **half, about="the second, −1"),
        case(*of(-4 / 3, 3.0, 0.75, 6.75), 3, 1.0, **half, about="the third, 3"),
        case(randn(3), randn(3, seed=1), 0 * randn(3), 0 * randn(3), 1, 0.1, about="the first update"),
        case(*(randn(2, 3, seed=s) for s in (2, 3, 4)), randn(2, 3, seed=5) ** 2, 7, 0.1, about="a matrix, update 7"),
        case(randn(3), randn(3, seed=6), randn(3, seed=7), randn(3, seed=8) ** 2, 500, 0.01, about="update 500"),
        case(randn(3), randn(3, seed=9), randn(3), randn(3) ** 2, 2, 1.0, 0.5, 0.75, 4.0, about="a large eps"),
    ]


EXERCISE = Exercise(reference=adam_step, cases=_cases, alternatives=(corrections_in_the_rate,))
