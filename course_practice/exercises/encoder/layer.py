"""Exercise: an encoder layer."""

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.encoder import EncoderLayer, FeedForward
from course_lib.layer_norm import Residual
from course_lib.multi_head import MultiHeadAttention
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.encoder._modules import fill_layer, without_super
from course_practice.exercises.inputs import randn
from course_practice.own.modules import module_of


class WithTwoResiduals(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1, norm_first=False, activation="relu"):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff, activation)
        self.around_attention = Residual(d_model, dropout, norm_first)
        self.around_feed_forward = Residual(d_model, dropout, norm_first)

    def attend(self, x, mask):
        output, _weights = self.attention(x, x, x, mask)
        return output

    def forward(self, x, mask=None):
        x = self.around_attention(x, lambda y: self.attend(y, mask))
        return self.around_feed_forward(x, self.feed_forward)


class StepByStep(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1, norm_first=False, activation="relu"):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.linear_1, self.linear_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.dropout, self.norm_first = nn.Dropout(dropout), norm_first
        self.activation = getattr(F, activation)

    def forward(self, x, mask=None):
        y = self.norm_1(x) if self.norm_first else x
        x = x + self.dropout(self.attention(y, y, y, mask)[0])
        x = x if self.norm_first else self.norm_1(x)
        y = self.norm_2(x) if self.norm_first else x
        x = x + self.dropout(self.linear_2(self.activation(self.linear_1(y))))
        return x if self.norm_first else self.norm_2(x)


class AroundPytorchs(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1, norm_first=False, activation="relu"):
        super().__init__()
        self.n_heads = n_heads
        self.attention = nn.MultiheadAttention(d_model, n_heads, dropout, batch_first=True)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_ff),
            nn.ReLU() if activation == "relu" else nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(d_ff, d_model),
            nn.Dropout(dropout),
        )
        self.norms = nn.ModuleList([nn.LayerNorm(d_model), nn.LayerNorm(d_model)])
        self.dropout, self.norm_first = nn.Dropout(dropout), norm_first

    def attend(self, x, mask):
        hidden = None
        if mask is not None:
            batch, n = x.shape[:2]
            hidden = ~mask.expand(batch, self.n_heads, n, n).flatten(0, 1)
        return self.dropout(self.attention(x, x, x, attn_mask=hidden, need_weights=False)[0])

    def forward(self, x, mask=None):
        first, second = self.norms
        if self.norm_first:
            x = x + self.attend(first(x), mask)
            return x + self.feed_forward(second(x))
        x = first(x + self.attend(x, mask))
        return second(x + self.feed_forward(x))


MASK = torch.tensor([[True] * 5, [True, True, True, False, False]])[:, None, None, :]


@torch.no_grad()
def _call(obj, given):
    """Build it, give its parameters fixed numbers, and run it: in training mode where all is dropped, else not."""
    made = obj(*given.args, **given.kwargs)
    if made is None:
        return None
    layer = module_of(made).eval()
    d_model, _n_heads, d_ff = given.args[:3]
    masked = not given.about.endswith("no mask")
    x = randn(2, 5, d_model, seed=7)
    mask = MASK.clone()
    run = lambda stream: layer(stream, mask) if masked else layer(stream)  # noqa: E731
    fill_layer(layer, lambda: run(randn(2, 5, d_model, seed=8)), d_model, d_ff)
    if not torch.equal(mask, MASK):
        raise ValueError("expected the mask as it was, got it changed in place: the next layer of a stack reads it too")
    layer.train(given.args[3:4] == (1.0,))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return run(x)


def _with(forward):
    """A class with the library's parts and another `forward(layer, x, mask)`."""

    class Layer(EncoderLayer):
        def forward(self, x, mask=None):
            return forward(self, x, mask)

    return Layer


def _attend(layer, x, mask, key_value=None):
    y = x if key_value is None else key_value
    return layer.attention(x, y, y, mask)[0]


