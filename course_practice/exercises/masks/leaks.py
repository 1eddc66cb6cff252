"""Exercise: write a leak probe."""

import torch
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_lib.masks import causal_mask
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn
from course_practice.exercises.masks._shared import ones


class Listener:
    """A function from vectors (batch, n, d) to vectors, with a name that says who listens to whom."""

    def __init__(self, name, f):
        self.name, self.f = name, f

    def __call__(self, x):
        return self.f(x)

    def __repr__(self):
        return f"<a model: {self.name}>"


def _attend(order):
    return lambda x: scaled_dot_product_attention(x, x, x, order(x.shape[1]))[0]


def _past_mean(x):
    return x.cumsum(dim=1) / torch.arange(1, x.shape[1] + 1, dtype=x.dtype)[:, None]


def _with_first_hearing_second(x):
    whispered = F.pad(x[:, 1:2], (0, 0, 0, x.shape[1] - x[:, 1:2].shape[1]))
    return _past_mean(x) - whispered.abs()


def _with_last_heard_by_its_neighbor(x):
    heard = F.pad(x[:, 1:], (0, 0, 0, 1)) * (torch.arange(x.shape[1]) == x.shape[1] - 2)[:, None]
    return _past_mean(x) - heard.abs()


def _with_one_listener(listener, speaker, features=slice(None)):
    """Causal, but for one output that hears one later token, or some of its features."""

    def model(x):
        n = torch.arange(x.shape[1])
        whispered = x[:, speaker : speaker + 1, features].sum(dim=(1, 2))  # 0 where the sentence ends before
        signs = 1 - 2 * (torch.arange(x.shape[2]) % 2)  # it raises some features and lowers others
        return _past_mean(x) + whispered[:, None, None] * (n == listener)[:, None] * signs

    return model


def _with_a_cancelling_leak(x):
    later = x.flip(1).cumsum(dim=1).flip(1) - x
    return _past_mean(x) + torch.cat([later[..., :1], -later[..., :1], torch.zeros_like(x[..., 2:])], dim=-1)


def _with_a_soft_leak(x):
    return _past_mean(x) + 5e-5 * x[:, -1:]


def _with_rounding(x):
    return _past_mean(x) + 1e-7 * x.sum(dim=1, keepdim=True).sin()


def _with_last_sentence_leaking(x):
    return torch.cat([_past_mean(x[:-1]), x[-1:].flip(1)])


def _with_a_norm_first(x):
    normed = F.layer_norm(x, x.shape[-1:])
    return x + scaled_dot_product_attention(normed, normed, normed)[0]


def leaks(f, x):
    """Does an output of f move when a *later* token is edited? x and f(x): (batch, n, d)."""
    before = f(x)
    for t in range(1, x.shape[1]):
        edited = x.clone()
        # What is added to all features alike would vanish in a layer norm.
        edited[:, t] = torch.randn_like(x[:, t])
        if (f(edited)[:, :t] - before[:, :t]).abs().max() > 1e-5:
            return True
    return False


def cutting_the_future_off(f, x):
    whole = f(x)
    cut = [(f(x[:, : t + 1])[:, t] - whole[:, t]).abs().max() for t in range(x.shape[1])]
    return bool(torch.stack(cut).max() > 1e-5)


def drawing_the_future_again(f, x):
    before = f(x)
    for t in range(x.shape[1] - 1):
        other = torch.cat([x[:, : t + 1], torch.randn_like(x[:, t + 1 :]) * 3], dim=1)
        if not torch.allclose(f(other)[:, : t + 1], before[:, : t + 1], atol=1e-5):
            return True
    return False


def by_gradients(f, x):
    jacobian = torch.autograd.functional.jacobian(f, x)
    moved = jacobian.abs().amax(dim=(0, 2, 3, 5))
    return bool((moved.triu(1) > 1e-5).any())


def _leak_cases():
    def model(name, f, *shape, seed, quiet=None):
        """One token may be nearly zero, so that every edit makes it larger: then its leak only lowers an output."""
        x = randn(*shape, seed=seed)
        if quiet is not None:
            x[:, quiet] *= 1e-3
        return case(Listener(name, f), x, about=name)

    return [
        model("causal attention", _attend(causal_mask), 1, 3, 2, seed=0),
        model("attention without a mask", _attend(lambda n: None), 1, 3, 2, seed=1),
        model("attention with a mask one token too wide", _attend(lambda n: ones(n).tril(1)), 2, 5, 3, seed=2),
        model("every token by itself", torch.tanh, 2, 5, 3, seed=3),
        model("running mean", _past_mean, 3, 3, 3, seed=4),
        model("token 0 hears token 1, the rest is causal", _with_first_hearing_second, 2, 5, 3, seed=5, quiet=1),
        model("the last token but one hears the last", _with_last_heard_by_its_neighbor, 2, 5, 3, seed=10, quiet=-1),
        model("token 2 hears token 3", _with_one_listener(2, 3), 2, 5, 3, seed=13),
        model("token 0 hears one feature of token 2", _with_one_listener(0, 2, slice(-1, None)), 2, 5, 3, seed=14),
        model("every token hears the last one, very softly", _with_a_soft_leak, 2, 5, 3, seed=15),
        model("two features move against each other", _with_a_cancelling_leak, 2, 5, 3, seed=6),
        model("only the last sentence leaks", _with_last_sentence_leaking, 3, 5, 2, seed=7),
        model("a layer norm, then attention without a mask", _with_a_norm_first, 2, 5, 7, seed=16),
        model("causal, with rounding in the last digit", _with_rounding,
              2, 5, 3, seed=8),
        model("two tokens, causal", _past_mean, 2, 2, 3, seed=11),
        model("a model that ignores its input", torch.zeros_like, 2, 5, 3, seed=12),
        model("a single token", _attend(lambda n: None), 2, 1, 3, seed=9),
    ]  # fmt: skip


