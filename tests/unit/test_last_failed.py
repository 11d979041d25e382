"""What CI calls flaky is what failed and passed when it was repeated: the names come from pytest's own record."""

from __future__ import annotations

from pathlib import Path

from tests.last_failed import last_failed


def test_the_names_of_the_tests_that_failed_are_told_in_order(tmp_path: Path) -> None:
    kept = tmp_path / "lastfailed"
    kept.write_text('{"tests/b.py::y": true, "tests/a.py::x[1]": true}')
    assert last_failed(kept) == ["tests/a.py::x[1]", "tests/b.py::y"]


def test_where_nothing_failed_there_is_no_record(tmp_path: Path) -> None:
    assert last_failed(tmp_path / "lastfailed") == []
