"""Which kind of failure an agent's error is: tables of patterns, first match wins.

Shared by all dialects. Protocols define few codes and agents use them freely, so the text counts as much as the code.
What to do about a failure is decided elsewhere.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any, Final, get_args

import msgspec

from rekindle.agents.base.observation import How, Problem
from rekindle.agents.base.reset_times import span_in
from rekindle.core.session.facts import ErrorClass

AUTH_REQUIRED: Final = -32000
NOT_FOUND: Final = -32002
METHOD_NOT_FOUND: Final = -32601

_CLASSES: Final = frozenset(get_args(ErrorClass))
_LONGEST_TEXT: Final = 20_000


class Failure(msgspec.Struct, frozen=True):
    """An error as the agent gave it; `data` is any JSON value."""

    code: int | None
    message: str
    data: Any = None

    @property
    def text(self) -> str:
        """All of its text, to match patterns against."""
        extra = "" if self.data is None else json.dumps(self.data, ensure_ascii=False, default=str)
        return f"{self.message} {extra}"[:_LONGEST_TEXT]


class _Rule(msgspec.Struct, frozen=True):
    """Holds if the code is one of `codes` (empty: any) and the text matches the pattern."""

    names: str
    codes: frozenset[int]
    pattern: re.Pattern[str]

    def holds(self, failure: Failure, text: str) -> bool:
        return (not self.codes or failure.code in self.codes) and self.pattern.search(text) is not None


def _rule(names: str, pattern: str, *codes: int) -> _Rule:
    return _Rule(names, frozenset(codes), re.compile(pattern, re.IGNORECASE))


_SESSION_GONE: Final = (
    r"no rollout found|no conversation found|invalid session identifier|no previous sessions found"
    r"|rollout\S{0,200} (is empty|does not start with session metadata)"
    r"|no such (session|conversation|thread)"
    r"|unknown (session|conversation|thread)|(session|conversation|thread)\b.{0,120}\b(not found|does not exist)"
)

#: A bare number says nothing (it can be a line or a price); after one of these words it is a status.
_STATUS: Final = r"(?:status|http|error|code|details)\W{0,4}(?:code\W{0,4})?"

#: Money before rates, because an empty account is often sent as a 429; sizes before rates, because both mention
#: tokens; the network last, because its words occur inside other messages.
_CLASS_RULES: Final = (
    _rule("session_lost", _SESSION_GONE),
    _rule("context_overflow", r"prompt.{0,20}too long|context.?length|context.?window|context.?overflow"),
    _rule("context_overflow", r"maximum context|too many (input )?tokens|token limit exceeded"),
    _rule("context_overflow", r"token count.{0,40}exceeds|exceeds the maximum number of tokens"),
    _rule("out_of_credits", r"credit balance|out.of.credits|insufficient.(quota|credit|fund|balance)|billing"),
    _rule("out_of_credits", r"quota exceeded|exceeded your current quota|payment required|" + _STATUS + r"402\b"),
    _rule("out_of_credits", r"(monthly|channel's|org's) spend limit|out of usage(?! limit)( credits)?\b|shared budget"),
    _rule("rate_limited", r"(session|weekly|5-hour|opus|sonnet) limit|out of extra usage|hit your (usage )?limit"),
    _rule("rate_limited", r"rate.?limit|too many requests|usage.?limit|resource.?exhausted|" + _STATUS + r"429\b"),
    _rule(
        "overloaded",
        r"overloaded|at capacity|high demand|(service|temporarily) unavailable|" + _STATUS + r"(529|503)\b",
    ),
    _rule("unauthorized", r"", AUTH_REQUIRED),
    _rule("unauthorized", r"unauthori[sz]ed|authenticat|" + _STATUS + r"(401|403)\b"),
    _rule(
        "unauthorized",
        r"(invalid|incorrect).{0,10}api.?key|api.?key.{0,10}(not valid|invalid)|not logged in|log ?in again"
        r"|permission_denied|token (has )?expired|credentials",
    ),
    _rule("no_internet", r"unable to connect|connection (refused|reset|error|closed)|ECONN(REFUSED|RESET|ABORTED)"),
    _rule("no_internet", r"ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|getaddrinfo"),
    _rule("no_internet", r"fetch failed|socket hang up|name resolution|stream disconnected"),
    _rule("no_internet", r"network (is )?(error|unreachable|down)|waiting for network"),
)

_PROBLEM_RULES: Final = (
    _rule("unsupported", r"", METHOD_NOT_FOUND),
    _rule("unauthorized", r"", AUTH_REQUIRED),
    _rule("other", r"already (loaded|live|active|in use)"),
    _rule("unauthorized", r"unauthori[sz]ed|authenticat|not logged in|invalid.{0,10}api.?key"),
    _rule("unknown_session", _SESSION_GONE),
    # The code alone proves nothing: an agent also uses it for a missing file or server.
    _rule("unknown_session", r"session|conversation|thread|resource not found", NOT_FOUND),
    _rule("unknown_session", r'"service"\s*:\s*"session"', -32603),
)


def classify(failure: Failure) -> ErrorClass:
    """The class of an error in a turn. An agent that names the class itself (`data.class`) is believed."""
    found: ErrorClass = msgspec.convert(_named(failure) or _first(_CLASS_RULES, failure), ErrorClass)
    return found


def why_not_opened(failure: Failure, how: How) -> Problem:
    """Why no conversation was opened. Only "unknown_session" is about the token, so it is used sparingly."""
    lost = _named(failure) == "session_lost"
    problem: Problem = "unknown_session" if lost else msgspec.convert(_first(_PROBLEM_RULES, failure), Problem)
    return "other" if how == "new" and problem == "unknown_session" else problem


def _named(failure: Failure) -> str | None:
    named = failure.data.get("class") if isinstance(failure.data, dict) else None
    return named if isinstance(named, str) and named in _CLASSES else None


def _first(rules: tuple[_Rule, ...], failure: Failure) -> str:
    text = failure.text
    return next((rule.names for rule in rules if rule.holds(failure, text)), "other")


_AFTER_MS: Final = ("retry_after_ms", "retryAfterMs", "retry_delay_ms")
_AFTER: Final = (
    *("retry_after_seconds", "retryAfterSeconds", "retry_after", "retryAfter", "retry-after"),
    "resets_in_seconds",
)
_RESETS: Final = ("resets_at", "resetsAt", "reset_at", "resetAt")
_LONGEST_WAIT: Final = 366 * 86400.0


def retry_after(failure: Failure) -> float | None:
    """How many seconds the agent asks us to wait, if it says so."""
    for keys, scale in ((_AFTER_MS, 0.001), (_AFTER, 1.0)):
        for key in keys:
            value = _number(_field(failure.data, key))
            if value is not None and 0 <= value * scale <= _LONGEST_WAIT:
                return value * scale
    return span_in(failure.text)


def resets_at(failure: Failure) -> float | None:
    """When the agent's limit ends, in seconds since 1970. A time without a zone is taken as UTC."""
    for key in _RESETS:
        value = _field(failure.data, key)
        number = _number(value)
        if number is not None and number > 0:
            return number / 1000 if number > 1e11 else number
        if isinstance(value, str):
            try:
                moment = datetime.fromisoformat(value)
                return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
            except (ValueError, OverflowError):
                continue
    return None


def _field(data: object, key: str) -> object:
    """A field of the data, or of an `error` object inside it, where some agents put the model API's reply."""
    if not isinstance(data, dict):
        return None
    inner = data.get("error")
    return data.get(key, inner.get(key) if isinstance(inner, dict) else None)


def _number(value: object) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -1e15 < value < 1e15 else None