def _otherwise(features):
    """The features of a token, each raised by another number, as the library's probe does it."""
    return features + torch.linspace(1.0, 2.0, features.shape[-1])


def _probe(tokens=None, seen=slice(None), edit=slice(None), upto=lambda t: slice(0, t), far=None, change=_otherwise):
    """A leak probe with one part exchanged."""
    tokens = tokens or (lambda n: range(1, n))
    far = far or (lambda d: bool((d.abs() > 1e-5).any()))

    def leaks(f, x):
        before = f(x)
        for t in tokens(x.shape[1]):
            edited = x.clone()
            edited[:, t, edit] = change(edited[:, t, edit])
            if far((f(edited) - before)[seen, upto(t)]):
                return True
        return False

    return leaks


def _decides_at_once(f, x):
    return _probe(tokens=lambda n: range(1, 2))(f, x) if x.shape[1] > 1 else None


def _edits_with_nan(f, x):
    for t in range(1, x.shape[1]):
        edited = x.clone()
        edited[:, t] = torch.nan
        if f(edited)[:, :t].isnan().any():
            return True
    return False


def _forgets_to_run_again(f, x):
    before = f(x)
    return bool((before - before).abs().max() > 1e-5)


def _edits_pile_up(f, x):
    before, edited = f(x), x.clone()
    for t in range(1, x.shape[1]):
        edited[:, t] = _otherwise(edited[:, t])
        if (f(edited)[:, :t] - before[:, :t]).abs().max() > 1e-5:
            return True
    return False


def _edits_the_second_half(f, x):
    before, edited, half = f(x), x.clone(), x.shape[1] // 2
    edited[:, half:] = _otherwise(edited[:, half:])
    return bool(((f(edited) - before)[:, :half].abs() > 1e-5).any())


def _shuffles(f, x):
    return not torch.allclose(f(x.flip(1)).flip(1), f(x), atol=1e-5)


