"""One suite for messages to sessions from any host: the store that hosts share, and the fake."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import pytest

from rekindle.adapters.sql_store.open import open_store
from rekindle.adapters.sql_store.postgres_feed import PostgresFeed
from rekindle.adapters.sql_store.shared_mail import CHANNEL, SharedMail
from rekindle.adapters.sql_store.shared_placements import SharedPlacements
from rekindle.core.session import facts as f
from rekindle.ports.mail import Mail, Mailbox
from rekindle.ports.placements import CommitFeed, Placements
from tests.conformance.shared_fleet import NOW, begin
from tests.fakes.mail import FakeMail
from tests.fakes.placements import FakeFeed, FakePlacements, Fleet
from tests.postgres import new_database
from tests.sessions import commit, created, folded

DONE = '{"answer": {}}'


@dataclass(frozen=True)
class Post:
    """A fleet: its hosts' mailboxes and placements, how a host makes a session, and puts one that it took in place."""

    of: Callable[[str], Mailbox]
    places: Callable[[str], Placements]
    begin: Callable[[str, str], None]
    arrive: Callable[[str, str], None]
    feed: Callable[[], CommitFeed]


@pytest.fixture(params=["postgresql", "fake"])
def post(request: pytest.FixtureRequest) -> Iterator[Post]:
    with ExitStack() as parts:
        if request.param == "fake":
            fleet = Fleet()
            yield Post(
                lambda host: FakeMail(fleet, host),
                lambda host: FakePlacements(fleet, host),
                lambda host, name: fleet.begin(folded([created(name)]), host),
                lambda _host, name: fleet.arrive(name),
                lambda: FakeFeed(fleet),
            )
            return
        url = new_database()
        parts.callback(open_store(url, now=NOW, host="a").store.close)

        def of(host: str) -> Mailbox:
            made = SharedMail(url, host)
            parts.callback(made.close)
            return made

        def places(host: str) -> Placements:
            made = SharedPlacements(url, host)
            parts.callback(made.close)
            return made

        def arrive(host: str, name: str) -> None:
            store = open_store(url, now=NOW, host=host).store
            facts: list[f.AnyFact] = [created(name), f.ResumeAsked(at=2.0, by="the fleet")]
            commit(store, folded(facts), facts[1:], generation=9)
            store.close()

        def feed() -> CommitFeed:
            made = PostgresFeed(url, CHANNEL)
            parts.callback(made.close)
            return made

        yield Post(of, places, partial(begin, url), arrive, feed)


def letter(name: str = "m1", session: str = "one", **changes: str) -> Mail:
    told = {"kind": "send", "body": '{"text": "hello \\u0000 \\ud83d"}', "by": "pid 1 on host b"} | changes
    return Mail(name, session, at=5.0, sender="b", **told)  # type: ignore[arg-type]


def test_a_message_waits_until_the_host_that_has_the_session_takes_it(post: Post) -> None:
    a, b = post.of("a"), post.of("b")
    post.begin("a", "one")
    sent = b.post(letter())
    assert (sent.id, sent.sender, sent.body, sent.taken_by) == ("m1", "b", letter().body, None)
    assert (a.host, b.due(), b.take("m1"), b.settle("m1", DONE, 6.0)) == ("a", [], None, False)
    assert [one.id for one in a.due()] == ["m1"]
    taken = a.take("m1")
    assert taken is not None
    assert (taken.taken_by, taken.outcome, taken.by) == ("a", None, "pid 1 on host b")
    assert taken.after is not None
    assert [one.id for one in a.due()] == ["m1"], "who is killed now takes it again"
    assert a.settle("m1", DONE, 6.0)
    assert (a.due(), a.take("m1")) == ([], None)
    found = b.find("m1")
    assert found is not None
    assert found.outcome == DONE
    assert b.find("m2") is None
    for one in (a, b):
        one.close()


def test_posting_a_message_again_is_the_same_message(post: Post) -> None:
    a, b = post.of("a"), post.of("b")
    post.begin("a", "one")
    b.post(letter())
    assert b.post(letter(body='{"text": "another"}')).body == letter().body
    assert len(a.due()) == 1
    assert a.take("m1") is not None
    a.settle("m1", DONE, 6.0)
    assert b.post(letter()).outcome == DONE, "and what came of it is told again"
    assert a.due() == []


