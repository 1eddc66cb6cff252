"""The tools do what they say: normal form, running and storing, the text form, copying, the address, the summary."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import cells
import matplotlib as mpl
import nbformat
import pytest
import yaml

import tools
from tools import address, book, bundle, colab, cost, environment, notebooks, stages, sync, template
from tools.cost import measured, with_rows
from tools.environment import ROOT
from tools.form import ANSI, normal_form, read, text_of
from tools.gates import definitions, links
from tools.gates.parsing import placed
from tools.notebooks import run

URL = "https://github.com/someone/their-fork"
TEXT = """%% markdown title
# A title

| You need first | nothing |

%% code first my-tag
import os

print("one")
os.environ["PYTHONHASHSEED"], os.environ.get("PYTHONPATH"), os.path.basename(os.getcwd())

%% code second
1 + 1
"""


def notebook(text=TEXT):
    return cells.from_text(text)


def test_text_form_and_back():
    nb = notebook()
    assert [cell.id for cell in nb.cells] == ["title", "first", "second"]
    assert nb.cells[1].metadata == {"tags": ["my-tag"]}
    assert cells.from_text(cells.to_text(nb)) == nb
    with pytest.raises(ValueError, match="line 1: expected a line like '%% markdown title' first, got 'x = 1'"):
        cells.from_text("x = 1")


def test_jupytext_keeps_the_ids_and_outputs_of_cells_that_did_not_change(tmp_path):
    """As CONTRIBUTING.md says: a notebook as text and back, with one cell changed and one more."""
    path, text = tmp_path / "a.ipynb", tmp_path / "a.py"
    stored = read(ROOT / "chapters" / "12_bpe.ipynb")
    path.write_text(text_of(stored), encoding="utf-8")
    command = [sys.executable, "-m", "jupytext", "--quiet", "--output"]
    subprocess.run([*command, text, "--to", "py:percent", path], check=True)
    first, second, *rest = re.split(r"(?m)^(?=# %%)", text.read_text(encoding="utf-8"))
    text.write_text("".join([first, second, "# %%\n1 + 1\n\n", *rest]), encoding="utf-8")
    subprocess.run([*command, path, "--update", "--to", "ipynb", text], check=True)
    new = normal_form(read(path))
    assert [cell.id for cell in new.cells if cell.id != "1-1"] == [cell.id for cell in stored.cells]
    assert [cell for cell in new.cells if cell.id != "1-1"] == stored.cells


def test_normal_form_gives_readable_ids_and_keeps_given_ones():
    given = ["0a1b2c3d", "my-id", "", "12345678-1234-4123-8123-123456789abc", "cell-17"]
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("def mask(n): ...") for _ in given])
    for cell, name in zip(nb.cells, given, strict=True):
        cell["id"] = name
    nb.cells.append(nbformat.v4.new_markdown_cell("# Masks, and *more*\n\ntext", id="deadbeef1234"))
    nb.cells.append(nbformat.v4.new_markdown_cell("# Masks, and *more*", id="00000000"))
    ids = [cell.id for cell in normal_form(nb).cells]
    assert ids == ["mask", "my-id", "mask-2", "mask-3", "mask-4", "deadbeef1234", "masks-and-more"]


def test_normal_form_leaves_nothing_that_changes_between_runs():
    new = nbformat.v4.new_output
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "1"}, "text/html": "<b>x</b>"}
    cell = nbformat.v4.new_code_cell("x", id="x", execution_count=7, metadata={"collapsed": True, "tags": ["b", "a"]})
    cell.outputs = [
        new("stream", name="stdout", text="on"),
        new("stream", name="stdout", text="e\x1b[31m!\x1b[0m\n"),
        new("stream", name="stderr", text="two"),
        new("execute_result", data=view, execution_count=7, metadata={"isolated": True}),
    ]
    nb = nbformat.v4.new_notebook(cells=[cell], metadata={"widgets": {"state": {}}, "authors": [{"name": "me"}]})
    normal = normal_form(nb)
    assert normal.metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    assert normal.cells[0].execution_count is None
    assert normal.cells[0].metadata == {"tags": ["a", "b"]}
    normal.cells[0].metadata["tags"] = ["hide-output", "hide-input"]
    folded = {"tags": ["hide-input", "hide-output"], "jupyter": {"source_hidden": True, "outputs_hidden": True}}
    assert normal_form(normal).cells[0].metadata == folded
    normal.cells[0].metadata = {"tags": ["a", "b"], "jupyter": {"source_hidden": True}}
    first, second, third = normal.cells[0].outputs
    assert (first.text, second.text) == ("one!\n", "two")
    assert third.data == {"text/html": "<b>x</b>"}
    assert (third.execution_count, third.metadata) == (None, {})
    assert normal_form(normal).cells[0].metadata == {"tags": ["a", "b"]}
    assert normal_form(normal_form(normal)) == normal_form(normal)
    assert text_of(normal).endswith("}\n")


def test_notebook_runs_in_its_folder_under_fixed_variables(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    path = tmp_path / "a.ipynb"
    path.write_text(text_of(notebook()), encoding="utf-8")
    nb, cost = run(path)
    assert nb.cells[1].outputs[0].text == "one\n"
    assert nb.cells[1].outputs[1].data["text/plain"] == f"('0', None, '{tmp_path.name}')"
    assert nb.cells[2].outputs[0].data["text/plain"] == "2"
    assert cost["seconds"] < 60
    assert 50 < cost["memory_mb"] < 2000
    assert set(cost) == {"seconds", "yardstick", "memory_mb", "cores", "python", "torch"}


FONTS = """
from pathlib import Path
import matplotlib as mpl
from matplotlib.font_manager import fontManager
strange = [font.fname for font in fontManager.ttflist if not Path(font.fname).is_relative_to(mpl.get_data_path())]
print(mpl.rcParams["font.size"], [Path(name).name for name in strange if "mine" in name], len(strange) > 0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere fonts are not found by a folder of one's own")
@pytest.mark.skipif(sys.version_info < (3, 11), reason="matplotlib 3.10, the last for this Python, asks the system")
def test_figures_see_neither_the_machine_s_fonts_nor_the_reader_s_settings(tmp_path, monkeypatch):
    (tmp_path / "fonts").mkdir()
    shutil.copy(Path(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf", tmp_path / "fonts" / "mine.ttf")
    (tmp_path / "matplotlibrc").write_text("font.size: 77\n", encoding="utf-8")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path))
    monkeypatch.delenv("MPL_IGNORE_SYSTEM_FONTS")

    def seen(variables):
        command = [sys.executable, "-c", FONTS]
        return subprocess.run(command, env=variables, text=True, stdout=subprocess.PIPE).stdout.strip()

    assert seen(os.environ) == "77.0 ['mine.ttf'] True"
    assert seen(environment.environment(tmp_path / "home")) == "10.0 [] False"


def test_kernels_run_nothing_that_the_reader_runs_at_their_start(tmp_path, monkeypatch):
    (tmp_path / "profile_default" / "startup").mkdir(parents=True)
    (tmp_path / "profile_default" / "startup" / "mine.py").write_text("mine = 1", encoding="utf-8")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    path = tmp_path / "a.ipynb"
    path.write_text(text_of(notebook("%% code a\nprint('mine' in globals())")), encoding="utf-8")
    assert run(path)[0].cells[0].outputs[0].text == "False\n"
    assert run(path, variables={"IPYTHONDIR": str(tmp_path)})[0].cells[0].outputs[0].text == "True\n"


def test_computed_rows_stand_below_what_one_needs_first():
    table = "# A\n\n| You will build | it |\n|---|---|\n| You need first | nothing |\n{}\nMore."
    exercise = "### Exercise: One · ★☆☆ · 5 min\n\n### Exercise: Two · ★★☆ · 12 min\n\n### Another · 99 min"
    rows = "| It takes you | 10 minutes to read, 17 to practice |\n"
    rows += "| It takes the machine | under 5 seconds and under 500 MB of memory, measured on one thread |\n"
    for stale in ("", "| It takes you | |\n", "| It takes the machine | a day |\n| It takes you | a year |\n"):
        texts = [table.format(stale), "word " * 1150, exercise]
        nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text) for text in texts])
        nb.cells.append(nbformat.v4.new_code_cell("folded", metadata={"tags": ["hide-input"]}))
        with_rows(nb, {"seconds": 1, "memory_mb": 400})
        assert nb.cells[0].source == table.format(rows)
    cost = {"seconds": 1, "memory_mb": 4}
    nb.cells.insert(1, nbformat.v4.new_code_cell("x\n\n" * 33))  # five minutes more
    assert "| It takes you | 15 minutes to read, 17 to" in with_rows(nb, cost).cells[0].source
    nb.cells.append(nbformat.v4.new_markdown_cell("### Aside: Why?\n\nSo."))
    assert "| It takes you | 15 minutes to read, 5 for the asides, 17 to" in with_rows(nb, cost).cells[0].source


