"""Run the snippets of the pitfalls and store what they print: `python -m tools.pitfalls`.

A snippet is run in a namespace of its own, after the lines of START. What it prints is its output; where it stops with
an error, the error's last line is the end of its output, as Python would show it. Warnings are left out.
"""

import contextlib
import io
import json
import re
import textwrap
import warnings
from pathlib import Path

import torch
import yaml

from tools.environment import ROOT

FOLDER = ROOT / "book" / "pitfalls"
STORED = ROOT / "book" / "results" / "pitfalls.json"
WIDTH, MOST_LINES = 80, 12
NEEDED = {"id", "severity", "mistake", "instead", "shows", "code"}
START = """\
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
torch.set_printoptions(precision=2, sci_mode=False)
"""


def rows(folder: Path = FOLDER) -> list[dict]:
    """Every row, in the order of the chapters; `chapter` is the name of its file. A row in another form is refused."""
    files = sorted(folder.glob("*.yml"))
    found = [{"chapter": path.stem} | row for path in files for row in yaml.safe_load(path.read_text(encoding="utf-8"))]
    complaints = [f"{row['chapter']}, {row.get('id')}: {complaint}" for row in found for complaint in form(row)]
    if complaints:
        raise ValueError("\n".join(complaints))
    return found


def form(row: dict) -> list[str]:
    """What is wrong with the form of a row.

    >>> form({"chapter": "05_masks", "id": "Softmax", "code": "1 + 1", "severity": "silent"})
    ['expected also instead, mistake, shows: add them', "expected an id such as softmax-twice, got 'Softmax'"]
    """
    complaints = []
    if missing := sorted(NEEDED - row.keys()):
        complaints.append(f"expected also {', '.join(missing)}: add them")
    if unknown := sorted(row.keys() - NEEDED - {"chapter", "exercise", "section"}):
        complaints.append(f"got {', '.join(unknown)}, which no row has: take it away")
    if not re.fullmatch(r"[a-z0-9-]+", str(row.get("id"))):
        complaints.append(f"expected an id such as softmax-twice, got {row.get('id')!r}")
    if not re.search(r"[.)]$", row.get("shows", ".").strip()):
        complaints.append(f"expected whole sentences in `shows`, got {row['shows']!r}: end them with a period")
    if row.get("mistake", "").endswith("."):
        complaints.append(f"expected a heading in `mistake`, got {row['mistake']!r}: leave the period out")
    if len(row.get("code", "").rstrip().splitlines()) > MOST_LINES:
        complaints.append(f"expected `code` of at most {MOST_LINES} lines: shorten it")
    return complaints


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
