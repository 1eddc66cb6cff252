import torch

from course_lib.attention import scaled_dot_product_attention
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn
from course_practice.exercises.layer_norm.residual import Named


def is_equivariant(f, x, order):
    """Does f give shuffled outputs for shuffled tokens? x, f(x): (batch, n, d).

    >>> x, order = torch.randn(1, 3, 2), torch.tensor([2, 0, 1])
    >>> is_equivariant(torch.tanh, x, order)
    True
    >>> is_equivariant(lambda x: x.cumsum(dim=1), x, order)
    False
    """
    return torch.allclose(f(x[:, order]), f(x)[:, order], rtol=0, atol=1e-5)


def by_shuffling_back(f, x, order):
    back = order.argsort()
    return bool((f(x[:, order])[:, back] - f(x)).abs().max() < 1e-5)


def _attention(x):
    return scaled_dot_product_attention(x, x, x)[0]


def _turned(x):
    """Another function of the whole set for each token: attention whose queries are not symmetric to its keys."""
    return scaled_dot_product_attention(x.roll(1, dims=-1), x, 2 * x)[0]


def _around(x):
    return x + x.roll(1, dims=1) + x.roll(-1, dims=1)


def _causal(x):
    past = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
    return scaled_dot_product_attention(x, x, x, past)[0]


def _with_positions(x):
    return _attention(x + torch.linspace(0, 2, x.shape[1])[:, None])


def _two_tokens_against_each_other(x):
    sign = torch.linspace(-1, 1, x.shape[1])[:, None]
    return x + sign * x.mean(dim=1, keepdim=True)


def _sentences_mixed(x):
    return x + 0.5 * x.roll(1, dims=0)


def _only_last_sentence(x):
    return torch.cat([x[:-1], x[-1:].cumsum(dim=1)])


def _features_against_each_other(x):
    place = torch.arange(x.shape[1])[:, None]
    return x + place * torch.tensor([1.0, -1.0, 0.0])


def _all_hear_the_first(x):
    return x + x[:, :1, :1] * torch.tensor([1.0, -1.0, 0.0])


def _last_hears_first(x):
    is_last = torch.arange(x.shape[1])[:, None] == x.shape[1] - 1
    return x + is_last * x[:, :1]


def _a_little_by_place(x):
    return x + 0.003 * torch.arange(x.shape[1])[:, None]


def _with_rounding(x):
    return x + 1e-7 * torch.arange(x.shape[1])[:, None]


def _cases():
    order, other, swap = torch.tensor([2, 0, 4, 1, 3]), torch.tensor([1, 3, 0, 2]), torch.tensor([0, 2, 1, 3])

    def layer(name, f, *shape, order=order, seed):
        return case(Named(f"a layer: {name}", f), randn(*shape, seed=seed), order, about=name)

    return [
        layer("self-attention", _attention, 1, 5, 2, seed=0),
        layer("the same output whatever the order: sorted tokens", lambda x: x.sort(dim=1).values, 2, 5, 3, seed=1),
        layer("each token adds the one before it", lambda x: x + 2 * x.roll(1, dims=1), 2, 5, 3, seed=2),
        layer("each token adds both neighbors, in a circle", _around, 2, 5, 3, seed=3),
        layer("every token is given the mean", lambda x: x.mean(dim=1, keepdim=True).expand_as(x), 2, 5, 3, seed=4),
        layer("attention with a causal mask", _causal, 2, 4, 3, order=other, seed=5),
        layer("attention with positions added", _with_positions, 3, 4, 3, order=other, seed=6),
        layer("each token by itself, its features turned", lambda x: x.roll(1, dims=-1), 5, 5, 5, seed=7),
        layer("changes that cancel in the sum over tokens", _two_tokens_against_each_other, 2, 5, 3, seed=8),
        layer("the sentences of the batch are mixed", _sentences_mixed, 4, 4, 4, order=other, seed=9),
        layer("only the last sentence depends on the order", _only_last_sentence, 3, 5, 2, seed=10),
        layer("changes that cancel in the sum over features", _features_against_each_other, 2, 5, 3, seed=13),
        layer("every number grows with the first token", lambda x: x + x[:, :1, :1].exp(), 1, 5, 3, seed=24),
        layer("the first token pushes two features apart", _all_hear_the_first, 2, 5, 3, seed=19),
        layer("the last token adds the first", _last_hears_first, 2, 5, 3, seed=15),
        layer("self-attention, and an order that swaps two tokens", _turned, 2, 4, 3, order=swap, seed=17),
        layer("each token by itself, and a little of its place", _a_little_by_place, 2, 5, 3, seed=18),
        layer("self-attention with other queries", _turned, 4, 4, 4, order=other, seed=11),
        layer("each token by itself, with rounding in the last digit", _with_rounding, 2, 5, 3, seed=12),
    ]


EXERCISE = Exercise(reference=is_equivariant, cases=_cases, alternatives=(by_shuffling_back,))
