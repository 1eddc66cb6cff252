"""Exercise: a decoder layer."""

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.decoder import DecoderLayer
from course_lib.encoder import FeedForward
from course_lib.layer_norm import Residual
from course_lib.masks import causal_mask
from course_lib.multi_head import MultiHeadAttention
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.decoder._modules import fill
from course_practice.exercises.inputs import randn
from course_practice.own.modules import module_of


class WithThreeNames(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1, norm_first=False, activation="relu"):
        super().__init__()
        self.look_back = MultiHeadAttention(d_model, n_heads)
        self.look_across = MultiHeadAttention(d_model, n_heads)
        self.think = FeedForward(d_model, d_ff, activation)
        self.around_back = Residual(d_model, dropout, norm_first)
        self.around_across = Residual(d_model, dropout, norm_first)
        self.around_think = Residual(d_model, dropout, norm_first)

    def forward(self, x, memory, tgt_mask=None, src_mask=None):
        def back(y):
            output, _weights = self.look_back(y, y, y, tgt_mask)
            return output

        def across(y):
            output, _weights = self.look_across(y, memory, memory, src_mask)
            return output

        x = self.around_back(x, back)
        x = self.around_across(x, across)
        return self.around_think(x, self.think)


class StepByStep(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1, norm_first=False, activation="relu"):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(3))
        self.attentions = nn.ModuleList(MultiHeadAttention(d_model, n_heads) for _ in range(2))
        self.wide, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout, self.norm_first, self.activation = nn.Dropout(dropout), norm_first, getattr(F, activation)

    def forward(self, x, memory, tgt_mask=None, src_mask=None):
        parts = [
            lambda y: self.attentions[0](y, y, y, tgt_mask)[0],
            lambda y: self.attentions[1](y, memory, memory, src_mask)[0],
            lambda y: self.narrow(self.activation(self.wide(y))),
        ]
        for part, norm in zip(parts, self.norms, strict=True):
            x = x + self.dropout(part(norm(x))) if self.norm_first else norm(x + self.dropout(part(x)))
        return x


class AroundPytorchs(nn.Module):
    """PyTorch's own layer, which wants masks with True = hidden, one for each head."""

    def __init__(self, d_model, n_heads, d_ff, dropout=0.1, norm_first=False, activation="relu"):
        super().__init__()
        self.n_heads = n_heads
        self.layer = nn.TransformerDecoderLayer(
            d_model, n_heads, d_ff, dropout, activation, norm_first=norm_first, batch_first=True
        )

    def hidden(self, mask, batch, q_len, k_len):
        return None if mask is None else ~mask.expand(batch, self.n_heads, q_len, k_len).flatten(0, 1)

    def forward(self, x, memory, tgt_mask=None, src_mask=None):
        batch, tgt_len, src_len = *x.shape[:2], memory.shape[1]
        return self.layer(
            x, memory, self.hidden(tgt_mask, batch, tgt_len, tgt_len), self.hidden(src_mask, batch, tgt_len, src_len)
        )


def made_by_a_function(d_model, n_heads, d_ff, dropout=0.1, norm_first=False, activation="relu"):
    return WithThreeNames(d_model, n_heads, d_ff, dropout, norm_first, activation)


def _masks(tgt_len, src_len):
    real = torch.arange(src_len) < torch.tensor([[src_len], [src_len - 2]])
    return causal_mask(tgt_len), real[:, None, None, :]


@torch.no_grad()
def _call(obj, given):
    """Build the layer, give its parameters fixed numbers, and run it; in training where everything is dropped."""
    made = obj(*given.args, **given.kwargs)
    if made is None:
        return None
    layer = module_of(made).eval()
    d_model, _n_heads, d_ff = given.args[:3]
    tgt_len, src_len = (4, 4) if "as many" in given.about else (5, 3)
    x, memory = randn(2, tgt_len, d_model, seed=7), randn(2, src_len, d_model, seed=8)
    masks = () if "no masks" in given.about else _masks(tgt_len, src_len)
    fill(layer, lambda: layer(x.clone(), memory.clone(), *masks), d_model, d_ff)
    layer.train(given.args[3:4] == (1.0,))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return layer(x, memory, *masks)


def _with(forward):
    """A class with the library's parts and another `forward(layer, x, memory, tgt_mask, src_mask)`."""

    class Layer(DecoderLayer):
        def forward(self, x, memory, tgt_mask=None, src_mask=None):
            return forward(self, x, memory, tgt_mask, src_mask)

    return Layer


