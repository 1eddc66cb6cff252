"""Three probes that find most silent bugs of a sequence model, and a recorder of its attention weights.

They take any function from ids (or vectors) to outputs: your model, half of it, or a class written five minutes ago.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.tokens import PAD


@dataclass(frozen=True)
class Verdict:
    """What a probe found: it is true when all is well, and prints as a sentence.

    >>> verdict = Verdict(False, "output 0 moves when token 1 is edited")
    >>> bool(verdict), verdict
    (False, FAILED: output 0 moves when token 1 is edited)
    """

    passed: bool
    text: str

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return f"{'passed' if self.passed else 'FAILED'}: {self.text}"


@torch.no_grad()
def dependency(
    f: Callable[[Tensor], Tensor],
    x: Tensor,
) -> Float[Tensor, "q_len k_len"]:
    """How far output q (row) moves when the token at position k (column) is edited.

    `x` holds ids (batch, seq_len) or vectors (batch, seq_len, d_model); `f(x)` keeps
    the first two axes. An id is replaced by another one of the batch, a vector is
    moved. Run the model in eval mode, or dropout moves everything.

    >>> x = torch.tensor([[[1.0], [2.0], [4.0]]])
    >>> dependency(lambda x: x.cumsum(dim=1), x).gt(0).int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)
    """
    before = f(x)
    columns = []
    for k in range(x.shape[1]):
        edited = x.clone()
        edited[:, k] = _another(x, k)
        moved = (f(edited) - before).abs().reshape(*x.shape[:2], -1)
        columns.append(moved.amax(dim=(0, 2)))
    return torch.stack(columns, dim=1)


def _another(x: Tensor, k: int) -> Tensor:
    """Other tokens for position k: the batch's next larger id, or vectors moved."""
    if x.is_floating_point():
        return x[:, k] + torch.linspace(1.0, 2.0, x.shape[-1]).to(x)
    ids = x.unique()
    if len(ids) == 1:
        return x[:, k] + (1 if ids[0] <= 0 else -1)
    return ids[(torch.searchsorted(ids, x[:, k].contiguous()) + 1) % len(ids)]


def leak_probe(
    f: Callable[[Tensor], Tensor],
    x: Tensor,
    tolerance: float = 1e-5,
) -> Verdict:
    """Edit token t: no output before t may move.

    A decoder that fails this has seen the answers it learns to predict. `f` and `x` as
    in `dependency`.

    >>> leak_probe(lambda x: x.cumsum(dim=1), torch.randn(2, 5, 3))
    passed: no output moves when a later token is edited
    >>> leak_probe(lambda x: x.flip(1), torch.randn(2, 5, 3))
    FAILED: output 0 moves when token 4 is edited, 4 later: look at the mask of the self-attention
    """
    if (trouble := _trouble(f, x, tolerance)) is not None:
        return trouble
    future = dependency(f, x).triu(diagonal=1)
    if future.max() <= tolerance:
        return Verdict(True, "no output moves when a later token is edited")
    q, k = divmod(int(future.argmax()), future.shape[1])
    found = f"output {q} moves when token {k} is edited, {k - q} later"
    return Verdict(False, f"{found}: look at the mask of the self-attention")


@torch.no_grad()
def pad_probe(
    f: Callable[[Tensor], Tensor],
    ids: Tensor,
    n_pads: int = 3,
    pad_id: int = PAD,
    tolerance: float = 1e-5,
) -> Verdict:
    """Append padding: no output at a real token may move.

    Nor may a classifier's output, which has no token axis.

    >>> pad_probe(lambda ids: (ids * (ids != 0)).sum(dim=1), torch.tensor([[5, 6, 7]]))
    passed: no real output moves when pads are appended
    >>> pad_probe(lambda ids: ids / ids.shape[1], torch.tensor([[5, 6, 7]]))
    FAILED: outputs move by up to 1.17 when 3 pads are appended: hide pads as keys, and leave them out of means
    """
    padded = torch.cat([ids, ids.new_full((len(ids), n_pads), pad_id)], dim=1)
    for x in (ids, padded):
        if (trouble := _trouble(f, x, tolerance)) is not None:
            return trouble
    before, after = f(ids), f(padded)
    if after.shape != before.shape:
        after = after[:, : before.shape[1]]
    moved = (after - before).abs()
    if moved.shape[:2] == ids.shape:
        moved = moved[ids != pad_id]
    if moved.max() <= tolerance:
        return Verdict(True, "no real output moves when pads are appended")
    found = f"outputs move by up to {moved.max():.2f} when {n_pads} pads are appended"
    return Verdict(False, f"{found}: hide pads as keys, and leave them out of means")


