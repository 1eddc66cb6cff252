"""Three probes that find many silent bugs of a sequence model, and a recorder of its attention weights.

They take any function from ids (or vectors) to outputs: your model, half of it, or a class written five minutes ago.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.tokens import PAD


@dataclass(frozen=True)
class Verdict:
    """What a probe found: true when all is well; it prints as a sentence.

    >>> verdict = Verdict(False, "two runs differ", "call model.eval() first")
    >>> bool(verdict), verdict
    (False, FAILED: two runs differ
            call model.eval() first)
    """

    passed: bool
    found: str
    advice: str = ""

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        advice = f"\n        {self.advice}" if self.advice else ""
        return f"{'passed' if self.passed else 'FAILED'}: {self.found}{advice}"


@torch.no_grad()
def dependency(
    f: Callable[[Tensor], Tensor], x: Tensor, vocab: Iterable[int] | None = None
) -> Float[Tensor, "q_len k_len"]:
    """How far output q (row) moves when token k (column) is edited.

    `x` holds ids (batch, seq_len) or vectors (batch, seq_len, d_model); `f(x)`
    keeps the first two axes. A vector is moved; an id is replaced by another of
    the batch, or by each id of `vocab` in turn. Run the model in eval mode, or
    dropout moves everything.

    >>> x = torch.tensor([[[1.0], [2.0], [4.0]]])
    >>> dependency(lambda x: x.cumsum(dim=1), x).gt(0).int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)
    """
    before = f(x)
    columns = []
    for k in range(x.shape[1]):
        column = torch.zeros(x.shape[1]).to(before)
        for token in [_another(x, k)] if vocab is None else vocab:
            edited = x.clone()
            edited[:, k] = token
            moved = (f(edited) - before).abs().reshape(*x.shape[:2], -1)
            column = column.maximum(moved.amax(dim=(0, 2)))
        columns.append(column)
    return torch.stack(columns, dim=1)


def _another(x: Tensor, k: int) -> Tensor:
    """What to put at position k: the batch's next id, or the vector moved."""
    if x.is_floating_point():
        return x[:, k] + torch.linspace(1.0, 2.0, x.shape[-1]).to(x)
    ids = x.unique()
    if len(ids) == 1:
        return x[:, k] + (1 if ids[0] <= 0 else -1)
    return ids[(torch.searchsorted(ids, x[:, k].contiguous()) + 1) % len(ids)]


def leak_probe(
    f: Callable[[Tensor], Tensor], x: Tensor, tolerance: float = 1e-5, vocab: Iterable[int] | None = None
) -> Verdict:
    """Edit token t: no output before t may move.

    A decoder that fails this has seen the targets it learns to predict. `f`,
    `x`, and `vocab` are as in `dependency`: without `vocab`, the leak of an id
    that the batch does not hold stays hidden.

    >>> leak_probe(lambda x: x.cumsum(dim=1), torch.randn(2, 5, 3))
    passed: no output moves when a later token is edited
    >>> leak_probe(lambda x: x.flip(1), torch.randn(2, 5, 3))
    FAILED: output 0 moves when token 4 is edited, 4 later
            look at the mask of the self-attention
    """
    if (trouble := _trouble(f, x, tolerance)) is not None:
        return trouble
    future = dependency(f, x, vocab).triu(diagonal=1)
    if future.max() <= tolerance:
        return Verdict(True, "no output moves when a later token is edited")
    q, k = divmod(int(future.argmax()), future.shape[1])
    found = f"output {q} moves when token {k} is edited, {k - q} later"
    return Verdict(False, found, "look at the mask of the self-attention")


