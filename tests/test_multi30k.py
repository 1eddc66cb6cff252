"""The loader of Multi30k against a server on this machine: nothing here needs the network or the data."""

import contextlib
import gzip
import hashlib
import http.server
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course_lib.corpus import multi30k as loader
from course_lib.corpus.multi30k import CHECKSUMS, SPLITS, multi30k

SIZES = {"train": 9, "val": 3, "test_2016_flickr": 2}
TEXTS = {
    f"{stem}.{language}": "".join(f"{language} {stem} {i} \u2028 ü\n" for i in range(size)).encode()
    for stem, size in SIZES.items()
    for language in ("de", "en")
}
FILES = {f"{name}.gz": gzip.compress(text, mtime=0) for name, text in TEXTS.items()}
SUMS = {name: hashlib.sha256(text).hexdigest() for name, text in TEXTS.items()}


@pytest.fixture(autouse=True)
def small_files(monkeypatch):
    """Six small files in the place of the real ones, and no folder of the reader's own."""
    monkeypatch.setattr(loader, "CHECKSUMS", SUMS)
    monkeypatch.delenv("MULTI30K_DIR", raising=False)


class Host:
    """A web server for the six files, with faults: names to bytes, to an HTTP error, or to a length to hang up at."""

    def __init__(self, faults=None):
        self.faults, self.asked = faults or {}, []
        host = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                host.answer(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/raw"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request):
        name = Path(request.path).name
        self.asked.append(name)
        fault = self.faults.get(name)
        if isinstance(fault, list):  # one after the other, then none
            fault = fault.pop(0) if fault else None
        if isinstance(fault, int) and fault >= 400:
            request.send_error(fault)
            return
        data = fault if isinstance(fault, bytes) else FILES[name]
        request.send_response(200)
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        cut = fault if isinstance(fault, int) else len(data)
        with contextlib.suppress(ConnectionError):
            request.wfile.write(data[:cut])


def assert_complete(corpus):
    assert {split: len(corpus[split]) for split in SPLITS} == {"train": 9, "val": 3, "test": 2}
    assert corpus["train"][4].src == ("de", "train", "4", "\u2028", "ü")
    assert corpus["test"][1].tgt_text == "en test_2016_flickr 1 \u2028 ü"


def test_the_real_checksums_are_six():
    assert set(CHECKSUMS) == set(TEXTS)
    assert all(len(checksum) == 64 for checksum in CHECKSUMS.values())
    assert len(set(CHECKSUMS.values())) == 6


# --- a folder of one's own -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compressed", [True, False])
def test_a_local_folder(tmp_path, monkeypatch, compressed):
    for name, text in TEXTS.items():
        (tmp_path / (f"{name}.gz" if compressed else name)).write_bytes(gzip.compress(text, 1) if compressed else text)
    (tmp_path / "._test_2016_flickr.de").write_bytes(loader.APPLE_DOUBLE)  # a stray file is not looked at
    assert_complete(multi30k(tmp_path))
    swapped = multi30k(tmp_path).swapped()
    assert (swapped.src_language, swapped["val"][0].src[0]) == ("en", "en")
    monkeypatch.setenv("MULTI30K_DIR", str(tmp_path))
    assert_complete(multi30k())


def test_a_missing_local_file_downloads_nothing(tmp_path):
    with (
        Host() as host,
        pytest.raises(FileNotFoundError, match=r"expected train.de or train.de.gz in .*, got neither: put"),
    ):
        multi30k(tmp_path, address=host.address)
    assert host.asked == []


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (TEXTS["val.en"] + b"\n", "it has an empty last line, as some copies have"),
        (TEXTS["val.en"].replace(b"\n", b"\r\n"), "its lines end with carriage returns"),
        (loader.APPLE_DOUBLE + b"\0" * 30, "it is a '._val.en' file, which macOS adds to archives, not the text"),
        (TEXTS["val.en"].replace(b"1", b"2"), "it has 3 lines and other words, like the copies from before the last"),
        (TEXTS["val.en"][:20], "it has 1 lines and other words, .* or is cut off"),
        (b"", "it has 0 lines"),
    ],
)
def test_other_copies_are_refused_and_named(tmp_path, text, cause):
    for name, original in TEXTS.items():
        (tmp_path / name).write_bytes(text if name == "val.en" else original)
    with pytest.raises(
        ValueError, match=rf"expected the original text of val.en, got another in .*: {cause}.* Take the file"
    ):
        multi30k(tmp_path)


