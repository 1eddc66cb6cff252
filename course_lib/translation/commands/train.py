"""Train a translator from the command line: `python -m course_lib train --help`."""

import argparse
import math
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import distributed

from course_lib.batching import Batches, encode_pairs
from course_lib.bpe import BPE
from course_lib.bpe.byte_level import ByteBPE
from course_lib.bpe.subwords import write_json
from course_lib.corpus import Corpus
from course_lib.fast import fast_loss
from course_lib.fast.memory import keep_freed_memory
from course_lib.reproducible import make_reproducible
from course_lib.text import clean
from course_lib.training import TrainingSettings, plain_loss
from course_lib.training.optimizers import OPTIMIZERS
from course_lib.training.trainer import NotFinite, Trainer, TrainingState
from course_lib.translation import LONGEST, MODELS, Translator
from course_lib.translation.commands import options as cli
from course_lib.translation.commands.options import number, whole
from course_lib.translation.recipes import config_of, device_of_training, fill_in, spelled, too_large
from course_lib.translation.report import evaluate, first_look, load_corpus, samples, table, too_long
from course_lib.translation.run_folder import check_options, files_of, names_of, only_user, record_options, save_curve

DESCRIPTION = f"""\
Train a translator, translate sentences it never saw, and say how good it is.

Without options: the course's own Korean-English corpus, a small Transformer, 60 seconds
of training. A table of every held-out split follows, and a few translations to read.
With --folder all of it is kept: the same command goes on from the last checkpoint there,
after the end with more --seconds or --steps, too; `course_lib translate` translates with
it, `course_lib score` scores it again.

examples
  python -m course_lib train --seconds 120 --folder runs/course
  python -m course_lib train --model gru --seconds 60
  python -m course_lib train --data multi30k --seconds 1200 --folder runs/multi30k
  python -m course_lib train --data my_pairs.tsv --steps 5000 --json figures.json
  python -m course_lib train --data corpus.de corpus.en --folder runs/mine
  torchrun --nproc-per-node=2 -m course_lib train --steps 2000 --folder runs/two

what is left open
{spelled()}
  --precision is the fastest here; --optimizer muon on real text, where bfloat16 is built in

your own pairs
  A file of UTF-8 text, plain or .gz, with a source, a tab, and its target in each line; what
  stands in further columns is not read. Or two files: line i of one belongs to line i of the
  other. `reads:` shows one pair, as it was understood. Sentences become NFC, with one space
  between words and without characters that nobody sees; `translate` treats its text alike.
  A twentieth of the sources is held out to validate, another to test; sources that differ in
  case, spaces, or end marks only are not parted.

what to expect
  The validation loss beside the bar falls; where it rises again, the model learns its
  corpus by heart: more dropout, or less time. BLEU near 100 on the course's corpus says
  that it works and nothing about real text; try multi30k. A GPU is used where there is one.
  Where the output is no terminal, a line in place of the bar tells now and then how far it is.
"""

SUBWORDS = {"characters": BPE, "bytes": ByteBPE}
SHOWN = 3  # translations printed at the end
STEEP = 1.25  # the loss at two thirds of the updates by that at the end: up to 1.19 in trainings that were long enough
RISEN = 1.05  # the loss at the end by the smallest one, where the model learns its corpus by heart
MOST_FEATURES, MOST_LAYERS = 1_000_000, 1000  # what nobody means


