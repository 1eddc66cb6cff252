"""The pins hold on every Python that the README names; the pages and the Makefile name the same ones."""

import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import address
from tools.colab import oldest
from tools.environment import ROOT

FIRST, LAST = "3.10", "3.14"
PINNED = ("requirements.txt", "requirements-bench.txt")


def read(name: str) -> list[Requirement]:
    """The pins of a file of requirements."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and line[0].isalpha()]


def version(pins: list[Requirement], name: str, python: str) -> set[str]:
    """Which versions of a package the lines give on a Python."""
    named = [pin for pin in pins if canonicalize_name(pin.name) == canonicalize_name(name)]
    variables = {"python_full_version": f"{python}.2", "python_version": python}
    return {str(pin.specifier) for pin in named if pin.marker is None or pin.marker.evaluate(variables)}


@pytest.mark.parametrize("python", [FIRST, "3.11", "3.12", "3.13", LAST])
@pytest.mark.parametrize("name", PINNED)
def test_every_chosen_package_has_one_version_on_each_python_and_the_lock_has_the_same(name, python):
    chosen, lock = read(name), read("constraints.txt")
    for pin in chosen:
        assert len(version(chosen, pin.name, python)) == 1, f"{pin.name} on Python {python}"
        assert version(lock, pin.name, python) == version(chosen, pin.name, python), "run make pins"


def test_the_lock_pins_everything_that_is_needed():
    """What each installed package of the lock asks for is in the lock, too."""
    lock = {canonicalize_name(pin.name) for pin in read("constraints.txt")}
    seen = 0
    for name in sorted(lock):
        try:
            needs = map(Requirement, requires(name) or [])
        except PackageNotFoundError:
            continue  # a package for another system
        wanted = {canonicalize_name(need.name) for need in needs if need.marker is None or need.marker.evaluate()}
        assert wanted <= lock, f"{name}: run make pins"
        seen += 1
    assert seen > 100


def test_pins_are_exact_and_within_the_ranges_of_the_package():
    pinned = read("requirements.txt")
    assert all(re.fullmatch(r"==[\w.]+", str(requirement.specifier)) for requirement in pinned)
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    ranges = [
        Requirement(line) for line in re.findall(r'^ +"(.*)",$', text.split("dependencies = [")[1].split("]")[0], re.M)
    ]
    assert ranges
    for wanted in ranges:
        chosen = [pin for pin in pinned if canonicalize_name(pin.name) == canonicalize_name(wanted.name)]
        assert chosen, f"{wanted.name} is not in requirements.txt"
        for pin in chosen:
            assert wanted.specifier.contains(str(pin.specifier)[2:]), f"{pin} is not within {wanted}"
    assert sorted(oldest()) == sorted(str(wanted).replace(">=", "==") for wanted in ranges)


def test_the_same_pythons_are_named_everywhere():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"Python {FIRST} to {LAST}" in " ".join(readme.split())
    assert f'requires-python = ">={FIRST}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    weekly = (ROOT / ".github" / "workflows" / "weekly.yml").read_text(encoding="utf-8")
    assert f'python: ["{FIRST}", "{LAST}"]' in weekly


@pytest.mark.parametrize(
    ("version", "accepted"),
    [
        ((3, 9), False),
        ((3, 10), True),
        ((3, 14), True),
        ((3, 15), False),
        ((4, 0), False),
    ],
)
def test_make_refuses_a_python_without_pins(version, accepted):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    code = re.search(r"^\t@\$\(PYTHON\) -c '(.*)'$", makefile, re.MULTILINE).group(1)
    code = code.replace("sys.version_info[:2]", str(version))
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True)
    got = "{}.{}".format(*version)
    said = f"expected Python {FIRST} to {LAST}, got {got}: run make PYTHON=python{LAST} (or another of these)\n"
    assert (done.returncode, done.stderr) == ((0, "") if accepted else (1, said))


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_a_package_whose_installation_was_broken_off_is_installed_again(tmp_path):
    for name in ("Makefile", "requirements.txt", "constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    packages = tmp_path / ".venv" / "lib" / "python3.11" / "site-packages"
    for name, files in {"whole-1.dist-info": ["METADATA", "RECORD"], "half-1.dist-info": ["METADATA"]}.items():
        (packages / name).mkdir(parents=True)
        for file in files:
            (packages / name / file).touch()
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\n")  # its pip installs nothing
    python.chmod(0o755)
    command = ["make", ".venv/.ready", f"PYTHON={sys.executable}"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert [path.name for path in packages.iterdir()] == ["whole-1.dist-info"]


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
@pytest.mark.parametrize("name", ["a $x", "a:b"])
def test_make_refuses_a_folder_in_which_nothing_can_be_installed(name, tmp_path):
    (tmp_path / name).mkdir()
    for file in ("Makefile", "requirements.txt", "constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / file, tmp_path / name)
    done = subprocess.run(
        ["make", "book", f"PYTHON={sys.executable}"], cwd=tmp_path / name, text=True, capture_output=True
    )
    assert done.stderr.startswith(f"expected a folder without $ and : in its path, got {tmp_path / name}: ")
    assert not (tmp_path / name / ".venv").exists()


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_a_file_in_the_environment_s_place_is_kept(tmp_path):
    for name in ("Makefile", "requirements.txt", "constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / ".venv").write_text("mine", encoding="utf-8")
    done = subprocess.run(["make", "book", f"PYTHON={sys.executable}"], cwd=tmp_path, text=True, capture_output=True)
    assert done.stderr.startswith("expected .venv to be a folder, got a file: rename it")
    assert (tmp_path / ".venv").read_text(encoding="utf-8") == "mine"


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_an_installation_that_fails_says_how_to_go_on(tmp_path):
    for name in ("Makefile", "requirements.txt", "constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\ncase "$*" in *install*) echo "no network" >&2; exit 1; esac\n')
    python.chmod(0o755)
    done = subprocess.run(["make", "book", f"PYTHON={sys.executable}"], cwd=tmp_path, text=True, capture_output=True)
    words = "no network\nexpected to install the packages of requirements.txt, got what pip says above: "
    assert words in done.stderr
    assert not (tmp_path / ".venv" / ".ready").exists()


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_an_environment_whose_python_is_gone_is_not_ready(tmp_path):
    for name in ("Makefile", "requirements.txt", "constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    for there, code in {sys.executable: 0, "/no/such/python": 1}.items():
        python.unlink(missing_ok=True)
        python.symlink_to(there)
        (tmp_path / ".venv" / ".ready").touch()
        assert subprocess.run(["make", "-q", ".venv/.ready"], cwd=tmp_path).returncode == code


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_the_address_asks_for_no_packages(tmp_path):
    """Not when it is shown, and not after it was changed, though pyproject.toml has changed with it."""
    nowhere = tmp_path / "environment"
    # -S: Python's own modules alone. A make within `make test` would tell where it is.
    command = ["make", "--no-print-directory", "address", f"VENV={nowhere}", f"PYTHON={sys.executable} -S"]
    shown = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert shown.stdout == f"{address.address() or 'none'}\n"
    assert not nowhere.exists()
    for name in ("Makefile", "requirements.txt", "constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    python = nowhere / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\ntouch pyproject.toml\n")  # as the change of the address does
    python.chmod(0o755)
    (nowhere / ".ready").touch()
    subprocess.run([*command, "URL=https://github.com/you/fork"], cwd=tmp_path, check=True, capture_output=True)
    subprocess.run(["make", "-q", f"{nowhere}/.ready", f"VENV={nowhere}"], cwd=tmp_path, check=True)


def test_the_readme_names_the_torch_that_is_pinned():
    torch = next(pin for pin in read("requirements.txt") if pin.name == "torch")
    assert f"pip install {torch.name}{torch.specifier} --index-url" in (ROOT / "README.md").read_text(encoding="utf-8")
