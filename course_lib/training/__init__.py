"""What training minimizes, and how fast it goes: the loss over real tokens, learning-rate schedules, and settings."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.sizes import check_between, check_targets, check_whole
from course_lib.tokens import PAD


def label_smoothed_loss(
    logits: Float[Tensor, "*batch tgt_len vocab_size"], targets: Int[Tensor, "*batch tgt_len"], smoothing: float = 0.1
) -> Float[Tensor, ""]:
    """Cross-entropy against (1 - smoothing) · one-hot + smoothing · uniform, in
    nats, averaged over the real targets.

    The uniform part is spread over the whole vocabulary, the target included,
    as in `F.cross_entropy`. Half-precision logits are summed up in single
    precision.
    Source: Szegedy et al. 2016, section 7; Vaswani et al. 2017, section 5.4.

    >>> logits = torch.tensor([[[2.0, 0.0, 0.0], [0.0, 0.0, 9.0]]])
    >>> targets = torch.tensor([[1, PAD]])
    >>> label_smoothed_loss(logits, targets, smoothing=0.0)
    tensor(2.2395)
    """
    if not 0 <= smoothing <= 1:
        got = f"expected smoothing from 0 to 1, got {smoothing}"
        raise ValueError(f"{got}: it is a share of the target")
    if targets.shape != logits.shape[:-1]:
        got = f"{tuple(logits.shape)} and {tuple(targets.shape)}"
        raise ValueError(f"expected a target for each row, got {got}: cut alike")
    check_targets(targets, logits.shape[-1])
    log_probs = logits.log_softmax(dim=-1, dtype=torch.promote_types(logits.dtype, torch.float32))
    target = -log_probs.gather(-1, targets[..., None])[..., 0]
    uniform = -log_probs.mean(dim=-1)
    loss = (1 - smoothing) * target + smoothing * uniform if smoothing else target
    real = targets != PAD
    return loss.masked_fill(~real, 0.0).sum() / real.sum().clamp(min=1)


def noam(step: int, d_model: int, warmup: int) -> float:
    """The paper's learning rate for update number `step`, counted from 1: up
    for `warmup` updates, then ∝ 1/√step.

    Its peak is (d_model · warmup)^(-1/2).
    Source: Vaswani et al. 2017, section 5.3, equation 3.

    >>> round(noam(4000, d_model=512, warmup=4000), 6)
    0.000699
    """
    check_whole(step=step, d_model=d_model, warmup=warmup)
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def inverse_sqrt(step: int, peak: float, warmup: int) -> float:
    """The same shape with the peak named: linear up to `peak` at update
    `warmup`, then peak · √(warmup / step).

    >>> [inverse_sqrt(step, peak=1.0, warmup=4) for step in (1, 4, 16)]
    [0.25, 1.0, 0.5]
    """
    check_whole(step=step, warmup=warmup)
    return peak * min(step / warmup, math.sqrt(warmup / step))


def cosine(progress: float, peak: float, warmup: float = 0.05, lowest: float = 0.0) -> float:
    """Half a cosine from `peak` to `lowest` over a training of which the share
    `progress` is done, after a linear warm-up from 0.

    `progress` and `warmup` are shares of the whole, 0 … 1.
    Source: Loshchilov and Hutter 2017, equation 5.

    >>> shares = (0.05, 0.1, 0.55, 1.0)
    >>> [round(cosine(p, peak=1.0, warmup=0.1), 3) for p in shares]
    [0.5, 1.0, 0.5, 0.0]
    """
    check_between(0, 1, progress=min(progress, 1.0), warmup=warmup)
    if progress < warmup:
        return peak * progress / warmup
    done = min((progress - warmup) / max(1 - warmup, 1e-9), 1.0)
    return lowest + (peak - lowest) * 0.5 * (1 + math.cos(math.pi * done))


def fastest_precision(device: str) -> str:
    """The precision in which large matrix products are fastest on "cpu" or "cuda": bfloat16 where it is built in.

    A processor without such instructions computes bfloat16 too, slower than float32.
    """
    if device == "cuda":
        built_in = torch.cuda.is_bf16_supported(including_emulation=False)
    else:  # PyTorch has no public question for it
        questions = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
        built_in = any(getattr(torch.cpu, name, lambda: False)() for name in questions)
    return "bfloat16" if built_in else "float32"


@dataclass(frozen=True)
class TrainingSettings:
    """How to train. One of `seconds` and `steps` says how long.

    The learning rate is that of `cosine`, with `peak_lr` and `warmup`, a share of the whole. `clip` bounds the norm of
    the gradient. `evaluate_every` and `checkpoint_every` count updates.
    """

    steps: int | None = None
    seconds: float | None = None
    peak_lr: float = 3e-3
    warmup: float = 0.05
    label_smoothing: float = 0.1
    clip: float = 1.0
    optimizer: str = "adamw"
    weight_decay: float = 0.0
    evaluate_every: int = 200
    checkpoint_every: int = 200
    precision: str = "float32"
    seed: int = 0

    def __post_init__(self) -> None:
        if (self.steps is None) == (self.seconds is None):
            raise ValueError(
                f"expected one of steps and seconds, got steps={self.steps} and seconds={self.seconds}: name how long"
            )
        if self.precision not in ("float32", "bfloat16"):
            raise ValueError(f"expected precision 'float32' or 'bfloat16', got {self.precision!r}: choose one of them")
        check_whole(evaluate_every=self.evaluate_every, checkpoint_every=self.checkpoint_every)
        check_whole(steps=1 if self.steps is None else self.steps)
        for name in ("seconds", "clip", "peak_lr"):
            if getattr(self, name) is not None and not getattr(self, name) > 0:
                raise ValueError(f"expected {name} above 0, got {getattr(self, name)}: nothing would be learned")
        if not 0 <= self.warmup < 1:
            raise ValueError(f"expected warmup from 0 to below 1, got {self.warmup}: it is a share of the training")


def plain_loss(
    model: nn.Module, src: Tensor, tgt_in: Tensor, tgt_out: Tensor, label_smoothing: float, reduction: str = "mean"
) -> Tensor:
    """The loss of any model that maps (src, tgt_in) to logits; "sum" adds over the real targets instead."""
    loss = label_smoothed_loss(model(src, tgt_in), tgt_out, label_smoothing)
    return loss * (tgt_out != PAD).sum() if reduction == "sum" else loss
