"""The drill: eleven interruptions, each with every agent, through the commands alone.

Passed means: nothing is lost, nothing is done twice, and the truth is told to the person and to the model. What the
model was given is read from its own record, never from what rekindle says about it; `check_receipt` holds the two
against each other.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.daemon import is_running, until
from tests.real.acp_stage import AcpStage
from tests.real.damage import Damage
from tests.real.stage import ClaudeStage, Stage, called

pytestmark = pytest.mark.timeout(240)

TOOL = "import os,time; open('ran.txt','a').write(str(os.getpid())+'\\n'); time.sleep(600)"


def check_receipt(stage: Stage, session: str, *earlier: str, kinds: tuple[str, ...] = ()) -> dict[str, Any]:
    """What the receipt claims is what the model was given: the same conversation, as far as its agent can do that."""
    receipt: dict[str, Any] = stage.machine.receipt(session)
    assert receipt["kind"] in (kinds or ("same" if stage.resumes_itself else "rebuilt",)), receipt
    assert receipt["reason"]
    given = [stage.has_heard(session, name) for name in earlier]
    if receipt["kind"] == "same":
        assert given == [1] * len(earlier), "every earlier prompt, and each once"
    if receipt["kind"] == "fresh":
        assert given == [0] * len(earlier), "a fresh start has no history"
    if receipt["kind"] == "rebuilt":
        assert all(stage.was_told(session, called(name)) for name in earlier), "the history was handed over"
    return receipt


def running_tools(stage: Stage) -> list[int]:
    """The command's processes. What it says of itself does not count: a sandbox may have numbers of its own."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            here = (folder / "cwd").readlink() == stage.machine.work
            if here and b"tool.py" in (folder / "cmdline").read_bytes() and is_running(int(folder.name)):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def kill_agent(stage: Stage, session: str, attempt: int = 1) -> None:
    stage.machine.kill(stage.machine.pids(session, attempt)["agent"])


def converse(stage: Stage) -> str:
    """A conversation of two answered prompts whose agent sleeps."""
    session = stage.begin(stage.answering("the first thing", "answer one"))
    stage.machine.until_status(session, "waiting")
    stage.machine.ok("send", session, stage.answering("the second thing", "answer two"), "--follow")
    stage.machine.ok("stop", session, "--sleep")
    return session


def go_on(stage: Stage, session: str) -> None:
    """A third prompt; the session is woken for it."""
    stage.machine.ok("send", session, stage.answering("the third thing", "answer three"), "--follow")
    assert stage.has_said(session, "answer three")
    assert stage.has_heard(session, "the third thing") == 1


def lose_the_vault(stage: Stage) -> None:
    stage.machine.run("serve", "--stop")
    until(lambda: not os.path.exists(stage.machine.places.socket), "the end of the daemon")
    for folder in [*Path(stage.machine.places.state).rglob("vault*")]:
        shutil.rmtree(folder) if folder.is_dir() else folder.unlink(missing_ok=True)


def test_s1_killed_in_mid_stream(stage: Stage) -> None:
    session = stage.begin(stage.speaking("the report"))
    stage.until_half_said(session, "the report")
    kill_agent(stage, session)
    stage.machine.until_status(session, "interrupted")
    stage.machine.ok("resume", session)
    stage.machine.until_status(session, "waiting")
    check_receipt(stage, session, "the report")
    [message] = [text for text in stage.heard(session) if "interrupted" in text and not text.startswith("[")]
    assert stage.half in message, "the model has what it had said"
    assert "cut off" in message


def test_s2_killed_during_a_command(stage: Stage) -> None:
    (stage.machine.work / "tool.py").write_text(TOOL)
    session = stage.begin(stage.commanding("the command", "python3 tool.py"))
    ran = stage.machine.work / "ran.txt"
    until(lambda: ran.exists() and ran.read_text().strip() and running_tools(stage), "the command")
    kill_agent(stage, session)
    stage.machine.until_status(session, "interrupted")
    assert not running_tools(stage)
    told = json.loads(stage.machine.ok("resume", session, "--json"))
    stage.machine.until_status(session, "waiting")
    assert any("tool.py" in one and "outcome unknown" in one for one in told["receipt"]["unknown"])
    check_receipt(stage, session, "the command")
    message = next(text for text in reversed(stage.heard(session)) if "tool.py" in text)
    assert "outcome is unknown" in message
    assert "stopped with you" in message
    assert "ran.txt" in message, "the model is told which files changed"
    assert len(ran.read_text().splitlines()) == 1, "nothing ran twice"


