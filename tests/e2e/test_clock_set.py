"""Somebody sets the machine's clock, or summer time begins or ends, while jobs wait for their time. Real processes.

The clock is that of libfaketime (Debian's package `faketime`): daemon, commands and agents all see it, and it is set
while they run. The clocks that nobody sets (monotonic, boot time) go on as they are. Without it they are skipped.
"""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.daemon import Machine, until
from tests.soaking import only_in_soak

_LIBRARY = next(iter(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), None)
pytestmark = [
    pytest.mark.timeout(280),
    pytest.mark.skipif(_LIBRARY is None, reason="no clock can be set here: apt-get install faketime"),
]
HOUR = 3600.0


class SetClock:
    """A machine whose clock can be set."""

    def __init__(self, machine: Machine) -> None:
        self._offset = machine.home / "clock"
        self._ahead = 0.0
        self.put(0.0)
        variables = {
            **machine.variables,
            "LD_PRELOAD": str(_LIBRARY),
            "FAKETIME_TIMESTAMP_FILE": str(self._offset),
            "FAKETIME_CACHE_DURATION": "1",  # to read the file whenever somebody asks for the time is slow
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        self.machine = replace(machine, variables=variables, is_quick=False)

    def put(self, ahead: float) -> None:
        """Set the clock so far ahead of the true one."""
        self._ahead = ahead
        self._offset.write_text(f"{ahead:+.0f}\n")

    def set_to(self, when: datetime) -> None:
        self.put(when.timestamp() - time.time())

    def move(self, seconds: float) -> None:
        """Set the clock forward or back."""
        self.put(self._ahead + seconds)

    @property
    def now(self) -> float:
        return time.time() + self._ahead

    def submit(self, *words: str) -> str:
        name: str = self.machine.json("job", "submit", "--agent", "scripted", *words)["job"]["id"]
        return name

    def shown(self, job: str) -> dict[str, Any]:
        found: dict[str, Any] = self.machine.json("job", "show", job)["job"]
        return found

    def runs(self, schedule: str) -> list[dict[str, Any]]:
        """The jobs that a schedule has started, oldest first."""
        found = [one for one in self.machine.json("job", "list", "--all")["jobs"] if one["of"] == schedule]
        return sorted(found, key=lambda one: float(one["submitted_at"]))

    def until_runs(self, schedule: str, number: int) -> None:
        """Until the schedule has started so many jobs and all are done."""

        def are_done() -> bool:
            found = self.runs(schedule)
            return len(found) == number and all(one["status"] == "done" for one in found)

        until(are_done, f"{number} jobs, all done")

    def look_twice(self) -> None:
        """Until the daemon has certainly looked at every job since, with the clock as it is now."""
        seen = time.monotonic() + 1.5
        while time.monotonic() < seen:
            job = self.submit("say looked")
            until(lambda job=job: self.shown(job)["status"] == "done", "another job")  # type: ignore[misc]


@pytest.fixture
def clock(machine: Machine) -> SetClock:
    return SetClock(machine)


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_job_starts_when_the_clock_is_set_past_its_time_and_not_again_when_it_is_set_back(clock: SetClock) -> None:
    clock.set_to(_at("2027-01-14 10:00"))
    job = clock.submit("--at", "2027-01-14T11:00", "--zone", "UTC", "say once")
    clock.look_twice()
    assert clock.shown(job)["status"] == "queued"
    clock.move(HOUR + 5)
    until(lambda: clock.shown(job)["status"] == "done", "its time")
    clock.move(-HOUR)
    clock.look_twice()
    clock.move(HOUR)
    clock.look_twice()
    told = clock.shown(job)
    assert (told["status"], len(told["steps"])) == ("done", 1)
    assert clock.machine.said(told["session"]).splitlines().count("once") == 1


@pytest.mark.soak
def test_a_job_whose_time_is_an_hour_further_away_after_the_clock_is_set_back_waits_for_it(clock: SetClock) -> None:
    clock.set_to(_at("2027-01-14 10:40"))
    job = clock.submit("--at", "2027-01-14T11:00", "--zone", "UTC", "say once")
    clock.move(-HOUR)
    clock.look_twice()
    told = clock.shown(job)
    assert (told["status"], told["next_at"]) == ("queued", _at("2027-01-14 11:00").timestamp())
    clock.move(HOUR + 1300)
    until(lambda: clock.shown(job)["status"] == "done", "its time")


@pytest.mark.parametrize("is_killed", [False, *only_in_soak(True)])
def test_a_schedule_runs_each_hour_once_whatever_the_clock_does(clock: SetClock, is_killed: bool) -> None:
    """Forward by an hour: one job. Back by an hour: none. Forward again: none for the same time, one for the next."""
    clock.set_to(_at("2027-01-14 10:30"))
    schedule = clock.submit("--every", "0 * * * *", "--zone", "UTC", "say tick")

    def move(seconds: float) -> None:
        if is_killed:
            clock.machine.kill_daemon()
        clock.move(seconds)
        clock.look_twice()

    move(HOUR)  # 11:30
    clock.until_runs(schedule, 1)
    move(-HOUR)  # 10:30
    assert len(clock.runs(schedule)) == 1
    move(HOUR)  # 11:30
    assert len(clock.runs(schedule)) == 1
    move(HOUR)  # 12:30
    clock.until_runs(schedule, 2)
    due = [datetime.fromtimestamp(one["due"], UTC).strftime("%H:%M") for one in clock.runs(schedule)]
    assert due == ["11:00", "12:00"]


@pytest.mark.soak
def test_a_time_that_summer_time_leaves_out_is_made_up_for_once(clock: SetClock) -> None:
    clock.set_to(_at("2027-03-28 00:40"))  # in Berlin 01:40; after 01:59 comes 03:00
    schedule = clock.submit("--every", "30 2 * * *", "--zone", "Europe/Berlin", "say tick")
    clock.look_twice()
    assert clock.runs(schedule) == []
    clock.set_to(_at("2027-03-28 01:01"))
    clock.until_runs(schedule, 1)
    clock.set_to(_at("2027-03-28 12:00"))
    clock.look_twice()
    assert len(clock.runs(schedule)) == 1
    clock.set_to(_at("2027-03-29 00:31"))  # in Berlin 02:31
    clock.until_runs(schedule, 2)


@pytest.mark.soak
def test_a_time_that_comes_twice_when_summer_time_ends_counts_once(clock: SetClock) -> None:
    clock.set_to(_at("2027-10-31 00:10"))  # in Berlin 02:10, summer time
    schedule = clock.submit("--every", "30 2 * * *", "--zone", "Europe/Berlin", "say tick")
    clock.set_to(_at("2027-10-31 00:31"))
    clock.until_runs(schedule, 1)
    clock.set_to(_at("2027-10-31 01:31"))  # in Berlin 02:31 again, winter time
    clock.look_twice()
    assert len(clock.runs(schedule)) == 1
    clock.set_to(_at("2027-11-01 01:31"))
    clock.until_runs(schedule, 2)