def _steps(
    attend=_attend,
    feed=lambda layer, y, old: layer.feed_forward(y),
    after_attention=lambda layer, x, out: x + layer.residuals[0].dropout(out),
    after_feed=lambda layer, x, out: x + layer.residuals[1].dropout(out),
    norms=(0, 1),
    first=None,
):
    """A layer in single steps, one of which may be another: what to add to what, and which norm comes when."""

    def forward(layer, x, mask):
        norm_1, norm_2 = (layer.residuals[i].norm for i in norms)
        pre = layer.residuals[0].norm_first if first is None else first(layer.residuals[0].norm_first)
        old = x
        if pre:
            x = after_attention(layer, x, attend(layer, norm_1(x), mask))
            return after_feed(layer, x, feed(layer, norm_2(x), old))
        x = norm_1(after_attention(layer, x, attend(layer, x, mask)))
        return norm_2(after_feed(layer, x, feed(layer, x, old)))

    return _with(forward)


def _dropped_sums(layer, x, mask):
    drop = layer.residuals[0].dropout
    first, second = (r.norm for r in layer.residuals)
    if layer.residuals[0].norm_first:
        x = drop(x + _attend(layer, first(x), mask))
        return drop(x + layer.feed_forward(second(x)))
    x = first(drop(x + _attend(layer, x, mask)))
    return second(drop(x + layer.feed_forward(x)))


def _dropped_at_the_end(layer, x, mask):
    drop = layer.residuals[0].dropout
    first, second = (r.norm for r in layer.residuals)
    if layer.residuals[0].norm_first:
        x = x + _attend(layer, first(x), mask)
        return drop(x + layer.feed_forward(second(x)))
    x = first(x + _attend(layer, x, mask))
    return drop(second(x + layer.feed_forward(x)))


def _feed_forward_first(layer, x, mask):
    x = layer.residuals[0](x, layer.feed_forward)
    return layer.residuals[1](x, lambda y: _attend(layer, y, mask))


def _no_norms(layer, x, mask):
    x = x + layer.residuals[0].dropout(_attend(layer, x, mask))
    return x + layer.residuals[1].dropout(layer.feed_forward(x))


def _unnormed_keys(layer, x, mask):
    if not layer.residuals[0].norm_first:
        return EncoderLayer.forward(layer, x, mask)
    first, second = (r.norm for r in layer.residuals)
    x = x + layer.residuals[0].dropout(_attend(layer, first(x), mask, key_value=x))
    return x + layer.residuals[1].dropout(layer.feed_forward(second(x)))


def _unnormed_attention(layer, x, mask):
    if not layer.residuals[0].norm_first:
        return EncoderLayer.forward(layer, x, mask)
    x = layer.residuals[0](x, lambda _normed: _attend(layer, x, mask))
    return layer.residuals[1](x, layer.feed_forward)


def _unnormed_query(layer, x, mask):
    if not layer.residuals[0].norm_first:
        return EncoderLayer.forward(layer, x, mask)
    first, second = (r.norm for r in layer.residuals)
    x = x + layer.residuals[0].dropout(_attend(layer, x, mask, key_value=first(x)))
    return x + layer.residuals[1].dropout(layer.feed_forward(second(x)))


def _normed_stream(layer, x, mask):
    if not layer.residuals[0].norm_first:
        return EncoderLayer.forward(layer, x, mask)
    for residual, part in zip(layer.residuals, (lambda y: _attend(layer, y, mask), layer.feed_forward), strict=True):
        x = residual.norm(x)
        x = x + residual.dropout(part(x))
    return x


def _normed_again(layer, x, mask):
    output = EncoderLayer.forward(layer, x, mask)
    last = layer.residuals[1]
    return last.norm(output) if last.norm_first else output


def _second_norm_left_out(layer, x, mask):
    first, second = layer.residuals
    x = first(x, lambda y: _attend(layer, y, mask))
    return x + second.dropout(layer.feed_forward(x))


def _old_stream(layer, x, mask):
    """Attention and network both read what entered the layer."""
    first, second = layer.residuals
    if first.norm_first:
        return (
            x + first.dropout(_attend(layer, first.norm(x), mask)) + second.dropout(layer.feed_forward(second.norm(x)))
        )
    y = first.norm(x + first.dropout(_attend(layer, x, mask)))
    return second.norm(y + second.dropout(layer.feed_forward(x)))


def _true_hides(layer, x, mask):
    """What PyTorch's attention makes of this mask: NaN where nothing is left to see."""

    def attend(y):
        if mask is None:
            return _attend(layer, y, mask)
        return _attend(layer, y, ~mask).masked_fill(mask[:, 0].all(dim=-1, keepdim=True), torch.nan)

    return layer.residuals[1](layer.residuals[0](x, attend), layer.feed_forward)


