"""The page's door on one host of a fleet: sessions of another host are shown, read and told something through it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.e2e.daemon import until
from tests.e2e.door import Door, opened
from tests.fleet.hosts import fleet_of, until_copied
from tests.fleet.test_doors import REST, paused, prompts
from tests.fleet.test_newcomer import with_engine, working
from tests.temporal import the_server

pytestmark = pytest.mark.timeout(300)


def said(door: Door, session: str) -> list[str]:
    """What the agent said, as the page reads it."""
    page = door.get(f"/sessions/{session}/conversation?from=0&limit=500")
    return [one["text"] for one in page["entries"] if one["kind"] == "said"]


def refused(door: Door, path: str, body: Any = None, method: str = "") -> tuple[int, dict[str, Any]]:
    found = door.ask(f"/api/v1{path}", body, method=method)
    assert found.status >= 400, (path, found)
    return found.status, found.json


def test_a_session_of_another_host_is_shown_read_and_told_something() -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        session = a.begin("say begin", "stream 3000 0.1 word", options=("--policy", "ask"))
        a.until_said(session, "begin")
        with opened(b) as door:
            listed = door.get("/sessions")
            assert (listed["host"], [(one["id"], one["host"]) for one in listed["sessions"]]) == ("b", [(session, "a")])
            shown = until(lambda: _working(door.get(f"/sessions/{session}")), "a turn, as b sees it")
            assert shown["away"] == {
                "host": "a",
                "seen_seconds_ago": shown["away"]["seen_seconds_ago"],
                "may_be_gone": False,
                "takeover": f"rekindle fleet takeover {session} --host-is-gone",
            }
            until(lambda: "begin" in "".join(said(door, session)), "the copy")
            page = door.get(f"/sessions/{session}/conversation")
            assert page["session"] == session and page["source"].startswith("a copy from host a, as of ")
            before = page["total"], sum(len(one["text"]) for one in page["entries"])

            def grown() -> bool:
                now = door.get(f"/sessions/{session}/conversation")
                return (now["total"], sum(len(one["text"]) for one in now["entries"])) > before

            until(grown, "more of the same copy")
            looked = door.post(f"/sessions/{session}/open")
            assert (looked["did"], "on host a" in looked["why"]) == ("nothing", True), "a look starts nothing"
            held = door.post(f"/sessions/{session}/hold")
            assert (held["host"], a.show(session)["session"]["on_hold"]) == ("a", "the page on host b")
            stopped = door.post(f"/sessions/{session}/stop", {"to": "asleep"})
            assert (stopped["status"], stopped["is_running"]) == ("asleep", False)
            back = door.post(f"/sessions/{session}/resume")
            assert (back["did"], back["view"]["is_back"], back["view"]["host"]) == ("resuming", True, "a")
            assert "session" not in back["view"], "a view, not the whole"
            [receipt] = door.get(f"/sessions/{session}/receipts")["receipts"]
            assert (receipt["attempt"], receipt["receipt"]["kind"]) == (2, "same")
            sent = door.post(f"/sessions/{session}/prompts", {"text": "say from the page", "prompt_id": "p-page"})
            assert sent["prompt"]["text"] == "say from the page" and "mail" not in sent
            a.until_said(session, "from the page")
            again = door.post(f"/sessions/{session}/prompts", {"text": "say from the page", "prompt_id": "p-page"})
            assert again["prompt"]["id"] == "p-page"
            assert prompts(a, session).count("say from the page") == 1
            until(lambda: "from the page" in "".join(said(door, session)), "the answer, in the copy")
            a.until_status(session, *REST)
            until_copied(a, session)
            there = a.json("logs", session)["entries"]
            words = "".join(one["text"] for one in there if one["kind"] == "said")
            until(lambda: "".join(said(door, session)) == words, "the same words on both hosts")


def _working(shown: dict[str, Any]) -> dict[str, Any] | None:
    return shown if shown["status"] == "working" else None


def test_what_nobody_has_taken_is_said_to_be_recorded_and_what_is_only_there_names_its_host() -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        session = a.begin("say begin", "stream 3000 0.1 word", options=("--policy", "ask"))
        a.until_said(session, "begin")
        with opened(b) as door:
            until(lambda: door.get(f"/sessions/{session}")["status"] == "working", "a turn, as b sees it")
            for path in ("snapshots", "diff", "points", "facts"):
                status, told = refused(door, f"/sessions/{session}/{path}")
                assert (status, told["code"]) == (409, "placed_elsewhere"), path
                assert f"session {session} is on host a" in told["detail"], path
            for path, body in (("restore", {}), ("fork", {"at": "1", "prompt": "say x"})):
                assert refused(door, f"/sessions/{session}/{path}", body)[0] == 409, path
            status, told = refused(door, f"/sessions/{session}/queue", {"prompts": []}, method="PUT")
            assert (status, "its queue is changed there" in told["detail"]) == (409, True)
            assert asyncio.run(_watched(door, session))["error"]["code"] == "placed_elsewhere"
            assert "(a: 1)" in door.get("/search?q=begin")["not_searched"]
            with paused(a):
                sent = door.post(f"/sessions/{session}/prompts", {"text": "say patience"})
                assert "recorded; host a has not taken it yet" in sent["mail"]["told"]
                assert sent["prompt"]["state"] == "queued"
                status, told = refused(door, f"/sessions/{session}/hold", {})
                assert (status, told["code"], told["exit"]) == (504, "recorded", 1)
                assert "is recorded; host a has not taken it yet" in told["detail"]
                status, told = refused(door, f"/sessions/{session}/cancel", {})
                assert (status, told["code"]) == (504, "not_taken")
                assert "nothing was done" in told["detail"]
                shown = until(lambda: _unknown(door.get(f"/sessions/{session}")), "b does not know how it is")
                assert (shown["away"]["may_be_gone"], shown["is_running"], shown["next"]) == (
                    True,
                    False,
                    shown["away"]["takeover"],
                )
                assert "it may be gone. If it is: rekindle fleet takeover" in b.ok("show", session), "the same words"
                assert [one["id"] for one in door.get("/inbox")["parked"]] == [session]
            until(lambda: a.show(session)["session"]["on_hold"], "what was recorded is carried out")
            assert a.status(session) == "working", "what was withdrawn is not"


def _unknown(shown: dict[str, Any]) -> dict[str, Any] | None:
    return shown if shown["status"] == "unknown" else None


async def _watched(door: Door, session: str) -> Any:
    async with door.live() as live:
        return await live.ask("task.session.watch", session=session)


def test_a_question_of_another_host_is_in_the_inbox_and_answered_once() -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        session = a.begin("ask May I?", "say after")
        with opened(b) as door:
            [asked] = until(lambda: door.get("/inbox")["questions"], "the question, seen from b")
            assert (asked["session"], asked["host"]) == (session, "a")
            told = door.post(f"/questions/{asked['id']}/answer", {"option": "allow"})
            assert (told["question"], told["option"]) == (asked["id"], "allow_once")
            a.until_status(session, *REST)
            status, late = refused(door, f"/questions/{asked['id']}/answer", {"option": "deny"})
            assert (status, "on host b" in late["detail"]) == (409, True)
            assert door.get("/inbox")["questions"] == []


def test_jobs_of_the_fleet_are_listed_with_host_and_reason_and_ended_and_tried_again() -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        with_engine(hosts, the_server().address)
        with opened(b) as door:

            def submit(*script: str, options: tuple[str, ...] = ()) -> str:
                return b.ok("job", "submit", "--fleet", "--agent", "scripted", *options, "\n".join(script)).strip()

            def listed() -> dict[str, Any]:
                return {one["id"]: one for one in door.get("/jobs?every=true")["jobs"]}

            never = submit("say never", options=("--needs", "moon"))
            until(lambda: listed()[never]["why"], "why it waits")
            cli = {one["id"]: one for one in b.json("job", "list", "--all")["jobs"]}
            assert {name: (one["why"], one["host"]) for name, one in listed().items()} == {
                name: (one["why"], one["host"]) for name, one in cli.items()
            }, "the same words"
            with working(a):
                long = submit("say one", "sleep 600")
                found = until(
                    lambda: (one := listed()[long])["status"] == "running" and one["session"] and one, "a has it"
                )
                assert found["host"] == "a"
                until(
                    lambda: door.get(f"/sessions/{found['session']}")["away"]["host"] == "a", "its session, from here"
                )
                assert door.post(f"/jobs/{never}/cancel")["job"]["status"] == "cancelled"
                told = door.post(f"/jobs/{long}/cancel")["job"]
                assert (told["status"], told["host"]) == ("cancelled", "a")
                assert "cancelled by the page" in told["why"]
                again = door.post(f"/jobs/{long}/retry?resume=true")["job"]
                assert again["id"] == long
                until(lambda: listed()[long]["status"] == "running", "another try")
                door.post(f"/jobs/{long}/cancel")
