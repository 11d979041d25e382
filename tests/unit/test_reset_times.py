"""Limits in the agents' own words: the time at which they end is understood, with zone and date."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.agents.base import observation as o
from rekindle.agents.base.booking import as_fact
from rekindle.agents.base.failure import Failure, classify
from rekindle.agents.base.reset_times import reset_in
from rekindle.core.session import facts as f

#: A Tuesday, 12:00 UTC.
NOW = datetime(2026, 11, 17, 12, 0, tzinfo=UTC).timestamp()
TBILISI, BERLIN = ZoneInfo("Asia/Tbilisi"), ZoneInfo("Europe/Berlin")


def at(year: int, month: int, day: int, hour: int = 0, minute: int = 0, zone: tzinfo = UTC) -> float:
    return datetime(year, month, day, hour, minute, tzinfo=zone).timestamp()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("You've hit your session limit · resets 4:20pm (Asia/Tbilisi)", at(2026, 11, 17, 16, 20, zone=TBILISI)),
        ("You've hit your session limit · resets 3:20pm (Asia/Tbilisi)", at(2026, 11, 18, 15, 20, zone=TBILISI)),
        ("You've hit your session limit · resets 9:03am (UTC)", at(2026, 11, 18, 9, 3)),
        ("5-hour limit reached ∙ resets 2pm (UTC)", at(2026, 11, 17, 14)),
        ("You've hit your weekly limit · resets Nov 20, 9am (Europe/Berlin)", at(2026, 11, 20, 9, zone=BERLIN)),
        ("Opus limit · resets Jan 3 at 11:30pm (UTC)", at(2027, 1, 3, 23, 30)),
        ("weekly limit · resets Mon 9:00am (UTC)", at(2026, 11, 23, 9)),
        (
            "reached your API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
            at(2026, 12, 1),
        ),
        ("limit; resets 2026-11-17T18:30:00+02:00", at(2026, 11, 17, 16, 30)),
        ("You've hit your usage limit. Try again in 2 hours 5 minutes.", NOW + 7500),
        ("You've hit your usage limit, try again in 4 days 3 hours 12 minutes.", NOW + 4 * 86400 + 3 * 3600 + 720),
        ("You've hit your usage limit. Upgrade, or try again at Nov 21st, 2026 3:05 PM UTC.", at(2026, 11, 21, 15, 5)),
        ("Rate limit reached. Please try again in 1.5s.", NOW + 1.5),
        ("Rate limit reached. Please try again in 1 hour 59 minutes.", NOW + 7140),
        ("limit reached, resets in 3h 20m", NOW + 12000),
        ("limit reached, resets at 16:20 UTC", at(2026, 11, 17, 16, 20)),
    ],
)
def test_the_time_in_todays_wordings_is_understood(text: str, expected: float) -> None:
    assert reset_in(text, NOW) == pytest.approx(expected)


def test_a_time_without_a_zone_is_this_machines() -> None:
    local = datetime.fromtimestamp(NOW).replace(hour=23, minute=59)  # noqa: DTZ006
    assert reset_in("out of extra usage · resets 11:59pm", NOW) == local.timestamp()


@pytest.mark.parametrize(
    "text",
    [
        "API Error: 529 Overloaded. This is a server-side issue, usually temporary",
        "resets soon",
        "You've hit your limit · resets 4:20pm (Middle/Earth)",
        "try again with 3 files",
        "resets 25:99",
        "resets 3:15 PM PST",
        "429 rate limit reached, resets 2026-11-18 10:00+99:99",
        "try again in 2 months",
        "retry 5 models",
        "Try again in 900 days",
        "",
    ],
)
def test_where_no_time_is_named_none_is_made_up(text: str) -> None:
    assert reset_in(text, NOW) is None


@given(st.from_regex(r"[0-9:+\-TZ apmNov,/()]{1,25}", fullmatch=True) | st.text(max_size=80), st.floats(0, 4e9))
def test_any_words_give_a_near_time_or_none(text: str, now: float) -> None:
    found = reset_in(f"resets {text}", now)
    assert found is None or -200 < found - now < 61 * 86400


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("You've hit your session limit · resets 4:20pm (Asia/Tbilisi)", "rate_limited"),
        ("You're out of extra usage · resets 11:30am", "rate_limited"),
        ("You've hit your weekly limit · resets Mon 9am", "rate_limited"),
        ("You've hit your Opus limit · resets 9am", "rate_limited"),
        ("You've hit your usage limit. Try again at 3:05 PM.", "rate_limited"),
        ("Your org is out of usage · add funds", "out_of_credits"),
        ("You've reached your monthly spend limit", "out_of_credits"),
        ("You're out of usage credits", "out_of_credits"),
    ],
)
def test_limits_are_told_from_empty_accounts(text: str, expected: str) -> None:
    assert classify(Failure(None, text)) == expected


def test_what_an_agent_tells_as_data_counts_before_its_words() -> None:
    def booked(retry_after_seconds: float | None = None, resets_at: float | None = None) -> f.TurnFailed:
        told = o.AgentFailedTurn(
            prompt_id="p",
            error_class="rate_limited",
            code=None,
            message="resets 4:20pm (Asia/Tbilisi)",
            retry_after_seconds=retry_after_seconds,
            resets_at=resets_at,
        )
        fact = as_fact(told, 1, NOW)
        assert isinstance(fact, f.TurnFailed)
        return fact

    assert booked().retry_at == at(2026, 11, 17, 16, 20, zone=TBILISI)
    assert booked(resets_at=NOW + 5).retry_at == NOW + 5
    assert booked(retry_after_seconds=7.0).retry_at == NOW + 7


def test_a_limit_that_ended_while_nobody_listened_is_not_waited_for_until_tomorrow() -> None:
    told = o.AgentFailedTurn(prompt_id="p", error_class="rate_limited", code=None, message="resets 11:55am (UTC)")
    late = as_fact(told, 1, NOW, said_at=NOW - 600)
    assert isinstance(late, f.TurnFailed)
    assert late.retry_at == at(2026, 11, 17, 11, 55)
