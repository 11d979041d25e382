"""Gemini CLI's own load destroys what it loads, in two ways. `resume --native` asks for it, and loses nothing."""

from __future__ import annotations

import json
import stat
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.daemon import until
from tests.real.acp_stage import AcpStage
from tests.real.stage import called

pytestmark = pytest.mark.timeout(400)

StandUp = Callable[[str], AcpStage]


def converse(stage: AcpStage) -> str:
    """A conversation of one answered prompt, asleep; there is time left in the minute in which it was begun."""
    until(lambda: time.time() % 60 < 30, "the first half of a minute")
    session = stage.begin(stage.answering("the first thing", "answer one"))
    stage.machine.until_status(session, "waiting")
    stage.machine.ok("stop", session, "--sleep")
    return session


def load(stage: AcpStage, session: str, attempt: int) -> None:
    told = json.loads(stage.machine.ok("resume", session, "--native", "--json"))
    assert told["waits_until"] is not None or told["attempt"] == attempt, "whoever asks is not kept waiting"
    until(lambda: stage.machine.show(session)["attempt"] == attempt, "the load in its minute", seconds=120)
    stage.machine.until_status(session, "waiting")
    shown = stage.machine.show(session)
    assert (shown["attempt"], shown["session"]["attempts"][-1]["how"]) == (attempt, "load")
    assert shown["receipt"]["kind"] == "same", shown["receipt"]


def files_of(stage: AcpStage, session: str) -> list[Path]:
    return sorted(stage.machine.home.glob(f".gemini/tmp/*/chats/session-*-{stage.token(session):.8}.jsonl"))


def test_gemini_loads_its_own_record_in_a_later_minute_and_again_and_nothing_is_lost(stand_up: StandUp) -> None:
    stage = stand_up("gemini")
    session = converse(stage)
    token = stage.token(session)
    begun = time.time() // 60
    load(stage, session, 2)
    assert time.time() // 60 > begun, "not in the minute of the beginning"
    assert any("would destroy" in one for one in stage.machine.show(session)["notices"]), "and the person was told why"
    stage.machine.ok("send", session, stage.answering("the second thing", "answer two"), "--follow")
    stage.machine.ok("stop", session, "--sleep")
    assert len(files_of(stage, session)) == 2, "the load has left an empty file"
    load(stage, session, 3)
    stage.machine.ok("send", session, stage.answering("the third thing", "answer three"), "--follow")
    assert stage.token(session) == token
    for name in ("the first thing", "the second thing", "the third thing"):
        assert stage.has_heard(session, name) == 1, stage.heard(session)
    assert {"answer one", "answer two"} <= {text.strip() for text in stage.remembered(session)}
    kept = [*Path(stage.machine.places.sessions, session).rglob("aside-*")]
    assert [stat.S_IMODE(one.stat().st_mode) for one in kept] == [0o600], "what was put aside is kept"


def test_a_record_that_gemini_itself_has_deleted_is_put_back(stand_up: StandUp) -> None:
    """Somebody has used Gemini CLI in the folder: it deletes a conversation that was loaded once."""
    stage = stand_up("gemini")
    session = converse(stage)
    [record] = files_of(stage, session)
    record.unlink()
    load(stage, session, 2)
    assert any("vault" in one for one in stage.machine.show(session)["session"]["attempts"][-1]["notes"])
    stage.machine.ok("send", session, stage.answering("the second thing", "answer two"), "--follow")
    assert stage.has_heard(session, "the first thing") == 1
    assert any("answer one" in text for text in stage.remembered(session))


def test_a_load_that_waits_for_its_minute_outlives_the_daemon(stand_up: StandUp) -> None:
    stage = stand_up("gemini")
    session = converse(stage)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(stage.machine.run, "resume", session, "--native")
        until(lambda: "it continues by itself" in stage.machine.show(session)["message"], "the reason for the wait")
        stage.machine.kill_daemon()
        asked.result()
    stage.machine.show(session)
    until(lambda: stage.machine.status(session) == "waiting", "the load in the next minute", seconds=120)
    assert stage.machine.receipt(session)["kind"] == "same"
    stage.machine.ok("send", session, stage.answering("the second thing", "answer two"), "--follow")
    assert stage.was_told(session, called("the first thing"))
