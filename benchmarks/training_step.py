"""One update of a translator's weights: forward, loss, backward, clipped gradient, AdamW.

The share of the peak is useful work over possible work: operations that *real* tokens need, done per second, over
the operations per second of a large matrix product in the same run. Padding that is computed along counts for nothing.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.contender_process import Apart
from benchmarks.machine import has_bfloat16
from benchmarks.peers.marian import Marian
from benchmarks.peers.nn_transformer import NNTransformer
from benchmarks.peers.xtransformers import XTransformers
from benchmarks.timing import FASTEST, LeftOut, Settings, Work, agree, gather
from benchmarks.translators import MIDDLE, TINY, Sizes, sentences
from course_lib.batching import Batch
from course_lib.fast import fast_loss
from course_lib.fast.memory import keep_freed_memory
from course_lib.tokens import PAD
from course_lib.training import plain_loss
from course_lib.transformer import Transformer, TransformerConfig

SMALL = TransformerConfig(vocab_size=200, d_model=64, n_heads=4, d_ff=128, n_layers=2, max_len=128)
SMOOTHING, CLIP = 0.1, 1.0
COURSE, SIMPLE, BFLOAT16 = "course", "course, simple form", "course, bfloat16"
PEERS = {"nn.Transformer": NNTransformer, "Hugging Face Marian": Marian, "x-transformers": XTransformers}
ABOUT = (
    "{n} sentences of {shortest} to {longest} tokens ({real:.0%} of the positions are real), d_model {c.d_model}, "
    "{c.n_heads} heads, d_ff {c.d_ff}, {c.n_layers}+{c.n_layers} layers, {c.vocab_size} words, dropout {c.dropout}, "
    "label smoothing {smoothing}, AdamW, clipped gradient. Same weights before the first step and same loss, except "
    "for x-transformers, whose layers are others. Everybody has a process of its own; that of the course keeps freed "
    "memory, as its commands do."
)


def works(settings: Settings) -> Iterator[Work]:
    """Three sizes; the wide one in bfloat16, too."""
    if settings.quick:
        yield from training_step("training step, tiny", TINY, settings, sizes=(6, 3, 5), bfloat16=True)
        return
    yield from training_step("training step", MIDDLE, settings, aim=1.4)
    yield from training_step("training step, d_ff 1024", replace(MIDDLE, d_ff=1024), settings, aim=1.5, bfloat16=True)
    yield from training_step("training step, small model", SMALL, settings, sizes=(64, 6, 16), aim=1.25)


def training_step(
    title: str,
    config: TransformerConfig,
    settings: Settings,
    sizes: Sizes = (128, 8, 24),
    aim: float = 0.0,
    bfloat16: bool = False,
) -> Iterator[Work]:
    """The work of one size; its processes end when the next is asked for."""
    batch = sentences(config, *sizes)
    names = [COURSE, SIMPLE, *([BFLOAT16] if bfloat16 else []), *PEERS]
    contenders, left_out = gather({name: partial(trained, settings, name, config, sizes) for name in names})
    n, shortest, longest = sizes
    real = (batch.src != PAD).float().mean().item()
    about = ABOUT.format(n=n, shortest=shortest, longest=longest, real=real, c=config, smoothing=SMOOTHING)
    try:
        check(contenders)
        yield Work(
            title,
            about,
            {name: partial(contender.seconds, "update") for name, contender in contenders.items()},
            ours=(COURSE, SIMPLE, BFLOAT16),
            left_out=left_out,
            amount=batch.n_tokens,
            things="target tokens",
            flops=useful_flops(config, batch),
            aims={(COURSE, FASTEST): aim, (BFLOAT16, FASTEST): 2.0},
        )
    finally:
        for contender in contenders.values():
            contender.close()


def trained(settings: Settings, name: str, config: TransformerConfig, sizes: Sizes) -> Apart:
    """A contender, where it can run."""
    if name == BFLOAT16 and not (has_bfloat16() or settings.quick):
        raise LeftOut("the processor has no instructions for bfloat16")
    return Apart(settings, Trained, name, config, sizes)


class Trained:
    """A model in training, on one batch over and over. All start from the same weights, x-transformers from its own."""

    def __init__(self, name: str, config: TransformerConfig, sizes: Sizes):
        torch.manual_seed(0)
        fast = name in (COURSE, BFLOAT16)
        if fast:
            keep_freed_memory()
        self.batch, ours = sentences(config, *sizes), Transformer(config)
        self.model = PEERS[name](ours) if name in PEERS else ours
        self.loss = {COURSE: course_loss, SIMPLE: simple_loss, BFLOAT16: low_loss}.get(name, textbook_loss)
        # The fused optimizer, as the course's trainer has it, or the default.
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, **({"fused": True} if fast else {}))

    def count(self) -> int:
        """Trained parameters, each once."""
        return sum(parameter.numel() for parameter in self.model.parameters() if parameter.requires_grad)

    def loss_and_gradient(self) -> dict[str, float]:
        """The loss without dropout, and the length of its gradient by the words' matrix, the first parameter."""
        value = self.loss(self.model.eval(), self.batch)
        value.backward()
        length = next(self.model.parameters()).grad.norm()
        self.model.train().zero_grad(set_to_none=True)
        return {"loss": value.item(), "gradient": length.item()}

    def update(self) -> None:
        """One step."""
        self.loss(self.model, self.batch).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


