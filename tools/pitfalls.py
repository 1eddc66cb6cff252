"""Run the snippets of the pitfalls and store what they print: `python -m tools.pitfalls`.

A snippet is run in a namespace of its own, after the lines of START. What it prints is its output; where it stops with
an error, the error's last line is the end of its output, as Python would show it. Warnings are left out.
"""

import contextlib
import io
import json
import textwrap
import warnings
from pathlib import Path

import torch
import yaml

from tools.environment import ROOT

FOLDER = ROOT / "book" / "pitfalls"
STORED = ROOT / "book" / "results" / "pitfalls.json"
WIDTH = 80
START = """\
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
torch.set_printoptions(precision=2, sci_mode=False)
"""


def rows(folder: Path = FOLDER) -> list[dict]:
    """Every row, in the order of the chapters; `chapter` is the name of its file."""
    files = sorted(folder.glob("*.yml"))
    return [{"chapter": path.stem} | row for path in files for row in yaml.safe_load(path.read_text(encoding="utf-8"))]


def output(code: str) -> str:
    """What the snippet prints.

    >>> print(output("print(torch.ones(2))"), output("print(1)\\n[][0]"), sep="")
    tensor([1., 1.])
    1
    IndexError: list index out of range
    <BLANKLINE>
    """
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(START + code, {"__name__": "pitfall"})
    except Exception as error:
        message = f"{type(error).__name__}: {error}".splitlines()[0]
        printed.write("\n".join(textwrap.wrap(message, WIDTH)) + "\n")
    finally:
        torch.set_printoptions(profile="default")
    return printed.getvalue()


def main() -> None:
    outputs = {row["id"]: output(row["code"]) for row in rows()}
    stored = {"command": "python -m tools.pitfalls", "torch": torch.__version__.partition("+")[0], "outputs": outputs}
    STORED.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(outputs)} snippets: their output is in {STORED.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
