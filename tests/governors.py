"""The governor for tests: every kind of its facts, and sessions that wait for a limit."""

from __future__ import annotations

from rekindle.core.governor import facts as g
from rekindle.core.governor.machine import evolve, question_id
from rekindle.core.governor.state import Governor


def asked(trigger: g.GovernorTrigger = "breaker", at: float = 5.0, about: str = "breaker") -> g.GovernorAsked:
    return g.GovernorAsked(
        at=at,
        trigger=trigger,
        about=about,
        title="too many",
        detail="s1",
        options=[("go-on", "Go on", "go"), ("stay", "Stay", "leave")],
        recommended="stay",
        otherwise="nothing",
        expires_at=9.0,
        amount=4.0,
    )


def governors_life() -> list[g.GovernorFact]:
    """Every kind of fact."""
    first, second = asked(), asked("spending", at=8.0, about="day:0 2")
    told: list[g.GovernorFact] = [
        g.RestartCounted(at=1.0, session="s1", effect="launch-s1-2"),
        g.RestartCounted(at=1.0, session="s1", effect="launch-s1-2", seq=3),
        g.TurnPaid(at=2.0, session="s1", turn="2 p1", cost=0.5, over=False, seq=4),
        g.TurnPaid(at=2.5, session="s1", turn="2 p1", cost=0.75, seq=5),
        g.LimitHeard(at=3.0, session="s2", limit="claude:five_hour", until=99.5, seq=6),
        g.Returned(at=99.5, session="s2", prompt="p1+r0", limit="claude:five_hour"),
        first,
        g.RestartsStopped(at=5.0),
        g.GovernorAnswered(at=6.0, question=question_id(first), option="go-on", by="me"),
        g.RestartsAllowed(at=6.0, by="me"),
        g.ProgressHeard(at=7.0, session="s1", seq=9),
        g.GovernorClockSet(at=7.5, by=-2.0, number=1),
        second,
        g.CapRaised(at=8.5, about="day:0", to=4.0, by="me"),
        g.GovernorClosed(at=9.0, question=question_id(second)),
    ]
    state = Governor()
    for fact in told:
        state = evolve(state, fact)
    return [*told, g.GovernorKept(at=10.0, state=state), g.ProgressHeard(at=11.0, session="s1", seq=12)]
