"""The governor at work over a store: what was spent, what it says about that, and what a lost store leaves of it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from rekindle.core.effects import Launch, Say
from rekindle.core.governor import facts as g
from rekindle.core.governor.admission import AutomaticStep, admission
from rekindle.core.governor.machine import MOST_TURNS, evolve
from rekindle.core.governor.rules import GovernorRules
from rekindle.core.governor.state import Governor
from rekindle.core.session import facts as f
from rekindle.core.session.plan import plan, wants_agent
from rekindle.core.session.state import OURS, Session
from rekindle.ports.store import StoreChange, StoreError
from rekindle.runtime.engine import Engine
from rekindle.runtime.governing import Governing
from tests.fakes.store import Disk, FakeStore, InlineAccess

#: A Tuesday, 12:00 UTC.
NOON = datetime(2026, 11, 17, 12, 0, tzinfo=UTC).timestamp()


class Desk:
    """One engine and one governor on a store, and a clock."""

    def __init__(self, rules: GovernorRules, disk: Disk | None = None) -> None:
        self.rules, self.now, self.disk = rules, NOON, disk or Disk()
        self.store = FakeStore(self.disk)
        access = InlineAccess(self.store)
        self.engine = Engine(access, lambda: self.now)
        self.governing = Governing(access, lambda: self.now, self.engine.at_hand, lambda: self.rules, UTC)
        self.engine.listeners.append(self.governing.listen)

    async def work(self, session: str, cost: float | None, *, fails: bool = False) -> Session:
        """A session that has had a turn, and has something of rekindle's own to say next."""
        turn: dict[str, Any] = {"attempt": 1, "prompt": "p1", "usage": f.Usage(1, 1, 0, cost)}
        await self.engine.create(f.Created(at=self.now, session=session, agent="a", cwd="/", policy="continue"))
        ended = (
            f.TurnFailed(at=self.now, error="rate_limited", message="m", retry_at=self.now + 100, **turn)
            if fails
            else f.TurnFinished(at=self.now, stop_reason="end_turn", **turn)
        )
        return await self.engine.record(
            session,
            f.PromptQueued(at=self.now, prompt="p1", text="one"),
            f.LaunchIntended(at=self.now, attempt=1, generation=1, how="new", token="t"),
            f.Launched(at=self.now, attempt=1, folder="/k", pid=1),
            f.Opened(at=self.now, attempt=1, how="new", token="t"),
            f.PromptSent(at=self.now, attempt=1, prompt="p1", message=1, text="one"),
            ended,
            f.PromptQueued(at=self.now, prompt="n1", text="go on", by=OURS),
            f.PromptQueued(at=self.now, prompt="p2", text="mine"),
        )

    async def may(self, session: Session, prompt: str = "n1") -> bool:
        found = await self.governing.admit(session, Say(session.id, 1, prompt, "x"))
        return found.is_granted


def test_past_the_days_limit_no_turn_begins_by_itself_and_one_question_is_asked() -> None:
    async def story() -> None:
        desk = Desk(GovernorRules(cost_per_day=5.0))
        first = await desk.work("s1", 4.0)
        assert await desk.may(first)
        second = await desk.work("s2", 2.0)
        assert not await desk.may(first)
        assert not await desk.may(second)
        assert await desk.may(first, "p2"), "what a person says is sent"
        state = await desk.governing.state()
        [asked] = state.questions
        assert "$6.00 today" in asked.title and "$5" in asked.title
        await desk.work("s3", 1.0)
        await desk.governing.look()
        assert (await desk.governing.state()).questions == [asked], "asked once"
        fact = g.GovernorAnswered(at=desk.now, question=asked.id, option="more", by="me")
        await desk.governing.tell(lambda _state: [fact])
        assert await desk.may(first)
        await desk.work("s4", 20.0)
        assert not await desk.may(first), "the higher limit holds too"
        assert len((await desk.governing.state()).questions) == 1

    asyncio.run(story())


def test_who_is_told_to_stay_stopped_is_until_midnight_and_nobody_is_asked_again() -> None:
    async def story() -> None:
        desk = Desk(GovernorRules(cost_per_day=5.0))
        first = await desk.work("s1", 6.0)
        found = await desk.governing.admit(first, Say("s1", 1, "n1", "x"))
        assert found.until == NOON + 12 * 3600
        [asked] = (await desk.governing.state()).questions
        stay = g.GovernorAnswered(at=desk.now, question=asked.id, option="stay", by="me")
        await desk.governing.tell(lambda _state: [stay])
        desk.now += 3600
        await desk.work("s2", 3.0)
        await desk.governing.look()
        assert not await desk.may(first)
        assert (await desk.governing.state()).questions == []
        desk.now = NOON + 12 * 3600 + 1
        assert await desk.may(first), "a new day"

    asyncio.run(story())


