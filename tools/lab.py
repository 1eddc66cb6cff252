"""Open your own copies of the chapters in JupyterLab: `python -m tools.lab [--fresh 05_masks]`.

The copies are in my_chapters/, which git ignores. A copy is laid once and never written over: what you have changed or
solved is yours, also after the course was updated. `--fresh` lays a new copy of a chapter beside the old one.
"""

import argparse
import difflib
import platform
import sys
from pathlib import Path

import nbformat
from ipykernel.kernelspec import get_kernel_dict
from nbformat.sign import NotebookNotary

from tools.environment import CHAPTERS, ROOT, as_root, chapters

MINE = ROOT / "my_chapters"
# A copy keeps where the controls of `play` stand, so that it opens with them before its kernel runs.
SETTINGS = ROOT / "tools" / "lab_settings"


def lay(chapter: Path, folder: Path = MINE, fresh: bool = False) -> Path | None:
    """Copy a chapter into a folder, under the first name that is free; None where its copy is there already.

    The copy names this kernel as JupyterLab would (a notebook that was only opened has nothing to save), and it is
    trusted: its figures show before any cell has run.
    """
    names = (chapter.name, *(f"{chapter.stem}_{number}.ipynb" for number in range(2, 1000)))
    if (folder / chapter.name).exists() and not fresh:
        return None
    copy = next(folder / name for name in names if not (folder / name).exists())
    nb = nbformat.read(chapter, as_version=4)
    kernel = get_kernel_dict()
    nb.metadata["kernelspec"] = {
        "display_name": kernel["display_name"],
        "language": kernel["language"],
        "name": "python3",
    }
    nb.metadata["language_info"] = {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
        "version": platform.python_version(),
    }
    folder.mkdir(exist_ok=True)
    scratch = copy.with_suffix(".new")
    nbformat.write(nb, scratch)
    scratch.rename(copy)
    NotebookNotary().sign(nb)
    return copy


def chapter_named(name: str) -> Path:
    """The chapter of a name, `05_masks`, `05`, or `masks`, with or without folder and ending."""
    stems = [path.stem for path in chapters()]
    asked = Path(name).stem
    found = [stem for stem in stems if asked in (stem, stem[:2], stem[3:])]
    if not found:
        near = difflib.get_close_matches(asked, stems, n=1, cutoff=0.4)
        raise SystemExit(f"expected a chapter, got {name!r}: " + (f"is it {near[0]}?" if near else ", ".join(stems)))
    return CHAPTERS / f"{found[0]}.ipynb"


def main() -> int:
    """Lay what is missing, say what was laid, and start JupyterLab."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--fresh", metavar="CHAPTER", help="lay a new copy of it beside the one that is there")
    parser.add_argument("--quiet", action="store_true", help="lay the copies, and do not start JupyterLab")
    options = parser.parse_args()
    opened = MINE
    if options.fresh:
        opened = lay(chapter_named(options.fresh), fresh=True)
        print(f"A new copy: {opened.relative_to(ROOT)}")
    new = [copy for chapter in chapters() if (copy := lay(chapter))]
    kept = len(chapters()) - len(new)
    print(f"Your copies are in my_chapters/: {len(new)} new, {kept} as you left them.", flush=True)
    if options.quiet:
        return 0
    from jupyterlab.labapp import LabApp  # seconds, during which Ctrl-C ends with a sentence

    page = f"/lab/tree/{opened.relative_to(ROOT).as_posix()}"
    options = [f"--LabApp.default_url={page}", f"--LabApp.app_settings_dir={SETTINGS}"]
    LabApp.launch_instance([f"--ServerApp.root_dir={ROOT}", *as_root(), *options])
    return 0


if __name__ == "__main__":
    sys.exit(main())
