"""Copy the library's definitions into the chapters' definition cells: `python -m tools.sync`. Never the other way.

The set-up cell comes from tools/template.py, and is put below the title.

The code is the same, laid out for the width of a page; docstrings and comments stay as they are. A cell that differs
from the library by its layout alone stays as it is.
"""

import subprocess
import sys
from pathlib import Path

from tools.environment import LIBRARY, chapters
from tools.form import normal_form, read, text_of
from tools.gates.definitions import definitions, is_definition_cell, module_of, source_of
from tools.notebooks import with_set_up, write_atomically
from tools.template import COLUMNS


def synchronize(path: Path, library: Path = LIBRARY) -> list[str]:
    """Rewrite the definition cells of one chapter; return the ids of the cells that changed."""
    nb = with_set_up(read(path))
    changed = ["set-up"] if nb != read(path) else []
    for cell in nb.cells:
        module = module_of(path, library, cell)
        if not is_definition_cell(cell, module):
            continue
        text = module.read_text(encoding="utf-8")
        known = definitions(text)
        source = narrow("\n\n\n".join(source_of(text, known[name]) for name in definitions(cell.source)))
        if source != cell.source and _bare(source) != _bare(cell.source):
            cell.source = source
            changed.append(cell.id)
    if changed:
        write_atomically(path, text_of(normal_form(nb)))
    return changed


def _bare(source: str) -> str:
    """Without the commas that only keep one parameter on each line."""
    return narrow(source, "--config=format.skip-magic-trailing-comma=true")


def narrow(source: str, *options: str) -> str:
    """The same code in lines as short as a page's."""
    command = [sys.executable, "-m", "ruff", "format", "--quiet", f"--line-length={COLUMNS}", *options, "-"]
    done = subprocess.run(command, input=source, text=True, encoding="utf-8", stdout=subprocess.PIPE, check=True)
    return done.stdout.rstrip("\n")


def main() -> int:
    changed = [(path, cell_id) for path in chapters() for cell_id in synchronize(path)]
    for path, cell_id in changed:
        again = "" if cell_id == "set-up" else " Run it again with make notebooks."
        print(f"{path.name}, cell {cell_id!r}: now as in the library.{again}")
    if not changed:
        print("Nothing to do: the definition cells are as in the library, where it has their names.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
