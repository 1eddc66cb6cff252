"""The report on a class: whatever a student hands in, all have a row, the verdicts are found anew, nothing leaves."""

import ast
import csv
import json
import os
import signal
import socket
import sys
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import forked
import pytest
import torch

from course_practice import report
from course_practice.__main__ import main
from course_practice.exercises import registry
from course_practice.report import Limits, Row, Student, confined, judged, worker
from course_practice.report.page import page, table
from course_practice.report.values import are_right

FIRST = "import os, socket, subprocess, sys, time\nimport torch\nfrom course_practice import check"
RIGHT = "def my_mask(n):\n    return torch.ones(n, n).tril().bool()\n\ncheck('masks.causal', my_mask)"
WRONG = RIGHT.replace("tril()", "tril(-1)")
PADDING = "my_padding = lambda ids, pad_id=0: (ids != pad_id)[:, None, None, :]\ncheck('masks.padding', my_padding)"
OPEN = "def my_softmax(scores, mask=None):\n    ...\n\ncheck('masks.softmax', my_softmax)"
OWN = "from course_lib.masks import causal_mask\ncheck('masks.causal', causal_mask)"  # needs no judge
SCALED = "from course_lib.attention import scaled_dot_product_attention as s\ncheck('attention.scaled_dot_product', s)"
BETWEEN = "scale = torch.ones(1)\ndef my_target(ids):\n    scale.sum()\n    ...\n\ncheck('masks.target', my_target)"
FORKS = (
    "for _ in range(200):\n    if os.fork() == 0:\n        os.setsid()\n        time.sleep(300)\n        os._exit(0)"
)
IN_THE_JUDGE = (
    "    if 'IPython' not in sys.modules:\n        __import__('ctypes').CDLL(None)._exit(0)\n"  # what no check refuses
)
PATCHES = """
import course_practice.engine.answers, course_practice.engine.compare
course_practice.engine.answers.difference = course_practice.engine.compare.difference = lambda *given: None
check('masks.padding', lambda ids, pad_id=0: (ids == pad_id)[:, None, None, :])
"""


def notebook(path, *cells):
    path.parent.mkdir(parents=True, exist_ok=True)
    written = [{"cell_type": "code", "source": source.splitlines(keepends=True)} for source in (FIRST, *cells)]
    path.write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": "# Masks"}, *written]}))


# Lines of IPython's, before a right answer.
LINES = (
    "%matplotlib inline\n!pip install torch\nimport math",
    f"{RIGHT}\nmath.pi",
    "if True:\n    %time 1 + 1\n    check('masks.causal', my_mask)",
)


def outward(outside, port):
    """Cells that write, reach out, and delete outside of the folder; and one that wants 50 GB."""
    return [
        f"open({str(outside / 'new')!r}, 'w')",
        f"subprocess.run(['touch', {str(outside / 'touched')!r}], check=True)",
        f"os.remove({str(outside / 'stays')!r})",
        f"socket.create_connection(('127.0.0.1', {port}), 2)",
        "memory = torch.ones(50 * 2**30 // 4)",
        "open('here', 'w').write('inside'); assert open('here').read() == 'inside'",
    ]


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outside")
    (folder / "stays").write_text("as it was")
    return folder


@pytest.fixture(scope="module")
def server():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