@torch.no_grad()
def _trouble(
    f: Callable[[Tensor], Tensor],
    x: Tensor,
    tolerance: float,
) -> Verdict | None:
    """What makes a comparison meaningless: outputs not finite, or not the same twice."""
    first, second = f(x), f(x)
    if not first.isfinite().all():
        found = "an output is not a finite number"
        return Verdict(False, f"{found}: does a token have nothing to attend to?")
    if ((first - second).abs() > tolerance).any():
        found = "two runs on the same input differ"
        return Verdict(False, f"{found}: call model.eval() first, to switch dropout off")
    return None


def random_token_floor(loss: float, n_words: int, tolerance: float = 0.05) -> Verdict:
    """Train on *fresh* uniform random tokens: a loss below ln V proves a leak.

    Nobody can predict them. `loss` is the mean cross-entropy per token in nats,
    `n_words` the number V of different random words (without the special tokens). Too
    few tokens repeated too often can be learned by heart: draw new ones every time.

    >>> random_token_floor(2.31, n_words=10)
    passed: loss 2.31 is not below the floor ln 10 = 2.30
    >>> random_token_floor(0.19, n_words=10)
    FAILED: loss 0.19 is below the floor ln 10 = 2.30: the model sees the answer: mask off by one, labels not shifted?
    """
    if n_words < 1:
        raise ValueError(f"expected n_words of at least 1, got {n_words}: count the different random words")
    floor = math.log(n_words)
    numbers = f"the floor ln {n_words} = {floor:.2f}"
    if not math.isfinite(loss):
        return Verdict(False, f"loss {loss} says nothing about {numbers}: train without NaN first")
    if loss >= floor - tolerance:
        by_chance = " by more than chance" if loss < floor else ""
        return Verdict(True, f"loss {loss:.2f} is not below {numbers}{by_chance}")
    cause = "the model sees the answer: mask off by one, labels not shifted?"
    return Verdict(False, f"loss {loss:.2f} is below {numbers}: {cause}")


@contextmanager
def record_attention(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Collect the weights of every attention module that runs inside the `with` block, by the module's name.

    They come from the very pass that computes the output: a module whose class name ends in "Attention" and that
    returns (output, weights, …) is listened to. The weights of a module called for one query after the other (a GRU
    decoder) are joined along the query axis; of other repeated calls the last one counts.

    >>> from course_lib.encoder import Encoder
    >>> model = Encoder(n_layers=2, d_model=4, n_heads=2, d_ff=8)
    >>> with record_attention(model) as weights:
    ...     output = model(torch.randn(1, 3, 4))
    >>> {name: tuple(w.shape) for name, w in weights.items()}
    {'layers.0.attention': (1, 2, 3, 3), 'layers.1.attention': (1, 2, 3, 3)}
    """
    recorded: dict[str, Tensor] = {}

    def listen(name: str) -> Callable:
        def hook(module: nn.Module, inputs: tuple, output: object) -> None:
            if not (isinstance(output, tuple) and len(output) > 1 and isinstance(output[1], Tensor)):
                return
            weights = output[1].detach()
            one_query = weights.shape[-2] == 1 and name in recorded and recorded[name].shape[-1] == weights.shape[-1]
            recorded[name] = torch.cat([recorded[name], weights], dim=-2) if one_query else weights

        return hook

    modules = [(name, m) for name, m in model.named_modules() if type(m).__name__.lower().endswith("attention")]
    handles = [module.register_forward_hook(listen(name)) for name, module in modules]
    try:
        yield recorded
    finally:
        for handle in handles:
            handle.remove()
