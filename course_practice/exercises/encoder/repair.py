import torch
from torch import nn

from course_lib.encoder import Encoder, EncoderLayer, masked_mean
from course_lib.layer_norm import LayerNorm
from course_practice.assembly.modules import gain_and_bias, is_norm, layers_of, module_of
from course_practice.engine import Exercise, case
from course_practice.exercises.encoder._modules import fill_layer
from course_practice.exercises.inputs import randn


class SentenceEncoder(nn.Module):
    """x (batch, seq_len, d_model) → one vector for each sentence; real (batch, seq_len), True at words."""

    def __init__(self, n_layers, d_model, n_heads, d_ff):
        super().__init__()
        layers = [EncoderLayer(d_model, n_heads, d_ff, norm_first=True) for _ in range(n_layers)]
        self.layers = nn.ModuleList(layers)
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


REAL = torch.tensor([[True] * 5, [True, True, True, False, False]])


@torch.no_grad()
def _made(obj, given):
    """Build it, and give its parameters fixed numbers."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)  # should a layer not be found, nothing is left to chance all the same
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
    return module


@torch.no_grad()
def _call(obj, given):
    """The vectors of two sentences, the second with two pads, and how many parameters an optimizer would get."""
    module = _made(obj, given)
    if module is None:
        return None
    vectors = module(randn(2, 5, given.args[1], seed=7), REAL.clone())  # it may be changed in place
    if vectors is None:
        return None
    return vectors, sum(p.numel() for p in module.parameters())


def _trained(obj, given):
    module, x = _made(obj, given), randn(2, 5, given.args[1], seed=7).requires_grad_()
    return module(x, REAL.clone()), {"x": x, "the parameters": module}


EXERCISE = Exercise(
    reference=SentenceEncoder,
    starter=SentenceEncoderStarter,
    call=_call,
    cases=lambda: [
        case(2, 4, 2, 6, about="two layers; the second sentence has two pads"),
        case(1, 2, 1, 3, about="one layer"),
        case(3, 6, 3, 5, about="three layers"),
    ],
    alternatives=(AroundTheLibrarys,),
    trained=_trained,
)
