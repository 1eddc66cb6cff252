"""Multi30k: 31,014 captions of photographs in German and English, real text for the translator.

The six files are read from a folder of yours, or downloaded once. Source: Elliott et al. 2016, "Multi30K: Multilingual
English-German Image Descriptions"; the text derives from Flickr30K and is for non-commercial research and education.
"""

import gzip
import hashlib
import os
import sys
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path

from filelock import FileLock
from tqdm.auto import tqdm

from course_lib.corpus import Corpus, Sentence, lines_of

COMMIT = "a3d2e0d26b56f3846f66a952536ffed4e401d05a"
ADDRESS = f"https://raw.githubusercontent.com/multi30k/dataset/{COMMIT}/data/task1/raw"
TERMS = "Multi30k derives from Flickr30K: for non-commercial research and education; no right to pass it on."
SPLITS = {"train": "train", "val": "val", "test": "test_2016_flickr"}

# file: SHA-256 of the compressed file, and of the text in it
CHECKSUMS = {
    "train.de": (
        "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
        "2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72",
    ),
    "train.en": (
        "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
        "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6",
    ),
    "val.de": (
        "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
        "660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660",
    ),
    "val.en": (
        "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
        "1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227",
    ),
    "test_2016_flickr.de": (
        "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
        "4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16",
    ),
    "test_2016_flickr.en": (
        "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
        "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182",
    ),
}
APPLE_DOUBLE = b"\x00\x05\x16\x07"  # the first bytes of the "._" files that macOS adds to archives
TRIES = 3


def multi30k(
    folder: str | Path | None = None,
    cache: str | Path | None = None,
    direction: str = "de-en",
    address: str = ADDRESS,
    timeout: float = 30,
) -> Corpus:
    """The corpus, with splits `train` (29,000 pairs), `val` (1,014) and `test` (1,000: test_2016_flickr).

    The files `train.de`, `train.en`, `val.de`, … (plain or .gz) come from `folder`, else from the folder that
    MULTI30K_DIR names, else from `cache` (default: where the course keeps its files), where missing ones are downloaded
    to, 1.3 MB in all, with a `timeout` in seconds. Every file is compared with the checksum of the original. Raises
    FileNotFoundError, ConnectionError, or ValueError for another text. Spaces around a sentence are dropped.
    """
    if direction not in ("de-en", "en-de"):
        raise ValueError(f"expected direction 'de-en' or 'en-de', got {direction!r}: choose the source language first")
    folder = folder or os.environ.get("MULTI30K_DIR")
    if folder:
        read = reader_of(Path(folder))
    else:
        cache = Path(cache) if cache else course_home() / "multi30k"
        download(cache, address, timeout)
        read = reader_of(cache)
    splits = {}
    for split, stem in SPLITS.items():
        sides = [[tuple(line.strip().split(" ")) for line in read(f"{stem}.{language}")] for language in ("de", "en")]
        splits[split] = [Sentence(src, tgt) for src, tgt in zip(*sides, strict=True)]
    corpus = Corpus("multi30k", "de", "en", splits)
    return corpus if direction == "de-en" else corpus.swapped()


def course_home() -> Path:
    """Where the course keeps its files on this machine: TRANSFORMER_COURSE_HOME, else ~/.transformer-course."""
    home = os.environ.get("TRANSFORMER_COURSE_HOME")
    return Path(home) if home else Path.home() / ".transformer-course"


def reader_of(folder: Path) -> Callable[[str], list[str]]:
    """A function from a file's name to its lines, with the file's checksum verified."""

    def read(name: str) -> list[str]:
        paths = [path for path in (folder / name, folder / f"{name}.gz") if path.is_file()]
        if not paths:
            raise FileNotFoundError(
                f"expected {name} or {name}.gz in {folder}, got neither: put the six files there "
                f"(train, val, test_2016_flickr, each .de and .en), from {ADDRESS}"
            )
        data = paths[0].read_bytes()
        if paths[0].suffix == ".gz":
            data = unzip(data, paths[0])
        if sha256(data) != CHECKSUMS[name][1]:
            raise ValueError(
                f"expected the original text of {name}, got another in {paths[0]}: {what_is_wrong(name, data)} "
                f"Take the file from {ADDRESS}"
            )
        return lines_of(data, paths[0])

    return read


def unzip(data: bytes, path: Path) -> bytes:
    """The text of a .gz file."""
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(
            f"expected a whole .gz file at {path}, got a broken one ({error}): delete it, and it is downloaded anew"
        ) from None


def sha256(data: bytes) -> str:
    """The checksum of the data, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def what_is_wrong(name: str, data: bytes) -> str:
    """One sentence on a file with a wrong checksum; several copies on the net are known to differ."""
    if data.startswith(APPLE_DOUBLE):
        return f"it is a '._{name}' file, which macOS adds to archives, not the text."
    wanted = CHECKSUMS[name][1]
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
        for name in missing:
            fetch(f"{address}/{name}.gz", cache / f"{name}.gz", CHECKSUMS[name][0], timeout)


def fetch(url: str, path: Path, checksum: str, timeout: float) -> None:
    """Download one file: into a .part file, which a later call continues, then under its own name, if it is right."""
    part = path.with_name(f"{path.name}.part")
    reason = found = ""
    for _ in range(TRIES):
        continued = part.exists()
        try:
            receive(url, part, timeout)
        except urllib.error.HTTPError as error:
            reason = f"HTTP {error.code} {error.reason}"
            if error.code != 416:
                break
            part.unlink(missing_ok=True)  # it is as long as the real one, or longer
        except (OSError, HTTPException) as error:
            reason = str(getattr(error, "reason", error)) or type(error).__name__
        else:
            found = sha256(part.read_bytes())
            if found == checksum:
                os.replace(part, path)
                return
            part.unlink()
            if not continued:
                break
    yourself = "download the six files yourself and name their folder in MULTI30K_DIR"
    if found:
        raise ValueError(
            f"expected {path.name} with SHA-256 {checksum[:12]}…, got {found[:12]}… from {url}: another file answers "
            f"there (a login page?), so {yourself}"
        )
    raise ConnectionError(
        f"expected {path.name} from {url}, got {reason}: run it again, it goes on where it stopped; or {yourself}"
    )


def receive(url: str, part: Path, timeout: float) -> None:
    """Append to `part` what is missing of it; raises when the host is silent or hangs up early."""
    start = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={start}-"} if start else {})
    with urllib.request.urlopen(request, timeout=timeout) as response:
        if response.status != 206:  # the host sends the whole file
            start = 0
        size = response.headers.get("Content-Length")
        total = start + int(size) if size else None
        bar = tqdm(total=total, initial=start, unit="B", unit_scale=True, desc=part.stem, disable=None, leave=False)
        with open(part, "ab" if start else "wb") as file, bar:
            while block := response.read(1 << 16):
                file.write(block)
                bar.update(len(block))
            if total is not None and file.tell() < total:
                raise ConnectionError(f"the connection ended at {file.tell()} of {total} bytes")
