"""A hook call that may have been carried out already is recognized by its name in the journal."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekindle.adapters.journal_file import append
from rekindle.adapters.journal_file.append import Appender


def line(call: str, size: int = 10) -> bytes:
    return b'{"v":1,"type":"tool.invoked","call":"%s","data":{"tool":"%s"}}\n' % (call.encode(), b"x" * size)


def knows(path: Path, call: str) -> bool:
    appender = Appender(str(path))
    try:
        return appender.knows_call(call)
    finally:
        appender.close()


def test_a_call_is_found_wherever_its_line_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(append, "_CALL_BLOCK", 100)
    path = tmp_path / "events.jsonl"
    names = [f"c{number}/0" for number in range(40)]
    path.write_bytes(b"".join(line(name, size=7 * number) for number, name in enumerate(names)))
    assert all(knows(path, name) for name in names)
    assert not knows(path, "c40/0")
    assert not knows(path, "c1/1")


def test_a_torn_line_is_no_event(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(line("a/0") + line("b/0")[:-3])
    assert (knows(path, "a/0"), knows(path, "b/0")) == (True, False)
    path.write_bytes(line("b/0")[:-3] + b"\n" + line("a/0"))
    assert (knows(path, "a/0"), knows(path, "b/0")) == (True, False)
    path.write_bytes(line("a/0")[:-1])
    assert knows(path, "a/0"), "only its newline is missing: readers count it"


def test_a_journal_that_is_not_there_knows_nothing(tmp_path: Path) -> None:
    assert not knows(tmp_path / "events.jsonl", "a/0")
    assert not (tmp_path / "events.jsonl").exists()