@pytest.fixture(scope="module")
def found(tmp_path_factory, outside, server):
    """The rows of a class, by student and exercise, and the page."""
    if not confined.has_namespaces():
        pytest.skip("this system gives users no namespaces")
    folder = tmp_path_factory.mktemp("class")
    notebook(folder / "anna" / "one.ipynb", OWN, "check('masks.none', 1)", SCALED)
    notebook(folder / "anna" / "two.ipynb", *LINES[:1], WRONG, f"%%time\n{LINES[1]}", LINES[2], PADDING, OPEN, BETWEEN)
    entry = {"attempts": 5, "passed": True, "passed_at_attempt": 4, "diagnoses": {"upside-down": 3}}
    (folder / "anna" / "progress.json").write_text(json.dumps({"masks.padding": entry, "masks.softmax": "odd"}))
    cell = "from aside import square\nrows = lambda n: square(n)\n" + RIGHT.replace("torch.ones(n, n)", "rows(n)")
    notebook(folder / "helped" / "one.ipynb", cell)
    (folder / "helped" / "aside.py").write_text("import torch\n\n\ndef square(n):\n    return torch.ones(n, n)\n")
    notebook(folder / "loop.ipynb", RIGHT, "while True:\n    time.sleep(0.01)", PADDING)
    notebook(folder / "forks.ipynb", OWN, FORKS, PADDING)
    crash = "import ctypes\nctypes.string_at(0)"
    notebook(folder / "outward.ipynb", *outward(outside, server.getsockname()[1]), OWN, crash, PADDING)
    fake = "check = lambda *given: print('passed')\n"
    exits = OPEN.replace("    ...", IN_THE_JUDGE + "    return scores")
    unnamed = "name = 'masks.target'\ncheck(name, lambda ids: ids)"
    notebook(folder / "tampers.ipynb", PATCHES, unnamed, fake + WRONG, exits)
    for name, content in {"broken": b"{", "empty": b"", "latin": b'{"cells": "\xe9"}', "list": b"[]"}.items():
        (folder / f"{name}.ipynb").write_bytes(content)
    for status in (0, 3):
        notebook(folder / f"exit{status}.ipynb", OWN, f"os._exit({status})", PADDING)
    (folder / "=1+1").mkdir()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    output = tmp_path_factory.mktemp("output")
    assert main(["report", str(folder), "--output", str(output), "--seconds", "40", "--jobs", "2"]) == 0
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    rows = [*csv.DictReader((output / "table.csv").read_text(encoding="utf-8-sig").splitlines())]
    named = {(row["student"], row["exercise"]): row for row in rows if row["exercise"]}
    troubles = defaultdict(list)
    for row in rows:
        troubles[row["student"]] += [] if row["exercise"] else [row["note"]]
    return named, (output / "index.html").read_text(), troubles


def verdicts(found, student):
    return {name: row["verdict"] for (who, name), row in found[0].items() if who == student}


def test_notebooks_in_a_folder_are_one_student_and_tries_come_from_home(found):
    """In the second of them, lines of IPython stop nothing."""
    still_open = {"masks.softmax": "open", "masks.target": "open"}
    solved = {"masks.causal": "solved", "masks.padding": "solved"}
    assert verdicts(found, "anna") == {**solved, **still_open, "attention.scaled_dot_product": "look at it"}
    assert found[2]["anna"] == ["one.ipynb: cell 3 (ValueError)"]  # there is no such exercise
    causal, padding = (found[0]["anna", f"masks.{name}"] for name in ("causal", "padding"))
    assert (causal["tries"], causal["mistakes"], causal["note"]) == ("2", "excludes-self×1", "")
    assert (padding["tries"], padding["mistakes"]) == ("4", "upside-down×3")
    assert "the library's own code" in found[0]["anna", "attention.scaled_dot_product"]["note"]


@pytest.mark.parametrize(
    ("student", "before", "words"),
    [
        ("loop", "solved", "stopped after 40 seconds"),
        ("forks", "look at it", "stopped at more than 64 processes"),
        ("outward", "look at it", "ended with SIGSEGV"),
        ("exit0", "look at it", "exit0.ipynb: ended Python (exit status 0)"),
        ("exit3", "look at it", "exit3.ipynb: ended Python (exit status 3)"),
    ],
)
def test_what_a_notebook_does_to_itself_is_told_and_what_was_before_counts(student, before, words, found):
    trouble = " ".join(found[2][student])
    if student != "forks" or "BlockingIOError" not in trouble:  # the system's own limit, where it counts
        assert words in trouble
        assert verdicts(found, student) == {"masks.causal": before, "masks.padding": "not reached"}, trouble


def test_nothing_outside_changes_and_nothing_is_reached(found, outside, server):
    with pytest.raises(BlockingIOError):  # nobody has called
        server.accept()
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"stays": "as it was"}
    (trouble,) = [text for text in found[2]["outward"] if "cell" in text]
    for cell in (2, 3, 4, 5, 6):
        assert f"cell {cell} (" in trouble
    assert "cell 7" not in trouble