def _own(layer, y, mask):
    return layer.self_attention(y, y, y, mask)[0]


def _cross(layer, y, memory, mask):
    return layer.cross_attention(y, memory, memory, mask)[0]


def _around(residual, x, part, pre=None, add=None, drop=True):
    """One residual sum by hand, so that what is added, and where the norm stands, can be another."""
    pre = residual.norm_first if pre is None else pre
    dropout = residual.dropout if drop else nn.Identity()
    base = x if add is None else add
    if pre:
        return base + dropout(part(residual.norm(x)))
    return residual.norm(base + dropout(part(x)))


def _steps(layer, x, memory, tgt_mask, src_mask, own=_own, cross=_cross, feed=None, **given):
    first, second, third = given.pop("residuals", layer.residuals)
    x = _around(first, x, lambda y: own(layer, y, tgt_mask), **given)
    x = _around(second, x, lambda y: cross(layer, y, memory, src_mask), **given)
    return _around(third, x, lambda y: (feed or layer.feed_forward)(y), **given)


def _pairs_kept(layer, x, memory, tgt_mask, src_mask):
    x = layer.residuals[0](x, lambda y: layer.self_attention(y, y, y, tgt_mask))
    x = layer.residuals[1](x, lambda y: layer.cross_attention(y, memory, memory, src_mask))
    return layer.residuals[2](x, layer.feed_forward)


def _both_masks_at_once(layer, x, memory, tgt_mask, src_mask):
    x = layer.residuals[0](x, lambda y: _own(layer, y, tgt_mask))
    x = layer.residuals[1](x, lambda y: _cross(layer, y, memory, tgt_mask & src_mask))
    return layer.residuals[2](x, layer.feed_forward)


def _cross_first(layer, x, memory, tgt_mask, src_mask):
    x = layer.residuals[0](x, lambda y: _cross(layer, y, memory, src_mask))
    x = layer.residuals[1](x, lambda y: _own(layer, y, tgt_mask))
    return layer.residuals[2](x, layer.feed_forward)


def _feed_forward_between(layer, x, memory, tgt_mask, src_mask):
    x = layer.residuals[0](x, lambda y: _own(layer, y, tgt_mask))
    x = layer.residuals[1](x, layer.feed_forward)
    return layer.residuals[2](x, lambda y: _cross(layer, y, memory, src_mask))


def _adds_the_input_of_the_layer(layer, x, memory, tgt_mask, src_mask):
    first, second, third = layer.residuals
    y = _around(first, x, lambda y: _own(layer, y, tgt_mask))
    y = _around(second, y, lambda y: _cross(layer, y, memory, src_mask), add=x)
    return _around(third, y, layer.feed_forward)


def _no_sum_around_cross(layer, x, memory, tgt_mask, src_mask):
    first, second, third = layer.residuals
    x = first(x, lambda y: _own(layer, y, tgt_mask))
    if second.norm_first:
        x = second.dropout(_cross(layer, second.norm(x), memory, src_mask))
    else:
        x = second.norm(second.dropout(_cross(layer, x, memory, src_mask)))
    return third(x, layer.feed_forward)


def _no_sums(layer, x, memory, tgt_mask, src_mask):
    return _steps(layer, x, memory, tgt_mask, src_mask, add=torch.zeros(()))


def _norm_before_the_sum(layer, x, memory, tgt_mask, src_mask):
    """norm(part(x)) is added."""
    if layer.residuals[0].norm_first:
        return DecoderLayer.forward(layer, x, memory, tgt_mask, src_mask)
    first, second, third = layer.residuals
    x = x + first.norm(first.dropout(_own(layer, x, tgt_mask)))
    x = x + second.norm(second.dropout(_cross(layer, x, memory, src_mask)))
    return x + third.norm(third.dropout(layer.feed_forward(x)))


def _normed_memory(layer, x, memory, tgt_mask, src_mask):
    if not layer.residuals[0].norm_first:
        return DecoderLayer.forward(layer, x, memory, tgt_mask, src_mask)
    norm = layer.residuals[1].norm
    cross = lambda layer, y, memory, mask: _cross(layer, y, norm(memory), mask)  # noqa: E731
    return _steps(layer, x, memory, tgt_mask, src_mask, cross=cross)


def _second_look_masked(layer, x, memory, tgt_mask, src_mask):
    """The second attention reads the target again, with the target's mask."""
    return _steps(layer, x, memory, tgt_mask, tgt_mask, cross=lambda layer, y, memory, mask: _cross(layer, y, y, mask))