def test_a_question_about_spending_is_over_when_the_day_is_or_when_the_limit_is_raised() -> None:
    async def story() -> None:
        desk = Desk(GovernorRules(cost_per_day=5.0))
        await desk.work("s1", 6.0)
        await desk.governing.look()
        assert len((await desk.governing.state()).questions) == 1
        desk.rules = GovernorRules(cost_per_day=50.0)
        await desk.governing.look()
        state = await desk.governing.state()
        assert (state.questions, [one.how for one in state.settled]) == ([], ["expired"])
        desk.rules, desk.now = GovernorRules(cost_per_day=5.0), desk.now + 60
        await desk.governing.look()
        assert len((await desk.governing.state()).questions) == 1, "the old limit is back, and nobody had answered"

    asyncio.run(story())


def test_the_nights_limit_counts_what_was_spent_since_the_evening_and_ends_in_the_morning() -> None:
    async def story() -> None:
        desk = Desk(GovernorRules(cost_per_night=3.0, night=(22 * 60, 8 * 60)))
        first = await desk.work("s1", 100.0)
        assert await desk.may(first), "that was by day"
        desk.now = NOON + 13 * 3600  # 01:00
        assert await desk.may(first)
        await desk.work("s2", 4.0)
        found = await desk.governing.admit(first, Say("s1", 1, "n1", "x"))
        assert (found.is_granted, found.until) == (False, NOON + 20 * 3600)
        desk.now = NOON + 20 * 3600
        assert await desk.may(first)

    asyncio.run(story())


def test_an_agent_that_reports_no_cost_is_not_counted() -> None:
    async def story() -> None:
        desk = Desk(GovernorRules(cost_per_day=0.01))
        assert await desk.may(await desk.work("s1", None))

    asyncio.run(story())


def test_a_daemon_that_was_killed_hears_what_it_had_missed_and_counts_nothing_twice() -> None:
    async def story() -> Governor:
        desk = Desk(GovernorRules(cost_per_day=5.0))
        await desk.work("s1", 2.0)
        await desk.governing.look()
        await desk.work("s2", 1.0)  # nobody has listened to this one yet
        again = Desk(desk.rules, desk.disk)
        state = await again.governing.state()
        assert sum(state.paid.values()) == 3.0
        once_more = Desk(desk.rules, desk.disk)
        assert await once_more.governing.state() == state
        return state

    asyncio.run(story())


def test_what_a_lost_store_had_of_it_is_heard_again_from_the_sessions_that_were_rebuilt() -> None:
    async def story() -> None:
        desk = Desk(GovernorRules(cost_per_day=5.0))
        await desk.work("s1", 6.0)
        await desk.governing.look()
        rebuilt = Disk()
        for one in desk.store.sessions():
            facts = [row.fact for row in desk.store.facts("session", one.id)]
            await Engine(InlineAccess(FakeStore(rebuilt)), lambda: NOON).adopt(facts)  # type: ignore[arg-type]
        again = Desk(desk.rules, rebuilt)
        state = await again.governing.state()
        assert sum(state.paid.values()) == 6.0
        assert len(state.questions) == 1

    asyncio.run(story())


def test_a_commit_that_may_have_been_made_is_read_back_before_anything_is_decided() -> None:
    class Doubtful(FakeStore):
        fails = False

        def commit(self, changes: Any) -> Any:
            made = super().commit(changes)
            if self.fails and any(one.stream == "governor" for one in changes):
                raise StoreError("the disk does not answer", "look at it")
            return made

    async def story() -> None:
        desk = Desk(GovernorRules(cost_per_day=5.0))
        store = Doubtful(desk.disk)
        governing = Governing(InlineAccess(store), lambda: desk.now, desk.engine.at_hand, lambda: desk.rules, UTC)
        await desk.work("s1", 6.0)
        store.fails = True
        with pytest.raises(StoreError):
            await governing.state()
        store.fails = False
        state = await governing.state()
        assert sum(state.paid.values()) == 6.0
        assert len(state.questions) == 1

    asyncio.run(story())


