"""`rekindle search` through the command line: real daemon, real scripted agent."""

from __future__ import annotations

import json
import stat
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.daemon import Machine

pytestmark = pytest.mark.timeout(240)
SECRET = "tr0ub4dor&3-and-more"


@pytest.fixture
def machine() -> Iterator[Machine]:
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        made = Machine(Path(folder, "home"), Path(folder, "work"))
        made.home.mkdir()
        made.work.mkdir()
        yield made
        made.clean_up()


def test_what_was_asked_said_and_done_is_found_with_and_without_a_daemon(machine: Machine) -> None:
    machine.ok("run", "say The albatross flies\nwrite a.txt pelican\nrun echo cormorant")
    machine.ok("run", "say nothing about birds")
    [first, second] = [row["id"] for row in machine.json("ps")["sessions"]]
    [*_, hit] = machine.json("search", "alba*")["hits"]
    assert (hit["session"], hit["attempt"], hit["agent"]) == (first, 1, "scripted")
    start, end = hit["marks"][0]
    assert hit["snippet"][start:end] == "albatross"
    assert {one["kind"] for one in machine.json("search", "cormorant")["hits"]} >= {"prompt", "tool_done"}
    machine.ok("serve", "--stop")
    assert f"{first}  say The albatross flies" in machine.ok("search", "albatross", "--limit", "1")
    assert "»albatross flies«" in machine.ok("search", '"albatross flies"')
    assert machine.json("search", "about birds", "--session", first[:8])["hits"] == []
    lines = machine.ok("search", "birds", "--jsonl", "--newest").splitlines()
    assert {json.loads(line)["session"] for line in lines} == {second}
    machine.ok("send", first, "say The flamingo stands", "--follow")  # the index has to take in a second attempt
    assert {one["attempt"] for one in machine.json("search", "flamingo stands")["hits"]} == {2}


def test_nothing_found_and_odd_queries_are_no_errors(machine: Machine) -> None:
    done = machine.run("search", "anything", "--json")
    assert (done.returncode, json.loads(done.stdout)) == (0, {"query": "anything", "hits": []})
    assert "Nothing was found" in done.stderr
    machine.ok("run", "say hello")
    for query in ('"', "*", "AND", "a OR", "NEAR(", "^x", "a:b", "-", "(", "text:hello", "'", "\\", "{}", "hello* AND"):
        assert machine.run("search", "--", query).returncode == 0, query
    assert machine.run("search").returncode == 2
    assert machine.run("search", "x", "--limit", "0").returncode == 2
    assert machine.run("search", "x", "--session", "nosuch").returncode == 2


def test_secrets_are_neither_shown_nor_in_the_index(machine: Machine) -> None:
    machine.ok("run", f"say my phrase is {SECRET}\nsay ghp_{'a1B2' * 9} too", DEPLOY_TOKEN=SECRET)
    machine.ok("serve", "--stop")
    told = machine.ok("search", "phrase") + machine.ok("search", "too")
    assert "[masked:DEPLOY_TOKEN]" in told and "[masked:github token]" in told
    assert machine.json("search", "tr0ub4dor")["hits"] == []
    index = Path(machine.places.search)
    for file in index.parent.glob("search.db*"):
        assert b"tr0ub4dor" not in file.read_bytes()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_index_can_be_thrown_away_spoilt_and_used_by_many_at_once(machine: Machine) -> None:
    machine.ok("run", "say The albatross flies")
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: machine.json("search", "albatross")["hits"], range(6)))
    assert all(one == found[0] and one for one in found)
    index = Path(machine.places.search)
    for spoilt in (b"", b"no database at all" * 1000, index.read_bytes()[:5000]):
        index.write_bytes(spoilt)
        assert machine.json("search", "albatross")["hits"] == found[0]
    index.unlink()
    assert machine.json("search", "albatross")["hits"] == found[0]
