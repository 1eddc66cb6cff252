"""CTranslate2: an engine in C++ for translation alone. It runs our weights, in float32.

Its threads and PyTorch's share one OpenMP library, which wakes threads more slowly as soon as it holds more of them
than there are processors. So it wants a process in which PyTorch has started none.
"""

import tempfile

import torch
from torch import Tensor, nn

from benchmarks.translators import Layer, layers
from course_lib.positional_encoding import sinusoidal_encoding
from course_lib.tokens import PAD
from course_lib.transformer import Transformer

SPECIALS = ["<pad>", "<s>", "</s>", "<unk>"]


class CTranslate2:
    """A `ctranslate2.Translator` with the weights of ours. It reads and writes tokens, here the ids in letters."""

    def __init__(self, ours: Transformer, threads: int):
        import ctranslate2

        self.tokens = SPECIALS + [str(i) for i in range(len(SPECIALS), ours.config.vocab_size)]
        self.id_of = {token: i for i, token in enumerate(self.tokens)}
        settings = {"device": "cpu", "compute_type": "float32", "inter_threads": 1}
        with tempfile.TemporaryDirectory() as folder:
            converted(ours, self.tokens).save(folder)
            self.translator = ctranslate2.Translator(folder, intra_threads=threads, **settings)

    def greedy(self, src: Tensor, n_tokens: int) -> list[list[int]]:
        return self.translate(src, n_tokens, beam_size=1)

    def beam(self, src: Tensor, n_tokens: int, beam_size: int) -> list[list[int]]:
        return self.translate(src, n_tokens, beam_size=beam_size, length_penalty=1.0)

    def translate(self, src: Tensor, n_tokens: int, **search) -> list[list[int]]:
        """The best hypothesis of each row; all sentences are one batch."""
        rows = [[self.tokens[i] for i in row if i != PAD] for row in src.tolist()]
        found = self.translator.translate_batch(rows, max_batch_size=len(rows), max_decoding_length=n_tokens, **search)
        return [[self.id_of[token] for token in result.hypotheses[0]] for result in found]


def converted(ours: Transformer, tokens: list[str]):
    """Our weights in the form that CTranslate2 saves and loads."""
    from ctranslate2.specs import common_spec, transformer_spec

    c = ours.config
    activation = common_spec.Activation[c.activation.upper()]
    spec = transformer_spec.TransformerSpec.from_config(
        (c.n_layers, c.n_layers), c.n_heads, pre_norm=c.norm_first, activation=activation
    )
    weight = array(ours.output.weight)
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = spec.decoder.projection.weight = weight
    for stack, our_stack in ((spec.encoder, ours.encoder), (spec.decoder, ours.decoder)):
        stack.position_encodings.encodings = array(sinusoidal_encoding(c.max_len, c.d_model))
        for theirs, our in zip(stack.layer, layers(our_stack), strict=True):
            fill_layer(theirs, our)
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = SPECIALS[1:]
    spec.config.decoder_start_token = SPECIALS[1]
    spec.validate()
    spec.optimize(quantization=None)
    return spec


def fill_layer(theirs, ours: Layer) -> None:
    """Each of its sublayers keeps the norm behind it; projections of one input stand in one matrix."""
    own = ours.own
    fill_attention(theirs.self_attention, [[own.w_q, own.w_k, own.w_v], [own.w_o]], ours.norms[0])
    if cross := ours.cross:
        fill_attention(theirs.attention, [[cross.w_q], [cross.w_k, cross.w_v], [cross.w_o]], ours.norms[1])
    fill_linear(theirs.ffn.linear_0, [ours.feed_forward.w_1])
    fill_linear(theirs.ffn.linear_1, [ours.feed_forward.w_2])
    fill_norm(theirs.ffn.layer_norm, ours.norms[-1])


def fill_attention(theirs, groups: list[list[nn.Linear]], norm: nn.Module) -> None:
    """The linear layers of an attention, and the norm behind it."""
    for linear, group in zip(theirs.linear, groups, strict=True):
        fill_linear(linear, group)
    fill_norm(theirs.layer_norm, norm)


def fill_linear(theirs, group: list[nn.Linear]) -> None:
    """Linear layers of the same input, one below the other."""
    theirs.weight = array(torch.cat([linear.weight for linear in group]))
    theirs.bias = array(torch.cat([linear.bias for linear in group]))


def fill_norm(theirs, norm: nn.Module) -> None:
    """Gain and bias."""
    theirs.gamma, theirs.beta = array(norm.gain), array(norm.bias)


def array(tensor: Tensor):
    """As NumPy has it."""
    return tensor.detach().numpy()
