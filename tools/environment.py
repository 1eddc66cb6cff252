"""Where things are, and the variables under which every kernel and every test runs."""

import argparse
import os
from pathlib import Path

from course_lib.files import weights_home

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = ROOT / "chapters"
LIBRARY = ROOT / "course_lib"
PRACTICE = ROOT / "course_practice"
RESULTS = ROOT / "book" / "results" / "chapters.json"
BOOK = ROOT / "_build" / "html"

# What could change an output is fixed: the number of threads, the order of sets, colors, the width of a line, the fonts
# (matplotlib 3.11 leaves the system's alone when told so; older ones still look at them).
FIXED = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "NO_COLOR": "1",
    "COLUMNS": "100",
    "LC_ALL": "C.UTF-8",
    "MPL_IGNORE_SYSTEM_FONTS": "1",
}
# What programs keep in the reader's home, their settings and caches, they find here in `home`: empty.
KEPT = {"TRANSFORMER_COURSE_HOME": "", "MPLCONFIGDIR": "matplotlib", "IPYTHONDIR": "ipython"}


def environment(home: str | Path) -> dict[str, str]:
    """This process's variables with the fixed ones over them, and nothing that the reader has set up.

    The progress file and the settings of other programs are in `home`, and there is no PYTHONPATH. The weights of real
    models stay where they are: they are large, and nothing writes to them.

    >>> environment("/nowhere")["TRANSFORMER_COURSE_HOME"], "PYTHONPATH" in environment("/nowhere")
    ('/nowhere', False)
    """
    inherited = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONSTARTUP"}}
    kept = {name: str(Path(home) / folder) for name, folder in KEPT.items()}
    return inherited | FIXED | {"TRANSFORMER_COURSE_WEIGHTS": str(weights_home())} | kept


def as_root() -> list[str]:
    """The option without which Jupyter does not start for root, whom most containers have, though it serves only here.

    >>> as_root() in ([], ["--allow-root"])
    True
    """
    return ["--allow-root"] if getattr(os, "geteuid", lambda: 1)() == 0 else []


def chapters() -> list[Path]:
    """Every chapter, in the order of its number."""
    return sorted(CHAPTERS.glob("[0-9][0-9]_*.ipynb"))


def notebook(text: str) -> Path:
    """The type of an argument that names a notebook."""
    if Path(text).suffix != ".ipynb" or not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"expected a notebook, as chapters/05_masks.ipynb, got {text!r}")
    return Path(text)
