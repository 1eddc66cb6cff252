"""Exercise: write a leak probe."""

import torch
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_lib.exercises.engine import Exercise, Mistake, case
from course_lib.exercises.inputs import randn
from course_lib.exercises.masks._shared import ones
from course_lib.masks import causal_mask


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
    return _past_mean(x) - whispered


def _with_last_heard_by_its_neighbor(x):
    return _past_mean(x) - F.pad(x[:, 1:], (0, 0, 0, 1)) * (torch.arange(x.shape[1]) == x.shape[1] - 2)[:, None]


def _with_one_listener(listener, speaker, features=slice(None)):
    """Causal, but for one output that hears one later token, or some of its features."""

    def model(x):
        n = torch.arange(x.shape[1])
        whispered = x[:, speaker : speaker + 1, features].sum(dim=(1, 2))  # 0 where the sentence ends before
        return _past_mean(x) + whispered[:, None, None] * (n == listener)[:, None]

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


def leaks(f, x):
    """Does an output of f move when a *later* token is edited? x and f(x): (batch, n, d)."""
    before = f(x)
    for t in range(1, x.shape[1]):
        edited = x.clone()
        edited[:, t] += 1.0
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
    def model(name, f, *shape, seed):
        return case(Listener(name, f), randn(*shape, seed=seed), about=name)

    return [
        model("causal attention", _attend(causal_mask), 1, 3, 2, seed=0),
        model("attention without a mask", _attend(lambda n: None), 1, 3, 2, seed=1),
        model("attention with a mask one token too wide", _attend(lambda n: ones(n).tril(1)), 2, 5, 3, seed=2),
        model("every token by itself", torch.tanh, 2, 5, 3, seed=3),
        model("running mean", _past_mean, 3, 3, 3, seed=4),
        model("token 0 hears token 1, the rest is causal", _with_first_hearing_second, 2, 5, 3, seed=5),
        model("the last token but one hears the last", _with_last_heard_by_its_neighbor, 2, 5, 3, seed=10),
        model("token 2 hears token 3", _with_one_listener(2, 3), 2, 5, 3, seed=13),
        model("token 0 hears one feature of token 2", _with_one_listener(0, 2, slice(-1, None)), 2, 5, 3, seed=14),
        model("every token hears the last one, very softly", _with_a_soft_leak, 2, 5, 3, seed=15),
        model("two features move against each other", _with_a_cancelling_leak, 2, 5, 3, seed=6),
        model("only the last sentence leaks", _with_last_sentence_leaking, 3, 5, 2, seed=7),
        model("causal, with rounding in the last digit", _with_rounding,
              2, 5, 3, seed=8),
        model("two tokens, causal", _past_mean, 2, 2, 3, seed=11),
        model("a model that ignores its input", torch.zeros_like, 2, 5, 3, seed=12),
        model("a single token", _attend(lambda n: None), 2, 1, 3, seed=9),
    ]  # fmt: skip


def _probe(tokens=None, seen=slice(None), edit=slice(None), upto=lambda t: slice(0, t), far=None):
    """A leak probe with one part exchanged."""
    tokens = tokens or (lambda n: range(1, n))
    far = far or (lambda d: bool((d.abs() > 1e-5).any()))

    def leaks(f, x):
        before = f(x)
        for t in tokens(x.shape[1]):
            edited = x.clone()
            edited[:, t, edit] += 1.0
            if far((f(edited) - before)[seen, upto(t)]):
                return True
        return False

    return leaks


def _forgets_to_run_again(f, x):
    before = f(x)
    return bool((before - before).abs().max() > 1e-5)


def _edits_pile_up(f, x):
    before, edited = f(x), x.clone()
    for t in range(1, x.shape[1]):
        edited[:, t] += 1.0
        if (f(edited)[:, :t] - before[:, :t]).abs().max() > 1e-5:
            return True
    return False


def _edits_the_second_half(f, x):
    before, edited, half = f(x), x.clone(), x.shape[1] // 2
    edited[:, half:] += 1.0
    return bool(((f(edited) - before)[:, :half].abs() > 1e-5).any())


def _shuffles(f, x):
    return not torch.allclose(f(x.flip(1)).flip(1), f(x), atol=1e-5)


