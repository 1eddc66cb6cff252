"""Experiments too large for a notebook: each writes its results to `course_lib/stored`, where chapters read them.

    python -m experiments.attention_scaling

A script is `experiments/<subject>_<what>.py` and ends with `store(__file__, seeds=[…], …)`. A translator that chapters
use is stored by `store_model`.
"""

import hashlib
import json
import platform
import tempfile
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import save

from course_lib.stored import FOLDER, SCALE, rounded
from course_lib.translation import MODELS, Translator

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
    script: str, translator: Translator, seeds: list[int], folder: Path = FOLDER, **numbers: object
) -> Path:
    """Write a translator with its matrices rounded to a byte a number, and beside it the results with its checksum."""
    model, tensors = translator.model, {}
    for name, parameter in model.named_parameters():  # a tied matrix is one parameter
        weight = parameter.detach().float().contiguous()
        if weight.dim() < 2:
            tensors[name] = weight
        else:
            tensors[name], tensors[name + SCALE] = rounded(weight)
    kind = next(name for name, (cls, _) in MODELS.items() if isinstance(model, cls))
    with tempfile.TemporaryDirectory() as temporary:
        translator.vocabulary.save(Path(temporary) / "vocabulary.json")
        vocabulary = json.loads((Path(temporary) / "vocabulary.json").read_text(encoding="utf-8"))
    about = {"kind": kind, "config": asdict(model.config), "vocabulary": vocabulary}
    texts = {
        key: text if isinstance(text, str) else json.dumps(text, ensure_ascii=False) for key, text in about.items()
    }
    content = save(tensors, texts)
    path = folder / f"{Path(script).stem}.safetensors"
    path.write_bytes(content)
    store(script, seeds, folder, sha256=hashlib.sha256(content).hexdigest(), **numbers)
    return path
