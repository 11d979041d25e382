"""One suite for what hosts of a fleet tell about themselves: the store that they share, and the fake."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import pytest

from rekindle.adapters.sql_store.open import open_store
from rekindle.adapters.sql_store.shared_hosts import SharedHosts
from rekindle.ports.hosts import HostReport, Hosts, RunningAttempt
from tests.conformance.shared_fleet import NOW, begin
from tests.fakes.hosts import FakeHosts
from tests.fakes.placements import Fleet
from tests.postgres import new_database
from tests.sessions import created, folded


@dataclass(frozen=True)
class Yard:
    of: Callable[[str], Hosts]
    begin: Callable[[str, str], None]


@pytest.fixture(params=["postgresql", "fake"])
def yard(request: pytest.FixtureRequest) -> Iterator[Yard]:
    with ExitStack() as parts:
        if request.param == "fake":
            fleet = Fleet()
            yield Yard(
                lambda host: FakeHosts(fleet, host), lambda host, name: fleet.begin(folded([created(name)]), host)
            )
            return
        url = new_database()
        parts.callback(open_store(url, now=NOW, host="a").store.close)

        def of(host: str) -> Hosts:
            made = SharedHosts(url, host)
            parts.callback(made.close)
            return made

        yield Yard(of, partial(begin, url))


def test_every_host_sees_what_each_told_last_and_when(yard: Yard) -> None:
    a, b = yard.of("a"), yard.of("b")
    running = (RunningAttempt("one", 1, "alive", 42, answers=True),)
    assert b.everything() == []
    assert b.tell(HostReport(labels=("gpu",), capacity=4, in_use=1, version="1.2")) == "ready"
    a.tell(HostReport(capacity=2))
    a.tell(HostReport(capacity=None, in_use=3, running=running))
    yard.begin("a", "one")
    yard.begin("a", "two")
    first, second = b.everything()
    assert (first.host, first.state, first.report.capacity, first.report.in_use) == ("a", "ready", None, 3)
    assert (first.report.running, first.sessions) == (running, 2)
    assert (second.host, second.report.labels, second.report.version, second.sessions) == ("b", ("gpu",), "1.2", 0)
    assert 0.0 <= first.seen_seconds_ago < 60.0
    assert (a.host, b.host) == ("a", "b")
    for one in (a, b):
        one.close()


def test_a_state_stays_until_it_is_changed_whatever_its_host_tells(yard: Yard) -> None:
    a, b = yard.of("a"), yard.of("b")
    b.change("cordoned")
    assert b.tell(HostReport(in_use=1)) == "cordoned"
    a.tell(HostReport())
    b.change("draining")
    assert [(one.host, one.state) for one in a.everything()] == [("a", "ready"), ("b", "draining")]
    assert b.everything()[1].report.in_use == 1, "what it told stays"
    b.change("ready")
    assert b.tell(HostReport()) == "ready"


def test_a_host_that_is_forgotten_is_listed_again_when_it_tells_something(yard: Yard) -> None:
    a, b = yard.of("a"), yard.of("b")
    a.tell(HostReport())
    b.tell(HostReport(labels=("gpu",)))
    b.change("cordoned")
    yard.begin("b", "one")
    assert not a.forget("b", 60.0), "it was seen a moment ago"
    assert not a.forget("nobody", 0.0)
    assert [one.host for one in a.everything()] == ["a", "b"]
    assert a.forget("b", 0.0)
    assert [one.host for one in a.everything()] == ["a"]
    assert not a.forget("b", 0.0)
    assert b.tell(HostReport()) == "ready"
    assert [(one.host, one.sessions) for one in a.everything()] == [("a", 0), ("b", 1)], "its sessions are still its"


def test_how_long_ago_a_host_was_seen_grows_until_it_tells_again(yard: Yard) -> None:
    a = yard.of("a")
    a.tell(HostReport())
    before = a.everything()[0].seen_seconds_ago
    while (later := a.everything()[0].seen_seconds_ago) <= before:
        pass
    while a.everything()[0].seen_seconds_ago <= later:
        pass
    grown = a.everything()[0].seen_seconds_ago
    a.tell(HostReport())
    assert a.everything()[0].seen_seconds_ago < grown + 60.0
