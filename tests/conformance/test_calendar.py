"""Schedules and their times: what every calendar promises, and what the one of this machine knows of time zones."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from rekindle.adapters.machine.cron_calendar import CronCalendar
from rekindle.ports.calendar import Calendar
from rekindle.ports.errors import UsageError
from tests.fakes.calendar import HourlyCalendar

EVERY: list[Calendar] = [CronCalendar(), HourlyCalendar()]


@pytest.mark.parametrize("calendar", EVERY, ids=["cron", "fake"])
def test_the_next_time_is_later_than_the_moment_even_on_the_hour(calendar: Calendar) -> None:
    for moment in (0.0, 1.0, 3599.5, 3600.0, 1_700_000_000.25):
        found = calendar.next_after("0 * * * *", "UTC", moment)
        assert found is not None
        assert 0 < found - moment <= 3600
        assert found % 3600 == 0


@pytest.mark.parametrize("calendar", EVERY, ids=["cron", "fake"])
@pytest.mark.parametrize("every", ["", "* * *", "61 * * * *", "every day", "a b c d e"])
def test_what_is_no_cron_expression_is_refused_with_an_example(calendar: Calendar, every: str) -> None:
    with pytest.raises(UsageError, match="not a valid cron expression"):
        calendar.next_after(every, "UTC", 0.0)


@pytest.mark.parametrize("calendar", EVERY, ids=["cron", "fake"])
def test_the_local_zone_can_be_used(calendar: Calendar) -> None:
    assert ZoneInfo(calendar.local_zone())


def moments(every: str, zone: str, start: datetime, count: int) -> list[str]:
    calendar, found, moment = CronCalendar(), list[str](), start.timestamp()
    for _ in range(count):
        at = calendar.next_after(every, zone, moment)
        assert at is not None
        moment = at
        found.append(datetime.fromtimestamp(at, UTC).strftime("%d %H:%M"))
    return found


def test_a_time_is_meant_in_its_zone() -> None:
    start = datetime(2026, 7, 1, tzinfo=UTC)
    assert moments("30 2 * * *", "Asia/Tbilisi", start, 2) == ["01 22:30", "02 22:30"]
    assert moments("30 2 * * *", "UTC", start, 1) == ["01 02:30"]


def test_an_hour_that_the_clocks_leave_out_is_made_up_for_and_one_that_they_repeat_counts_once() -> None:
    spring = datetime(2026, 3, 28, 12, tzinfo=UTC)  # Berlin goes from 2:00 to 3:00 on the 29th
    assert moments("30 2 * * *", "Europe/Berlin", spring, 2) == ["29 01:00", "30 00:30"]
    autumn = datetime(2026, 10, 24, 12, tzinfo=UTC)  # and from 3:00 back to 2:00 on the 25th
    assert moments("30 2 * * *", "Europe/Berlin", autumn, 2) == ["25 00:30", "26 01:30"]


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no time zone"):
        CronCalendar().next_after("0 * * * *", "Mars/Olympus", 0.0)


def test_a_zone_comes_from_the_environment_first() -> None:
    assert CronCalendar("Asia/Tbilisi").local_zone() == "Asia/Tbilisi"
    assert CronCalendar(":Asia/Tbilisi").local_zone() == "Asia/Tbilisi"
    assert ZoneInfo(CronCalendar("nowhere/at/all").local_zone())


@pytest.mark.parametrize("calendar", EVERY, ids=["cron", "fake"])
def test_a_duration_counts_from_now_and_what_is_no_time_is_refused(calendar: Calendar) -> None:
    assert calendar.moment("2h", "UTC", 1000.0) == 8200.0
    for text in ("", "soon", "25:00", "2026-13-01T00:00"):
        with pytest.raises(UsageError, match="is not a time"):
            calendar.moment(text, "UTC", 1000.0)


def test_a_time_of_day_is_the_next_one_in_its_zone() -> None:
    now = datetime(2026, 7, 1, 12, tzinfo=UTC).timestamp()
    found = [CronCalendar().moment(one, "Europe/Berlin", now) for one in ("15:00", "13:00", "2026-07-02 03:00")]
    assert [datetime.fromtimestamp(one, UTC).strftime("%d %H:%M") for one in found] == [
        "01 13:00",
        "02 11:00",
        "02 01:00",
    ]
    assert CronCalendar().moment("2026-07-02T03:00+00:00", "Europe/Berlin", now) == now + 15 * 3600


@pytest.mark.parametrize("text", ["", " ", "99999999d", "99999999999999999999999d", "10000-01-01T00:00"])
def test_what_is_no_time_or_later_than_any_date_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not a time|later than any date"):
        CronCalendar().moment(text, "UTC", 1_700_000_000.0)
