"""The daemon writes for a hook only while somebody waits for it, and only for somebody with the same settings."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from pathlib import Path

import pytest

from rekindle.doors.socket.hook_door import _watched
from rekindle.hooks.carrying import carry_out
from rekindle.hooks.open_journals import OpenJournals

CALL = b'{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Read","tool_input":{"file_path":"a"}}'


def carry(
    folder: Path, waits: bool = True, variables: dict[str, str] | None = None, journals: OpenJournals | None = None
) -> str:
    given = {name: os.environ.get(name, "") for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    return carry_out(
        CALL,
        "call-1",
        {**given, "PWD": str(folder), **(variables or {})},
        journals or OpenJournals(),
        parent=os.getpid(),
        is_inside=lambda: False,
        is_waited_for=lambda: waits,
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    subprocess.run(["git", "init", "-q", "-b", "feature/auth", str(tmp_path / "repo")], check=True)
    return tmp_path / "repo"


def lines(folder: Path) -> int:
    path = folder / ".claude" / "progress" / "auth" / "events.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_an_event_is_written_for_somebody_who_waits(folder: Path) -> None:
    assert carry(folder) == ""
    assert lines(folder) == 1


def test_nothing_is_written_once_nobody_waits(folder: Path) -> None:
    with pytest.raises(Exception, match="nobody waits"):
        carry(folder, waits=False)
    assert lines(folder) == 0


def test_a_journal_that_is_kept_open_serves_one_call_at_a_time_and_any_number_in_turn(folder: Path) -> None:
    journals = OpenJournals(most=1)
    carry(folder, journals=journals)
    with pytest.raises(Exception, match="nobody waits"):
        carry(folder, waits=False, journals=journals)
    place = (str(folder / ".claude" / "progress" / "auth" / "events.jsonl"), str(folder), str(folder.parent))
    held = journals.take(*place, 0.1, lambda: True)
    with pytest.raises(TimeoutError):
        carry(folder, journals=journals)
    journals.give_back(held)
    os.rename(folder / ".claude", folder / "moved")
    carry(folder, journals=journals)
    assert lines(folder) == 1, "the journal in its place, not the one that was open"
    journals.close()


@pytest.mark.parametrize("name", ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"])
def test_somebody_with_other_settings_is_turned_away(folder: Path, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        carry(folder, variables={name: "/elsewhere"})
    assert lines(folder) == 0


def test_one_who_has_only_stopped_sending_still_waits(tmp_path: Path) -> None:
    async def look() -> list[bool]:
        connected: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()
        path = str(tmp_path / "s")
        server = await asyncio.start_unix_server(lambda _, writer: connected.put_nowait(writer), path)
        caller = socket.socket(socket.AF_UNIX)
        caller.connect(path)
        writer = await connected.get()
        seen = []
        with _watched(writer) as is_waited_for:
            seen.append(is_waited_for())
            caller.shutdown(socket.SHUT_WR)
            seen.append(is_waited_for())
            caller.close()
            seen.append(is_waited_for())
        writer.close()
        server.close()
        return seen

    assert asyncio.run(look()) == [True, True, False]
