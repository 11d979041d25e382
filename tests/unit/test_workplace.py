"""The place that a session works in."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from rekindle.adapters.session_folder.environment import sweep
from rekindle.adapters.workplace.workplace import LocalWorkplace
from rekindle.core.session import facts as f
from rekindle.core.session.machine import create


def test_an_environment_that_is_lost_is_told_before_the_agent_gets_another_one(tmp_path: Path) -> None:
    work, sessions = tmp_path / "work", tmp_path / "sessions"
    work.mkdir()
    created = f.Created(at=1.0, session="s", agent="scripted", cwd=str(work))
    place = LocalWorkplace(str(sessions), str(tmp_path / "k"))
    place.prepare(created, {"HOME": "/home/somebody"})
    session = create(created)
    assert asyncio.run(place.ready(session)) == []
    assert place.environment(session)["HOME"] == "/home/somebody"
    (sessions / "s" / "environment.json").write_bytes(b'{"HOME": ')
    [told] = asyncio.run(place.ready(session))
    assert "environment" in told


def test_what_a_killed_daemon_was_writing_is_removed_by_the_next_one_and_nothing_else_is(tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    place = LocalWorkplace(str(sessions), str(tmp_path / "k"))
    place.prepare(f.Created(at=1.0, session="s", agent="scripted", cwd="/"), {"KEY": "secret"})
    (sessions / "half").mkdir()
    for left in ("s/environment.json.77.tmp", "half/environment.json.77.tmp", "half/session.json.78.tmp"):
        (sessions / left).write_text('{"KEY": "secr')
        os.utime(sessions / left, (500.0, 500.0))
    now = sessions / "s" / "environment.json.79.tmp"
    now.write_text("{")
    assert sweep(str(sessions), 1000.0) == 3
    assert (now.exists(), list((sessions / "half").iterdir())) == (True, [])
    assert sorted(one.name for one in (sessions / "s").iterdir()) == sorted(
        [now.name, "environment.json", "session.json"]
    )
