"""What suits a corpus and a machine: the sizes and settings that a training command leaves open."""

import argparse
import os
from textwrap import wrap
from typing import Any

import torch
from torch import distributed

from course_lib.fast.memory import shapes_of
from course_lib.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.training import fastest_precision
from course_lib.transformer import TransformerConfig, parameter_count

BYTES = 12  # of a parameter in training, at least: its value, its gradient, what the optimizer remembers

# Found by trying. The course corpus is regular: without dropout, with much weight decay, small batches teach most in a
# minute. Real sentences are varied and few: a larger model, held back by dropout.
PRESETS: dict[str, dict[str, Any]] = {
    "course": {
        **{"d_model": 128, "n_heads": 8, "d_ff": 256, "n_layers": 2, "dropout": 0.0},
        **{"subwords": "characters", "merges": 1000},
        **{"peak_lr": 3e-3, "max_tokens": 500, "weight_decay": 0.2, "beam": 1, "seconds": 60.0},
    },
    "real": {
        **{"d_model": 256, "n_heads": 4, "d_ff": 512, "n_layers": 3, "dropout": 0.15},
        **{"subwords": "bytes", "merges": 4000},
        **{"peak_lr": 3e-3, "max_tokens": 1200, "weight_decay": 0.1, "beam": 5, "seconds": 1200.0},
    },
}


def fill_in(options: argparse.Namespace) -> None:
    """Give every option that is None the value that suits `options.data`, `options.model` and the machine.

    >>> from course_lib.translation.commands.train import parser
    >>> options = parser().parse_args(["--data", "multi30k", "--dropout", "0.3"])
    >>> fill_in(options)
    >>> options.d_model, options.dropout, options.seconds
    (256, 0.3, 1200.0)
    """
    real = options.data != "course"
    for name, value in PRESETS["real" if real else "course"].items():
        if getattr(options, name) is None and not (name == "seconds" and options.steps is not None):
            setattr(options, name, value)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if options.precision is None:  # half precision gains nothing on the small matrices of the course's model
        options.precision = fastest_precision(device) if real or device == "cuda" else "float32"
    if options.optimizer is None:  # Muon's own products are in bfloat16: dear on a processor without it
        suits = real and options.model == "transformer" and options.precision == "bfloat16"
        options.optimizer = "muon" if suits else "adamw"


def spelled() -> str:
    """The presets as options, for a help text.

    >>> spelled().split()[:5]
    ['course', 'corpus:', '--d-model', '128', '--n-heads']
    """
    lines = []
    for title, kind in (("course corpus", "course"), ("real text", "real")):
        options = " ".join(f"--{name.replace('_', '-')}\0{value}" for name, value in PRESETS[kind].items())
        text = wrap(f"{title}: {options}", 84, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
        lines += [line.replace("\0", " ") for line in text]  # an option stays beside its value
    return "\n".join(lines)


def device_of_training() -> torch.device:
    """A GPU where there is one, every process its own."""
    number = int(os.environ["LOCAL_RANK"]) if distributed.is_initialized() else 0
    return torch.device("cuda", number) if torch.cuda.is_available() else torch.device("cpu")


def config_of(options: argparse.Namespace, vocab_size: int) -> TransformerConfig | Seq2SeqConfig:
    """The shape of the model that the options describe."""
    if options.model == "gru":
        return Seq2SeqConfig(vocab_size, 2 * options.d_model, attention=True, dropout=options.dropout)
    names = ("d_model", "n_heads", "d_ff", "n_layers", "dropout")
    return TransformerConfig(vocab_size, **{name: getattr(options, name) for name in names}, norm_first=True)


def too_large(options: argparse.Namespace) -> str:
    """Why no memory of this machine holds the training, by arithmetic; nothing where it may."""
    config, gru = config_of(options, vocab_size=1), options.model == "gru"
    counts = [s.numel() for s in shapes_of(Seq2Seq, config).values()] if gru else [parameter_count(config)]
    needed, device = BYTES * sum(counts), device_of_training()
    if device.type == "cuda":
        there = torch.cuda.get_device_properties(device).total_memory
    else:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else needed
    wanted = f"expected a model whose training fits into {there / 1e9:,.1f} GB, got one of {needed / 1e9:,.1f} GB"
    return f"{wanted}: choose a smaller --d-model, --d-ff, or --n-layers" if needed > there else ""