EXERCISE = Exercise(
    title="Write a leak probe",
    task="Return True if some output of f moves by more than 1e-5 when a later token of x is edited, else False. x "
    "and f(x) have the shape (batch, n, d).",
    reference=leaks,
    cases=_leak_cases,
    mistakes=(
        Mistake(
            "edited-token-itself-counts",
            _probe(upto=lambda t: slice(0, t + 1)),
            "Output t may move when token t is edited: a token sees itself. Compare the outputs *before* t only, `[:, "
            ":t]`.",
        ),
        Mistake(
            "edits-pile-up",
            _edits_pile_up,
            "Your edits pile up: token 1 is still changed when token 2 is edited, so output 1 moves in any model. "
            "Start each edit from a fresh copy of `x`.",
        ),
        Mistake(
            "always-true",
            lambda f, x: True,
            "Your probe finds a leak in every model, even in one that ignores its input.",
        ),
        Mistake(
            "all-outputs-count",
            _probe(tokens=range, upto=lambda t: slice(None)),
            "The edited token's own output, and those after it, may move: they look at their past. Only outputs "
            "*before* it tell of a leak.",
        ),
        Mistake(
            "watches-the-future",
            _probe(tokens=range, upto=lambda t: slice(t + 1, None)),
            "You compare the outputs *after* the edited token. Those may move; the ones before it may not.",
        ),
        Mistake(
            "last-token-only",
            _probe(tokens=lambda n: range(n - 1, n)),
            "Only the last token is edited. A leak between two earlier tokens stays hidden: edit each in turn.",
        ),
        Mistake(
            "second-token-only",
            _probe(tokens=lambda n: range(1, min(n, 2))),
            "Only token 1 is edited, so only output 0 is watched. Edit each token in turn.",
        ),
        Mistake(
            "stops-one-early",
            _probe(tokens=lambda n: range(1, n - 1)),
            "The last token is never edited: `range` stops before its end.",
        ),
        Mistake(
            "first-sentence-only",
            _probe(seen=slice(0, 1)),
            "You watch the first sentence alone. A padding mask, for one, differs from sentence to sentence.",
        ),
        Mistake(
            "first-output-only",
            _probe(upto=lambda t: slice(0, 1)),
            "You watch output 0 alone. A later output may hear its future, too: watch all outputs before the edited "
            "token.",
        ),
        Mistake(
            "neighbor-only",
            _probe(upto=lambda t: slice(t - 1, t)),
            "You watch only the output right before the edited token. A leak may reach further back: `[:, :t]`.",
        ),
        Mistake(
            "one-cut-in-the-middle",
            _edits_the_second_half,
            "You cut the sentence once, so a leak between two tokens of the same part stays hidden. Cut it at every "
            "token.",
        ),
        Mistake(
            "first-feature-only",
            _probe(edit=slice(0, 1)),
            "You edit one feature of a token. A model may listen to another: edit them all.",
        ),
        Mistake(
            "all-instead-of-any",
            _probe(far=lambda d: bool((d.abs() > 1e-5).all())),
            "You ask whether *all* earlier outputs move. One that moves is a leak: `any`.",
        ),
        Mistake(
            "no-absolute-value",
            _probe(far=lambda d: bool((d > 1e-5).any())),
            "A leak may also *lower* an output. Without `.abs()` those pass unseen.",
        ),
        Mistake(
            "sums-before-comparing",
            _probe(far=lambda d: bool(d.sum().abs() > 1e-5)),
            "You add the differences up (or average them) before you look at their size: two that move against each "
            "other cancel.",
        ),
        Mistake(
            "no-tolerance",
            _probe(far=lambda d: bool((d != 0).any())),
            "Two ways to the same sum differ in the last digit. Ask whether the difference exceeds 1e-5, not whether "
            "it is 0.",
        ),
        Mistake(
            "too-much-tolerance",
            _probe(far=lambda d: bool((d.abs() > 1e-3).any())),
            "Your probe misses the softest leak, which moves an output by 5e-5. A leak is whatever exceeds 1e-5.",
        ),
        Mistake(
            "true-means-clean",
            lambda f, x: not leaks(f, x),
            "Your answer is turned round: True when nothing leaks. The question was whether something *does*.",
        ),
        Mistake(
            "always-false",
            _forgets_to_run_again,
            "Your probe never finds a leak. Is `f` run a second time, on the *edited* input? And are there outputs "
            "left in your slice?",
        ),
        Mistake(
            "order-instead-of-leak",
            _shuffles,
            "You ask whether the order of the tokens matters. A leak is narrower: does an *earlier* output hear a "
            "*later* token?",
        ),
    ),
    hints=(
        "Run `f` once on `x` and once on an edited copy. Which outputs must be the same?",
        "When token t is edited, outputs 0 … t − 1 must stay. Try every t, look at every sentence and feature, and at "
        "the size of the difference, whatever its sign.",
        "`edited = x.clone()`, `edited[:, t] += 1.0`, then `(f(edited)[:, :t] - before[:, :t]).abs().max() > 1e-5`.",
    ),
    alternatives=(cutting_the_future_off, drawing_the_future_again, by_gradients),
    difficulty=2,
    minutes=15,
)