def parser() -> cli.Parser:
    """The options, with what they are for."""
    p = cli.Parser("python -m course_lib train", DESCRIPTION)
    group = p.add_argument_group("data")
    cli.add_data(group, default="course")
    group.add_argument("--reverse", action="store_true", help="translate in the other direction")
    group.add_argument("--subwords", choices=SUBWORDS, help="of characters, or of bytes with punctuation apart")
    group.add_argument("--merges", type=whole(0), help="merges of the vocabulary: more merges, longer tokens")

    group = p.add_argument_group("model")
    group.add_argument("--model", choices=("transformer", "gru"), default="transformer", help="gru: the baseline")
    group.add_argument("--d-model", type=whole(1, MOST_FEATURES), help="features of a token; n_heads divides it")
    group.add_argument("--n-heads", type=whole(1), help="attention heads")
    group.add_argument("--d-ff", type=whole(1, MOST_FEATURES), help="inner features of the feed-forward layers")
    group.add_argument("--n-layers", type=whole(1, MOST_LAYERS), help="layers of the encoder, and of the decoder")

    group = p.add_argument_group("training")
    length = group.add_mutually_exclusive_group()
    length.add_argument("--seconds", type=number(above=0), help="train so long, evaluation not counted")
    length.add_argument("--steps", type=whole(1), help="train so many updates instead: repeatable to the last digit")
    group.add_argument("--peak-lr", type=number(above=0), help="largest learning rate; a cosine leads to 0")
    group.add_argument("--max-tokens", type=whole(2), help="positions of a batch, on each side")
    group.add_argument("--dropout", type=number(least=0, below=1), help="share of activations switched off")
    group.add_argument("--optimizer", choices=OPTIMIZERS, help="muon: dearer updates that teach more")
    group.add_argument("--weight-decay", type=number(least=0), help="how strongly weights are drawn to zero")
    group.add_argument("--precision", choices=("float32", "bfloat16"), help="of matrix products; weights are float32")
    group.add_argument(
        "--seed", type=cli.SEEDS, default=0, help="of corpus, first weights, order, dropout (default: 0)"
    )
    cli.add_threads(group)

    group = p.add_argument_group("output")
    group.add_argument("--folder", type=cli.path, help="keep translator, checkpoints and learning curve here")
    group.add_argument("--json", type=cli.path, help="write the figures to this file")
    cli.add_search(group, "beam size of the final translations")
    cli.add_tokenize(group, "13a", default="13a")
    group.add_argument("--skip-evaluation", action="store_true", help="end with the training; `score` judges it later")
    return p


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and report; 0 when all went well."""
    p = parser()
    options = p.parse_args(arguments)
    try:
        return cli.run_command(p.prog, lambda: prepared(p, options), expected=(NotFinite,))
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()


def prepared(p: cli.Parser, options: argparse.Namespace) -> None:
    """Train with the options that the named ones leave open, in a group where there is one."""
    fill_in(options)
    if options.model == "transformer" and options.d_model % options.n_heads:
        p.error(f"expected --n-heads that divides --d-model, {options.d_model}, got {options.n_heads}: change one")
    if reason := too_large(options):
        p.error(reason)
    if os.environ.keys() >= {"RANK", "LOCAL_RANK", "WORLD_SIZE"}:  # torchrun sets all of them
        distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    run(options, quiet=distributed.is_initialized() and distributed.get_rank() > 0)


def run(options: argparse.Namespace, quiet: bool = False) -> None:
    """The whole way from corpus to figures. What can be refused is refused before the work begins."""
    make_reproducible(options.seed, options.threads)
    keep_freed_memory()
    with ExitStack() as stack:
        if options.json and not quiet:
            cli.check_file(options.json, reads=names_of(options.data), keeps=files_of(options.folder, options.json))
        if options.folder and not quiet:
            stack.enter_context(only_user(options.folder))
            check_options(options.folder, vars(options))
        _train_and_report(options, quiet)


def _train_and_report(options: argparse.Namespace, quiet: bool) -> None:
    corpus = load_corpus(options.data, options.seed, options.reverse)
    texts = [text for pair in corpus["train"] for text in (pair.src_text, pair.tgt_text)]
    vocabulary = SUBWORDS[options.subwords].train(texts, options.merges)
    model = MODELS[options.model][0](config_of(options, vocabulary.vocab_size)).to(device_of_training())
    characters = {character for pair in corpus["train"] for character in clean(pair.src_text)}
    translator = Translator(model, vocabulary, characters)
    if not quiet:
        print(first_look(corpus))
    trainer = train(options, translator, corpus, quiet)
    if not quiet and options.folder:
        translator.save(options.folder)
        save_curve(options.folder, trainer.state.curve)
    options.skip_evaluation |= bool(trainer.stopped)  # who stops wants the end, not minutes of translating
    if not quiet:
        if not options.skip_evaluation:
            tell("Translating the sentences that were held out.")
        try:  # all is written before anything is shown: an output that breaks off costs nothing
            figures = report(options, translator, corpus, trainer.state)
            if options.json:
                write_json(options.json, figures, indent=1)
        finally:
            if options.folder:
                print(f"Kept in {options.folder}: the translator, checkpoints, and curve.svg. What you can do next:")
                print(f"  python -m course_lib translate --folder {shlex.quote(str(options.folder))}")
                print(f"  python -m course_lib score --folder {shlex.quote(str(options.folder))}")
        show(figures, translator, corpus, options)
        if not trainer.stopped and (line := far_from_done(figures, options)):
            print(f"\n{line}")
    if trainer.stopped:  # all is kept and shown; the exit code says that the training is not at its end
        raise KeyboardInterrupt


def train(options: argparse.Namespace, translator: Translator, corpus: Corpus, quiet: bool) -> Trainer:
    """Train the translator's model on the corpus; the trainer knows how it went."""
    pairs, val = (encode_pairs(corpus[split], translator.vocabulary) for split in ("train", "val"))
    longest = options.max_tokens - 1
    kept = [pair for pair in pairs if max(map(len, pair)) < longest]
    if not kept:
        raise ValueError(
            f"expected sentences of fewer than {longest} tokens in {' and '.join(names_of(options.data))}, got none "
            f"among {len(pairs)} pairs: "
            f"{'raise --max-tokens' if pairs else 'fill the file'}"
        )
    judged = [pair for pair in val if max(map(len, pair)) < max(longest, LONGEST)]
    if not quiet and len(kept) < len(pairs):
        print(f"Leaving out {len(pairs) - len(kept)} pairs longer than a batch: raise --max-tokens to keep them.")
    if not quiet and len(judged) < len(val):
        print(f"Leaving out {len(val) - len(judged)} pairs of val of {max(longest, LONGEST):,} tokens or more.")
    names = ("steps", "seconds", "peak_lr", "optimizer", "weight_decay", "precision", "seed")
    settings = TrainingSettings(**{name: getattr(options, name) for name in names})
    batches = Batches(kept, options.max_tokens, options.seed)
    room = max([options.max_tokens, *(1 + max(map(len, pair)) for pair in judged)])
    val_batches = Batches(judged, room, shuffle=False)(0)
    folder = options.folder / "checkpoints" if options.folder else None
    loss = fast_loss if options.model == "transformer" else plain_loss
    trainer = Trainer(translator.model, batches, settings, val_batches, folder, loss, quiet)
    trainer.resume()
    if folder and (options.folder / "model.pt").exists() and not trainer.checkpoints.paths():
        raise ValueError(f"expected checkpoints in {folder}, got none: move model.pt away, or name another folder")
    if not quiet and options.folder and trainer.progress < 1:  # nothing can be refused any more, and it will train
        record_options(options.folder, vars(options))
    trainer.run(None if quiet else tell)
    return trainer


