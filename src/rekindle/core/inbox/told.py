"""What was told to whom: the facts about notifications, and what they add up to. Pure.

A message is recorded as meant before anything is sent, and its outcome for each receiver after. A message that was
meant and has no outcome is in doubt: the daemon was killed in between.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final, assert_never

import msgspec
from msgspec.structs import replace

from rekindle.core.fact import Fact

HOUR: Final = 3600.0
#: How many items are remembered as told.
_REMEMBERED = 10_000
#: For how many months it is remembered, besides this one, what was told.
_MONTHS: Final = 12
#: How many times of sending are remembered: more than any hour can have.
_TIMES = 1000


class TellingBegan(Fact, frozen=True, kw_only=True, tag="telling_began"):
    """People are told from now on: what ended earlier is not news."""


class TellingStopped(Fact, frozen=True, kw_only=True, tag="telling_stopped"):
    """Nobody is told any more: no receiver is set."""


class TellingMeant(Fact, frozen=True, kw_only=True, tag="telling_meant"):
    """A message about these items of news is about to be sent to these receivers."""

    message: str
    keys: list[str]
    receivers: list[str]


class TellingSent(Fact, frozen=True, kw_only=True, tag="telling_sent"):
    """A receiver has taken the message."""

    message: str
    receiver: str


class TellingFailed(Fact, frozen=True, kw_only=True, tag="telling_failed"):
    """A receiver did not take it. `final`: it is not tried again. `unsure`: it may have arrived all the same."""

    message: str
    receiver: str
    why: str
    final: bool = False
    unsure: bool = False


class TellingRepeated(Fact, frozen=True, kw_only=True, tag="telling_repeated"):
    """A message in doubt is about to be sent again, marked as a possible repetition."""

    message: str


class TellingDropped(Fact, frozen=True, kw_only=True, tag="telling_dropped"):
    """A message in doubt is not sent again: what it was about is settled, or nobody receives it any more."""

    message: str


TellingFact = (
    TellingBegan | TellingStopped | TellingMeant | TellingSent | TellingFailed | TellingRepeated | TellingDropped
)


class Pending(msgspec.Struct, frozen=True):
    """A message with receivers that have not taken it. `failed_at` are the times of each receiver's failed tries.

    `again_at` are the times at which it was sent again after a doubt.
    """

    keys: tuple[str, ...]
    receivers: tuple[str, ...]
    at: float
    failed_at: dict[str, tuple[float, ...]] = {}
    again_at: tuple[float, ...] = ()
    may_be_repeated: bool = False

    def is_in_doubt(self, receiver: str) -> bool:
        """Whether nothing is known about this receiver: the daemon ended while it sent the message."""
        return not self.failed_at.get(receiver)


class Trouble(msgspec.Struct, frozen=True):
    """A receiver that does not take messages: why, since when, and how many it has lost."""

    why: str
    since: float
    lost: int = 0


class Tellings(msgspec.Struct, frozen=True):
    """`keys` is what was told, `times` are those of the messages, `repeated` is how many may have come twice."""

    since: float | None = None
    keys: dict[str, float] = {}
    times: tuple[float, ...] = ()
    pending: dict[str, Pending] = {}
    troubles: dict[str, Trouble] = {}
    repeated: int = 0

    def recent(self, now: float) -> list[float]:
        """When messages were sent in the last hour."""
        return [time for time in self.times if time + HOUR > now]

    def has_room(self, hourly: int, now: float) -> bool:
        """Whether one more message may be sent now."""
        return len(self.recent(now)) < hourly


def subjects(now: float) -> list[str]:
    """The streams to read, oldest first: those of a year and this month's. A question may stay open for months."""
    month = datetime.fromtimestamp(now, UTC)
    found = [subject(month)]
    for _ in range(_MONTHS):
        month = month.replace(day=1) - timedelta(days=1)
        found.append(subject(month))
    return found[::-1]


def subject(when: datetime | float) -> str:
    """The stream that a fact of this time belongs to: one a month, so that none grows for ever."""
    moment = datetime.fromtimestamp(when, UTC) if isinstance(when, int | float) else when
    return moment.strftime("telling-%Y-%m")


def booked(before: Tellings | None, fact: TellingFact) -> Tellings:
    """The state after a fact. Applying it again changes nothing."""
    now = before or Tellings()
    match fact:
        case TellingBegan():
            return replace(now, since=fact.at)
        case TellingStopped():
            return replace(now, since=None)
        case TellingMeant():
            return _meant(now, fact)
        case TellingSent():
            troubles = {name: one for name, one in now.troubles.items() if name != fact.receiver}
            return replace(_settled(now, fact.message, fact.receiver), troubles=troubles)
        case TellingFailed():
            return _failed(now, fact)
        case TellingRepeated():
            pending = now.pending.get(fact.message)
            if pending is None or fact.at in pending.again_at:
                return now
            again = replace(pending, may_be_repeated=True, again_at=(*pending.again_at, fact.at))
            return replace(
                now,
                pending={**now.pending, fact.message: again},
                times=(*now.times, fact.at)[-_TIMES:],
                repeated=now.repeated + 1,
            )
        case TellingDropped():
            return replace(now, pending={name: one for name, one in now.pending.items() if name != fact.message})
        case _:
            assert_never(fact)


def _meant(now: Tellings, fact: TellingMeant) -> Tellings:
    if fact.message in now.pending or all(key in now.keys for key in fact.keys):
        return now
    keys = {**now.keys, **dict.fromkeys(fact.keys, fact.at)}
    for key in list(keys)[: max(0, len(keys) - _REMEMBERED)]:
        del keys[key]
    pending = Pending(tuple(fact.keys), tuple(fact.receivers), fact.at)
    return replace(
        now,
        keys=keys,
        times=(*now.times, fact.at)[-_TIMES:],
        pending={**now.pending, fact.message: pending} if fact.receivers else now.pending,
    )


def _failed(now: Tellings, fact: TellingFailed) -> Tellings:
    pending = now.pending.get(fact.message)
    if pending is None or fact.receiver not in pending.receivers:
        return now
    before = pending.failed_at.get(fact.receiver, ())
    if fact.at in before:
        return now
    known = now.troubles.get(fact.receiver)
    trouble = Trouble(fact.why, known.since if known else fact.at, (known.lost if known else 0) + fact.final)
    now = replace(now, troubles={**now.troubles, fact.receiver: trouble})
    if fact.final:
        return _settled(now, fact.message, fact.receiver)
    failed = {**pending.failed_at, fact.receiver: (*before, fact.at)}
    later = replace(pending, failed_at=failed, may_be_repeated=pending.may_be_repeated or fact.unsure)
    return replace(now, pending={**now.pending, fact.message: later})


def _settled(now: Tellings, message: str, receiver: str) -> Tellings:
    """With one receiver fewer to wait for."""
    pending = now.pending.get(message)
    if pending is None:
        return now
    rest = tuple(name for name in pending.receivers if name != receiver)
    others = {name: one for name, one in now.pending.items() if name != message}
    return replace(now, pending={**others, message: replace(pending, receivers=rest)} if rest else others)
