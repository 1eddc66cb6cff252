"""Exercise: the feed-forward network."""

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.encoder import ACTIVATIONS, FeedForward
from course_practice.engine import Exercise, Mistake, case
from course_practice.exercises.encoder._modules import fill_feed_forward, without_super
from course_practice.exercises.inputs import randn
from course_practice.own.modules import module_of


def as_a_sequence(d_model, d_ff, activation="relu"):
    middle = {"relu": nn.ReLU(), "gelu": nn.GELU()}[activation]
    return nn.Sequential(nn.Linear(d_model, d_ff), middle, nn.Linear(d_ff, d_model))


class TwoConvolutions(nn.Module):
    def __init__(self, d_model, d_ff, activation="relu"):
        super().__init__()
        self.up = nn.Conv1d(d_model, d_ff, kernel_size=1)
        self.down = nn.Conv1d(d_ff, d_model, kernel_size=1)
        self.activation = getattr(F, activation)

    def forward(self, x):
        return self.down(self.activation(self.up(x.transpose(1, 2)))).transpose(1, 2)


class BareMatrices(nn.Module):
    def __init__(self, d_model, d_ff, activation="relu"):
        super().__init__()
        self.w_1, self.b_1 = nn.Parameter(torch.randn(d_model, d_ff)), nn.Parameter(torch.zeros(d_ff))
        self.w_2, self.b_2 = nn.Parameter(torch.randn(d_ff, d_model)), nn.Parameter(torch.zeros(d_model))
        self.activation = activation

    def forward(self, x):
        hidden = x @ self.w_1 + self.b_1
        hidden = hidden.clamp(min=0) if self.activation == "relu" else F.gelu(hidden)
        return hidden @ self.w_2 + self.b_2


@torch.no_grad()
def _call(obj, given):
    """Build it, give its parameters fixed numbers, and run it on two sentences of five tokens."""
    made = obj(*given.args, **given.kwargs)
    if made is None:
        return None
    module = module_of(made).eval()
    if not any(True for _ in module.parameters()):
        raise ValueError("expected a module with parameters, got none: assign its layers to self")
    d_model, d_ff = given.args[:2]
    fill_feed_forward(module, d_model, d_ff)
    return module(randn(2, 5, d_model, seed=7))


def _with(forward, **options):
    """A class with the library's parts and another `forward(self, x)`; `bias=False` leaves the biases out."""

    class Network(FeedForward):
        def __init__(self, d_model, d_ff, activation="relu"):
            super().__init__(d_model, d_ff, activation)
            if options.get("activation"):
                self.activation = ACTIVATIONS[options["activation"]]
            if not options.get("bias", True):
                self.w_1.bias = self.w_2.bias = None

        def forward(self, x):
            return forward(self, x)

    return Network


def _gelu_as(bend):
    """A network with another function in the place of GELU."""
    return _with(lambda net, x: net.w_2(bend(net.w_1(x)) if net.activation is F.gelu else net.w_1(x).relu()))


def _right(net, x):
    return net.w_2(net.activation(net.w_1(x)))


def _without(*names):
    """The biases with these names left out."""

    class Network(FeedForward):
        def __init__(self, d_model, d_ff, activation="relu"):
            super().__init__(d_model, d_ff, activation)
            for name in names:
                getattr(self, name).bias = None

    return Network


def _wide_convolution(d_model, d_ff, activation="relu"):
    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.w_1 = nn.Linear(d_model, d_ff)
            self.w_2 = nn.Linear(d_ff, d_model)

        def forward(self, x):
            before = F.pad(x, (0, 0, 1, 0))[:, :-1]
            return self.w_2(ACTIVATIONS[activation](self.w_1(x + before)))

    return Network()


class _BothNeighbors(nn.Module):
    def __init__(self, d_model, d_ff, activation="relu"):
        super().__init__()
        self.up = nn.Conv1d(d_model, d_ff, kernel_size=3, padding=1)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = ACTIVATIONS[activation]

    def forward(self, x):
        return self.down(self.activation(self.up(x.mT).mT))


