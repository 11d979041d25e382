"""Decides whom to tell what, and when: after a dwell time, at most so many an hour, not in quiet hours. Pure.

What could not be told when it was due (quiet hours, the hour's number, a daemon that was down) is told together, as one
digest. The last message of an hour waits a minute and takes everything with it, so that a flood ends in a digest.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from rekindle.core.inbox.news import ABOUT, About, News
from rekindle.core.inbox.told import HOUR, Tellings

#: What is told this much later than it could have been is late: it is told together with the rest.
LATE: Final = 60.0
_DAY: Final = 1440.0
#: The pauses before a receiver is tried again; then the message is given up for it.
PAUSES: Final = (5.0, 30.0, 120.0, 600.0)


class TellRules(msgspec.Struct, frozen=True):
    """`quiet` is from one minute of the day to another, which may be on the next day."""

    about: tuple[About, ...] = ABOUT
    dwell: float = 30.0
    hourly: int = 12
    quiet: tuple[int, int] | None = None


class DueTellings(msgspec.Struct, frozen=True):
    """What to send now, each group as one message, and when to look again (None: when something changes)."""

    groups: tuple[tuple[News, ...], ...] = ()
    at: float | None = None


def due(news: Iterable[News], told: Tellings, rules: TellRules, now: float, minute: float) -> DueTellings:
    """`minute` is the time of the day where the person is, in minutes."""
    fresh = sorted(_fresh(news, told, rules), key=lambda one: (one.since, one.key))
    if not fresh:
        return DueTellings()
    ripe = [one for one in fresh if _ripe_at(one, rules, now) <= now]
    next_ripe = min((_ripe_at(one, rules, now) for one in fresh if _ripe_at(one, rules, now) > now), default=None)
    if (left := quiet_left(rules.quiet, minute)) > 0:
        return DueTellings(at=now + left + 1.0)
    if not ripe:
        return DueTellings(at=next_ripe)
    recent = told.recent(now)
    free = rules.hourly - len(recent)
    if free <= 0:
        return DueTellings(at=min(recent, default=now) + HOUR)
    late = [one for one in ripe if _ripe_at(one, rules, now) + LATE < now]
    if len(late) > 1:
        others = [one for one in ripe if one not in late]
        together = (tuple(late), *((one,) for one in others)) if len(others) < free else (tuple(ripe),)
        return DueTellings(together, next_ripe)
    if len(ripe) < free:
        return DueTellings(tuple((one,) for one in ripe), next_ripe)
    alone, rest = ripe[: free - 1], tuple(ripe[free - 1 :])
    groups = tuple((one,) for one in alone)
    full = _ripe_at(rest[0], rules, now) + LATE  # the last message of the hour waits for the others
    if full <= now:
        return DueTellings((*groups, rest), next_ripe)
    return DueTellings(groups, full if next_ripe is None else min(full, next_ripe))


def quiet_left(quiet: tuple[int, int] | None, minute: float) -> float:
    """How many seconds of quiet hours are left; 0 outside of them."""
    if quiet is None or quiet[0] == quiet[1]:
        return 0.0
    begin, end = quiet
    length, since = (end - begin) % _DAY, (minute - begin) % _DAY
    return (length - since) * 60.0 if since < length else 0.0


def retry_at(tries: int, failed_at: float) -> float | None:
    """When a receiver that failed this often is tried again; None: it is given up."""
    return failed_at + PAUSES[tries - 1] if 0 < tries <= len(PAUSES) else None


def _ripe_at(one: News, rules: TellRules, now: float) -> float:
    """When something has waited long enough. What lies ahead of now is from before the clock was set back: nobody knows
    how long ago that was, so it does not wait.
    """
    return one.since + rules.dwell if one.since <= now else now - LATE


def _fresh(news: Iterable[News], told: Tellings, rules: TellRules) -> Iterable[News]:
    """What has not been told, one item for each key. An end from before anybody was to be told is not news; a question
    still waits.
    """
    seen: set[str] = set()
    for one in news:
        is_news = one.about == "question" or told.since is None or one.since >= told.since
        if one.about in rules.about and one.key not in told.keys and one.key not in seen and is_news:
            seen.add(one.key)
            yield one
