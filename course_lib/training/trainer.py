"""The training loop: it can be killed and continued, and run on one process or many."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from random import Random
from typing import Any

import torch
from torch import Tensor, distributed, nn
from tqdm.auto import tqdm

from course_lib.sizes import check_between, check_whole
from course_lib.tokens import PAD
from course_lib.training import TrainingSettings, cosine, plain_loss
from course_lib.training.checkpoint import CheckpointFolder, check_loadable
from course_lib.training.interrupts import Interrupts
from course_lib.training.optimizers import Optimizers

LARGEST = 2**63 - 1  # of what is counted
BAR = "{desc}{percentage:3.0f}% |{bar}| {elapsed}, {remaining} left"
PARTS = 20  # of a training: after each of them a line of news is told


class NotFinite(RuntimeError):
    """The loss or the gradient became NaN or infinite."""


@dataclass
class TrainingState:
    """Where a training stands: all of it goes into a checkpoint. `index` counts the done batches of `epoch`.

    `seconds` were spent on updates, evaluation and checkpoints aside; `tokens` are real targets, `curve` evaluations.
    What no training leaves behind raises a ValueError.
    """

    step: int = 0
    epoch: int = 0
    index: int = 0
    seconds: float = 0.0
    tokens: int = 0
    curve: list[dict[str, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        check_whole(0, step=self.step, epoch=self.epoch, index=self.index, tokens=self.tokens)
        check_between(0, LARGEST, seconds=self.seconds, tokens=self.tokens)
        if not max(self.epoch, self.index) <= self.step <= self.tokens:
            raise ValueError(
                f"expected an update or more an epoch and a target or more an update, got epoch {self.epoch}, "
                f"batch {self.index}, update {self.step}, {self.tokens} targets: use another checkpoint"
            )
        for point in self.curve if isinstance(self.curve, list) else [self.curve]:
            if not isinstance(point, dict) or not isinstance(point.get("val_loss", 0.0), int | float):
                raise ValueError(f"expected evaluations in the curve, got {point!r:.60}: use another checkpoint")
            check_between(0, LARGEST, **{name: point.get(name) for name in ("step", "seconds", "tokens")})


class Trainer:
    """Train `model` on the batches of `epochs(0)`, `epochs(1)`, …; continue where the newest checkpoint stands.

    `epochs(number)` gives an epoch's batches (with `src`, `tgt_in`, `tgt_out`), the same ones at every call. A run by
    `steps` that is killed and started again ends with the weights of an uninterrupted one. `loss` has the signature
    of `plain_loss`. Under `torchrun` every process takes its share of each batch; the gradient is that of the whole.
    """

    def __init__(
        self,
        model: nn.Module,
        epochs: Callable[[int], Sequence[Any]],
        settings: TrainingSettings,
        val_batches: Sequence[Any] = (),
        folder: Any = None,
        loss: Callable[..., Tensor] = plain_loss,
        quiet: bool = False,
    ):
        self.model, self.epochs, self.settings, self.val_batches, self.loss = model, epochs, settings, val_batches, loss
        self.state = TrainingState()
        self.device = next(model.parameters()).device
        self.rank = distributed.get_rank() if distributed.is_initialized() else 0
        self.world = distributed.get_world_size() if distributed.is_initialized() else 1
        self.quiet = quiet or self.rank > 0
        self.optimizers = Optimizers(model, settings.optimizer, settings.weight_decay)
        self.checkpoints = CheckpointFolder(folder) if folder is not None else None
        self.interrupts = Interrupts()
        self.stopped = 0  # the number of the signal that asked for it
        self.whole = True  # weights and `state` belong together
        self.kept = asdict(self.state)  # what the newest checkpoint says
        self.recent_loss = math.nan  # of the training batches, with smoothing
        if self.world > 1:  # all begin with the weights of the first
            for weight in model.state_dict().values():
                distributed.broadcast(weight, src=0)

    def run(self, tell: Callable[[str], object] | None = None) -> TrainingState:
        """Train until updates or time are used up. Ctrl-C and errors, too, leave a checkpoint behind.

        Ctrl-C lets the update under way end; a second one does not. `tell` gets a line of news after the first update,
        after every twentieth part of the training, and at its end: for outputs that show no bar.
        """
        self.resume()
        if self.checkpoints is not None:  # to learn it after the first minutes would be late
            check_loadable(self._content())
        self.stopped, told, begun = 0, -1, self.state.step
        bar = tqdm(total=100, disable=self.quiet or None, bar_format=BAR)
        try:
            with self.interrupts:
                for batch in self._batches():
                    self._update(batch)
                    bar.set_description_str(self._news(), refresh=False)
                    bar.update(100 * self.progress - bar.n)
                    if self.state.step % self.settings.evaluate_every == 0:
                        self._evaluate()
                    self.whole = True
                    if tell and told < (part := int(PARTS * self.progress)) < PARTS:
                        told = part
                        tell(f"{self.progress:4.0%} {self._news().rstrip()}")
                    if self.state.step % self.settings.checkpoint_every == 0:
                        self._save()
                if not self.stopped and (not self.state.curve or self.state.curve[-1]["step"] < self.state.step):
                    self._evaluate()
                bar.set_description_str(self._news())
                if tell and self.state.step > begun:
                    tell(f"{self.progress:4.0%} {self._news().rstrip()}")
        finally:
            bar.close()
            if self.whole and self.state.step and asdict(self.state) != self.kept:
                self._save()
        if self.interrupts.seen and not self.stopped:  # it came when all updates were done: the rest is not wanted
            raise KeyboardInterrupt(self.interrupts.seen)
        if self.stopped and self.rank == 0:
            goes_on = "" if self.checkpoints is None else "; run the same again to go on from here"
            print(f"Stopped after update {self.state.step}{goes_on}.")
        return self.state

    @property
    def progress(self) -> float:
        """The share of the training that is done, 0 … 1."""
        settings, state = self.settings, self.state
        return min(state.step / settings.steps if settings.steps else state.seconds / settings.seconds, 1.0)

    def _batches(self) -> Iterator[Any]:
        while True:
            batches = self.epochs(self.state.epoch) if callable(self.epochs) else self.epochs
            if batches is self.epochs or not isinstance(batches, Sequence):
                raise TypeError(
                    "expected a function from an epoch's number to the list of its batches, as Batches is, got "
                    f"{type(batches).__name__}: write lambda number: list(batches)"
                )
            if not len(batches):
                raise ValueError("expected at least one batch an epoch, got none: is the corpus empty?")
            for batch in batches[self.state.index :]:
                if self.progress >= 1 or self.stopped:
                    return
                yield batch
            self.state.epoch, self.state.index = self.state.epoch + 1, 0

    def _update(self, batch: Any) -> None:
        """One step down the gradient of the whole batch, of which this process computes its rows."""
        begun, worked, state, settings = time.perf_counter(), time.process_time(), self.state, self.settings
        self.model.train()
        real = int((batch.tgt_out != PAD).sum())
        ahead = state.step + 1
        # What dropout draws depends on the number of the update alone: a continued training draws the same.
        torch.manual_seed(Random(f"{settings.seed} {ahead} {self.rank}").getrandbits(63))
        # When this update will end is not known: a little is added to the time so far, lest the first rate be 0.
        progress = ahead / settings.steps if settings.steps else (state.seconds + 0.05) / settings.seconds
        rate = cosine(min(progress, 1.0), settings.peak_lr, settings.warmup)
        self.optimizers.set_rate(rate)
        self.optimizers.zero_grad()  # here, not after the step: an update that was broken off leaves gradients behind
        with torch.autocast(self.device.type, torch.bfloat16, enabled=settings.precision == "bfloat16"):
            parts = (part.to(self.device) for part in self._share(batch))
            loss = self.loss(self.model, *parts, settings.label_smoothing, reduction="sum")
        loss = loss * (self.world / max(real, 1))
        loss.backward()
        parameters = list(self.model.parameters())
        gradients = [p.grad for p in parameters if p.grad is not None]
        if self.world > 1:  # the mean over the processes
            flat = nn.utils.parameters_to_vector(gradients)
            distributed.all_reduce(flat)
            nn.utils.vector_to_parameters(flat / self.world, gradients)
        norm = nn.utils.get_total_norm(gradients)
        now = float(loss.detach())
        if not math.isfinite(now + float(norm)):
            raise NotFinite(self._where(now, rate))
        self.recent_loss = 0.95 * self.recent_loss + 0.05 * now if math.isfinite(self.recent_loss) else now
        nn.utils.clip_grads_with_norm_(parameters, settings.clip, norm)
        self.whole = False
        self.optimizers.step()
        state.step, state.index, state.tokens = ahead, state.index + 1, state.tokens + real
        most = 50 * state.seconds / ahead if state.seconds else time.process_time() - worked  # a pause has not trained
        took = min(max(time.perf_counter() - begun, 0.0), most)
        seconds, self.stopped = self._agreed(took, self.interrupts.seen)
        state.seconds += seconds

    def _share(self, batch: Any) -> tuple[Tensor, Tensor, Tensor]:
        """This process's rows of a batch; where there are fewer rows than processes, a row that counts for nothing."""
        src, tgt_in, tgt_out = (part[self.rank :: self.world] for part in (batch.src, batch.tgt_in, batch.tgt_out))
        if len(src):
            return src, tgt_in, tgt_out
        return batch.src[:1], batch.tgt_in[:1], torch.full_like(batch.tgt_out[:1], PAD)

    def _agreed(self, seconds: float, stopped: int) -> tuple[float, int]:
        """What the first process says, so that all stop after the same update."""
        if self.world == 1:
            return seconds, stopped
        said = torch.tensor([seconds, stopped], dtype=torch.float32, device=self.device)
        distributed.broadcast(said, src=0)
        return said[0].item(), int(said[1])

    def _where(self, loss: float, rate: float) -> str:
        bad = [n for n, p in self.model.named_parameters() if p.grad is not None and not p.grad.isfinite().all()]
        first = f", first in the gradient of {bad[0]} (of {len(bad)} parameters)" if bad else ""
        return (
            f"expected a finite loss and gradient, got loss {loss} at update {self.state.step + 1}, batch "
            f"{self.state.index} of epoch {self.state.epoch}, learning rate {rate:.2g}{first}: lower the peak rate, "
            "lengthen the warm-up (in another folder), or look at that batch; the weights are those before this update"
        )

    @torch.no_grad()
    def _evaluate(self) -> None:
        """Validation loss in nats a token, without smoothing: a point on the curve."""
        state = self.state
        point = {"step": state.step, "seconds": round(state.seconds, 2), "tokens": state.tokens}
        if self.val_batches:
            self.model.eval()
            total = count = 0.0
            for batch in self.val_batches:
                parts = (part.to(self.device) for part in (batch.src, batch.tgt_in, batch.tgt_out))
                total += self.loss(self.model, *parts, 0.0, reduction="sum").item()
                count += (batch.tgt_out != PAD).sum().item()
            point["val_loss"] = total / max(count, 1)
        state.curve.append(point)

    def _news(self) -> str:
        """What stands beside the bar: updates, loss (a mean over the last updates), speed, validation loss."""
        state, speed = self.state, self.state.tokens / max(self.state.seconds, 1e-9)
        last = state.curve[-1].get("val_loss", math.nan) if state.curve else math.nan
        validation = f", validation {last:.3f}" if math.isfinite(last) else ""
        return f"update {state.step}, loss {self.recent_loss:.3f}{validation}, {speed:,.0f} tokens/s "

    def _content(self) -> dict[str, Any]:
        """What a checkpoint holds."""
        trained = {"model": self.model.state_dict(), "optimizers": self.optimizers.state_dict()}
        return trained | {"state": asdict(self.state), "settings": asdict(self.settings)}

    def _save(self) -> None:
        if self.checkpoints is not None and self.rank == 0:
            content = self._content()
            self.checkpoints.save(self.state.step, content)
            self.kept = content["state"]

    def resume(self) -> None:
        """Take up the newest checkpoint, where there is one; `run` begins with it."""
        content = self.checkpoints.load_newest(self.device) if self.checkpoints is not None else None
        if content is None:
            return
        saved, mine = content.get("settings"), asdict(self.settings)
        saved = saved if isinstance(saved, dict) else {}
        if changed := [name for name in mine if saved.get(name) != mine[name] and name not in ("steps", "seconds")]:
            was = ", ".join(f"{name}={saved.get(name)!r}" for name in changed)
            raise ValueError(f"expected the settings of the checkpoint ({was}), got others: use them or another folder")
        try:
            state = TrainingState(**content["state"])
            self.model.load_state_dict(content["model"])
            self.optimizers.load_state_dict(content["optimizers"])
        except (LookupError, TypeError, ValueError, RuntimeError, AttributeError) as error:
            reason = " ".join(str(error).split())[:150]
            raise ValueError(
                f"expected a checkpoint of this model in {self.checkpoints.folder}, got another ({reason}): "
                "use another folder"
            ) from None
        self.state, self.kept = state, asdict(state)
