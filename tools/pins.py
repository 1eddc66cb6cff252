"""Write constraints.txt: the versions of everything that the packages of requirements.txt brought along."""

import re
import subprocess
import sys

from tools.environment import ROOT
from tools.notebooks import write_atomically

HEAD = """\
# Written by `make pins`: the versions of what the packages of requirements.txt bring along.
# Python 3.10 gets what pip finds for it: several of these no longer support it.
"""


def name_of(line: str) -> str:
    """The package a pin is about, in the registry's normal spelling.

    >>> name_of("Sphinx_Design==0.6 ; python_version < '3'")
    'sphinx-design'
    """
    return re.sub(r"[-_.]+", "-", re.split(r"[=<> ;@]", line.strip())[0]).lower()


def main() -> int:
    command = [sys.executable, "-m", "pip", "freeze", "--exclude-editable", "--disable-pip-version-check"]
    installed = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()
    files = ("requirements.txt", "requirements-bench.txt")
    lines = [line for name in files for line in (ROOT / name).read_text(encoding="utf-8").splitlines()]
    chosen = {name_of(line) for line in lines if line and line[0].isalpha()}
    pins = sorted((line for line in installed if "==" in line and name_of(line) not in chosen), key=str.lower)
    pins = [f"{line.split('+')[0]} ; python_version >= '3.11'" for line in pins]
    write_atomically(ROOT / "constraints.txt", HEAD + "\n".join(pins) + "\n")
    print(f"constraints.txt: {len(pins)} pins")
    return 0


if __name__ == "__main__":
    sys.exit(main())
