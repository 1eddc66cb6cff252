"""The report on a class: whatever goes wrong with a hand-in, all have a row, and the verdicts are found anew."""

import ast
import csv
import json
import os
import re
import signal
import socket
from collections import Counter, defaultdict
from types import SimpleNamespace

import forked
import pytest

from course_practice import class_report
from course_practice.__main__ import main
from course_practice.class_report import Limits, Row, Student, judged, process, worker
from course_practice.class_report.page import page, table

FIRST = "import os, socket, subprocess, sys, time\nimport torch\nfrom course_practice import check"
RIGHT = "def my_mask(n):\n    return torch.ones(n, n).tril().bool()\n\ncheck('masks.causal', my_mask)"
WRONG = RIGHT.replace("tril()", "tril(-1)")
PADDING = "my_padding = lambda ids, pad_id=0: (ids != pad_id)[:, None, None, :]\ncheck('masks.padding', my_padding)"
OPEN = "def my_softmax(scores, mask=None):\n    ...\n\ncheck('masks.softmax', my_softmax)"
OWN = "from course_lib.masks import causal_mask\ncheck('masks.causal', causal_mask)"  # needs no judge
BETWEEN = "scale = torch.ones(1)\ndef my_target(ids):\n    scale.sum()\n    ...\n\ncheck('masks.target', my_target)"
FORGED = """
import json
from course_practice.exercises import progress_file
entry = {"attempts": 1, "passed": True, "diagnoses": {}}
progress_file().write_text(json.dumps({"masks.padding": entry, "masks.target": entry}))
"""
# A child process that calls the test, and never ends: where its line goes dead, it has been ended.
CALLS = "socket.create_connection(('127.0.0.1', {}))"
CHILD = f"import socket, time\nline = {CALLS}\nprint('called', flush=True)\ntime.sleep(600)"


def notebook(path, *cells):
    path.parent.mkdir(parents=True, exist_ok=True)
    written = [{"cell_type": "code", "source": source.splitlines(keepends=True)} for source in (FIRST, *cells)]
    path.write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": "# Masks"}, *written]}))


@pytest.fixture
def server():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(600)
        yield listening


def ended(server):
    """Has the process that called been ended?"""
    line, _ = server.accept()
    line.settimeout(600)
    return line.recv(1) == b""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """The rows of a class, by student and exercise, and the page."""
    folder = tmp_path_factory.mktemp("class")
    notebook(folder / "anna" / "one.ipynb", OWN, "check('masks.none', 1)", "import course_lib.masks as m", BETWEEN)
    lines = "%matplotlib inline\n!pip install torch\nfiles = !ls\nimport math"  # of IPython's
    inside = "if True:\n    %time 1 + 1\n    check('masks.causal', my_mask)"
    notebook(folder / "anna" / "two.ipynb", lines, WRONG, f"%%time\n{RIGHT}\nmath.pi", inside, PADDING, OPEN)
    entry = {"attempts": 5, "passed": True, "passed_at_attempt": 4, "diagnoses": {"upside-down": 3}}
    (folder / "anna" / "progress.json").write_text(json.dumps({"masks.padding": entry, "masks.softmax": "odd"}))
    helped = "from aside import square\nrows = lambda n: square(n)\n" + RIGHT.replace("torch.ones(n, n)", "rows(n)")
    notebook(folder / "김 철수" / "masks (2).ipynb", helped)
    (folder / "김 철수" / "aside.py").write_text("import torch\n\n\ndef square(n):\n    return torch.ones(n, n)\n")
    lee = [RIGHT.replace("(n):", "(n)"), PADDING, "check('masks.target', never)", WRONG.replace("(n):", "(n")]
    notebook(folder / "lee.ipynb", *lee)
    fake = "check = lambda *given: print('passed')\n"
    notebook(folder / "sure.ipynb", FORGED, PADDING.replace("!=", "=="), fake + WRONG)
    notebook(folder / "crash.ipynb", OWN, "import ctypes\nctypes.string_at(0)", PADDING)
    (folder / "broken.ipynb").write_text("{")
    (folder / "=1+1").mkdir()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    output = tmp_path_factory.mktemp("output")
    assert main(["report", str(folder), "--output", str(output), "--jobs", "2"]) == 0
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    rows = [*csv.DictReader((output / "table.csv").read_text(encoding="utf-8-sig").splitlines())]
    named = {(row["student"], row["exercise"]): row for row in rows if row["exercise"]}
    troubles = defaultdict(list)
    for row in rows:
        troubles[row["student"]] += [] if row["exercise"] else [row["note"]]
    return named, (output / "index.html").read_text(encoding="utf-8"), troubles


