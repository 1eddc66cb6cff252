import copy

import torch

from course_lib.multi_head import MultiHeadAttention
from course_practice.assembly.modules import module_of
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def without_head(attention, head):
    """A copy of a MultiHeadAttention in which one head adds nothing to the output.

    Head i writes through the columns i · d_k … (i + 1) · d_k of `w_o.weight`, which nn.Linear stores transposed.

    >>> attention, x = MultiHeadAttention(d_model=4, n_heads=1), torch.randn(1, 3, 4)
    >>> output, _ = without_head(attention, head=0)(x, x, x)
    >>> torch.equal(output, attention.w_o.bias.expand(1, 3, 4))
    True
    """
    changed = copy.deepcopy(attention)
    d_k = changed.w_o.weight.shape[1] // changed.n_heads
    with torch.no_grad():
        changed.w_o.weight[:, head * d_k : (head + 1) * d_k] = 0.0
    return changed


def no_values_at_all(attention, head):
    new = copy.deepcopy(attention)
    width = new.w_v.out_features // new.n_heads
    rows = slice(head * width, (head + 1) * width)
    new.w_v.weight.data[rows] = 0
    new.w_v.bias.data[rows] = 0
    return new


def _made(d_model, n_heads, seed):
    attention = MultiHeadAttention(d_model, n_heads)
    with torch.no_grad():
        for number, parameter in enumerate(attention.parameters()):
            parameter.copy_(randn(*parameter.shape, seed=seed + number) / d_model**0.5)
    return attention


@torch.no_grad()
def _both_outputs(obj, given):
    """The output of what was made, then that of the module it was made from."""
    d_model, n_heads, head = given.args
    x, y = randn(2, 3, d_model, seed=1), randn(2, 5, d_model, seed=2)
    attention = _made(d_model, n_heads, seed=10)
    with torch.enable_grad():  # as in a notebook
        made = obj(attention, head)
    if made is None:
        return None
    if not callable(made) or isinstance(made, type):
        module_of(made)
    silent = made(x, y, y)
    return (silent[0] if isinstance(silent, tuple) else silent), attention(x, y, y)[0]


EXERCISE = Exercise(
    reference=without_head,
    call=_both_outputs,
    cases=lambda: [
        case(4, 2, 0, about="two heads, the first one silent"),
        case(6, 2, 1, about="two heads of three features, the last one silent"),
        case(12, 3, 1, about="three heads of four features, the middle one silent"),
        case(9, 3, 2, about="as many heads as features"),
        case(5, 1, 0, about="the only head"),
        case(10, 5, 3, about="five heads of two features"),
    ],
    alternatives=(no_values_at_all,),
)