def test_a_torn_gz_file(tmp_path):
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data[:-9] if name == "val.de.gz" else data)
    with pytest.raises(
        ValueError, match=r"expected a whole .gz file at .*val.de.gz, got a broken one .*: take the file from"
    ):
        multi30k(tmp_path)


@given(st.binary(max_size=40), st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_local_file_is_refused(tmp_path, data, compressed):
    for name, text in TEXTS.items():
        (tmp_path / name).write_bytes(text)
    (tmp_path / "train.de").unlink()
    (tmp_path / "train.de.gz").write_bytes(gzip.compress(data) if compressed else data)
    with pytest.raises(ValueError, match=r"^expected "):
        multi30k(tmp_path)


# --- a download ------------------------------------------------------------------------------------------------------


def test_a_download_and_the_cache_after_it(tmp_path, capsys):
    with Host() as host:
        assert_complete(multi30k(cache=tmp_path, address=host.address))
        assert "non-commercial research and education" in capsys.readouterr().err
        assert sorted(host.asked) == sorted(FILES)
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*FILES, ".lock"])
        assert_complete(multi30k(cache=tmp_path, address=host.address))
        (tmp_path / "val.de.gz").unlink()
        assert_complete(multi30k(cache=tmp_path, address=host.address))
    assert len(host.asked) == 7
    assert_complete(multi30k(cache=tmp_path, address="http://127.0.0.1:9/nobody"))


def test_the_usual_cache_is_in_the_folder_of_the_course(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_COURSE_HOME", str(tmp_path))
    with Host() as host:
        multi30k(address=host.address)
    assert (tmp_path / "multi30k" / "train.de.gz").is_file()
    monkeypatch.delenv("TRANSFORMER_COURSE_HOME")
    assert loader.course_home() == Path.home() / ".transformer-course"
    monkeypatch.setenv("TRANSFORMER_COURSE_HOME", "~/course")
    assert loader.course_home() == Path.home() / "course"


def test_a_host_that_hangs_up_is_asked_again(tmp_path):
    with Host({"train.en.gz": [30, 60]}) as host:
        assert_complete(multi30k(cache=tmp_path, address=host.address))
    assert host.asked.count("train.en.gz") == 3


def test_a_truncated_file_is_not_kept(tmp_path):
    with Host({"train.en.gz": [30, 30, 30]}) as host:
        with pytest.raises(ConnectionError, match=r"expected train.en.gz from http.*, got .*30 bytes.*: run it again"):
            multi30k(cache=tmp_path, address=host.address)
        assert not list(tmp_path.glob("*train.en*"))
        assert_complete(multi30k(cache=tmp_path, address=host.address))


@pytest.mark.parametrize(
    "data", [b"<html>log in</html>", gzip.compress(b"other words\n", mtime=0)], ids=["html", "gzip"]
)
def test_what_is_not_the_file_is_not_kept(tmp_path, data):
    with Host({"val.de.gz": data}) as host:
        message = r"expected the original val.de.gz from http.*, got another file \(a login page\?\): download the six"
        with pytest.raises(ValueError, match=message):
            multi30k(cache=tmp_path, address=host.address)
    assert not list(tmp_path.glob("val.de*"))


def test_a_file_that_is_not_there(tmp_path):
    with (
        Host({"val.de.gz": 404}) as host,
        pytest.raises(ConnectionError, match=r"expected val.de.gz from .*, got HTTP 404 Not Found: .* MULTI30K_DIR"),
    ):
        multi30k(cache=tmp_path, address=host.address)
    assert host.asked.count("val.de.gz") == 1


def test_a_dead_host_and_a_silent_one(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(ConnectionError, match=r"expected train.de.gz from .*, got .*refused.*: run it again"):
        multi30k(cache=tmp_path, address=nobody)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ConnectionError, match=r"expected train.de.gz from .*, got .*timed out: run it again"):
            multi30k(cache=tmp_path, address=address, timeout=0.1)


def test_two_processes_at_once_download_once(tmp_path):
    program = (
        "import sys; from course_lib.corpus import multi30k as loader; loader.CHECKSUMS = eval(sys.argv[1]);"
        "print(len(loader.multi30k(cache=sys.argv[2], address=sys.argv[3])['train']))"
    )
    with Host() as host:
        arguments = [sys.executable, "-c", program, repr(SUMS), str(tmp_path), host.address]
        running = [subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
        assert [process.communicate()[0].strip() for process in running] == [b"9", b"9"]
    assert sorted(host.asked) == sorted(FILES)
