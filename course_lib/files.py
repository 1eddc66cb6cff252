"""Files that are written whole: whoever reads one sees the old content or the new, never half. And their checksums."""

import hashlib
import os
import secrets
import shutil
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def written_whole(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """A file to write to, which takes the name `path` once the block has ended without an error.

    Until then the old file stands. An error, Ctrl-C or a full disk leaves it as it was. A device such as /dev/null,
    or a pipe, is written to directly.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "figures.json"
    ...     with written_whole(path) as file:
    ...         _ = file.write(b"{}")
    ...         path.exists()
    ...     path.read_text()
    False
    '{}'
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        with open(path, "wb") as device:
            yield device
        return
    path = Path(os.path.realpath(path))  # a link stays a link: the file that it names is replaced
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException as error:
        if isinstance(error, OSError) and error.filename == str(temporary):
            error.filename = str(path)
        temporary.unlink(missing_ok=True)
        raise


def read_file(path: str | os.PathLike) -> bytes:
    """The content of a file; a pipe or a device, which may never end, is refused.

    >>> read_file(__file__)[3:23]
    b'Files that are writt'
    """
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():  # a folder has an error of its own
        raise ValueError(f"expected a file, got {path}, which is a pipe or a device: name another")
    return path.read_bytes()


def course_home() -> Path:
    """Where the course keeps its files on this machine: TRANSFORMER_COURSE_HOME, else ~/.transformer-course."""
    return Path(os.environ.get("TRANSFORMER_COURSE_HOME") or "~/.transformer-course").expanduser()


def weights_home() -> Path:
    """Where the weights of real models are kept: TRANSFORMER_COURSE_WEIGHTS, else a folder among the course's files."""
    return Path(os.environ.get("TRANSFORMER_COURSE_WEIGHTS") or course_home() / "weights").expanduser()


def sha256(data: bytes) -> str:
    """The checksum of the data, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def for_pages(content: bytes) -> bytes:
    """A script that holds a file: a page opened from a folder may load scripts, and nothing else."""
    return b'globalThis.courseTranslatorWeights = "' + b64encode(content) + b'";\n'
