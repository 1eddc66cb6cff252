"""Exercise: bug hunt in a whole machine."""

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.decoder import Decoder
from course_lib.encoder import Encoder
from course_lib.layer_norm import LayerNorm
from course_lib.masks import causal_mask, padding_mask
from course_lib.positional_encoding import InputEmbedding, SinusoidalPositions
from course_lib.transformer import initialize
from course_practice.engine import Exercise, Mistake, case
from course_practice.engine.compare import as_tensor
from course_practice.exercises.inputs import seeded
from course_practice.own.colleague import BUGS, machine_with

SIZES = {"vocab_size": 13, "d_model": 8, "n_heads": 2, "d_ff": 12, "n_layers": 1}


class Machine(nn.Module):
    """A tied post-norm Transformer without dropout."""

    def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers):
        super().__init__()
        positions = SinusoidalPositions(d_model)
        self.embedding = InputEmbedding(vocab_size, d_model, positions, dropout=0.0)
        self.encoder = Encoder(n_layers, d_model, n_heads, d_ff, dropout=0.0)
        self.decoder = Decoder(n_layers, d_model, n_heads, d_ff, dropout=0.0)
        for layer in self.decoder.layers:
            for residual in layer.residuals:
                residual.norm = self.Norm(d_model)
        self.output = nn.Linear(d_model, vocab_size, bias=False)
        self.apply(initialize)
        self.output.weight = self.embedding.tokens.weight

    class Norm(LayerNorm):
        def forward(self, x):
            return self.gain * F.layer_norm(x, x.shape[-1:]) + self.bias

    def encode(self, src):
        return self.encoder(self.embedding(src), padding_mask(src))

    def forward(self, src, tgt_in):
        tgt_mask = padding_mask(tgt_in) & causal_mask(tgt_in.shape[1])
        memory = self.encode(src)
        x = self.decoder(self.embedding(tgt_in), memory, tgt_mask, padding_mask(src))
        return self.output(x)


class Starter(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers):
        super().__init__()
        positions = SinusoidalPositions(d_model)
        self.embedding = InputEmbedding(vocab_size, d_model, positions, dropout=0.0)
        self.encoder = Encoder(n_layers, d_model, n_heads, d_ff, dropout=0.0)
        self.decoder = Decoder(n_layers, d_model, n_heads, d_ff, dropout=0.0)
        for layer in self.decoder.layers:
            for residual in layer.residuals:
                residual.norm = self.Norm(d_model)
        self.output = nn.Linear(d_model, vocab_size, bias=False)
        self.apply(initialize)
        self.output.weight.data = self.embedding.tokens.weight.data.clone()

    class Norm(LayerNorm):
        def forward(self, x):
            return self.gain * F.layer_norm(x, x.shape[1:]) + self.bias

    def encode(self, src):
        mask = padding_mask(src) & causal_mask(src.shape[1])
        return self.encoder(self.embedding(src), mask)

    def forward(self, src, tgt_in):
        tgt_mask = padding_mask(tgt_in) & causal_mask(tgt_in.shape[1])
        memory = self.encode(src)
        x = self.decoder(self.embedding(tgt_in), memory, tgt_mask)
        return self.output(x)


class WithoutNormsOfItsOwn(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers):
        super().__init__()
        self.embedding = InputEmbedding(vocab_size, d_model, SinusoidalPositions(d_model), dropout=0.0)
        self.encoder = Encoder(n_layers, d_model, n_heads, d_ff, dropout=0.0)
        self.decoder = Decoder(n_layers, d_model, n_heads, d_ff, dropout=0.0)
        self.apply(initialize)

    def encode(self, src):
        return self.encoder(self.embedding(src), padding_mask(src))

    def forward(self, src, tgt_in):
        n = tgt_in.shape[1]
        tgt_mask = torch.ones(n, n, dtype=torch.bool).tril()  # pads behind the target need no mask of their own
        x = self.decoder(self.embedding(tgt_in), self.encode(src), tgt_mask, padding_mask(src))
        return F.linear(x, self.embedding.tokens.weight)


class EmbeddingTakesTheOutput(Machine):
    def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers):
        super().__init__(vocab_size, d_model, n_heads, d_ff, n_layers)
        self.output = nn.Linear(d_model, vocab_size, bias=False)
        self.embedding.tokens.weight = self.output.weight


class NormAsAFormula(Machine):
    class Norm(LayerNorm):
        def forward(self, x):
            mean = x.mean(dim=-1, keepdim=True)
            std = (x.var(dim=-1, unbiased=False, keepdim=True) + self.eps).sqrt()
            return (x - mean) / std * self.gain + self.bias


