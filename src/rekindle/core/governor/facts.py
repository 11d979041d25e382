"""What can happen to all sessions together, as data: the facts of the governor's stream.

Facts are kept forever, so fields may be added (with a default) and never changed or removed. Those with `seq` were
heard from a session: it is the place of the session's fact in the store, so that nothing is heard twice.
"""

from __future__ import annotations

from typing import Literal

from rekindle.core.fact import Fact
from rekindle.core.governor.state import Governor

#: What the governor asks about.
GovernorTrigger = Literal["breaker", "spending"]


class RestartCounted(Fact, frozen=True, kw_only=True, tag="restart_counted"):
    """A session is restarted automatically, and nothing had come of the agent before. `effect` names the start.

    It is recorded before the agent is started, and heard of again afterwards: it counts once.
    """

    session: str
    effect: str
    seq: int = 0


class ProgressHeard(Fact, frozen=True, kw_only=True, tag="progress_heard"):
    """A session has made progress, or a person has asked for it: its restarts no longer count."""

    session: str
    seq: int = 0


class TurnPaid(Fact, frozen=True, kw_only=True, tag="turn_paid"):
    """What a turn has cost so far, in dollars. `turn` names it; `over`: it has ended."""

    session: str
    turn: str
    cost: float
    over: bool = True
    seq: int = 0


class LimitHeard(Fact, frozen=True, kw_only=True, tag="limit_heard"):
    """A session has reached a limit of its service, which ends at `until`."""

    session: str
    limit: str
    until: float
    seq: int = 0


class Returned(Fact, frozen=True, kw_only=True, tag="returned"):
    """A session that waited for a limit may go on with this prompt: it has its place in the queue."""

    session: str
    prompt: str
    limit: str


class GovernorAsked(Fact, frozen=True, kw_only=True, tag="governor_asked"):
    """A person has to decide. `about` names what the question is about, so that it is asked once.

    `amount` is the cap in dollars that the person is offered, if it is about spending. `sessions`: which it is about.
    """

    trigger: GovernorTrigger
    about: str
    title: str
    options: list[tuple[str, str, str]]
    detail: str = ""
    recommended: str = ""
    otherwise: str = ""
    expires_at: float | None = None
    amount: float = 0.0
    sessions: tuple[str, ...] = ()


class GovernorAnswered(Fact, frozen=True, kw_only=True, tag="governor_answered"):
    """Somebody has decided."""

    question: str
    option: str
    by: str


class GovernorClosed(Fact, frozen=True, kw_only=True, tag="governor_closed"):
    """What a question was about has changed: nobody has to answer it any more."""

    question: str


class RestartsAllowed(Fact, frozen=True, kw_only=True, tag="restarts_allowed"):
    """Automatic restarts go on, and are counted anew."""

    by: str


class RestartsStopped(Fact, frozen=True, kw_only=True, tag="restarts_stopped"):
    """Nothing is restarted automatically until somebody allows it. `by` is empty as long as nobody has answered."""

    by: str = ""


class CapRaised(Fact, frozen=True, kw_only=True, tag="cap_raised"):
    """More may be spent in one window. `about` names the window, `to` is its new cap in dollars."""

    about: str
    to: float
    by: str


class GovernorClockSet(Fact, frozen=True, kw_only=True, tag="governor_clock_set"):
    """Somebody has set the machine's clock, by so many seconds: what is counted from then on moves with it.

    `number` counts these facts, so that none counts twice.
    """

    by: float
    number: int


class GovernorKept(Fact, frozen=True, kw_only=True, tag="governor_kept"):
    """All that earlier facts have led to, so that the next daemon does not have to read them."""

    state: Governor


GovernorFact = (
    RestartCounted
    | ProgressHeard
    | TurnPaid
    | LimitHeard
    | Returned
    | GovernorAsked
    | GovernorAnswered
    | GovernorClosed
    | RestartsAllowed
    | RestartsStopped
    | CapRaised
    | GovernorClockSet
    | GovernorKept
)