def test_what_follows_a_solution_is_read_and_the_exercise_is_not():
    texts = [
        "## Two\n\nA b c.",
        "### Exercise: One · ★☆☆ · 5 min\n\nDo it.",
        "So it is.",
        "### Exercise: Two · 5 min\n\nDo it.",
    ]
    there = [nbformat.v4.new_markdown_cell(text) for text in texts]
    solution = nbformat.v4.new_code_cell('show_solution("masks.causal")', metadata={"tags": ["hide-input"]})
    without = nbformat.v4.new_notebook(cells=[there[0], there[1], solution, there[3]])
    with_more = nbformat.v4.new_notebook(cells=[there[0], there[1], solution, there[2], there[3]])
    before, after = (cost.seconds_to_read(placed(nb)) for nb in (without, with_more))
    assert after - before == pytest.approx(60 * 3 / cost.WORDS_A_MINUTE)
    assert before == pytest.approx(60 * 4 / cost.WORDS_A_MINUTE)


def test_times_are_stored_only_when_asked_and_for_a_new_chapter(tmp_path, monkeypatch):
    """An author's busy machine leaves the opening tables as they are."""
    results, path = tmp_path / "chapters.json", tmp_path / "05_masks.ipynb"
    monkeypatch.setattr(notebooks, "CHAPTERS", tmp_path)
    monkeypatch.setattr(notebooks, "RESULTS", results)
    monkeypatch.setattr(cost, "RESULTS", results)
    path.write_text(text_of(notebook()), encoding="utf-8")

    def stored(seconds, **options):
        took = {"seconds": seconds, "memory_mb": 400, "cores": 2}
        monkeypatch.setattr(notebooks, "run", lambda path: (read(path), took))
        assert notebooks.store(path, **options) == took
        table = read(path).cells[0].source
        return json.loads(results.read_text(encoding="utf-8"))["05_masks"]["seconds"], table

    assert stored(3)[0] == 3
    assert "under 5 seconds" in stored(50)[1]
    assert stored(50)[0] == 3
    assert stored(50, times=True)[0] == 50
    assert "under 60 seconds" in stored(3)[1]


