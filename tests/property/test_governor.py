"""The governor's pure parts, for any facts: what is heard twice counts once, and nobody overtakes the queue."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rekindle.core.governor import facts as g
from rekindle.core.governor.asking import take, taken
from rekindle.core.governor.machine import evolve
from rekindle.core.governor.queueing import LimitWait, schedule
from rekindle.core.governor.rules import GovernorRules
from rekindle.core.governor.spending import spent_since, windows
from rekindle.core.governor.state import Governor, LimitNews

NAMES = st.sampled_from(["a", "b", "c"])
TIMES = st.floats(0, 10_000)
SEQS = st.integers(1, 60)
PAID = st.builds(g.TurnPaid, at=TIMES, session=NAMES, turn=NAMES, cost=st.floats(0, 5), over=st.booleans(), seq=SEQS)
FACTS: st.SearchStrategy[g.GovernorFact] = st.one_of(
    st.builds(g.RestartCounted, at=TIMES, session=NAMES, effect=NAMES, seq=st.just(0) | SEQS),
    st.builds(g.ProgressHeard, at=TIMES, session=NAMES, seq=SEQS),
    PAID,
    st.builds(g.LimitHeard, at=TIMES, session=NAMES, limit=NAMES, until=TIMES, seq=SEQS),
    st.builds(g.Returned, at=TIMES, session=NAMES, prompt=NAMES, limit=NAMES),
    st.builds(g.RestartsAllowed, at=TIMES, by=NAMES),
    st.builds(g.CapRaised, at=TIMES, about=NAMES, to=st.floats(0, 9), by=NAMES),
)
RULES = st.builds(
    GovernorRules,
    restarts=st.none() | st.integers(1, 5),
    restart_seconds=st.floats(1, 10_000),
    cost_per_day=st.none() | st.floats(0.1, 5),
    cost_per_night=st.none() | st.floats(0.1, 5),
    returns_per_minute=st.integers(1, 30),
)
WAITING = st.lists(
    st.builds(
        LimitWait,
        session=st.text("abcdefgh", min_size=1, max_size=3),
        limit=st.just("l"),
        prompt=st.just("p"),
        since=TIMES,
        due=TIMES,
        urgency=st.integers(-1, 1),
        asks=st.booleans(),
    ),
    max_size=20,
    unique_by=lambda one: one.session,
)


@given(st.lists(FACTS, max_size=30), RULES)
def test_what_was_recorded_leads_to_the_same_state_without_any_rules_and_twice_to_the_same_as_once(
    facts: list[g.GovernorFact], rules: GovernorRules
) -> None:
    state, kept = taken(None, facts, rules, UTC)
    folded = Governor()
    for fact in kept:
        folded = evolve(folded, fact)
        assert evolve(folded, fact) == folded
    assert folded == state
    assert evolve(folded, g.GovernorKept(at=1.0, state=folded)) == folded


@given(st.lists(FACTS, max_size=40), RULES)
def test_there_is_one_question_for_the_breaker_and_restarts_are_stopped_while_it_is_open(
    facts: list[g.GovernorFact], rules: GovernorRules
) -> None:
    state = Governor()
    for fact in facts:
        state, _ = take(state, fact, rules, UTC)
        breaker = [one for one in state.questions if one.trigger == "breaker"]
        assert len(breaker) <= 1
        assert rules.restarts is not None or not breaker
        abouts = [one.about for one in state.questions]
        assert len(abouts) == len(set(abouts))


@given(st.lists(PAID, max_size=30))
def test_no_dollar_is_counted_twice_and_none_is_missed(reports: list[g.TurnPaid]) -> None:
    """Each report has what the turn has cost so far, not what was added. One may come after the turn's end."""
    state, turns = Governor(), dict[str, float]()
    for number, report in enumerate(reports):
        state = evolve(state, replace(report, seq=number + 1))
        key = f"{report.session} {report.turn}"
        turns[key] = max(report.cost, turns.get(key, 0.0))
    assert abs(spent_since(state, -1.0, 1e9) - sum(turns.values())) < 1e-6


@given(st.lists(PAID, min_size=1, max_size=20), st.floats(2 * 86400, 1e8))
def test_a_clock_that_jumps_ahead_and_back_forgets_nothing_that_was_spent(
    reports: list[g.TurnPaid], ahead: float
) -> None:
    state = Governor()
    for number, report in enumerate(reports):
        state = evolve(state, replace(report, seq=number + 1))
    before = spent_since(state, -1.0, 1e5)
    late = g.TurnPaid(at=reports[-1].at + ahead, session="d", turn="d", cost=1.0, seq=1000)
    assert spent_since(evolve(state, late), -1.0, 1e5) == before


@given(WAITING, st.integers(1, 30), TIMES, st.none() | TIMES, st.none() | st.tuples(TIMES, TIMES))
def test_those_that_wait_for_one_limit_come_back_one_by_one_and_the_most_urgent_first(
    waiting: list[LimitWait], rate: int, now: float, last: float | None, news: tuple[float, float] | None
) -> None:
    rules = GovernorRules(returns_per_minute=rate)
    state = Governor(
        returns={} if last is None else {"l": min(last, now)},
        limits={} if news is None else {"l": LimitNews(*news)},
    )
    found = schedule(state, rules, waiting, now)
    who = {one.session: one for one in waiting}
    times = sorted(found.values())
    assert all(later - one >= rules.spacing - 1e-6 for one, later in pairwise(times))
    assert all(sum(start <= one < start + 59.999 for one in times) <= rate for start in times)
    assert all(at >= now and at >= who[name].due for name, at in found.items())
    assert set(found) == {one.session for one in waiting if one.asks or one.due > now - 3.0}
    if last is not None and times:
        assert times[0] - min(last, now) >= rules.spacing - 1e-6
    for name, at in found.items():
        ahead = [one for one, when in found.items() if when > at and who[one].order < who[name].order]
        late = news[1] if news is not None else 0.0
        assert all(max(who[one].due, late) > at for one in ahead), "whoever was overtaken could not come yet"


@given(TIMES, st.integers(1, 30))
def test_a_session_that_waits_alone_is_not_held_up(due: float, rate: int) -> None:
    alone = LimitWait("a", "l", "p", 0.0, due, asks=True)
    assert schedule(Governor(), GovernorRules(returns_per_minute=rate), [alone], due) == {"a": due}


@given(
    st.integers(1_700_000_000, 1_900_000_000),
    st.sampled_from([UTC, ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York"), timezone(timedelta(hours=5.75))]),
    st.integers(0, 1439),
    st.integers(0, 1439),
)
def test_now_is_in_todays_window_and_in_a_night_that_the_user_has_set(
    now: int, zone: timezone | ZoneInfo, begins: int, ends: int
) -> None:
    rules = GovernorRules(cost_per_day=1.0, cost_per_night=1.0, night=(begins, ends))
    found = windows(Governor(), rules, now, zone)
    assert [one.name for one in found].count("day") == 1
    assert all(one.since <= now < one.until for one in found)
    assert all(one.until - one.since <= 25 * 3600 for one in found)
    assert len(found) <= 2
    local = datetime.fromtimestamp(now, zone)
    minute = local.hour * 60 + local.minute
    is_night = begins <= minute < ends if begins <= ends else minute >= begins or minute < ends
    changes = (
        datetime.fromtimestamp(now - 86400, zone).utcoffset() != datetime.fromtimestamp(now + 86400, zone).utcoffset()
    )
    assert changes or is_night == (len(found) == 2)
