"""Exercise: is it equivariant?"""

import torch

from course_lib.attention import scaled_dot_product_attention
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn


class Layer:
    """A function from vectors (batch, n, d) to vectors of the same shape, with a name that says what it does."""

    def __init__(self, name, f):
        self.name, self.f = name, f

    def __call__(self, x):
        return self.f(x)

    def __repr__(self):
        return f"<a layer: {self.name}>"


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


def with_a_permutation_matrix(f, x, order):
    p = torch.eye(len(order), dtype=x.dtype)[order]
    return torch.allclose(f(p @ x), p @ f(x), atol=1e-5)


def token_by_token(f, x, order):
    before, after = f(x), f(torch.stack([x[:, i] for i in order.tolist()], dim=1))
    return all(bool((after[:, new] - before[:, old]).abs().max() < 1e-5) for new, old in enumerate(order.tolist()))


def _attention(x):
    return scaled_dot_product_attention(x, x, x)[0]


def _turned(x):
    """Another function of the whole set for each token: attention whose queries are not symmetric to its keys."""
    return scaled_dot_product_attention(x.roll(1, dims=-1), x, 2 * x)[0]


def _plain_mean(x):
    return x.mean(dim=1, keepdim=True).expand_as(x)


def _around(x):
    return x + x.roll(1, dims=1) + x.roll(-1, dims=1)


def _one_way(x):
    return x + 2 * x.roll(1, dims=1)


def _causal(x):
    past = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
    return scaled_dot_product_attention(x, x, x, past)[0]


def _with_positions(x):
    return _attention(x + torch.linspace(0, 2, x.shape[1])[:, None])


def _sorted(x):
    return x.sort(dim=1).values


def _features_turned(x):
    return x.roll(1, dims=-1)


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


def _louder_by_the_first(x):
    return x + x[:, :1, :1].exp()


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
        return case(Layer(name, f), randn(*shape, seed=seed), order, about=name)

    return [
        layer("self-attention", _attention, 1, 5, 2, seed=0),
        layer("the same output whatever the order: sorted tokens", _sorted, 2, 5, 3, seed=1),
        layer("each token adds the one before it", _one_way, 2, 5, 3, seed=2),
        layer("each token adds both neighbors, in a circle", _around, 2, 5, 3, seed=3),
        layer("every token is given the mean", _plain_mean, 2, 5, 3, seed=4),
        layer("attention with a causal mask", _causal, 2, 4, 3, order=other, seed=5),
        layer("attention with positions added", _with_positions, 3, 4, 3, order=other, seed=6),
        layer("each token by itself, its features turned", _features_turned, 5, 5, 5, seed=7),
        layer("changes that cancel in the sum over tokens", _two_tokens_against_each_other, 2, 5, 3, seed=8),
        layer("the sentences of the batch are mixed", _sentences_mixed, 4, 4, 4, order=other, seed=9),
        layer("only the last sentence depends on the order", _only_last_sentence, 3, 5, 2, seed=10),
        layer("changes that cancel in the sum over features", _features_against_each_other, 2, 5, 3, seed=13),
        layer("every number grows with the first token", _louder_by_the_first, 1, 5, 3, seed=24),
        layer("the first token pushes two features apart", _all_hear_the_first, 2, 5, 3, seed=19),
        layer("the last token adds the first", _last_hears_first, 2, 5, 3, seed=15),
        layer("self-attention, and an order that swaps two tokens", _turned, 2, 4, 3, order=swap, seed=17),
        layer("each token by itself, and a little of its place", _a_little_by_place, 2, 5, 3, seed=18),
        layer("self-attention with other queries", _turned, 4, 4, 4, order=other, seed=11),
        layer("each token by itself, with rounding in the last digit", _with_rounding, 2, 5, 3, seed=12),
    ]


def _close(a, b):
    return torch.allclose(a, b, rtol=0, atol=1e-5)


