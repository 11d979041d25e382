"""The HTTP door: the same things as the command line, and what is pushed when they change."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.e2e.daemon import Machine, until
from tests.e2e.door import SECONDS, Door, opened, said

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def door(machine: Machine) -> Iterator[Door]:
    with opened(machine) as found:
        yield found


def last(door: Door) -> int:
    found: int = door.get("/sessions")["seq"]
    return found


def test_both_doors_show_the_same_session_in_the_same_words(machine: Machine, door: Door) -> None:
    session = machine.begin("say hello")
    machine.until_said(session, "hello")
    machine.until_status(session, "waiting")
    [here], [there] = door.get("/sessions")["sessions"], machine.sessions()
    assert here == there
    assert door.get(f"/sessions/{session}") == machine.show(session)
    assert door.ask("/api/v1/sessions/nobody").status == 404
    told = door.ask("/api/v1/sessions/nobody").json
    assert told["code"] == "no_such_session" and told["exit"] == 2 and told["hint"]


def test_a_conversation_is_read_by_number_from_either_end(machine: Machine, door: Door) -> None:
    session = machine.begin("stream 20 0.001 word", "say the end")
    machine.until_said(session, "the end")
    machine.until_status(session, "waiting")
    whole = door.get(f"/sessions/{session}/conversation?from=0&limit=500")
    assert [one["n"] for one in whole["entries"]] == list(range(whole["total"]))
    assert whole["entries"][0]["kind"] == "prompt" and whole["attempts"] == [{"attempt": 1, "n": 0}]
    spoken = [one for one in whole["entries"] if one["kind"] == "said"]
    assert len(spoken) == 1, "the pieces of one answer are one entry"
    end = door.get(f"/sessions/{session}/conversation?from=-1")
    assert end["entries"] == whole["entries"][-1:] and end["from"] == whole["total"] - 1
    assert door.get(f"/sessions/{session}/conversation?from=99999")["entries"] == []


def test_what_an_agent_says_is_pushed_as_it_says_it_and_nothing_twice(machine: Machine, door: Door) -> None:
    async def watched(session: str) -> tuple[str, list[Any]]:
        async with door.live() as live:
            await live.ask("subscribe", after=0, messages="watched")
            await live.say("task.session.watch", session=session, **{"from": 0})
            text: dict[int, str] = {}
            spoken: set[int] = set()
            facts = []
            while "the end" not in "".join(text[n] for n in spoken):
                one = await live.heard()
                if one.get("event") == "task.session.message":
                    for entry in one["payload"]["entries"]:
                        if entry["append"]:
                            text[entry["n"]] += entry["text"]
                        else:
                            assert entry["n"] not in text, "an entry came twice"
                            text[entry["n"]] = entry["text"]
                        spoken |= {entry["n"]} if entry["kind"] == "said" else set()
                elif "event" in one:
                    facts.append(one)
            return "".join(text[n] for n in sorted(spoken)), facts

    session = machine.begin("stream 30 0.02 word", "say the end")
    spoken, facts = asyncio.run(watched(session))
    machine.until_status(session, "waiting")
    entries = door.get(f"/sessions/{session}/conversation?from=0")["entries"]
    assert spoken.strip() in "".join(one["text"] for one in entries if one["kind"] == "said").strip()
    assert spoken.count("word") == 30
    numbers = [one["seq"] for one in facts if not one.get("more")]
    assert numbers == sorted(set(numbers))


def test_who_was_away_while_the_daemon_was_killed_misses_nothing_and_gets_nothing_twice(machine: Machine) -> None:
    process = machine.start("serve", "--http", "127.0.0.1:0", "--json")
    door = said(process)
    machine.begin("say one")

    async def first() -> list[Any]:
        async with door.live() as live:
            await live.ask("subscribe", after=0)
            return [one for one in await live.events(last(door)) if one["event"] != "task.session.message"]

    before = asyncio.run(first())
    process.send_signal(signal.SIGKILL)
    process.wait()
    machine.begin("say two")  # by a daemon that was started for it, and has opened the door again
    again = Door(door.url, door.secret, door.secret_file, process)
    until(lambda: all(one["status"] == "waiting" for one in again.get("/sessions")["sessions"]), "both are done")
    known = before[-1]["seq"] if not before[-1].get("more") else before[-1]["seq"] - 1

    async def second() -> list[Any]:
        async with again.live() as live:
            await live.ask("subscribe", after=known)
            return [one for one in await live.events(last(again)) if one["event"] != "task.session.message"]

    after = asyncio.run(second())
    feed = again.get("/feed?limit=10000")["facts"]
    heard = [one for one in [*before, *after] if not one.get("more")]
    assert [one["payload"]["fact"] for one in heard] == feed
    assert process.stdout is not None
    process.stdout.close()


def test_two_tabs_open_an_interrupted_session_and_cause_one_resume(machine: Machine, door: Door) -> None:
    session = machine.begin("say one")
    machine.until_status(session, "waiting")
    machine.kill(machine.pids(session)["agent"])
    until(lambda: not machine.show(session)["is_running"], "its end")

    async def tabs() -> list[Any]:
        async with door.live() as one, door.live() as two:
            both = asyncio.gather(
                one.ask("task.session.open", session=session), two.ask("task.session.open", session=session)
            )
            return list(await both)

    told = asyncio.run(tabs())
    assert all(one["ok"] for one in told)
    machine.until_status(session, "waiting")
    shown = machine.show(session)
    assert [one["number"] for one in shown["session"]["attempts"]] == [1, 2]
    assert shown["state"] == "WAITING_FOR_INPUT" and shown["task_state"] == "REVIEW"
    assert machine.receipt(session)["kind"] == "same"


def test_status_resume_and_prompt_go_by_their_names_and_a_prompt_that_is_sent_again_is_delivered_once(
    machine: Machine, door: Door
) -> None:
    session = machine.begin("say one")
    machine.until_status(session, "waiting")
    machine.kill(machine.pids(session)["agent"])
    until(lambda: not machine.show(session)["is_running"], "its end")

    async def talk() -> list[Any]:
        async with door.live() as live:
            prompt = {"session": session, "text": "say two", "prompt_id": "mine"}
            return [
                await live.ask("task.session.status", session=session),
                await live.ask("task.session.resume", session=session),
                await live.ask("task.session.prompt", **prompt),
                await live.ask("task.session.prompt", **prompt),
            ]

    before, resumed, *sent = asyncio.run(talk())
    answer = {name: before["payload"][name] for name in ("needs_resume", "is_resumable", "reason", "executor")}
    assert answer == {
        "needs_resume": True,
        "is_resumable": True,
        "reason": "agent_not_running",
        "executor": "stopped",
    }
    assert (resumed["ok"], [one["ok"] for one in sent]) == (True, [True, True])
    machine.until_said(session, "two")
    machine.until_status(session, "waiting")
    assert machine.said(session).splitlines().count("two") == 1
    shown = machine.show(session)
    assert (shown["attempt"], shown["executor"], machine.receipt(session)["kind"]) == (2, "ready", "same")


def test_opening_loads_a_cut_conversation_and_leaves_its_turn_to_a_click(machine: Machine, door: Door) -> None:
    session = machine.begin("say one", "sleep 60", "say two", options=("--policy", "ask"))
    machine.until_said(session, "sleep: 60")  # killed any earlier, it may have nothing left to do
    machine.kill(machine.pids(session)["agent"])
    until(lambda: not machine.show(session)["is_running"], "its end")
    told = door.post(f"/sessions/{session}/open")
    assert told["did"] == "resuming"
    until(lambda: machine.show(session)["session"]["attempts"][-1]["status"] == "ready", "its conversation")
    shown = machine.show(session)
    assert shown["session"]["on_hold"] == "the page"
    assert [one["by"] for one in shown["session"]["prompts"] if one["state"] == "queued"] == ["rekindle"]
    door.post(f"/sessions/{session}/resume")
    until(lambda: machine.show(session)["turn_since"] is not None, "the turn to go on")
    assert machine.show(session)["attempt"] == 2, "the agent that was loaded goes on"


def test_opening_a_session_again_does_not_lift_its_hold(machine: Machine, door: Door) -> None:
    session = machine.begin("say one", "sleep 60", "say two", options=("--policy", "ask"))
    machine.until_said(session, "one")
    machine.kill(machine.pids(session)["agent"])
    until(lambda: not machine.show(session)["is_running"], "its end")
    door.post(f"/sessions/{session}/open")
    until(lambda: machine.show(session)["session"]["attempts"][-1]["status"] == "ready", "its conversation")
    assert machine.show(session)["needs_you"], "it waits for a click, and says so"
    door.post(f"/sessions/{session}/stop", {"to": "asleep"})
    until(lambda: not machine.show(session)["is_running"], "its sleep")
    assert door.post(f"/sessions/{session}/open")["did"] == "resuming"
    until(lambda: machine.show(session)["attempt"] == 3 and machine.show(session)["is_running"], "its agent")
    until(lambda: machine.show(session)["session"]["attempts"][-1]["status"] == "ready", "its conversation")
    shown = machine.show(session)
    assert shown["session"]["on_hold"] == "the page" and shown["turn_since"] is None
    assert [one["by"] for one in shown["session"]["prompts"] if one["state"] == "queued"] == ["rekindle"]


def test_opening_a_session_closes_no_question_about_it(machine: Machine, door: Door) -> None:
    session = machine.begin("say one", "fail unauthorized", options=("--policy", "ask"))
    [asked] = until(machine.questions, "a question")
    machine.kill(machine.pids(session)["agent"])
    until(lambda: not machine.show(session)["is_running"], "its end")
    told = door.post(f"/sessions/{session}/open")
    assert (told["did"], told["why"]) == ("nothing", "your answer decides how it goes on")
    assert [one["id"] for one in machine.questions()] == [asked["id"]]


def test_a_session_whose_policy_is_never_is_shown_and_waits(machine: Machine, door: Door) -> None:
    session = machine.begin("say one", "sleep 60", options=("--policy", "never"))
    machine.until_said(session, "one")
    machine.kill(machine.pids(session)["agent"])
    until(lambda: not machine.show(session)["is_running"], "its end")
    assert door.post(f"/sessions/{session}/open")["did"] == "nothing"
    assert machine.show(session)["attempt"] == 1


def test_queued_prompts_are_changed_reordered_and_withdrawn_before_they_are_sent(machine: Machine, door: Door) -> None:
    session = machine.begin("say one", "sleep 4", "say over")
    machine.until_said(session, "one")
    for name, text in (("a", "say first"), ("b", "say second"), ("c", "say third"), ("d", "say fourth")):
        told = door.post(f"/sessions/{session}/prompts", {"text": text, "prompt_id": name})
        assert told["prompt"]["state"] == "queued"
    assert door.ask(f"/api/v1/sessions/{session}/prompts/b", method="DELETE").status == 200
    changed = door.ask(f"/api/v1/sessions/{session}/prompts/c", {"text": "say changed"}, method="PATCH")
    assert changed.status == 200
    order = door.ask(f"/api/v1/sessions/{session}/queue", {"prompts": ["d", "c", "a"]}, method="PUT")
    assert [one["id"] for one in order.json["prompts"]] == ["d", "c", "a"]
    until(lambda: not door.get(f"/sessions/{session}/queue")["prompts"], "the queue to be sent")
    machine.until_status(session, "waiting")
    heard = "".join(
        one["text"] for one in door.get(f"/sessions/{session}/conversation?from=0")["entries"] if one["kind"] == "said"
    )
    assert [one for one in heard.split() if one in ("first", "second", "third", "changed", "fourth")] == [
        "fourth",
        "changed",
        "first",
    ]
    late = door.ask(f"/api/v1/sessions/{session}/prompts/a", method="DELETE")
    assert late.status == 409 and late.json["code"] == "prompt_sent"


def test_one_question_is_answered_in_two_tabs_and_the_first_counts(machine: Machine, door: Door) -> None:
    session = machine.begin("ask May I?", "say thank you")
    [asked] = until(lambda: door.get("/inbox")["questions"], "a question")
    assert asked["session"] == session and asked == machine.questions()[0]
    first = door.ask(f"/api/v1/questions/{asked['id']}/answer", {"option": "allow", "client": "tab 1"})
    again = door.ask(f"/api/v1/questions/{asked['id']}/answer", {"option": "allow", "client": "tab 1"})
    second = door.ask(f"/api/v1/questions/{asked['id']}/answer", {"option": "deny", "client": "tab 2"})
    assert (first.status, again.status, second.status) == (200, 200, 409)
    assert second.json["code"] == "answered_already" and "tab 1" in second.json["detail"]


def test_a_request_that_is_sent_again_with_its_key_acts_once_also_after_a_kill(machine: Machine) -> None:
    with opened(machine) as door:
        session = machine.begin("say one")
        machine.until_status(session, "waiting")
        told = [
            door.ask(f"/api/v1/sessions/{session}/prompts", {"text": "say two"}, Idempotency_Key="k1") for _ in range(2)
        ]
        assert [one.status for one in told] == [202, 202] and told[0].body == told[1].body
        other = door.ask(f"/api/v1/sessions/{session}/prompts", {"text": "say three"}, Idempotency_Key="k1")
        assert other.status == 422 and other.json["code"] == "key_reused"
        order = {"prompt": "say done", "agent": "scripted", "cwd": str(machine.work)}
        job = door.ask("/api/v1/jobs", order, Idempotency_Key="k2").json["job"]["id"]
        door.process.send_signal(signal.SIGKILL)
        door.process.wait()
    with opened(machine) as door:
        again = door.ask("/api/v1/jobs", order, Idempotency_Key="k2")
        assert again.status == 201 and again.json["job"]["id"] == job
        assert [one["id"] for one in door.get("/jobs")["jobs"]] == [job]
        assert sum(one["text"] == "say two" for one in machine.show(session)["session"]["prompts"]) == 1


def test_a_secret_for_reading_never_acts(machine: Machine, door: Door) -> None:
    session = machine.begin("say one")
    machine.until_status(session, "waiting")
    with open(os.path.join(os.path.dirname(door.secret_file), "secret-read-only"), encoding="ascii") as file:
        reading = file.read().strip()
    assert door.ask("/api/v1/sessions", secret=reading).status == 200
    assert door.ask("/metrics", secret=reading).status == 200
    assert door.ask("/api/v1/me", secret=reading).json["read_only"] is True
    for path in ("prompts", "resume", "restore", "stop", "open", "cancel", "hold", "fork"):
        told = door.ask(f"/api/v1/sessions/{session}/{path}", {"text": "say no"}, secret=reading)
        assert told.status == 403 and told.json["code"] == "read_only", path

    async def over_websocket() -> list[Any]:
        async with door.live(reading) as live:
            return [
                await live.ask("task.session.prompt", session=session, text="say no"),
                await live.ask("task.session.resume", session=session),
                await live.ask("task.session.status", session=session),
            ]

    prompted, resumed, shown = asyncio.run(over_websocket())
    assert prompted["error"]["code"] == resumed["error"]["code"] == "read_only" and shown["ok"]
    assert len(machine.show(session)["session"]["prompts"]) == 1


def test_a_link_lets_somebody_in_once(machine: Machine, door: Door) -> None:
    link = machine.ok("open", "--print").strip()
    assert link.startswith(door.url + "#code=")
    code = link.partition("#code=")[2]
    first = door.ask("/api/v1/pair", {"code": code}, secret="")
    assert first.status == 200 and first.json == {"secret": door.secret, "read_only": False}
    assert door.ask("/api/v1/pair", {"code": code}, secret="").status == 401
    code = machine.ok("open", "--print", "--read-only").strip().partition("#code=")[2]
    told = door.ask("/api/v1/pair", {"code": code}, secret="").json
    assert told["read_only"] is True and told["secret"] != door.secret
    assert os.stat(door.secret_file).st_mode & 0o777 == 0o600
    assert machine.ok("open", "--close").strip() == "The door is closed."
    assert not os.path.exists(os.path.join(os.path.dirname(door.secret_file), "door.json"))


def test_the_door_opens_in_a_daemon_that_runs_already_and_keeps_its_signals(machine: Machine) -> None:
    machine.begin("say one")
    told = json.loads(machine.ok("open", "--json"))
    assert told["url"].startswith("http://127.0.0.1:") and "#code=" in told["link"]
    second = machine.start("serve", "--http", "--json")
    assert second.stdout is not None
    assert json.loads(second.stdout.readline())["url"] == told["url"]
    machine.ok("serve", "--stop")
    assert second.wait(SECONDS) == 0
    second.stdout.close()


def test_search_report_doctor_and_the_rest_answer(machine: Machine, door: Door) -> None:
    subprocess.run(["git", "init", "-q", str(machine.work)], check=True)
    session = machine.begin("say a needle in the hay", "write made.txt content")
    machine.until_status(session, "waiting")
    [hit] = door.get("/search?q=needle")["hits"][:1]
    assert hit["hit"]["session"] == session
    for path in ("/report", "/doctor", "/agents", "/machine", "/governor", "/runbooks/default", "/features", "/jobs"):
        assert door.get(path)
    assert not any("git repository" in one["what"] for one in door.get("/doctor")["findings"])
    assert door.get(f"/sessions/{session}/receipts") == {"session": session, "receipts": []}
    snapshots = door.get(f"/sessions/{session}/snapshots")["snapshots"]
    assert snapshots == json.loads(machine.look("snapshots", session, "--json"))["snapshots"]
    bad = door.ask("/api/v1/runbooks/check", {"text": "[agent.x]\nrun = 3\n"})
    assert bad.status == 400 and bad.json["code"] == "bad_runbook" and bad.json["details"]["line"]
    told = door.post("/agents/resume", {"id": session})
    assert told["resumed"] == [] and told["skipped"][0][0] == session
    figures = door.ask("/metrics").body.decode()
    assert 'rekindle_sessions{agent="scripted",status="waiting"} 1.0' in figures
    assert "rekindle_disk_bytes" in figures and "rekindle_recovery_seconds_bucket" in figures


def test_a_job_is_retried_with_or_without_its_conversation(machine: Machine, door: Door) -> None:
    order = {"prompt": "say one\nsleep 60\nsleep 60", "agent": "scripted", "cwd": str(machine.work)}
    job = door.post("/jobs", order)["job"]
    session = until(lambda: door.get(f"/jobs/{job['id']}")["job"]["session"], "its session")
    machine.until_said(session, "one")
    assert door.post(f"/jobs/{job['id']}/cancel")["job"]["status"] == "cancelled"
    again = door.post(f"/jobs/{job['id']}/retry?resume=true")["job"]
    assert again["status"] in ("queued", "running")
    until(lambda: door.get(f"/jobs/{job['id']}")["job"]["resume_count"] == 1, "the same conversation")
    told = door.get(f"/jobs/{job['id']}")["job"]
    assert told["session"] == session
    door.post(f"/jobs/{job['id']}/cancel")
    assert door.post(f"/jobs/{job['id']}/retry?resume=false")["job"]["status"] in ("queued", "running")

    def fresh() -> bool:
        now = door.get(f"/jobs/{job['id']}")["job"]["claude_session_id"]
        return now not in (None, told["claude_session_id"])

    until(fresh, "another conversation")
    refused = door.ask(f"/api/v1/jobs/{job['id']}/retry?resume=perhaps", {})
    assert refused.status == 400 and refused.json["code"] == "usage"
    assert door.ask("/api/v1/jobs/jffffffff/retry?resume=true", {}).status == 404


def test_a_job_is_submitted_with_everything_that_the_command_line_takes(machine: Machine, door: Door) -> None:
    order = {
        "prompt": "say one",
        "agent": "scripted",
        "cwd": str(machine.work),
        "timeout": 60.0,
        "max_cost": 2.5,
        "max_age": 3600.0,
        "max_resumes": 4,
        "priority": 1,
        "retries": 2,
        "every": "0 3 * * *",
        "zone": "Asia/Tbilisi",
    }
    job = door.post("/jobs", order)["job"]
    assert {name: job[name] for name in order} == order
    assert datetime.fromtimestamp(job["next_at"], ZoneInfo("Asia/Tbilisi")).hour == 3
    refused = door.ask("/api/v1/jobs", {**order, "zone": "Mars/Olympus"})
    assert (refused.status, refused.json["code"]) == (400, "usage")