def test_what_comes_of_a_message_first_stays(post: Post) -> None:
    a = post.of("a")
    post.begin("a", "one")
    a.post(letter())
    a.take("m1")
    assert a.settle("m1", DONE, 6.0)
    assert not a.settle("m1", '{"error": {}}', 7.0)
    found = a.find("m1")
    assert found is not None
    assert found.outcome == DONE


def test_a_session_that_moves_takes_its_messages_along(post: Post) -> None:
    a, b, c = post.of("a"), post.of("b"), post.of("c")
    post.begin("a", "one")
    b.post(letter())
    first = a.take("m1")
    assert first is not None
    post.places("c").take("one", before="a", at=6.0)
    assert not a.settle("m1", DONE, 6.0), "a has lost it: what it did was refused"
    assert (a.due(), a.take("m1"), c.due(), c.take("m1")) == ([], None, [], None), "c does not work with it yet"
    post.arrive("c", "one")
    assert [one.id for one in c.due()] == ["m1"]
    again = c.take("m1")
    assert again is not None
    assert (again.taken_by, again.after) == ("c", first.after), "what happened since a took it is still known"
    assert c.settle("m1", DONE, 7.0)


def test_messages_come_in_the_order_in_which_they_were_posted(post: Post) -> None:
    a, b = post.of("a"), post.of("b")
    post.begin("a", "one")
    post.begin("a", "two")
    names = [f"m{number}" for number in (3, 1, 2, 9, 4)]
    for number, name in enumerate(names):
        b.post(letter(name, session="one" if number % 2 else "two"))
    assert [one.id for one in a.due()] == names


def test_a_message_is_withdrawn_only_before_somebody_takes_it(post: Post) -> None:
    a, b = post.of("a"), post.of("b")
    post.begin("a", "one")
    b.post(letter("m1"))
    b.post(letter("m2"))
    assert b.withdraw("m1", '{"error": {}}', 6.0)
    assert not b.withdraw("m1", '{"error": {}}', 6.0)
    assert a.take("m1") is None
    assert a.take("m2") is not None
    assert not b.withdraw("m2", '{"error": {}}', 6.0)
    assert not b.withdraw("m3", '{"error": {}}', 6.0)


def test_of_taking_and_withdrawing_at_once_one_wins(post: Post) -> None:
    post.begin("a", "one")
    a, b = post.of("a"), post.of("b")
    for number in range(10):
        name = f"m{number}"
        b.post(letter(name))
        gate = threading.Barrier(2)
        won: list[str] = []

        def take(name: str = name, gate: threading.Barrier = gate, won: list[str] = won) -> None:
            gate.wait()
            won.extend(["taken"] if a.take(name) is not None else [])

        def withdraw(name: str = name, gate: threading.Barrier = gate, won: list[str] = won) -> None:
            gate.wait()
            won.extend(["withdrawn"] if b.withdraw(name, DONE, 6.0) else [])

        threads = [threading.Thread(target=one) for one in (take, withdraw)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1


def test_settled_messages_are_forgotten_and_open_ones_are_not(post: Post) -> None:
    a = post.of("a")
    post.begin("a", "one")
    for name in ("m1", "m2", "m3"):
        a.post(letter(name))
    for name, at in (("m1", 6.0), ("m2", 8.0)):
        a.take(name)
        a.settle(name, DONE, at)
    assert a.forget(7.0) == 1
    assert [a.find(name) is not None for name in ("m1", "m2", "m3")] == [False, True, True]


def test_a_feed_tells_of_messages_and_of_what_came_of_them(post: Post) -> None:
    a, b = post.of("a"), post.of("b")
    post.begin("a", "one")
    feed = post.feed()
    assert feed.wait(0.0)
    while feed.wait(0.1):
        pass
    b.post(letter())
    assert feed.wait(10.0)
    while feed.wait(0.1):
        pass
    a.take("m1")
    a.settle("m1", DONE, 6.0)
    assert feed.wait(10.0)
    feed.close()
