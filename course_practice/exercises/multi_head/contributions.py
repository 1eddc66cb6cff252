import torch

from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import counting, randn


def head_contributions(heads, w_o):
    """What each head adds to the output: (batch, n_heads, q_len, d_model), and their sum is concat(heads) @ w_o.

    `heads` (batch, n_heads, q_len, d_v) are the results of the heads, `w_o` is (n_heads · d_v, d_model). Laid side by
    side, head i meets the rows i · d_v … (i + 1) · d_v of `w_o`, and no others.

    >>> heads, w_o = torch.tensor([[[[1.0]], [[10.0]]]]), torch.tensor([[2.0, 3.0], [4.0, 5.0]])
    >>> head_contributions(heads, w_o)[0, :, 0]    # rows: what head 0 writes, what head 1 writes
    tensor([[ 2.,  3.],
            [40., 50.]])
    """
    _, n_heads, _, d_v = heads.shape
    rows_of_each_head = w_o.reshape(n_heads, d_v, -1)
    return heads @ rows_of_each_head


def loop_over_rows(heads, w_o):
    n_heads, d_v = heads.shape[1], heads.shape[3]
    return torch.stack([heads[:, i] @ w_o[i * d_v : (i + 1) * d_v] for i in range(n_heads)], dim=1)


EXERCISE = Exercise(
    reference=head_contributions,
    cases=lambda: [
        case(torch.tensor([[[[1.0]], [[10.0]]]]), torch.tensor([[2.0, 3.0], [4.0, 5.0]]), about="two heads, one token"),
        case(counting(1, 2, 1, 2) + 1, randn(4, 4, seed=1), about="two heads of two features"),
        case(randn(2, 3, 5, 7, seed=2), randn(21, 21, seed=3), about="all sizes different"),
        case(randn(3, 3, 3, 3, seed=4), randn(9, 9, seed=5), about="as many heads as features"),
        case(randn(3, 3, 3, 1, seed=8), randn(3, 3, seed=9), about="all sizes equal"),
        case(randn(2, 4, 3, 2, seed=6), randn(8, 5, seed=7), about="an output narrower than the heads together"),
    ],
    alternatives=(loop_over_rows,),
)
