"""One suite for which host has which session, and for hearing of changes: the shared store and the fake."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import pytest

from rekindle.adapters.sql_store.open import open_store
from rekindle.adapters.sql_store.postgres_feed import PostgresFeed
from rekindle.adapters.sql_store.shared_placements import SharedPlacements
from rekindle.core.session import facts as f
from rekindle.ports.placements import CommitFeed, PlacedElsewhere, Placements
from rekindle.ports.store import StaleGeneration
from tests.conformance.shared_fleet import NOW, begin
from tests.fakes.placements import FakeFeed, FakePlacements, Fleet
from tests.postgres import new_database
from tests.sessions import commit, created, folded


@dataclass(frozen=True)
class Yard:
    """A fleet: what each of its hosts sees, and how a host makes a session."""

    of: Callable[[str], Placements]
    begin: Callable[[str, str], None]
    feed: Callable[[], CommitFeed]


@pytest.fixture(params=["postgresql", "fake"])
def yard(request: pytest.FixtureRequest) -> Iterator[Yard]:
    with ExitStack() as parts:
        if request.param == "fake":
            fleet = Fleet()
            yield Yard(
                lambda host: FakePlacements(fleet, host),
                lambda host, name: fleet.begin(folded([created(name)]), host),
                lambda: FakeFeed(fleet),
            )
            return
        url = new_database()

        def of(host: str) -> Placements:
            parts.callback(open_store(url, now=NOW, host=host).store.close)
            made = SharedPlacements(url, host)
            parts.callback(made.close)
            return made

        def feed() -> CommitFeed:
            made = PostgresFeed(url)
            parts.callback(made.close)
            return made

        yield Yard(of, partial(begin, url), feed)


def test_a_session_is_on_the_host_that_made_it_until_another_takes_it(yard: Yard) -> None:
    a, b = yard.of("a"), yard.of("b")
    yard.begin("a", "one")
    yard.begin("b", "two")
    found = a.find("one")
    assert found is not None
    assert (found.host, found.session, b.host) == ("a", folded([created("one")]), "b")
    assert b.find("three") is None
    assert [(one.session.id, one.host) for one in a.everything()] == [("one", "a"), ("two", "b")]
    assert a.named("") == {"one": "a", "two": "b"}
    assert (a.named("on"), a.named("one"), a.named("oned"), a.named("o%")) == ({"one": "a"}, {"one": "a"}, {}, {})
    taken = b.take("one", before="a", at=5.0)
    assert (taken.host, taken.since, taken.session.id) == ("b", 5.0, "one")
    assert a.find("one") == taken
    assert [(one.session.id, one.host) for one in a.everything()] == [("one", "b"), ("two", "b")]
    for one in (a, b):
        one.close()


def test_who_looks_too_long_takes_nothing(yard: Yard) -> None:
    a, b, c = yard.of("a"), yard.of("b"), yard.of("c")
    yard.begin("a", "one")
    b.take("one", before="a", at=5.0)
    with pytest.raises(PlacedElsewhere):
        c.take("one", before="a", at=6.0)
    with pytest.raises(PlacedElsewhere):
        a.take("one", before="a", at=6.0)
    with pytest.raises(PlacedElsewhere):
        c.take("unheard of", before="a", at=6.0)
    again = b.take("one", before="b", at=9.0)
    assert (again.host, again.since) == ("b", 5.0), "taking what one has changes nothing"


def test_of_many_that_take_a_session_at_once_one_has_it(yard: Yard) -> None:
    yard.begin("a", "one")
    hosts = [yard.of(f"h{number}") for number in range(6)]
    won: list[str] = []
    gate = threading.Barrier(len(hosts))

    def try_it(host: Placements) -> None:
        gate.wait()
        try:
            won.append(host.take("one", before="a", at=1.0).host)
        except PlacedElsewhere:
            pass

    threads = [threading.Thread(target=try_it, args=(host,)) for host in hosts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = hosts[0].find("one")
    assert found is not None
    assert won == [found.host]


def test_when_a_session_was_copied_is_said_by_its_host_only(yard: Yard) -> None:
    a, b = yard.of("a"), yard.of("b")
    yard.begin("a", "one")
    before = a.find("one")
    assert before is not None
    assert (before.copied_at, before.is_in_place) == (None, True)
    assert (a.uncopied(), b.uncopied()) == (["one"], [])
    a.copied("one", 0.5)
    assert a.uncopied() == ["one"], "it has changed since"
    b.copied("one", 6.0)
    a.copied("one", 5.0)
    assert a.uncopied() == []
    assert [one.copied_at for one in b.everything()] == [5.0]
    taken = b.take("one", before="a", at=7.0)
    assert (taken.copied_at, taken.is_in_place) == (5.0, False)
    a.copied("one", 8.0)
    after = a.find("one")
    assert after is not None
    assert after.copied_at == 5.0


def test_a_feed_tells_of_what_any_host_commits_and_then_is_silent(yard: Yard) -> None:
    yard.of("a")
    feed = yard.feed()
    assert feed.wait(0.0), "what came before may be news"
    assert not feed.wait(0.05)
    yard.begin("a", "one")
    yard.begin("b", "two")
    assert feed.wait(10.0)
    while feed.wait(0.2):
        pass
    yard.begin("a", "three")
    assert feed.wait(10.0)
    feed.close()


def test_a_host_that_lost_a_session_is_refused_and_sees_it_no_longer() -> None:
    url = new_database()
    a, b = (open_store(url, now=NOW, host=host).store for host in "ab")
    first, more = created("one"), f.ResumeAsked(at=2.0, by="late")
    commit(a, folded([first]), [first], generation=1)
    placements = SharedPlacements(url, "b")
    placements.take("one", before="a", at=3.0)
    with pytest.raises(StaleGeneration, match="host b"):
        commit(a, folded([first, more]), [more], generation=99)
    assert (a.session("one"), a.sessions(), a.named(""), a.facts()) == (None, [], [], [])
    assert (b.session("one"), b.facts("session", "one")) == (None, []), "it is not in place yet"
    commit(b, folded([first, more]), [more], generation=1)
    assert [one.fact for one in b.facts("session", "one")] == [first, more]
    assert b.named("") == ["one"]
    placements.close()
    for store in (a, b):
        store.close()
