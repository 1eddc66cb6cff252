"""A pytest plugin for the strict run of the notebooks: `pytest -p tools.nbval_plugin --nbval …`.

Notebooks are stored without execution counters, which would change on every run. nbval takes a cell without a
counter for one that never ran, and does not compare it; so every cell gets one here, after reading. And the kernels'
clocks go wrong, so that what is compared cannot depend on them (tools/false_clock.py). On Linux, kernels are forked
(tools/forked_kernel.py).
"""

import os
import re
import sys
from pathlib import Path

from jupyter_client.provisioning import local_provisioner
from nbval.plugin import get_sanitize_patterns

from tools import forked_kernel
from tools.environment import ROOT

SANITIZED = ROOT / "tools" / "sanitize.cfg"
ARGUMENTS = (
    *("-p", "tools.nbval_plugin", "--nbval", "--nbval-current-env", "--nbval-cell-timeout=600"),
    *(f"--nbval-sanitize-with={SANITIZED.relative_to(ROOT)}", "--dist=loadscope"),  # one kernel a notebook
    "--no-loadscope-reorder",  # which start in the order in which they are named
)


def pytest_configure() -> None:
    os.environ["PYTHONSTARTUP"] = str(Path(__file__).with_name("false_clock.py"))
    if sys.platform == "linux":
        os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")  # as ipykernel, but earlier
        local_provisioner.launch_kernel = forked_kernel.launch


def pytest_collection_modifyitems(items: list) -> None:
    for item in items:
        if hasattr(item, "cell"):
            item.cell.execution_count = 1


def compared(text: str, settings: Path = SANITIZED) -> str:
    """What the strict run compares of an output's text: all but what the settings name.

    >>> compared('<img alt="A dot" width="523" src="data:image/png;base64,iVBORw0KGgo=">')
    '<img alt="A dot" src="data:image/png;base64,">'
    """
    for pattern, instead in get_sanitize_patterns(settings.read_text(encoding="utf-8")):
        text = re.sub(pattern, instead, text)
    return text
