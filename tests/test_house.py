"""The house is in order: the library's floors, its examples, its package, the one public address."""

import importlib
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import complaints
import pytest
import torch
from doctests import run_doctests
from jaxtyping import TypeCheckError

from course_lib.attention import scaled_dot_product_attention
from course_lib.masks import masked_softmax
from course_practice.exercises import progress_file
from tools import address
from tools.environment import LIBRARY, PRACTICE, ROOT, chapters, environment
from tools.gates import imports, links

MODULES = sorted([*LIBRARY.rglob("*.py"), *PRACTICE.rglob("*.py")])
BANKS = imports.banks(PRACTICE)
SUBJECTS = {path.stem[3:] for path in chapters()}
EXPERIMENTS = sorted((ROOT / "experiments").rglob("*.py"))
BENCHMARKS = sorted((ROOT / "benchmarks").rglob("*.py"))
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("book/**/*.md")})


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_imports_of_the_library_point_down():
    complaints.none(imports.downward(LIBRARY))


def test_imports_go_in_no_circle():
    complaints.none(imports.circles(LIBRARY) + imports.circles_of_files(PRACTICE))


def test_the_engine_and_the_search_are_handed_what_stands_above_them():
    complaints.none(imports.handed_in(PRACTICE))


def test_no_duration_is_measured_by_the_clock_on_the_wall():
    """It is set right now and then; `perf_counter` and `monotonic` never jump."""
    jumps = re.compile(r"\btime\.time\(|^from time import .*\btime\b|\bdatetime\.(?:now|utcnow)\(", re.MULTILINE)
    files = [*MODULES, *EXPERIMENTS, *BENCHMARKS, *ROOT.glob("tools/**/*.py"), *ROOT.glob("book/**/*.py")]
    assert [path for path in files if jumps.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("path", [path for path in MODULES if path not in BANKS], ids=module_name)
def test_public_definitions_are_documented(path):
    """A chapter's own module shows an example for each of them."""
    complaints.none(imports.documented(path, examples=path.parent == LIBRARY and path.stem in SUBJECTS))


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_worked_examples_run(path):
    torch.manual_seed(0)
    run_doctests(importlib.import_module(module_name(path)))


@pytest.mark.parametrize("path", [*sorted((ROOT / "tools").rglob("*.py")), *BENCHMARKS, *EXPERIMENTS], ids=module_name)
def test_worked_examples_of_tools_and_benchmarks_run(path):
    run_doctests(importlib.import_module(module_name(path)))


def test_benchmarks_are_documented():
    complaints.none([complaint for path in BENCHMARKS for complaint in imports.documented(path, examples=False)])


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_of_pages_lead_somewhere(path):
    complaints.none(links.dead_links(path))


def test_public_address_is_one_setting():
    assert address.places()
    complaints.none(links.one_address(address.places(), address.address()))
    assert address.change(address.address()) == [], "run make address with the address of _config.yml"


def test_shapes_are_checked_at_run_time():
    """A wrong number of axes, and two lengths that should be one."""
    x, y = torch.zeros(2, 3), torch.zeros(5, 7)
    with pytest.raises(TypeCheckError):
        masked_softmax(torch.zeros(3))
    with pytest.raises(TypeCheckError):
        scaled_dot_product_attention(x, y, y)


def test_shapes_are_checked_at_the_start_of_a_loop_and_where_they_are_new():
    for _ in range(100):
        masked_softmax(torch.zeros(2, 3))
    for new in (torch.zeros(3), torch.zeros(2, 3, dtype=torch.long)):
        with pytest.raises(TypeCheckError):
            masked_softmax(new)


def test_tests_keep_away_from_the_readers_progress():
    assert progress_file().is_relative_to(tempfile.gettempdir())


def test_package_is_complete(wheel):
    files = [path for package in (LIBRARY, PRACTICE) for path in package.rglob("*")]
    here = {str(path.relative_to(ROOT)) for path in files if path.is_file() and path.suffix != ".pyc"}
    assert here == {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def test_installed_package_works_in_an_empty_folder(wheel, tmp_path):
    target, empty = tmp_path / "package", tmp_path / "empty"
    empty.mkdir()
    zipfile.ZipFile(wheel).extractall(target)  # which is what pip does; the notebook of the bundle asks pip itself
    code = [f"import {module_name(path)}" for path in MODULES]
    code += [
        "import course_lib",
        "print(course_lib.__file__)",
        "from course_practice.exercises import registry, show_solution",
    ]
    code += ["for name in registry(): show_solution(name)._repr_html_()"]
    variables = environment(tmp_path) | {"PYTHONPATH": str(target)}
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(code)], cwd=empty, env=variables, text=True, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip().splitlines()[-1]).is_relative_to(target)


def test_every_target_explains_itself_and_every_stage_finds_its_files():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE).group(1).split()
    assert all(re.search(rf"^{target}:.*## \w", makefile, re.MULTILINE) for target in targets)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for line in ("make book", "make test", "python -m tools.book", "python -m tools.stages"):
        assert line in readme, f"README.md does not say `{line}`"