@pytest.mark.skipif(os.mkdir not in os.supports_dir_fd, reason="folders so deep have no names here")
def test_folders_in_one_another_without_end_are_cleared_away(tmp_path, monkeypatch):
    def run(task, folder, given, *limits):
        inner = os.open(folder, os.O_RDONLY)
        for _ in range(1500):
            os.mkdir("in", dir_fd=inner)
            outer, inner = inner, os.open("in", os.O_RDONLY, dir_fd=inner)
            os.close(outer)
        os.close(inner)
        return "", ""

    notebook(tmp_path / "deep.ipynb", RIGHT)
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(report.tempfile, "tempdir", str(tmp_path / "scratch"))
    monkeypatch.setattr(report, "run", run)
    assert judged("deep", tmp_path / "deep.ipynb", Limits()).trouble == []
    assert not list((tmp_path / "scratch").iterdir())


def test_an_answer_takes_what_it_needs_from_its_notebook_and_a_module_beside_it(found):
    assert verdicts(found, "helped") == {"masks.causal": "solved"}


def test_a_tampered_check_gains_nothing(found):
    judged_anew = "the notebook says passed; judged anew, it does not pass"
    assert verdicts(found, "tampers") == {
        **dict.fromkeys(("masks.padding", "masks.target"), "look at it"),
        **dict.fromkeys(("masks.causal", "masks.softmax"), "wrong"),
    }
    assert found[0]["tampers", "masks.padding"]["note"] == judged_anew
    under_another_name = "the notebook says passed; its answer was not found"
    assert found[0]["tampers", "masks.target"]["note"] == under_another_name
    assert found[0]["tampers", "masks.causal"]["note"] == "a `check` of its own"
    assert "ended Python (exit status 0)" in found[0]["tampers", "masks.softmax"]["note"]


@pytest.mark.skipif(not hasattr(os, "symlink") or os.name == "nt", reason="no links")
def test_a_notebook_that_puts_a_link_in_a_folder_s_place_leads_nowhere(tmp_path):
    notebook(tmp_path / "bob" / "one.ipynb", RIGHT)
    notebook(tmp_path / "eve" / "b" / "one.ipynb", WRONG)
    notebook(tmp_path / "eve" / "a.ipynb", f"os.rename('b', 'c')\nos.symlink({str(tmp_path / 'bob')!r}, 'b')")
    student = judged("eve", tmp_path / "eve", Limits(120))
    assert student.trouble == ["one.ipynb: another notebook put a link in the place of its folder"]
    assert (student.rows, os.listdir(tmp_path / "bob")) == ({}, ["one.ipynb"])


ATTACKS = [
    # what is expected becomes what it answers, or all is near enough
    "from course_practice.engine import trial\n    for key in trial._EXPECTED: trial._EXPECTED[key] = [zeros] * 6",
    "import course_practice.exercises as e\n    object.__setattr__(e.registry()['masks.causal'], 'rtol', 1e9)",
    # the verdict in the worker's place: a line in each open file, and by its own function
    "import os\n    for file in range(3, 30):\n        with contextlib.suppress(OSError):\n"
    '            os.write(file, b\'{"passed": true, "attempted": true}\\n\')\n    LIBC._exit(77)',
    "import sys\n    frame = sys._getframe()\n    while 'say' not in frame.f_locals: frame = frame.f_back\n"
    "    frame.f_locals['say'](passed=True, attempted=True, values=[zeros.tolist()] * 6)\n    LIBC._exit(77)",
]


def test_who_attacks_the_process_that_judges_has_solved_nothing_and_reaches_no_other(tmp_path):
    source = "import contextlib, ctypes, torch\nLIBC = ctypes.CDLL(None)\n\n"
    source += "def my_mask(n):\n    zeros = torch.zeros(n, n).bool()\n    {}\n    return zeros"
    right = RIGHT.partition("check")[0].replace("torch", "__import__('torch')")
    texts = (*(source.format(attack) for attack in ATTACKS), source.format(""), right)
    verdicts = report._verdicts([("masks.causal", text) for text in texts], tmp_path, Limits(120))
    assert [verdict.get("passed", False) for verdict in verdicts] == [*[False] * len(ATTACKS), False, True]


