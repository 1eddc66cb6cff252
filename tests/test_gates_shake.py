"""A shake fails where a rounding decides a digit, and passes where none does; changed chapters are shaken anew."""

import json
from contextlib import redirect_stdout
from io import StringIO

import nbformat
import pytest
from cells import from_text

from tools import shake
from tools.environment import CHAPTERS
from tools.form import read, text_of

# An update is w → (1 + 3r) w − 4r w². At the rate r = 0.1 it makes a rounding smaller, at 1 about twice as large.
CELLS = """%% code steady
from inspect import signature

import torch


def trained(rate, weight=0.3):
    weight = torch.nn.Parameter(torch.tensor(weight, dtype=torch.float64))
    optimizer = torch.optim.SGD([weight], lr=rate)
    for _ in range(60):
        optimizer.zero_grad()
        (4 / 3 * weight**3 - 1.5 * weight**2).backward()
        optimizer.step()
    return weight.item()


print(f"steady {trained(0.1):.6f}, twice the same {trained(1.0) == trained(1.0)}")

%% code fragile
print("trained")
print(f"{trained(1.0):.2f}")

%% code around
torch.manual_seed(0)
adam = torch.optim.Adam([torch.ones(3, requires_grad=True)])
print(torch.rand(1).item(), [name for name in dir() if "nudge" in name], adam)
print(torch.optim.Optimizer.add_param_group.__qualname__, signature(adam.add_param_group))
torch.set_num_threads(1)
"""


def test_what_a_rounding_decides_moves_and_nothing_else(tmp_path):
    nb, names = from_text(CELLS), {}
    for cell in nb.cells:
        with redirect_stdout(StringIO()) as printed:
            exec(cell.source, names)
        cell.outputs = [nbformat.v4.new_output("stream", text=printed.getvalue())]
    path = tmp_path / "fragile.ipynb"
    path.write_text(text_of(nb), encoding="utf-8")
    ((where, line),) = shake.shake([path], ["on two threads"])
    stored = nb.cells[1].outputs[0].text.split()[-1]
    assert where == str(path)
    assert line.startswith(f"fragile.ipynb, cell 1 `print(\"trained\")`: stored '{stored}', came '0.")
    assert line.endswith(" (on two threads)")


def test_a_chapter_is_shaken_again_when_its_code_or_a_printed_word_changed(tmp_path, monkeypatch):
    chapter, copy = CHAPTERS / "05_masks.ipynb", tmp_path / "05_masks.ipynb"
    monkeypatch.setattr(shake, "RECORD", tmp_path / "shaken.json")
    assert shake.changed([chapter]) == [chapter]
    shake.RECORD.write_text(json.dumps({"05_masks": shake.digest(chapter)}), encoding="utf-8")
    assert shake.changed([chapter]) == []
    for named, again in (("title", False), ("set-up", False), ("imports", True)):
        nb = read(chapter)
        next(cell for cell in nb.cells if cell.id == named).source += "\n# more"
        copy.write_text(text_of(nb), encoding="utf-8")
        assert shake.changed([copy]) == [copy] * again, named
    nb = read(chapter)
    next(output for cell in nb.cells for output in cell.get("outputs", []) if "text" in output).text += "0.53"
    copy.write_text(text_of(nb), encoding="utf-8")
    assert shake.changed([copy]) == [copy]


@pytest.mark.parametrize(("moved", "kept"), [([], True), ([("05_masks.ipynb", "cell 3 moved")], False)])
def test_only_a_chapter_that_stayed_as_it_was_is_recorded(moved, kept, tmp_path, monkeypatch, capsys):
    chapter = CHAPTERS / "05_masks.ipynb"
    monkeypatch.setattr(shake, "RECORD", tmp_path / "shaken.json")
    monkeypatch.setattr(shake, "shake", lambda _: [(str(chapter), line) for _, line in moved])
    monkeypatch.setattr("sys.argv", ["shake", str(chapter)])
    assert shake.main() == len(moved)
    assert shake.recorded() == ({"05_masks": shake.digest(chapter)} if kept else {})
    assert capsys.readouterr().out == "".join(f"{line}\n" for _, line in moved) + (
        f"notebooks shaken: 1, outputs moved: {len(moved)}\n"
    )
