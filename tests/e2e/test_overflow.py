"""A conversation that fills its context window: summed up, and continued in a new one, whatever is killed when.

Real daemon, real keepers, the real scripted agent, real SIGKILL.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rekindle.adapters.session_folder.conversation import FolderConversations
from rekindle.core.session import history
from tests.e2e.daemon import Machine, until
from tests.soaking import only_in_soak

pytestmark = pytest.mark.timeout(240)
HEADING = "## Session Recovery (Dehydrated Context)"
FIRST = "say we go with the green door\ncontext 80 100\nrecap say the door is green"


def prompts(machine: Machine, session: str) -> list[str]:
    """What the agent was told, in all conversations, as the keepers' spools have it."""
    said = FolderConversations(machine.places.sessions).read(session)
    return [one.text for one in said if one.kind in ("prompt", "told")]


def conversations(machine: Machine, session: str) -> list[str]:
    return [one["token"] for one in machine.show(session)["session"]["attempts"] if one["opened"]]


def test_past_the_threshold_the_agent_sums_up_and_goes_on_in_a_new_conversation(machine: Machine) -> None:
    session = machine.begin(FIRST, options=("--overflow", "dehydrate"))
    machine.until_status(session, "waiting")
    shown = machine.show(session)
    assert shown["context"] == {"used": 80, "size": 100, "percent": 80}
    machine.ok("send", session, "say the second thing", "--follow")
    assert "the second thing" in machine.said(session)
    shown = machine.show(session)
    assert shown["receipt"]["kind"] == "rebuilt"
    assert "the agent's own summary" in shown["receipt"]["reason"]
    assert "left behind" in shown["receipt"]["reason"]
    before, after = conversations(machine, session)
    assert before != after
    told = [text for text in prompts(machine, session) if HEADING in text]
    assert len(told) == 1 and "the door is green" in told[0] and "say the second thing" in told[0]
    assert shown["context"] is None, "nobody has told how full the new one is"
    assert "context   unknown" in machine.ok("show", session)
    behind = machine.json("session", "dropped", session, "--search", "GREEN door")
    assert [one["kind"] for one in behind["entries"]][:2] == ["prompt", "said"]
    assert "say the second thing" not in json.dumps(behind)
    assert behind["total"] > len(machine.json("session", "dropped", session, "--search", "open it")["entries"])
    assert "green door" in machine.ok("session", "dropped", session)
    assert "contains that" in machine.ok("session", "dropped", session[:5], "--search", "elephant")


UNATTENDED = ("--overflow", "dehydrate", "--policy", "continue")


def filled(machine: Machine, *more: str, options: tuple[str, ...] = UNATTENDED) -> str:
    """A session whose conversation is nearly full, at rest."""
    session = machine.begin(
        "say we go with the green door", "write door.txt green", *more, "context 80 100", options=options
    )
    machine.until_status(session, "waiting")
    return session


def goes_on_once(machine: Machine, session: str) -> str:
    """The prompt that waited is answered in a new conversation, which was told of the old one once. Returns how."""
    machine.until_said(session, "the second thing")
    machine.until_status(session, "waiting", "asleep")
    shown = machine.show(session)
    used = {one["token"] for one in shown["session"]["attempts"] if one["opened"]}
    assert len(used) == 2, "one conversation was left, and one begun"
    told = [text for text in prompts(machine, session) if HEADING in text]
    assert len(told) == 1 and told[0].count(HEADING) == 1
    assert "green door" in told[0] and "say the second thing" in told[0]
    assert len(told[0]) < 26_000
    assert shown["session"]["lost"], "the old conversation is never loaded again"
    receipts = [one["receipt"] for one in shown["session"]["attempts"] if one["receipt"]]
    assert "rebuilt" in {one["kind"] for one in receipts}
    assert "same" not in {one["kind"] for one in receipts[:1]}
    done = [one for one in shown["session"]["prompts"] if one["by"] == "user"]
    assert [one["state"] for one in done] == ["done", "done"]
    return str(next(one["reason"] for one in receipts if one["kind"] == "rebuilt"))


