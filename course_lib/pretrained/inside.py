"""What goes on inside a language model: look at its streams and its weights, or change them.

Layers and heads are counted from 0, as in `model.blocks[0]`. What a `with` block changes is as before after it.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.language_model import LanguageModel
from course_lib.multi_head import merge_heads
from course_lib.probes import record_attention

Edit = Callable[[int, Tensor], Tensor]


@torch.no_grad()
def streams(model: LanguageModel, ids: Int[Tensor, "batch seq_len"]) -> Float[Tensor, "n_layers batch seq_len d_model"]:
    """The residual stream after each layer.

    >>> from course_lib.language_model import LanguageModelConfig
    >>> model = LanguageModel(LanguageModelConfig(vocab_size=11, d_model=8, n_heads=2, n_kv_heads=1, n_layers=3))
    >>> streams(model, torch.tensor([[1, 5, 6, 7]])).shape
    torch.Size([3, 1, 4, 8])
    """
    found = []
    with ExitStack() as stack:
        for block in model.blocks:
            handle = block.register_forward_hook(lambda _block, _inputs, output: found.append(output[0]))
            stack.callback(handle.remove)
        model(ids)
    return torch.stack(found)


@torch.no_grad()
def attention_weights(
    model: LanguageModel, ids: Int[Tensor, "batch seq_len"]
) -> Float[Tensor, "n_layers batch n_heads seq_len seq_len"]:
    """What each head of each layer looks at: a row for every query, which sums to 1 over the keys.

    >>> from course_lib.language_model import LanguageModelConfig
    >>> model = LanguageModel(LanguageModelConfig(vocab_size=11, d_model=8, n_heads=2, n_kv_heads=1, n_layers=3))
    >>> attention_weights(model, torch.tensor([[1, 5, 6, 7]])).shape
    torch.Size([3, 1, 2, 4, 4])
    """
    with record_attention(model) as recorded:
        model(ids)
    return torch.stack([*recorded.values()])


def logit_lens(model: LanguageModel, stream: Float[Tensor, "*shape d_model"]) -> Float[Tensor, "*shape vocab_size"]:
    """The logits that the model would give if this stream were its last one.

    Source: nostalgebraist 2020, "interpreting GPT: the logit lens".

    >>> from course_lib.language_model import LanguageModelConfig
    >>> model = LanguageModel(LanguageModelConfig(vocab_size=11, d_model=8, n_heads=2, n_kv_heads=1, n_layers=3))
    >>> ids = torch.tensor([[1, 5, 6, 7]])
    >>> torch.equal(logit_lens(model, streams(model, ids)[-1]), model(ids))
    True
    """
    return model.output(model.norm(stream))


def induction_scores(weights: Float[Tensor, "*heads n n"], period: int) -> Float[Tensor, "*heads"]:
    """How much each head looks at the token that came next the last time.

    The text repeats itself every `period` tokens, so a query q that has seen its token before has seen it at
    q - period; the score is its weight on the key after that one, as a mean over these queries. ValueError for a
    period without such queries. Source: Olsson et al. 2022 ("prefix matching score").

    >>> induction_scores(torch.eye(6), period=3)
    tensor(0.)
    >>> induction_scores(torch.eye(6).roll(2, dims=0), period=3)
    tensor(1.)
    """
    n = weights.shape[-1]
    if not 0 < period < n:
        raise ValueError(f"expected a period from 1 to {n - 1} for {n} tokens, got {period}: repeat the text")
    queries = torch.arange(period, n)
    return weights[..., queries, queries - period + 1].mean(dim=-1)


@contextmanager
def edit_weights(model: LanguageModel, edit: Edit) -> Iterator[None]:
    """Inside the `with` block, the attention of each layer uses edited weights.

    `edit(layer, weights)` gets the weights of all heads after the softmax, (batch, n_heads, q_len, k_len), and returns
    what the values are multiplied with.

    >>> from course_lib.language_model import LanguageModelConfig
    >>> model = LanguageModel(LanguageModelConfig(vocab_size=11, d_model=8, n_heads=2, n_kv_heads=1, n_layers=3))
    >>> one, other = torch.tensor([[1, 5, 6]]), torch.tensor([[1, 8, 6]])
    >>> with edit_weights(model, lambda layer, weights: 0 * weights):  # no token sees another
    ...     torch.equal(model(one)[:, -1], model(other)[:, -1])
    True
    """

    def listen(layer: int) -> Callable:
        def hook(attention, _inputs, output):
            _, weights, (key, value) = output
            edited = edit(layer, weights)
            shared = value.repeat_interleave(attention.n_heads // attention.n_kv_heads, dim=1)
            return attention.w_o(merge_heads(edited @ shared)), edited, (key, value)

        return hook

    with ExitStack() as stack:
        for layer, block in enumerate(model.blocks):
            handle = block.attention.register_forward_hook(listen(layer))
            stack.callback(handle.remove)
        yield


def silence(*heads: tuple[int, int]) -> Edit:
    """An edit that takes all weights from these heads, (layer, head), so that they add nothing to the stream.

    >>> edit = silence((5, 1))
    >>> edit(5, torch.ones(1, 3, 1, 1)).flatten(), edit(4, torch.ones(1, 3, 1, 1)).flatten()
    (tensor([1., 0., 1.]), tensor([1., 1., 1.]))
    """

    def edit(layer: int, weights: Tensor) -> Tensor:
        chosen = [head for where, head in heads if where == layer]
        quiet = weights.clone()
        quiet[:, chosen] = 0
        return quiet

    return edit


@contextmanager
def patch(model: LanguageModel, layer: int, place: int, stream: Float[Tensor, "#batch d_model"]) -> Iterator[None]:
    """Inside the `with` block, the stream after that layer is this one at that place; the layers above go on from it.

    >>> from course_lib.language_model import LanguageModelConfig
    >>> model = LanguageModel(LanguageModelConfig(vocab_size=11, d_model=8, n_heads=2, n_kv_heads=1, n_layers=3))
    >>> one, other = torch.tensor([[1, 5, 6]]), torch.tensor([[1, 8, 6]])
    >>> with patch(model, layer=2, place=-1, stream=streams(model, other)[2][:, -1]):
    ...     torch.equal(model(one)[:, -1], model(other)[:, -1])
    True
    """

    def put(_block, _inputs, output):
        x, cache = output
        x = x.clone()
        x[:, place] = stream
        return x, cache

    handle = model.blocks[layer].register_forward_hook(put)
    try:
        yield
    finally:
        handle.remove()
