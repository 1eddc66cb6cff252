"""Exercise: silence a head."""

import copy

import torch
from torch import nn

from course_lib.multi_head import MultiHeadAttention
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn
from course_practice.own.modules import module_of


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


def by_a_hook(attention, head):
    new = copy.deepcopy(attention)

    def silence(module, inputs):
        parts = list(inputs[0].chunk(new.n_heads, dim=-1))
        parts[head] = torch.zeros_like(parts[head])
        return torch.cat(parts, dim=-1)

    new.w_o.register_forward_pre_hook(silence)
    return new


def as_a_module(attention, head):
    class Without(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = attention
            d = attention.w_o.in_features // attention.n_heads
            self.kept = torch.ones(attention.w_o.in_features)
            self.kept[head * d : (head + 1) * d] = 0

        def forward(self, query, key, value, mask=None):
            inner = copy.deepcopy(self.attention)
            inner.w_o.weight = nn.Parameter(self.attention.w_o.weight * self.kept)
            return inner(query, key, value, mask)

    return Without()


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


def _zero_columns(weight, head, n_heads):
    d_k = weight.shape[1] // n_heads
    weight[:, head * d_k : (head + 1) * d_k] = 0.0


def _changed(how):
    def without(attention, head):
        new = copy.deepcopy(attention)
        with torch.no_grad():
            how(new, head, new.w_o.weight.shape[1] // new.n_heads)
        return new

    return without


def _rows_of_w_o(new, head, d_k):
    new.w_o.weight[head * d_k : (head + 1) * d_k] = 0.0


def _rows_and_bias(new, head, d_k):
    _rows_of_w_o(new, head, d_k)
    new.w_o.bias[head * d_k : (head + 1) * d_k] = 0.0


def _bias_of_values_left(new, head, d_k):
    new.w_v.weight[head * d_k : (head + 1) * d_k] = 0.0


def _columns_of_w_v(new, head, d_k):
    new.w_v.weight[:, head * d_k : (head + 1) * d_k] = 0.0


def _uniform(name):
    def change(new, head, d_k):
        for part in (new.w_q, new.w_k) if name == "both" else (getattr(new, name),):
            part.weight[head * d_k : (head + 1) * d_k] = 0.0
            part.bias[head * d_k : (head + 1) * d_k] = 0.0

    return change


def _one_column(new, head, d_k):
    new.w_o.weight[:, head] = 0.0


def _all_but_this(new, head, d_k):
    kept = new.w_o.weight.clone()
    new.w_o.weight.zero_()
    new.w_o.weight[:, head * d_k : (head + 1) * d_k] = kept[:, head * d_k : (head + 1) * d_k]


def _next_head(new, head, d_k):
    _zero_columns(new.w_o.weight, (head + 1) % new.n_heads, new.n_heads)


def _in_threads(new, head, d_k):
    new.w_o.weight[:, head :: new.n_heads] = 0.0


def _by_the_heads(new, head, d_k):
    new.w_o.weight[:, head * new.n_heads : (head + 1) * new.n_heads] = 0.0


def _all_heads(new, head, d_k):
    new.w_o.weight.zero_()


def _bias_too(new, head, d_k):
    _zero_columns(new.w_o.weight, head, new.n_heads)
    new.w_o.bias.zero_()


def _with_gradients(attention, head):
    new = copy.deepcopy(attention)
    _zero_columns(new.w_o.weight, head, new.n_heads)
    return new


def _in_place(attention, head):
    with torch.no_grad():
        _zero_columns(attention.w_o.weight, head, attention.n_heads)
    return attention


def _shallow(attention, head):
    new = copy.copy(attention)
    with torch.no_grad():
        _zero_columns(new.w_o.weight, head, new.n_heads)
    return new


EXERCISE = Exercise(
    title="Silence a head",
    task="Return a copy of a `MultiHeadAttention` in which the head with this number adds nothing to the output. The "
    "other heads, and the module that was given, stay as they are.",
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
    mistakes=(
        Mistake(
            "rows-of-w-o",
            _changed(_rows_of_w_o),
            "Some features of the *output* are gone, for all heads. nn.Linear stores its matrix as (out, in): what a "
            "head writes goes in through d_k *columns* of `w_o.weight`.",
        ),
        Mistake(
            "rows-and-bias-of-w-o",
            _changed(_rows_and_bias),
            "Some features of the *output* are 0, for all heads. nn.Linear stores its matrix as (out, in): what a head "
            "writes goes in through d_k *columns* of `w_o.weight`.",
        ),
        Mistake(
            "bias-of-the-values-left",
            _changed(_bias_of_values_left),
            "The head still adds something: its values are no longer W_V x, but its part of the bias of `w_v` is left, "
            "the same for each token. Take the columns of `w_o`, or the bias as well.",
        ),
        Mistake(
            "columns-of-w-v",
            _changed(_columns_of_w_v),
            "Some *input* features no longer reach the values of any head. Rows of `w_v.weight` belong to a head, its "
            "columns to features of the input.",
        ),
        Mistake(
            "scores-zeroed",
            _changed(_uniform("both")),
            "The scores of the head are 0, so its weights are *equal*: it still adds the mean of its values. Silence "
            "what it writes, not what it asks.",
        ),
        Mistake(
            "in-place-with-gradients",
            _with_gradients,
            "The slice is the right one. But a parameter records its gradients, and PyTorch refuses to write into it "
            "meanwhile: do it under `torch.no_grad()`.",
        ),
        Mistake(
            "one-column",
            _changed(_one_column),
            "One column of `w_o.weight` is 0, that of feature number `head`. A head has d_k = d_model / n_heads of "
            "them, and head i begins at i · d_k.",
        ),
        Mistake(
            "only-this-head",
            _changed(_all_but_this),
            "All the *other* heads are silent, and this one speaks.",
        ),
        Mistake(
            "next-head",
            _changed(_next_head),
            "The next head is silent. Heads are counted from 0: head i begins at i · d_k.",
        ),
        Mistake(
            "in-threads",
            _changed(_in_threads),
            "Every n_heads-th column is 0. A head is d_k features side by side.",
        ),
        Mistake(
            "slices-of-n-heads",
            _changed(_by_the_heads),
            "Your slice is n_heads wide. A head is d_k = d_model / n_heads features wide.",
        ),
        Mistake(
            "all-heads",
            _changed(_all_heads),
            "All heads are silent. Only the columns head · d_k … (head + 1) · d_k belong to this one.",
        ),
        Mistake(
            "bias-of-w-o-too",
            _changed(_bias_too),
            "The head is silent, and so is the bias of `w_o`, which belongs to no head.",
        ),
        Mistake(
            "given-module-changed",
            _in_place,
            "The head is silent, in the given module too: it is broken for whoever uses it next. Change a copy, "
            "`copy.deepcopy(attention)`.",
        ),
        Mistake(
            "nothing-changed",
            lambda attention, head: copy.deepcopy(attention),
            "The head is as loud as before. If you set a slice to 0, was it a slice of the module's own matrix?",
        ),
    ),
    hints=(
        "The output is `w_o(…)` of all heads side by side. Where in this product does head i come in?",
        "The layer `w_o` stores its matrix as (out, in). So columns of `w_o.weight` belong to heads, d_k to each.",
        "`new = copy.deepcopy(attention)`; then, under `torch.no_grad()`, "
        "`new.w_o.weight[:, head * d_k : (head + 1) * d_k] = 0`.",
    ),
    alternatives=(no_values_at_all, by_a_hook, as_a_module),
    difficulty=2,
    minutes=12,
)
