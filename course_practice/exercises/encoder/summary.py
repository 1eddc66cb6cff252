"""Exercise: from ids to one vector."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from course_lib.encoder import EncoderLayer, masked_mean
from course_lib.layer_norm import LayerNorm
from course_lib.masks import padding_mask
from course_lib.tokens import PAD
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.inputs import randn


def summary(ids, embedding, layers, norm, pooling):
    """One vector for each sentence: (batch, d_model) from ids (batch, seq_len), which are padded with PAD.

    `pooling` is "cls", the first token's vector, or "mean", the mean over the real tokens.
    """
    real = ids != PAD
    x = embedding(ids)
    for layer in layers:
        x = layer(x, real[:, None, None, :])
    hidden = norm(x)
    return hidden[:, 0] if pooling == "cls" else masked_mean(hidden, real)


def with_the_library(ids, embedding, layers, norm, pooling):
    mask, x = padding_mask(ids), embedding(ids)
    for layer in layers:
        x = layer(x, mask)
    return norm(x)[:, 0] if pooling == "cls" else masked_mean(norm(x), ids.ne(PAD))


def sentence_by_sentence(ids, embedding, layers, norm, pooling):
    found = []
    for sentence in ids:
        x = embedding(sentence[sentence != PAD][None])
        for layer in layers:
            x = layer(x, None)
        x = norm(x)[0]
        found.append(x[0] if pooling == "cls" else x.mean(dim=0))
    return torch.stack(found)


def with_weights_for_the_words(ids, embedding, layers, norm, pooling):
    real = (ids != PAD).double()
    first = torch.zeros_like(real)
    first[:, 0] = 1
    weights = {"cls": first, "mean": real / real.sum(dim=1, keepdim=True)}[pooling]
    hidden = embedding(ids)
    for number in range(len(layers)):
        hidden = layers[number](hidden, real[:, None, None].bool())
    return torch.einsum("bn,bnd->bd", weights.to(hidden.dtype), norm(hidden))


class Part:
    """A part of a model that is given, with a name instead of a long list of what is in it."""

    def __init__(self, name: str, f: Callable[..., Tensor]):
        self.name, self.f = name, f

    @torch.no_grad()
    def __call__(self, *args: Tensor, **kwargs: Tensor) -> Tensor:
        return self.f(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<{self.name}>"


def _parts(n_layers: int, d_model: int, n_heads: int, seed: int) -> tuple[Part, list[Part], Part]:
    """An embedding, layers that are pre-norm, and the norm at the end, with numbers that the seed decides."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        table = randn(12, d_model, seed=seed)
        layers = [EncoderLayer(d_model, n_heads, 2 * d_model, 0.0, True).eval() for _ in range(n_layers)]
        norm = LayerNorm(d_model)
        nn.init.normal_(norm.gain)
        nn.init.normal_(norm.bias)
    order = randn(12, d_model, seed=seed + 1)
    embedding = Part("an embedding with positions", lambda ids: table[ids] + order[: ids.shape[1]])
    numbered = [Part(f"encoder layer {number}", layer) for number, layer in enumerate(layers)]
    return embedding, numbered, Part("the norm at the end", norm)


def _cases():
    sentences = torch.tensor([[1, 7, 9, 4, 8], [1, 5, 6, 0, 0], [1, 9, 0, 0, 0]])
    square = torch.tensor([[1, 5, 6, 7], [1, 9, 0, 0], [1, 4, 4, 0], [1, 0, 0, 0]])
    return [
        case(torch.tensor([[1, 7, 9], [1, 5, 0]]), *_parts(1, 4, 2, seed=0), "cls", about="one layer, one pad"),
        case(torch.tensor([[1, 7, 9], [1, 5, 0]]), *_parts(1, 4, 2, seed=0), "mean", about="one layer, one pad"),
        case(sentences, *_parts(3, 4, 2, seed=1), "mean", about="three layers"),
        case(sentences, *_parts(3, 4, 2, seed=1), "cls", about="three layers"),
        case(square, *_parts(2, 6, 3, seed=2), "mean", about="as many sentences as tokens"),
        case(square, *_parts(2, 6, 3, seed=2), "cls", about="as many sentences as tokens"),
    ]


