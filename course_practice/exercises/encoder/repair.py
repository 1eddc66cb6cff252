"""Exercise: bug hunt: an encoder of one layer."""

import copy
import itertools

import torch
from torch import nn

from course_lib.encoder import Encoder, EncoderLayer, masked_mean
from course_lib.layer_norm import LayerNorm
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.encoder._modules import fill_layer
from course_practice.exercises.inputs import randn
from course_practice.own.modules import gain_and_bias, is_norm, layers_of, module_of


class SentenceEncoder(nn.Module):
    """x (batch, seq_len, d_model) → one vector for each sentence; real (batch, seq_len), True at words."""

    def __init__(self, n_layers, d_model, n_heads, d_ff):
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(d_model, n_heads, d_ff, norm_first=True) for _ in range(n_layers))
        self.norm = LayerNorm(d_model)

    def forward(self, x, real):
        for layer in self.layers:
            x = layer(x, real[:, None, None, :])
        return masked_mean(self.norm(x), real)


class SentenceEncoderStarter(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff):
        super().__init__()
        layer = EncoderLayer(d_model, n_heads, d_ff, norm_first=True)
        self.layers = [layer] * n_layers
        self.norm = LayerNorm(d_model)

    def forward(self, x, real):
        for layer in self.layers:
            x = layer(x)
        return self.norm(x).mean(dim=1)


class AroundTheLibrarys(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff):
        super().__init__()
        self.encoder = Encoder(n_layers, d_model, n_heads, d_ff, norm_first=True)

    def forward(self, x, real):
        return masked_mean(self.encoder(x, real[:, None, None]), real)


class WithCopies(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff):
        super().__init__()
        layer = EncoderLayer(d_model, n_heads, d_ff, norm_first=True)
        self.layers = nn.ModuleList([copy.deepcopy(layer) for _ in range(n_layers)])
        self.norm = LayerNorm(d_model)

    def forward(self, x, real):
        mask = real.unsqueeze(1).unsqueeze(2)
        for layer in self.layers:
            x = layer(x, mask)
        words = self.norm(x).where(real[..., None], 0.0)
        return words.sum(dim=1) / real.sum(dim=1)[:, None]


class WithNumberedModules(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff):
        super().__init__()
        self.n_layers = n_layers
        for number in range(n_layers):
            self.add_module(f"layer{number}", EncoderLayer(d_model, n_heads, d_ff, norm_first=True))
        self.final = nn.LayerNorm(d_model)

    def forward(self, x, real):
        for number in range(self.n_layers):
            x = getattr(self, f"layer{number}")(x, real[:, None, None, :])
        return torch.stack([words[keep].mean(0) for words, keep in zip(self.final(x), real, strict=True)])


REAL = torch.tensor([[True] * 5, [True, True, True, False, False]])