def _asks_with_the_bare_stream(layer, x, memory, tgt_mask, src_mask):
    """The part takes x from outside, and not what the residual sum hands it."""
    first, second, third = layer.residuals
    x = first(x, lambda y: _own(layer, y, tgt_mask))
    x = second(x, lambda _y, x=x: _cross(layer, x, memory, src_mask))
    return third(x, layer.feed_forward)


def _adds_twice(layer, x, memory, tgt_mask, src_mask):
    first, second, third = layer.residuals
    x = first(x, lambda y: _own(layer, y, tgt_mask))
    x = second(x, lambda y: y + _cross(layer, y, memory, src_mask))
    return third(x, layer.feed_forward)


def _cross_attention_alone(layer, x, memory, tgt_mask, src_mask):
    first, _second, third = layer.residuals
    x = _cross(layer, first(x, lambda y: _own(layer, y, tgt_mask)), memory, src_mask)
    return third(x, layer.feed_forward)


def _feed_forward_without_sum(layer, x, memory, tgt_mask, src_mask):
    """Around the network stands a norm alone."""
    x = _no_feed_forward(layer, x, memory, tgt_mask, src_mask)
    return _around(layer.residuals[2], x, layer.feed_forward, add=torch.zeros(()), drop=False)


def _feed_forward_alone(layer, x, memory, tgt_mask, src_mask):
    return layer.feed_forward(_no_feed_forward(layer, x, memory, tgt_mask, src_mask))


def _always_causal(layer, x, memory, tgt_mask, src_mask):
    return DecoderLayer.forward(layer, x, memory, causal_mask(x.shape[1]), src_mask)


def _no_norms(layer, x, memory, tgt_mask, src_mask):
    x = x + layer.residuals[0].dropout(_own(layer, x, tgt_mask))
    x = x + layer.residuals[1].dropout(_cross(layer, x, memory, src_mask))
    return x + layer.residuals[2].dropout(layer.feed_forward(x))


def _no_feed_forward(layer, x, memory, tgt_mask, src_mask):
    x = layer.residuals[0](x, lambda y: _own(layer, y, tgt_mask))
    return layer.residuals[1](x, lambda y: _cross(layer, y, memory, src_mask))


def _no_cross(layer, x, memory, tgt_mask, src_mask):
    x = layer.residuals[0](x, lambda y: _own(layer, y, tgt_mask))
    return layer.residuals[2](x, layer.feed_forward)


def _without_dropout(d_model, n_heads, d_ff, dropout=0.1, norm_first=False, activation="relu"):
    return DecoderLayer(d_model, n_heads, d_ff, 0.0, norm_first, activation)


def _dropout_not_passed_on(d_model, n_heads, d_ff, dropout=0.1, norm_first=False, activation="relu"):
    return DecoderLayer(d_model, n_heads, d_ff, norm_first=norm_first, activation=activation)


def _shared_norm(*numbers):
    """A class whose three parts use the residuals with these numbers."""
    return _with(lambda layer, *given: _steps(layer, *given, residuals=[layer.residuals[i] for i in numbers]))


def _activation_fixed(d_model, n_heads, d_ff, dropout=0.1, norm_first=False, activation="relu"):
    return DecoderLayer(d_model, n_heads, d_ff, dropout, norm_first)