def _with(
    mask=lambda ids: padding_mask(ids),
    walk=lambda layers: layers,
    finish=lambda norm, x: norm(x),
    pool=None,
    begin=lambda norm, x: x,
    choose=lambda pooling: pooling,
):
    """`summary` with one step done differently."""
    pool = pool or {}
    pools = {"cls": lambda h, real: h[:, 0], "mean": masked_mean, **pool}

    def wrong(ids, embedding, layers, norm, pooling):
        x = begin(norm, embedding(ids))
        for layer in walk(layers):
            x = layer(x, mask(ids))
        return pools[choose(pooling)](finish(norm, x), ids != PAD)

    return wrong


def _each_from_the_start(ids, embedding, layers, norm, pooling):
    x = embedding(ids)
    for layer in layers:
        hidden = layer(x, padding_mask(ids))
    hidden = norm(hidden)
    return hidden[:, 0] if pooling == "cls" else masked_mean(hidden, ids != PAD)


def _norm_after_each(ids, embedding, layers, norm, pooling):
    x = embedding(ids)
    for layer in layers:
        x = norm(layer(x, padding_mask(ids)))
    return x[:, 0] if pooling == "cls" else masked_mean(x, ids != PAD)


def _cls_before_the_norm(ids, embedding, layers, norm, pooling):
    stream = summary(ids, embedding, layers, lambda x: x, "cls")
    return stream if pooling == "cls" else summary(ids, embedding, layers, norm, pooling)


def _stream_added_again(ids, embedding, layers, norm, pooling):
    x = embedding(ids)
    for layer in layers:
        x = x + layer(x, padding_mask(ids))
    x = norm(x)
    return x[:, 0] if pooling == "cls" else masked_mean(x, ids != PAD)


def _plain_mean(hidden, real):
    return hidden.mean(dim=1)


