"""What all sessions together have led to: restarts in vain, spending, limits, and open questions. Pure data."""

from __future__ import annotations

from typing import Literal

import msgspec

#: The subject of the governor's stream: there is one in a store.
SUBJECT = "all"


class Restart(msgspec.Struct, frozen=True):
    """An automatic restart after which its session has made no progress."""

    session: str
    effect: str
    at: float


class LimitNews(msgspec.Struct, frozen=True):
    """What was heard last about a limit: at this time, that it ends then."""

    at: float
    until: float


class GovernorQuestion(msgspec.Struct, frozen=True):
    """A question about all sessions. See `facts.GovernorAsked`."""

    id: str
    trigger: Literal["breaker", "spending"]
    about: str
    title: str
    detail: str
    options: list[tuple[str, str, str]]
    recommended: str
    otherwise: str
    at: float
    expires_at: float | None = None
    amount: float = 0.0
    sessions: tuple[str, ...] = ()


class GovernorSettled(msgspec.Struct, frozen=True):
    """A question that is over."""

    id: str
    title: str
    how: Literal["answered", "expired"]
    at: float
    option: str | None = None
    by: str = ""


class Stopped(msgspec.Struct, frozen=True):
    """Since when nothing is restarted automatically, and who wants it so; empty: nobody has answered yet."""

    since: float
    by: str = ""


class Governor(msgspec.Struct, frozen=True):
    """All sessions together.

    `heard` is the place of the last session's fact that was heard. `paid` has what was spent, in dollars, by the five
    minutes in which it was; `turns` what the last turns have cost so far. `returned` names the prompt with which a
    session may come back from its limit, `returns` when sessions last came back from each limit. `asked` names what was
    asked about, `raised` the windows whose cap was raised. `clock_sets`: how often the clock was set.
    """

    heard: int = 0
    restarts: list[Restart] = []
    stopped: Stopped | None = None
    paid: dict[int, float] = {}
    turns: dict[str, float] = {}
    returned: dict[str, str] = {}
    returns: dict[str, float] = {}
    limits: dict[str, LimitNews] = {}
    questions: list[GovernorQuestion] = []
    settled: list[GovernorSettled] = []
    asked: list[str] = []
    raised: dict[str, float] = {}
    clock_sets: int = 0
