"""Exercise: assemble the machine."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from course_lib.decoder import Decoder, DecoderLayer
from course_lib.encoder import Encoder, EncoderLayer
from course_lib.masks import causal_mask, padding_mask
from course_lib.positional_encoding import InputEmbedding, SinusoidalPositions, sinusoidal_encoding
from course_lib.tokens import BOS
from course_practice.engine import Exercise, Mistake, case
from course_practice.engine.compare import as_tensor
from course_practice.exercises.inputs import seeded
from course_practice.own.modules import same_parts

SIZES = {"vocab_size": 13, "d_model": 8, "n_heads": 2, "d_ff": 12, "n_layers": 2}


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


class LayerByLayer(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab_size, d_model))
        self.up = nn.ModuleList([EncoderLayer(d_model, n_heads, d_ff, 0.0) for _ in range(n_layers)])
        self.down = nn.ModuleList([DecoderLayer(d_model, n_heads, d_ff, 0.0) for _ in range(n_layers)])
        self.positions = SinusoidalPositions(d_model)

    def forward(self, src, tgt_in):
        scale = math.sqrt(self.table.shape[1])
        memory, x = self.positions(self.table[src] * scale), self.positions(self.table[tgt_in] * scale)
        for layer in self.up:
            memory = layer(memory, padding_mask(src))
        for layer in self.down:
            x = layer(x, memory, causal_mask(tgt_in.shape[1]) & padding_mask(tgt_in), padding_mask(src))
        return x @ self.table.T


class AroundPytorchs(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers):
        super().__init__()
        self.embed = InputEmbedding(vocab_size, d_model, SinusoidalPositions(d_model), 0.0)
        self.stacks = nn.Transformer(d_model, n_heads, n_layers, n_layers, d_ff, 0.0, batch_first=True)
        self.stacks.encoder.norm = self.stacks.decoder.norm = None
        self.stacks.encoder.enable_nested_tensor = False

    def forward(self, src, tgt_in):
        hidden = self.stacks(
            self.embed(src),
            self.embed(tgt_in),
            tgt_mask=~causal_mask(tgt_in.shape[1]),
            src_key_padding_mask=src == 0,
            tgt_key_padding_mask=tgt_in == 0,
            memory_key_padding_mask=src == 0,
        )
        return hidden @ self.embed.tokens.weight.T


def _layers(model):
    """The layers of both stacks in order, whatever holds them; None where they have other parts than the library's."""
    sizes = [SIZES[name] for name in ("d_model", "n_heads", "d_ff")]
    layers = (EncoderLayer(*sizes), DecoderLayer(*sizes))
    up, down = ([part for part in model.modules() if same_parts(part, layer)] for layer in layers)
    return (up, down) if len(up) == len(down) == SIZES["n_layers"] else None


@torch.no_grad()
def _fill(model):
    """The same numbers for every machine with one table of words and the library's layers; False for any other."""
    layers, table = _layers(model), (SIZES["vocab_size"], SIZES["d_model"])
    tables = [parameter for parameter in model.parameters() if parameter.shape == table]
    known = {id(p) for stack in layers or () for layer in stack for p in layer.parameters()}
    if layers is None or not tables or any(id(p) not in known and p.shape != table for p in model.parameters()):
        return False
    generator = torch.Generator().manual_seed(0)

    def fill(parameter):
        numbers = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        parameter.copy_(numbers * 0.5 + (parameter.dim() == 1 and bool((parameter == 1).all())))

    for stack in layers:
        for layer in stack:
            for parameter in layer.parameters():
                fill(parameter)
    words = torch.randn(table, generator=generator, dtype=torch.float64)
    for parameter in tables:
        parameter.copy_(words)
    return True


@torch.no_grad()
def _run(obj, given):
    """Its number of parameters, or its logits with numbers that do not depend on how its parts are called."""
    *sizes, about = given.args
    torch.manual_seed(0)
    model = obj(*sizes)
    if model is None:
        return None
    model = model.double().eval()
    if about == "count":
        return torch.tensor(sum(p.numel() for p in model.parameters()))
    src, tgt = (ids.clone() for ids in IDS[about])  # a machine may change them in place
    real = (tgt != 0)[..., None]  # what stands at a pad is nobody's business
    filled = _fill(model)
    bare = as_tensor(model(src, tgt))
    if bare is None or bare.shape[:2] != tgt.shape:
        return bare
    if about == "in training":
        model.train()
        torch.manual_seed(0)
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
    logits, reference = as_tensor(model(src, tgt)) * real, Assembled(**SIZES).double().eval()
    after_pads = as_tensor(model(F.pad(src, (0, 2)), F.pad(tgt, (0, 2))))[:, : tgt.shape[1]] * real
    first = as_tensor(model(src, tgt[:, :1]))
    deaf = src.shape[1] > 1 and torch.allclose(as_tensor(model(src.flip(1), tgt)) * real, logits)
    if deaf or not torch.allclose(after_pads, logits) or not torch.allclose(first, logits[:, :1]):
        return logits
    _fill(reference)
    return reference(src, tgt) * real


