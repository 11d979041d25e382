"""One suite for the store port: the database and the fake keep the same promises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest

from rekindle.adapters.sql_store.open import open_store
from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact
from rekindle.ports.errors import BadEvent
from rekindle.ports.store import OutboxEntry, StaleGeneration, Store
from tests.fakes.store import Disk, FakeStore
from tests.sessions import a_life, created, folded

Connect = Callable[[], Store]
NOW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture(params=["sqlite", "fake"])
def connect(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Connect]:
    disk = Disk()
    made: list[Store] = []

    def one() -> Store:
        made.append(
            FakeStore(disk) if request.param == "fake" else open_store(tmp_path / "deep" / "store.db", now=NOW).store
        )
        return made[-1]

    yield one
    for store in made:
        store.close()


@pytest.fixture
def store(connect: Connect) -> Store:
    return connect()


def put(store: Store, facts: list[AnyFact], generation: int = 9) -> int:
    return store.commit(folded(facts), facts, generation=generation)


def test_a_store_that_was_just_made_is_empty(store: Store) -> None:
    assert store.sessions() == []
    assert store.facts() == []
    assert store.outbox() == []
    assert store.named("") == []
    assert store.session("s1") is None
    assert store.offsets("s1") == {}


def test_every_kind_of_fact_and_the_session_are_read_back_as_they_were(connect: Connect) -> None:
    life = a_life()
    assert {type(fact) for fact in life} == set(get_args(AnyFact))
    store = connect()
    told: list[AnyFact] = []
    for fact in life:
        told.append(fact)
        store.commit(folded(told), [fact], generation=9)
        assert store.session("s1") == folded(told)
    again = connect()
    assert [one.fact for one in again.facts()] == life
    assert again.session("s1") == folded([one.fact for one in again.facts("s1")]) == folded(life)
    assert again.sessions() == [folded(life)]


def test_facts_are_numbered_in_order_over_all_sessions_and_can_be_read_by_session(store: Store) -> None:
    a, b = created("a"), created("b")
    more = f.ResumeAsked(at=2.0, by="user")
    assert store.commit(folded([a]), [a], generation=1) == 1
    assert store.commit(folded([b]), [b], generation=1) == 2
    assert store.commit(folded([a, more, more]), [more, more], generation=1) == 4
    assert [(one.seq, one.session, one.fact) for one in store.facts()] == [
        (1, "a", a),
        (2, "b", b),
        (3, "a", more),
        (4, "a", more),
    ]
    assert [one.seq for one in store.facts("a")] == [1, 3, 4]
    assert [one.seq for one in store.facts("b")] == [2]
    assert store.facts("c") == []


def test_a_commit_without_facts_returns_the_last_number(store: Store) -> None:
    assert store.commit(folded([created()]), [], generation=1) == 0
    put(store, [created("other")])
    assert store.commit(folded([created()]), [], generation=1, offsets={"out": 5}) == 1
    assert store.offsets("s1") == {"out": 5}


def test_facts_are_paged_by_number_and_limit(store: Store) -> None:
    put(store, [created(), *(f.ResumeAsked(at=float(n), by=str(n)) for n in range(10))])
    pages, after = [], 0
    while page := store.facts(after=after, limit=4):
        pages.append([one.seq for one in page])
        after = page[-1].seq
    assert pages == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11]]
    assert [one.seq for one in store.facts("s1", after=9, limit=1)] == [10]


def test_a_lower_generation_is_refused_and_changes_nothing(store: Store) -> None:
    life: list[AnyFact] = [created(), f.Adopted(at=2.0, generation=5)]
    put(store, life, generation=5)
    late: list[AnyFact] = [*life, f.ResumeAsked(at=3.0, by="late")]
    entry = OutboxEntry("e", "/r", "search", "checkpoint")
    with pytest.raises(StaleGeneration, match=r"5.*4"):
        store.commit(folded(late), late[2:], generation=4, outbox=[entry], offsets={"out": 1})
    assert store.session("s1") == folded(life)
    assert len(store.facts()) == 2
    assert (store.outbox(), store.offsets("s1")) == ([], {})
    store.commit(folded(late), late[2:], generation=5)


def test_a_writer_is_fenced_off_by_any_later_write_of_a_higher_generation(store: Store) -> None:
    put(store, [created()], generation=1)
    store.commit(folded([created()]), [], generation=7)
    with pytest.raises(StaleGeneration):
        store.commit(folded([created()]), [], generation=6)
    put(store, [created("other")], generation=1)


class Breaks(dict[str, int]):
    """Offsets that fail after the first one, in the middle of a commit."""

    def items(self) -> Iterable[tuple[str, int]]:  # type: ignore[override]
        yield "out", 7
        raise RuntimeError("power cut")


def test_a_commit_that_fails_in_the_middle_leaves_nothing(connect: Connect) -> None:
    store = connect()
    put(store, [created()])
    store.commit(folded([created()]), [], generation=9, offsets={"out": 1})
    entry = OutboxEntry("e", "/r", "search", "checkpoint")
    for life in (a_life("s1"), a_life("s2")):
        with pytest.raises(RuntimeError, match="power cut"):
            store.commit(folded(life), life[1:], generation=9, outbox=[entry], offsets=Breaks(out=7))
    for one in (store, connect()):
        assert one.sessions() == [folded([created()])]
        assert len(one.facts()) == 1
        assert one.offsets("s1") == {"out": 1}
        assert one.outbox() == []
    assert put(store, a_life("s2")) == 1 + len(a_life())


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}])
def test_what_is_no_json_is_refused_and_leaves_nothing(store: Store, value: object) -> None:
    entry = OutboxEntry("e", "/r", "search", "warning.logged", {"message": value})
    with pytest.raises(BadEvent):
        store.commit(folded([created()]), [created()], generation=1, outbox=[entry])
    if isinstance(value, float):
        with pytest.raises(BadEvent):
            store.commit(folded([created()]), [created(at=value)], generation=1)
    assert (store.sessions(), store.facts(), store.outbox()) == ([], [], [])


def test_offsets_are_kept_by_name_and_replaced(store: Store) -> None:
    session = folded([created()])
    store.commit(session, [], generation=1, offsets={"1/out": 10, "1/err": 2})
    store.commit(session, [], generation=1, offsets={"1/out": 2**40})
    put(store, [created("other")])
    assert store.offsets("s1") == {"1/out": 2**40, "1/err": 2}
    assert store.offsets("other") == {}


def test_the_outbox_gives_events_in_order_until_they_are_settled_and_takes_an_id_once(store: Store) -> None:
    entries = [OutboxEntry(f"e{n}", "/r\u00e9", "search", "task.started", {"taskId": str(n)}) for n in (3, 1, 2)]
    session = folded([created()])
    store.commit(session, [], generation=1, outbox=entries[:2])
    store.commit(session, [], generation=1, outbox=[entries[0], entries[2], entries[2]])
    assert store.outbox() == entries
    assert store.outbox(limit=2) == entries[:2]
    store.settle(["e3", "unheard of"])
    store.settle([])
    assert store.outbox() == entries[1:]
    store.commit(session, [], generation=1, outbox=entries)
    assert store.outbox() == entries[1:], "a settled event is not written again"


def test_another_connection_sees_what_was_committed_and_only_that(connect: Connect) -> None:
    writer, reader = connect(), connect()
    seen: list[object] = []

    class Looks(dict[str, int]):
        def items(self) -> Iterable[tuple[str, int]]:  # type: ignore[override]
            seen.append((reader.session("s1"), reader.facts(), reader.offsets("s1"), reader.outbox()))
            return super().items()

    entry = OutboxEntry("e", "/r", "search", "checkpoint")
    writer.commit(folded([created()]), [created()], generation=1, outbox=[entry], offsets=Looks(out=1))
    assert seen == [(None, [], {}, [])]
    assert reader.session("s1") == folded([created()])
    assert (len(reader.facts()), reader.offsets("s1"), reader.outbox()) == (1, {"out": 1}, [entry])


def test_ids_are_found_by_prefix_to_the_letter(store: Store) -> None:
    for name in ("abc", "abd", "Abe", "a%c", "a_x", "été"):
        put(store, [created(name)])
    assert store.named("ab") == ["abc", "abd"]
    assert store.named("A") == ["Abe"]
    assert store.named("a%") == ["a%c"]
    assert store.named("a_") == ["a_x"]
    assert store.named("é") == ["été"]
    assert store.named("abcd") == []
    assert len(store.named("")) == 6


ODD = ["\ud800 lone", "caf\udce9", "nul \0 in it", "\u2028 \n \r \t \x1b[0m", "🙂 é 漢", "", "x" * 100_000, "' -- ;"]


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_any_text_survives(store: Store, text: str) -> None:
    life: list[AnyFact] = [
        created(title=text, feature=text, task=text),
        f.PromptQueued(at=2.0, prompt=text, text=text),
        f.LaunchIntended(at=3.0, attempt=1, generation=1, how="load", token=text),
        f.Launched(at=4.0, attempt=1, folder=text, pid=1),
        f.Opened(at=5.0, attempt=1, how="load", token=text, known=[text]),
        f.ReceiptWritten(at=6.0, attempt=1, receipt=f.Receipt(kind="same", reason=text, unknown=[text])),
    ]
    entry = OutboxEntry("e", text, text, text, {"text": text, text: [None, 1.5, True]})
    store.commit(folded(life), life, generation=1, outbox=[entry])
    assert [one.fact for one in store.facts()] == life
    assert store.session("s1") == folded(life)
    assert store.outbox() == [entry]


def test_a_thousand_sessions_are_listed_oldest_first(connect: Connect) -> None:
    store = connect()
    for n in range(1000):
        put(store, [created(f"s{n:04}", at=float(1000 - n)), f.PromptQueued(at=2.0, prompt="p", text="do it")])
    found = connect().sessions()
    assert [one.id for one in found] == [f"s{n:04}" for n in reversed(range(1000))]
    assert all(one.queued[0].text == "do it" for one in found)
    assert len(store.named("s00")) == 100
    assert len(store.facts()) == 1000
    assert len(store.facts(limit=5000)) == 2000
