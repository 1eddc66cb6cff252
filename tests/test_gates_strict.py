"""The strict run of the notebooks closes: an erroring cell and a stale output fail, counter or no counter."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from cells import from_text

from tools import nbval_plugin
from tools.environment import ROOT, environment
from tools.form import text_of
from tools.notebooks import run

CELLS = """%% code imports
import random
import sys
from IPython.display import HTML

%% code printed
for word in "one", "two":
    print(word, flush=True)

%% code quiet
quiet = 1

%% code value
sum(range(4))

%% code drawing
picture = f"<img alt='A dot' width=\\"{random.randrange(9)}\\" src=\\"data:image/png;base64,AAAA\\">"
HTML(f"<p>Drawn.</p><svg role='img' aria-label='A dot'>{random.random()}</svg>{picture}")

%% code fresh
[name for name in sys.modules if name.startswith(("course", "tools"))], sys.path, __name__
"""
# 6, as the cell `value` has it, by a clock that goes right.
CLOCK = (
    "import time; read = [(time.perf_counter(), time.sleep(0.1))[0] for _ in range(4)]; "
    "6 if all(0.1 <= b - a < 0.2 for a, b in zip(read, read[1:])) else 7"
)
# What is broken in a stored notebook, by the cell in which nbval must see it. Each notebook takes a kernel.
CASES = {
    "whole": {},
    "stale": {
        "Cell 1": ('"two\\n"', '"three\\n"'),
        "Cell 3": ('"6"', '"7"'),
        "Cell 4": (' "<p>Drawn.', ' "<p>Sketched.'),
    },
    "error": {"Cell 2": ('"quiet = 1"', '"quiet = 1 / 0"')},
    "new": {"Cell 2": ('"quiet = 1"', '"print(1)"'), "Cell 3": ('"sum(range(4))"', f'"{CLOCK}"')},
}
# Broken in the one with an error, but not compared.
DRAWING = (" \"<p>Drawn.</p><svg role='img'", " \"<p>Drawn.</p><svg role='none'")


@pytest.fixture(scope="module")
def failures(tmp_path_factory):
    """The cells that fail in each notebook, from one strict run over all of them."""
    folder = tmp_path_factory.mktemp("strict")
    source = folder / "source.ipynb"
    source.write_text(text_of(from_text(CELLS)), encoding="utf-8")
    stored = text_of(run(source)[0])
    for name, broken in CASES.items():
        text = stored
        for old, new in (*broken.values(), *([DRAWING] if name == "error" else [])):
            assert old in text
            text = text.replace(old, new)
        (folder / f"{name}.ipynb").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", *nbval_plugin.ARGUMENTS, f"--junitxml={folder}/report.xml"]
    command += [str(folder / f"{name}.ipynb") for name in CASES]
    subprocess.run(command, cwd=ROOT, env=environment(folder), stdout=subprocess.DEVNULL)
    found = {name: [] for name in CASES}
    cells = list(ElementTree.parse(folder / "report.xml").iter("testcase"))
    assert len(cells) == 6 * len(CASES)
    for cell in cells:
        if cell.find("failure") is not None:
            found[re.search(r"(\w+)\.ipynb$", cell.get("classname")).group(1)].append(cell.get("name"))
    return found


@pytest.mark.parametrize("name", CASES)
def test_strict_run_sees_what_is_broken_and_nothing_else(name, failures):
    assert failures[name] == [*CASES[name]]