def _side_by_side(layer, x, mask):
    first, second = layer.residuals
    return first(x, lambda y: _attend(layer, y, mask)) + second(x, layer.feed_forward)


def _network_without_sum(layer, x, mask):
    """Around the network stands a norm alone."""
    x = layer.residuals[0](x, lambda y: _attend(layer, y, mask))
    norm = layer.residuals[1].norm
    return layer.feed_forward(norm(x)) if layer.residuals[1].norm_first else norm(layer.feed_forward(x))


class _WithALastNorm(EncoderLayer):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1, norm_first=False, activation="relu"):
        super().__init__(d_model, n_heads, d_ff, dropout, norm_first, activation)
        self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()

    def forward(self, x, mask=None):
        return self.norm(super().forward(x, mask))


def _default_dropout(d_model, n_heads, d_ff, dropout=0.1, norm_first=False, activation="relu"):
    return EncoderLayer(d_model, n_heads, d_ff, 0.0, norm_first, activation)


def _dropout_not_passed_on(d_model, n_heads, d_ff, dropout=0.1, norm_first=False, activation="relu"):
    return EncoderLayer(d_model, n_heads, d_ff, norm_first=norm_first, activation=activation)


def _activation_not_passed_on(d_model, n_heads, d_ff, dropout=0.1, norm_first=False, activation="relu"):
    return EncoderLayer(d_model, n_heads, d_ff, dropout, norm_first)


def _normed_parts(layer, x, mask):
    if layer.residuals[0].norm_first:
        return EncoderLayer.forward(layer, x, mask)
    first, second = layer.residuals
    x = x + first.norm(first.dropout(_attend(layer, x, mask)))
    return x + second.norm(second.dropout(layer.feed_forward(x)))


def _second_sum_with_the_old_stream(layer, x, mask):
    first, second = layer.residuals
    if first.norm_first:
        y = x + first.dropout(_attend(layer, first.norm(x), mask))
        return x + second.dropout(layer.feed_forward(second.norm(y)))
    y = first.norm(x + first.dropout(_attend(layer, x, mask)))
    return second.norm(x + second.dropout(layer.feed_forward(y)))


def _residuals_in_a_list(d_model, n_heads, d_ff, dropout=0.1, norm_first=False, activation="relu"):
    layer = EncoderLayer(d_model, n_heads, d_ff, dropout, norm_first, activation)
    residuals = list(layer.residuals)
    del layer.residuals
    layer.residuals = residuals
    return layer