def verdicts(found, student):
    return {name: row["verdict"] for (who, name), row in found[0].items() if who == student}


def test_notebooks_in_a_folder_are_one_student_and_tries_come_from_home(found):
    still_open = {"masks.softmax": "open", "masks.target": "open"}
    assert verdicts(found, "anna") == {"masks.causal": "solved", "masks.padding": "solved", **still_open}
    assert found[2]["anna"] == ["one.ipynb: cell 3, masks.none (ValueError)"]  # there is no such exercise
    causal, padding = (found[0]["anna", f"masks.{name}"] for name in ("causal", "padding"))
    assert (causal["tries"], causal["mistakes"], causal["note"]) == ("2", "excludes-self×1", "")
    assert (padding["tries"], padding["mistakes"]) == ("4", "upside-down×3")


def test_an_answer_takes_what_it_needs_from_its_notebook_and_a_module_beside_it(found):
    assert verdicts(found, "김 철수") == {"masks.causal": "solved"}


def test_an_exercise_whose_cell_is_not_valid_python_is_wrong_and_counts(found):
    cells = ["cell 2, masks.causal (SyntaxError)", "cell 4, masks.target (NameError)"]
    assert found[2]["lee"] == [f"lee.ipynb: {', '.join([*cells, 'cell 5, masks.causal (SyntaxError)'])}"]
    assert verdicts(found, "lee") == {"masks.causal": "wrong", "masks.padding": "solved", "masks.target": "wrong"}
    causal, target = (found[0]["lee", f"masks.{name}"] for name in ("causal", "target"))
    assert (causal["tries"], causal["note"]) == ("1", "cell 2 is not valid Python; cell 5 is not valid Python")
    assert (target["tries"], target["note"]) == ("1", "what `check` is given raises NameError")
    assert "<td>lee</td><td>1 of 3</td>" in found[1]
    assert "<td>masks.causal</td><td>2 of 5</td>" in found[1]  # of those who tried


def test_what_a_notebook_says_of_its_answers_does_not_count(found):
    assert verdicts(found, "sure") == {
        **dict.fromkeys(("masks.padding", "masks.target"), "look at it"),
        "masks.causal": "wrong",
    }
    notes = {
        "padding": "the notebook says passed; judged anew, it does not pass",
        "target": "the notebook says passed; its answer was not found",
        "causal": "a `check` of its own",
    }
    assert {name: found[0]["sure", f"masks.{name}"]["note"] for name in notes} == notes


def test_what_was_before_a_crash_counts(found):
    assert "crash.ipynb: ended with SIG" in found[2]["crash"][0]
    assert verdicts(found, "crash") == {"masks.causal": "look at it", "masks.padding": "not reached"}
    assert "the library's own code" in found[0]["crash", "masks.causal"]["note"]


def test_what_is_no_notebook_has_a_row_and_no_name_is_a_formula(found):
    assert found[2]["broken"] == ["broken.ipynb: expected a notebook, got text that is not JSON: ask for it again"]
    assert found[2]["'=1+1"] == ["no notebook"]
    assert "run hand-ins that you do not trust in a container" in found[1]


@pytest.mark.parametrize(
    ("content", "got"),
    [
        (b"", "an empty file"),
        (b'{"cells": [', "text that is not JSON"),
        (b'{"cells": "\xe9"}', "text that is not UTF-8"),
        *[(text, "a file of another form") for text in (b"[]", b"5", b'{"cells": [1]}', b'{"worksheets": []}')],
        (b"[" * 100_000, "a file of another form"),
    ],
)
def test_only_what_is_too_large_is_told_of_the_size(content, got, tmp_path, monkeypatch):
    file = tmp_path / "a.ipynb"
    file.write_bytes(content)
    with pytest.raises(class_report.NoNotebook, match=f"^expected a notebook, got {got}: ask for it again$"):
        class_report._cells(file)
    file.write_bytes(b" " * 3 * 2**20)
    monkeypatch.setattr(class_report, "LARGEST", 2**20)
    with pytest.raises(
        class_report.NoNotebook, match=r"^expected a notebook of at most 1 MB, got 3 MB: .* its outputs$"
    ):
        class_report._cells(file)


def test_a_notebook_may_print_raise_and_leave_children_and_memory_ends_where_it_is_limited(tmp_path, server):
    child = CHILD.format(server.getsockname()[1])
    cells = [
        FIRST,
        "for _ in range(64):\n    print('x' * 2**20)\nos.write(1, b'x' * 2**20)",
        f"child = subprocess.Popen([sys.executable, '-c', {child!r}], stdout=subprocess.PIPE)\nchild.stdout.readline()",
        "1 / 0",
        "memory = torch.ones(50 * 2**30 // 4)" if process.LIMITS_MEMORY else "raise RuntimeError",
        OPEN,
    ]
    said, why = process.run("cells", cells, tmp_path, tmp_path, Limits())
    assert why == ""
    assert [(line["cell"], line["error"]) for line in said if "error" in line] == [
        (4, "ZeroDivisionError"),
        (5, "RuntimeError"),
    ]
    assert said[-1]["exercise"] == "masks.softmax"
    assert ended(server)


