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
