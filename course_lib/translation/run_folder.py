"""The folder of a run: what `train --folder` leaves there, and where the other commands find it.

`model.pt` and `vocabulary.json` are the translator, `options.json` says how it was trained, `checkpoints/` is what a
training goes on from, `curve.json` and `curve.svg` show how it learned.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from course_lib.bleu.tokenizers import TOKENIZERS
from course_lib.bpe.subwords import read_json, write_json
from course_lib.files import sha256, written_whole
from course_lib.training.checkpoint import CheckpointFolder, average_weights, load_checkpoint
from course_lib.translation import Translator
from course_lib.translation.commands.options import BEAMS, PENALTIES, SEEDS, check_writable, fits

BUILT_IN = ("course", "multi30k")  # corpora with names, also where a file has that name
KEPT = ("model.pt", "vocabulary.json", "options.json", "checkpoints", "curve.json", "curve.svg", ".lock")
# These may change from one call to the next; whoever changes another option trains another model.
FREE = (
    *("steps", "seconds", "threads", "folder", "json", "data_checksum"),
    *("beam", "length_penalty", "tokenize", "skip_evaluation"),
)
# What the commands read of the options, and whether it may stand there.
READ: dict[str, Callable[[Any], bool]] = {
    "data": lambda value: isinstance(value, str) or (isinstance(value, list) and [*map(type, value)] == [str, str]),
    "data_checksum": lambda value: isinstance(value, str),
    "reverse": lambda value: isinstance(value, bool),
    "seed": lambda value: fits(SEEDS, value),
    "beam": lambda value: fits(BEAMS, value),
    "length_penalty": lambda value: fits(PENALTIES, value),
    "tokenize": lambda value: isinstance(value, str) and value in TOKENIZERS,
}


@contextmanager
def only_user(folder: Path) -> Iterator[None]:
    """Make the folder of a training, and keep other trainings out of it until the block ends."""
    check_writable(folder)
    try:
        lock = FileLock(folder / ".lock", timeout=0).acquire()
    except Timeout:
        raise ValueError(f"expected a folder that no other training uses, got {folder}: name another") from None
    with lock:
        yield


def check_options(folder: Path, options: dict[str, Any]) -> None:
    """Refuse a folder in which a training with other options stands. Nothing is written."""
    if not CheckpointFolder(folder / "checkpoints").paths() and not (folder / "model.pt").exists():
        return
    if not (folder / "options.json").exists():
        raise ValueError(f"expected options.json beside the training in {folder}, got none: name another folder")
    mine, before = _as_recorded(options), recorded_options(folder)
    check_data(folder, {"data": options.get("data")})
    if changed := [name for name in before if name in mine and name not in FREE and before[name] != mine[name]]:
        was, now = (" ".join(_as_typed(name, said[name]) for name in changed) for said in (before, mine))
        raise ValueError(
            f"expected the options of the training in {folder} ({was}), got {now}: use the same ones, or another folder"
        )


def record_options(folder: Path, options: dict[str, Any]) -> None:
    """Write down how the translator of this folder is trained."""
    write_json(folder / "options.json", _as_recorded(options))


def _as_typed(name: str, value: Any) -> str:
    return f"--{name.replace('_', '-')} {' '.join(value) if isinstance(value, list) else value}"


def _as_recorded(options: dict[str, Any]) -> dict[str, Any]:
    mine = {name: str(value) if isinstance(value, Path) else value for name, value in options.items()}
    paths = [] if mine.get("data") in (None, *BUILT_IN) else [Path(name).resolve() for name in names_of(mine["data"])]
    if paths and all(path.is_file() for path in paths):
        mine["data"] = str(paths[0]) if len(paths) == 1 else [*map(str, paths)]
        mine["data_checksum"] = _checksum(mine["data"])
    return mine


def names_of(data: str | Sequence[str]) -> list[str]:
    """What `--data` names, one by one: a corpus or a file of pairs, or two files.

    >>> names_of("course"), names_of(["a.de", "a.en"])
    (['course'], ['a.de', 'a.en'])
    """
    return [data] if isinstance(data, str) else [*data]


def _checksum(data: str | Sequence[str]) -> str:
    """Of the content of the file, or of the two; a device may have no end, so only files are read."""
    for name in names_of(data):
        if not Path(name).is_file():
            raise ValueError(f"expected the sentences of the training in {name}, got no file there: put it back")
    sums = [sha256(Path(name).read_bytes()) for name in names_of(data)]
    return sums[0] if len(sums) == 1 else sha256("".join(sums).encode())


def files_of(folder: Path | None, output: Path | None = None) -> list[Path]:
    """What a training keeps in its folder, or will keep there, and another one around `output`: not to write over."""
    around = [place for place in output.resolve().parents[:2] if (place / "options.json").exists()] if output else []
    return [place / name for place in ([] if folder is None else [folder]) + around for name in KEPT]


def recorded_data(folder: Path | None) -> list[str]:
    """The files with the sentences of the training in the folder: not to write over."""
    data = recorded_options(folder).get("data") if folder else None
    return [] if data in (None, *BUILT_IN) else names_of(data)


def check_data(folder: Path, options: dict[str, Any]) -> None:
    """Refuse other sentences, or another seed, for the same data: held-out sentences would be others, too."""
    before, seed = recorded_options(folder), options.get("seed")
    if _as_recorded(options)["data"] not in (None, before.get("data")):
        return
    if seed is not None and before.get("seed", seed) != seed:
        raise ValueError(f"expected the seed of the training in {folder}, {before['seed']}, got {seed}: leave it out")
    if before.get("data_checksum", "") and _checksum(before["data"]) != before["data_checksum"]:
        raise ValueError(
            f"expected the sentences with which the training in {folder} began, got others in "
            f"{' or '.join(names_of(before['data']))}: "
            "put the old file back, or name another folder or file"
        )


def recorded_options(folder: Path) -> dict[str, Any]:
    """How the translator in the folder was trained; nothing, where nobody wrote it down."""
    path = folder / "options.json"
    options = read_json(path) if path.exists() else {}
    for name, right in READ.items():
        if (name in options or f"{name}_checksum" in options) and not right(options.get(name)):
            raise ValueError(
                f"expected for {name!r} in {path} what train writes there, got {str(options.get(name))[:60]!r}: "
                "the file was changed, so mend it, or name another folder"
            )
    return options


def open_translator(folder: Path, average: int = 0) -> Translator:
    """The translator in the folder, on a GPU where there is one; with the mean of its last `average` checkpoints."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        translator = Translator.load(folder, device)
        paths = CheckpointFolder(folder / "checkpoints").paths()[-average:] if average else []
        if len(paths) < average:
            raise ValueError(f"expected {average} checkpoints in {folder}, got {len(paths)}: average fewer")
        if paths:
            states = [load_checkpoint(path, device)["model"] for path in paths]
            translator.model.load_state_dict(average_weights(states))
    except (LookupError, TypeError, AttributeError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:100]
        raise ValueError(
            f"expected a model of this course in {folder}, got another ({reason}): train into an empty folder"
        ) from None
    return translator


def save_curve(folder: Path, curve: Sequence[dict[str, float]]) -> None:
    """Write the evaluations of a training as `curve.json`, and as a picture, `curve.svg`."""
    # Only this function draws, and matplotlib takes its time to load.
    from course_lib.figures.learning_curve import learning_curve, standalone_svg

    write_json(folder / "curve.json", list(curve), indent=None)
    points = [point for point in curve if math.isfinite(point.get("val_loss", math.nan))]
    columns = {name: [point[name] for point in points] for name in ("val_loss", "step", "seconds", "tokens")}
    figure, alt = learning_curve(columns["val_loss"], columns["step"], columns["seconds"], columns["tokens"])
    with written_whole(folder / "curve.svg") as file:
        file.write(standalone_svg(figure, alt).encode())
