"""What larger experiments measured: `results("name")` reads what `python -m experiments.name` has written."""

import json
from pathlib import Path

FOLDER = Path(__file__).parent


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