def jumping(file, seconds, monkeypatch):
    """A clock that goes on only once, and by so much, as soon as there is a file of this name."""
    clock = SimpleNamespace(monotonic=lambda: seconds * file.exists())
    monkeypatch.setattr(process, "time", clock)


@pytest.mark.parametrize("loop", ["time.sleep(600)", "pass"])
def test_a_notebook_that_hangs_is_stopped_and_what_was_before_counts(loop, tmp_path, monkeypatch):
    jumping(tmp_path / "reached", 601.0, monkeypatch)
    hangs = f"open('reached', 'w').close()\nwhile True:\n    {loop}"
    said, why = process.run("cells", [FIRST, RIGHT, hangs, PADDING], tmp_path, tmp_path, Limits())
    assert why == "stopped after 600 seconds"
    assert said[0] == {"checks": [[], ["masks.causal"], [], ["masks.padding"]]}
    assert [line["exercise"] for line in said[1:]] == ["masks.causal"]


def test_an_answer_that_hangs_or_crashes_leaves_the_others_their_verdicts(tmp_path, monkeypatch):
    """In machine code, where no `check` stops it."""
    jumping(tmp_path / "reached", 130.0, monkeypatch)
    hangs = "def f(n):\n    open('reached', 'w').close()\n    return sum(range(10**15))"
    crashes = "import ctypes\n\ndef f(n):\n    return ctypes.string_at(0)"
    right = RIGHT.partition("\n\n")[0].replace("def", "import torch\ndef")
    answers = [("masks.causal", text) for text in (hangs, right, "1 / 0", crashes)]
    found = [
        verdict.get("passed", verdict.get("error")) for verdict in class_report._verdicts(answers, tmp_path, Limits())
    ]
    stops = "by itself, its code stops (ZeroDivisionError)"
    assert found[:3] == ["stopped after 120 seconds", True, stops]
    assert found[3].startswith("ended with SIG")
    assert class_report._verdicts([("masks.causal", right)], tmp_path, Limits(0)) == [
        {"error": "no time was left to judge it"}
    ]


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no signals to a process")
def test_ctrl_c_writes_what_is_there_and_ends_what_runs(tmp_path, server):
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "a.ipynb").write_text("[]")
    notebook(tmp_path / "class" / "b.ipynb", f"line = {CALLS.format(server.getsockname()[1])}", "time.sleep(600)")
    notebook(tmp_path / "class" / "c.ipynb", "1")
    words = ["report", str(tmp_path / "class"), "--output", str(tmp_path / "report")]
    child = forked.start("course_practice.__main__", words)
    line, _ = server.accept()
    line.settimeout(600)
    os.kill(child.pid, signal.SIGINT)
    child.join(600)
    assert child.exitcode == 130
    assert line.recv(1) == b""
    assert (tmp_path / "report" / "table.csv").read_text("utf-8-sig").splitlines()[1:] == [
        'a,,trouble,,,"a.ipynb: expected a notebook, got a file of another form: ask for it again"'
    ]
    assert "2 of 3 students are missing." in (tmp_path / "report" / "index.html").read_text("utf-8")


def test_checks_are_found_wherever_a_cell_makes_them():
    source = (
        "%time 1\nif True:\n    course_practice.check('masks.causal', partial(f, 2))\nchecked('a', f)\ncheck(name, f)"
    )
    assert [name for name, _ in worker.checks_of(source)] == ["masks.causal"]
    named = worker.checks_of("check(obj=f, exercise_id='masks.causal')\ncheck('masks.leaks', obj=f)\ncheck('a')")
    assert [name for name, _ in named] == ["masks.causal", "masks.leaks"]
    broken = 'def f(n)\n    ...\n# check("masks.none", f)\nif f:\n    check( "masks.causal", f)\nchecked("a", f)'
    for strange in (
        broken,
        broken.replace('"', "'"),
        "check('masks.causal', ",
        f"check('masks.causal', {'-' * 10_000}1)",
    ):
        assert worker.checks_of(strange) == [("masks.causal", None)]


MAKER = "import functools\n\ndef make(k):\n    def f(n):\n        return n + k\n    return f\n\ndef use():\n"
OF_CLASS = ("type('A', (), {'__call__': make})()", "type('A', (), {'made': make})().made")


