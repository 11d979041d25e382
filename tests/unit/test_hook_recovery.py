"""A daemon that looks for notes at every start reads a state file again only if it may have changed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rekindle.adapters.skill_folder import state_file
from rekindle.hooks import recovery

START = {"source": "startup", "session_id": "s"}
LEFT = {"summary": "The pool leaks.", "nextSteps": ["fix it"]}


def put(folder: Path, left: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    state = {"version": 1, "skill": "report", "currentPhase": "1: Research", "paneId": "%1", "dehydratedContext": left}
    state_file.put(str(folder), json.dumps(state, indent=2).encode(), durable=False)


def said(here: Path) -> str:
    environment = {"HOME": str(here), "TMUX_PANE": "%1", "XDG_STATE_HOME": str(here / "state")}
    return recovery.recovery(START, None, str(here), environment, os.getpid())


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders whose state files were read."""
    seen: list[str] = []
    look = recovery._content

    def content(folder: str) -> bytes | None:
        seen.append(os.path.basename(folder))
        return look(folder)

    monkeypatch.setattr(recovery, "_content", content)
    monkeypatch.setattr(recovery, "_EMPTY", {})
    return seen


def test_what_had_nothing_is_not_read_again_until_it_changes(
    tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "_SETTLED", -(1 << 62))
    put(tmp_path / "sessions" / "a", None)
    assert (said(tmp_path), said(tmp_path), read) == ("", "", ["a"])
    put(tmp_path / "sessions" / "a", LEFT)
    assert "The pool leaks." in said(tmp_path)
    assert "The pool leaks." in said(tmp_path), "notes are given until they are acknowledged"
    put(tmp_path / "sessions" / "a", None)
    assert (said(tmp_path), read) == ("", ["a"] * 4)


def test_what_has_just_changed_is_read_again(tmp_path: Path, read: list[str]) -> None:
    put(tmp_path / "sessions" / "a", None)
    assert (said(tmp_path), said(tmp_path), read) == ("", "", ["a", "a"])


def test_a_replaced_state_file_stays_until_it_is_closed(tmp_path: Path) -> None:
    put(tmp_path, None)
    replaced: list[int] = []
    state_file.put(str(tmp_path), b"new", durable=False, replaced=replaced)
    (old,) = replaced
    assert b"dehydratedContext" in os.read(old, 1000) and os.fstat(old).st_nlink == 0
    assert state_file.content(str(tmp_path)) == b"new"
    os.close(old)
