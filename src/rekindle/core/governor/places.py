"""Who may have an agent at work now, if there is not room for all of them at once. Pure.

Each agent at work has a place, and there are as many places as the machine has room for. Whoever starts or goes on
automatically needs one; whoever a person has asked for does not wait for one, but takes one. The most urgent comes
first, then the one whose work was asked for first. One that has waited very long comes before all others, so that
everybody comes in the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from rekindle.core.effects import Effect, Launch, Say
from rekindle.core.governor.admission import Admission, wanted
from rekindle.core.governor.room import Room
from rekindle.core.session import facts as f
from rekindle.core.session.activity import rests
from rekindle.core.session.choosing import idle_rule
from rekindle.core.session.plan import wants_agent
from rekindle.core.session.state import OURS, Attempt, Session

#: Whoever has waited so many seconds comes next, however urgent others are.
_LONG: Final = 3600.0


class PlaceWait(msgspec.Struct, frozen=True):
    """A session that wants to go on. `since`: it has waited from then on. `asked`: when a person asked for the work."""

    session: str
    urgency: int
    since: float
    asked: float

    def order(self, now: float) -> tuple[int, int, float, str]:
        """Who comes first."""
        if now - self.since >= _LONG:
            return (0, 0, self.since, self.session)
        return (1, -self.urgency, self.asked, self.session)


class Census(msgspec.Struct, frozen=True):
    """Who has a place, who waits for one, and when the last one was given to somebody who comes back."""

    at_work: frozenset[str]
    waiting: Sequence[PlaceWait]
    last: float | None = None

    def next_in_line(self, room: Room, now: float) -> list[str]:
        """Those who may have a place now, in their order."""
        free = max(0, room.most - len(self.at_work))
        return [one.session for one in sorted(self.waiting, key=lambda one: one.order(now))[:free]]


def is_at_work(session: Session) -> bool:
    """Whether its agent takes a place.

    One that waits for a person or for a limit takes none. One that came back by itself and has done its work keeps its
    place until somebody else needs it: then it is put to sleep.
    """
    attempt = session.attempt
    if attempt is None or attempt.status == "gone":
        return False
    if attempt.status != "ready" or session.stop_asked is not None:
        return True
    if any(not one.answered for one in session.permissions) or (session.escalation is not None and not session.turn):
        return False
    if session.turn is not None:
        return True
    queued = session.sendable
    if queued and queued[0].after is not None:
        return False
    has_said_nothing = not any(one.attempt == attempt.number for one in session.prompts)
    if queued and has_said_nothing:
        return True  # it was started for this
    return _came_by_itself(attempt) and not session.terminal and not session.of_run


def sleeps_for_others(session: Session) -> bool:
    """Whether its agent came back by itself, has nothing to do, and would be put to sleep sooner or later anyway."""
    attempt = session.attempt
    if attempt is None or attempt.status != "ready" or session.stop_asked is not None or not is_at_work(session):
        return False
    if not rests(session) or session.turn is not None or session.queued:
        return False
    return idle_rule(session).rule.action == "sleep"


def wants_place(session: Session, effects: Iterable[Effect]) -> bool:
    """Whether something that is due about a session needs a place first."""
    return any(needs_place(session, effect) for effect in effects)


def needs_place(session: Session, effect: Effect) -> bool:
    """Whether an effect is automatic, and has an agent work that does not work now."""
    if not isinstance(effect, Launch | Say) or wanted(session, effect) is None:
        return False
    return isinstance(effect, Launch) or not is_at_work(session)


def starts_agent(session: Session, effect: Effect) -> bool:
    """Whether an effect makes a new process: one that was begun before a crash may be there already."""
    attempt = session.attempt
    return isinstance(effect, Launch) and (attempt is None or attempt.status == "gone")


def comes_back(session: Session) -> bool:
    """Whether it has worked before. After a reboot all of those come at the same moment, so they keep a distance.

    One that a run or a job has just begun does not: it comes when a place is free for it, and somebody waits for it.
    """
    return session.attempt is not None


def place_wait(session: Session, since: float) -> PlaceWait:
    """A session in the line."""
    asked = [one.at for one in session.prompts if one.state in ("queued", "sent", "began", "cut")]
    return PlaceWait(session.id, session.limits.priority, since, min(asked, default=session.created_at))


def in_line(session: Session, at: float) -> list[f.AnyFact]:
    """What has a session come back when it is its turn: a person wants that, but not before all others."""
    if session.is_up or wants_agent(session):
        return []
    lifted = [f.HoldLifted(at=at, by=OURS)] if session.on_hold else []
    return [*lifted, f.ResumeAsked(at=at, by=OURS)]


def placed(session: str, census: Census, room: Room, spacing: float, now: float) -> Admission:
    """Whether a session may have a place now. It is among those that wait."""
    called = census.next_in_line(room, now)
    if session not in called:
        return Admission(False, why=f"it waits for its turn: {_taken(session, census, room, now)}")
    if census.last is None or census.last > now:  # a clock that was set back keeps nobody
        return Admission(True)
    at = census.last + spacing * (called.index(session) + 1)
    return Admission(True) if at <= now else Admission(False, until=at)


def _taken(session: str, census: Census, room: Room, now: float) -> str:
    count, most = len(census.at_work), room.most
    agents = f"agent{'s'[: most != 1]}"
    taken = f"{count} of {most} {agents} {'is' if count == 1 == most else 'are'} working"
    if count > most:
        taken = f"{count} agents are working, and {most} {agents} may"
    line = [one.session for one in sorted(census.waiting, key=lambda one: one.order(now))]
    before = line.index(session) if session in line else 0
    others = f"; {before} other session{'s'[: before != 1]} come{'s'[: before == 1]} first" if before else ""
    return f"{taken}{others}"


def _came_by_itself(attempt: Attempt) -> bool:
    return attempt.number > 1 and attempt.asked_by in ("", OURS)