def test_failing_cell_is_named_and_nothing_is_stored(tmp_path, monkeypatch, capsys):
    path = tmp_path / "a.ipynb"
    path.write_text(text_of(notebook(TEXT.replace("1 + 1", "1 / 0"))), encoding="utf-8")
    before = path.read_bytes()
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)  # the other tests keep their cores
    monkeypatch.setattr(sys, "argv", ["notebooks", str(path)])
    assert notebooks.main() == 1
    said = capsys.readouterr().err
    assert "a.ipynb, cell 'second' failed; nothing was stored." in said
    assert "ZeroDivisionError" in said
    assert path.read_bytes() == before


@pytest.mark.parametrize("module", ["masks.py", "masks/__init__.py"])
def test_definitions_are_copied_from_the_library(tmp_path, module):
    library = tmp_path / "course_lib"
    (library / module).parent.mkdir(parents=True)
    code = '@decorated\ndef hide(x):\n    """Hide."""\n    return 0  # nothing\n'
    (library / module).write_text(f"import math\n\n\n{code}\n\nx = 1\n", encoding="utf-8")
    path = tmp_path / "05_masks.ipynb"
    text = "%% code hide\ndef hide(y):\n    return 1\n\n%% code mine\ndef my_hide(x): ...\n"
    path.write_text(text_of(notebook(text)), encoding="utf-8")
    assert "'hide' differs" in definitions.same_as_library(path, library)[0]
    assert sync.synchronize(path, library) == ["hide"]
    assert [cell.source for cell in read(path).cells] == [code.strip(), "def my_hide(x): ..."]
    assert definitions.same_as_library(path, library) == []
    assert sync.synchronize(path, library) == []
    for laid_out, there in (("def hide(\n    x,\n)", []), ("def hide(\n    x, y,\n)", ["hide"])):
        path.write_text(text_of(notebook(f"%% code hide\n{code.strip().replace('def hide(x)', laid_out)}\n")), "utf-8")
        assert sync.synchronize(path, library) == there, "a layout of its own is no difference"