EXERCISE = Exercise(
    title="Write a leak probe",
    task="Return True if some output of f moves by more than 1e-5 when a later token of x is edited, else False. x "
    "and f(x) have the shape (batch, n, d). Some models begin with a layer norm, which removes what is added to all "
    "features of a token alike.",
    reference=leaks,
    cases=_leak_cases,
    mistakes=(
        Mistake(
            "same-number-in-all-features",
            _probe(change=lambda features: features + 1.0),
            "Your probe misses a leak only where a layer norm comes first. It subtracts the mean of a token's features "
            "and divides by their size, so an edit that adds the same number to all of them, or multiplies them all, "
            "vanishes in it. Put random numbers there: `torch.randn_like`.",
        ),
        Mistake(
            "edited-token-itself-counts",
            _probe(upto=lambda t: slice(0, t + 1)),
            "Your probe finds a leak in models whose tokens hear only the past and themselves. Output t may move when "
            "token t is edited: compare the outputs *before* t, `[:, :t]`.",
        ),
        Mistake(
            "edits-pile-up",
            _edits_pile_up,
            "Your probe finds a leak in every model that listens to its past. Is token 1 still changed when token 2 "
            "is edited? Start each edit from a fresh copy of `x`.",
        ),
        Mistake(
            "always-true",
            lambda f, x: True,
            "Your probe finds a leak in every model, even in one that ignores its input.",
        ),
        Mistake(
            "all-outputs-count",
            _probe(tokens=range, upto=lambda t: slice(None)),
            "Your probe finds a leak in every model but one that ignores its input. The edited token's own output, "
            "and those after it, may move: only outputs *before* it tell of a leak.",
        ),
        Mistake(
            "watches-the-future",
            _probe(tokens=range, upto=lambda t: slice(t + 1, None)),
            "Your probe takes listening to the past for a leak: it seems to compare outputs *after* the edited token. "
            "Those may move; the ones before it may not.",
        ),
        Mistake(
            "last-token-only",
            _probe(tokens=lambda n: range(n - 1, n)),
            "Your probe finds only leaks of the last token. One between two earlier tokens stays hidden: edit each in "
            "turn.",
        ),
        Mistake(
            "last-token-only-and-a-single-token",
            _probe(tokens=lambda n: range(n - 1, n), far=lambda d: bool(d.abs().max() > 1e-5)),
            "Your probe edits the last token alone. A leak between two earlier tokens stays hidden, and of a single "
            "token no output is left to look at, so `max` stops with an error: edit tokens 1, 2, … in turn.",
        ),
        Mistake(
            "nothing-before-token-0",
            _probe(tokens=range, far=lambda d: bool(d.abs().max() > 1e-5)),
            "You begin with token 0, and there is no output before it: `[:, :0]` is empty, and the `max` of nothing "
            "stops with an error. The first token that an earlier output might hear is token 1.",
        ),
        Mistake(
            "second-token-only",
            _probe(tokens=lambda n: range(1, min(n, 2))),
            "Your probe finds only what token 0 hears of token 1. Is each token edited in turn, or does the loop end "
            "too soon?",
        ),
        Mistake(
            "decides-at-once",
            _decides_at_once,
            "Your probe finds only what token 0 hears of token 1, and answers None where there is a single token. "
            'Does a `return` end the loop in its first round? "No leak" is known only after the last edit.',
        ),
        Mistake(
            "edits-with-nan",
            _edits_with_nan,
            "Your probe takes causal attention for a leak. It hides the future with a weight of 0, and 0 · NaN is "
            "NaN: edit with a finite number.",
        ),
        Mistake(
            "stops-one-early",
            _probe(tokens=lambda n: range(1, n - 1)),
            "Your probe misses a model in which only the *last* token is heard. Is that one edited, too?",
        ),
        Mistake(
            "first-sentence-only",
            _probe(seen=slice(0, 1)),
            "Your probe misses the model where only the last sentence leaks: does it watch all sentences? A padding "
            "mask, for one, differs from sentence to sentence.",
        ),
        Mistake(
            "first-output-only",
            _probe(upto=lambda t: slice(0, 1)),
            "Your probe finds a leak only where output 0 hears it. A later output may hear its future, too: watch all "
            "outputs before the edited token.",
        ),
        Mistake(
            "neighbor-only",
            _probe(upto=lambda t: slice(t - 1, t)),
            "Your probe finds a leak only where a token hears its right neighbor. It may reach further back: watch "
            "all outputs before the edited token, `[:, :t]`.",
        ),
        Mistake(
            "one-cut-in-the-middle",
            _edits_the_second_half,
            "Your probe finds only leaks from one half of the sentence to the other. One token may "
            "hear another of the same half, too: edit each token in turn.",
        ),
        Mistake(
            "first-feature-only",
            _probe(edit=slice(0, 1)),
            "Your probe misses a model that listens to one feature, not the first. Edit all features of a token.",
        ),
        Mistake(
            "all-instead-of-any",
            _probe(far=lambda d: bool((d.abs() > 1e-5).all())),
            "Your probe finds a leak only where every earlier output moves. One that moves is a leak: `any`.",
        ),
        Mistake(
            "no-absolute-value",
            _probe(far=lambda d: bool((d > 1e-5).any())),
            "Your probe misses leaks that *lower* an output. What does `.abs()` do?",
        ),
        Mistake(
            "sums-before-comparing",
            _probe(far=lambda d: bool(d.sum().abs() > 1e-5)),
            "Your probe misses two features that move against each other: in a sum (or a mean) their differences "
            "cancel. Look at the size of each.",
        ),
        Mistake(
            "no-tolerance",
            _probe(far=lambda d: bool((d != 0).any())),
            "Your probe takes rounding in the last digit for a leak. Ask whether the difference exceeds 1e-5, not "
            "whether it is 0.",
        ),
        Mistake(
            "too-much-tolerance",
            _probe(far=lambda d: bool((d.abs() > 1e-3).any())),
            "Your probe misses the softest leak, which moves an output by 5e-5. Any change above 1e-5 is a leak.",
        ),
        Mistake(
            "true-means-clean",
            lambda f, x: not leaks(f, x),
            "All your answers are reversed: they are True when nothing leaks. Return True when something *does*.",
        ),
        Mistake(
            "always-false",
            _forgets_to_run_again,
            "Your probe finds no leak in any model. Is `f` run a second time, on the *edited* input? And are there "
            "outputs left in your slice?",
        ),
        Mistake(
            "order-instead-of-leak",
            _shuffles,
            "Your probe answers whether the order of the tokens matters. A leak is narrower: does an *earlier* output "
            "hear a *later* token?",
        ),
    ),
    hints=(
        "Run `f` once on `x` and once on an edited copy. Which outputs must be the same?",
        "When token t is edited, outputs 0 … t − 1 must stay. Try every t, look at every sentence and feature, and at "
        "the size of the difference, whatever its sign. Edit with random numbers, because a layer norm removes a "
        "number that is added to all features alike.",
        "`edited = x.clone()`, `edited[:, t] = torch.randn_like(x[:, t])`, then `(f(edited)[:, :t] - before[:, "
        ":t]).abs().max() > 1e-5`.",
    ),
    alternatives=(cutting_the_future_off, drawing_the_future_again, by_gradients),
    difficulty=2,
    minutes=15,
)
