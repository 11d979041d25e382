"""Jobs, schedules and answers outlive the store: what is beside it leads to the same state."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rekindle.adapters.sql_store.kept_streams import KeptStreams, complete, has_any, put_back
from rekindle.core.fact import Fact
from rekindle.core.governor.state import Governor
from rekindle.core.inbox import features as w
from rekindle.core.job import facts as jf
from rekindle.core.streams import FEATURE, GOVERNOR, JOB, StreamKind
from rekindle.ports.store import Store, StoreChange
from tests.fakes.store import FakeStore, InlineAccess
from tests.governors import governors_life
from tests.job_stage import Stage, order, step
from tests.sessions import a_life

JOB_ID = "j00000001"
BEGAN = w.FeatureBegan(at=1.0, repository="/r", feature="shop", run="r1")


def kept(folder: Path, *changes: tuple[StreamKind, str, list[Fact]]) -> FakeStore:
    """A store with these facts, and what is kept of them."""
    store = FakeStore()

    async def story() -> None:
        access = KeptStreams(InlineAccess(store), str(folder))
        for stream, subject, facts in changes:
            for fact in facts:
                await access.commit(StoreChange(stream, subject, [fact]))

    asyncio.run(story())
    return store


def facts_of(store: Store, stream: StreamKind, subject: str) -> list[Fact]:
    return [one.fact for one in store.facts(stream, subject)]


def a_jobs_life() -> list[Fact]:
    return list(Stage(order(step("a", "one"), step("b", "two", "a")), ["die", "well", "well"]).run().facts)


def test_a_job_and_a_schedule_are_the_same_after_the_store_was_lost(tmp_path: Path) -> None:
    schedule = jf.JobSubmitted(at=1.0, job="j00000002", order=order(every="0 * * * *", zone="UTC"))
    told = jf.NextTimeSet(at=2.0, next_at=3600.0)
    lost = kept(tmp_path, ("job", JOB_ID, a_jobs_life()), ("job", "j00000002", [schedule, told]))
    assert has_any(str(tmp_path))
    store = FakeStore()
    report = put_back(store, str(tmp_path))
    assert "2 jobs and schedules" in report[-1]
    for name in (JOB_ID, "j00000002"):
        assert facts_of(store, JOB.kind, name) == facts_of(lost, JOB.kind, name)
    assert put_back(store, str(tmp_path)) == [], "once"


def test_what_people_have_answered_for_all_sessions_is_known_after_the_store_was_lost(tmp_path: Path) -> None:
    lost = kept(tmp_path, ("governor", "all", list(governors_life())))
    store = FakeStore()
    put_back(store, str(tmp_path))
    before = GOVERNOR.folded(facts_of(lost, "governor", "all"))  # type: ignore[arg-type]
    after = GOVERNOR.folded(facts_of(store, "governor", "all"))  # type: ignore[arg-type]
    assert before is not None and after is not None
    assert (after.raised, after.settled, after.stopped) == (before.raised, before.settled, before.stopped)
    assert after.heard == Governor().heard, "what sessions tell is heard again"


def test_what_was_asked_about_a_feature_is_known_after_the_store_was_lost(tmp_path: Path) -> None:
    name = w.subject("/r", "shop")
    kept(tmp_path, ("feature", name, [BEGAN]))
    store = FakeStore()
    put_back(store, str(tmp_path))
    assert FEATURE.folded(facts_of(store, "feature", name)) is not None  # type: ignore[arg-type]


def test_who_is_killed_between_the_store_and_the_file_completes_it_at_the_next_start(tmp_path: Path) -> None:
    facts = a_jobs_life()
    store = kept(tmp_path, ("job", JOB_ID, facts[:-2]))
    store.commit([StoreChange("job", JOB_ID, facts[-2:])])
    complete(store, str(tmp_path))
    again = FakeStore()
    put_back(again, str(tmp_path))
    assert facts_of(again, "job", JOB_ID) == facts


def test_a_store_of_an_earlier_rekindle_gets_its_files_at_the_first_start(tmp_path: Path) -> None:
    store = FakeStore()
    store.commit([StoreChange("job", JOB_ID, a_jobs_life())])
    complete(store, str(tmp_path))
    again = FakeStore()
    put_back(again, str(tmp_path))
    assert facts_of(again, "job", JOB_ID) == facts_of(store, "job", JOB_ID)


def test_a_line_that_was_cut_off_costs_only_itself_and_the_next_one_is_whole(tmp_path: Path) -> None:
    facts = a_jobs_life()
    store = kept(tmp_path, ("job", JOB_ID, facts[:3]))
    file = tmp_path / "job" / f"{JOB_ID}.jsonl"
    file.write_bytes(file.read_bytes()[:-5])

    async def go_on() -> None:
        await KeptStreams(InlineAccess(store), str(tmp_path)).commit(StoreChange("job", JOB_ID, [facts[3]]))

    asyncio.run(go_on())
    again = FakeStore()
    put_back(again, str(tmp_path))
    assert facts_of(again, "job", JOB_ID) == [*facts[:2], facts[3]]


def test_a_file_that_cannot_be_read_is_named_and_left(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / f"{JOB_ID}.jsonl").write_bytes(b"\xff\xfe nonsense\n")
    [told] = put_back(FakeStore(), str(tmp_path))
    assert JOB_ID in told and "cannot be read" in told


def test_a_full_disk_costs_the_copy_and_not_the_commit(tmp_path: Path) -> None:
    (tmp_path / "job").write_text("in the way")
    store = kept(tmp_path, ("job", JOB_ID, a_jobs_life()))
    assert facts_of(store, "job", JOB_ID) == a_jobs_life()


def test_sessions_are_not_kept_a_second_time(tmp_path: Path) -> None:
    store = FakeStore()

    async def story() -> None:
        from tests.sessions import folded

        facts = a_life()[:1]
        change = StoreChange("session", "s1", facts, folded(facts), 1)
        await KeptStreams(InlineAccess(store), str(tmp_path)).commit(change)

    asyncio.run(story())
    assert list(tmp_path.iterdir()) == []
