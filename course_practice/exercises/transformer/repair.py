import torch
from torch import nn
from torch.nn import functional as F

from course_lib.decoder import Decoder
from course_lib.encoder import Encoder
from course_lib.layer_norm import LayerNorm
from course_lib.masks import causal_mask, padding_mask
from course_lib.positional_encoding import InputEmbedding, SinusoidalPositions
from course_lib.transformer import initialize
from course_practice.engine import Exercise, case
from course_practice.engine.compare import as_tensor
from course_practice.exercises.inputs import seeded

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


def _memory(model, src):
    """What `encode` makes of the source; of a model without this method, what its encoder gives in a whole pass."""
    encoders = [part for part in model.modules() if isinstance(part, Encoder)]
    if hasattr(model, "encode") or len(encoders) != 1:
        return as_tensor(model.encode(src))
    given = []
    hook = encoders[0].register_forward_hook(lambda _part, _inputs, memory: given.append(as_tensor(memory)))
    try:
        model(src, TGT.repeat(len(src) // len(TGT), 1))
    finally:
        hook.remove()
    return given[0]


def _reach(model):
    return bool(_reached(lambda src: _memory(model, src), SRC).all())


def _source(model):
    other = torch.cat([(SRC[:, :1] - 3) % 9 + 4, SRC[:, 1:]], dim=1)
    return not _same(_logits(model, src=other), _logits(model))


@torch.enable_grad()
def _gradient(model):
    """Does every matrix learn? A bias of keys has a right to none."""
    logits = model(SRC, TGT)
    if not logits.requires_grad:
        return False
    logits.logsumexp(dim=-1).mean().backward()
    return all(p.grad is not None and bool(p.grad.any()) for p in model.parameters() if p.dim() > 1)


PROBES = {
    "leak": (_leak, "an output moves when a later target token is edited"),
    "pads on the source": (_source_pads, "logits move when pads are put behind the source"),
    "pads on the target": (_target_pads, "logits move when pads are put behind the target"),
    "steps": (_steps, "word by word gives other logits than one pass"),
    "reach": (_reach, "a vector of the memory does not move when a source token is edited"),
    "the source arrives": (_source, "logits do not move when a source token is edited"),
    "the past arrives": (_past, "an output does not move when a target token before it is edited"),
    "gradient": (_gradient, "a matrix gets no gradient, so it never learns"),
}


@torch.no_grad()
def _probe(obj, given):
    """What a probe says of a fresh machine, the count of its parameters, or its logits with the reference's weights."""
    *sizes, name = given.args
    torch.default_generator.manual_seed(0)
    model = obj(*sizes)
    if model is None:
        return None
    model = model.double().eval()
    if name == "count":
        return torch.tensor(sum(p.numel() for p in model.parameters()))
    if name == "logits":
        torch.default_generator.manual_seed(1)
        reference = Machine(*sizes).double().eval()
        for vector in (p for p in reference.parameters() if p.dim() == 1):
            vector.add_(torch.randn_like(vector), alpha=0.3)  # gains that are not 1, and biases that are not 0
        comparable = model.state_dict().keys() == reference.state_dict().keys()
        if comparable:
            model.load_state_dict(reference.state_dict())
        model.train()  # it has no dropout, so this changes nothing
        logits, expected = (_logits(m, src=F.pad(SRC, (0, 2))) for m in (model, reference))
        if comparable or logits.shape != expected.shape:
            return logits
        return expected.to(logits.dtype)  # of parts of other names, only the shape and the kind of numbers compare
    passes, complaint = PROBES[name]
    return f"{name}: {'passed' if passes(model) else complaint}"


EXERCISE = Exercise(
    reference=Machine,
    starter=Starter,
    call=_probe,
    cases=lambda: [case(*SIZES.values(), name, about=name) for name in (*PROBES, "count", "logits")],
    alternatives=(WithoutNormsOfItsOwn,),
)
