"""Exercise: one step of Adam."""

import torch

from course_practice.engine import Convention, Exercise, Mistake, case
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


def with_pytorchs_optimizer(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    weight = p.clone().requires_grad_()
    weight.grad = grad.clone()
    optimizer = torch.optim.Adam([weight], lr=rate, betas=(beta1, beta2), eps=eps)
    optimizer.state[weight] = {"step": torch.tensor(float(step - 1)), "exp_avg": m.clone(), "exp_avg_sq": v.clone()}
    optimizer.step()
    return weight, optimizer.state[weight]["exp_avg"], optimizer.state[weight]["exp_avg_sq"]


def by_differences(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    new_m = m + (1 - beta1) * (grad - m)
    new_v = v - (1 - beta2) * (v - grad * grad)
    direction = new_m / (1 - beta1**step)
    size = torch.sqrt(new_v / (1 - beta2**step))
    return p - rate * direction / (size + eps), new_m, new_v


def _adam(
    first=lambda m, g, b: b * m + (1 - b) * g,
    second=lambda v, g, b: b * v + (1 - b) * g**2,
    correct=lambda b, step: 1 - b**step,
    correct_second=None,
    size=lambda v_hat, eps: v_hat.sqrt() + eps,
    keep=lambda averages, corrected: averages,
    same_beta=False,
    sign=-1.0,
):
    """A step of Adam with one of its parts exchanged."""

    def answer(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
        beta2 = beta1 if same_beta else beta2
        m, v = first(m, grad, beta1), second(v, grad, beta2)
        m_hat, v_hat = m / correct(beta1, step), v / (correct_second or correct)(beta2, step)
        return p + sign * rate * m_hat / size(v_hat, eps), *keep((m, v), (m_hat, v_hat))

    return answer


def _old_averages(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    _, new_m, new_v = adam_step(p, grad, m, v, step, rate, beta1, beta2, eps)
    seen = max(step - 1, 1)
    m_hat, v_hat = m / (1 - beta1**seen), v / (1 - beta2**seen)
    return p - rate * m_hat / (v_hat.sqrt() + eps), new_m, new_v


def _old_averages_corrected(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    _, new_m, new_v = adam_step(p, grad, m, v, step, rate, beta1, beta2, eps)
    m_hat, v_hat = m / (1 - beta1**step), v / (1 - beta2**step)
    return p - rate * m_hat / (v_hat.sqrt() + eps), new_m, new_v


def _gradient_over_size(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    _, new_m, new_v = adam_step(p, grad, m, v, step, rate, beta1, beta2, eps)
    return p - rate * grad / ((new_v / (1 - beta2**step)).sqrt() + eps), new_m, new_v


def _uncorrected_root(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    _, m, v = adam_step(p, grad, m, v, step, rate, beta1, beta2, eps)
    return p - rate * (1 - beta2**step) ** 0.5 / (1 - beta1**step) * m / (v.sqrt() + eps), m, v


def _average_squared(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * m**2
    return p - rate * m / (1 - beta1**step) / ((v / (1 - beta2**step)).sqrt() + eps), m, v


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
        case(
            randn(2, 3, seed=2),
            randn(2, 3, seed=3),
            randn(2, 3, seed=4),
            randn(2, 3, seed=5) ** 2,
            7,
            0.1,
            about="a matrix, update 7",
        ),
        case(randn(3), randn(3, seed=6), randn(3, seed=7), randn(3, seed=8) ** 2, 500, 0.01, about="update 500"),
        case(randn(3), randn(3, seed=9), randn(3), randn(3) ** 2, 2, 1.0, 0.5, 0.75, 4.0, about="a large eps"),
    ]


EXERCISE = Exercise(
    title="One step of Adam",
    task="Return the new weights and the two new averages (p, m, v) for a gradient, as new tensors: the given ones "
    "stay as they are. `step` is counted from 1.",
    reference=adam_step,
    cases=_cases,
    mistakes=(
        Mistake(
            "power-of-the-difference",
            _adam(correct=lambda b, step: (1 - b) ** step),
            "You correct by (1 − β)^t, which soon is nearly 0. It is 1 − β^t: the power belongs to β alone.",
        ),
        Mistake(
            "no-correction",
            _adam(correct=lambda b, step: 1.0),
            "The averages are right, and the step uses them as they are. They began at 0: divide m by 1 − β₁^step and "
            "v by 1 − β₂^step first.",
        ),
        Mistake(
            "corrected-averages-kept",
            _adam(keep=lambda averages, corrected: corrected),
            "The weights are right, but you hand back the *corrected* averages. They would be corrected again in the "
            "next step: return m and v themselves.",
        ),
        Mistake(
            "corrected-one-update-late",
            _adam(correct=lambda b, step: 1 - b ** (step + 1)),
            "Your corrections use step + 1. `step` counts from 1 already.",
        ),
        Mistake(
            "corrected-without-the-power",
            _adam(correct=lambda b, step: 1 - b),
            "Right in the first update. Later the averages need less correction: the power of β grows with `step`.",
        ),
        Mistake(
            "product-for-power",
            _adam(correct=lambda b, step: 1 - b * step if b * step != 1 else 0.0),
            "Your correction multiplies β by `step`. It is a power: `beta ** step`.",
        ),
        Mistake(
            "only-m-corrected",
            _adam(correct_second=lambda b, step: 1.0),
            "Only m is corrected, not v, so that the first steps come out too long.",
        ),
        Mistake(
            "only-v-corrected",
            _adam(correct=lambda b, step: 1.0, correct_second=lambda b, step: 1 - b**step),
            "Only v is corrected, not m, so that the first steps come out too short.",
        ),
        Mistake(
            "eps-under-the-root",
            _adam(size=lambda v_hat, eps: (v_hat + eps).sqrt()),
            "Right while eps is tiny. One case has a large one: it is added to the root, not under it.",
        ),
        Mistake(
            "eps-left-out",
            _adam(size=lambda v_hat, eps: v_hat.sqrt()),
            "Right while eps is tiny. Add it to the root: without it, a weight that never had a gradient gives 0 / 0.",
        ),
        Mistake(
            "no-root",
            _adam(size=lambda v_hat, eps: v_hat + eps),
            "You divide by the mean square itself. Its root has the unit of a gradient: then multiplying all gradients "
            "by 1,000 changes nothing.",
        ),
        Convention(
            "eps-beside-the-uncorrected-root",
            _uncorrected_root,
            "Valid in the shorter form at the end of the paper's section 2, whose ε is another one. Here ε is added to "
            "the root of the *corrected* v.",
        ),
        Mistake(
            "one-beta-for-both",
            _adam(same_beta=True),
            "The average of the squares uses beta1, in the average and in its correction. It has a β of its own.",
        ),
        Mistake(
            "shares-exchanged",
            _adam(
                first=lambda m, g, b: (1 - b) * m + b * g,
                second=lambda v, g, b: (1 - b) * v + b * g**2,
            ),
            "Your averages forget almost everything in each update. The old average keeps the share β, and the new "
            "gradient gets 1 − β.",
        ),
        Mistake(
            "new-gradient-at-full-weight",
            _adam(first=lambda m, g, b: b * m + g),
            "Your m is momentum as SGD has it: the new gradient counts in full. Here m is an average, so the gradient "
            "gets the share 1 − β₁.",
        ),
        Mistake(
            "not-squared",
            _adam(second=lambda v, g, b: b * v + (1 - b) * g, size=lambda v_hat, eps: v_hat.abs().sqrt() + eps),
            "Your v averages the gradients themselves. It averages their squares.",
        ),
        Mistake(
            "average-squared",
            _average_squared,
            "Your v takes in the square of m. It averages the squares of the gradients.",
        ),
        Mistake(
            "uphill",
            _adam(sign=1.0),
            "Your weights move up the gradient. The step is subtracted.",
        ),
        Mistake(
            "step-of-the-old-averages",
            _old_averages,
            "The averages are right, but the weights move by the old ones. Update m and v first, then the weights.",
        ),
        Mistake(
            "old-averages-corrected",
            _old_averages_corrected,
            "You correct the averages of *before* this gradient, which are 0 in the first update. Update m and v "
            "first, and correct those.",
        ),
        Mistake(
            "betas-exchanged",
            lambda p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9: adam_step(
                p, grad, m, v, step, rate, beta2, beta1, eps
            ),
            "The two β have changed places: beta1 belongs to m, and beta2 to v.",
        ),
        Mistake(
            "betas-fixed",
            lambda p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9: adam_step(
                p, grad, m, v, step, rate, eps=eps
            ),
            "Right for β₁ = 0.9 and β₂ = 0.98. With others, your averages do not change: use `beta1` and `beta2`.",
        ),
        Mistake(
            "weights-alone",
            lambda *args, **kwargs: adam_step(*args, **kwargs)[0],
            "The weights are right. Return both averages, too, because the next update needs them: p, m, v.",
        ),
        Mistake(
            "weights-last",
            lambda *args, **kwargs: tuple(adam_step(*args, **kwargs)[i] for i in (1, 2, 0)),
            "The numbers are right, but they stand in another order. Return p, m, v.",
        ),
        Mistake(
            "gradient-instead-of-m",
            _gradient_over_size,
            "Your step divides the gradient itself by the root. Above the line belongs its average m, corrected.",
        ),
        Mistake(
            "averages-in-the-wrong-order",
            lambda *args, **kwargs: tuple(adam_step(*args, **kwargs)[i] for i in (0, 2, 1)),
            "The numbers are right, but m and v have changed places. Return p, m, v.",
        ),
        Mistake(
            "step-returned-alone",
            lambda p, *args, **kwargs: (p - adam_step(p, *args, **kwargs)[0], *adam_step(p, *args, **kwargs)[1:]),
            "You return by how much the weights move. Subtract it from p, and return the new weights.",
        ),
    ),
    hints=(
        "Four lines: two averages, two corrections, and the step. Which of them does the next update need again?",
        "`m = beta1 * m + (1 - beta1) * grad`, and the same for v with beta2 and the squared gradient. Then divide "
        "each by 1 − β^step, under new names.",
        "`return p - rate * m_hat / (v_hat.sqrt() + eps), m, v`",
    ),
    alternatives=(corrections_in_the_rate, by_differences, with_pytorchs_optimizer),
    difficulty=2,
    minutes=12,
)