@pytest.mark.parametrize(
    "recap",
    ["recap fail context_overflow", "recap die", "recap fail other"],
    ids=["refused", "died", "failed"],
)
def test_where_the_agent_does_not_manage_a_summary_one_is_made_without_a_model(machine: Machine, recap: str) -> None:
    session = filled(machine, recap)
    machine.ok("send", session, "say the second thing")
    how = goes_on_once(machine, session)
    assert "made without a model" in how
    [told] = [text for text in prompts(machine, session) if HEADING in text]
    assert "door.txt" in told, "the files that were changed"


def question_state(machine: Machine, session: str) -> str:
    asked = [one for one in machine.show(session)["session"]["prompts"] if one["text"].startswith("SUM UP")]
    return str(asked[-1]["state"]) if asked else ""


def attempt(machine: Machine, session: str, number: int) -> dict[str, Any]:
    found = machine.show(session)["session"]["attempts"]
    return dict(found[number - 1]) if len(found) >= number else {"status": "none"}


MOMENTS: dict[str, Callable[[Machine, str], bool]] = {
    "asked": lambda machine, session: question_state(machine, session) in ("sent", "began"),
    "summed up": lambda machine, session: question_state(machine, session) in ("done", "failed"),
    "left": lambda machine, session: attempt(machine, session, 1)["status"] == "gone",
    "restarting": lambda machine, session: attempt(machine, session, 2)["status"] != "none",
    "first prompt": lambda machine, session: any(HEADING in text for text in prompts(machine, session)),
}