def tell(line: str) -> None:
    """Print how far the work is, at once, where no bar shows it. Where it cannot be written, the work goes on."""
    if not (sys.stdout.isatty() and sys.stderr.isatty()):
        with suppress(OSError):
            print(line, flush=True)


def report(options: argparse.Namespace, translator: Translator, corpus: Corpus, state: TrainingState) -> dict[str, Any]:
    """Figures of every split but train and val (none with --skip-evaluation), with what made them."""
    splits = [] if options.skip_evaluation else None
    searched = options.beam, options.length_penalty
    found = evaluate(translator, corpus, *searched, splits, quiet=False, tokenize=options.tokenize)
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
    if not options.skip_evaluation:
        print(table(figures))
    print(f"{figures['updates']} updates, {figures['tokens_per_second']:,} target tokens a second")
    if not options.skip_evaluation:
        show_samples(translator, corpus, options)


def show_samples(translator: Translator, corpus: Corpus, options: argparse.Namespace) -> None:
    """Print a few translations of sentences that were held out."""
    pairs = [pair for pair in corpus["test"] if not too_long(translator, pair)][:SHOWN]
    if not pairs:
        print("No sentence was held out to test: a file of pairs gives a twentieth of its sources.")
        return
    sources = [pair.src_text for pair in pairs]
    found = translator.search(sources, options.beam, options.length_penalty)
    texts = [translator.vocabulary.decode(hypotheses[0].tokens) for hypotheses in found]
    print(f"\n{samples(pairs, texts)}")


def far_from_done(figures: dict[str, Any], options: argparse.Namespace) -> str:
    """A line that says why longer training may help, and how to go on; nothing where the figures do not say so.

    It may help where no translation equals its reference, or where the validation loss fell by a fifth in the last
    third of the updates; but not where that loss rises again.

    >>> figures = {"exact_match": {"test": 0.0}, "curve": []}
    >>> far_from_done(figures, parser().parse_args(["--folder", "run", "--steps", "200"]))
    'No translation equals its reference yet: to train longer, give the same command --steps 600; it goes on from here.'
    """
    points = [point for point in figures["curve"] if math.isfinite(point.get("val_loss", math.nan))]
    steps, losses = [point["step"] for point in points], [point["val_loss"] for point in points]
    if losses and losses[-1] > RISEN * min(losses):
        return ""
    reason, exact = "", figures["exact_match"].values()
    if exact and not any(exact):
        reason = "No translation equals its reference yet"
    elif losses and steps[0] <= 2 / 3 * steps[-1]:
        before = np.interp(2 / 3 * steps[-1], steps, losses)
        if before >= STEEP * losses[-1]:
            fell = f"from {before:.2f} to {losses[-1]:.2f} in the last third of the updates"
            reason = f"The validation loss is still falling fast ({fell})"
    if not reason:
        return ""
    longer = f"--steps {3 * options.steps}" if options.steps else f"--seconds {3 * options.seconds:g}"
    if options.folder:
        return f"{reason}: to train longer, give the same command {longer}; it goes on from here."
    return f"{reason}: train longer, {longer}, and with --folder, where the same command can go on."