ROWS = {"dtype": "torch.bool", "shape": [1, 1], "numbers": [True]}


@pytest.mark.parametrize("value", [None, "a", {}, [[]], ROWS | {"dtype": "load"}, ROWS | {"shape": [2]}])
def test_values_that_no_worker_writes_are_not_right(value):
    written = [
        torch.ones(n, n).tril().bool().tolist() for (n,) in (case.args for case in registry()["masks.causal"].cases())
    ]
    assert are_right("masks.causal", [ROWS, *written[1:]])
    assert not are_right("masks.causal", [value, *written[1:]])
    assert not are_right("masks.causal", written[1:])


def test_what_is_no_notebook_has_a_row_and_no_name_is_a_formula(found):
    wanted = {"broken": "text that is not JSON", "empty": "an empty file", "latin": "text that is not UTF-8"}
    for name, got in (wanted | {"list": "a file of another form"}).items():
        expected = f"{name}.ipynb: expected a notebook of at most 50 MB, got {got}: ask for it again"
        assert found[2][name] == [expected]
    assert found[2]["'=1+1"] == ["no notebook"]
    assert "no network" in found[1]


def test_without_namespaces_a_hook_refuses_and_lines_of_ipython_stop_nothing(outside, server, tmp_path, monkeypatch):
    monkeypatch.setattr(confined, "has_namespaces", lambda: False)
    cells = [*outward(outside, server.getsockname()[1]), "os.fork()", f"os.rename('here', {str(outside / 'away')!r})"]
    notebook(tmp_path / "a.ipynb", *cells, *LINES)
    student = judged("a", tmp_path / "a.ipynb", Limits(120))
    with pytest.raises(BlockingIOError):
        server.accept()
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"stays": "as it was"}
    refused = [f"cell {cell} (PermissionError)" for cell in (2, 3, 4, 5, 8, 9)]
    assert all(words in student.trouble[0] for words in refused), student.trouble
    assert not any(f"cell {cell} (" in student.trouble[0] for cell in (7, 10, 11, 12))
    assert student.rows["masks.causal"].verdict == "solved"