@pytest.mark.parametrize("when", ["at once", "with its daemon"])
def test_s3_killed_right_after_its_start(stage: Stage, when: str) -> None:
    older = stage.begin(stage.answering("an older thing", "an older answer"))
    stage.machine.until_status(older, "waiting")
    stage.machine.ok("stop", older, "--sleep")
    session = stage.begin(stage.answering("the new thing", "the new answer"))
    kill_agent(stage, session)
    if when == "with its daemon":
        stage.machine.kill_daemon()
    # A start that failed is tried again by itself, with a daemon that lives: then it may be over before we look.
    if stage.machine.until_status(session, "interrupted", "queued", "dead", "waiting") != "waiting":
        stage.machine.ok("resume", session)
    stage.until_said(session, "the new answer")
    assert stage.has_heard(session, "the new thing") == 1
    assert not stage.was_told(session, "an older thing"), "not the newest conversation of the folder"
    assert stage.has_heard(older, "an older thing") == 1


def test_s4_the_daemon_is_killed(stage: Stage) -> None:
    prompt, gate = stage.speaking_slowly("the report")
    session = stage.begin(prompt)
    stage.machine.until_said(session, stage.half)
    before = stage.machine.pids(session)
    stage.machine.kill_daemon()
    assert is_running(before["agent"])
    assert stage.machine.status(session) == "working"
    refused = stage.machine.run("resume", session)
    assert refused.returncode == 4, "a second writer is refused"
    assert str(before["agent"]) in refused.stderr
    gate.open()
    stage.until_said(session, stage.end)
    assert stage.machine.pids(session) == before
    assert stage.machine.show(session)["attempt"] == 1
    assert stage.heard(session) == [prompt]
    if isinstance(stage, ClaudeStage):
        assert [one.ended for one in stage.turns(session)] == ["answered"]


def test_s5_two_resumes_at_once(stage: Stage) -> None:
    session = stage.begin(stage.speaking("the report"))
    stage.until_half_said(session, "the report")
    kill_agent(stage, session)
    stage.machine.until_status(session, "interrupted")
    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(lambda _: stage.machine.run("resume", session), range(3)))
    assert sorted(one.returncode for one in done) == [0, 4, 4], [one.stderr for one in done]
    assert all("attempt 2" in one.stderr for one in done if one.returncode == 4), "the others are told who has it"
    stage.machine.until_status(session, "waiting")
    assert stage.machine.show(session)["attempt"] == 2
    assert sum("interrupted" in text and "cut off" in text for text in stage.heard(session)) == 1
    check_receipt(stage, session, "the report")
    if isinstance(stage, ClaudeStage):
        assert len(stage.turns(session)) == 2


def test_s6_a_torn_record(stage: Stage) -> None:
    session = converse(stage)
    stage.record(session).suffer(Damage.TORN)
    go_on(stage, session)
    check_mended(stage, session)


def check_mended(stage: Stage, session: str) -> None:
    """Nothing is lost, and what was done is said: put back from the vault, or told to a new conversation."""
    kinds = ("same",) if stage.is_mended else ("rebuilt",)
    receipt = check_receipt(stage, session, "the first thing", "the second thing", kinds=kinds)
    assert stage.knows_answers(session, "answer one", "answer two"), "no reply is lost"
    assert is_said(stage, session, receipt, "vault" if stage.is_mended else "told the history")


def test_s7_a_deleted_transcript_is_put_back(stage: Stage) -> None:
    session = converse(stage)
    before = stage.token(session)
    stage.record(session).suffer(Damage.DELETED)
    go_on(stage, session)
    check_mended(stage, session)
    assert (stage.token(session) == before) is stage.is_mended


