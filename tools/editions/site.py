"""The built pages as one zip that can be read without a server; the same pages give the same bytes."""

import os
import zipfile
from pathlib import Path

FOLDER = "transformer-course"
START = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>The Transformer, step by step</title>
<meta http-equiv="refresh" content="0; url=pages/book/index.html"></head>
<body><p><a href="pages/book/index.html">The Transformer, step by step</a></p></body></html>
"""
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the zip format knows no earlier time


def write(book: Path, target: Path) -> int:
    """Pack the pages; return how many there are."""
    files = sorted(path for path in book.rglob("*") if path.is_file() and not path.name.startswith("."))
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(beside, "w") as packed:
            _add(packed, "start.html", START.encode())
            for path in files:
                _add(packed, f"pages/{path.relative_to(book).as_posix()}", path.read_bytes())
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
    return sum(path.suffix == ".html" and "_static" not in path.parts for path in files)


def _add(packed: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(f"{FOLDER}/{name}", EARLIEST)
    entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
    packed.writestr(entry, content)