@torch.no_grad()
def pad_probe(
    f: Callable[[Tensor], Tensor],
    ids: Tensor,
    n_pads: int = 3,
    pad_id: int = PAD,
    tolerance: float = 1e-5,
    side: Literal["right", "left"] = "right",
) -> Verdict:
    """Append pads: no output at a real token may move.

    Nor may a classifier's output, which has no token axis. With `side="left"`
    the pads are prepended.

    >>> ids = torch.tensor([[5, 6, 7]])
    >>> pad_probe(lambda ids: (ids * (ids != 0)).sum(dim=1), ids)
    passed: no real output moves when pads are appended
    >>> pad_probe(lambda ids: ids / ids.shape[1], ids)
    FAILED: outputs move by up to 1.17 when 3 pads are appended
            hide pads as keys, and leave them out of means
    """
    if side not in ("right", "left"):
        got = f"expected side='right' or 'left', got {side!r}"
        raise ValueError(f"{got}: name the end that gets the pads")
    pads = ids.new_full((len(ids), n_pads), pad_id)
    padded = torch.cat([ids, pads] if side == "right" else [pads, ids], dim=1)
    for x in (ids, padded):
        if (trouble := _trouble(f, x, tolerance)) is not None:
            return trouble
    before, after = f(ids), f(padded)
    if after.shape != before.shape:
        start = 0 if side == "right" else n_pads
        after = after[:, start : start + ids.shape[1]]
    moved = (after - before).abs()
    if moved.shape[:2] == ids.shape:
        moved = moved[ids != pad_id]
    added = "appended" if side == "right" else "prepended"
    if moved.max() <= tolerance:
        return Verdict(True, f"no real output moves when pads are {added}")
    repair = {"right": "leave them out of means", "left": "count positions from the first real token"}
    found = f"outputs move by up to {moved.max():.2f}"
    advice = f"hide pads as keys, and {repair[side]}"
    return Verdict(False, f"{found} when {n_pads} pads are {added}", advice)


@torch.no_grad()
def _trouble(f: Callable[[Tensor], Tensor], x: Tensor, tolerance: float) -> Verdict | None:
    """What spoils a comparison: outputs not finite, or not the same twice."""
    first, second = f(x), f(x)
    if not first.isfinite().all():
        found = "an output is not a finite number"
        return Verdict(False, found, "does a token have nothing to attend to?")
    if ((first - second).abs() > tolerance).any():
        found = "two runs on the same input differ"
        advice = "call model.eval() first, to switch dropout off"
        return Verdict(False, found, advice)
    return None


def random_token_floor(loss: float, n_words: int, tolerance: float = 0.05) -> Verdict:
    """Train on *fresh* uniform random tokens: a loss below ln V shows a leak.

    No honest model can predict them. `loss` is the mean cross-entropy per token
    in nats, `n_words` the number V of different random words (without special
    tokens). A few tokens repeated often can be learned by heart: draw new ones
    every time. `tolerance` allows for chance in the mean over few tokens.

    >>> random_token_floor(2.31, n_words=10)
    passed: loss 2.31 is not below the floor ln 10 = 2.30
    >>> random_token_floor(0.19, n_words=10)
    FAILED: loss 0.19 is below the floor ln 10 = 2.30
            the model sees the target: mask off by one, labels not shifted?
    """
    if n_words < 1:
        got = f"expected n_words of at least 1, got {n_words}"
        raise ValueError(f"{got}: count the different random words")
    floor = math.log(n_words)
    numbers = f"the floor ln {n_words} = {floor:.2f}"
    if not math.isfinite(loss):
        found = f"loss {loss} says nothing about {numbers}"
        return Verdict(False, found, "train without NaN first")
    if loss >= floor - tolerance:
        by_chance = " by more than chance" if loss < floor else ""
        found = f"loss {loss:.2f} is not below {numbers}"
        return Verdict(True, found + by_chance)
    advice = "the model sees the target: mask off by one, labels not shifted?"
    return Verdict(False, f"loss {loss:.2f} is below {numbers}", advice)


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

    with ExitStack() as stack:
        for name, module in model.named_modules():
            if type(module).__name__.lower().endswith("attention"):
                stack.callback(module.register_forward_hook(listen(name)).remove)
        yield recorded