def test_many_facts_are_summed_up_so_that_the_next_daemon_starts_fast() -> None:
    async def story() -> None:
        desk = Desk(GovernorRules())
        facts = [g.ProgressHeard(at=NOON, session=f"s{number}", seq=number + 1) for number in range(2100)]
        await desk.governing.tell(lambda _state: facts)
        await desk.governing.tell(lambda _state: [g.ProgressHeard(at=NOON, session="x", seq=9000)])
        assert len(desk.store.facts("governor", kinds=["governor_kept"])) == 1
        assert (await Desk(desk.rules, desk.disk).governing.state()).heard == 9000

    asyncio.run(story())


def test_a_start_that_a_person_wants_is_never_held_up() -> None:
    async def story() -> None:
        desk = Desk(GovernorRules(cost_per_day=1.0))
        session = await desk.work("s1", 6.0)
        gone = await desk.engine.record("s1", f.Exited(at=desk.now, attempt=1, how_ended="killed", by_us=False))
        assert not (await desk.governing.admit(gone, Launch("s1", 2))).is_granted
        asked = await desk.engine.record("s1", f.ResumeAsked(at=desk.now, by="me"))
        assert (await desk.governing.admit(asked, Launch("s1", 2))).is_granted
        assert session.id == "s1"

    asyncio.run(story())


def test_one_that_asked_for_its_place_after_a_limit_and_asks_no_more_holds_up_nobody() -> None:
    async def story() -> None:
        desk = Desk(GovernorRules(returns_per_minute=1))

        async def limited(name: str) -> Session:
            await desk.engine.create(f.Created(at=desk.now, session=name, agent="a", cwd="/", policy="continue"))
            queued = f.PromptQueued(at=desk.now, prompt="n1", text="go on", by=OURS, limit="a:five_hour", after=NOON)
            desk.now += 1  # the earlier one has waited longer
            return await desk.engine.record(name, queued)

        first, second, third = [await limited(name) for name in ("s1", "s2", "s3")]
        desk.now = NOON + 10
        assert await desk.may(first)
        desk.now += 40
        assert not await desk.may(second), "one in a minute"
        desk.now += 25
        assert not await desk.may(third), "the second one has just asked, and comes first"
        desk.now += 65
        assert await desk.may(third), "the second one does not ask again: a gate runs, or its agent has been held back"

    asyncio.run(story())


def test_past_the_limit_no_step_of_a_job_begins_and_it_begins_when_the_limit_is_raised() -> None:
    async def story() -> None:
        desk = Desk(GovernorRules(cost_per_night=5.0, night=(0, 23 * 60)))
        await desk.work("s1", 6.0)
        made = f.Created(at=desk.now, session="s2", agent="a", cwd="/", policy="continue", job="j00000001")
        await desk.engine.create(made)
        step = await desk.engine.record("s2", f.PromptQueued(at=desk.now, prompt="p0", text="tonight's step"))
        assert not (await desk.governing.admit(step, Launch("s2", 1))).is_granted, (
            "a schedule starts it, and nobody else"
        )
        desk.rules = GovernorRules(cost_per_night=50.0, night=(0, 23 * 60))
        assert (await desk.governing.admit(step, Launch("s2", 1))).is_granted

    asyncio.run(story())


def test_a_very_high_number_of_restarts_still_stops_them_at_what_is_remembered() -> None:
    async def story() -> None:
        desk = Desk(GovernorRules(restarts=1000))
        facts = [g.RestartCounted(at=NOON, session="s1", effect=f"launch-s1-{number}") for number in range(250)]
        state = await desk.governing.tell(lambda _state: facts)
        assert state.stopped is not None
        assert [one.trigger for one in state.questions] == ["breaker"]

    asyncio.run(story())


def test_a_report_of_costs_that_comes_after_its_turn_has_ended_adds_only_what_is_new() -> None:
    state = Governor()
    for seq, (cost, over) in enumerate([(3.0, False), (4.0, True), (4.0, False), (4.5, False)], start=1):
        state = evolve(state, g.TurnPaid(at=NOON, session="s1", turn="1 p1", cost=cost, over=over, seq=seq))
    assert sum(state.paid.values()) == 4.5


