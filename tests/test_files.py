"""Files are written whole or not at all."""

import errno
import os
import stat

import pytest

from course_lib.files import written_whole


def test_the_old_file_stands_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "figures.json"
    path.write_bytes(b"old")
    with written_whole(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_an_error_leaves_what_was_there(error, tmp_path):
    path = tmp_path / "figures.json"
    path.write_bytes(b"old")

    def fail():
        with written_whole(path) as file:
            file.write(b"half of th")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_rights_and_links_stay(tmp_path):
    path, link = tmp_path / "figures.json", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o600)
    link.symlink_to(path)
    with written_whole(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o600)


def test_a_link_that_leads_nowhere_but_to_itself_gives_way(tmp_path):
    link = tmp_path / "figures.json"
    link.symlink_to(link)
    with written_whole(link) as file:
        file.write(b"new")
    assert link.read_bytes() == b"new"


def test_a_device_is_written_to():
    with written_whole(os.devnull) as file:
        file.write(b"gone")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
