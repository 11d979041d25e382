"""Every test gets a bench of its own, which fails the test if any process of its sessions is left."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.keeper.keeper_bench import Bench, bench_in


@pytest.fixture
def bench() -> Iterator[Bench]:
    # Not tmp_path: its names are long, and socket paths may have 99 bytes only.
    with tempfile.TemporaryDirectory(prefix="rk-") as folder, bench_in(Path(folder)) as made:
        yield made
