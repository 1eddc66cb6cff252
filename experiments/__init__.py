"""Experiments too large for a notebook: each writes its results to `course_lib/stored`, where chapters read them.

    python -m experiments.attention_scaling

A script is `experiments/<subject>_<what>.py` and ends with `store(__file__, seeds=[…], …)`.
"""

import json
import platform
from pathlib import Path

import torch

from course_lib.stored import FOLDER


def store(script: str, seeds: list[int], folder: Path = FOLDER, **numbers: object) -> Path:
    """Write the results of a script, given as its `__file__`, with what is needed to repeat them."""
    name = Path(script).stem
    versions = {"python": ".".join(platform.python_version_tuple()[:2]), "torch": torch.__version__.split("+")[0]}
    content = {"command": f"python -m experiments.{name}", "seeds": list(seeds), "versions": versions, **numbers}
    path = folder / f"{name}.json"
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
    return path