EXERCISE = Exercise(
    title="An encoder layer",
    task="A module: self-attention with a mask, then the feed-forward network, each in a residual sum with dropout on "
    "what is added and a norm of its own, after the sum or, with norm_first, before the part.",
    reference=EncoderLayer,
    call=_call,
    cases=lambda: [
        case(2, 1, 3, about="post-norm, no mask"),
        case(4, 2, 6, about="post-norm; two pads are masked"),
        case(4, 2, 6, 0.1, True, about="pre-norm; two pads are masked"),
        case(6, 3, 5, 0.0, True, "gelu", about="pre-norm, GELU, no mask"),
        case(6, 3, 5, 0.0, False, "gelu", about="post-norm, GELU; two pads are masked"),
        case(4, 2, 6, 1.0, False, about="post-norm, training, everything dropped"),
        case(4, 2, 6, 1.0, True, about="pre-norm, training, everything dropped"),
    ],
    mistakes=(
        Mistake(
            "mask-not-passed",
            _with(lambda layer, x, mask: EncoderLayer.forward(layer, x)),
            "The mask makes no difference, so words attend to pads. Hand it on to the attention.",
        ),
        Mistake(
            "super-forgotten",
            without_super,
            "A part is assigned before the module exists: `super().__init__()` must be the first line of `__init__`.",
        ),
        Mistake(
            "weights-not-taken-off",
            _with(lambda layer, x, mask: layer.residuals[0](x, lambda y: layer.attention(y, y, y, mask))),
            "Attention returns two things, its output and its weights, and you add the pair to the stream. Take the "
            "first.",
        ),
        Mistake(
            "side-by-side",
            _with(_side_by_side),
            "Attention and network stand side by side: both read what enters the layer, and x comes in with each of "
            "them. They follow each other: the network's sum starts from what the attention's sum returns.",
        ),
        Mistake(
            "attention-forgotten",
            _with(lambda layer, x, mask: layer.residuals[1](x, layer.feed_forward)),
            "Only the feed-forward network runs, so no token sees another.",
        ),
        Mistake(
            "network-forgotten",
            _with(lambda layer, x, mask: layer.residuals[0](x, lambda y: _attend(layer, y, mask))),
            "Only the attention runs. After it comes the feed-forward network, with a residual sum of its own.",
        ),
        Mistake(
            "mask-inverted",
            _with(lambda layer, x, mask: EncoderLayer.forward(layer, x, None if mask is None else ~mask)),
            "Your words attend to the pads alone. Here True = may attend, so the mask goes to the attention as it is.",
        ),
        Mistake(
            "true-hides",
            _with(_true_hides),
            "A sentence without pads becomes NaN: your attention hides what the mask marks True. In "
            "`nn.MultiheadAttention`, True = ignore; here True = may attend, so hand it the mask's opposite, `~mask`.",
        ),
        Mistake(
            "always-post-norm",
            _steps(first=lambda pre: False),
            "Right for post-norm; `norm_first=True` makes no difference. There the norm stands before the part, and "
            "the stream itself is never normalized.",
        ),
        Mistake(
            "always-pre-norm",
            _steps(first=lambda pre: True),
            "Right for pre-norm; the default is post-norm, where the norm comes after the sum.",
        ),
        Mistake(
            "pre-and-post-swapped",
            _steps(first=lambda pre: not pre),
            "Pre- and post-norm are swapped: `norm_first=True` normalizes what goes *into* the part, the default "
            "normalizes the sum.",
        ),
        Mistake(
            "no-residuals",
            _steps(
                after_attention=lambda layer, x, out: layer.residuals[0].dropout(out),
                after_feed=lambda layer, x, out: layer.residuals[1].dropout(out),
            ),
            "Nothing is added to the stream: each part replaces it. The residual sum is x + part(x), twice.",
        ),
        Mistake(
            "no-residual-around-attention",
            _steps(after_attention=lambda layer, x, out: layer.residuals[0].dropout(out)),
            "The residual sum around the attention is missing: what entered the layer is lost there.",
        ),
        Mistake(
            "no-residual-around-the-network",
            _steps(after_feed=lambda layer, x, out: layer.residuals[1].dropout(out)),
            "The residual sum around the feed-forward network is missing: what attention wrote is lost there.",
        ),
        Mistake(
            "normalized-before-and-after",
            _with(_normed_again),
            "Post-norm is right. With pre-norm, the sum at the end is normalized as well. The layer leaves the stream "
            "as it is; the stack has one norm after its last layer.",
        ),
        Mistake(
            "last-norm-in-the-layer",
            _WithALastNorm,
            "Post-norm is right. With pre-norm, a third norm stands at the end. It belongs to the stack, once, after "
            "its last layer.",
        ),
        Mistake(
            "network-with-a-norm-alone",
            _with(_network_without_sum),
            "The residual sum around the feed-forward network is missing, and so is its dropout: what attention wrote "
            "is lost there.",
        ),
        Mistake(
            "one-norm-twice",
            _steps(norms=(0, 0)),
            "Both places share one norm. Each has a gain and a bias of its own.",
        ),
        Mistake(
            "no-norms",
            _with(_no_norms),
            "There is no norm. The layer has two, one for each part.",
        ),
        Mistake(
            "norm-of-the-network-missing",
            _with(_second_norm_left_out),
            "The norm of the feed-forward network is missing. The layer has two, one for each part.",
        ),
        Mistake(
            "old-stream-in-the-network",
            _with(_old_stream),
            "The feed-forward network reads what entered the layer. It comes second: it must read the stream after "
            "attention has written to it.",
        ),
        Mistake(
            "network-first",
            _with(_feed_forward_first),
            "The feed-forward network comes before the attention. First tokens exchange, then each works by itself.",
        ),
        Mistake(
            "keys-and-values-not-normalized",
            _with(_unnormed_keys),
            "Post-norm is right. With pre-norm, keys and values come from the raw stream: normalize once, and use "
            "that three times.",
        ),
        Mistake(
            "attention-reads-the-raw-stream",
            _with(_unnormed_attention),
            "Post-norm is right. With pre-norm, attention reads the raw stream: its norm makes no difference. Attend "
            "to what the norm returns.",
        ),
        Mistake(
            "query-not-normalized",
            _with(_unnormed_query),
            "Post-norm is right. With pre-norm, the queries come from the raw stream: normalize once, and use that "
            "three times.",
        ),
        Mistake(
            "normalized-stream-is-kept",
            _with(_normed_stream),
            "Post-norm is right. With pre-norm, you add to the *normalized* stream. The norm acts on the way into the "
            "part, and x itself goes on untouched: x + part(norm(x)).",
        ),
        Mistake(
            "no-dropout",
            _default_dropout,
            "Right in evaluation. In training nothing is dropped: dropout acts on what each part returns, before it "
            "is added.",
        ),
        Mistake(
            "dropout-not-passed-on",
            _dropout_not_passed_on,
            "Right in evaluation. In training, `dropout` makes no difference: the default is used. Hand it on.",
        ),
        Mistake(
            "dropout-on-the-sums",
            _with(_dropped_sums),
            "Right in evaluation. In training, dropout acts on the sums, so it deletes the stream itself. It belongs "
            "on what the part returns.",
        ),
        Mistake(
            "dropout-at-the-end",
            _with(_dropped_at_the_end),
            "Right in evaluation. In training, the layer's output is dropped. Dropout belongs on what each part "
            "returns, before it is added.",
        ),
        Mistake(
            "dropout-on-attention-alone",
            _steps(after_feed=lambda layer, x, out: x + out),
            "Right in evaluation. In training, what the feed-forward network returns is not dropped.",
        ),
        Mistake(
            "dropout-on-the-network-alone",
            _steps(after_attention=lambda layer, x, out: x + out),
            "Right in evaluation. In training, what the attention returns is not dropped.",
        ),
        Mistake(
            "activation-not-passed-on",
            _activation_not_passed_on,
            'Right with ReLU; `activation="gelu"` makes no difference. Hand it on to the feed-forward network.',
        ),
        Mistake(
            "network-without-sum-and-norm",
            _with(lambda layer, x, mask: layer.feed_forward(layer.residuals[0](x, lambda y: _attend(layer, y, mask)))),
            "Around the feed-forward network the frame is missing: there is neither a sum nor a norm. It needs a "
            "`Residual` of its own.",
        ),
        Mistake(
            "norm-of-the-part-alone",
            _with(_normed_parts),
            "Pre-norm is right. With post-norm, you normalize what the part returns and then add it. The norm acts on "
            "the sum: norm(x + part(x)).",
        ),
        Mistake(
            "second-sum-with-the-old-stream",
            _with(_second_sum_with_the_old_stream),
            "The second sum adds the network's output to what *entered* the layer, so what attention wrote is lost. "
            "Add it to the stream as the first sum left it.",
        ),
        Mistake(
            "part-called-too-early",
            _with(lambda layer, x, mask: layer.residuals[0](x, _attend(layer, x, mask))),
            "A `Residual` wants a function and gets a tensor: the part has run already. Hand on the part itself, and "
            "`Residual` will call it: `residual(x, lambda y: …)`.",
        ),
        Mistake(
            "residuals-in-a-plain-list",
            _residuals_in_a_list,
            "The residuals stand in a plain Python list, where the module does not find them: their norms do not train "
            "and `eval()` does not reach their dropout. Use `nn.ModuleList`.",
        ),
    ),
    hints=(
        "Two parts, two residual sums, two norms. Which of the library's modules has a sum, a norm, and dropout in it?",
        "`Residual(d_model, dropout, norm_first)` goes around a part: `residual(x, part)`. Attention takes the same "
        "tensor three times and returns two things, of which the layer needs the first.",
        "`x = self.residual_1(x, lambda y: self.attention(y, y, y, mask)[0])`, then "
        "`return self.residual_2(x, self.feed_forward)`.",
    ),
    alternatives=(WithTwoResiduals, StepByStep, AroundPytorchs),
    difficulty=2,
    minutes=15,
)
