"""Limits as agents tell them today: which one it is, when it ends, and what is said of words that nobody knows."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from rekindle.agents.base import observation as o
from rekindle.agents.base.booking import UNKNOWN_WORDS, as_fact
from rekindle.agents.base.failure import Failure, classify, retry_after
from rekindle.agents.base.limit_kinds import limit_in
from rekindle.core.session import facts as f
from rekindle.core.session.react import take
from rekindle.core.session.state import Session
from tests.golden.test_claude_streams import ready
from tests.sessions import folded

#: A Tuesday, 12:00 UTC.
NOW = datetime(2026, 11, 17, 12, 0, tzinfo=UTC).timestamp()


def failed(message: str, error: Any = "other", **about: Any) -> f.TurnFailed:
    told = o.AgentFailedTurn(prompt_id="p1", error_class=error, code=None, message=message, **about)
    fact = as_fact(told, 1, NOW)
    assert isinstance(fact, f.TurnFailed)
    return fact


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("You've hit your session limit · resets 4:20pm (Asia/Tbilisi)", "five_hour"),
        ("5-hour limit reached ∙ resets 2pm (UTC)", "five_hour"),
        ("You've hit your weekly limit · resets Mon 9am", "seven_day"),
        ("You've hit your Opus limit · resets 9am", "seven_day_opus"),
        ("You're out of extra usage · resets 11:30am", "overage"),
        ("You've hit your usage limit. Try again in 4 days 3 hours.", ""),
    ],
)
def test_the_kind_of_a_limit_is_read_from_its_words(text: str, kind: str) -> None:
    assert limit_in(text) == kind
    assert failed(text, "rate_limited").limit == kind
    assert failed(text, classify(Failure(None, text))).retry_at is not None


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("five_hour", "You've hit your session limit · resets 9:03am (UTC)"),
        ("five_hour", "5-hour limit"),
        ("seven_day", "weekly limit"),
        ("seven_day_opus", "Opus limit"),
        ("overage", "limit"),
    ],
)
def test_claude_code_tells_the_end_and_the_kind_of_a_limit_as_data(kind: str, text: str) -> None:
    dialect = ready()
    info = {"status": "rejected", "resetsAt": int(NOW) + 1234, "rateLimitType": kind, "isUsingOverage": False}
    lines = [
        {"type": "rate_limit_event", "rate_limit_info": info},
        {"type": "assistant", "error": "rate_limit", "message": {"content": [{"type": "text", "text": text}]}},
        {"type": "result", "subtype": "success", "is_error": True, "api_error_status": 429, "result": text},
    ]
    [seen] = [one for line in lines for one in dialect.received(json.dumps(line).encode()) if _is_failure(one)]
    fact = as_fact(seen, 1, NOW)
    assert isinstance(fact, f.TurnFailed)
    assert (fact.error, fact.retry_at, fact.limit) == ("rate_limited", NOW + 1234, kind)


def _is_failure(seen: o.Observation) -> bool:
    return isinstance(seen, o.AgentFailedTurn)


def test_codex_tells_in_how_many_seconds_its_limit_ends() -> None:
    told = Failure(-32603, "You've hit your usage limit.", {"error": {"resets_in_seconds": 4321}})
    assert (classify(told), retry_after(told)) == ("rate_limited", 4321)


def test_words_that_nobody_knows_are_a_limit_if_they_name_the_time_at_which_it_ends_and_that_is_said() -> None:
    fact = failed("The lantern is out of oil. It is available again at 3:30pm (UTC).")
    assert (fact.error, fact.retry_at) == ("rate_limited", NOW + 3.5 * 3600)
    assert UNKNOWN_WORDS in fact.message
    session, kept = take(working(), fact)
    assert UNKNOWN_WORDS in session.message
    assert [one.until for one in kept if isinstance(one, f.Postponed)] == [NOW + 3.5 * 3600 + 0.5]


@pytest.mark.parametrize("text", ["It broke.", "Try again with another file.", "line 4:20 of x.py is wrong"])
def test_words_that_nobody_knows_and_that_name_no_time_are_left_to_a_person(text: str) -> None:
    fact = failed(text)
    assert (fact.error, fact.retry_at, fact.message) == ("other", None, text)


def working(**limits: Any) -> Session:
    return folded(
        [
            f.Created(at=1, session="s1", agent="claude", cwd="/w", limits=f.Limits(**limits)),
            f.PromptQueued(at=2, prompt="p1", text="one"),
            f.LaunchIntended(at=3, attempt=1, generation=1, how="new", token="t"),
            f.Launched(at=4, attempt=1, folder="/k/1", pid=1),
            f.Opened(at=5, attempt=1, how="new", token="t"),
            f.PromptSent(at=6, attempt=1, prompt="p1", message=2, text="one"),
        ]
    )
