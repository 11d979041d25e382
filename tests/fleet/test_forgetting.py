"""A host that is gone for good leaves the list when nobody needs it any more, and nothing of a session is lost."""

from __future__ import annotations

import psycopg
import pytest

from tests.fleet.hosts import fleet_of, kill_host, placed, until_copied
from tests.postgres import new_database

pytestmark = pytest.mark.timeout(300)


def test_a_host_that_is_gone_is_listed_last_and_forgotten_when_its_sessions_are_elsewhere() -> None:
    url = new_database()
    with fleet_of("a", "b", url=url) as hosts:
        a, b = hosts["a"], hosts["b"]
        over = a.begin("say one")
        a.until_said(over, "one")
        a.ok("stop", over)
        work = a.begin("say two", "wait")
        a.until_said(work, "two")
        until_copied(a, work)
        b.ok("ps")
        told = b.run("fleet", "forget", "a")
        assert told.returncode == 2 and "host a was seen " in told.stderr and "it may come back" in told.stderr
        told = b.run("fleet", "forget", "c")
        assert told.returncode == 2 and "the fleet has no host 'c'" in told.stderr
        kill_host(a, work)
        with psycopg.connect(url) as db:
            db.execute("UPDATE hosts SET seen_at = seen_at - 90000 WHERE host = 'a'")
        lines = b.ok("fleet", "status").splitlines()
        assert lines[1].startswith("host b: ") and lines[2].startswith("host a: ")
        assert "last seen on 20" in lines[2] and "if it is gone for good: rekindle fleet forget a" in lines[2]
        assert [one["host"] for one in b.json("fleet", "status")["hosts"]] == ["b", "a"]
        told = b.run("fleet", "forget", "a")
        assert told.returncode == 2
        assert f"host a has a session that nobody has taken over: {work}" in told.stderr
        assert f"rekindle fleet takeover {work} --host-is-gone" in told.stderr and over not in told.stderr
        b.ok("fleet", "takeover", work, "--host-is-gone")
        found = b.json("fleet", "forget", "a")
        assert (found["host"], found["sessions"]) == ("a", [over])
        assert [one["host"] for one in b.json("fleet", "status")["hosts"]] == ["b"]
        assert b.run("fleet", "forget", "a").returncode == 2
        assert placed(b, over)["host"] == "a", "what was said stays where it was"
        assert "one" in b.ok("logs", over)
        a.ok("ps")
        assert [one["host"] for one in b.json("fleet", "status")["hosts"]] == ["a", "b"], "it came back"
        b.ok("stop", work)