@pytest.mark.parametrize(
    ("event", "args", "allowed"),
    [
        ("open", ("inside/file", "w", os.O_WRONLY), True),
        ("open", ("/etc/hosts", "r", os.O_RDONLY), True),
        ("open", ("../file", "w", os.O_WRONLY | os.O_CREAT), False),
        ("open", (os.devnull, "w", os.O_WRONLY), True),
        ("open", (3, "w", os.O_WRONLY), True),
        ("os.rename", ("inside", "/elsewhere", -1, -1), False),
        ("os.scandir", ("/",), True),
        ("subprocess.Popen", ("ls", [], None, None), False),
        ("socket.gethostname", (), True),
        ("socket.connect", (None, ("127.0.0.1", 80)), False),
    ],
)
def test_what_the_hook_refuses(event, args, allowed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        confined.refuse(str(tmp_path.resolve()), event, args)
    except PermissionError:
        assert not allowed
    else:
        assert allowed


def test_checks_are_found_wherever_a_cell_makes_them():
    source = (
        "%time 1\nif True:\n    course_practice.check('masks.causal', partial(f, 2))\nchecked('a', f)\ncheck(name, f)"
    )
    assert [name for name, _ in worker.checks_of(source)] == ["masks.causal"]
    named = worker.checks_of("check(obj=f, exercise_id='masks.causal')\ncheck('masks.leaks', obj=f)\ncheck('a')")
    assert [name for name, _ in named] == ["masks.causal", "masks.leaks"]
    for strange in ("check('masks.causal', ", "-" * 10_000 + "1"):
        assert list(worker.checks_of(strange)) == []


def written(said, monkeypatch, tmp_path, **files):
    """What the report makes of a student whose process says this."""
    monkeypatch.setattr(report, "run", lambda task, *given: (said.get(task, ""), ""))
    notebook(tmp_path / "a" / "one.ipynb", RIGHT)
    for name, content in files.items():
        (tmp_path / "a" / f"{name}.json").write_text(content)
    student = judged("a", tmp_path / "a", Limits())
    return student, table([student]) + page([student, student], "Class", "limits")


@pytest.mark.parametrize(
    "said",
    [
        *({"cells": line} for line in ("[]\n", "nonsense\n", '{"exercise": []}\n', '{"cell": 1, "error"', "5\n")),
        *({"answers": line} for line in ('{"mistake": 5}\n', '{"mistake": ["a"]}\n', '{"passed": "yes"}\n', "null\n")),
    ],
)
def test_an_answer_that_says_what_no_worker_says_stops_no_other(said, tmp_path, monkeypatch):
    line = {"cell": 1, "exercise": "masks.causal", "source": "def f(n): ...", "why": ""}
    student, text = written({"cells": json.dumps(line) + "\n"} | said, monkeypatch, tmp_path)
    assert not [words for words in student.trouble if "what it left cannot be read (" not in words]
    assert student.trouble or student.rows["masks.causal"].verdict != "solved"
    assert "✓" not in text.partition("</p>")[2].replace("✓ solved", "")


@pytest.mark.parametrize(
    ("said", "tries"), [("4", 4), ('"four"', 5), ("null", 5), ("[]", 5), ("1" + 400 * "0", 5), ("-1", 5)]
)
def test_a_progress_file_that_was_changed_stops_no_other(said, tries, tmp_path, monkeypatch):
    entry = f'{{"masks.causal": {{"attempts": 5, "passed": true, "diagnoses": {{}}, "passed_at_attempt": {said}}}}}'
    student, _ = written({}, monkeypatch, tmp_path, progress=entry)
    assert student.rows["masks.causal"].tries == tries


def test_what_nobody_would_hand_in_is_left_out(tmp_path):
    inside = tmp_path / "deep"
    for _ in range(45):
        inside /= "a"
    inside.mkdir(parents=True)
    (tmp_path / "endless.ipynb").symlink_to("/dev/zero")
    (tmp_path / "link.ipynb").symlink_to(__file__)
    notebook(tmp_path / "elsewhere" / "a.ipynb", RIGHT)
    (tmp_path / "link").symlink_to("elsewhere")
    for name in ("deep", "endless.ipynb", "link.ipynb", "link"):
        assert "not all of it can be read" in judged("a", tmp_path / name, Limits()).trouble[0]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_folder_or_a_pipe_in_the_place_of_the_progress_file_holds_nothing_up(tmp_path, monkeypatch):
    notebook(tmp_path / "a" / "one.ipynb", RIGHT)
    (tmp_path / "a" / "progress.json").mkdir()
    monkeypatch.setattr(report, "run", lambda task, folder, *given: (os.mkfifo(folder / "progress.json"), ("", ""))[1])
    student = judged("a", tmp_path / "a", Limits())
    assert (student.trouble, student.rows["masks.causal"].verdict) == ([], "not reached")


MAKER = "import functools\n\ndef make(k):\n    def f(n):\n        return n + k\n    return f\n\ndef use():\n"


OF_CLASS = ("type('A', (), {'__call__': make})()", "type('A', (), {'made': make})().made")


@pytest.mark.parametrize("way", ["make(0)", "functools.partial(make, 0)", *OF_CLASS])
def test_what_a_factory_made_has_no_source_that_stands_alone(way):
    shell = SimpleNamespace(user_ns={"made": worker.defined(f"{MAKER}    return {way}")()})
    node = ast.parse("made").body[0].value
    assert worker.source_of_answer(node, shell) == (None, "its code does not stand alone")


def ran(folder, *cells, **settings):
    folder.mkdir()
    return confined.run("cells", folder, json.dumps([FIRST, *cells]), Limits(), **settings)[1]


def test_students_have_the_names_of_their_files_or_folders_and_no_two_the_same(tmp_path):
    for name in ("J. Smith", "x.y", "x.y.z", "twice", ".hidden"):
        (tmp_path / name).mkdir()
    for name in ("anna.schmidt.ipynb", "Upper.IPYNB", "twice.ipynb", "notes.txt"):
        (tmp_path / name).touch()
    names = [name for name, _ in report.students(tmp_path)]
    assert names == ["J. Smith", "Upper", "anna.schmidt", "twice", "twice.ipynb", "x.y", "x.y.z"]
    notebook(tmp_path / "x.y" / "a.IPYNB", RIGHT)
    assert report.judged("x.y", tmp_path / "x.y", Limits()).rows["masks.causal"].verdict == "solved"


def test_what_a_notebook_writes_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(confined, "MOST_SAID", 2**20)
    monkeypatch.setattr(confined, "LARGEST_FOLDER", 2**22)
    flood = "import contextlib\nfor number in range(3, 30):\n    with contextlib.suppress(OSError):\n"
    flood += "        os.write(number, b'x' * 2**21)\ntime.sleep(300)"
    disk = "for name in 'abcde':\n    open(name, 'wb').write(b'x' * 2**20)\ntime.sleep(300)"
    assert [ran(tmp_path / name, cell) for name, cell in (("said", flood), ("disk", disk))] == [
        "stopped because it wrote too much"
    ] * 2


def test_an_answer_that_cannot_be_stopped_leaves_time_for_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "SILENT", 15.0)
    hangs = "import time\n\ndef f(n):\n    return time.sleep(300)"
    right = RIGHT.partition("\n\n")[0].replace("def", "import torch\ndef")
    answers = [("masks.causal", hangs), ("masks.causal", right)]
    found = report._verdicts(answers, tmp_path, Limits())
    assert (found[0], found[1].get("passed")) == ({"error": "stopped after 15 seconds"}, True)
    assert report._verdicts(answers, tmp_path, Limits(0)) == [{"error": "no time was left to judge it"}] * 2


