"""The daily report is told once a day: at its time, or when a daemon is back, and not in quiet hours."""

from __future__ import annotations

import asyncio
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from rekindle.core.inbox.news import News
from rekindle.core.inbox.settings import notify_settings
from rekindle.core.inbox.telling import TellRules
from rekindle.core.report.windows import before, last_time, moment
from rekindle.core.setting_keys import notify_keys
from rekindle.core.streams import TELLING
from rekindle.runtime import telling
from rekindle.runtime.daily_report import DailyReport, key_of
from rekindle.runtime.telling import Teller, TellingPorts, TellingTerms
from tests.fakes.receiver import FakeReceiver
from tests.fakes.store import FakeStore, InlineAccess

pytestmark = pytest.mark.timeout(60)
DAY, HOUR = 86400.0, 3600.0
AT = 7 * 60 + 30


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(telling, "_LOOK_SECONDS", 0.01)


def local(day: int, clock: str) -> float:
    """A time in November, by the clock of this machine."""
    found = moment(f"2026-11-{day:02}T{clock}", 0.0)
    assert found is not None
    return found


class Machine:
    """A store and a receiver that outlive the daemons."""

    def __init__(self, now: float, quiet: tuple[int, int] | None = None) -> None:
        self.store, self.receiver = FakeStore(), FakeReceiver("phone")
        self.now = now
        self.rules = TellRules(about=("question", "report"), dwell=1.0, quiet=quiet)
        self.report_at: int | None = AT
        self.made: list[float] = []
        self.fails = False
        self.looks = 0

    def terms(self) -> TellingTerms:
        return TellingTerms(self.rules, {"phone": self.receiver}, report_at=self.report_at)

    def looked(self) -> TellingTerms:
        """The terms as the teller reads them, each time it looks."""
        self.looks += 1
        return self.terms()

    def make(self, due: float, key: str) -> News:
        self.made.append(due)
        if self.fails:
            raise RuntimeError("it broke")
        return News(key, "report", "rekindle report: 4 done", "rekindle report", due)

    async def _sessions(self) -> list[object]:
        return []

    async def _settled(self) -> None:
        """Wait until the teller has looked twice more, and nothing is on its way."""
        wanted = self.looks + 2
        async with asyncio.timeout(20):
            while self.looks < wanted or self._on_its_way():
                await asyncio.sleep(0)

    def _on_its_way(self) -> bool:
        told = TELLING.folded(one.fact for one in self.store.facts(TELLING.kind))  # type: ignore[misc]
        return told is not None and bool(told.pending)

    def serve(self, *times: float) -> list[str]:
        """A daemon that lives through these times, and what people had been told by its end."""

        async def live() -> None:
            minute = lambda now: (now - local(1, "00:00")) / 60 % 1440  # noqa: E731
            ports = TellingPorts(
                InlineAccess(self.store),
                lambda: self.now,
                self.looked,
                minute,
                lambda one: one,
                self._sessions,  # type: ignore[arg-type]
            )
            teller = Teller(ports)
            daily = DailyReport(teller, self.terms, lambda: self.now, self.make)
            running = asyncio.ensure_future(teller.run())
            for now in times:
                self.now = now
                await self._settled()
                await daily.look()
                await self._settled()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await teller.close()

        asyncio.run(live())
        return [one.title for one in self.receiver.taken]


def test_it_is_told_once_a_day_at_its_time() -> None:
    machine = Machine(local(10, "06:00"))
    assert machine.serve(local(10, "06:00"), local(10, "07:29")) == []
    assert len(machine.serve(local(10, "07:31"), local(10, "08:00"), local(10, "20:00"))) == 1
    assert len(machine.serve(local(11, "07:00"))) == 1
    assert len(machine.serve(local(11, "07:31"))) == 2
    assert machine.made.count(local(10, "07:30")) == 1
    assert {one.about for one in machine.receiver.taken} == {"report"}