EXERCISE = Exercise(
    title="A decoder layer",
    task="A module: masked self-attention, cross-attention to the memory, and the feed-forward network, in this order. "
    "Each stands in a residual sum with dropout on what is added, and with a norm of its own: after the sum or, with "
    "norm_first, before the part.",
    reference=DecoderLayer,
    call=_call,
    cases=lambda: [
        case(2, 1, 3, about="post-norm, no masks"),
        case(4, 2, 6, about="post-norm, both masks, five target and three source words"),
        case(4, 2, 6, about="post-norm, both masks, as many target as source words"),
        case(6, 3, 5, 0.1, True, about="pre-norm, both masks"),
        case(4, 2, 6, 0.0, True, "gelu", about="pre-norm, GELU, as many target as source words"),
        case(4, 2, 6, 1.0, False, about="post-norm, training, everything dropped"),
        case(4, 2, 6, 1.0, True, about="pre-norm, training, everything dropped"),
    ],
    mistakes=(
        Mistake(
            "cross-attention-first",
            _with(_cross_first),
            "The target asks the memory before its own words have been put together. Self-attention comes first, "
            "cross-attention second.",
        ),
        Mistake(
            "feed-forward-in-the-middle",
            _with(_feed_forward_between),
            "The feed-forward network comes before the cross-attention. It is the last of the three parts.",
        ),
        Mistake(
            "weights-not-taken-off",
            _with(_pairs_kept),
            "Attention returns two things, its output and its weights, and you hand the pair on to the residual sum. "
            "Take the first, `[0]`, of both attentions.",
        ),
        Mistake(
            "both-masks-for-the-memory",
            _with(_both_masks_at_once),
            "Cross-attention looks at the source alone, so it takes `src_mask` as it is. The target's mask belongs to "
            "the self-attention; its columns are target tokens, and either mask may be None.",
        ),
        Mistake(
            "both-masks-missing",
            _with(lambda layer, x, memory, tgt_mask, src_mask: DecoderLayer.forward(layer, x, memory)),
            "Neither mask makes a difference: hand `tgt_mask` on to the self-attention, and `src_mask` to the "
            "cross-attention.",
        ),
        Mistake(
            "causal-mask-missing",
            _with(lambda layer, x, memory, tgt_mask, src_mask: DecoderLayer.forward(layer, x, memory, None, src_mask)),
            "Your `tgt_mask` makes no difference, so words see those after them. It belongs to the self-attention.",
        ),
        Mistake(
            "source-mask-missing",
            _with(lambda layer, x, memory, tgt_mask, src_mask: DecoderLayer.forward(layer, x, memory, tgt_mask)),
            "Your `src_mask` makes no difference, so the target attends to the source's pads. It belongs to the "
            "cross-attention.",
        ),
        Mistake(
            "masks-exchanged",
            _with(
                lambda layer, x, memory, tgt_mask, src_mask: DecoderLayer.forward(layer, x, memory, src_mask, tgt_mask)
            ),
            "The masks are exchanged: `tgt_mask` is (tgt_len, tgt_len) and belongs to the self-attention, `src_mask` "
            "hides the source's pads in the cross-attention.",
        ),
        Mistake(
            "both-masks-for-the-cross-attention",
            _with(
                lambda layer, x, memory, tgt_mask, src_mask: _steps(
                    layer,
                    x,
                    memory,
                    tgt_mask,
                    src_mask if tgt_mask is None or x.shape[1] != memory.shape[1] else src_mask & tgt_mask,
                )
            ),
            "Where source and target have equal lengths, your cross-attention is causal as well. The source is "
            "finished when the decoder begins: the cross-attention needs `src_mask` alone.",
        ),
        Mistake(
            "true-hides",
            _with(
                lambda layer, x, memory, tgt_mask, src_mask: DecoderLayer.forward(
                    layer, x, memory, *(None if mask is None else ~mask for mask in (tgt_mask, src_mask))
                )
            ),
            "You hide what the masks let through. Here True = may attend, so they go to the attentions as they are.",
        ),
        Mistake(
            "target-as-its-own-memory",
            _with(
                lambda layer, x, memory, tgt_mask, src_mask: _steps(
                    layer, x, memory, tgt_mask, None, cross=lambda layer, y, memory, mask: _cross(layer, y, y, mask)
                )
            ),
            "The memory makes no difference: your second attention reads the target again. Its keys and values come "
            "from `memory`.",
        ),
        Mistake(
            "target-read-twice",
            _with(_second_look_masked),
            "The memory makes no difference: your second attention reads the target again. Its keys and values come "
            "from `memory`, and its mask is `src_mask`.",
        ),
        Mistake(
            "asks-with-the-bare-stream",
            _with(_asks_with_the_bare_stream),
            "Post-norm is right. With pre-norm the cross-attention's queries are made from `x` without its norm. "
            "`residual(x, part)` hands the normalized vectors to the part: use what the part is given.",
        ),
        Mistake(
            "adds-twice",
            _with(_adds_twice),
            "Around the cross-attention the stream is added twice: once by the part, once by `Residual`. The part "
            "returns what is to be added, and nothing else.",
        ),
        Mistake(
            "cross-attention-outside-a-sum",
            _with(_cross_attention_alone),
            "The cross-attention stands in no residual sum, without x and without a norm, so the words written so far "
            "are lost there. Call `residual(x, part)` for all three parts.",
        ),
        Mistake(
            "feed-forward-without-a-sum",
            _with(_feed_forward_without_sum),
            "The residual sum around the feed-forward network is missing, and so is its dropout: what the attentions "
            "wrote is lost there.",
        ),
        Mistake(
            "feed-forward-outside-a-sum",
            _with(_feed_forward_alone),
            "The feed-forward network stands in no residual sum, without x and without a norm. Call "
            "`residual(x, part)` for all three parts.",
        ),
        Mistake(
            "always-causal",
            _with(_always_causal),
            "Right with a causal mask; `tgt_mask=None` should hide nothing. Hand on the mask that you are given.",
        ),
        Mistake(
            "no-cross-attention",
            _with(_no_cross),
            "The memory makes no difference: the cross-attention is missing. It stands between the self-attention and "
            "the feed-forward network.",
        ),
        Mistake(
            "no-feed-forward",
            _with(_no_feed_forward),
            "The third part is missing, the feed-forward network.",
        ),
        Mistake(
            "one-attention-for-both",
            _with(
                lambda layer, x, memory, tgt_mask, src_mask: _steps(
                    layer,
                    x,
                    memory,
                    tgt_mask,
                    src_mask,
                    cross=lambda layer, y, memory, mask: layer.self_attention(y, memory, memory, mask)[0],
                )
            ),
            "One attention does both jobs, with the same weights. Self-attention and cross-attention each have their "
            "own.",
        ),
        Mistake(
            "one-norm-for-all",
            _with(
                lambda layer, x, memory, tgt_mask, src_mask: _steps(
                    layer, x, memory, tgt_mask, src_mask, residuals=[layer.residuals[0]] * 3
                )
            ),
            "The three parts share one norm. Each has a norm of its own, with its own gain and bias.",
        ),
        Mistake(
            "one-norm-for-the-attentions",
            _shared_norm(0, 0, 2),
            "The two attentions share one norm. Each of the three parts has a norm of its own.",
        ),
        Mistake(
            "one-norm-for-the-last-two",
            _shared_norm(0, 1, 1),
            "Cross-attention and feed-forward network share one norm. Each of the three parts has a norm of its own.",
        ),
        Mistake(
            "no-norms",
            _with(_no_norms),
            "There is no norm. The layer has three, one for each part.",
        ),
        Mistake(
            "adds-the-input-of-the-layer",
            _with(_adds_the_input_of_the_layer),
            "The second sum adds what entered the *layer*, so that what self-attention wrote is lost. It must add "
            "what entered the cross-attention.",
        ),
        Mistake(
            "no-sum-around-cross-attention",
            _with(_no_sum_around_cross),
            "The residual sum around the cross-attention is missing, so the words written so far are lost there.",
        ),
        Mistake(
            "no-sums",
            _with(_no_sums),
            "Nothing is added to the stream: each part replaces it. The residual sum is x + part(x), three times.",
        ),
        Mistake(
            "norm-before-the-sum",
            _with(_norm_before_the_sum),
            "Pre-norm is right. With post-norm you normalize what the part returns, and then add. The norm acts on the "
            "sum.",
        ),
        Mistake(
            "memory-normalized",
            _with(_normed_memory),
            "Post-norm is right. With pre-norm you also normalize the memory. Only the stream x passes through the "
            "layer's norms: the encoder has normalized its output already.",
        ),
        Mistake(
            "always-post-norm",
            _with(lambda *given: _steps(*given, pre=False)),
            "Right for post-norm; `norm_first=True` makes no difference. Hand it on to the three residuals.",
        ),
        Mistake(
            "always-pre-norm",
            _with(lambda *given: _steps(*given, pre=True)),
            "Right for pre-norm; the default is post-norm, where the norm comes after the sum.",
        ),
        Mistake(
            "no-dropout",
            _without_dropout,
            "Right in evaluation. In training nothing is dropped: hand `dropout` on to the three residuals.",
        ),
        Mistake(
            "dropout-not-passed-on",
            _dropout_not_passed_on,
            "Right in evaluation. In training, `dropout` makes no difference: the default is used. Hand it on.",
        ),
        Mistake(
            "activation-fixed",
            _activation_fixed,
            'Right with ReLU; `activation="gelu"` makes no difference. Hand it on to the feed-forward network.',
        ),
    ),
    hints=(
        "Take the encoder layer and count what is new: one more part, one more residual sum, and two masks.",
        "`Residual(d_model, dropout, norm_first)` goes around a part: `residual(x, part)`. The second part has its "
        "queries from the stream, its keys and values from `memory`, and the mask `src_mask`.",
        "`x = self.residuals[1](x, lambda y: self.cross_attention(y, memory, memory, src_mask)[0])`, between a line "
        "for the self-attention with `tgt_mask` and one for the feed-forward network.",
    ),
    alternatives=(StepByStep, WithThreeNames, AroundPytorchs, made_by_a_function),
    difficulty=2,
    minutes=20,
)
