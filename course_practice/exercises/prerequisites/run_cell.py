import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def run_cell(x, w_x, w_h):
    """The states (seq_len, d) of a recurrent cell that reads x (seq_len, d_x) and begins with a state of zeros.

    >>> run_cell(torch.tensor([[1.0], [0.0]]), torch.tensor([[1.0]]), torch.tensor([[1.0]]))
    tensor([[0.7616],
            [0.6420]])
    """
    state = torch.zeros(w_h.shape[0])
    states = []
    for word in x:
        state = torch.tanh(word @ w_x + state @ w_h)
        states.append(state)
    return torch.stack(states)


def into_a_table(x, w_x, w_h):
    proposed = x @ w_x
    states = torch.zeros_like(proposed)
    for t in range(len(x)):
        before = states[t - 1] @ w_h if t > 0 else 0.0
        states[t] = torch.tanh(proposed[t] + before)
    return states


def _cell(seq_len, d_x, d, about, seed=0):
    w_x, w_h = randn(d_x, d, seed=seed + 1, scale=0.7), randn(d, d, seed=seed + 2, scale=0.7)
    return case(randn(seq_len, d_x, seed=seed), w_x, w_h, about=about)


EXERCISE = Exercise(
    reference=run_cell,
    cases=lambda: [
        case(torch.tensor([[1.0], [0.0]]), torch.tensor([[1.0]]), torch.tensor([[1.0]]), about="two words, one number"),
        _cell(4, 2, 3, "all sizes different", seed=1),
        _cell(2, 5, 3, "a short sentence", seed=4),
        _cell(3, 3, 3, "all sizes equal", seed=7),
        _cell(1, 2, 3, "a single word", seed=10),
    ],
    alternatives=(into_a_table,),
)
