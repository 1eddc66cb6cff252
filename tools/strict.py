"""A pytest plugin for the strict run of the notebooks: `pytest -p tools.strict --nbval …`.

Notebooks are stored without execution counters, which would change on every run. nbval takes a cell without a
counter for one that never ran, and does not compare it; so every cell gets one here, after reading.
"""

ARGUMENTS = (
    *("-p", "tools.strict", "--nbval", "--nbval-current-env", "--nbval-cell-timeout=300"),
    *("--nbval-sanitize-with=tools/sanitize.cfg", "--dist=loadscope"),  # one kernel a notebook
)


def pytest_collection_modifyitems(items: list) -> None:
    for item in items:
        if hasattr(item, "cell"):
            item.cell.execution_count = 1