def _ids(n, seed, batch=2):
    return torch.randint(4, SIZES["vocab_size"], (batch, n), generator=seeded(seed))


SRC, TGT = _ids(4, seed=1), _ids(5, seed=2)


def _reached(f, ids):
    """(n, n) booleans: does output q of f move when token k is edited? All edits stand in one batch."""
    n = ids.shape[1]
    edited = torch.where(torch.eye(n, dtype=torch.bool)[:, None], (ids - 3) % 9 + 4, ids)
    after = f(edited.flatten(0, 1)).unflatten(0, (n, len(ids)))
    return ((after - f(ids)).abs() > 1e-9).any(dim=3).any(dim=1).T


def _logits(model, tgt=TGT, src=SRC):
    return as_tensor(model(src.repeat(len(tgt) // len(src), 1), tgt))


def _same(a, b):
    return bool(((a - b).abs() <= 1e-9).all())


def _leak(model):
    return not _reached(lambda tgt: _logits(model, tgt), TGT).triu(1).any()


def _past(model):
    reached = _reached(lambda tgt: _logits(model, tgt), TGT)
    return bool((reached | ~torch.ones_like(reached).tril()).all())


def _source_pads(model):
    return _same(_logits(model, src=F.pad(SRC, (0, 3))), _logits(model))


def _target_pads(model):
    return _same(_logits(model, F.pad(TGT, (0, 3)))[:, : TGT.shape[1]], _logits(model))


def _steps(model):
    steps = [_logits(model, TGT[:, :n])[:, -1] for n in range(1, TGT.shape[1] + 1)]
    return _same(torch.stack(steps, dim=1), _logits(model))


def _reach(model):
    return bool(_reached(lambda src: as_tensor(model.encode(src)), SRC).all())


def _source(model):
    other = torch.cat([(SRC[:, :1] - 3) % 9 + 4, SRC[:, 1:]], dim=1)
    return not _same(_logits(model, src=other), _logits(model))


PROBES = {
    "leak": (_leak, "an output moves when a later target token is edited"),
    "pads on the source": (_source_pads, "logits move when pads are put behind the source"),
    "pads on the target": (_target_pads, "logits move when pads are put behind the target"),
    "steps": (_steps, "word by word gives other logits than one pass"),
    "reach": (_reach, "a vector of the memory does not move when a source token is edited"),
    "the source arrives": (_source, "logits do not move when a source token is edited"),
    "the past arrives": (_past, "an output does not move when a target token before it is edited"),
}


@torch.no_grad()
def _probe(obj, given):
    """What a probe says of a fresh machine, the count of its parameters, or its logits with the reference's weights."""
    *sizes, name = given.args
    torch.manual_seed(0)
    model = obj(*sizes)
    if model is None:
        return None
    model = model.double().eval()
    if name == "count":
        return torch.tensor(sum(p.numel() for p in model.parameters()))
    if name == "logits":
        torch.manual_seed(1)
        reference = Machine(*sizes).double().eval()
        for vector in (p for p in reference.parameters() if p.dim() == 1):
            vector.add_(torch.randn_like(vector), alpha=0.3)  # gains that are not 1, and biases that are not 0
        comparable = model.state_dict().keys() == reference.state_dict().keys()
        if comparable:
            model.load_state_dict(reference.state_dict())
        logits, expected = (_logits(m, src=F.pad(SRC, (0, 2))) for m in (model, reference))
        if comparable or logits.shape != expected.shape:
            return logits
        return expected.to(logits.dtype)  # of parts of other names, only the shape and the kind of numbers compare
    passes, complaint = PROBES[name]
    return f"{name}: {'passed' if passes(model) else complaint}"


_FOUND = {
    "source": (
        "pads on the source",
        "Append pads to the source: which attention reads the memory, and what hides its pads?",
    ),
    "norm": (
        "the norm",
        "The leak probe, pads on the target, and the steps are red together: over which axes is the mean taken?",
    ),
    "causal": (
        "the reach",
        "The reach is red: the encoder should hear all of the source. What keeps its first token "
        "from hearing the last?",
    ),
    "tie": ("the count", "There are 13 · 8 = 104 parameters too many: which matrix is there twice?"),
}


def _partly_repaired():
    """Every way to find some of the four bugs: what is found, and where to look next."""
    for number in range(1, 15):
        left = [bug for place, bug in enumerate(BUGS) if number >> place & 1]
        found = [_FOUND[bug][0] for bug in BUGS if bug not in left]
        begin = f"{('None', 'One', 'Two', 'Three')[len(found)]} of four found. Green now: {', '.join(found)}."
        yield Mistake(
            "left-" + "-and-".join(left), machine_with(left), f"{begin} {' '.join(_FOUND[bug][1] for bug in left)}"
        )


class _WithoutNorm(Machine):
    class Norm(LayerNorm):
        def forward(self, x):
            return self.gain * x + self.bias


class _NormWithoutGain(Machine):
    class Norm(LayerNorm):
        def forward(self, x):
            return F.layer_norm(x, x.shape[-1:])


class _NormOfEachPosition(Machine):
    class Norm(LayerNorm):
        def forward(self, x):
            return self.gain * F.layer_norm(x.transpose(1, 2), x.shape[1:2]).transpose(1, 2) + self.bias


class _TargetMaskForTheSource(Machine):
    def forward(self, src, tgt_in):
        tgt_mask = padding_mask(tgt_in) & causal_mask(tgt_in.shape[1])
        x = self.decoder(self.embedding(tgt_in), self.encode(src), tgt_mask, tgt_mask)
        return self.output(x)


class _NoMaskInTheEncoder(Machine):
    def encode(self, src):
        return self.encoder(self.embedding(src))


class _NoCausalMask(Machine):
    def forward(self, src, tgt_in):
        x = self.decoder(self.embedding(tgt_in), self.encode(src), padding_mask(tgt_in), padding_mask(src))
        return self.output(x)


class _NormsRemoved(Machine):
    def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers):
        super().__init__(vocab_size, d_model, n_heads, d_ff, n_layers)
        for layer in self.decoder.layers:
            for residual in layer.residuals:
                residual.norm = nn.Identity()


class _BiasAtTheOutput(Machine):
    def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers):
        super().__init__(vocab_size, d_model, n_heads, d_ff, n_layers)
        self.output.bias = nn.Parameter(torch.zeros(vocab_size))


class _SameStorage(Machine):
    def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers):
        super().__init__(vocab_size, d_model, n_heads, d_ff, n_layers)
        self.output.weight = nn.Parameter(self.embedding.tokens.weight.data)


