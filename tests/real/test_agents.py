"""The real agents beside Claude Code: cut off, taken up, handed over; what each says about a conversation it lacks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rekindle.agents.base import observation as o
from rekindle.agents.registry import AGENTS
from tests.e2e.daemon import Machine
from tests.real.acp_stage import SETUPS, AcpStage
from tests.real.acp_talk import AcpTalk
from tests.real.damage import Damage
from tests.real.models.steps import Reply
from tests.real.programs import program
from tests.real.stage import called

pytestmark = pytest.mark.timeout(400)

StandUp = Callable[[str], AcpStage]
UNKNOWN = "0b9f4c1e-6d0a-4a52-9c1d-3f8e2b7a6c5d"


@pytest.mark.parametrize("agent", SETUPS)
def test_an_agent_that_was_killed_in_mid_stream_goes_on_with_its_history(stand_up: StandUp, agent: str) -> None:
    stage = stand_up(agent)
    session = stage.begin(stage.answering("the first thing", "answer one"))
    stage.machine.until_status(session, "waiting")
    stage.machine.ok("send", session, stage.speaking("the second thing"))
    stage.machine.until_said(session, stage.half)
    stage.machine.kill(stage.machine.pids(session)["agent"])
    stage.machine.until_status(session, "interrupted")
    wanted = "agent_not_running" if AGENTS[agent].native else "agent_not_running_fresh_start"
    assert stage.machine.show(session)["reason"] == wanted
    stage.machine.ok("resume", session)
    stage.machine.until_status(session, "waiting")
    receipt = stage.machine.receipt(session)
    assert receipt["kind"] == ("same" if AGENTS[agent].native else "rebuilt"), receipt
    stage.machine.ok("send", session, stage.answering("the third thing", "answer three"), "--follow")
    for name in ("the first thing", "the second thing", "the third thing"):
        assert stage.was_told(session, called(name)), "the model's own record has the history"
    assert stage.was_told(session, stage.half), "and what was cut"
    if AGENTS[agent].native:
        assert any("answer one" in text for text in stage.remembered(session))


@pytest.mark.parametrize("agent", [name for name in SETUPS if AGENTS[name].native])
def test_a_turn_with_words_commands_and_words_is_no_loss_when_it_is_loaded_again(stand_up: StandUp, agent: str) -> None:
    stage = stand_up(agent)
    prompt = stage.commanding("the commands", "echo one >> ran.txt")
    once_more = Reply("  And once more,\n\nas **asked**: ", (stage.setup.command("echo two >> ran.txt"),))
    stage.model.when(lambda one: "I run it." in json.dumps(one.body), once_more, 1)
    session = stage.begin(prompt, "--permission", "all")
    stage.machine.until_status(session, "waiting")
    assert (stage.machine.work / "ran.txt").read_text() == "one\ntwo\n"
    stage.machine.ok("stop", session, "--sleep")
    stage.machine.ok("send", session, stage.answering("the second thing", "answer two"), "--follow")
    receipt = stage.machine.receipt(session)
    assert receipt["kind"] == "same", receipt
    assert stage.has_heard(session, "the commands") == 1


@pytest.mark.parametrize("agent", SETUPS)
def test_an_unknown_conversation_is_refused_and_never_begun_anew(stand_up: StandUp, agent: str) -> None:
    stage = stand_up(agent)
    with AcpTalk(AGENTS[agent], stage.machine.work, stage.machine.environment()) as talk:
        refused = talk.open(UNKNOWN)
    assert isinstance(refused, o.AgentRefusedToOpen)
    assert refused.problem == "unknown_session", refused


@pytest.mark.parametrize("damage", [Damage.DELETED, Damage.BEHEADED])
def test_a_conversation_that_the_agent_has_lost_waits_for_input_and_is_then_told_its_history(
    stand_up: StandUp, damage: Damage
) -> None:
    stage = stand_up("opencode")
    session = stage.begin(stage.answering("the first thing", "answer one"))
    stage.machine.until_status(session, "waiting")
    stage.machine.ok("send", session, stage.answering("the second thing", "answer two"), "--follow")
    stage.machine.ok("stop", session, "--sleep")
    stage.record(session).suffer(damage)
    stage.machine.run("resume", session)
    told = stage.machine.show(session)
    assert told["state"] == "WAITING_FOR_INPUT"
    assert told["session"]["token"] is None
    assert "told the history" in told["message"]
    stage.machine.ok("send", session, stage.answering("the third thing", "answer three"), "--follow")
    assert stage.machine.receipt(session)["kind"] == "rebuilt"
    assert stage.was_told(session, called("the first thing"))


def test_another_agent_goes_on_with_the_conversation(stand_up: StandUp) -> None:
    first = stand_up("codex")
    session = first.begin(first.answering("the first thing", "answer one"))
    first.machine.until_status(session, "waiting")
    first.machine.ok("stop", session, "--sleep")
    other = stand_up("opencode")
    told = json.loads(other.machine.ok("resume", session, "--agent", "opencode", "--json"))
    assert (told["id"], told["agent"]) == (session, "opencode")
    assert told["receipt"]["kind"] == "rebuilt"
    assert "codex has handed over to opencode" in told["receipt"]["reason"]
    other.machine.ok("send", session, other.answering("the second thing", "answer two"), "--follow")
    assert other.was_told(session, called("the first thing"))
    assert other.was_told(session, "answer one")
    assert other.has_heard(session, "the second thing") == 1
    logs = other.machine.said(session)
    assert "answer one" in logs and "answer two" in logs, "each attempt is read in its agent's own language"


@pytest.fixture
def without_accounts(folder: Path, scrubbed: dict[str, str]) -> Iterator[Machine]:
    """A machine with the two agents that do nothing without an account."""
    for agent in ("amp", "auggie"):
        (folder / "bin" / AGENTS[agent].program).symlink_to(program(agent))
    variables = {**scrubbed, "PATH": str(folder / "bin")}
    machine = Machine(folder / "home", folder / "work", "amp", variables, is_quick=False)
    yield machine
    machine.clean_up()


def test_auggie_says_that_it_needs_an_account(without_accounts: Machine) -> None:
    machine = without_accounts
    done = machine.run("agent", "check", "auggie", "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["state"], told["can_load"]) == (1, "no account", True)
    assert "auggie login" in told["problem"]


def test_amp_is_found_with_its_version_and_called_untested(without_accounts: Machine) -> None:
    machine = without_accounts
    rows = {row["name"]: row for row in machine.json("agent", "list")["agents"]}
    assert rows["amp"]["version"].startswith("0.0.1790142911")
    assert rows["codex"]["installed"] is False
    assert "account" in rows["amp"]["untested"] and rows["codex"]["untested"] == ""
    assert "untested: needs an account" in machine.ok("agent", "list")


@pytest.mark.parametrize("agent", SETUPS)
def test_an_agent_with_its_account_is_ready(stand_up: StandUp, agent: str) -> None:
    stage = stand_up(agent)
    told = json.loads(stage.machine.ok("agent", "check", agent, "--json"))
    assert told["state"] == "ready"
    assert told["can_load"] is True
    assert told["version"]