def test_turns_that_never_ended_are_not_remembered_for_ever() -> None:
    state = Governor()
    for number in range(MOST_TURNS + 50):
        paid = g.TurnPaid(at=NOON, session=f"s{number}", turn="1 p1", cost=0.5, over=False, seq=number + 1)
        state = evolve(state, paid)
    assert len(state.turns) == MOST_TURNS
    assert sum(state.paid.values()) == 0.5 * (MOST_TURNS + 50)


def test_the_next_daemon_reads_only_the_last_of_what_was_summed_up() -> None:
    class Read(FakeStore):
        most = 0

        def facts(self, *about: Any, **how: Any) -> Any:
            found = super().facts(*about, **how)
            self.most = max(self.most, sum(isinstance(one.fact, g.GovernorKept) for one in found))
            return found

    async def story() -> None:
        disk = Disk()
        kept = [g.GovernorKept(at=NOON, state=Governor(heard=number)) for number in range(5)]
        store = Read(disk)
        store.commit([StoreChange("governor", "all", kept)])
        desk = Desk(GovernorRules(), disk)
        governing = Governing(InlineAccess(store), lambda: NOON, desk.engine.at_hand, lambda: desk.rules, UTC)
        assert (await governing.state()).heard == 4
        assert store.most == 1

    asyncio.run(story())


def test_a_session_that_waits_for_a_person_does_not_say_that_it_waits_for_all_of_them() -> None:
    async def story() -> None:
        desk = Desk(GovernorRules(cost_per_day=5.0))
        await desk.work("s1", 6.0)
        made = f.Created(at=desk.now, session="s2", agent="a", cwd="/", policy="ask", limits=f.Limits(cost=1.0))
        await desk.engine.create(made)
        queued = f.PromptQueued(at=desk.now, prompt="n1", text="go on", by=OURS, limit="a:five_hour", after=NOON + 60)
        dead = await desk.engine.record(
            "s2",
            f.PromptQueued(at=desk.now, prompt="p1", text="one"),
            f.LaunchIntended(at=desk.now, attempt=1, generation=1, how="new", token="t"),
            f.Launched(at=desk.now, attempt=1, folder="/k", pid=1),
            f.Opened(at=desk.now, attempt=1, how="new", token="t"),
            f.PromptSent(at=desk.now, attempt=1, prompt="p1", message=1, text="one"),
            f.TurnFinished(at=desk.now, attempt=1, prompt="p1", stop_reason="end_turn", usage=f.Usage(1, 1, 0, 2.0)),
            queued,
            f.Exited(at=desk.now, attempt=1, how_ended="killed", by_us=False),
        )
        assert dead.over and dead.sendable and not wants_agent(dead), "it has reached its own limit"
        assert desk.governing.outlook(dead).is_granted
        assert desk.governing.foresee(dead, plan(dead, desk.now)).is_granted

    asyncio.run(story())


def test_who_only_looks_is_told_what_was_known_last_while_nothing_can_be_recorded() -> None:
    class Full(InlineAccess):
        async def commit(self, change: StoreChange) -> Any:
            raise StoreError("the disk is full", "free some room")

    async def story() -> None:
        desk = Desk(GovernorRules(cost_per_day=5.0))
        await desk.work("s1", 6.0)
        full = Governing(Full(desk.store), lambda: desk.now, desk.engine.at_hand, lambda: desk.rules, UTC)
        with pytest.raises(StoreError):
            await full.state()
        assert (await full.shown()).paid == {}, "`ps` lists sessions all the same"

    asyncio.run(story())


def test_who_asks_after_restarts_were_stopped_gets_one_restart_and_not_one_after_the_other() -> None:
    rules, state = GovernorRules(restarts=1), Governor()
    for fact in (g.RestartCounted(at=1.0, session="other", effect="e"), g.RestartsStopped(at=2.0)):
        state = evolve(state, fact)
    step = AutomaticStep("s", "launch-s-2", is_restart=True, is_in_vain=True)
    assert not admission(state, rules, step, [], 5.0).is_granted
    assert not admission(state, rules, msgspec.structs.replace(step, asked_at=1.5), [], 5.0).is_granted
    asked = msgspec.structs.replace(step, asked_at=3.0)
    found = admission(state, rules, asked, [], 5.0)
    assert found.is_granted
    for counted in found.facts:
        state = evolve(state, counted)
    assert admission(state, rules, asked, [], 5.0).is_granted, "it is the same one after a crash"
    assert not admission(state, rules, msgspec.structs.replace(asked, effect="launch-s-3"), [], 6.0).is_granted