def _ids(*shape, seed):
    return torch.randint(4, SIZES["vocab_size"], shape, generator=seeded(seed))


IDS = {
    "one sentence": (_ids(1, 3, seed=1), _ids(1, 2, seed=2)),
    "two sentences, all sizes different": (_ids(2, 5, seed=3), _ids(2, 4, seed=4)),
    "pads behind both sides": (F.pad(_ids(2, 3, seed=5), (0, 2)), F.pad(_ids(2, 4, seed=6), (0, 3))),
    "all sizes equal": (_ids(4, 4, seed=7), _ids(4, 4, seed=8)),
    "in training": (_ids(2, 3, seed=9), _ids(2, 5, seed=10)),
}


def _variant(build=None, enter=None, masks=None, memory=None, finish=None):
    """`Assembled` with one of its steps done otherwise."""

    class Variant(Assembled):
        def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers):
            super().__init__(vocab_size, d_model, n_heads, d_ff, n_layers)
            if build:
                build(self, n_layers)

        def forward(self, src, tgt_in):
            src_mask, tgt_mask = padding_mask(src), padding_mask(tgt_in) & causal_mask(tgt_in.shape[1])
            of_encoder, of_decoder, across = (
                masks(src_mask, tgt_mask, tgt_in)
                if masks
                else (
                    src_mask,
                    tgt_mask,
                    src_mask,
                )
            )
            source, target = (enter(self, ids) if enter else self.embedding(ids) for ids in (src, tgt_in))
            if memory == "target":
                read, across = target, tgt_mask
            else:
                read = source if memory == "embedding" else self.encoder(source, of_encoder)
            logits = self.output(self.decoder(target, read, of_decoder, across))
            return finish(logits) if finish else logits

    return Variant


class _TargetWithoutPositions(Assembled):
    def forward(self, src, tgt_in):
        src_mask, tgt_mask = padding_mask(src), padding_mask(tgt_in) & causal_mask(tgt_in.shape[1])
        memory = self.encoder(self.embedding(src), src_mask)
        return self.output(self.decoder(_without_positions(self, tgt_in), memory, tgt_mask, src_mask))


class _ShiftedAgain(Assembled):
    def forward(self, src, tgt_in):
        return super().forward(src, F.pad(tgt_in[:, :-1], (1, 0), value=BOS))


def _exchanged(*sizes):
    model = Assembled(*sizes)
    model.forward = lambda src, tgt_in: Assembled.forward(model, tgt_in, src)
    return model


def _dropout_in_the_layers(model, n_layers):
    for stack in (model.encoder, model.decoder):
        for part in stack.modules():
            if isinstance(part, nn.Dropout):
                part.p = 0.1


def _dropout_everywhere(model, n_layers):
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.1


def _dropout_at_the_entrance(model, n_layers):
    model.embedding.dropout.p = 0.1


def _bias_at_the_output(model, n_layers):
    model.output.bias = nn.Parameter(torch.zeros(SIZES["vocab_size"]))


def _norm_first(model, n_layers):
    sizes = [SIZES[name] for name in ("d_model", "n_heads", "d_ff")]
    model.encoder, model.decoder = (stack(n_layers, *sizes, 0.0, norm_first=True) for stack in (Encoder, Decoder))


def _without_scale(model, ids):
    return model.embedding.positions(model.embedding.tokens(ids))


def _without_positions(model, ids):
    return model.embedding.tokens(ids) * model.embedding.tokens.embedding_dim**0.5


def _bare(model, ids):
    return model.embedding.tokens(ids)


def _divided(model, ids):
    return model.embedding.positions(model.embedding.tokens(ids) / model.embedding.tokens.embedding_dim**0.5)


def _scaled_positions(model, ids):
    x = model.embedding.positions(model.embedding.tokens(ids))
    return x * model.embedding.tokens.embedding_dim**0.5


def _one_layer_repeated(model, n_layers):
    for stack in (model.encoder, model.decoder):
        stack.layers = nn.ModuleList([stack.layers[0]] * n_layers)


def _untied(model, n_layers):
    model.output.weight = nn.Parameter(model.output.weight.detach().clone())


