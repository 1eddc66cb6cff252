"""What larger experiments measured and trained: `results("name")` and `model("name")` read what
`python -m experiments.name` has written."""

import json
from pathlib import Path

import torch
from safetensors import safe_open

from course_lib.bpe import BPE
from course_lib.files import sha256
from course_lib.translation import MODELS, Translator

FOLDER = Path(__file__).parent
SCALE = ".scale"  # what the scales of a rounded matrix are called, behind its name


def results(name: str) -> dict:
    """The stored results of one experiment: its command, seeds and versions, and its numbers.

    >>> results("attention_is_magic")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    FileNotFoundError: expected the name of stored results (...), got 'attention_is_magic': ...
    """
    path = FOLDER / f"{name}.json"
    if not path.is_file():
        known = ", ".join(sorted(path.stem for path in FOLDER.glob("*.json"))) or "none yet"
        raise FileNotFoundError(
            f"expected the name of stored results ({known}), got {name!r}: "
            f"mend the name, or make them with python -m experiments.{name}"
        )
    return json.loads(path.read_text(encoding="utf-8"))


def model(name: str) -> Translator:
    """A stored translator: a trained model with its vocabulary, in eval mode.

    `results(name)` says which command made it, with which seed and versions, and what the rounding of its weights
    costs. The file is refused when its checksum is not the one written down there.

    >>> model("translator").translate(["하준은 책을 읽는다"], beam_size=1)
    ['Hajun reads a book']
    """
    record = results(name)
    if "sha256" not in record:
        known = ", ".join(sorted(path.stem for path in FOLDER.glob("*.safetensors"))) or "none yet"
        raise ValueError(
            f"expected the name of a stored model ({known}), got {name!r}, which stands for numbers alone: "
            f'read them with results("{name}")'
        )
    path = FOLDER / f"{name}.safetensors"
    if not path.is_file():
        raise FileNotFoundError(f"expected {path.name} beside {name}.json, got none: make it with {record['command']}")
    found = sha256(path.read_bytes())
    if found != record["sha256"]:
        raise ValueError(
            f"expected the checksum {record['sha256'][:12]}… that {name}.json names, got {found[:12]}… of {path.name}: "
            f"the file is torn or was changed; make both with {record['command']}"
        )
    with safe_open(path, "pt") as file:
        about, stored = file.metadata(), {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    model_class, config_class = MODELS[about["kind"]]
    trained = model_class(config_class(**json.loads(about["config"]))).eval()
    with torch.no_grad():
        for key, parameter in trained.named_parameters():
            # A rounded matrix is stored as whole numbers, one byte each, and a scale for every row.
            parameter.copy_(stored[key] * stored.get(key + SCALE, 1))
    vocabulary = json.loads(about["vocabulary"])
    tokenizer = BPE(vocabulary["vocab"], [tuple(pair) for pair in vocabulary["merges"]])
    return Translator(trained, tokenizer, record.get("characters"))
