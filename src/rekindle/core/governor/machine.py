"""What a fact changes for all sessions together. `evolve` books facts and decides nothing. Pure."""

from __future__ import annotations

import hashlib
import json
from typing import Final, TypeVar, assert_never

from msgspec.structs import replace

from rekindle.core.governor import facts as g
from rekindle.core.governor.state import Governor, GovernorQuestion, GovernorSettled, LimitNews, Restart, Stopped

#: Spending is added up by this many seconds: a window can begin at any full five minutes.
BUCKET: Final = 300
#: How many such stretches are remembered, the ones last added to: a week of work without a pause. They are not counted
#: by the clock, which may jump ahead for a moment: today's spending would be forgotten.
MOST_BUCKETS: Final = 7 * 86400 // BUCKET
#: How many turns are remembered with what they have cost, the ones last heard of: a late report adds only what is new.
MOST_TURNS: Final = 2000
_MOST: Final = 200
#: How many restarts in vain are remembered.
MOST_RESTARTS: Final = 200
_MOST_RETURNED: Final = 5000
_MARK: Final = "q"
Key = TypeVar("Key", int, str)


def evolve(before: Governor | None, fact: g.GovernorFact) -> Governor:
    """The state after one more fact. A fact that was heard before changes nothing."""
    state = before or Governor()
    if isinstance(fact, g.RestartCounted | g.ProgressHeard | g.TurnPaid | g.LimitHeard) and fact.seq:
        if fact.seq <= state.heard:
            return state
        state = replace(state, heard=fact.seq)
    return _booked(state, fact)


def _booked(state: Governor, fact: g.GovernorFact) -> Governor:
    match fact:
        case g.RestartCounted():
            return _restarted(state, fact)
        case g.ProgressHeard():
            left = [one for one in state.restarts if one.session != fact.session]
            return state if len(left) == len(state.restarts) else replace(state, restarts=left)
        case g.TurnPaid():
            return _paid(state, fact)
        case g.LimitHeard():
            returned = {name: prompt for name, prompt in state.returned.items() if name != fact.session}
            limits = {**state.limits, fact.limit: LimitNews(fact.at, fact.until)}
            return replace(state, limits=_newest(limits), returned=returned)
        case g.Returned():
            if state.returned.get(fact.session) == fact.prompt:
                return state
            returned = {name: prompt for name, prompt in state.returned.items() if name != fact.session}
            newest = dict([*returned.items(), (fact.session, fact.prompt)][-_MOST_RETURNED:])
            return replace(state, returned=newest, returns={**state.returns, fact.limit: fact.at})
        case g.GovernorAsked():
            return _asked(state, fact)
        case g.GovernorAnswered() | g.GovernorClosed():
            return _over(state, fact)
        case g.RestartsAllowed():
            return state if state.stopped is None and not state.restarts else replace(state, stopped=None, restarts=[])
        case g.RestartsStopped():
            since = state.stopped.since if state.stopped is not None else fact.at
            return replace(state, stopped=Stopped(since, fact.by))
        case g.CapRaised():
            return replace(state, raised={**state.raised, fact.about: fact.to})
        case g.GovernorClockSet():
            return _moved(state, fact.by, fact.number) if fact.number > state.clock_sets else state
        case g.GovernorKept():
            return fact.state
        case _:
            assert_never(fact)


def question_id(fact: g.GovernorAsked) -> str:
    """The id of a question: it follows from what a person is shown."""
    shown = [fact.trigger, fact.about, fact.title, fact.detail, fact.options, fact.at]
    return _MARK + hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:10]


def newest(state: Governor) -> float:
    """The latest time that counts for something; 0: none does."""
    restarts = (one.at for one in state.restarts)
    limits = (one.at for one in state.limits.values())
    stopped = state.stopped.since if state.stopped is not None else 0.0
    return max([*restarts, *limits, *state.returns.values(), stopped])


def _moved(state: Governor, by: float, number: int) -> Governor:
    """Every time that is compared with now moves with the clock. The end of a limit, which is a time of the day, gets
    nearer when the clock is set forward.
    """
    stopped = state.stopped
    return replace(
        state,
        clock_sets=number,
        restarts=[replace(one, at=one.at + by) for one in state.restarts],
        limits={name: LimitNews(one.at + by, one.until + min(by, 0.0)) for name, one in state.limits.items()},
        returns={name: at + by for name, at in state.returns.items()},
        stopped=replace(stopped, since=stopped.since + by) if stopped is not None else None,
    )


def _restarted(state: Governor, fact: g.RestartCounted) -> Governor:
    if any(one.effect == fact.effect for one in state.restarts):
        return state
    return replace(state, restarts=[*state.restarts, Restart(fact.session, fact.effect, fact.at)][-MOST_RESTARTS:])


def _paid(state: Governor, fact: g.TurnPaid) -> Governor:
    """Only what was added since the last report of the same turn is new. A report may come after the turn's end."""
    key = f"{fact.session} {fact.turn}"
    before = state.turns.get(key, 0.0)
    added = max(0.0, fact.cost - before)
    turns = {name: cost for name, cost in state.turns.items() if name != key}
    turns[key] = max(fact.cost, before)
    paid = state.paid
    if added:
        bucket = int(fact.at // BUCKET) * BUCKET
        paid = {at: cost for at, cost in paid.items() if at != bucket}
        paid[bucket] = state.paid.get(bucket, 0.0) + added
    return replace(state, turns=_last(turns, MOST_TURNS), paid=_last(paid, MOST_BUCKETS))


def _last(found: dict[Key, float], most: int) -> dict[Key, float]:
    return found if len(found) <= most else dict(list(found.items())[-most:])


def _newest(limits: dict[str, LimitNews]) -> dict[str, LimitNews]:
    return dict(sorted(limits.items(), key=lambda one: one[1].at)[-_MOST:])


def _asked(state: Governor, fact: g.GovernorAsked) -> Governor:
    name = question_id(fact)
    if name in {one.id for one in state.questions} | {one.id for one in state.settled}:
        return state
    question = GovernorQuestion(
        name,
        fact.trigger,
        fact.about,
        fact.title,
        fact.detail,
        fact.options,
        fact.recommended,
        fact.otherwise,
        fact.at,
        fact.expires_at,
        fact.amount,
        fact.sessions,
    )
    return replace(state, questions=[*state.questions, question], asked=[*state.asked, fact.about][-_MOST:])


def _over(state: Governor, fact: g.GovernorAnswered | g.GovernorClosed) -> Governor:
    found = next((one for one in state.questions if one.id == fact.question), None)
    if found is None:
        return state
    if isinstance(fact, g.GovernorAnswered):
        over = GovernorSettled(found.id, found.title, "answered", fact.at, fact.option, fact.by)
        asked = state.asked
    else:
        over = GovernorSettled(found.id, found.title, "expired", fact.at)
        asked = [about for about in state.asked if about != found.about]  # nobody answered: it may come again
    left = [one for one in state.questions if one.id != found.id]
    return replace(state, questions=left, settled=[*state.settled, over][-_MOST:], asked=asked)
