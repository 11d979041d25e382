"""Any host of a fleet reaches the sessions of all: what is sent arrives once, and what is said is what is known."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

import rekindle
from rekindle.adapters.daemon_socket.client import is_served
from tests.e2e.daemon import Machine, until
from tests.fleet.hosts import fleet_of, kill_host, until_copied
from tests.postgres import new_cluster

pytestmark = pytest.mark.timeout(300)
REST = ("asleep", "waiting", "idle", "ready")


def prompts(machine: Machine, session: str) -> list[str]:
    """What people have sent to a session, in order."""
    told = machine.show(session)["session"]["prompts"]
    return [one["text"].splitlines()[0] for one in told if one["by"] == "user"]


@contextlib.contextmanager
def paused(machine: Machine) -> Iterator[None]:
    """The host's daemon does not answer meanwhile. It may be killed meanwhile, too."""
    pid = machine.daemon()
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def test_a_prompt_from_another_host_is_delivered_once_and_its_sender_is_told() -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        session = a.begin("say begin")
        a.until_status(session, *REST)
        sent = b.json("send", session, "say from afar")
        assert (sent["delivered"], sent["host"]) == (True, "a")
        assert "mail" not in sent
        a.until_said(session, "from afar")
        assert prompts(a, session) == ["say begin", "say from afar"]
        assert prompts(b, session) == prompts(a, session), "b sees the same session"
        listed = {one["id"]: one for one in b.sessions()}
        assert (listed[session]["host"], listed[session]["title"]) == ("a", "say begin")
        assert "HOST" in b.ok("ps", "--all")
        assert f"{session}  a" in b.ok("ps", "--all")
        assert "host      a" in b.ok("show", session[:6])
        shown = b.run("send", "nobody", "say x")
        assert (shown.returncode, "there is no session 'nobody'" in shown.stderr) == (2, True)


def test_commands_about_a_session_of_another_host_do_the_same_as_there() -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        session = a.begin("say begin", "stream 3000 0.1 word", options=("--policy", "ask"))
        a.until_said(session, "begin")
        assert f"{session}: on hold" in b.ok("hold", session)
        assert a.show(session)["session"]["on_hold"]
        assert "asked to end its turn" in b.ok("cancel", session)
        a.until_status(session, *REST)
        refused = b.run("cancel", session)
        assert refused.returncode == 2 and "no turn running" in refused.stderr
        refused = b.run("hurry", session)
        assert (refused.returncode, "is not waiting" in refused.stderr) == (2, True), "the other host's own words"
        stopped = b.json("stop", session, "--sleep")
        assert (stopped["status"], stopped["is_running"], stopped["host"]) == ("asleep", False, "a")
        back = b.json("resume", session)
        assert (back["is_back"], back["host"], back["receipt"]["kind"]) == (True, "a", "same")
        assert a.status(session) in REST
        b.ok("wait", session, "--timeout", "60")
        b.ok("stop", session)
        assert a.status(session) == "cancelled"


def test_of_two_hosts_that_answer_the_first_counts_and_the_second_is_told_by_whom() -> None:
    with fleet_of("a", "b", "c") as hosts:
        a, b, c = hosts["a"], hosts["b"], hosts["c"]
        session = a.begin("ask May I?", "say after")
        asked = until(b.questions, "the question, seen from b")
        assert [(one["session"], one["host"]) for one in asked] == [(session, "a")]
        question = asked[0]["id"]
        assert "on host a" in b.ok("inbox")
        first = b.start("answer", question, "allow", "--json")
        second = c.start("answer", question, "deny", "--json")
        told = [one.communicate(timeout=120)[0] for one in (first, second)]
        codes = [first.returncode, second.returncode]
        assert sorted(codes) == [0, 4], told
        lost = told[codes.index(4)]
        assert "already answered" in lost
        assert f"on host {'bc'[codes.index(0)]}" in lost, "who was faster, and where"
        assert b.questions() == []
        a.until_status(session, *REST)


def test_a_prompt_that_nobody_has_taken_yet_is_said_to_be_recorded_and_is_delivered_once_later() -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        session = a.begin("say begin")
        a.until_status(session, *REST)
        with paused(a):
            sent = b.json_of("send", session, "say patience")
            assert sent["mail"] == {**sent["mail"], "host": "a", "is_taken": False}
            assert "recorded; host a has not taken it yet" in sent["mail"]["told"]
            assert sent["delivered"] is False
            a.kill_daemon()
        assert prompts(b, session) == ["say begin"], "nobody says that it is there"
        a.ok("ps")  # starts the daemon again
        a.until_said(session, "patience")
        assert prompts(a, session) == ["say begin", "say patience"]


def test_a_message_that_waits_goes_with_its_session_to_a_third_host() -> None:
    with fleet_of("a", "b", "c") as hosts:
        a, b, c = hosts["a"], hosts["b"], hosts["c"]
        session = a.begin("say begin", options=("--worktree", "--policy", "ask"))
        a.until_status(session, *REST)
        until_copied(a, session)
        c.ok("ps")
        kill_host(a, session)
        waits = b.json_of("send", session, "say wherever you are")
        assert waits["mail"]["is_taken"] is False
        c.ok("fleet", "takeover", session, "--host-is-gone")
        c.until_said(session, "wherever you are")
        assert prompts(b, session) == ["say begin", "say wherever you are"]
        assert {one["host"] for one in b.sessions()} == {"c"}