@pytest.fixture
def copy_of_the_tree(tmp_path):
    for path in address.places():
        target = tmp_path / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    return tmp_path


def test_one_command_writes_the_address_everywhere_and_takes_it_away(copy_of_the_tree):
    before = {path: path.read_text(encoding="utf-8") for path in address.places(copy_of_the_tree)}
    address.change("", copy_of_the_tree)
    changed = address.change(URL, copy_of_the_tree)
    assert address.address(copy_of_the_tree) == URL
    assert {path.name for path in changed} >= {"_config.yml", "README.md", "pyproject.toml"}
    assert links.one_address(address.places(copy_of_the_tree), URL) == []
    named = {path.name: path.read_text(encoding="utf-8") for path in changed}
    assert f'Source = "{URL}"' in named["pyproject.toml"]
    assert f"]({address.pages(URL)})" in named["README.md"]
    for path in copy_of_the_tree.glob("chapters/*.ipynb"):
        assert read(path).cells[1].source == template.set_up_cell(URL)
    other = "https://github.com/another/name"
    assert address.change(other, copy_of_the_tree) == changed
    assert not any("their-fork" in path.read_text(encoding="utf-8") for path in changed)
    assert {path.name for path in address.change("", copy_of_the_tree)} == set(named)
    assert address.address(copy_of_the_tree) == ""
    assert links.one_address(address.places(copy_of_the_tree), "") == []
    assert "has no public address yet" in (copy_of_the_tree / "README.md").read_text(encoding="utf-8")
    if not address.address():
        assert before == {path: path.read_text(encoding="utf-8") for path in before}


@pytest.mark.parametrize(
    "url", ["http://github.com/you/fork", "https://gitlab.com/you/fork", "you/fork", f"{URL}/tree"]
)
def test_address_that_colab_cannot_open_is_refused(url, copy_of_the_tree):
    with pytest.raises(ValueError, match="expected an address like https://github\\.com/you/fork, or none, got"):
        address.change(url, copy_of_the_tree)


SET_UP = f"%% code set-up remove-cell\n{template.set_up_cell('')}\n\n%% code after\nprint('the rest')\n"


@pytest.fixture
def bare(tmp_path):
    """A test's own environment with everything but the library. Its pip compiles nothing: what is imported will be."""
    made = bundle.bare_environment(tmp_path / "bare")
    return made | {"variables": made["variables"] | {"PIP_COMPILE": "0"}}


def set_up(folder, bare, url=""):
    """What a notebook in the folder says, run in an environment without the library: what it prints, what stops it."""
    path = folder / "a.ipynb"
    path.write_text(text_of(notebook(SET_UP.replace(template.set_up_cell(""), template.set_up_cell(url)))), "utf-8")
    try:
        nb = run(path, **bare)[0]
    except SystemExit as stopped:
        return ANSI.sub("", str(stopped))
    return "".join(output.text for cell in nb.cells for output in cell.outputs)


def test_set_up_without_a_wheel_or_an_address_says_one_sentence_and_stops(tmp_path, bare):
    said = set_up(tmp_path, bare)
    sentence = (
        "This notebook needs course_lib, the library of the course, but it is not installed here: put the "
        "course_lib-….whl that `make bundle` writes beside this notebook, and run this cell again."
    )
    assert said.strip().endswith(f"------------------\n\n\n{sentence}"), said
    assert "Traceback" not in said
    assert "the rest" not in said.rpartition("---")[2]


def test_set_up_says_when_pip_fails(tmp_path, bare):
    (tmp_path / "course_lib-9-py3-none-any.whl").write_text("no wheel", encoding="utf-8")
    said = set_up(tmp_path, bare)
    assert "but pip could not install it (its last words: ERROR: " in said
    assert said.strip().endswith("beside this notebook, and run this cell again.")
    assert "Traceback" not in said


def test_set_up_asks_the_address_where_there_is_no_wheel(tmp_path, bare):
    """git is told that the address leads to a folder without a course."""
    redirect = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.file://{tmp_path}/none.insteadOf"}
    variables = bare["variables"] | redirect | {"GIT_CONFIG_VALUE_0": URL}
    assert "but pip could not install it" in set_up(tmp_path, bare | {"variables": variables}, URL)


