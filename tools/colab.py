"""Run notebooks as Colab does: `python -m tools.colab [--versions installed|oldest|newest] [NOTEBOOK …]`.

Each notebook stands alone in an empty folder; the package is installed from a wheel, not read from this tree.
`oldest` and `newest` make an environment of their own, with the ends of the ranges that pyproject.toml allows.
Outputs are not compared: other versions may print the same numbers in other words.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import requires
from pathlib import Path

from tools.environment import LIBRARY, PRACTICE, ROOT, chapters, environment, notebook
from tools.form import ANSI
from tools.notebooks import run

RUNNER = ("ipykernel", "nbclient", "nbformat")  # what stands in Colab already
BUILD = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"  # as pip asks for it
WHERE = """import course_lib; from importlib.metadata import version
print(course_lib.__file__, version("torch"), version("numpy"))"""


def build_wheel(folder: Path) -> Path:
    """Build the package from a copy of its files: nothing is left behind in the tree."""
    source = folder / "source"
    source.mkdir(parents=True)
    for package in (LIBRARY, PRACTICE):
        shutil.copytree(package, source / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    _quietly([sys.executable, "-c", BUILD, str(folder)], cwd=source)
    return next(folder.glob("course_lib-*.whl"))


def pip(*arguments: str, python: str | Path = sys.executable) -> None:
    """Run pip quietly; say what it said when it fails."""
    _quietly([str(python), "-m", "pip", *arguments, "--quiet", "--disable-pip-version-check"])


def _quietly(command: list[str], cwd: Path | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}")


def oldest() -> list[str]:
    """The lower ends of the package's ranges, as pins."""
    ranges = [line for line in requires("course-lib") or [] if ";" not in line]
    return [line.split(",")[0].replace(">=", "==") for line in ranges]


def new_environment(folder: Path, wheel: Path, versions: str, python: str) -> Path:
    """An environment with the package and what runs notebooks, nothing else."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    interpreter = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip("install", str(wheel), *RUNNER, *(oldest() if versions == "oldest" else ()), python=interpreter)
    return interpreter


def run_alone(notebooks: list[Path], folder: Path) -> int:
    """Run each notebook as the only file of a folder; return how many failed."""
    failed = 0
    for path in notebooks:
        alone = folder / path.stem
        alone.mkdir()
        copy = Path(shutil.copy(path, alone))
        try:
            cost = run(copy, variables={"PYTHONPATH": os.environ.get("COURSE_PACKAGE", "")})[1]
            print(f"ok      {path.name}: {cost['seconds']} s", flush=True)
        except SystemExit as failure:
            failed += 1
            print(f"FAILED  {ANSI.sub('', str(failure))}", flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--versions", choices=["installed", "oldest", "newest"], default="installed")
    parser.add_argument("--python", default=sys.executable, help="the interpreter for oldest and newest")
    parser.add_argument("--in", dest="folder", type=Path, help=argparse.SUPPRESS)  # second half: see below
    parser.add_argument("notebooks", nargs="*", type=notebook, help="default: every chapter")
    options = parser.parse_args()
    notebooks = [path.resolve() for path in options.notebooks] or chapters()
    if options.folder:
        return int(run_alone(notebooks, options.folder) > 0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        wheel = build_wheel(folder)
        variables = environment(folder / "home")
        if options.versions == "installed":
            python = Path(sys.executable)
            pip("install", "--no-deps", "--no-compile", "--target", str(folder / "package"), str(wheel))
            variables["COURSE_PACKAGE"] = str(folder / "package")
        else:
            python = new_environment(folder / "environment", wheel, options.versions, options.python)
        empty = folder / "empty"
        empty.mkdir()
        seen = variables | {"PYTHONPATH": variables.get("COURSE_PACKAGE", "")}
        where = subprocess.run(
            [python, "-c", WHERE], cwd=empty, env=seen, text=True, stdout=subprocess.PIPE, check=True
        )
        package, torch, numpy = where.stdout.split()[-3:]
        if not Path(package).is_relative_to(folder):
            raise SystemExit(
                f"expected the installed package, got the one in {package}: run this in a clean environment"
            )
        print(f"torch {torch}, numpy {numpy}, package from {wheel.name}", flush=True)
        command = [python, "-m", "tools.colab", "--in", empty, *notebooks]
        return subprocess.run(command, cwd=ROOT, env=variables).returncode


if __name__ == "__main__":
    sys.exit(main())
