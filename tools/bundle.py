"""Pack the notebooks and the library for Colab or another machine: `python -m tools.bundle [--output FOLDER]`.

The zip holds every chapter, the wheel of course_lib, and a page on how to use them. The notebooks' first
cell of code installs the wheel that lies beside them.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from course_lib.files import written_whole
from tools.colab import build_wheel
from tools.environment import ROOT, chapters

NAME = "transformer-course"
README = """\
The Transformer, step by step: the notebooks, and the library that they use.

On your machine, with Python 3.10 or newer:
  1. python -m pip install {wheel} jupyterlab
  2. python -m jupyterlab

In Google Colab:
  1. Open a notebook (File, Upload notebook).
  2. Put {wheel} into the folder that the left margin shows.
  3. Run the cells from the top. The first one installs the library.
"""


def bundle(folder: Path) -> Path:
    """Write the zip into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"{NAME}.zip"
    with tempfile.TemporaryDirectory() as name:
        wheel = build_wheel(Path(name).resolve())
        with written_whole(archive) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
            for path in [*chapters(), wheel, ROOT / "LICENSE", ROOT / "LICENSE-text"]:
                packed.write(path, f"{NAME}/{path.name}")
            packed.writestr(f"{NAME}/README.txt", README.format(wheel=wheel.name))
    return archive


def bare_environment(folder: Path) -> dict:
    """An interpreter that has what this one has installed, but not course_lib: as arguments of `tools.notebooks.run`.

    Folders on PYTHONPATH give their packages, while the `.pth` files in them, by which the library is installed here,
    are not read.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    interpreter = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    installed = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    return {"interpreter": interpreter, "variables": {"PYTHONPATH": os.pathsep.join(installed)}}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path, default=ROOT / "_build", help="the folder of the zip (default: _build)")
    archive = bundle(parser.parse_args().output.resolve())
    print(f"The notebooks and their library: {archive} ({archive.stat().st_size:,} bytes)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