class _InAList(nn.Module):
    def __init__(self, d_model, d_ff, activation="relu"):
        super().__init__()
        self.parts = [nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)]


class _OneMatrix(nn.Module):
    """W_2 is W_1 turned over."""

    def __init__(self, d_model, d_ff, activation="relu"):
        super().__init__()
        self.w_1, self.b_2 = nn.Linear(d_model, d_ff), nn.Parameter(torch.zeros(d_model))
        self.activation = ACTIVATIONS[activation]

    def forward(self, x):
        return self.activation(self.w_1(x)) @ self.w_1.weight + self.b_2


EXERCISE = Exercise(
    title="The feed-forward network",
    task="A module that turns x (batch, seq_len, d_model) into W_2 activation(W_1 x + b_1) + b_2; the activation is "
    '"relu" or "gelu".',
    reference=FeedForward,
    call=_call,
    cases=lambda: [
        case(2, 3, about="2 features, 3 hidden ones; x (2, 5, 2) is random"),
        case(4, 16, about="four times as wide inside"),
        case(3, 7, "gelu", about="with GELU"),
        case(6, 5, about="narrower inside"),
    ],
    mistakes=(
        Mistake(
            "no-activation",
            _with(lambda net, x: net.w_2(net.w_1(x))),
            "Your two linear layers are one linear layer: nothing bends between them. Where does the activation "
            "stand in the formula?",
        ),
        Mistake(
            "super-forgotten",
            without_super,
            "A part is assigned before the module exists: `super().__init__()` must be the first line of `__init__`.",
        ),
        Mistake(
            "activation-at-the-end",
            _with(lambda net, x: net.activation(net.w_2(net.w_1(x)))),
            "The activation comes after W_2. There it bends what is added to the stream, and the two linear layers "
            "before it are still one. It belongs between them.",
        ),
        Mistake(
            "activation-twice",
            _with(lambda net, x: net.activation(_right(net, x))),
            "The output goes through the activation once more. With ReLU it could then only add to a feature of the "
            "stream and never take away.",
        ),
        Mistake(
            "activation-first",
            _with(lambda net, x: net.w_2(net.w_1(net.activation(x)))),
            "The activation bends the input. Its place is after W_1, on the d_ff hidden features.",
        ),
        Mistake(
            "activation-before-both",
            _with(lambda net, x: net.w_2(net.activation(net.w_1(net.activation(x))))),
            "Between the layers the activation is right, but the input went through it as well, so its negative "
            "features are lost.",
        ),
        Mistake(
            "always-relu",
            _with(_right, activation="relu"),
            'Right with ReLU; `activation="gelu"` makes no difference.',
        ),
        Mistake(
            "always-gelu",
            _with(_right, activation="gelu"),
            'Right with GELU; the default, `activation="relu"`, must use ReLU.',
        ),
        Mistake(
            "gelu-by-tanh",
            _gelu_as(lambda h: F.gelu(h, approximate="tanh")),
            "Your GELU is the approximation with tanh, which GPT-2 uses. Here it is the exact one, `F.gelu(x)`: they "
            "differ in the fourth digit, and weights trained with one do not quite fit the other.",
        ),
        Mistake(
            "gelu-by-sigmoid",
            _gelu_as(lambda h: h * torch.sigmoid(1.702 * h)),
            "Right with ReLU. Your GELU is the approximation h · sigmoid(1.702 h), which is off by about 0.02 "
            "where it is worst. Here it is the exact one, `F.gelu(h)`.",
        ),
        Mistake(
            "silu-for-gelu",
            _gelu_as(F.silu),
            "Right with ReLU. Your GELU is h · sigmoid(h), which has a name of its own, SiLU. GELU multiplies by the "
            "share of a *normal* distribution below h: `F.gelu(h)`.",
        ),
        Mistake(
            "density-for-share",
            _gelu_as(lambda h: h * (-h.square() / 2).exp() / (2 * torch.pi) ** 0.5),
            "Right with ReLU. Your GELU multiplies h by the *density* of the normal distribution at h. What is meant "
            "is the share of it that lies below h, its cumulative distribution: `F.gelu(h)`.",
        ),
        Mistake(
            "residual-inside",
            _with(lambda net, x: x + _right(net, x)),
            "Your result is x larger: the residual sum is inside. The layer around the network adds x, and it would "
            "be added twice.",
        ),
        Mistake(
            "no-biases",
            _without("w_1", "w_2"),
            "The biases are missing: the formula has b_1 and b_2.",
        ),
        Mistake("no-b-1", _without("w_1"), "The bias b_1 is missing: the first layer adds a vector, too."),
        Mistake("no-b-2", _without("w_2"), "The bias b_2 is missing: the second layer adds a vector, too."),
        Mistake(
            "softmax-inside",
            _with(lambda net, x: net.w_2(net.w_1(x).softmax(dim=-1))),
            "The hidden features come out of a softmax. The network has no weights to share out: it needs ReLU or "
            "GELU there.",
        ),
        Mistake(
            "mixes-neighbors",
            _wide_convolution,
            "A token's result depends on the token before it. The network works on each position by itself: a "
            "convolution needs `kernel_size=1`.",
        ),
        Mistake(
            "mixes-both-neighbors",
            _BothNeighbors,
            "A token's result depends on the tokens before and behind it. The network works on each position by "
            "itself: a convolution needs `kernel_size=1`.",
        ),
        Mistake(
            "dropout-in-evaluation",
            _with(lambda net, x: net.w_2(F.dropout(net.activation(net.w_1(x)), 1.0))),
            "In evaluation all hidden features are dropped. `F.dropout` needs `training=self.training`; here the "
            "network has no dropout at all.",
        ),
        Mistake(
            "no-parameters",
            _InAList,
            "The module has no parameters, so an optimizer would get nothing. Its layers stand in a plain Python list, "
            "or `forward` makes them anew: assign each to `self` in `__init__`, or put them into `nn.ModuleList`.",
        ),
        Mistake(
            "one-matrix-for-both",
            _OneMatrix,
            "W_1 is used twice, on the way back turned over. The network has two matrices, each with numbers of its "
            "own.",
        ),
        Mistake(
            "four-times-d-model",
            lambda d_model, d_ff, activation="relu": FeedForward(d_model, 4 * d_model, activation),
            "The hidden layer has 4 · d_model features whatever `d_ff` is. Four times is the paper's choice; here "
            "`d_ff` says how many.",
        ),
        Mistake(
            "norm-at-the-end",
            _with(lambda net, x: F.layer_norm(_right(net, x), x.shape[-1:])),
            "What comes out is normalized. The norm belongs to the residual sum around the network, not to the "
            "network itself.",
        ),
        Mistake(
            "norm-at-the-start",
            _with(lambda net, x: _right(net, F.layer_norm(x, x.shape[-1:]))),
            "The network normalizes its input. The norm belongs to the residual sum around the network, not to the "
            "network itself.",
        ),
    ),
    hints=(
        "Two linear layers, with something between them. Which widths does each have?",
        "The first goes from d_model to d_ff, the second back. The activation acts on the d_ff hidden features; the "
        "residual sum is not part of the network.",
        "`self.w_1 = nn.Linear(d_model, d_ff)`, `self.w_2 = nn.Linear(d_ff, d_model)`, and "
        "`self.w_2(F.relu(self.w_1(x)))`, with `F.gelu` where `activation` says so.",
    ),
    alternatives=(as_a_sequence, TwoConvolutions, BareMatrices),
    difficulty=1,
    minutes=8,
)
