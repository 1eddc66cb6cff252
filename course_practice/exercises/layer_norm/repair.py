"""Exercise: bug hunt: four bugs in a pre-norm stack."""

import torch
from torch.nn import functional as F

from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.half_repaired import half_repaired
from course_practice.exercises.inputs import randn
from course_practice.exercises.layer_norm.residual import Named


def pre_norm_stack(x, sublayers):
    """A pre-norm stack: each of the functions `sublayers` reads the normalized stream; gains are 1, biases 0."""

    def norm(x):
        mean = x.mean(dim=-1, keepdim=True)
        variance = x.var(dim=-1, keepdim=True, unbiased=False)
        return (x - mean) / (variance + 1e-5).sqrt()

    for f in sublayers:
        x = x + f(norm(x))
    return norm(x)


def pre_norm_stack_starter(x, sublayers):
    def norm(x):
        mean = x.mean(dim=1, keepdim=True)
        variance = x.var(dim=-1, keepdim=True)
        return (x - mean) / (variance + 1e-5).sqrt()

    for f in sublayers:
        x = norm(x)
        x = x + f(x)
    return x


def with_pytorchs_function(x, sublayers):
    for f in sublayers:
        x = x + f(F.layer_norm(x, x.shape[-1:]))
    return F.layer_norm(x, x.shape[-1:])


def with_another_name(x, sublayers):
    def norm(x):
        variance, mean = torch.var_mean(x, dim=2, keepdim=True, correction=0)
        return (x - mean) * torch.rsqrt(variance + 1e-5)

    for f in sublayers:
        y = norm(x)
        x = x + f(y)
    return norm(x)


def with_centered_squares(x, sublayers):
    def norm(x):
        x = x - x.mean(-1, keepdim=True)
        return x / (x.pow(2).mean(-1, keepdim=True) + 1e-5) ** 0.5

    stream = x
    for sublayer in sublayers:
        stream = stream + sublayer(norm(stream))
    return norm(stream)


def _norm(x, dim, correction):
    variance = x.var(dim=-1, keepdim=True, correction=correction)
    return (x - x.mean(dim=dim, keepdim=True)) / (variance + 1e-5).sqrt()


def _stack(axis=False, unbiased=False, normalized=False, last=False):
    """The repaired listing with some of its bugs left in."""

    def norm(x):
        return _norm(x, 1 if axis else -1, int(unbiased))

    def repaired(x, sublayers):
        for f in sublayers:
            y = norm(x)
            x = (y if normalized else x) + f(y)
        return x if last else norm(x)

    return repaired


# What to say about each bug that is left.
_LEFT = {
    "axis": "which tokens does the mean of one token depend on?",
    "unbiased": "by what does `var` divide, if you do not say?",
    "normalized": "if every f gave zeros, what would arrive at the end of the loop?",
    "last": "what size has the stream that you return after many layers?",
}


def _post_norm(x, sublayers):
    for f in sublayers:
        x = _norm(x + f(x), -1, 0)
    return x


def _both_norms(x, sublayers):
    for f in sublayers:
        x = _norm(x + f(_norm(x, -1, 0)), -1, 0)
    return x


def _no_residual(x, sublayers):
    for f in sublayers:
        x = f(_norm(x, -1, 0))
    return _norm(x, -1, 0)


def _whole_sentence(x, sublayers):
    def norm(x):
        return F.layer_norm(x, x.shape[1:])

    for f in sublayers:
        x = x + f(norm(x))
    return norm(x)


def _over_the_tokens(x, sublayers):
    def norm(x):
        variance, mean = torch.var_mean(x, dim=1, keepdim=True, correction=0)
        return (x - mean) / (variance + 1e-5).sqrt()

    for f in sublayers:
        x = x + f(norm(x))
    return norm(x)


def _eps_outside(x, sublayers):
    def norm(x):
        return (x - x.mean(dim=-1, keepdim=True)) / (x.std(dim=-1, keepdim=True, correction=0) + 1e-5)

    for f in sublayers:
        x = x + f(norm(x))
    return norm(x)


