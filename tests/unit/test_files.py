"""How files are read."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from rekindle import files


def test_a_large_file_is_read_without_copying_what_was_read_before(tmp_path: Path) -> None:
    """An agent's record may have hundreds of megabytes: gluing it together piece by piece takes minutes."""
    path, size = tmp_path / "large", 32 << 20
    with path.open("wb") as file:
        file.truncate(size)
    tracemalloc.start()
    try:
        assert len(files.read(path)) == size
        assert tracemalloc.get_traced_memory()[1] < 1.5 * size
    finally:
        tracemalloc.stop()


def test_what_is_no_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(OSError, match="not a regular file") as caught:
            files.read(path)
        assert caught.value.filename == str(path)


@pytest.mark.parametrize("name", ["../outside", "a/../../outside", "sub/../../outside"])
def test_what_leads_out_of_its_folder_is_neither_opened_nor_made(tmp_path: Path, name: str) -> None:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "outside").write_text("mine")
    with pytest.raises(OSError, match="leads out"):
        files.open_to_append(f"{root}/{name}", root=str(root))
    with pytest.raises(OSError, match="leads out"):
        files.open_folder(str(root), os.path.dirname(name) or "..")
    assert (tmp_path / "outside").read_text() == "mine"
    assert sorted(os.listdir(root)) == ["sub"]


@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 70_000])
def test_a_short_file_is_read_whole_and_a_longer_one_is_refused(tmp_path: Path, size: int) -> None:
    path, content = tmp_path / "short", os.urandom(size)
    path.write_bytes(content)
    if size <= 100:
        assert files.read_short(path, 100) == content
    else:
        with pytest.raises(OSError, match="more than 100 bytes"):
            files.read_short(path, 100)
    assert files.read_short(path, 70_000) == content
    assert files.read_start(path, 100) == content[:100]
    assert files.read_start(path, 1 << 20) == content


def test_a_file_that_does_not_tell_its_size_is_read_all_the_same() -> None:
    own = files.read_short("/proc/self/status", 1 << 16)
    assert own.startswith(b"Name:") and own.endswith(b"\n") and b"\nPid:" in own
