"""Write a translator as files that others load: `python -m course_lib export --help`."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from course_lib.bpe.subwords import FORMAT, write_json
from course_lib.files import for_pages, written_whole
from course_lib.translation import MODELS, Translator
from course_lib.translation.commands import options as cli
from course_lib.translation.run_folder import open_translator

DESCRIPTION = """\
Write the translator of a training as files that other programs load: model.safetensors, the
weights in float32, a shared matrix once, as safetensors.torch.load_model reads them;
config.json, the sizes that TransformerConfig takes; vocabulary.json, the subwords;
weights.js, the translator for the book's pages, with a byte a weight.

examples
  python -m course_lib export --folder runs/course
  python -m course_lib export --folder runs/course --output _build/html/_static/translator
  python -m course_lib export --folder runs/multi30k --average 3
  python -m course_lib export --folder runs/multi30k --output shared/multi30k

what to expect
  A line for each file. The pages read a Transformer with subwords of characters, as `train`
  makes it of the course corpus; for other translators, no weights.js is written.
"""
OURS = {  # how a file begins that an earlier export wrote
    "config.json": b'{\n "vocab_size": ',
    "vocabulary.json": b'{\n"format": "' + FORMAT.encode(),
    "weights.js": for_pages(b"")[:30],
}
SCALE = ".scale"  # what the scales of a rounded matrix are called, behind its name
FOR_PAGES = {"norm_first": True, "activation": "relu", "positions": "sinusoidal", "tied": True}


def parser() -> cli.Parser:
    """The options, with what they are for."""
    p = cli.Parser("python -m course_lib export", DESCRIPTION)
    group = p.add_argument_group("model")
    group.add_argument("word", nargs="?", type=cli.path, metavar="FOLDER", help="the same as --folder FOLDER")
    group.add_argument("--folder", type=cli.path, help="the folder of the training")
    group.add_argument("--average", type=cli.whole(1), default=0, metavar="N", help="mean of the last N checkpoints")
    p.add_argument_group("output").add_argument("--output", type=cli.path, help="instead of FOLDER/exported")
    return p


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files; 0 when all went well."""
    p = parser()
    options = p.parse_args(arguments)
    if bool(options.word) == bool(options.folder):
        p.error(f"expected the folder of a training, got {'two' if options.folder else 'none'}: name it with --folder")
    options.folder = options.folder or options.word
    return cli.run_command(p.prog, lambda: run(options))


def run(options: argparse.Namespace) -> None:
    """Open the translator, write its files, and name them."""
    translator, target = open_translator(options.folder, options.average), options.output or options.folder / "exported"
    sizes, files = asdict(translator.model.config), {"model.safetensors": packed(translator)}
    if translator.vocabulary.kind == "characters" and sizes.items() >= FOR_PAGES.items():
        files["weights.js"] = for_pages(packed(translator, rounding=True))
    if (target / "model.pt").exists():
        raise ValueError(f"expected a folder without a training for the files, got {target}: name another")
    if foreign := [path for path in (target / name for name in (*OURS, "model.safetensors")) if not ours(path)]:
        raise ValueError(
            f"expected a folder for the files, got {foreign[0]}, which export did not write: name another folder"
        )
    cli.check_writable(target)
    for name, content in files.items():
        with written_whole(target / name) as file:
            file.write(content)
    write_json(target / "config.json", sizes, indent=1)
    translator.vocabulary.save(target / "vocabulary.json")
    for name in sorted([*files, "config.json", "vocabulary.json"]):
        print(f"{target / name}  {(target / name).stat().st_size:,} bytes")


def ours(path: Path) -> bool:
    """Whether export may write there: nothing is there yet, or what an earlier export wrote."""
    if not path.exists():
        return True
    if not path.is_file():
        return False
    if path.name != "model.safetensors":
        with path.open("rb") as file:
            return file.read(len(OURS[path.name])) == OURS[path.name]
    try:
        with safe_open(path, "pt") as file:
            return {"kind", "config", "vocabulary"} <= (file.metadata() or {}).keys()
    except SafetensorError:
        return False


def packed(translator: Translator, rounding: bool = False) -> bytes:
    """A safetensors file, with configuration and vocabulary as metadata; `rounding` gives matrices a byte a number."""
    tensors = {name: p.detach().float().cpu().contiguous() for name, p in translator.model.named_parameters()}
    for name in [name for name, weight in tensors.items() if rounding and weight.dim() > 1]:
        tensors[name], tensors[name + SCALE] = rounded(tensors[name])
    if wrong := [name for name, weight in tensors.items() if not weight.isfinite().all()]:
        raise ValueError(f"expected weights that are numbers, got NaN or infinity in {wrong[0]}: train it anew")
    kind = next(name for name, (cls, _) in MODELS.items() if isinstance(translator.model, cls))
    words = {name: getattr(translator.vocabulary, name) for name in ("kind", "specials", "vocab", "merges")}
    about = {"config": asdict(translator.model.config), "vocabulary": {"format": FORMAT, **words}}
    return save(tensors, {"kind": kind} | {name: json.dumps(part, ensure_ascii=False) for name, part in about.items()})


def rounded(weight: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix as whole numbers from -127 to 127, one byte each, and a scale for every row."""
    scale = weight.abs().amax(dim=-1, keepdim=True).clamp(min=1e-12) / 127
    return (weight / scale).round().to(torch.int8), scale