@pytest.mark.parametrize("victim", ["daemon", "keeper", "agent", "all"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_whatever_is_killed_when_it_ends_the_same(machine: Machine, moment: str, victim: str) -> None:
    session = filled(machine, "recap sleep 2" if moment == "asked" else "recap say the green door is open")
    machine.ok("send", session, "sleep 1\nsay the second thing")
    until(lambda: MOMENTS[moment](machine, session), moment, 60)
    machine.kill_victim(session, victim)
    if victim in ("daemon", "all"):
        machine.ok("ps")
        machine.run("send", session, "say still there")
    machine.until_said(session, "the second thing")
    goes_on(machine, session)


def goes_on(machine: Machine, session: str) -> None:
    """As `goes_on_once`, for an agent that may have been killed in its new conversation too."""
    machine.until_status(session, "waiting", "asleep")
    shown = machine.show(session)
    told = [text for text in prompts(machine, session) if HEADING in text]
    assert len(told) == 1 and told[0].count(HEADING) == 1, "the context is injected once"
    assert "green" in told[0] and "say the second thing" in told[0]
    opened = [one["token"] for one in shown["session"]["attempts"] if one["opened"]]
    assert opened[0] not in opened[1:], "the full conversation is never opened again"
    users = [one for one in shown["session"]["prompts"] if one["by"] == "user"]
    assert {one["state"] for one in users} <= {"done", "failed"}
    assert machine.said(session).count("\nthe second thing") >= 1


SKILL = """---
phases:
  - "0: Setup"
  - "1: Work"
  - "2: Close"
---
Work.
"""
NOTES = {
    "summary": "the door is green",
    "lastAction": "painted it",
    "nextSteps": ["open it"],
    "requiredFiles": ["a.txt"],
}


def painting(machine: Machine, recap: str) -> tuple[str, ...]:
    """What makes an agent work through a skill, at its phase 1, with a context that is nearly full."""
    subprocess.run(["git", "init", "-q"], cwd=machine.work, check=True)
    place = machine.work / ".claude" / "skills" / "paint" / "SKILL.md"
    place.parent.mkdir(parents=True)
    place.write_text(SKILL)
    (machine.work / "a.txt").write_text("what the file says")
    (machine.work / "notes.json").write_text(json.dumps(NOTES))
    return (
        "say we paint the green door",
        "run rekindle session activate sessions/door paint",
        "run rekindle session continue sessions/door",
        "run rekindle session phase 1",
        recap,
        "context 80 100",
    )


def at_work(machine: Machine, recap: str) -> str:
    return machine.begin(*painting(machine, recap), options=("--policy", "continue"))


def resumed_at_its_phase(machine: Machine, session: str) -> str:
    """The skill session goes on unattended, in a new conversation. Returns what that was told."""
    until(lambda: attempt(machine, session, 2)["status"] == "ready", "the new conversation", 60)
    machine.until_status(session, "waiting")
    [told] = [text for text in prompts(machine, session) if HEADING in text]
    assert "Resuming at: 1: Work" in told and "Step 3F" in told
    assert "Go on with the skill session" in told
    state = json.loads((machine.work / "sessions" / "door" / ".state.json").read_text())
    assert (state["currentPhase"], state["lifecycle"], state["overflowed"]) == ("1: Work", "restarting", True)
    assert machine.receipt(session)["kind"] == "rebuilt"
    return str(told)


def test_a_skill_session_is_dehydrated_by_its_command_and_goes_on_at_the_same_phase(machine: Machine) -> None:
    hand_over = "rekindle session dehydrate sessions/door < notes.json"
    session = at_work(machine, f"recap run sh -c '{hand_over}'")
    told = resumed_at_its_phase(machine, session)
    assert "the door is green" in told and "what the file says" in told
    assert "the agent's own summary" in machine.receipt(session)["reason"]


def test_a_skill_session_says_that_its_agent_is_being_asked_for_a_summary(machine: Machine) -> None:
    at_work(machine, "recap sleep 600")
    state = machine.work / "sessions" / "door" / ".state.json"
    until(lambda: state.exists() and json.loads(state.read_text())["lifecycle"] == "dehydrating", "the lifecycle")
    told = json.loads(state.read_text())
    assert (told["overflowed"], told["contextUsage"], told["dehydratedContext"]) == (True, 0.8, None)


def test_a_skill_session_whose_agent_left_nothing_gets_notes_that_were_made_without_a_model(machine: Machine) -> None:
    session = at_work(machine, "recap die")
    told = resumed_at_its_phase(machine, session)
    assert "we paint the green door" in told and "without a model" in told
    state = json.loads((machine.work / "sessions" / "door" / ".state.json").read_text())
    assert state["dehydratedContext"]["madeBy"] == "rekindle"


@pytest.mark.parametrize(
    ("recap", "maker"),
    [("recap say the key is red", "the agent's own summary"), ("recap die", "came after that, word for word")],
    ids=["answered", "died"],
)
def test_notes_that_an_agent_was_told_and_never_acknowledged_are_not_told_again_after_more_work(
    machine: Machine, recap: str, maker: str
) -> None:
    session = at_work(machine, "recap run sh -c 'rekindle session dehydrate sessions/door < notes.json'")
    resumed_at_its_phase(machine, session)
    machine.ok("send", session, f"say we found a red key under the mat\n{recap}\ncontext 90 100")
    until(lambda: attempt(machine, session, 3)["status"] == "ready", "the third conversation", 60)
    machine.until_status(session, "waiting")
    told = [text for text in prompts(machine, session) if HEADING in text]
    assert len(told) == 2
    assert "red key" in told[-1] or "the key is red" in told[-1], "what was done since the notes"
    assert "Resuming at: 1: Work" in told[-1]
    assert maker in machine.receipt(session)["reason"]


def test_a_job_whose_agent_dies_over_its_summary_goes_on_with_one_and_does_not_start_over(machine: Machine) -> None:
    script = "\n".join(painting(machine, "recap die"))
    job = machine.json("job", "submit", "--agent", "scripted", script)["job"]["id"]
    told = json.loads(machine.ok("wait", job, "--json"))["job"]
    assert (told["status"], told["receipt"]["kind"]) == ("done", "rebuilt")
    given = prompts(machine, told["session"])
    assert [HEADING in one for one in given] == [False, False, True]
    assert "we paint the green door" in given[-1] and "Go on with the skill session" in given[-1]


def test_a_new_conversation_that_died_before_it_was_told_anything_is_not_taken_for_the_old_one(
    machine: Machine,
) -> None:
    session = filled(machine, "recap sleep 3", options=("--overflow", "dehydrate"))
    machine.ok("send", session, "say the second thing")
    until(lambda: question_state(machine, session) in ("sent", "began"), "the question")
    waiting = next(one["id"] for one in machine.show(session)["session"]["prompts"] if one["state"] == "queued")
    machine.ok("queue", session, "--withdraw", waiting)
    until(lambda: attempt(machine, session, 1)["status"] == "gone", "the end of the old conversation", 60)
    machine.ok("resume", session)
    until(lambda: attempt(machine, session, 2)["status"] == "ready", "the new conversation", 60)
    machine.kill(machine.pids(session, 2)["agent"])
    until(lambda: attempt(machine, session, 2)["status"] == "gone", "its end", 60)
    machine.ok("send", session, "What do you know?", "--follow")
    given = prompts(machine, session)
    assert HEADING in given[-1] and "green door" in given[-1] and "What do you know?" in given[-1]
    assert machine.receipt(session)["kind"] == "rebuilt"
    assert "80% full" in machine.receipt(session)["reason"]
    assert not any("say the second thing" in one for one in given), "it was withdrawn"


def began_anew(machine: Machine, session: str, older: str, *since: str) -> str:
    """The third conversation was told the older summary and what came after it, each once. Returns what it was told."""
    told = [text for text in prompts(machine, session) if HEADING in text]
    assert len(told) == 2 and len({*conversations(machine, session)}) == 3
    for said in (older, *since):
        assert told[-1].partition("\n=== CURRENT REQUEST ===\n")[0].count(said) == 1, said
    receipt = machine.receipt(session)
    assert receipt["kind"] == "rebuilt"
    assert "the summary that the one before it was told" in receipt["reason"]
    assert "came after that, word for word" in receipt["reason"] and "left behind" in receipt["reason"]
    return told[-1]


def lose(machine: Machine, session: str) -> None:
    """The agent's record of what it said vanishes, with every copy of it."""
    for file in (machine.home / ".local" / "state" / "rekindle" / "scripted").iterdir():
        if "a key lies" in file.read_text():
            file.unlink()
    shutil.rmtree(Path(machine.places.sessions, session, "vault"), ignore_errors=True)


def test_a_new_conversation_that_dies_in_its_first_turn_with_its_record_is_followed_by_one_that_knows_what_was_done(
    machine: Machine,
) -> None:
    session = filled(machine, "recap say the door is locked")
    machine.ok("send", session, "say a key lies under the mat\nrun echo found-it\nsleep 600")
    machine.until_said(session, "a key lies")
    until(lambda: "found-it" in machine.ok("logs", session), "the command")
    lose(machine, session)
    machine.kill(machine.pids(session, 2)["agent"])
    until(lambda: len([one for one in prompts(machine, session) if HEADING in one]) == 2, "the third conversation", 60)
    told = began_anew(machine, session, "the door is locked", "[ASSISTANT]: a key lies under the mat")
    assert told.count("[USER]: say a key lies under the mat") == 1 and "found-it" in told
    assert "You were working on: say a key lies" in told.partition("\n=== CURRENT REQUEST ===\n")[2]


def test_a_new_conversation_whose_record_is_lost_is_followed_by_one_that_knows_the_summary_too(
    machine: Machine,
) -> None:
    session = filled(machine, "recap say the door is locked")
    machine.ok("send", session, "say a key lies under the mat", "--follow")
    machine.until_status(session, "waiting")
    machine.kill(machine.pids(session, 2)["agent"])
    until(lambda: attempt(machine, session, 2)["status"] == "gone", "its end", 60)
    lose(machine, session)
    machine.run("resume", session)
    machine.ok("send", session, "say on we go", "--follow")
    began_anew(machine, session, "the door is locked", "[ASSISTANT]: a key lies under the mat")
    assert "on we go" in machine.said(session)


def test_a_skill_session_that_was_continued_and_fills_its_context_again_goes_on_at_its_phase(machine: Machine) -> None:
    session = at_work(machine, "recap run sh -c 'rekindle session dehydrate sessions/door < notes.json'")
    resumed_at_its_phase(machine, session)
    again = "run rekindle session activate sessions/door paint\nrun rekindle session continue sessions/door"
    machine.ok("send", session, f"{again}\nsay a key lies under the mat\nrecap die\ncontext 90 100")
    until(lambda: attempt(machine, session, 3)["status"] == "ready", "the third conversation", 60)
    machine.until_status(session, "waiting")
    told = began_anew(machine, session, "\n| the door is green\n", "[ASSISTANT]: a key lies under the mat")
    assert "Resuming at: 1: Work" in told and "Step 3F" in told


@pytest.mark.parametrize("how", ["more", *only_in_soak("stop", "cancel", "hold")])
def test_whatever_somebody_says_while_the_agent_sums_up_each_prompt_is_given_once(machine: Machine, how: str) -> None:
    session = filled(machine, "recap sleep 2")
    machine.ok("send", session, "say the second thing")
    until(lambda: question_state(machine, session) in ("sent", "began"), "the question")
    if how == "stop":
        machine.ok("stop", session)
        until(lambda: attempt(machine, session, 1)["status"] == "gone", "its end", 60)
        machine.ok("resume", session)
    elif how == "cancel":
        machine.ok("cancel", session)
    elif how == "hold":
        machine.ok("hold", session)
        machine.ok("resume", session)
    machine.ok("send", session, "say the third thing")
    machine.until_said(session, "the third thing")
    machine.until_status(session, "waiting", "asleep")
    given = [history.request_of(text) for text in prompts(machine, session)]
    assert given.count("say the second thing") == 1 and given.count("say the third thing") == 1
    told = [text for text in prompts(machine, session) if HEADING in text]
    assert len(told) <= 1 and (not told or "green" in told[0])
    users = [one for one in machine.show(session)["session"]["prompts"] if one["by"] == "user"]
    assert [one["state"] for one in users] == ["done", "done", "done"]


@pytest.mark.soak
@pytest.mark.parametrize("victim", ["daemon", "keeper", "agent", "all"])
@pytest.mark.parametrize("moment", ["handed over", "told"])
def test_a_skill_session_that_nobody_has_continued_yet_keeps_its_notes_and_its_phase(
    machine: Machine, moment: str, victim: str
) -> None:
    session = at_work(machine, "recap run sh -c 'rekindle session dehydrate sessions/door < notes.json'")
    place = machine.work / "sessions" / "door" / ".state.json"
    if moment == "handed over":
        until(lambda: place.exists() and json.loads(place.read_text())["dehydratedContext"], "the notes", 60)
    else:
        until(lambda: any(HEADING in text for text in prompts(machine, session)), "the new conversation", 60)
    machine.kill_victim(session, victim)
    machine.ok("inbox")
    until(lambda: any(HEADING in text for text in prompts(machine, session)), "the new conversation", 60)
    machine.until_status(session, "waiting", "asleep", "dead")  # dead: its turn had ended before the kill
    [told] = [text for text in prompts(machine, session) if HEADING in text]
    assert "Resuming at: 1: Work" in told and "the door is green" in told
    state = json.loads(place.read_text())
    assert (state["currentPhase"], state["dehydratedContext"]["summary"]) == ("1: Work", "the door is green")
    assert "rebuilt" in [
        one["receipt"]["kind"] for one in machine.show(session)["session"]["attempts"] if one["receipt"]
    ]