def test_daemons_that_were_down_for_a_week_tell_it_once_and_not_seven_times() -> None:
    machine = Machine(local(10, "06:00"))
    machine.serve(local(10, "06:00"))
    assert len(machine.serve(local(17, "12:00"), local(17, "13:00"))) == 1
    assert machine.made == [local(17, "07:30")]
    assert len(machine.serve(local(17, "14:00"))) == 1


def test_in_quiet_hours_it_waits_until_they_are_over() -> None:
    machine = Machine(local(10, "06:00"), quiet=(22 * 60, 9 * 60))
    assert machine.serve(local(10, "06:00"), local(10, "07:31"), local(10, "08:59")) == []
    assert len(machine.serve(local(10, "09:01"))) == 1


def test_a_time_that_is_set_anew_gives_no_second_report_on_the_same_day() -> None:
    machine = Machine(local(10, "06:00"))
    machine.serve(local(10, "06:00"), local(10, "07:31"))
    machine.report_at = 8 * 60
    assert len(machine.serve(local(10, "08:01"))) == 1
    assert len(machine.serve(local(11, "08:01"))) == 2


def test_without_the_setting_nothing_is_made_or_told() -> None:
    machine = Machine(local(10, "06:00"))
    machine.report_at = None
    assert machine.serve(local(10, "06:00"), local(10, "07:31")) == []
    assert machine.made == []


def test_a_report_that_cannot_be_made_is_told_as_such_and_harms_nobody() -> None:
    machine = Machine(local(10, "06:00"))
    machine.fails = True
    assert machine.serve(local(10, "06:00"), local(10, "07:31")) == ["the daily report could not be made"]


def test_the_setting_is_a_time_of_day_and_chooses_the_report_whatever_else_is_chosen() -> None:
    key = {one.name: one for one in notify_keys()}["notify_report_at"]
    assert key.is_valid("07:30") and key.is_valid("23:59")
    assert not any(key.is_valid(bad) for bad in ("24:00", "7", "7.30", "soon", 730))
    found = notify_settings({"notify_report_at": "07:30", "notify_about": "question"})
    assert (found.report_at, found.rules.about) == (AT, ("question", "report"))
    assert "report" not in notify_settings({}).rules.about


def test_the_last_time_is_right_on_days_on_which_the_clocks_change() -> None:
    zone = ZoneInfo("Europe/Berlin")
    for day in (datetime(2026, 3, 29, 12, tzinfo=zone), datetime(2026, 10, 25, 12, tzinfo=zone)):
        due = last_time(AT, day.timestamp(), zone)
        assert datetime.fromtimestamp(due, zone).strftime("%d %H:%M") == day.strftime("%d 07:30")
        window = before(due, zone)
        assert datetime.fromtimestamp(window.since, zone).strftime("%H:%M") == "07:30"
    assert key_of(local(10, "07:30")) == "report-2026-11-10"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("today", "2026-11-17 00:00"),
        ("yesterday", "2026-11-16 00:00"),
        ("8h", "2026-11-17 02:00"),
        ("90m", "2026-11-17 08:30"),
        ("2d", "2026-11-15 10:00"),
        ("09:30", "2026-11-17 09:30"),
        ("22:30", "2026-11-16 22:30"),
        ("2026-11-16", "2026-11-16 00:00"),
        ("2026-11-16T22:30", "2026-11-16 22:30"),
        ("2026-11-16 22:30", "2026-11-16 22:30"),
        ("2026-11-16T22:30+00:00", "2026-11-16 23:30"),
        ("now", "2026-11-17 10:00"),
    ],
)
def test_times_are_read_as_people_write_them(text: str, meant: str) -> None:
    zone = ZoneInfo("Europe/Berlin")
    now = datetime(2026, 11, 17, 10, tzinfo=zone).timestamp()
    found = moment(text, now, zone)
    assert found is not None
    assert datetime.fromtimestamp(found, zone).strftime("%Y-%m-%d %H:%M") == meant


@pytest.mark.parametrize("text", ["", "soon", "8", "25:00", "2026-13-01", "-3h", "0h", "tomorrow", "1e400d"])
def test_what_is_not_a_time_is_refused(text: str) -> None:
    assert moment(text, 1e9) is None