def test_bundle_works_in_an_empty_folder(tmp_path, bare, wheel, monkeypatch):
    """A chapter of the bundle begins where the library was missing; then the set-up of another says nothing."""
    monkeypatch.setattr(bundle, "build_wheel", lambda folder: wheel)
    archive = bundle.bundle(tmp_path / "made")
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(tmp_path / "empty")
    folder = next((tmp_path / "empty").iterdir())
    names = {path.name for path in folder.iterdir()}
    assert names >= {path.name for path in environment.chapters()} | {"README.txt"}
    assert len([name for name in names if name.endswith(".whl")]) == 1
    path = folder / "05_masks.ipynb"
    stored = read(path)
    code = [number for number, cell in enumerate(stored.cells) if cell.cell_type == "code"]
    stored.cells = stored.cells[: code[3] + 1]  # the set-up, the imports, what uses them
    path.write_text(text_of(stored), encoding="utf-8")
    done = run(path, **bare)[0]
    assert "Installing course_lib" in done.cells[1].outputs[0].text
    for number in code[1:4]:
        assert normal_form(done).cells[number] == stored.cells[number]
    assert set_up(folder, bare) == "the rest\n"


def test_summary_counts_and_fails(capsys):
    outcomes = {"lint": stages.Outcome(2, 0), "unit": stages.Outcome(10, 1, 3)}
    assert stages.summary(outcomes, {"lint": 1.0, "unit": 2.5}) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split() == ["ok", "lint", "1.0", "s", "2", "passed,", "0", "failed"]
    assert lines[3].startswith("FAILED unit")
    assert lines[-1] == "12 passed, 1 failed"
    assert stages.summary({"lint": stages.Outcome(2, 0)}, {"lint": 1.0}) == 0


@pytest.mark.parametrize("in_ci", ["", "true"])
def test_without_the_weights_of_a_real_model_its_chapter_is_left_out_but_not_in_ci(
    in_ci, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("TRANSFORMER_COURSE_WEIGHTS", str(tmp_path))
    monkeypatch.setenv("CI", in_ci)
    monkeypatch.setattr(stages.Stages, "run", lambda self, module: 1)  # no network
    both = ["chapters/05_masks.ipynb", "chapters/21_real_model.ipynb"]
    runs, left_out = stages.Stages(tmp_path, []).with_weights(both)
    assert (runs, left_out) == ((both, 0) if in_ci else (both[:1], 1))
    assert ("skipped chapters/21_real_model.ipynb: expected SmolLM2" in capsys.readouterr().out) == (not in_ci)


def test_all_stages_run_even_when_an_early_one_fails(monkeypatch, capsys):
    class Stages:
        def __init__(self, folder, notebooks, since):
            self.all = {"lint": lambda: stages.Outcome(0, 1), "unit": lambda: stages.Outcome(5, 0)}

    monkeypatch.setattr(stages, "Stages", Stages)
    monkeypatch.setattr(sys, "argv", ["stages"])
    assert stages.main() == 1
    assert capsys.readouterr().out.splitlines()[-1] == "5 passed, 1 failed"
    monkeypatch.setattr(sys, "argv", ["stages", "--only", "unit"])
    assert stages.main() == 0


def test_stage_counts_what_failed_and_what_never_ran(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("WORKERS", "0")
    one = stages.Stages(tmp_path, [])
    one.environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p xdist"}  # others take seconds
    for name, code in {
        "good": "def test(): pass",
        "bad": "def test(): assert 0",
        "torn": "import nothing_here",
        "idle": "import pytest\n@pytest.mark.parametrize('n', (1, 2))\ndef test(n): pytest.skip('no such machine')",
    }.items():
        (tmp_path / f"test_{name}.py").write_text(code, encoding="utf-8")
    assert one.pytest(str(tmp_path)) == stages.Outcome(passed=1, failed=2, skipped=2)
    assert capsys.readouterr().out == "skipped 2: no such machine\n"
    (tmp_path / "empty").mkdir()
    assert one.pytest(str(tmp_path / "empty")).failed == 1
    assert one.commands(["json.tool", "--help"], ["json.tool", str(tmp_path / "none")]) == stages.Outcome(1, 1)


def test_workflow_runs_every_stage_once(tmp_path):
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))
    parts = workflow["jobs"]["test"]["strategy"]["matrix"]["stages"]
    assert len(parts) == 4
    assert sorted(" ".join(parts).split()) == sorted(stages.Stages(tmp_path, []).all)


