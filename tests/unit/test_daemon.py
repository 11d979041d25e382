"""The daemon around its parts: when it begins anew."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from pathlib import Path

import pytest

from rekindle import daemon
from rekindle.adapters.session_folder.records import VaultRecords
from rekindle.runtime.supervisor import Supervisor

#: Nobody opens its HTTP door.
TERMS = daemon.DaemonTerms(lambda _daemon: None)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "s"), "XDG_RUNTIME_DIR": str(tmp_path / "r")}


@pytest.mark.parametrize("where", ["a chore", "the supervisor"])
def test_after_a_fault_of_its_own_the_daemon_begins_anew_and_serves(
    where: str, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    beginnings: list[Supervisor] = []

    async def fail() -> None:
        raise ArithmeticError("nobody foresaw this")

    async def watch(supervisor: Supervisor) -> None:
        beginnings.append(supervisor)
        if len(beginnings) == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        elif where == "a chore":
            await fail()
        else:
            supervisor._attendant("s").background(fail())
        await asyncio.Event().wait()

    monkeypatch.setattr(daemon, "keep_time", watch)
    monkeypatch.setattr("rekindle.daemon.time.sleep", lambda _: None)
    with caplog.at_level(logging.ERROR):
        assert daemon.serve(environment, TERMS) == 0
    assert len(beginnings) == 3
    assert sum("restarting after a fault" in one.message for one in caplog.records) == 2
    assert any(one.exc_info is not None for one in caplog.records), "what it was is said"


def test_a_beginning_that_fails_lets_go_of_what_it_has_taken_and_the_next_one_serves(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Supervisor] = []
    let_go: list[VaultRecords] = []
    start, close = Supervisor.start, VaultRecords.close

    async def fail_the_second_time(supervisor: Supervisor) -> None:
        begun.append(supervisor)
        if len(begun) == 2:
            raise ArithmeticError("nobody foresaw this either")
        await start(supervisor)

    def note(records: VaultRecords) -> None:
        let_go.append(records)
        close(records)

    async def watch(_: Supervisor) -> None:
        if len(begun) == 1:
            raise ArithmeticError("nobody foresaw this")
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.Event().wait()

    monkeypatch.setattr(Supervisor, "start", fail_the_second_time)
    monkeypatch.setattr(VaultRecords, "close", note)
    monkeypatch.setattr(daemon, "keep_time", watch)
    monkeypatch.setattr("rekindle.daemon.time.sleep", lambda _: None)
    assert daemon.serve(environment, TERMS) == 0
    assert (len(begun), len(set(map(id, let_go)))) == (3, 3)
