"""Experiments too large for a notebook: each writes its results to `course_lib/stored`, where chapters read them.

    python -m experiments.attention_scaling

A script is `experiments/<subject>_<what>.py` and ends with `store(__file__, seeds=[…], …)`. A translator that chapters
use is stored by `store_model`.
"""

import hashlib
import json
import platform
from pathlib import Path

import torch

from course_lib.stored import FOLDER
from course_lib.translation import Translator
from course_lib.translation.commands.export import packed

LARGEST = 200_000  # bytes of one experiment's results, which travel with the library


def store(script: str, seeds: list[int], folder: Path = FOLDER, **numbers: object) -> Path:
    """Write the results of a script, given as its `__file__`, with what is needed to repeat them."""
    name = Path(script).stem
    versions = {"python": ".".join(platform.python_version_tuple()[:2]), "torch": torch.__version__.split("+")[0]}
    content = {"command": f"python -m experiments.{name}", "seeds": list(seeds), "versions": versions, **numbers}
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    size = len(text.encode())
    if size > LARGEST:
        raise ValueError(f"expected results of at most {LARGEST} bytes, got {size}: store fewer rows or digits")
    path = folder / f"{name}.json"
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def store_model(
    script: str,
    translator: Translator,
    seeds: list[int],
    folder: Path = FOLDER,
    rounding: bool = True,
    **numbers: object,
) -> Path:
    """Write a translator, and beside it the results with its checksum.

    Its weights are rounded to float32, and its matrices, with `rounding`, to a byte a number.
    """
    content = packed(translator, rounding)
    path = folder / f"{Path(script).stem}.safetensors"
    path.write_bytes(content)
    if translator.characters is not None:
        numbers["characters"] = "".join(sorted(translator.characters))
    store(script, seeds, folder, sha256=hashlib.sha256(content).hexdigest(), **numbers)
    return path
