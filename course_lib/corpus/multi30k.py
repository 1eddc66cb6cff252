"""Multi30k: 31,014 captions of photographs in German and English, real text for the translator.

The six files are read from a folder of yours, or downloaded once. Source: Elliott et al. 2016, "Multi30K: Multilingual
English-German Image Descriptions"; the text derives from Flickr30K and is for non-commercial research and education.
"""

import gzip
import os
import sys
import urllib.error
import urllib.request
import zlib
from http.client import HTTPException
from pathlib import Path

from filelock import FileLock
from tqdm.auto import tqdm

from course_lib.corpus import Corpus, Sentence, lines_of
from course_lib.files import course_home, sha256, written_whole

COMMIT = "a3d2e0d26b56f3846f66a952536ffed4e401d05a"
ADDRESS = f"https://raw.githubusercontent.com/multi30k/dataset/{COMMIT}/data/task1/raw"
TERMS = "Multi30k derives from Flickr30K: for non-commercial research and education; no right to pass it on."
SPLITS = {"train": "train", "val": "val", "test": "test_2016_flickr"}
CHECKSUMS = {  # file: SHA-256 of its text
    "train.de": "2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72",
    "train.en": "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6",
    "val.de": "660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660",
    "val.en": "1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227",
    "test_2016_flickr.de": "4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16",
    "test_2016_flickr.en": "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182",
}
APPLE_DOUBLE = b"\x00\x05\x16\x07"  # the first bytes of the "._" files that macOS adds to archives
TRIES = 3
YOURSELF = f"put the six files (train, val, test_2016_flickr, each .de and .en) there, from {ADDRESS}"


def multi30k(
    folder: str | Path | None = None, cache: str | Path | None = None, address: str = ADDRESS, timeout: float = 30
) -> Corpus:
    """The corpus, German to English: `train` (29,000 pairs), `val` (1,014) and `test` (1,000: test_2016_flickr).

    The files `train.de`, `train.en`, `val.de`, … (plain or .gz) come from `folder`, else from the folder that
    MULTI30K_DIR names, else from `cache` (default: where the course keeps its files), where missing ones are downloaded
    to, 1.3 MB in all, with a `timeout` in seconds. Every file is compared with the checksum of the original. Raises
    FileNotFoundError, ConnectionError, or ValueError for another text. Spaces around a sentence are dropped.
    """
    folder = folder or os.environ.get("MULTI30K_DIR")
    if not folder:
        folder = Path(cache) if cache else course_home() / "multi30k"
        download(folder, address, timeout)
    splits = {}
    for split, stem in SPLITS.items():
        texts = (lines_in(Path(folder), f"{stem}.{language}") for language in ("de", "en"))
        sides = [[tuple(line.strip().split(" ")) for line in lines] for lines in texts]
        splits[split] = [Sentence(src, tgt) for src, tgt in zip(*sides, strict=True)]
    return Corpus("multi30k", "de", "en", splits)


def lines_in(folder: Path, name: str) -> list[str]:
    """The lines of a file, with its checksum verified."""
    if not (paths := [path for path in (folder / name, folder / f"{name}.gz") if path.is_file()]):
        raise FileNotFoundError(f"expected {name} or {name}.gz in {folder}, got neither: {YOURSELF}")
    return lines_of(text_of(name, paths[0].read_bytes(), paths[0]), paths[0])


def text_of(name: str, data: bytes, path: str | Path) -> bytes:
    """The text of a file, plain or .gz, if it is the original one."""
    if str(path).endswith(".gz"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(
                f"expected a whole .gz file at {path}, got a broken one ({error}): take the file from {ADDRESS}"
            ) from None
    if sha256(data) != CHECKSUMS[name]:
        raise ValueError(
            f"expected the original text of {name}, got another in {path}: {what_is_wrong(name, data)} "
            f"Take the file from {ADDRESS}"
        )
    return data


def what_is_wrong(name: str, data: bytes) -> str:
    """One sentence on a file with a wrong checksum; several copies on the net are known to differ."""
    if data.startswith(APPLE_DOUBLE):
        return f"it is a '._{name}' file, which macOS adds to archives, not the text."
    wanted = CHECKSUMS[name]
    if sha256(data.removesuffix(b"\n")) == wanted or sha256(data.rstrip(b"\r\n") + b"\n") == wanted:
        return "it has an empty last line, as some copies have."
    if sha256(data.replace(b"\r\n", b"\n")) == wanted:
        return "its lines end with carriage returns."
    lines = data.count(b"\n")
    return f"it has {lines} lines and other words, like the copies from before the last corrections, or is cut off."


def download(cache: Path, address: str = ADDRESS, timeout: float = 30) -> None:
    """Fetch what is missing in `cache`, one process at a time; others wait, then find the files."""
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / ".lock"):
        missing = [name for name in CHECKSUMS if not (cache / f"{name}.gz").exists() and not (cache / name).exists()]
        if missing:
            print(TERMS, file=sys.stderr)
        for name in tqdm(missing, desc="multi30k", unit="file", disable=None, leave=False):
            fetch(name, f"{address}/{name}.gz", cache / f"{name}.gz", timeout)


def fetch(name: str, url: str, path: Path, timeout: float) -> None:
    """Download one file, which is written when it is whole and right; it is asked for again where the host hangs up."""
    yourself = "download the six files yourself and name their folder in MULTI30K_DIR"
    for _ in range(TRIES):
        try:
            with urllib.request.urlopen(url, timeout=timeout) as response:
                data = response.read()
        except urllib.error.HTTPError as error:
            reason = f"HTTP {error.code} {error.reason}"
            break
        except (OSError, HTTPException) as error:
            reason = str(getattr(error, "reason", error)) or type(error).__name__
            continue
        try:
            text_of(name, data, url)
        except ValueError:
            raise ValueError(
                f"expected the original {path.name} from {url}, got another file (a login page?): {yourself}"
            ) from None
        with written_whole(path) as file:
            file.write(data)
        return
    raise ConnectionError(f"expected {path.name} from {url}, got {reason}: run it again, or {yourself}")