@pytest.mark.skipif(sys.platform != "linux", reason="other systems tell no process that the one above it ended")
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_nothing_runs_on_when_the_report_ends(number, tmp_path):
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "a.ipynb").write_text("[]")
    notebook(tmp_path / "class" / "b.ipynb", "while True:\n    time.sleep(0.01)\n    open('alive', 'w').close()")
    notebook(tmp_path / "class" / "c.ipynb", "1")
    words = ["report", str(tmp_path / "class"), "--output", str(tmp_path / "report")]
    child = forked.start("course_practice.__main__", words, TMPDIR=str(tmp_path))

    def until(true, seconds=60.0):
        end = time.monotonic() + seconds
        while not true() and time.monotonic() < end:
            time.sleep(0.1)
        return true()

    def alive():
        return [path for path in tmp_path.rglob("alive") if time.time() - path.stat().st_mtime < 1]

    assert until(alive)
    os.kill(child.pid, getattr(signal, number))
    child.join(30)
    assert child.exitcode == {"SIGINT": 130, "SIGTERM": 143, "SIGKILL": -9}[number]
    assert until(lambda: not alive(), 10)
    assert (tmp_path / "report" / "table.csv").read_text("utf-8-sig").splitlines()[1:] == [
        'a,,trouble,,,"a.ipynb: expected a notebook of at most 50 MB, got a file of another form: ask for it again"'
    ]
    assert "2 of 3 students are missing." in (tmp_path / "report" / "index.html").read_text("utf-8")


def test_the_page_says_which_exercises_are_hard_and_escapes_what_students_write():
    made = report.Counter({"<b>": 1})
    students = [
        Student(f"<{n}>", {"a.b": Row("a.b", verdict, 3, made)})
        for n, verdict in enumerate(["wrong", "solved", "wrong"])
    ]
    text = page(students, "Class", "limits")
    assert "<td>a.b</td><td>1 of 3</td><td>3</td><td>hard</td>" in text
    assert "<td>a.b</td><td>&lt;b&gt;</td><td>3</td>" in text
    assert "<b>" not in text
    assert table(students).splitlines()[1] == "<0>,a.b,wrong,3,<b>×1,"


def test_two_threads_may_read_cells_at_once():
    """An object that goes while one thread parses lets the other one run."""

    class Going:
        def __del__(self):
            sum(range(50))

    def read(_):
        going = Going()
        going.itself = going
        del going
        return len([*worker.checks_of('check("masks.causal", f)\n' * 200)])

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(3) as pool:
            assert set(pool.map(read, range(200))) == {200}
    finally:
        sys.setswitchinterval(before)


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
