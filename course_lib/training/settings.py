"""How to train: the settings of a training, its loss, and the precision that suits a machine."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course_lib.tokens import PAD
from course_lib.training import cosine, inverse_sqrt, label_smoothed_loss, noam
from course_lib.training.optimizers import OPTIMIZERS


def fastest_precision(device: str) -> str:
    """The precision in which large matrix products are fastest on "cpu" or "cuda": bfloat16 where it is built in.

    A processor without such instructions computes bfloat16 too, slower than float32.

    >>> fastest_precision("cpu") in ("float32", "bfloat16")
    True
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

    `schedule` is "cosine" (`warmup` is then a share of the whole), "inverse_sqrt" or "noam" (`warmup` in updates; noam
    takes its peak from `d_model`). `clip` bounds the norm of the gradient. `evaluate_every` and `checkpoint_every`
    count updates; `patience` stops after so many evaluations without a better validation loss.
    """

    steps: int | None = None
    seconds: float | None = None
    peak_lr: float = 3e-3
    schedule: str = "cosine"
    warmup: float = 0.05
    d_model: int = 128
    label_smoothing: float = 0.1
    clip: float = 1.0
    optimizer: str = "adamw"
    weight_decay: float = 0.0
    evaluate_every: int = 200
    checkpoint_every: int = 200
    patience: int | None = None
    precision: str = "float32"
    seed: int = 0

    def __post_init__(self) -> None:
        if (self.steps is None) == (self.seconds is None):
            raise ValueError(
                f"expected one of steps and seconds, got steps={self.steps} and seconds={self.seconds}: name how long"
            )
        choices = {
            "schedule": ("cosine", "inverse_sqrt", "noam"),
            "optimizer": OPTIMIZERS,
            "precision": ("float32", "bfloat16"),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                wanted = " or ".join(map(repr, allowed))
                raise ValueError(f"expected {name} {wanted}, got {getattr(self, name)!r}: choose one of them")
        for name in ("steps", "evaluate_every", "checkpoint_every", "patience"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ValueError(f"expected {name} of at least 1, got {getattr(self, name)}: it counts")
        for name in ("seconds", "clip"):
            if getattr(self, name) is not None and not getattr(self, name) > 0:
                raise ValueError(f"expected {name} above 0, got {getattr(self, name)}: nothing would be learned")
        share = self.schedule == "cosine"
        if not (0 <= self.warmup < 1 if share else self.warmup >= 1):
            wanted = "a share of the training, from 0 to below 1," if share else "a number of updates, at least 1,"
            raise ValueError(
                f"expected warmup to be {wanted} with schedule {self.schedule!r}, got {self.warmup}: "
                "'cosine' warms up for a share, the other schedules for so many updates"
            )

    def learning_rate(self, step: int, progress: float) -> float:
        """The rate of update `step` (from 1), when the share `progress` of the training is done."""
        if self.schedule == "noam":
            return noam(step, self.d_model, int(self.warmup))
        if self.schedule == "inverse_sqrt":
            return inverse_sqrt(step, self.peak_lr, int(self.warmup))
        return cosine(progress, self.peak_lr, self.warmup)


def plain_loss(
    model: nn.Module, src: Tensor, tgt_in: Tensor, tgt_out: Tensor, label_smoothing: float, reduction: str = "mean"
) -> Tensor:
    """The loss of any model that maps (src, tgt_in) to logits; "sum" adds over the real targets instead."""
    loss = label_smoothed_loss(model(src, tgt_in), tgt_out, label_smoothing)
    return loss * (tgt_out != PAD).sum() if reduction == "sum" else loss