@pytest.mark.parametrize("way", ["make(0)", "functools.partial(make, 0)", *OF_CLASS, "..."])
def test_what_a_factory_made_has_no_source_that_stands_alone(way):
    shell = SimpleNamespace(user_ns={"made": worker.defined(f"{MAKER}    return {way}")()})
    answer = worker.source_of_answer(ast.parse("made").body[0].value, shell)
    why = "its code could not be read (AttributeError)" if way == "..." else "its code does not stand alone"
    assert answer == {"source": None, "why": why, "broken": False}


@pytest.mark.parametrize(("said", "tries"), [("4", 4), ('"four"', 5), ("null", 5), ("7", 5), ("-1", 5)])
def test_tries_come_from_home_and_an_odd_progress_file_stops_no_other(said, tries, tmp_path, monkeypatch):
    monkeypatch.setattr(class_report, "run", lambda *given: ([{"checks": [["masks.causal"]]}], ""))
    notebook(tmp_path / "a" / "one.ipynb", RIGHT)
    entry = f'"attempts": 5, "passed": true, "diagnoses": {{}}, "passed_at_attempt": {said}'
    (tmp_path / "a" / "progress.json").write_text(f'{{"masks.causal": {{{entry}}}, "masks.padding": 3}}')
    assert judged("a", tmp_path / "a", Limits()).rows["masks.causal"].tries == tries
    for odd in ("[]", "{", "\0"):
        (tmp_path / "a" / "progress.json").write_text(odd)
        assert judged("a", tmp_path / "a", Limits()).rows["masks.causal"].tries == 0


def test_students_have_the_names_of_their_files_or_folders_and_no_two_the_same(tmp_path, monkeypatch):
    for name in ("J. Smith", "x.y", "x.y.z", "twice", ".hidden"):
        (tmp_path / name).mkdir()
    for name in ("anna.schmidt.ipynb", "Upper.IPYNB", "twice.ipynb", "notes.txt"):
        (tmp_path / name).touch()
    names = [name for name, _ in class_report.students(tmp_path)]
    assert names == ["J. Smith", "Upper", "anna.schmidt", "twice", "twice.ipynb", "x.y", "x.y.z"]
    monkeypatch.setattr(class_report, "run", lambda task, cells, folder, *given: ([{"checks": [["masks.causal"]]}], ""))
    notebook(tmp_path / "x.y" / "week 1" / "a.IPYNB", RIGHT)
    notebook(tmp_path / "x.y" / ".ipynb_checkpoints" / "a.ipynb", RIGHT)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "x.y" / "pipe")
        (tmp_path / "x.y" / "b.ipynb").symlink_to("nowhere")
    student = class_report.judged("x.y", tmp_path / "x.y", Limits())
    assert list(student.rows) == ["masks.causal"]
    assert student.trouble == ["not all of it can be read (Error)"] * hasattr(os, "mkfifo")


def test_the_page_says_which_exercises_are_hard_and_escapes_what_students_write():
    made = Counter({"<b>": 1})
    students = [
        Student(f"<{n}>", {"a.b": Row("a.b", verdict, 3, made)})
        for n, verdict in enumerate(["wrong", "solved", "wrong"])
    ]
    text = page(students, "Class", "limits")
    assert "<td>a.b</td><td>1 of 3</td><td>3</td><td>hard</td>" in text
    assert "<td>a.b</td><td>&lt;b&gt;</td><td>3</td>" in text
    assert "<b>" not in text
    assert table(students).splitlines()[1] == "<0>,a.b,wrong,3,<b>×1,"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{folder}"], "expected notebooks or folders of students"),
        (["{folder}/none"], "No such file or directory"),
        (["{full}", "--output", "{full}/report"], "expected an output outside of"),
    ],
)
def test_folders_that_cannot_be_used_are_refused_in_one_line(arguments, words, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    notebook(tmp_path / "full" / "a.ipynb")
    names = {"folder": tmp_path / "empty", "full": tmp_path / "full"}
    assert main(["report", *(text.format(**names) for text in arguments)]) == 1
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_the_page_s_container_is_made_of_files_that_are_there_and_runs_this_command(capsys):
    text = (process.ROOT / "book" / "teach.md").read_text(encoding="utf-8")
    copied = [name for line in re.findall("^COPY (.*) .*$", text, re.MULTILINE) for name in line.split()]
    assert copied
    assert [name for name in copied if not (process.ROOT / name).exists()] == []
    (words,) = re.findall("course python -m course_practice (.*)", text)
    assert main(words.split()) == 1
    assert "read or write '/handed_in'" in capsys.readouterr().err