def course_loss(model: nn.Module, batch: Batch) -> Tensor:
    """The packed form: no work on padding, and the logits are never stored."""
    return fast_loss(model, batch.src, batch.tgt_in, batch.tgt_out, SMOOTHING)


def low_loss(model: nn.Module, batch: Batch) -> Tensor:
    """The same with its matrix products in bfloat16."""
    with torch.autocast("cpu", torch.bfloat16):
        return course_loss(model, batch)


def simple_loss(model: nn.Module, batch: Batch) -> Tensor:
    """The form that the chapters build."""
    return plain_loss(model, batch.src, batch.tgt_in, batch.tgt_out, SMOOTHING)


def textbook_loss(model: nn.Module, batch: Batch) -> Tensor:
    """How any other model is trained: all logits, and PyTorch's loss, which leaves the pads out."""
    logits = model(batch.src, batch.tgt_in).flatten(0, 1)
    return F.cross_entropy(logits, batch.tgt_out.flatten(), ignore_index=PAD, label_smoothing=SMOOTHING)


def check(contenders: dict[str, Apart]) -> None:
    """Without dropout, models with the same weights have the same loss and the same gradient of the embedding.

    Of x-transformers, whose layers are others, the number of parameters is compared.
    """
    expected = contenders[COURSE].call("loss_and_gradient")
    for name, contender in contenders.items():
        if name == "x-transformers":
            agree("number of parameters", {name: contender.call("count")}, contenders[COURSE].call("count"), 0.1)
            continue
        for what, value in contender.call("loss_and_gradient").items():
            agree(what, {name: value}, expected[what], tolerance=0.05 if name == BFLOAT16 else 1e-3)


def useful_flops(config: TransformerConfig, batch: Batch) -> float:
    """Operations of one step's matrix products on real tokens: 2 for each multiply-add; backward is twice forward.

    With m source and n target tokens of a sentence, d = d_model, and the matrices of `course_lib.transformer`: a
    source token takes 4 d² for attention, 2 d d_ff behind it, 2 d² in every decoder layer for its key and value. A
    target token takes 4 d² + 2 d² for the two attentions, 2 d d_ff, and d times the vocabulary at the end. Scores and
    mixtures take 2 d for each pair that may meet: m² in the encoder, n (n + 1) / 2 and m n in the decoder.
    """
    d, d_ff, n_layers = config.d_model, config.d_ff, config.n_layers
    m, n = batch.src_lengths.double(), batch.tgt_lengths.double()
    source = n_layers * m * (4 * d * d + 2 * d * d_ff + 2 * d * d)
    target = n_layers * n * (6 * d * d + 2 * d * d_ff) + n * d * config.vocab_size
    pairs = n_layers * 2 * d * (m * m + n * (n + 1) / 2 + m * n)
    return 3 * 2 * (source + target + pairs).sum().item()