def test_what_makes_sense_only_now_is_withdrawn_from_a_host_that_does_not_answer() -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        session = a.begin("say begin", "stream 3000 0.1 word", options=("--policy", "ask"))
        until(lambda: b.show(session)["turn_since"], "a turn, as b sees it")
        with paused(a):
            refused = b.run("cancel", session)
            assert refused.returncode == 1
            assert "it was withdrawn, and nothing was done" in refused.stderr
            kept = b.run("hold", session)
            assert kept.returncode == 1
            assert "is recorded; host a has not taken it yet" in kept.stderr
            until(lambda: b.status(session) == "unknown", "b does not know how a's session is")
            assert "this host cannot see whether the agent works" in b.ok("ps")
        until(lambda: a.show(session)["session"]["on_hold"], "what was recorded is carried out")
        assert a.status(session) == "working", "what was withdrawn is not"
        until(lambda: b.status(session) == "working", "b sees it again")


def test_the_store_goes_away_and_comes_back_in_the_middle() -> None:
    cluster = new_cluster()
    with fleet_of("a", "b", url=cluster.url(cluster.database())) as hosts:
        a, b = hosts["a"], hosts["b"]
        session = a.begin("say begin")
        a.until_status(session, *REST)
        b.ok("ps")
        cluster.stop()
        try:
            sending = b.start("send", session, "say through the night", "--json")
            told = b.run("ps")
            assert told.returncode == 1 and "cannot be reached" in told.stderr, "no list is better than a wrong one"
        finally:
            cluster.start()
        out = sending.communicate(timeout=240)[0]
        if out.startswith("{") and "host" in (told_b := json.loads(out)):  # delivered, or recorded and not taken yet
            assert told_b["host"] == "a"
            a.until_said(session, "through the night")
        else:  # the store was away for longer than it was tried
            assert "it is not known whether" in out or "cannot be reached" in out, out
        b.json("send", session, "say morning")
        a.until_said(session, "morning")
        sent = prompts(a, session)
        assert sent.count("say through the night") <= 1
        assert sent[-1] == "say morning"


def test_what_is_said_on_one_host_is_read_on_another_and_its_age_is_told() -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        session = a.begin("say begin", "stream 3000 0.1 word", options=("--policy", "ask"))
        b.until_said(session, "begin")
        read = b.run("logs", session)
        assert read.returncode == 0
        assert "this is a copy from host a" in read.stderr
        assert "from host a" in json.loads(b.ok("logs", session, "--json"))["source"]
        assert "source" not in json.loads(a.ok("logs", session, "--json")), "a reads the original"
        follower = b.start("logs", "-f", "--jsonl", session)
        try:
            assert follower.stdout is not None
            words = 0
            while words < 60:  # more than was copied when it began
                line = follower.stdout.readline()
                words += json.loads(line)["text"].count("word") if line.startswith("{") else 0
        finally:
            follower.send_signal(signal.SIGINT)
            follower.communicate(timeout=60)
        a.ok("stop", session, "--sleep")
        until_copied(a, session)
        until(lambda: b.said(session) == a.said(session), "the same words on both hosts")
        told = b.run("attach", session, stdin="")
        assert told.returncode == 0, told.stderr
        assert "begin" in told.stdout
        b.json("send", session, "say and on")
        b.until_said(session, "and on")


def test_a_host_without_a_daemon_starts_one_to_look_at_the_fleet() -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        session = a.begin("say begin")
        a.until_status(session, *REST)
        assert not os.path.exists(b.places.daemon_lock)
        assert [one["id"] for one in b.sessions()] == [session]
        b.ok("serve", "--stop")
        until(lambda: not is_served(b.places), "the end of b's daemon")
        assert b.show(session)["host"] == "a"


def test_every_host_shows_all_hosts_what_runs_on_each_and_when_it_was_seen() -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        session = a.begin("say begin", "stream 3000 0.1 word", options=("--policy", "ask"))
        a.until_said(session, "begin")
        b.ok("ps")

        def seen() -> dict[str, dict[str, Any]]:
            return {one["host"]: one for one in b.json("fleet", "status")["hosts"]}

        until(lambda: seen().keys() == {"a", "b"} and seen()["a"]["report"]["in_use"] == 1, "both hosts, one at work")
        found = seen()
        assert [found[name]["sessions"] for name in "ab"] == [1, 0]
        assert found["a"]["state"] == "ready"
        assert found["a"]["report"]["version"] == rekindle.__version__
        ran = until(lambda: seen()["a"]["report"]["running"], "what still runs on a, by its own runtime", 120)
        assert [(one["session"], one["state"], one["pid"]) for one in ran] == [
            (session, "alive", a.pids(session)["agent"])
        ]
        lines = b.ok("fleet", "status").splitlines()
        assert lines[0] == "This is host b."
        assert lines[1].startswith("host a: not a worker, seen ") and "1 of at most" in lines[1]
        assert lines[3].startswith(f"{session}  on a  working")
        with paused(a):
            until(lambda: "may be gone" in b.ok("fleet", "status").splitlines()[2], "a is silent, and comes last")
