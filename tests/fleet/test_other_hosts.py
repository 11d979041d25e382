"""Commands that once spoke of their own host as if it were all there is: they answer for the fleet, or say where to."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import until
from tests.fleet.hosts import fleet_of
from tests.fleet.test_doors import REST

pytestmark = pytest.mark.timeout(300)


def test_a_report_is_about_all_hosts_and_names_them() -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        mine, other = b.begin("say here"), a.begin("say there")
        b.until_status(mine, *REST)
        a.until_status(other, *REST)
        until(lambda: "there" in b.said(other), "the copy")
        told = b.json("report")
        assert told["hosts"] == {mine: "b", other: "a"}
        assert {mine, other} <= {one["about"] for one in told["lines"]}
        assert told["problems"] == []
        shown = b.ok("report")
        assert f"{other} on a" in shown
        assert f"{mine} on b" in shown
        assert other in {one["about"] for one in a.json("report")["lines"]}, "its own host says the same"


def test_what_is_done_with_files_is_refused_for_a_session_of_another_host_with_the_way() -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        session = a.begin("say begin")
        a.until_status(session, *REST)
        file = str(b.home / "x.tar.gz")
        for words in (
            ("snapshots",),
            ("diff",),
            ("restore",),
            ("export", "-o", file),
            ("search", "begin", "--session"),
        ):
            told = b.run(*words, session)
            assert told.returncode == 4, (words, told)
            assert f"session {session} is on host a" in told.stderr, words
            assert "run this on a" in told.stderr, words
        assert session in a.ok("export", session, "-o", str(a.home / "x.tar.gz")), "on its own host it works"
        a.ok("snapshots", session)


def test_a_queue_is_shown_from_anywhere_and_changed_on_its_host() -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        session = a.begin("say begin", "stream 3000 0.1 word", options=("--policy", "ask"))
        a.until_said(session, "begin")
        b.json("send", session, "say later")
        queued = until(lambda: b.json("queue", session)["prompts"], "what waits, as b sees it")
        assert [one["text"] for one in queued] == ["say later"]
        assert "say later" in b.ok("queue", session)
        refused = b.run("queue", session, "--withdraw", queued[0]["id"])
        assert (refused.returncode, "run this on a" in refused.stderr) == (4, True)
        a.ok("queue", session, "--withdraw", queued[0]["id"])
        until(lambda: not b.json("queue", session)["prompts"], "an empty queue")


def test_search_says_that_it_was_this_host_only() -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        session = a.begin("say needle")
        a.until_status(session, *REST)
        assert "rekindle:" not in a.run("search", "needle").stderr, "nobody else has a session"
        told = b.run("search", "needle")
        assert "on this host only. Other hosts have 1 more session (a: 1)" in told.stderr
        assert [one["id"] for one in b.json("search", "needle")["elsewhere"]] == [session]


def test_stop_all_is_about_this_host_and_says_so_and_with_fleet_about_all() -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        mine = b.begin("say begin", "stream 3000 0.1 word", options=("--policy", "ask"))
        other = a.begin("say begin", "stream 3000 0.1 word", options=("--policy", "ask"))
        b.until_said(mine, "begin")
        until(lambda: b.status(other) == "working", "b sees that a's works")
        told = b.run("stop", "--all")
        assert mine in told.stdout and other not in told.stdout
        assert "Other hosts have 1 more session (a: 1): rekindle stop --all --fleet" in told.stderr
        assert a.status(other) == "working"
        told = b.json("stop", "--all", "--fleet")
        assert (told["stopped"], told["failed"]) == ([other], [])
        assert a.status(other) == "cancelled"
        wrong = b.run("stop", "--fleet", other)
        assert (wrong.returncode, "--fleet belongs to --all" in wrong.stderr) == (2, True)


def test_resume_all_says_what_other_hosts_have() -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        session = a.begin("say begin", "stream 3000 0.1 word", options=("--policy", "ask"))
        a.until_said(session, "begin")
        a.kill(a.pids(session)["keeper"])
        a.until_status(session, "interrupted")
        until(lambda: b.status(session) == "interrupted", "b sees it")
        told = b.run("resume", "--all")
        assert "Other hosts have 1 more session (a: 1)" in told.stderr