@torch.no_grad()
def _call(obj, given):
    """The vectors of two sentences, the second with two pads, and how many parameters an optimizer would get."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # should a layer not be found, nothing is left to chance all the same
        made = obj(*given.args, **given.kwargs)
    if made is None:
        return None
    module = module_of(made).eval()
    _n_layers, d_model, _n_heads, d_ff = given.args
    layers = layers_of(module, d_model, d_ff)
    for number, layer in enumerate(layers):
        fill_layer(layer.eval(), lambda layer=layer: layer(randn(2, 5, d_model)), d_model, d_ff, seed=100 * number)
    inside = {id(part) for layer in layers for part in layer.modules()}
    for norm in (part for part in module.modules() if is_norm(part) and id(part) not in inside):
        gain, bias = gain_and_bias(norm)
        gain.copy_(1 + randn(d_model, seed=91, scale=0.3))
        bias.copy_(randn(d_model, seed=92, scale=0.3))
    vectors = module(randn(2, 5, d_model, seed=7), REAL.clone())  # it may be changed in place
    if vectors is None:
        return None
    return vectors, sum(p.numel() for p in module.parameters())


def _with(
    layers="own", registered=True, mask=True, pool="words", norm=True, mask_of=None, norm_first=True, zeroed_input=False
):
    """The listing with any of its bugs left in."""

    class Listing(nn.Module):
        def __init__(self, n_layers, d_model, n_heads, d_ff):
            super().__init__()
            made = [EncoderLayer(d_model, n_heads, d_ff, norm_first=norm_first) for _ in range(n_layers)]
            made = [made[0]] * n_layers if layers == "one" else made
            self.layers = nn.ModuleList(made) if registered else made
            self.norm = nn.Identity() if norm is None else LayerNorm(d_model)

        def forward(self, x, real):
            x = x * real[..., None] if zeroed_input else x
            see = (mask_of or (lambda real: real[:, None, None, :]))(real)
            for layer in self.layers:
                x = layer(x, see) if mask else layer(x)
            if pool == "then norm":
                return self.norm(masked_mean(x, real))
            hidden = self.norm(x) if norm else x
            if pool == "words":
                return masked_mean(hidden, real)
            if pool == "zeroed":
                return (hidden * real[..., None]).mean(dim=1)
            if pool == "first":
                return hidden[:, 0]
            return hidden.mean(dim=1)

    return Listing


# The four bugs: name, what leaves it in, what was found when it is gone, and what to ask while it is there.
_BUGS = (
    ("one-layer", {"layers": "one"}, "layers of their own", "How many different layers are in the list?"),
    (
        "not-registered",
        {"registered": False},
        "registered layers",
        "Does an optimizer get the layers' parameters? Print `len(list(model.parameters()))`.",
    ),
    ("no-mask", {"mask": False}, "the mask", "What would the pad probe say about the attention?"),
    ("plain-mean", {"pool": "all"}, "the mean", "Over which tokens does the mean run?"),
)


def _partly_repaired():
    """Every way to find some of the four bugs, each with its own message."""
    for left in itertools.product((True, False), repeat=len(_BUGS)):
        names = [name for (name, *_), is_left in zip(_BUGS, left, strict=True) if is_left]
        if not names or len(names) == len(_BUGS):
            continue
        options = {k: v for (_, kept, *_), is_left in zip(_BUGS, left, strict=True) if is_left for k, v in kept.items()}
        found = [what for (_, _, what, _), is_left in zip(_BUGS, left, strict=True) if not is_left]
        asks = " ".join(ask for (*_, ask), is_left in zip(_BUGS, left, strict=True) if is_left)
        count = ("One", "Two", "Three")[len(found) - 1]
        yield Mistake(
            "left-" + "-and-".join(names), _with(**options), f"{count} of four found: {', '.join(found)}. {asks}"
        )


EXERCISE = Exercise(
    title="Bug hunt: an encoder of one layer",
    task="Find the four bugs: one vector for each sentence, from n_layers layers with weights of their own, that pads "
    "do not touch.",
    reference=SentenceEncoder,
    starter=SentenceEncoderStarter,
    call=_call,
    cases=lambda: [
        case(2, 4, 2, 6, about="two layers; the second sentence has two pads"),
        case(1, 2, 1, 3, about="one layer"),
        case(3, 6, 3, 5, about="three layers"),
    ],
    mistakes=(
        *_partly_repaired(),
        Mistake(
            "zeroed-then-mean",
            _with(pool="zeroed"),
            "Three of four are gone, and the mean is half repaired: the pads' vectors are zeros, but they still count "
            "in the length. Divide by the number of words.",
        ),
        Mistake(
            "mask-inverted",
            _with(mask_of=lambda real: ~real[:, None, None, :]),
            "Everything else is right, but your words attend to the pads alone. Here True = may attend.",
        ),
        Mistake(
            "mask-of-two-axes",
            _with(mask_of=lambda real: real),
            "Everything else is right, but a mask of (batch, seq_len) is read as (q_len, k_len). A padding mask is "
            "(batch, 1, 1, k_len).",
        ),
        Mistake(
            "mask-along-the-queries",
            _with(mask_of=lambda real: real[:, None, :, None]),
            "Everything else is right, but the mask runs along the queries: (batch, 1, 1, k_len) hides pads as keys.",
        ),
        Mistake(
            "norm-lost",
            _with(norm=False),
            "The four bugs are gone, and so is the norm at the end, which a pre-norm stack needs.",
        ),
        Mistake(
            "reads-the-first-token",
            _with(pool="first"),
            "Everything else is right, but you read the first token. Here the sentence's vector is the mean of its "
            "words.",
        ),
        Mistake(
            "norm-after-the-mean",
            _with(pool="then norm"),
            "The four bugs are gone, but the norm comes after the mean now. The starter normalizes each token first, "
            "and that was right.",
        ),
        Mistake(
            "norm-not-made",
            _with(norm=None),
            "The four bugs are gone. The norm at the end is gone as well, and its gain and bias with it; a pre-norm "
            "stack needs it.",
        ),
        Mistake(
            "post-norm-layers",
            _with(norm_first=False),
            "The four bugs are gone, but the layers have become post-norm: `norm_first=True` was right.",
        ),
        Mistake(
            "pads-zeroed-at-the-input",
            _with(mask=False, zeroed_input=True),
            "Three of four found. The mask is missing: a pad whose vector is zero is still a key, and it takes its "
            "share of the weights. Hide it from the attention.",
        ),
    ),
    hints=(
        "Two bugs stand in `__init__` and two in `forward`. Count the parameters, and run the pad probe.",
        "`[layer] * n_layers` is a list of one layer, and a module finds its parts only among its modules. `forward` "
        "gets `real` and never uses it, though two of its lines need it.",
        "`nn.ModuleList(EncoderLayer(…) for _ in range(n_layers))`, `layer(x, real[:, None, None, :])`, and "
        "`masked_mean(self.norm(x), real)`.",
    ),
    alternatives=(AroundTheLibrarys, WithCopies, WithNumberedModules),
    difficulty=3,
    minutes=15,
)
