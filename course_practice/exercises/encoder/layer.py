import torch
from torch import nn
from torch.nn import functional as F

from course_lib.encoder import EncoderLayer, FeedForward
from course_lib.layer_norm import Residual
from course_lib.multi_head import MultiHeadAttention
from course_practice.assembly.modules import module_of, refuse_chance, refuse_plain_lists
from course_practice.engine import Exercise, case
from course_practice.exercises.encoder._modules import fill_layer
from course_practice.exercises.inputs import randn


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
def _made(obj, given):
    """Build it, and give its parameters fixed numbers; and a function that runs it, with a mask in most cases."""
    made = obj(*given.args, **given.kwargs)
    if made is None:
        return None, None
    layer = module_of(made).eval()
    refuse_plain_lists(layer)
    d_model, _n_heads, d_ff = given.args[:3]
    masked = not given.about.endswith("no mask")
    mask = MASK.clone()
    run = lambda stream: layer(stream, mask) if masked else layer(stream)  # noqa: E731
    fill_layer(layer, lambda: run(randn(2, 5, d_model, seed=8)), d_model, d_ff)
    if not torch.equal(mask, MASK):
        raise ValueError("expected the mask as it was, got it changed in place: the next layer of a stack reads it too")
    return layer, run


@torch.no_grad()
def _call(obj, given):
    """Run it: in training mode where all is dropped, else not."""
    layer, run = _made(obj, given)
    if layer is None:
        return None
    layer.train(given.args[3:4] == (1.0,))
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        if not layer.training:
            refuse_chance(lambda: run(randn(2, 5, given.args[0], seed=7)))
        return run(randn(2, 5, given.args[0], seed=7))


def _trained(obj, given):
    layer, run = _made(obj, given)
    x = randn(2, 5, given.args[0], seed=7).requires_grad_()
    return run(x), {"x": x, "the parameters": layer}


EXERCISE = Exercise(
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
    alternatives=(WithTwoResiduals, StepByStep, AroundPytorchs),
    trained=_trained,
)
