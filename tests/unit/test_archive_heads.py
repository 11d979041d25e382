"""A small archive that claims to hold a huge head: it is refused before that is read."""

from __future__ import annotations

import gzip
import tarfile
import tracemalloc
from pathlib import Path

import pytest

from rekindle.adapters.moving import archive

MEGABYTE = 1 << 20


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK])
def test_a_huge_head_is_not_read_into_memory(tmp_path: Path, kind: bytes) -> None:
    head = tarfile.TarInfo("head")
    head.type, head.size = kind, 200 * MEGABYTE
    path = tmp_path / "bomb.tar.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(head.tobuf(tarfile.USTAR_FORMAT))
        for _ in range(200):
            file.write(bytes(MEGABYTE))
    tracemalloc.start()
    try:
        with pytest.raises(archive.BadArchive):
            archive.unpack(str(path), str(tmp_path / "to"))
        assert tracemalloc.get_traced_memory()[1] < 20 * MEGABYTE
    finally:
        tracemalloc.stop()