@pytest.mark.parametrize("tool", [notebooks, colab])
def test_a_notebook_that_is_not_there_is_refused_in_words(tool, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["tool", "chapters/none.ipynb"])
    with pytest.raises(SystemExit, match="2"):
        tool.main()
    assert "expected a notebook, as chapters/05_masks.ipynb, got 'chapters/none.ipynb'" in capsys.readouterr().err


def test_notebooks_start_longest_first(tmp_path):
    costs = {name: cost["seconds"] for name, cost in measured().items()}
    order = [Path(path).stem for path in stages.Stages(tmp_path, []).notebooks]
    assert order == sorted(costs, key=costs.get, reverse=True)
    assert stages.longest_first(["chapters/05_masks.ipynb", "new.ipynb"])[0] == "new.ipynb"


@pytest.mark.parametrize(
    ("paths", "subjects"),
    [
        (["README.md", "book/results.md", ".github/workflows/test.yml", "course_lib/figures/figure.css"], set()),
        (["chapters/05_masks.ipynb", "book/pitfalls/16_bleu.yml"], {"masks", "bleu"}),
        (["course_lib/modern/rope.py", "course_lib/bpe.py", "tests/test_cost.py"], {"modern", "bpe", "cost"}),
        (["course_practice/exercises/multi_head/mha.py"], {"multi_head"}),
        (["tests/answers/decoder/layer.md"], {"decoder"}),
        (["course_practice/engine/checking.py"], stages.SUBJECTS),
        (["chapters/05_masks.ipynb", "tests/test_exercises.py"], stages.SUBJECTS),
        (["constraints.txt"], stages.SUBJECTS),
        ([], set()),
    ],
)
def test_a_change_touches_the_subjects_whose_files_it_changes(paths, subjects):
    assert stages.touched(paths) == subjects


def test_exercises_of_touched_subjects_are_picked_by_their_names(tmp_path, monkeypatch, capsys):
    ran = []
    one = stages.Stages(tmp_path, [], since="f" * 40)
    monkeypatch.setattr(one, "pytest", lambda *arguments: ran.append(arguments) or stages.Outcome(1, 0))
    files = tuple(one.files["exercises"])
    for paths, expected in {
        ("course_lib/masks.py", "tests/test_bleu.py"): [(*files, "-k", "[bleu. or [masks.")],
        ("README.md",): [],
        ("pyproject.toml",): [("--dist=worksteal", *files)],
    }.items():
        monkeypatch.setattr(stages, "changed", lambda since, paths=paths: list(paths))
        one.exercises()
        assert ran == expected
        ran.clear()
    said = "exercises that changed since ffffffffffff: "
    assert capsys.readouterr().out == f"{said}bleu, masks\n{said}none\n"


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_changes_are_those_since_the_branch_was_made(tmp_path, monkeypatch):
    monkeypatch.setattr(stages, "ROOT", tmp_path)

    def git(*arguments):
        named = ["-c", "user.name=me", "-c", "user.email=me@here"]
        done = subprocess.run(["git", *named, *arguments], cwd=tmp_path, check=True, text=True, stdout=subprocess.PIPE)
        return done.stdout.strip()

    def commit(name):
        (tmp_path / name).write_text("text", encoding="utf-8")
        git("add", "."), git("commit", "-q", "-m", name)

    git("init", "-q", "-b", "main")
    commit("old")
    git("checkout", "-q", "-b", "mine")
    commit("mine")
    git("checkout", "-q", "main")
    commit("theirs")
    git("checkout", "-q", "mine")
    (tmp_path / "old").write_text("not committed", encoding="utf-8")
    assert stages.changed("main") == ["mine", "old"]
    with pytest.raises(SystemExit, match="expected a commit that git knows, got 'nonsense'"):
        stages.changed("nonsense")


