"""The real Claude Code on a host that is gone: another continues the same conversation, as the mock model saw it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rekindle.adapters.blobs.sealed import make_key
from tests.e2e.daemon import until
from tests.fleet.hosts import enlist, kill_host, placed, until_copied
from tests.postgres import new_database
from tests.real.stage import ClaudeStage, called, git

pytestmark = pytest.mark.timeout(280)


def test_claude_goes_on_on_another_host_after_its_own_died_in_mid_sentence(claude: ClaudeStage, folder: Path) -> None:
    here, origin, key, url = claude.machine, folder / "origin.git", folder / "key", new_database()
    make_key(str(key))
    git(folder, "clone", "-q", "--bare", str(here.work), str(origin))
    git(here.work, "remote", "add", "origin", str(origin))
    git(here.work, "fetch", "-q", "origin")
    there = replace(here, home=folder / "other-home", work=folder / "other-work")
    there.home.mkdir()
    there.work.mkdir()
    enlist(here, "a", url, key, origin)
    enlist(there, "b", url, key, origin)
    try:
        session = claude.begin(claude.answering("the first thing", "answer one"), "--worktree=w")
        here.until_status(session, "waiting")
        claude.until_recorded(session, "answer one")
        here.ok("send", session, claude.speaking("the report"))
        claude.until_half_said(session, "the report")
        (Path(here.show(session)["cwd"]) / "untracked.txt").write_text("not in time for a snapshot")
        until_copied(here, session)
        kill_host(here, session)
        there.ok("fleet", "takeover", session, "--host-is-gone")
        claude.machine = there
        there.until_status(session, "waiting")
        assert placed(there, session)["host"] == "b"
        there.ok("send", session, claude.answering("the third thing", "answer three"), "--follow")
        receipt = there.receipt(session)
        assert receipt["kind"] == "same", receipt
        attempts = there.show(session)["session"]["attempts"]
        first = until(lambda: attempts[1]["receipt"], "the receipt of the takeover")
        assert first["kind"] == "same", first
        assert "it was on host a and is on b now" in first["reason"]
        assert any("files that were changed on a after the snapshot" in one for one in first["unknown"])
        for name in ("the first thing", "the report", "the third thing"):
            assert claude.has_heard(session, name) == 1, f"{name} was sent once"
        assert claude.heard(session)[0].startswith(called("the first thing"))
        assert "answer one" in claude.remembered(session)
        assert claude.was_told(session, claude.half)
        assert not (Path(there.show(session)["cwd"]) / "untracked.txt").exists(), "and the receipt has said so"
    finally:
        there.clean_up()