def _reads_the_input(x, sublayers):
    y = _norm(x, -1, 0)
    for f in sublayers:
        x = x + f(y)
    return _norm(x, -1, 0)


def _adds_to_the_input(x, sublayers):
    y = x
    for f in sublayers:
        y = x + f(_norm(y, -1, 0))
    return _norm(y, -1, 0)


def _cases():
    def mixes(d, seed):
        weight = randn(d, d, seed=seed)
        return Named("a linear layer and a tanh", lambda y: 2 * torch.tanh(y @ weight) + 0.5)

    adds = Named("adds (-2, 2, 4, 0)", lambda y: y + torch.tensor([-2.0, 2.0, 4.0, 0.0]))
    zeros, reverse = Named("zeros", torch.zeros_like), Named("reverses the tokens", lambda y: 3 * y.flip(1) + 1)
    return [
        case(torch.tensor([[[1.0, 3.0, 1.0, 3.0], [0.0, 8.0, 6.0, 6.0]]]), [adds], about="one layer"),
        case(3 * randn(2, 3, 4, seed=1) + 1, [zeros, zeros], about="two layers that add nothing"),
        case(2 * randn(2, 3, 5, seed=2) - 1, [mixes(5, 3), mixes(5, 4)], about="all sizes different"),
        case(randn(3, 3, 3, seed=5) + 2, [mixes(3, 6), reverse], about="all sizes equal"),
        case(randn(1, 4, 6, seed=7), [mixes(6, 8), reverse, mixes(6, 9)], about="three layers"),
        case(0.01 * randn(1, 3, 4, seed=10), [zeros], about="small numbers, and a layer that adds nothing"),
    ]


EXERCISE = Exercise(
    title="Bug hunt: four bugs in a pre-norm stack",
    task="Find the four bugs, so that each function reads the normalized stream and the stack ends with a norm.",
    reference=pre_norm_stack,
    starter=pre_norm_stack_starter,
    cases=_cases,
    mistakes=(
        *half_repaired(_LEFT, _stack),
        Mistake(
            "post-norm",
            _post_norm,
            "That is a right post-norm stack. Here each function reads the normalized stream, and the sum is left as "
            "it is: pre-norm.",
        ),
        Mistake(
            "norm-on-both-sides",
            _both_norms,
            "The sum is normalized in every layer as well. In a pre-norm stack it is left as it is, and there is one "
            "norm at the end.",
        ),
        Mistake(
            "no-residual",
            _no_residual,
            "The norm is right now, but the stream is no longer added: each layer must return x + f(norm(x)).",
        ),
        Mistake(
            "reads-the-input",
            _reads_the_input,
            "The norm is right now, but every function reads the same normalized input. Each reads the stream as the "
            "one before it left it.",
        ),
        Mistake(
            "adds-to-the-input",
            _adds_to_the_input,
            "The norm is right now, but every function adds to the *input*, so what the ones before it added is lost. "
            "Add to the stream.",
        ),
        Mistake(
            "over-the-tokens",
            _over_the_tokens,
            "The structure is right. Mean and variance both run over the tokens of a sentence now; each token has its "
            "own, over its features.",
        ),
        Mistake(
            "over-the-sentence",
            _whole_sentence,
            "The structure is right. Mean and variance run over all the tokens of a sentence together; each token has "
            "its own.",
        ),
        Mistake(
            "eps-outside-the-root",
            _eps_outside,
            "All four are found, but ε has moved: it is added to the root, and the listing had it under the root. "
            "Where the numbers are small, that is another result.",
        ),
    ),
    hints=(
        "Check the norm alone first: normalize (1, 3, 1, 3) and (0, 8, 6, 6) by hand and with the listing. Then let "
        "every function give zeros, and look at what comes out.",
        "Two bugs are in the norm (along which axis, and divided by what?), one is in the loop (what is added?), and "
        "one stands behind it.",
        "`dim=-1` and `unbiased=False` in the norm, `x = x + f(norm(x))` in the loop, and one more call of `norm`.",
    ),
    alternatives=(with_pytorchs_function, with_another_name, with_centered_squares),
    difficulty=3,
    minutes=15,
)
