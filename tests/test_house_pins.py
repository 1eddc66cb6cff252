"""Every pin can be installed on every Python that the README names; the pages and the Makefile name the same ones."""

import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tools import address, pins
from tools.colab import oldest
from tools.environment import ROOT

STATED = json.loads(pins.STATED.read_text(encoding="utf-8"))
FIRST, LAST = f"3.{pins.OLDEST}", f"3.{pins.NEWEST}"


@pytest.mark.parametrize("name", pins.FILES)
def test_pins_hold_only_on_pythons_that_their_packages_support(name):
    assert pins.refused(pins.read(name), STATED) == []


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        # Debian 12 has Python 3.11.2: there pip found no version, and nothing could be installed
        (
            "soupsieve==4.1.1 ; python_version >= '3.11'",
            "soupsieve==4.1.1 needs Python >=3.11.5, but its line also holds on 3.11.0: narrow it",
        ),
        ("one==1", "one==1 needs Python <3.13,>=3.10, but its line also holds on 3.13.0: narrow it"),
        ("two==2", "two==2: expected its Requires-Python in tools/pins.json, got none: run make pins"),
    ],
)
def test_pin_that_holds_too_widely_is_refused(line, complaint):
    assert pins.refused([Requirement(line)], {"soupsieve==4.1.1": ">=3.11.5", "one==1": ">=3.10,<3.13"}) == [complaint]


@pytest.mark.parametrize("stated", [">=3.11.5", ">=3.10,<3.13", ">=3.11,!=3.14.1", "!=3.12.*,>=3.8", ">=3.8", ""])
def test_marker_says_what_the_package_says(stated):
    pin = Requirement("one==1" + pins.marker(stated))
    assert pins.refused([pin], {"one==1": stated}) == []
    allowed = SpecifierSet(stated)
    assert [pins.holds(pin, python) for python in pins.PYTHONS] == [allowed.contains(one) for one in pins.PYTHONS]


def test_every_chosen_package_has_one_version_on_each_python():
    for name in pins.FILES[:2]:
        chosen = pins.read(name)
        for python in pins.PYTHONS:
            names = [pins.name_of(pin.name) for pin in chosen if pins.holds(pin, python)]
            assert sorted(names) == sorted({pins.name_of(pin.name) for pin in chosen}), python


def test_what_is_stored_is_what_the_installed_packages_say():
    """And a record of nothing that no file pins."""
    pinned = [pin for name in pins.FILES for pin in pins.read(name)]
    assert {pins.key(pin) for pin in pinned} == set(STATED), "run make pins"
    seen = 0
    for pin in pinned:
        try:
            package = distribution(pin.name)
        except PackageNotFoundError:
            continue
        if f"=={package.version.partition('+')[0]}" == str(pin.specifier):
            stated = package.metadata.get("Requires-Python", "")
            assert SpecifierSet(stated) == SpecifierSet(STATED[pins.key(pin)]), pin
            seen += 1
    assert seen > 50


def test_pins_are_exact_and_within_the_ranges_of_the_package():
    pinned = pins.read("requirements.txt")
    assert all(re.fullmatch(r"==[\w.]+", str(requirement.specifier)) for requirement in pinned)
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    ranges = [
        Requirement(line) for line in re.findall(r'^ +"(.*)",$', text.split("dependencies = [")[1].split("]")[0], re.M)
    ]
    assert ranges
    for wanted in ranges:
        chosen = [pin for pin in pinned if pins.name_of(pin.name) == pins.name_of(wanted.name)]
        assert chosen, f"{wanted.name} is not in requirements.txt"
        for pin in chosen:
            assert wanted.specifier.contains(str(pin.specifier)[2:]), f"{pin} is not within {wanted}"
    assert sorted(oldest()) == sorted(str(wanted).replace(">=", "==") for wanted in ranges)


def test_constraints_pin_what_requirements_do_not():
    chosen, brought = ({pins.name_of(pin.name) for pin in pins.read(name)} for name in pins.FILES[::2])
    assert not chosen & brought, "run make pins"
    assert len(brought) > 50


def test_what_is_installed_is_listed_without_git(monkeypatch, capfd):
    monkeypatch.setenv("PATH", "")
    lines = pins.installed_pins()
    assert capfd.readouterr() == ("", "")
    assert len(lines) > 50
    assert all(re.fullmatch(r"[\w.-]+==[\w.+]+", line) for line in lines)
    assert not {"pip", "wheel", "course-lib"} & {pins.name_of(line) for line in lines}


def test_the_same_pythons_are_named_everywhere():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"Python {FIRST} to {LAST}" in " ".join(readme.split())
    assert f'requires-python = ">={FIRST}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    weekly = (ROOT / ".github" / "workflows" / "weekly.yml").read_text(encoding="utf-8")
    assert f'python: ["{FIRST}", "{LAST}"]' in weekly


@pytest.mark.parametrize(
    ("version", "accepted"),
    [
        ((3, pins.OLDEST - 1), False),
        ((3, pins.OLDEST), True),
        ((3, pins.NEWEST), True),
        ((3, pins.NEWEST + 1), False),
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
    torch = next(pin for pin in pins.read("requirements.txt") if pin.name == "torch")
    assert f"pip install {torch.name}{torch.specifier} --index-url" in (ROOT / "README.md").read_text(encoding="utf-8")
