import torch

from course_lib.attention import scaled_dot_product_attention
from course_practice.engine import Exercise
from course_practice.exercises.image_attention._inputs import cases
from course_practice.exercises.image_attention.repair import repaired_block


def block(x, w_q, w_k, w_v, w_o, gamma):
    """x + γ · attention over its pixels, for x (batch, channels, height, width).

    w_q, w_k (channels, d_k), w_v (channels, d_v), w_o (d_v, channels)

    >>> x, one = torch.ones(1, 1, 2, 3), torch.ones(1, 1)
    >>> block(x, one, one, one, 2 * one, 0.5)
    tensor([[[[2., 2., 2.],
              [2., 2., 2.]]]])
    """
    tokens = x.flatten(start_dim=2).mT
    mixed, _weights = scaled_dot_product_attention(tokens @ w_q, tokens @ w_k, tokens @ w_v)
    image = (mixed @ w_o).mT.unflatten(2, x.shape[2:])
    return x + gamma * image


def with_einsum(x, w_q, w_k, w_v, w_o, gamma):
    q, k, v = (torch.einsum("bchw,cd->bhwd", x, w) for w in (w_q, w_k, w_v))
    scores = torch.einsum("bijd,bkld->bijkl", q, k) / w_q.shape[1] ** 0.5
    weights = scores.flatten(3).softmax(dim=-1).view(scores.shape)
    return x + gamma * torch.einsum("bijkl,bkld,dc->bcij", weights, v, w_o)


EXERCISE = Exercise(reference=block, cases=cases, alternatives=(with_einsum, repaired_block), trained=("x",))