class _NeverTied(machine_with(("tie",))):
    pass


EXERCISE = Exercise(
    title="Bug hunt: four bugs, a lower loss",
    task="Find the four bugs. The five probes and the count of parameters say which are left.",
    reference=Machine,
    starter=Starter,
    call=_probe,
    cases=lambda: [case(*SIZES.values(), name, about=name) for name in (*PROBES, "count", "logits")],
    mistakes=(
        *_partly_repaired(),
        Mistake(
            "norm-left-out",
            _WithoutNorm,
            "All probes are green, and the decoder has no norm any more. Over which axes should it take the mean?",
        ),
        Mistake(
            "norms-removed",
            _NormsRemoved,
            "All probes are green, and the decoder's six norms are gone, with their gains and biases: 2 · 3 · 16 = 96 "
            "parameters too few. Over which axes should they take the mean?",
        ),
        Mistake(
            "bias-at-the-output",
            _BiasAtTheOutput,
            "All probes are green, and the output layer has a bias now: 13 parameters too many. It has none, since its "
            "matrix is the embedding's.",
        ),
        Mistake(
            "norm-without-gain",
            _NormWithoutGain,
            "All probes are green, and the norm now takes the mean over the right axis. But its gain and its bias make "
            "no difference any more: they would never learn.",
        ),
        Mistake(
            "norm-of-each-feature",
            _NormOfEachPosition,
            "The norm now takes the mean over the positions, for each feature. It belongs over the *features* of each "
            "position, the last axis.",
        ),
        Mistake(
            "target-mask-for-the-source",
            _TargetMaskForTheSource,
            "The cross-attention got the target's mask. Its keys are the source's tokens, whose pads must be hidden.",
        ),
        Mistake(
            "no-mask-in-the-encoder",
            _NoMaskInTheEncoder,
            "The encoder hears all of the source now, and its pads as well. Only the causal part of its mask is wrong.",
        ),
        Mistake(
            "no-causal-mask",
            _NoCausalMask,
            "The causal mask has left the decoder. It was the encoder that should not have one.",
        ),
    ),
    hints=(
        "Four lines, one bug each: where is the output tied, over what does the norm take its mean, what does the "
        "encoder hide, what does the cross-attention hide?",
        "`.data.clone()` copies. `x.shape[1:]` names two axes. An encoder reads in both directions. The decoder takes "
        "one more mask.",
        "`self.output.weight = self.embedding.tokens.weight`, `x.shape[-1:]`, `mask = padding_mask(src)`, and "
        "`padding_mask(src)` as the decoder's last argument.",
    ),
    alternatives=(WithoutNormsOfItsOwn, EmbeddingTakesTheOutput, NormAsAFormula),
    difficulty=3,
    minutes=20,
)