EXERCISE = Exercise(
    title="Assemble your own",
    task="Build a tied Transformer without dropout: ids in, logits out.",
    reference=Assembled,
    call=_run,
    cases=lambda: [case(*SIZES.values(), about, about=about) for about in (*IDS, "count")],
    mistakes=(
        Mistake(
            "scale-missing",
            _variant(enter=_without_scale),
            "The words enter without the factor √d_model. `InputEmbedding` has it.",
        ),
        Mistake(
            "positions-missing",
            _variant(enter=_without_positions),
            "The words enter without positions, so that the encoder cannot know their order.",
        ),
        Mistake(
            "target-without-positions",
            _TargetWithoutPositions,
            "The target's words enter without positions. They need them as the source's words do.",
        ),
        Mistake("bare-embedding", _variant(enter=_bare), "The words enter without √d_model and without positions."),
        Mistake(
            "divided-by-root-of-d-model",
            _variant(enter=_divided),
            "The embeddings are divided by √d_model. The paper multiplies them.",
        ),
        Mistake(
            "positions-scaled",
            _variant(enter=_scaled_positions),
            "The positions are multiplied by √d_model as well. Only the words are: scale first, then add.",
        ),
        Mistake(
            "target-without-order",
            _variant(masks=lambda s, t, ids: (s, padding_mask(ids), s)),
            "The decoder sees later target words: its self-attention needs the causal mask too.",
        ),
        Mistake(
            "cross-without-mask",
            _variant(masks=lambda s, t, ids: (s, t, None)),
            "The decoder attends to the source's pads: give it the source's mask as well.",
        ),
        Mistake(
            "encoder-without-mask",
            _variant(masks=lambda s, t, ids: (None, t, s)),
            "The encoder attends to the source's pads: it takes the source's mask.",
        ),
        Mistake(
            "no-source-mask",
            _variant(masks=lambda s, t, ids: (None, t, None)),
            "The source's pads are hidden nowhere: both the encoder and the cross-attention need its mask.",
        ),
        Mistake(
            "memory-is-the-embedding",
            _variant(memory="embedding"),
            "The decoder reads the embedded source. The memory is what the encoder makes of it.",
        ),
        Mistake(
            "memory-is-the-target",
            _variant(memory="target"),
            "The source makes no difference: the decoder gets the target as its memory. The memory is what the encoder "
            "makes of the source.",
        ),
        Mistake(
            "source-causal",
            _variant(masks=lambda s, t, ids: (s & causal_mask(s.shape[-1]), t, s)),
            "The encoder is causal. It reads in both directions, and its mask hides pads alone.",
        ),
        Mistake(
            "source-and-target-exchanged",
            _exchanged,
            "The source goes into the decoder and the target into the encoder. It is the target that is written, so "
            "there are logits at each of *its* positions.",
        ),
        Mistake(
            "shifted-again",
            _ShiftedAgain,
            "Each output has read one token too few: `tgt_in` is shifted already, and here BOS is put in front of it "
            "once more. Embed it as it is.",
        ),
        Mistake(
            "last-position-only",
            _variant(finish=lambda logits: logits[:, -1]),
            "You return the logits of the last position. In training, all positions predict at once: return them all.",
        ),
        Mistake(
            "dropout-in-the-layers",
            _variant(build=_dropout_in_the_layers),
            "Right in evaluation. In training something is dropped, and no dropout was asked for: encoder and decoder "
            "have 0.1 by default, so give them 0.0.",
        ),
        Mistake(
            "dropout-everywhere",
            _variant(build=_dropout_everywhere),
            "Right in evaluation. In training something is dropped, and no dropout was asked for: the course's parts "
            "have 0.1 by default, so give them 0.0.",
        ),
        Mistake(
            "dropout-at-the-entrance",
            _variant(build=_dropout_at_the_entrance),
            "Right in evaluation. In training something is dropped, and no dropout was asked for: `InputEmbedding` has "
            "0.1 by default, so give it 0.0.",
        ),
        Mistake(
            "bias-at-the-output",
            _variant(build=_bias_at_the_output),
            "The output layer has a bias: 13 parameters too many. Its matrix is the embedding's, which has none.",
        ),
        Mistake(
            "norm-behind-the-stacks",
            _variant(build=_norm_first),
            "Norms stand behind the two stacks: 2 · 16 = 32 parameters too many. A post-norm machine has none there, "
            "and its layers have `norm_first=False`, the default.",
        ),
        Mistake(
            "softmax-at-the-end",
            _variant(finish=lambda x: x.softmax(dim=-1)),
            "You return probabilities. A model returns logits, since the loss takes its own softmax.",
        ),
        Mistake(
            "log-softmax-at-the-end",
            _variant(finish=lambda x: x.log_softmax(dim=-1)),
            "You return log-probabilities. Here a model returns the bare logits.",
        ),
        Mistake(
            "untied",
            _variant(build=_untied),
            "A second matrix of words makes 13 · 8 = 104 parameters too many. The source, the target, and the output "
            "layer share one.",
        ),
        Mistake(
            "one-layer-repeated",
            _variant(build=_one_layer_repeated),
            "All layers of a stack are one and the same object. Each needs weights of its own: build them in a loop.",
        ),
    ),
    hints=(
        "Five parts: one embedding for both sides, an encoder, a decoder, an output layer, and the two masks. Which of "
        "them is used twice?",
        "The source's padding mask goes to the encoder and, as the last argument, to the decoder. The target's mask is "
        "padding & causal. The output layer's weight is the embedding's.",
        "`memory = self.encoder(self.embedding(src), padding_mask(src))`, then "
        "`self.decoder(self.embedding(tgt_in), memory, tgt_mask, padding_mask(src))`, then the output layer.",
    ),
    alternatives=(WithoutAnOutputLayer, LayerByLayer, AroundPytorchs),
    difficulty=3,
    minutes=20,
)