@pytest.mark.parametrize("code", [0, 1])
def test_a_book_that_could_not_be_built_is_not_looked_at(code, tmp_path, monkeypatch):
    """What stands in its place is an older one: the browser's tests build their own, and say why they cannot."""
    one = stages.Stages(tmp_path, [])
    monkeypatch.setattr(one, "run", lambda *arguments: code)
    assert one.all["book"]().failed == code
    assert bool(one.environment["BOOK_IS_BUILT"]) == (code == 0)


def test_every_test_file_belongs_to_one_stage(tmp_path):
    files = stages.Stages(tmp_path, []).files
    named = [path for paths in files.values() for path in paths]
    assert len(named) == len(set(named))
    assert all(files.values())


def test_warning_fails_the_build_of_the_book_and_leaves_the_old_one(tmp_path, monkeypatch):
    source, output = tmp_path / "source", tmp_path / "output"
    source.mkdir()
    (source / "_config.yml").write_text("title: A\nonly_build_toc_files: true\n", encoding="utf-8")
    (source / "_toc.yml").write_text("format: jb-book\nroot: index\n", encoding="utf-8")
    page = output / "_build" / "html" / "index.html"
    run = subprocess.run

    def written(text):
        """Stands for a build that goes well (the stage `book` is a real one): it ends with a page of its own."""

        def end(command, **options):
            new = Path(command[command.index("--path-output") + 1], "_build", "html")
            new.mkdir(parents=True)
            (new / "index.html").write_text(text, encoding="utf-8")
            seen.append(not page.exists() or "Text." in page.read_text(encoding="utf-8"))
            return subprocess.CompletedProcess(command, 0, "")

        return end

    seen = []
    monkeypatch.setattr(book.subprocess, "run", written("Text."))
    assert book.build(source, output) == (page, "")
    assert page.read_text(encoding="utf-8") == "Text."
    (page.parent / "gone.html").touch()

    def watched(*arguments, **options):
        done = run(*arguments, **options)
        seen.append("Text." in page.read_text(encoding="utf-8"))  # the old book can be read while the new one is made
        return done

    monkeypatch.setattr(book.subprocess, "run", watched)
    (source / "index.md").write_text("# A\n\n[nowhere](nothing.md)\n", encoding="utf-8")
    assert "nothing.md" in book.build(source, output)[1]
    assert "Text." in page.read_text(encoding="utf-8")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for name in (f"new-{ended.pid}-half/_build", "new-halfdone", f"new-{os.getpid()}-other"):  # the last one is at work
        (output / "_build" / name).mkdir(parents=True)
    monkeypatch.setattr(book.subprocess, "run", written("Other."))
    assert book.build(source, output)[1] == ""
    assert page.read_text(encoding="utf-8") == "Other."
    assert seen == [True, True, True]
    assert not (page.parent / "gone.html").exists()
    assert sorted(path.name for path in (output / "_build").iterdir()) == ["html", f"new-{os.getpid()}-other"]


