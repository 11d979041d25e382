"""The real Claude Code comes back to its conversation after rekindle has lost its store."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.e2e.daemon import is_running, until
from tests.real.stage import ClaudeStage, called
from tests.real.test_drill import check_receipt

pytestmark = pytest.mark.timeout(240)


def test_a_conversation_goes_on_after_everything_was_killed_and_the_store_is_gone(claude: ClaudeStage) -> None:
    machine = claude.machine
    session = claude.begin(claude.answering("the first thing", "answer one"))
    machine.until_status(session, "waiting")
    token = claude.token(session)
    machine.ok("send", session, claude.speaking("the report"))
    claude.until_half_said(session, "the report")
    everybody = [machine.daemon(), *machine.pids(session).values()]
    for pid in everybody:
        os.kill(pid, signal.SIGKILL)
    until(lambda: not any(map(is_running, everybody)), "the end of all of them")
    for file in Path(machine.places.state).glob("store.db*"):
        file.unlink()
    machine.ok("resume", "--all")
    machine.until_status(session, "waiting")
    assert claude.token(session) == token
    check_receipt(claude, session, "the first thing", "the report")
    told, report, go_on = claude.heard(session)
    assert (told, report) == (called("the first thing"), called("the report"))
    assert claude.half in go_on, "the model is told what it had said"
    assert "answer one" in claude.remembered(session)
    assert len(claude.turns(session)) == 3, "the model was asked once more, and not twice"
