import torch
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_lib.masks import causal_mask
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn
from course_practice.exercises.layer_norm.residual import Named


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


def _with_one_soft_listener(x):
    heard = torch.zeros_like(x)
    heard[-2:, 0] = 2e-4 * x[-2:, -1]  # among so many outputs that their mean hardly moves
    return _past_mean(x) + heard


def _with_a_cancelling_leak(x):
    later = x.flip(1).cumsum(dim=1).flip(1) - x
    return _past_mean(x) + torch.cat([later[..., :1], -later[..., :1], torch.zeros_like(x[..., 2:])], dim=-1)


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


def with_another_future(f, x):
    n, whole, other = x.shape[1], f(x), torch.randn_like(x)
    edited = [torch.cat([x[:, : t + 1], other[:, t + 1 :]], dim=1) for t in range(n)]
    moves = [(f(edited[t])[:, t] - whole[:, t]).abs().max() for t in range(n)]
    return bool(torch.stack(moves).max() > 1e-5)


def _leak_cases():
    def model(name, f, *shape, seed, quiet=None, loudness=1e-3):
        """One token may be nearly zero, so that every edit makes it larger: then its leak only lowers an output."""
        x = randn(*shape, seed=seed)
        if quiet is not None:
            x[:, quiet] *= loudness
        return case(Named(f"a model: {name}", f), x, about=name)

    return [
        model("causal attention", _attend(causal_mask), 1, 3, 2, seed=0),
        model("attention without a mask", _attend(lambda n: None), 1, 3, 2, seed=1),
        model("attention with a mask one token too wide", _attend(lambda n: torch.ones(n, n).tril(1).bool()),
              2, 5, 3, seed=2),
        model("every token by itself", torch.tanh, 2, 5, 3, seed=3),
        model("running mean", _past_mean, 3, 3, 3, seed=4),
        model("token 0 hears token 1, the rest is causal", _with_first_hearing_second, 2, 5, 3, seed=5, quiet=1),
        model("the last token but one hears the last", _with_last_heard_by_its_neighbor, 2, 5, 3, seed=10, quiet=-1),
        model("token 2 hears token 3", _with_one_listener(2, 3), 2, 5, 3, seed=13),
        model("token 0 hears token 3", _with_one_listener(0, 3), 2, 5, 3, seed=18),
        model("token 0 hears token 2, which is zero", _with_one_listener(0, 2), 2, 5, 3, seed=19, quiet=2, loudness=0),
        model("token 0 hears one feature of token 2", _with_one_listener(0, 2, slice(-1, None)), 2, 5, 3, seed=14),
        model("every token hears the last one, very softly", lambda x: _past_mean(x) + 5e-5 * x[:, -1:],
              2, 5, 3, seed=15),
        model("token 0 hears the last one softly, in two sentences", _with_one_soft_listener, 12, 9, 5, seed=17),
        model("two features move against each other", _with_a_cancelling_leak, 2, 5, 3, seed=6),
        model("only the last sentence leaks", lambda x: torch.cat([_past_mean(x[:-1]), x[-1:].flip(1)]),
              3, 5, 2, seed=7),
        model("a layer norm, then attention without a mask", _with_a_norm_first, 2, 5, 7, seed=16),
        model("every token hears the last one, and no gradient flows there",
              lambda x: _past_mean(x) + x[:, -1:].detach(), 2, 5, 3, seed=20),
        model("causal, with rounding in the last digit",
              lambda x: _past_mean(x) + 1e-7 * x.sum(dim=1, keepdim=True).sin(),
              2, 5, 3, seed=8),
        model("two tokens, causal", _past_mean, 2, 2, 3, seed=11),
        model("a model that ignores its input", torch.zeros_like, 2, 5, 3, seed=12),
        model("a single token", _attend(lambda n: None), 2, 1, 3, seed=9),
    ]  # fmt: skip


EXERCISE = Exercise(reference=leaks, cases=_leak_cases, alternatives=(with_another_future,))
