from pathlib import Path

import pytest
from tests.fixtures.mount import Mount

from anabranch.adapters.embedded.disk import LEAST_FREE, prepare, refuse_full, used
from anabranch.adapters.embedded.errors import DiskFullError, ReadOnlyError
from anabranch.adapters.embedded.layout import Layout


def test_folders_are_made_and_left_empty(tmp_path: Path) -> None:
    prepare(Layout(tmp_path / "p" / ".anabranch"))

    assert sorted(p.name for p in (tmp_path / "p" / ".anabranch").rglob("*")) == ["kafka", "logs"]


def test_the_limit_is_what_it_says(tmp_path: Path) -> None:
    refuse_full(tmp_path, LEAST_FREE)
    with pytest.raises(DiskFullError) as caught:
        refuse_full(tmp_path, LEAST_FREE - 1)

    assert caught.value.code == "stack.disk-full"
    assert str(tmp_path) in caught.value.what


def test_a_folder_that_can_not_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ReadOnlyError) as caught:
        prepare(Layout(tmp_path / "file" / ".anabranch"))

    assert caught.value.code == "stack.read-only"


def test_a_read_only_disk_is_refused(mount: Mount) -> None:
    folder = mount("size=1m,ro")

    with pytest.raises(ReadOnlyError, match="Read-only"):
        prepare(Layout(folder / ".anabranch"))


def test_a_disk_without_a_free_byte_is_refused(mount: Mount) -> None:
    folder = mount("size=1m")
    prepare(Layout(folder / ".anabranch"))
    with pytest.raises(OSError, match="No space"):
        (folder / "filler").write_bytes(b"x" * 2 * 1024 * 1024)

    with pytest.raises(DiskFullError, match="no space left"):
        prepare(Layout(folder / ".anabranch"))


def test_holes_take_no_space(tmp_path: Path) -> None:
    with (tmp_path / "index").open("wb") as file:
        file.truncate(10 * 1024 * 1024)
    assert used(tmp_path) == 0

    (tmp_path / "segment").write_bytes(b"x" * 100_000)
    assert 100_000 <= used(tmp_path) < 200_000
    assert used(tmp_path / "not there") == 0
