import torch
from torch import nn
from torch.nn import functional as F

from course_lib.decoder import DecoderLayer
from course_lib.masks import causal_mask
from course_lib.multi_head import MultiHeadAttention
from course_practice.assembly.modules import module_of, refuse_chance
from course_practice.engine import Exercise, case
from course_practice.exercises.decoder._modules import fill
from course_practice.exercises.inputs import randn


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


def _masks(tgt_len, src_len):
    real = torch.arange(src_len) < torch.tensor([[src_len], [src_len - 2]])
    return causal_mask(tgt_len), real[:, None, None, :]


@torch.no_grad()
def _made(obj, given):
    """Build the layer, and give its parameters fixed numbers; and what it is run on."""
    made = obj(*given.args, **given.kwargs)
    if made is None:
        return None, ()
    layer = module_of(made).eval()
    d_model, _n_heads, d_ff = given.args[:3]
    tgt_len, src_len = (4, 4) if "as many" in given.about else (5, 3)
    x, memory = randn(2, tgt_len, d_model, seed=7), randn(2, src_len, d_model, seed=8)
    masks = () if "no masks" in given.about else _masks(tgt_len, src_len)
    fill(layer, lambda: layer(x.clone(), memory.clone(), *masks), d_model, d_ff)
    return layer, (x, memory, *masks)


@torch.no_grad()
def _call(obj, given):
    """Run the layer; in training where everything is dropped."""
    layer, streams = _made(obj, given)
    if layer is None:
        return None
    layer.train(given.args[3:4] == (1.0,))
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        if not layer.training:
            refuse_chance(lambda: layer(*(one.clone() for one in streams)))
        return layer(*streams)


def _trained(obj, given):
    layer, (x, memory, *masks) = _made(obj, given)
    inputs = {"x": x.requires_grad_(), "memory": memory.requires_grad_()}
    return layer(x, memory, *masks), {**inputs, "the parameters": layer}


EXERCISE = Exercise(
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
    alternatives=(StepByStep,),
    trained=_trained,
)
