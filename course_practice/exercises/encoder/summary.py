from collections.abc import Callable

import torch
from torch import Tensor, nn

from course_lib.encoder import EncoderLayer, masked_mean
from course_lib.layer_norm import LayerNorm
from course_lib.masks import padding_mask
from course_lib.tokens import PAD
from course_practice.engine import Exercise, case
from course_practice.exercises.inputs import randn


def summary(ids, embedding, layers, norm, pooling):
    """One vector for each sentence: (batch, d_model) from ids (batch, seq_len), which are padded with PAD.

    `pooling` is "cls", the first token's vector, or "mean", the mean over the real tokens.
    """
    real = ids != PAD
    x = embedding(ids)
    for layer in layers:
        x = layer(x, real[:, None, None, :])
    hidden = norm(x)
    return hidden[:, 0] if pooling == "cls" else masked_mean(hidden, real)


def with_the_library(ids, embedding, layers, norm, pooling):
    mask, x = padding_mask(ids), embedding(ids)
    for layer in layers:
        x = layer(x, mask)
    return norm(x)[:, 0] if pooling == "cls" else masked_mean(norm(x), ids.ne(PAD))


class Part:
    """A part of a model that is given, with a name instead of a long list of what is in it."""

    def __init__(self, name: str, f: Callable[..., Tensor]):
        self.name, self.f = name, f

    @torch.no_grad()
    def __call__(self, *args: Tensor, **kwargs: Tensor) -> Tensor:
        return self.f(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<{self.name}>"


def _parts(n_layers: int, d_model: int, n_heads: int, seed: int) -> tuple[Part, list[Part], Part]:
    """An embedding, layers that are pre-norm, and the norm at the end, with numbers that the seed decides."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        table = randn(12, d_model, seed=seed)
        layers = [EncoderLayer(d_model, n_heads, 2 * d_model, 0.0, True).eval() for _ in range(n_layers)]
        norm = LayerNorm(d_model)
        nn.init.normal_(norm.gain)
        nn.init.normal_(norm.bias)
    order = randn(12, d_model, seed=seed + 1)
    embedding = Part("an embedding with positions", lambda ids: table[ids] + order[: ids.shape[1]])
    numbered = [Part(f"encoder layer {number}", layer) for number, layer in enumerate(layers)]
    return embedding, numbered, Part("the norm at the end", norm)


def _cases():
    sentences = torch.tensor([[1, 7, 9, 4, 8], [1, 5, 6, 0, 0], [1, 9, 0, 0, 0]])
    square = torch.tensor([[1, 5, 6, 7], [1, 9, 0, 0], [1, 4, 4, 0], [1, 0, 0, 0]])
    return [
        case(torch.tensor([[1, 7, 9], [1, 5, 0]]), *_parts(1, 4, 2, seed=0), "cls", about="one layer, one pad"),
        case(torch.tensor([[1, 7, 9], [1, 5, 0]]), *_parts(1, 4, 2, seed=0), "mean", about="one layer, one pad"),
        case(sentences, *_parts(3, 4, 2, seed=1), "mean", about="three layers"),
        case(sentences, *_parts(3, 4, 2, seed=1), "cls", about="three layers"),
        case(square, *_parts(2, 6, 3, seed=2), "mean", about="as many sentences as tokens"),
        case(square, *_parts(2, 6, 3, seed=2), "cls", about="as many sentences as tokens"),
    ]


EXERCISE = Exercise(reference=summary, cases=_cases, alternatives=(with_the_library,))
