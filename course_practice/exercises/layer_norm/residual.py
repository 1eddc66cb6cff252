"""Exercise: one step of the residual stream, with the norm before or after."""

import torch
from torch.nn import functional as F

from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn


class Named:
    """A function of a tensor, with a name that a message can show."""

    def __init__(self, name, f):
        self.name, self.f = name, f

    def __call__(self, x):
        return self.f(x)

    def __repr__(self):
        return f"<{self.name}>"


def residual(x, f, norm, norm_first):
    """One step of the stream: x + f(norm(x)) with the norm first (pre-norm), else norm(x + f(x)) (post-norm).

    >>> residual(torch.tensor([1.0, 3.0]), lambda y: 10 * y, norm=lambda y: y - y.mean(), norm_first=True)
    tensor([-9., 13.])
    """
    if norm_first:
        return x + f(norm(x))
    return norm(x + f(x))


def in_one_line(x, f, norm, norm_first):
    return x + f(norm(x)) if norm_first else norm(x + f(x))


def with_steps(x, f, norm, norm_first):
    stream = x
    y = norm(stream) if norm_first else stream
    y = torch.add(stream, f(y))
    return y if norm_first else norm(y)


def with_choices(x, f, norm, norm_first):
    def same(y):
        return y

    before, after = (norm, same) if norm_first else (same, norm)
    return after(f(before(x)) + x)


def _of(pre=lambda x, f, norm: x + f(norm(x)), post=lambda x, f, norm: norm(x + f(x))):
    return lambda x, f, norm, norm_first: (pre if norm_first else post)(x, f, norm)


def _both(step):
    return _of(step, step)


def _layer_norm(x):
    return F.layer_norm(x, x.shape[-1:])


def _cases():
    norm = Named("layer norm", _layer_norm)
    by_hand = torch.tensor([[1.0, 3.0, 1.0, 3.0]])
    adds = Named("adds (-2, 2, 4, 0)", lambda y: y + torch.tensor([-2.0, 2.0, 4.0, 0.0]))
    ten, silent = Named("10 times", lambda y: 10 * y), Named("zeros", torch.zeros_like)
    shift = Named("halves and adds 1", lambda y: y / 2 + 1)
    weight = randn(5, 5, seed=1)
    bent = Named("a linear layer and a tanh", lambda y: torch.tanh(y @ weight))
    reverse = Named("reverses the tokens", lambda y: 3 * y.flip(1) + 1)
    found = []
    for norm_first in (True, False):
        where = "norm first" if norm_first else "norm after"
        found += [
            case(by_hand, adds, norm, norm_first, about=f"by hand, {where}"),
            case(by_hand * 2, ten, norm, norm_first, about=f"f multiplies by 10, {where}"),
            case(3 * randn(2, 3, 4, seed=2) + 1, silent, norm, norm_first, about=f"f gives zeros, {where}"),
            case(2 * randn(2, 3, 5, seed=3) + 1, bent, norm, norm_first, about=f"all sizes different, {where}"),
            case(randn(4, 4, 4, seed=4) + 2, reverse, norm, norm_first, about=f"all sizes equal, {where}"),
            case(randn(2, 3, seed=5) + 2, ten, shift, norm_first, about=f"another norm, {where}"),
        ]
    return found


