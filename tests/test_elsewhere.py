"""Each line of the page *Use your model elsewhere* runs, and prints what stands below it."""

import re
import shlex

import forked

from course_lib.__main__ import main as entry
from course_lib.stored import model
from course_lib.translation.commands import train
from tools.environment import ROOT

PAGE = (ROOT / "book" / "elsewhere.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)
# A machine without the course.
ALONE = """
import sys
sys.modules |= {name: None for name in [*sys.modules, "course_lib"] if name.startswith("course_")}
"""
# One after the other, all in one process: what one imports, the next one has.
EACH = """
import os, sys
os.chdir(os.path.dirname(sys.argv[0]))
for program in sys.argv[1:]:
    exec(program, {"__name__": "__main__"})
"""


def test_the_code_of_the_page_runs_and_prints_what_stands_below_it(tmp_path, monkeypatch):
    """The stored translator stands for the one that a reader trains."""
    monkeypatch.chdir(tmp_path)
    model("translator").save("runs/course")
    commands = [shlex.split(line) for kind, block in BLOCKS if kind == "bash" for line in block.splitlines()]
    assert [words[:4] for words in commands if words[0] == "python"] == [
        ["python", "-m", "course_lib", "train"],
        ["python", "-m", "course_lib", "export"],
        ["python", "-m", "course_lib", "export"],
    ]
    assert train.parser().parse_args(commands[0][4:]).folder.as_posix() == "runs/course"
    for words in commands:
        if words[3:4] == ["export"]:
            assert entry(words[3:]) == 0
    files = set(re.findall(r"^\| `(.+?)` \|", PAGE, re.MULTILINE))
    assert {path.name for path in (tmp_path / "runs/course/exported").iterdir()} == files
    assert (tmp_path / "_build/html/_static/translator/weights.js").exists()
    assert {kind for kind, _ in BLOCKS} == {"python", "text", "bash"}
    *first, last = [block for kind, block in BLOCKS if kind == "python"]
    *shown, end = [block for kind, block in BLOCKS if kind == "text"]
    programs = "".join(first), ALONE + last
    assert forked.lines_of(EACH, tmp_path / "said", *programs) == "".join([*shown, end]).splitlines()
