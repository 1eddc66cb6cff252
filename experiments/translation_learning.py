"""What the long trainings found, gathered from `book/results/learning`, so that chapters can read it.

    python -m experiments.translation_learning

The trainings themselves are those of `python -m benchmarks.learning`, about two hours on two idle cores. Nothing is
trained here: every run keeps its command, size, shares, BLEU with its signature, and learning curve, and what the
command left to the machine: optimizer, precision, peak rate, and beam, with the processor.
"""

import json
from pathlib import Path

from experiments import store

FILES = Path(__file__).parent.parent / "book" / "results" / "learning"
KEPT = ("command", "parameters", "updates", "exact_match", "bleu", "bleu_signature", "alignment")
CHOSEN = ("optimizer", "precision", "peak_lr", "beam")  # by the recipe, for this corpus and this machine


def gathered(folder: Path = FILES) -> list[dict]:
    """The runs, each with its kind (the file's name without the seed)."""
    runs = []
    for path in sorted(folder.glob("*_seed*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        kind, _, seed = path.stem.rpartition("_seed")
        curve = [[point["step"], round(point["seconds"]), round(point["val_loss"], 3)] for point in found["curve"]]
        chosen = {key: found["options"][key] for key in CHOSEN} | {"processor": found["machine"]["processor"]}
        kept = {key: found[key] for key in KEPT}
        runs.append({"kind": kind, "seed": int(seed), **kept, "chosen": chosen, "curve": curve})
    return runs


def main() -> None:
    runs = gathered()
    store(__file__, seeds=sorted({run["seed"] for run in runs}), rows=runs)


if __name__ == "__main__":
    main()