EXERCISE = Exercise(
    title="One step of the stream",
    task="Return x + f(norm(x)) where `norm_first` is True, else norm(x + f(x)).",
    reference=residual,
    cases=_cases,
    mistakes=(
        Mistake(
            "exchanged",
            lambda x, f, norm, norm_first: residual(x, f, norm, not norm_first),
            "Both ways are right, but exchanged. With `norm_first` the norm comes before f.",
        ),
        Mistake(
            "always-first",
            _both(lambda x, f, norm: x + f(norm(x))),
            "Right for `norm_first=True`. The other way gives the same in your answer: there the norm comes after "
            "the sum.",
        ),
        Mistake(
            "always-after",
            _both(lambda x, f, norm: norm(x + f(x))),
            "Right for `norm_first=False`. The other way gives the same in your answer: there f alone sees the "
            "normalized x.",
        ),
        Mistake(
            "adds-the-normalized-x",
            _of(pre=lambda x, f, norm: norm(x) + f(norm(x))),
            "With `norm_first`, your result adds the *normalized* x. If f gives zeros, x itself must come out: the "
            "stream is left as it is.",
        ),
        Mistake(
            "adds-the-normalized-x-always",
            _both(lambda x, f, norm: norm(x) + f(norm(x))),
            "Your stream itself is normalized before the sum, in both ways. With the norm first, f alone sees the "
            "normalized x; with the norm after, nothing is normalized before the sum.",
        ),
        Mistake(
            "no-residual",
            _of(lambda x, f, norm: f(norm(x)), lambda x, f, norm: norm(f(x))),
            "Norm and f are in order, but x is not added, in neither way.",
        ),
        Mistake(
            "no-residual-with-the-norm-first",
            _of(pre=lambda x, f, norm: f(norm(x))),
            "Right for `norm_first=False`. In the other way x is not added.",
        ),
        Mistake(
            "no-residual-with-the-norm-after",
            _of(post=lambda x, f, norm: norm(f(x))),
            "Right for `norm_first=True`. In the other way x is not added.",
        ),
        Mistake(
            "no-norm",
            _both(lambda x, f, norm: x + f(x)),
            "Your result is x + f(x) in both ways: the norm has no effect.",
        ),
        Mistake(
            "no-norm-after",
            _of(post=lambda x, f, norm: x + f(x)),
            "Right for `norm_first=True`. In the other way the norm has no effect.",
        ),
        Mistake(
            "no-norm-first",
            _of(pre=lambda x, f, norm: x + f(x)),
            "Right for `norm_first=False`. In the other way the norm has no effect.",
        ),
        Mistake(
            "norm-on-both-sides",
            _of(pre=lambda x, f, norm: norm(x + f(norm(x)))),
            "With `norm_first`, your sum is normalized as well. There the sum is left as it is.",
        ),
        Mistake(
            "norm-on-both-sides-after",
            _of(post=lambda x, f, norm: norm(x + f(norm(x)))),
            "Right for `norm_first=True`. In the other way f must see x as it is: the norm comes only after the sum.",
        ),
        Mistake(
            "norm-on-both-sides-always",
            _both(lambda x, f, norm: norm(x + f(norm(x)))),
            "You normalize before f and after the sum, in both ways. Each way has one norm.",
        ),
        Mistake(
            "normalizes-what-f-returns",
            _of(post=lambda x, f, norm: x + norm(f(x))),
            "With the norm after, your norm is applied to what f returns, before the sum. It belongs around the sum.",
        ),
        Mistake(
            "normalizes-the-parts",
            _of(post=lambda x, f, norm: norm(x) + norm(f(x))),
            "Right for `norm_first=True`. In the other way you normalize x and f(x) one by one: the norm belongs "
            "around their sum.",
        ),
        Mistake(
            "normalizes-what-f-returns-first",
            _of(pre=lambda x, f, norm: x + norm(f(x))),
            "With `norm_first`, your norm is applied to what f returns. It comes before f: f(norm(x)).",
        ),
        Mistake(
            "normalizes-x-alone-after",
            _of(post=lambda x, f, norm: norm(x) + f(x)),
            "Right for `norm_first=True`. In the other way your norm reaches x alone; it belongs around the sum.",
        ),
        Mistake(
            "both-ways-in-turn",
            _of(pre=lambda x, f, norm: residual(residual(x, f, norm, True), f, norm, False)),
            "Right for `norm_first=False`. With `norm_first`, you take both steps, one after the other: what comes out "
            "of the first goes through the second as well. The result of the first is the answer.",
        ),
        Mistake(
            "own-norm",
            lambda x, f, norm, norm_first: residual(x, f, _layer_norm, norm_first),
            "Right as long as `norm` is a layer norm. One case hands you another function: call `norm`.",
        ),
    ),
    hints=(
        "Which of the two writes the sum back unchanged? Try f that gives zeros: in one way x itself must come out.",
        "There are two formulas and one `if`. With `norm_first`, only what goes *into* f is normalized. Otherwise, "
        "only what comes *out of* the sum is.",
        "`x + f(norm(x))` is one of the two. In the other, the call of `norm` moves around the whole sum.",
    ),
    alternatives=(in_one_line, with_steps, with_choices),
    difficulty=1,
    minutes=5,
)