@pytest.mark.parametrize("damage", [Damage.DELETED, Damage.EMPTIED, Damage.BEHEADED, Damage.CURTAILED])
def test_s7_and_s11_with_the_vault_gone_too_a_loss_is_never_passed_off_as_the_same(
    stage: Stage, damage: Damage
) -> None:
    session = converse(stage)
    lose_the_vault(stage)
    stage.record(session).suffer(damage)
    done = stage.machine.run("send", session, stage.answering("the third thing", "answer three"), "--follow")
    if done.returncode != 0:
        assert "a new conversation" in done.stdout, "the person is told, and decides to go on"
        stage.machine.ok("send", session, stage.answering("the fourth thing", "answer four"), "--follow")
    stage.until_said(session, "answer three")
    assert sum(text.count(called("the third thing")) for text in stage.heard(session)) == 1
    check_receipt(stage, session, "the first thing", "the second thing", kinds=("rebuilt", "fresh", "unproven"))


def test_s8_a_rate_limit_with_a_reset_in_five_seconds(stage: Stage) -> None:
    began = time.monotonic()
    session = stage.begin(stage.limited("the thing", 5, "the answer at last"))
    stage.until_said(session, "the answer at last")
    assert time.monotonic() - began >= 4
    assert stage.has_heard(session, "the thing") == 1


def test_s8_a_rate_limit_over_a_restart_of_the_daemon(stage: Stage) -> None:
    session = stage.begin(stage.limited("the thing", 8, "the answer at last"))
    until(lambda: "continues by itself" in stage.machine.show(session)["message"] or is_retrying(stage), "the refusal")
    stage.machine.kill_daemon()
    stage.machine.show(session)
    stage.until_said(session, "the answer at last")
    assert stage.has_heard(session, "the thing") == 1


def is_retrying(stage: Stage) -> bool:
    """The agent may wait by itself, in its own process."""
    return isinstance(stage, ClaudeStage | AcpStage) and len(stage.model.turns()) > 0


def test_s9_the_conversation_has_become_too_long(stage: Stage) -> None:
    session = stage.begin(stage.filling("the first thing", "answer one"))
    stage.machine.until_status(session, "waiting")
    stage.machine.run("send", session, stage.overflowing("the last straw", "a short answer"))
    stage.until_said(session, "a short answer")
    told = stage.machine.show(session)
    said = json.dumps([told["receipt"], told["message"], told["notices"]]).lower()
    assert "compact" in said or "too long" in said or "context" in said, "it is said how it went on"


def test_s10_everything_is_killed(stage: Stage) -> None:
    names = ["the north", "the south"]
    sessions = [stage.begin(stage.speaking(name)) for name in names]
    idle = stage.begin(stage.answering("the idle one", "nothing to do"))
    for session, name in zip(sessions, names, strict=True):
        stage.until_half_said(session, name)
    stage.machine.until_status(idle, "waiting")
    stage.until_recorded(idle, "nothing to do")
    everybody = [pid for session in [*sessions, idle] for pid in stage.machine.pids(session).values()]
    for pid in [stage.machine.daemon(), *everybody]:
        os.kill(pid, signal.SIGKILL)
    until(lambda: not any(is_running(pid) for pid in everybody), "the end of everything")
    rows = {row["id"]: row["status"] for row in stage.machine.json("ps")["sessions"]}
    assert rows == {**dict.fromkeys(sessions, "interrupted"), idle: "dead"}
    assert all(session in stage.machine.ok() for session in sessions)
    told = json.loads(stage.machine.ok("resume", "--all", "--json"))
    assert sorted(told["resumed"]) == sorted([*sessions, idle])
    for session, name in zip(sessions, names, strict=True):
        stage.machine.until_status(session, "waiting")
        check_receipt(stage, session, name)
        assert stage.was_told(session, stage.half)
    stage.machine.ok("send", idle, stage.answering("one thing more", "and its answer"), "--follow")
    check_receipt(stage, idle, "the idle one")


@pytest.mark.parametrize("damage", [Damage.EMPTIED, Damage.BEHEADED, Damage.CURTAILED])
def test_s11_a_history_that_is_missing_is_noticed_and_put_back(stage: Stage, damage: Damage) -> None:
    session = converse(stage)
    stage.record(session).suffer(damage)
    go_on(stage, session)
    check_mended(stage, session)


def is_said(stage: Stage, session: str, receipt: dict[str, Any], word: str) -> bool:
    told = stage.machine.show(session)
    return word in json.dumps([receipt, told["notices"], told["message"]])
