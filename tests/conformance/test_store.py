"""One suite for the store port: the database and the fake keep the same promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from rekindle.adapters.sql_store.open import open_store
from rekindle.core.daemon_lives import DaemonBegan, DaemonLeft
from rekindle.core.governor.facts import GovernorFact, ProgressHeard
from rekindle.core.governor.state import SUBJECT
from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.state import State
from rekindle.core.streams import GOVERNOR
from rekindle.ports.errors import BadEvent
from rekindle.ports.store import OutboxEntry, Recorded, StaleGeneration, Store, StoreChange, commit_one, of_session
from tests.fakes.store import Disk, FakeStore
from tests.governors import governors_life
from tests.postgres import new_database
from tests.sessions import a_life, commit, created, facts_of, folded

Connect = Callable[[], Store]
NOW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture(params=["sqlite", "fake", "postgresql", "postgresql, a host's part"])
def connect(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Connect]:
    disk = Disk()
    made: list[Store] = []
    place = new_database() if request.param.startswith("postgresql") else tmp_path / "deep" / "store.db"
    host = "here" if request.param.endswith("part") else None

    def one() -> Store:
        made.append(FakeStore(disk) if request.param == "fake" else open_store(place, now=NOW, host=host).store)
        return made[-1]

    yield one
    for store in made:
        store.close()


@pytest.fixture
def store(connect: Connect) -> Store:
    return connect()


def put(store: Store, facts: list[AnyFact], generation: int = 9) -> list[int]:
    return commit(store, folded(facts), facts, generation=generation)


def test_a_store_that_was_just_made_is_empty(store: Store) -> None:
    assert store.sessions() == []
    assert store.facts() == []
    assert store.outbox() == []
    assert store.named("") == []
    assert store.session("s1") is None


def test_every_kind_of_fact_and_the_session_are_read_back_as_they_were(connect: Connect) -> None:
    life = a_life()
    assert {type(fact) for fact in life} == set(get_args(AnyFact))
    store = connect()
    told: list[AnyFact] = []
    for fact in life:
        told.append(fact)
        commit(store, folded(told), [fact], generation=9)
        assert store.session("s1") == folded(told)
    again = connect()
    assert [one.fact for one in again.facts()] == life
    assert again.session("s1") == folded(facts_of(again.facts("session", "s1"))) == folded(life)
    assert again.sessions() == [folded(life)]


def test_facts_are_numbered_in_order_over_all_sessions_and_can_be_read_by_session(store: Store) -> None:
    a, b = created("a"), created("b")
    more = f.ResumeAsked(at=2.0, by="user")
    assert commit(store, folded([a]), [a]) == [1]
    assert commit(store, folded([b]), [b]) == [2]
    assert commit(store, folded([a, more, more]), [more, more]) == [3, 4]
    assert [(one.seq, one.subject, one.fact) for one in store.facts()] == [
        (1, "a", a),
        (2, "b", b),
        (3, "a", more),
        (4, "a", more),
    ]
    assert [one.seq for one in store.facts("session", "a")] == [1, 3, 4]
    assert [one.seq for one in store.facts("session", "b")] == [2]
    assert store.facts("session", "c") == []


def test_a_change_without_facts_changes_the_session_and_no_number(store: Store) -> None:
    put(store, [created("other")])
    assert commit(store, folded([created()]), []) == []
    assert store.session("s1") == folded([created()])
    assert put(store, [created("next")]) == [2]


def test_changes_that_come_together_are_made_in_order_and_one_that_is_refused_stops_no_other(store: Store) -> None:
    put(store, [created("a")], generation=5)
    late: list[AnyFact] = [f.ResumeAsked(at=2.0, by="late")]
    entry = OutboxEntry("e", "/r", "search", "checkpoint")
    made = store.commit(
        [
            of_session(folded([created("b")]), [created("b")], generation=1),
            of_session(folded([created("a"), *late]), late, generation=4, outbox=[entry]),
            of_session(folded([created("c")]), [created("c")], generation=1),
        ]
    )
    assert isinstance(made[1], StaleGeneration)
    assert [[one.seq for one in part] for part in made if not isinstance(part, StaleGeneration)] == [[2], [3]]
    assert [(one.seq, one.subject) for one in store.facts()] == [(1, "a"), (2, "b"), (3, "c")]
    assert store.session("a") == folded([created("a")])
    assert store.outbox() == []


def test_streams_of_other_kinds_are_numbered_among_sessions_and_read_by_kind_and_subject(store: Store) -> None:
    began, left = DaemonBegan(at=1.0, pid=7, version="1"), DaemonLeft(at=2.0, pid=7)
    put(store, [created("a")])
    told = commit_one(store, StoreChange("machine", "daemon", [began, left]))
    commit_one(store, StoreChange("machine", "other", [left]))
    put(store, [created("b")])
    assert told == [Recorded(2, "machine", "daemon", began), Recorded(3, "machine", "daemon", left)]
    assert [one.fact for one in store.facts("machine", "daemon")] == [began, left]
    assert [one.seq for one in store.facts("machine")] == [2, 3, 4]
    assert [one.seq for one in store.facts("session")] == [1, 5]
    assert [one.seq for one in store.facts(after=3)] == [4, 5]
    assert [one.id for one in store.sessions()] == ["a", "b"]


def test_the_governors_facts_are_read_back_as_they_were_and_lead_to_the_same_state(connect: Connect) -> None:
    told = governors_life()
    assert {type(fact) for fact in told} == set(get_args(GovernorFact))
    store = connect()
    put(store, [created("a")])
    for fact in told:
        commit_one(store, StoreChange("governor", SUBJECT, [fact]))
    put(store, [created("b")])
    again = connect()
    assert [one.fact for one in again.facts("governor", SUBJECT)] == told
    found = GOVERNOR.folded(one.fact for one in again.facts("governor", SUBJECT))  # type: ignore[misc]
    assert found == GOVERNOR.folded(told)
    assert [one.id for one in again.sessions()] == ["a", "b"]


def test_facts_can_be_read_by_their_own_names(store: Store) -> None:
    put(store, [created("a"), f.ResumeAsked(at=2.0, by="x"), f.Noticed(at=3.0, message="n")])
    commit_one(store, StoreChange("governor", SUBJECT, [ProgressHeard(at=4.0, session="a")]))
    put(store, [created("b"), f.Noticed(at=5.0, message="m")])
    assert [one.seq for one in store.facts(kinds=["noticed"])] == [3, 6]
    assert [one.seq for one in store.facts("session", kinds=["created", "noticed"], after=1, limit=2)] == [3, 5]
    assert [one.seq for one in store.facts("session", "b", kinds=["noticed"])] == [6]
    assert [one.seq for one in store.facts(kinds=["progress_heard"])] == [4]
    assert store.facts(kinds=[]) == []
    assert [one.seq for one in store.facts(kinds=["noticed"], newest=True)] == [6, 3]
    assert [one.seq for one in store.facts("session", limit=1, newest=True)] == [6]


def test_only_sessions_that_need_the_daemon_are_attended(store: Store) -> None:
    done: list[AnyFact] = [created("done"), f.StopAsked(at=2.0, by="me", to="cancelled")]
    commit(store, msgspec.structs.replace(folded(done), state=State.CANCELLED, stop_asked=None), done)
    put(store, [created("due")])
    assert [one.id for one in store.sessions(attended=True)] == ["due"]
    assert [one.id for one in store.sessions()] == ["done", "due"]


def test_facts_are_paged_by_number_and_limit(store: Store) -> None:
    put(store, [created(), *(f.ResumeAsked(at=float(n), by=str(n)) for n in range(10))])
    pages, after = [], 0
    while page := store.facts(after=after, limit=4):
        pages.append([one.seq for one in page])
        after = page[-1].seq
    assert pages == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11]]
    assert [one.seq for one in store.facts("session", "s1", after=9, limit=1)] == [10]


def test_a_lower_generation_is_refused_and_changes_nothing(store: Store) -> None:
    life: list[AnyFact] = [created(), f.Adopted(at=2.0, generation=5)]
    put(store, life, generation=5)
    late: list[AnyFact] = [*life, f.ResumeAsked(at=3.0, by="late")]
    entry = OutboxEntry("e", "/r", "search", "checkpoint")
    with pytest.raises(StaleGeneration, match=r"5.*4"):
        commit(store, folded(late), late[2:], generation=4, outbox=[entry])
    assert store.session("s1") == folded(life)
    assert len(store.facts()) == 2
    assert store.outbox() == []
    commit(store, folded(late), late[2:], generation=5)


def test_a_writer_is_fenced_off_by_any_later_write_of_a_higher_generation(store: Store) -> None:
    put(store, [created()], generation=1)
    commit(store, folded([created()]), [], generation=7)
    with pytest.raises(StaleGeneration):
        commit(store, folded([created()]), [], generation=6)
    put(store, [created("other")], generation=1)


class Breaks(list[AnyFact]):
    """Facts that can be read once: what reads them again, in the middle of a commit, fails."""

    read = 0

    def __iter__(self) -> Iterator[AnyFact]:
        self.read += 1
        if self.read > 1:
            raise RuntimeError("power cut")
        return super().__iter__()


def test_a_commit_that_fails_in_the_middle_leaves_nothing(connect: Connect) -> None:
    store = connect()
    put(store, [created()])
    entry = OutboxEntry("e", "/r", "search", "checkpoint")
    for life in (a_life("s1"), a_life("s2")):
        whole = of_session(folded([created("s3")]), [created("s3")], generation=9, outbox=[entry])
        broken = of_session(folded(life), Breaks(life[1:]), generation=9, outbox=[entry])
        with pytest.raises(RuntimeError, match="power cut"):
            store.commit([whole, broken])
    for one in (store, connect()):
        assert one.sessions() == [folded([created()])]
        assert len(one.facts()) == 1
        assert one.outbox() == []
    assert put(store, a_life("s2"))[-1] == 1 + len(a_life())


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}])
def test_what_is_no_json_is_refused_and_leaves_nothing(store: Store, value: object) -> None:
    entry = OutboxEntry("e", "/r", "search", "warning.logged", {"message": value})
    with pytest.raises(BadEvent):
        commit(store, folded([created()]), [created()], generation=1, outbox=[entry])
    if isinstance(value, float):
        with pytest.raises(BadEvent):
            commit(store, folded([created()]), [created(at=value)], generation=1)
    assert (store.sessions(), store.facts(), store.outbox()) == ([], [], [])


def test_the_outbox_gives_events_in_order_until_they_are_settled_and_takes_an_id_once(store: Store) -> None:
    entries = [OutboxEntry(f"e{n}", "/r\u00e9", "search", "task.started", {"taskId": str(n)}) for n in (3, 1, 2)]
    session = folded([created()])
    commit(store, session, [], generation=1, outbox=entries[:2])
    commit(store, session, [], generation=1, outbox=[entries[0], entries[2], entries[2]])
    assert store.outbox() == entries
    assert store.outbox(limit=2) == entries[:2]
    store.settle(["e3", "unheard of"])
    store.settle([])
    assert store.outbox() == entries[1:]
    commit(store, session, [], generation=1, outbox=entries)
    assert store.outbox() == entries[1:], "a settled event is not written again"


def test_another_connection_sees_what_was_committed_and_only_that(connect: Connect) -> None:
    writer, reader = connect(), connect()
    seen: list[object] = []

    class Looks(list[AnyFact]):
        def __iter__(self) -> Iterator[AnyFact]:
            seen.append((reader.session("s1"), reader.facts(), reader.outbox()))
            return super().__iter__()

    entry = OutboxEntry("e", "/r", "search", "checkpoint")
    commit(writer, folded([created()]), Looks([created()]), outbox=[entry])
    assert len(seen) > 1
    assert all(one == (None, [], []) for one in seen)
    assert reader.session("s1") == folded([created()])
    assert (len(reader.facts()), reader.outbox()) == (1, [entry])


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
    commit(store, folded(life), life, generation=1, outbox=[entry])
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


def test_a_store_that_nobody_moved_is_in_its_place(store: Store) -> None:
    put(store, [created()])
    assert store.stay_in_place() is False
    assert store.session("s1") == folded([created()])


def test_sessions_are_found_by_their_feature_to_the_letter(store: Store) -> None:
    for name, feature in (("a", "search"), ("b", "search2"), ("c", "caf\udce9"), ("d", "caf\\udce9")):
        put(store, [created(name, feature=feature)])
    put(store, [created("e")])
    assert [one.id for one in store.sessions(feature="search")] == ["a"]
    assert [one.id for one in store.sessions(feature="caf\udce9")] == ["c"]
    assert store.sessions(feature="nothing") == []


def test_what_is_kept_beside_sessions_is_made_anew_and_nothing_else(store: Store) -> None:
    put(store, a_life())
    before = store.session("s1"), store.facts()
    assert store.renew() == 0, "this version has written it"
    assert (store.session("s1"), store.facts()) == before


@pytest.mark.parametrize("text", ["\ud800", "\0", "caf\udce9\0"])
def test_what_cannot_be_an_id_names_nothing(store: Store, text: str) -> None:
    put(store, [created()])
    assert store.named(text) == []
    assert store.session(text) is None
    assert store.facts("session", text) == []
