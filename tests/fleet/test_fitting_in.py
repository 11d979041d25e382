"""A host that would harm its fleet is not let in: one name twice, another key, another place for copies or engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekindle.adapters.blobs.sealed import make_key
from rekindle.adapters.machine.fleet_terms import check_engine
from rekindle.ports.fleet_engine import EngineError
from tests.e2e.daemon import Machine
from tests.fleet.hosts import enlist, fleet_of
from tests.postgres import new_database

pytestmark = pytest.mark.timeout(300)


def refused(machine: Machine) -> str:
    told = machine.run("ps")
    assert told.returncode != 0
    assert "Traceback" not in told.stderr
    return told.stderr


def test_a_host_that_does_not_fit_in_is_told_why_and_harms_nobody(tmp_path: Path) -> None:
    url = new_database()
    with fleet_of("a", url=url) as hosts:
        a = hosts["a"]
        session = a.begin("say begin", "sleep 600", options=("--policy", "continue"))
        a.until_said(session, "begin")
        agent = a.pids(session)["agent"]
        other = Machine(tmp_path / "home", tmp_path / "work")
        other.work.mkdir(parents=True)
        key, origin = hosts.folder / "key", hosts.origin
        enlist(other, "a", url, key, origin)
        assert "another machine with the name a" in refused(other)
        assert not list(Path(other.places.sessions).glob("*/1")), "it has not taken a's session for its own"
        make_key(str(tmp_path / "key"))
        enlist(other, "b", url, tmp_path / "key", origin)
        assert "is not the key of this fleet" in refused(other)
        enlist(other, "b", url, key, origin, str(tmp_path / "mount"))
        assert "fleet_blobs" in refused(other)
        enlist(other, "b", url, key, origin)
        assert [one["host"] for one in other.sessions()] == ["a"]
        assert a.pids(session)["agent"] == agent and a.status(session) == "working"
        a.ok("serve", "--stop")
        assert a.status(session) == "working", "a itself is known again"
        other.clean_up()


def test_the_first_engine_is_the_fleets_engine() -> None:
    kept: dict[str, str] = {}

    def agreed(name: str, value: str) -> bool:
        return kept.setdefault(name, value) == value

    check_engine(agreed, "one")
    check_engine(agreed, "one")
    with pytest.raises(EngineError, match="another engine") as found:
        check_engine(agreed, "two")
    assert "fleet_terms" in found.value.hint