def is_at_work(group):
    """Whether a process of the group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


BUILD_STOPPED = "The build was stopped: an earlier book stands as it was.\n"


@pytest.mark.parametrize(
    ("number", "command", "said", "code"),
    [
        (signal.SIGINT, ["tools.book"], BUILD_STOPPED, 130),
        (signal.SIGTERM, ["tools.book"], BUILD_STOPPED, 143),
        (signal.SIGINT, ["tools.editions", "zip"], f"\n{tools.STOPPED}\n", 130),
        (signal.SIGKILL, ["tools.book"], "", -signal.SIGKILL),
    ],
)
def test_a_build_that_is_ended_leaves_nothing_at_work(number, command, said, code, tmp_path, interruptible):
    command = [sys.executable, "-m", *command, "--output", str(tmp_path)]
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True, stderr=subprocess.PIPE, text=True)
    while not list(tmp_path.glob("_build/new-*/_build")) and process.poll() is None:
        time.sleep(0.1)
    process.send_signal(number)
    assert process.communicate()[1] == said
    assert process.returncode == code
    while is_at_work(process.pid):
        time.sleep(0.1)
    assert not list(tmp_path.glob("_build/new-*/_build/html/index.html")), "nobody built on"
    book.remove_remains(tmp_path / "_build")  # as the next build does: a killed one cannot
    assert list((tmp_path / "_build").iterdir()) == []


def test_ctrl_c_in_a_tool_is_one_sentence(monkeypatch, capsys):
    """Any other error keeps its traceback."""
    with pytest.raises(SystemExit) as ended:
        tools._say(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert (ended.value.code, capsys.readouterr().err) == (130, f"\n{tools.STOPPED}\n")
    tools._say(ValueError, ValueError("seven"), None)
    assert capsys.readouterr().err == "ValueError: seven\n"


def test_a_stage_is_left_when_what_it_began_has_ended(tmp_path, monkeypatch):
    waited = []

    class Process:
        def __init__(self, *arguments, **options):
            pass

        def wait(self):
            waited.append(1)
            if len(waited) == 1:
                raise KeyboardInterrupt

    monkeypatch.setattr(stages.subprocess, "Popen", Process)
    with pytest.raises(KeyboardInterrupt):
        stages.Stages(tmp_path, []).run("pytest")
    assert len(waited) == 2


def test_pages_are_current_until_something_changes_that_they_are_made_of(tmp_path):
    source, output = tmp_path / "source", tmp_path / "output"
    (source / "book").mkdir(parents=True)
    (source / "_toc.yml").write_text("root: index", encoding="utf-8")
    note = output / "_build" / "html" / book.MADE_OF
    note.parent.mkdir(parents=True)
    assert not book.is_current(source, output)
    (source / "runs").mkdir()

    def change(path, text):
        note.write_text(book.made_of(source), encoding="utf-8")
        assert book.is_current(source, output)
        path.write_text(text, encoding="utf-8")
        return not book.is_current(source, output)

    assert change(source / "book" / "index.md", "# A")  # new
    assert change(source / "book" / "index.md", "# B")  # of the same length
    assert change(source / "_toc.yml", "root: other")
    assert not change(source / "runs" / "model.pt", "weights")
    (source / "book" / "index.md").rename(source / "book" / "other.md")
    assert not book.is_current(source, output)


def test_a_change_during_a_build_makes_its_pages_old(tmp_path, monkeypatch):
    source = tmp_path / "source"
    (source / "book").mkdir(parents=True)

    def end(command, **options):
        new = Path(command[command.index("--path-output") + 1], "_build", "html")
        new.mkdir(parents=True)
        (new / "index.html").touch()
        for name in edits:
            (source / "book" / name).touch()
        return subprocess.CompletedProcess(command, 0, "")

    monkeypatch.setattr(book.subprocess, "run", end)
    edits = ["a.md"]
    assert book.build(source, tmp_path)[1] == ""
    assert not book.is_current(source, tmp_path)
    edits.clear()
    assert book.build(source, tmp_path)[1] == ""
    assert book.is_current(source, tmp_path)


def test_lint_that_fails_names_what_repairs_it(tmp_path, monkeypatch, capsys):
    one = stages.Stages(tmp_path, [])
    for code, said in (0, ""), (1, "make format repairs most of this, in notebooks too.\n"):
        monkeypatch.setattr(one, "run", lambda *arguments, code=code: code)
        one.lint()
        assert capsys.readouterr().out == said


def test_sync_says_when_there_is_nothing_to_do(monkeypatch, capsys):
    for changed, said in ([], "Nothing to do: the definition cells"), (["mask"], "05_masks.ipynb, cell 'mask': now as"):
        monkeypatch.setattr(sync, "chapters", lambda: [Path("05_masks.ipynb")])
        monkeypatch.setattr(sync, "synchronize", lambda path, changed=changed: changed)
        assert sync.main() == 0
        assert capsys.readouterr().out.startswith(said)


def test_notebook_runs_alone_with_the_installed_package(tmp_path, capfd, monkeypatch, wheel):
    """`make colab` runs the chapters themselves so; here is a small one, and one that needs a file of the tree."""
    monkeypatch.setattr(colab, "build_wheel", lambda folder: wheel)
    alone = "import course_lib, os\nfrom course_practice.exercises import check\nassert len(os.listdir()) == 1"
    for name, code in {"alone": alone, "leans": "open('../README.md')"}.items():
        (tmp_path / f"{name}.ipynb").write_text(text_of(notebook(f"%% code a\n{code}")), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["colab", str(tmp_path / "alone.ipynb"), str(tmp_path / "leans.ipynb")])
    assert colab.main() == 1
    said = capfd.readouterr().out
    assert "ok      alone.ipynb" in said
    assert "FAILED  leans.ipynb, cell 'a' failed" in said
