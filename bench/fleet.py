"""A fleet of the benchmark's own: Temporal, PostgreSQL, and workers in network namespaces, as the tests have it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from bench.measured import Skipped

if TYPE_CHECKING:
    from tests.fleet.yard import Yard


@contextmanager
def fleet(*hosts: str) -> Iterator[Yard]:
    """A fleet whose store waits for the disk; skipped where this machine lacks something for it."""
    os.environ.setdefault("REKINDLE_TEST_RUN", secrets.token_hex(6))
    try:
        from tests.fleet.networks import need_namespaces
        from tests.fleet.yard import yard_of
        from tests.postgres import need_server
        from tests.temporal import need_temporal

        for need in (need_server, need_temporal, need_namespaces):
            need()
    except (pytest.skip.Exception, ImportError) as missing:
        raise Skipped(f"a fleet cannot be set up here: {missing}") from missing
    with yard_of(*hosts, quick=False) as yard:
        yield yard