EXERCISE = Exercise(
    title="Is it equivariant?",
    task="Return True if f gives shuffled outputs for shuffled tokens, else False: x and f(x) are (batch, n, d), and "
    "`order` is a permutation of the n tokens.",
    reference=is_equivariant,
    cases=_cases,
    mistakes=(
        Mistake(
            "tests-invariance",
            lambda f, x, order: _close(f(x[:, order]), f(x)),
            "That is a test for *invariance*: the same output as before. Equivariant outputs move along with their "
            "tokens. Where does the output of token `order[0]` stand now?",
        ),
        Mistake(
            "shuffled-to-the-wrong-side",
            lambda f, x, order: _close(f(x[:, order]), f(x)[:, order.argsort()]),
            "The outputs are compared in the *inverse* order. After `x[:, order]`, token `order[0]` stands first: "
            "where must its output stand?",
        ),
        Mistake(
            "one-input-only",
            lambda f, x, order: _close(f(x)[:, order], f(x)),
            "You compare the outputs of *one* sentence with themselves in another order. Two sentences are needed: f "
            "of the tokens as they stand, and f of the shuffled tokens.",
        ),
        Mistake(
            "compares-sorted-outputs",
            lambda f, x, order: _close(f(x[:, order]).sort(dim=1).values, f(x).sort(dim=1).values),
            "You compare the outputs as a set: the same numbers in *any* order will do. Each output must move with its "
            "own token.",
        ),
        Mistake(
            "shapes-only",
            lambda f, x, order: True,
            "Your answer is always True. Which layer here should fail? Compare the numbers, token by token.",
        ),
        Mistake(
            "differences-cancel",
            lambda f, x, order: bool((f(x[:, order]) - f(x)[:, order]).sum().abs() < 1e-5),
            "You add the differences up, and those above zero cancel those below. Take their absolute values first.",
        ),
        Mistake(
            "signed-differences-cancel",
            lambda f, x, order: bool((f(x[:, order]) - f(x)[:, order]).sum() < 1e-5),
            "You add the differences up, where those above zero cancel those below, and a sum below zero passes, too. "
            "Take their absolute values first.",
        ),
        Mistake(
            "tolerance-too-wide",
            lambda f, x, order: torch.allclose(f(x[:, order]), f(x)[:, order], rtol=0, atol=0.05),
            "Almost: your comparison lets real differences pass, here one of 0.003 for each place. Rounding is far "
            "smaller: allow 1e-5.",
        ),
        Mistake(
            "exact-equality",
            lambda f, x, order: torch.equal(f(x[:, order]), f(x)[:, order]),
            "Almost: sums in another order round differently in the last digit, so even attention fails an exact "
            "comparison. Allow a difference of 1e-5.",
        ),
        Mistake(
            "compares-the-sums",
            lambda f, x, order: _close(f(x[:, order]).sum(dim=1), f(x).sum(dim=1)),
            "The sum over the tokens may stay the same although the single outputs do not: changes can cancel. "
            "Compare token by token.",
        ),
        Mistake(
            "compares-the-means-of-features",
            lambda f, x, order: _close(f(x[:, order]).mean(dim=-1), f(x)[:, order].mean(dim=-1)),
            "You compare the mean over the features of each token, so changes that cancel within a token stay hidden.",
        ),
        Mistake(
            "shuffles-the-batch",
            lambda f, x, order: _close(f(x[order % len(x)]), f(x)[order % len(x)]),
            "You shuffle the sentences of the batch, axis 0. The tokens are axis 1.",
        ),
        Mistake(
            "shuffles-the-batch-out-of-bounds",
            lambda f, x, order: _close(f(x[order]), f(x)[order]),
            "Your `x[order]` shuffles the batch, axis 0, and there are fewer sentences than `order` names. Tokens are "
            "axis 1: `x[:, order]`.",
        ),
        Mistake(
            "shuffles-the-features-out-of-bounds",
            lambda f, x, order: _close(f(x[..., order]), f(x)[..., order]),
            "Your `x[..., order]` shuffles the features, the last axis, and there are fewer than `order` names. "
            "The tokens are axis 1: `x[:, order]`.",
        ),
        Mistake(
            "shuffles-the-features",
            lambda f, x, order: _close(f(x[..., order % x.shape[-1]]), f(x)[..., order % x.shape[-1]]),
            "You shuffle the features, the last axis. The tokens are axis 1.",
        ),
        Mistake(
            "flips-instead",
            lambda f, x, order: _close(f(x.flip(1)), f(x).flip(1)),
            "You reverse the tokens and do not use `order`. A layer that adds both neighbors passes that test, "
            "although it depends on the order.",
        ),
        Mistake(
            "turns-instead",
            lambda f, x, order: _close(f(x.roll(1, 1)), f(x).roll(1, 1)),
            "You move the tokens round in a circle and do not use `order`. A layer that adds neighbors in a circle "
            "passes that test.",
        ),
        Mistake(
            "first-sentence-only",
            lambda f, x, order: _close(f(x[:, order])[0], f(x)[0, order]),
            "You look at the first sentence of the batch alone.",
        ),
        Mistake(
            "turned-round",
            lambda f, x, order: not is_equivariant(f, x, order),
            "Your answers are all reversed: True means that the layer *is* equivariant.",
        ),
        Mistake(
            "any-token",
            lambda f, x, order: bool(((f(x[:, order]) - f(x)[:, order]).abs() < 1e-5).any()),
            "One number that agrees is not enough: *all* outputs must move along with their tokens.",
        ),
        Mistake(
            "signed-difference",
            lambda f, x, order: bool((f(x[:, order]) - f(x)[:, order]).max() < 1e-5),
            "You look at the largest *signed* difference, so that a negative one passes. Take the absolute value.",
        ),
    ),
    hints=(
        "Two ways lead from x to a result: first shuffle, then f; or first f, then shuffle. What must hold?",
        "`x[:, order]` shuffles the tokens. Outputs are shuffled in the same way, and a comparison of decimals needs a "
        "tolerance.",
        "`torch.allclose(f(x[:, order]), f(x)[:, order], atol=1e-5)`",
    ),
    alternatives=(by_shuffling_back, with_a_permutation_matrix, token_by_token),
    difficulty=2,
    minutes=10,
)
