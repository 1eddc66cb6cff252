"""Train the stored models anew and compare what they reach with what is stored: `python -m tools.models`.

A training ends elsewhere on another processor, since the last digits of its sums differ; so bytes may differ, but
no share by more than TOLERANCE.
"""

import json
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from course_lib.stored import FOLDER

TOLERANCE = 0.1  # two seeds of the translator differ by less on every split that was not made to be too hard


def departures(stored: Any, made: Any, where: str = "") -> list[str]:
    """Which numbers of a stored result a new run does not come near.

    Percentages (above 1) may differ by 100 times the tolerance of shares.

    >>> departures({"exact": {"test": 0.97}}, {"exact": {"test": 0.60}})
    ['exact, test: expected about 0.97, got 0.6']
    """
    if isinstance(stored, dict):
        made = made if isinstance(made, dict) else {}
        pairs = [(f"{where}, {key}".lstrip(", "), stored[key], made.get(key)) for key in stored]
        return [complaint for name, one, other in pairs for complaint in departures(one, other, name)]
    near = stored == made
    if isinstance(stored, float) and isinstance(made, int | float):
        near = abs(stored - made) <= TOLERANCE * (1 if max(stored, made) <= 1 else 100)
    return [] if near else [f"{where}: expected about {stored}, got {made}"]


def main() -> int:
    failed = False
    for path in sorted(FOLDER.glob("*.safetensors")):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            import_module(f"experiments.{path.stem}").main(folder=folder)
            same = (folder / path.name).read_bytes() == path.read_bytes()
            stored, made = (
                json.loads((place / f"{path.stem}.json").read_text(encoding="utf-8")) for place in (FOLDER, folder)
            )
        for about in ("sha256", "versions"):
            stored.pop(about), made.pop(about)
        complaints = departures(stored, made)
        failed |= bool(complaints)
        print(f"{path.stem}: {'the same bytes' if same else 'other bytes'}")
        print(*complaints, sep="\n", end="\n" if complaints else "")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
