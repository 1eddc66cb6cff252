from itertools import chain

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.decoder import Decoder, DecoderLayer
from course_lib.encoder import Encoder, EncoderLayer
from course_lib.masks import causal_mask, padding_mask
from course_lib.positional_encoding import InputEmbedding, SinusoidalPositions, sinusoidal_encoding
from course_practice.assembly.modules import refuse_plain_lists, same_parts
from course_practice.engine import Exercise, case
from course_practice.engine.compare import as_tensor
from course_practice.exercises.inputs import seeded

SIZES = {"vocab_size": 13, "d_model": 8, "n_heads": 2, "d_ff": 12, "n_layers": 2}
with torch.device("meta"):
    LAYERS = [kind(*(SIZES[name] for name in ("d_model", "n_heads", "d_ff"))) for kind in (EncoderLayer, DecoderLayer)]
_DRAW = {"generator": torch.Generator().manual_seed(0), "dtype": torch.float64}
NUMBERS = [[torch.randn(p.shape, **_DRAW) * 0.5 for p in [*one.parameters()] * SIZES["n_layers"]] for one in LAYERS]
WORDS = torch.randn(SIZES["vocab_size"], SIZES["d_model"], **_DRAW)


class Assembled(nn.Module):
    """Source ids and target ids in, logits for every target position out; one matrix for source, target and output."""

    def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers):
        super().__init__()
        positions = SinusoidalPositions(d_model)
        self.embedding = InputEmbedding(vocab_size, d_model, positions, dropout=0.0)
        self.encoder = Encoder(n_layers, d_model, n_heads, d_ff, dropout=0.0)
        self.decoder = Decoder(n_layers, d_model, n_heads, d_ff, dropout=0.0)
        self.output = nn.Linear(d_model, vocab_size, bias=False)
        self.output.weight = self.embedding.tokens.weight

    def forward(self, src, tgt_in):
        src_mask = padding_mask(src)
        tgt_mask = padding_mask(tgt_in) & causal_mask(tgt_in.shape[1])
        memory = self.encoder(self.embedding(src), src_mask)
        x = self.decoder(self.embedding(tgt_in), memory, tgt_mask, src_mask)
        return self.output(x)


class WithoutAnOutputLayer(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers):
        super().__init__()
        self.words = nn.Embedding(vocab_size, d_model)
        self.reader = Encoder(n_layers, d_model, n_heads, d_ff, 0.0)
        self.writer = Decoder(n_layers, d_model, n_heads, d_ff, 0.0)

    def enter(self, ids):
        d_model = self.words.embedding_dim
        return self.words(ids) * d_model**0.5 + sinusoidal_encoding(ids.shape[1], d_model)

    def forward(self, src, tgt_in):
        real = (src != 0)[:, None, None, :]
        memory = self.reader(self.enter(src), real)
        n = tgt_in.shape[1]
        x = self.writer(self.enter(tgt_in), memory, torch.ones(n, n).tril().bool() & padding_mask(tgt_in), real)
        return F.linear(x, self.words.weight)


def _layers(model, n_layers):
    """The layers of both stacks in order, whatever holds them; None where they have other parts than the library's."""
    parts = [part for part in model.modules() if len(part._modules) > 1]  # as each layer, and hardly any part of one
    up, down = ([part for part in parts if same_parts(part, layer)] for layer in LAYERS)
    return (up, down) if len(up) == len(down) == n_layers else None


@torch.no_grad()
def _fill(model, n_layers):
    """The same numbers for every machine with one table of words and the library's layers; False for any other."""
    layers, tables = _layers(model, n_layers), [p for p in model.parameters() if p.shape == WORDS.shape]
    inside = [[parameter for layer in stack for parameter in layer.parameters()] for stack in layers or ()]
    known = {*map(id, [*chain(*inside), *tables])}
    if layers is None or not tables or any(id(parameter) not in known for parameter in model.parameters()):
        return False
    for parameter, numbers in chain(*map(zip, inside, NUMBERS)):
        parameter.copy_(numbers + (parameter.dim() == 1 and bool((parameter == 1).all())))
    for parameter in tables:
        parameter.copy_(WORDS)
    return True


@torch.no_grad()
def _run(obj, given):
    """Its number of parameters, or its logits with numbers that do not depend on how its parts are called."""
    *sizes, about = given.args
    torch.default_generator.manual_seed(0)
    model = obj(*sizes)
    if model is None:
        return None
    refuse_plain_lists(model)
    model = model.double().eval()
    if about == "count":
        return torch.tensor(sum(p.numel() for p in model.parameters()))
    src, tgt = (ids.clone() for ids in IDS[about])  # a machine may change them in place
    real = (tgt != 0)[..., None]  # what stands at a pad is nobody's business
    filled = _fill(model, sizes[-1])
    bare = as_tensor(model(src, tgt))
    if bare is None or bare.shape[:2] != tgt.shape:
        return bare
    if about == "in training":
        model.train()
        torch.default_generator.manual_seed(0)
        trained = as_tensor(model(src, tgt))
        if not torch.allclose(trained, bare):
            # Which features are dropped depends on the order of the calls, so all are that may be.
            for part in model.modules():
                if isinstance(part, nn.Dropout) and part.p > 0:
                    part.p = 1.0
            return as_tensor(model(src, tgt))
    if filled:
        return bare * real
    # Other parts cannot be given the same numbers: what the masks must do is seen all the same.
    logits, reference = as_tensor(model(src, tgt)) * real, Assembled(*sizes).double().eval()
    after_pads = as_tensor(model(F.pad(src, (0, 2)), F.pad(tgt, (0, 2))))[:, : tgt.shape[1]] * real
    first = as_tensor(model(src, tgt[:, :1]))
    deaf = src.shape[1] > 1 and torch.allclose(as_tensor(model(src.flip(1), tgt)) * real, logits)
    if deaf or not torch.allclose(after_pads, logits) or not torch.allclose(first, logits[:, :1]):
        return logits
    _fill(reference, sizes[-1])
    return reference(src, tgt) * real


def _trained(obj, given):
    """Its logits, and its parameters; what is counted, or dropped, shows nothing more."""
    *sizes, about = given.args
    if about in ("count", "in training"):
        return None, {}
    torch.default_generator.manual_seed(0)
    model = obj(*sizes).double().eval()
    _fill(model, sizes[-1])
    return model(*(ids.clone() for ids in IDS[about])), {"the parameters": model}


def _ids(*shape, seed):
    return torch.randint(4, SIZES["vocab_size"], shape, generator=seeded(seed))


IDS = {
    "one sentence": (_ids(1, 3, seed=1), _ids(1, 2, seed=2)),
    "two sentences, all sizes different": (_ids(2, 5, seed=3), _ids(2, 4, seed=4)),
    "pads behind both sides": (F.pad(_ids(2, 3, seed=5), (0, 2)), F.pad(_ids(2, 4, seed=6), (0, 3))),
    "all sizes equal": (_ids(4, 4, seed=7), _ids(4, 4, seed=8)),
    "in training": (_ids(2, 3, seed=9), _ids(2, 5, seed=10)),
}


EXERCISE = Exercise(
    reference=Assembled,
    call=_run,
    cases=lambda: [  # one layer to begin with is half of the work for each answer that is compared
        case(*[*SIZES.values()][:4], 1 + (about != "one sentence"), about, about=about) for about in (*IDS, "count")
    ],
    alternatives=(WithoutAnOutputLayer,),
    trained=_trained,
)