EXERCISE = Exercise(
    title="From ids to one vector",
    task="ids (batch, seq_len) padded with PAD; an embedding, a list of layers called as layer(x, mask), and a norm "
    'for the end of the stack. Return (batch, d_model): the first token\'s vector for "cls", the mean over the real '
    'tokens for "mean".',
    reference=summary,
    cases=_cases,
    mistakes=(
        Mistake(
            "no-mask",
            _with(mask=lambda ids: None),
            "Words attend to pads: no mask reaches the layers. Which shape does a padding mask have?",
        ),
        Mistake(
            "mask-inverted",
            _with(mask=lambda ids: ~padding_mask(ids)),
            "Your words attend to pads alone. Here True = may attend.",
        ),
        Mistake(
            "mask-of-two-axes",
            _with(mask=lambda ids: ids != PAD),
            "The layers get a mask of (batch, seq_len), and shapes line up from the right: it is read as (q_len, "
            "k_len). A padding mask is (batch, 1, 1, k_len).",
        ),
        Mistake(
            "no-mask-and-plain-mean",
            _with(mask=lambda ids: None, pool={"mean": _plain_mean}),
            "The pads take part twice: words attend to them, and they are in the mean. Both need `ids != PAD`.",
        ),
        Mistake(
            "plain-mean",
            _with(pool={"mean": _plain_mean}),
            'Right for "cls". The mean takes the pads in: the mask hides them as keys, but their own outputs are still '
            "there.",
        ),
        Mistake(
            "no-norm",
            _with(finish=lambda norm, x: x),
            "The norm at the end is missing. Pre-norm layers never normalize the stream itself.",
        ),
        Mistake(
            "cls-before-the-norm",
            _cls_before_the_norm,
            'Right for "mean". For "cls" you read the first token before the norm at the end of the stack, and '
            "pre-norm layers never normalize the stream itself.",
        ),
        Mistake(
            "norm-before-the-layers",
            _with(begin=lambda norm, x: norm(x), finish=lambda norm, x: x),
            "The norm comes before the layers. Its place is after the last one.",
        ),
        Mistake(
            "norm-before-and-after",
            _with(begin=lambda norm, x: norm(x)),
            "The norm acts before the layers as well. It has one place, after the last layer.",
        ),
        Mistake(
            "norm-after-each-layer",
            _norm_after_each,
            "The norm comes after every layer. It has one place, after the last one.",
        ),
        Mistake(
            "norm-after-pooling",
            lambda ids, embedding, layers, norm, pooling: norm(summary(ids, embedding, layers, lambda x: x, pooling)),
            "You pool first and normalize the result. For the mean that is another vector: normalize each token first.",
        ),
        Mistake(
            "first-layer-again-and-again",
            _with(walk=lambda layers: [layers[0]] * len(layers)),
            "The first layer runs every time. The layers have weights of their own: run each once.",
        ),
        Mistake(
            "first-layer-alone",
            _with(walk=lambda layers: layers[:1]),
            "Only the first layer runs.",
        ),
        Mistake(
            "last-layer-alone",
            _each_from_the_start,
            "What comes out is the last layer's work on the embedding. Each layer must read the stream as the layer "
            "before left it.",
        ),
        Mistake(
            "layers-backward",
            _with(walk=lambda layers: layers[::-1]),
            "The layers run from the last to the first.",
        ),
        Mistake(
            "no-layers",
            _with(walk=lambda layers: []),
            "No layer runs: what comes out is made from the embedding alone.",
        ),
        Mistake(
            "last-token",
            _with(pool={"cls": lambda h, real: h[:, -1]}),
            'Right for "mean". For "cls" you read the last position, which is a pad in the short sentences: [CLS] '
            "stands first.",
        ),
        Mistake(
            "last-word",
            _with(pool={"cls": lambda h, real: h[torch.arange(len(h)), real.sum(dim=1) - 1]}),
            'Right for "mean". For "cls" you read the last real token: [CLS] stands first.',
        ),
        Mistake(
            "always-cls",
            _with(choose=lambda pooling: "cls"),
            "The argument `pooling` makes no difference: it is always [CLS].",
        ),
        Mistake(
            "always-mean",
            _with(choose=lambda pooling: "mean"),
            "The argument `pooling` makes no difference: it is always the mean.",
        ),
        Mistake(
            "poolings-swapped",
            _with(choose=lambda pooling: {"cls": "mean", "mean": "cls"}[pooling]),
            'The two poolings are swapped: "cls" reads the first token, "mean" averages the real ones.',
        ),
        Mistake(
            "mean-of-pads",
            _with(pool={"mean": lambda h, real: masked_mean(h, ~real)}),
            'Right for "cls". The mean is over the pads: `masked_mean` wants True at the words.',
        ),
        Mistake(
            "mean-without-cls",
            _with(pool={"mean": lambda h, real: masked_mean(h[:, 1:], real[:, 1:])}),
            'Right for "cls". The mean leaves the first token out; here it counts like the others.',
        ),
        Mistake(
            "not-pooled",
            _with(pool={"cls": lambda h, real: h, "mean": lambda h, real: h}),
            "One vector for each *token* comes out. Pool them: one for each sentence.",
        ),
        Mistake(
            "stream-added-again",
            _stream_added_again,
            "You add x to what each layer returns. The layer has its residual sums inside: what it returns *is* the "
            "stream.",
        ),
        Mistake(
            "divided-by-the-length",
            _with(pool={"mean": lambda h, real: (h * real[..., None]).mean(dim=1)}),
            'Right for "cls". The mean leaves the pads out of the sum, but it divides by the length with pads. How '
            "many terms does the sum have?",
        ),
    ),
    hints=(
        "Four steps: embed, run the layers one after the other, normalize, pool. Two of them need to know the pads.",
        "`ids != PAD` says which tokens are real. The layers want it as (batch, 1, 1, seq_len), `masked_mean` as "
        "(batch, seq_len). Each layer reads what the one before returned.",
        "`for layer in layers: x = layer(x, padding_mask(ids))`, then `hidden = norm(x)`, and `hidden[:, 0]` or "
        "`masked_mean(hidden, ids != PAD)`.",
    ),
    alternatives=(with_the_library, sentence_by_sentence, with_weights_for_the_words),
    difficulty=2,
    minutes=15,
)
