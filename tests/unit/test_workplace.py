"""The place that a session works in."""

from __future__ import annotations

import asyncio
from pathlib import Path

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
