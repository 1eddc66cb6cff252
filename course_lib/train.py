"""Train a translator from the command line: `python -m course_lib.train --help`."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import distributed

from course_lib.batching import Batches, encode_pairs
from course_lib.bpe import BPE
from course_lib.corpus import Corpus
from course_lib.fast import fast_loss
from course_lib.report import evaluate, load_corpus, samples, table
from course_lib.reproducible import make_reproducible
from course_lib.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.trainer import Trainer, TrainingState
from course_lib.training import TrainingSettings, plain_loss
from course_lib.transformer import Transformer, TransformerConfig
from course_lib.translation import Translator

DESCRIPTION = """\
Train a translator, translate the held-out sentences with it, and say how good it is.

Without options: the course's own Korean-English corpus, a small Transformer, 60 seconds.
Run the same command again and it goes on from the last checkpoint of --folder.

examples
  python -m course_lib.train --seconds 120 --folder runs/course
  python -m course_lib.train --model gru --seconds 60
  python -m course_lib.train --data multi30k --seconds 1200 --folder runs/multi30k
  python -m course_lib.train --data my_pairs.tsv --steps 5000
  torchrun --nproc-per-node=2 -m course_lib.train --steps 2000 --folder runs/two
"""

# What fits a corpus. Real sentences are few here: more dropout keeps the model from learning them by heart.
PRESETS = {
    "course": {"d_model": 128, "n_heads": 4, "d_ff": 256, "n_layers": 2, "dropout": 0.1, "merges": 1000},
    "real": {"d_model": 256, "n_heads": 4, "d_ff": 512, "n_layers": 3, "dropout": 0.15, "merges": 6000},
}
DEFAULTS = {
    "course": {"peak_lr": 3e-3, "max_tokens": 1500, "beam": 1},
    "real": {"peak_lr": 1.5e-3, "max_tokens": 2048, "beam": 5},
}
SHOWN = 3  # translations printed at the end


def parser() -> argparse.ArgumentParser:
    """The options, with what they are for."""
    p = argparse.ArgumentParser("python -m course_lib.train", description=DESCRIPTION, formatter_class=_Formatter)
    p.add_argument("--data", default="course", help="course, multi30k, or a file with one `source TAB target` a line")
    p.add_argument("--reverse", action="store_true", help="translate in the other direction")
    p.add_argument("--model", choices=("transformer", "gru"), default="transformer", help="gru: the recurrent baseline")
    length = p.add_mutually_exclusive_group()
    length.add_argument("--seconds", type=float, help="train so long, evaluation not counted (default: 60)")
    length.add_argument("--steps", type=int, help="train so many updates instead: repeatable to the last digit")
    p.add_argument("--seed", type=int, default=0, help="of the corpus, the first weights, the order and dropout")
    p.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1), help="CPU threads")
    p.add_argument("--folder", type=Path, help="keep model, vocabulary, checkpoints and learning curve here")
    p.add_argument("--json", type=Path, help="write the figures to this file")
    p.add_argument("--beam", type=int, help="beam size of the final translations")
    p.add_argument("--length-penalty", type=float, default=1.0, help="larger: longer translations win")
    p.add_argument("--peak-lr", type=float, help="largest learning rate; a cosine leads to 0")
    p.add_argument("--max-tokens", type=int, help="positions of a batch, on each side")
    for name, kind in (("merges", int), ("d-model", int), ("n-heads", int), ("d-ff", int), ("n-layers", int)):
        p.add_argument(f"--{name}", type=kind, help="size of the vocabulary or the model")
    p.add_argument("--dropout", type=float, help="share of activations switched off in training")
    return p


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keep the examples as they are written."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and report; 0 when all went well."""
    options = parser().parse_args(arguments)
    preset = "course" if options.data == "course" else "real"
    for name, value in (PRESETS[preset] | DEFAULTS[preset]).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    if options.steps is None and options.seconds is None:
        options.seconds = 60.0
    if "LOCAL_RANK" in os.environ:
        distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    first = not distributed.is_initialized() or distributed.get_rank() == 0
    try:
        figures = run(options, quiet=not first)
    except (ValueError, OSError) as error:
        print(f"{parser().prog}: {error}", file=sys.stderr)
        return 1
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()
    if first and options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(figures, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return 0


def run(options: argparse.Namespace, quiet: bool = False) -> dict[str, Any]:
    """The whole way from corpus to figures."""
    make_reproducible(options.seed, options.threads)
    corpus = load_corpus(options.data, options.seed, options.reverse)
    texts = [text for pair in corpus["train"] for text in (pair.src_text, pair.tgt_text)]
    vocabulary = BPE.train(texts, options.merges)
    model = build(options, vocabulary.vocab_size)
    translator = Translator(model, vocabulary)
    state = train(options, translator, corpus, quiet)
    if quiet:
        return {}
    if options.folder:
        translator.save(options.folder)
        (options.folder / "curve.json").write_text(json.dumps(state.curve) + "\n", encoding="utf-8")
    figures = report(options, translator, corpus, state)
    show(figures, translator, corpus, options)
    return figures


def build(options: argparse.Namespace, vocab_size: int) -> Transformer | Seq2Seq:
    """The model that the options describe, on a GPU where there is one."""
    local = int(os.environ.get("LOCAL_RANK", 0))
    device = torch.device("cuda", local) if torch.cuda.is_available() else torch.device("cpu")
    if options.model == "gru":
        config = Seq2SeqConfig(vocab_size, 2 * options.d_model, attention=True, dropout=options.dropout)
        return Seq2Seq(config).to(device)
    names = ("d_model", "n_heads", "d_ff", "n_layers", "dropout")
    config = TransformerConfig(vocab_size, **{name: getattr(options, name) for name in names}, norm_first=True)
    return Transformer(config).to(device)


def train(options: argparse.Namespace, translator: Translator, corpus: Corpus, quiet: bool) -> TrainingState:
    """Train the translator's model on the corpus."""
    pairs, val = (encode_pairs(corpus[split], translator.vocabulary) for split in ("train", "val"))
    longest = options.max_tokens - 1
    kept = [pair for pair in pairs if max(map(len, pair)) < longest]
    if not quiet and len(kept) < len(pairs):
        print(f"Leaving out {len(pairs) - len(kept)} pairs longer than a batch: raise --max-tokens to keep them.")
    settings = TrainingSettings(
        steps=options.steps,
        seconds=options.seconds,
        peak_lr=options.peak_lr,
        d_model=options.d_model,
        precision="bfloat16" if torch.cuda.is_available() else "float32",
        seed=options.seed,
    )
    batches = Batches(kept, options.max_tokens, options.seed)
    room = max([options.max_tokens, *(1 + max(map(len, pair)) for pair in val)])  # no sentence of val is left out
    val_batches = Batches(val, room, shuffle=False)(0)
    folder = options.folder / "checkpoints" if options.folder else None
    loss = fast_loss if options.model == "transformer" else plain_loss
    return Trainer(translator.model, batches, settings, val_batches, folder, loss, quiet).run()


def report(options: argparse.Namespace, translator: Translator, corpus: Corpus, state: TrainingState) -> dict[str, Any]:
    """Figures of every split but train and val, with what made them."""
    found = evaluate(translator, corpus, options.beam, options.length_penalty)
    return found | {
        "tokens_per_second": round(state.tokens / max(state.seconds, 1e-9)),
        "seconds": round(state.seconds, 1),
        "updates": state.step,
        "parameters": sum(p.numel() for p in translator.model.parameters()),
        "curve": state.curve,
        "options": {name: str(v) if isinstance(v, Path) else v for name, v in vars(options).items()},
        "torch": torch.__version__,
    }


def show(figures: dict[str, Any], translator: Translator, corpus: Corpus, options: argparse.Namespace) -> None:
    """Print the figures as a table, and a few translations."""
    print(table(figures))
    print(f"{figures['updates']} updates, {figures['tokens_per_second']:,} target tokens a second")
    pairs = corpus["test"][:SHOWN]
    texts = translator.translate([pair.src_text for pair in pairs], options.beam, options.length_penalty)
    print(f"\n{samples(pairs, texts)}")


if __name__ == "__main__":
    sys.exit(main())
