"""Write constraints.txt: the versions of everything that the packages of requirements.txt brought along.

A pin holds only on the Pythons that its package is made for. Each package says which (its Requires-Python, kept in
tools/pins.json), and a line's marker says the same. On the other Pythons pip finds a version by itself.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tools.environment import ROOT
from tools.notebooks import write_atomically

FILES = ("requirements.txt", "requirements-bench.txt", "constraints.txt")
STATED = ROOT / "tools" / "pins.json"
# The Pythons that README.md and the Makefile name, in all their releases. The last has wheels of every pin.
OLDEST, NEWEST, RELEASES = 10, 14, 30
PYTHONS = [f"3.{minor}.{release}" for minor in range(OLDEST, NEWEST + 1) for release in range(RELEASES)]

HEAD = """\
# Written by `make pins`: the versions of what the packages of requirements.txt bring along.
# A marker says for which Pythons the package is made; the others get what pip finds.
"""


def name_of(line: str) -> str:
    """The package a pin is about, in the registry's normal spelling.

    >>> name_of("Sphinx_Design==0.6 ; python_version < '3'")
    'sphinx-design'
    """
    return re.sub(r"[-_.]+", "-", re.split(r"[=<> ;@]", line.strip())[0]).lower()


def key(pin: Requirement) -> str:
    """A pin without its marker, in the registry's normal spelling.

    >>> key(Requirement("Sphinx_Design==0.6 ; python_version < '3'"))
    'sphinx-design==0.6'
    """
    return f"{name_of(pin.name)}{pin.specifier}"


def read(name: str) -> list[Requirement]:
    """The pins of one of the FILES."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and line[0].isalpha()]


def marker(stated: str) -> str:
    """What a line says after its pin, so that it holds on the PYTHONS that the package states.

    >>> marker(">=3.11.5, <4"), marker("!=3.14.1,>=3.10"), marker(">=3.9")
    (" ; python_full_version >= '3.11.5'", " ; python_full_version != '3.14.1'", '')
    """
    parts = sorted(SpecifierSet(stated), key=str)
    narrowing = [part for part in parts if not all(part.contains(python) for python in PYTHONS)]
    clauses = [f"python_full_version {part.operator} '{part.version}'" for part in narrowing]
    return f" ; {' and '.join(clauses)}" if clauses else ""


def holds(pin: Requirement, python: str) -> bool:
    """Whether a pin's line counts for a Python, by its marker."""
    variables = {"python_full_version": python, "python_version": python.rpartition(".")[0]}
    return pin.marker is None or pin.marker.evaluate(variables)


def refused(pins: Iterable[Requirement], stated: dict[str, str]) -> list[str]:
    """Which pins hold on a Python that their package refuses: there pip would find no version at all."""
    complaints = []
    for pin in pins:
        if key(pin) not in stated:
            complaints.append(f"{key(pin)}: expected its Requires-Python in tools/pins.json, got none: run make pins")
            continue
        allowed = SpecifierSet(stated[key(pin)])
        wrong = [python for python in PYTHONS if holds(pin, python) and not allowed.contains(python)]
        if wrong:
            complaints.append(f"{key(pin)} needs Python {allowed}, but its line also holds on {wrong[0]}: narrow it")
    return complaints


def ask(pin: str) -> str:
    """The Requires-Python of one version: what the installed package says, else what the registry says."""
    name, _, version = pin.partition("==")
    try:
        package = distribution(name)
        if package.version.partition("+")[0] == version:
            return package.metadata.get("Requires-Python", "")
    except PackageNotFoundError:
        pass
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--ignore-installed", "--ignore-requires-python", "--report", "-", pin]
    report = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout
    return json.loads(report)["install"][0]["metadata"].get("requires_python", "")


def installed_pins() -> list[str]:
    """A line for every installed package, as `pip freeze` writes it, which complains where there is no git."""
    command = [sys.executable, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check"]
    command += ["--exclude-editable", "--exclude=pip", "--exclude=wheel"]
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()


def main() -> int:
    installed = installed_pins()
    chosen = [pin for name in FILES[:2] for pin in read(name)]
    names = {name_of(pin.name) for pin in chosen}
    lines = [line.partition("+")[0] for line in installed if "==" in line and name_of(line) not in names]
    brought = {line: key(Requirement(line)) for line in sorted(lines, key=str.lower)}
    known = json.loads(STATED.read_text(encoding="utf-8")) if STATED.exists() else {}
    pins = sorted({*map(key, chosen), *brought.values()})
    stated = {pin: known[pin] if pin in known else ask(pin) for pin in pins}
    write_atomically(STATED, json.dumps(stated, indent=1) + "\n")
    text = "".join(f"{line}{marker(stated[pin])}\n" for line, pin in brought.items())
    write_atomically(ROOT / "constraints.txt", HEAD + text)
    print(f"constraints.txt: {len(brought)} pins")
    complaints = refused(chosen, stated)
    print(*complaints, sep="\n", end="\n" if complaints else "")
    return int(bool(complaints))


if __name__ == "__main__":
    sys.exit(main())
