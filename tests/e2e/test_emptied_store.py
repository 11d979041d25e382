"""Somebody empties the store's file, as `> store.db` or a file system after a crash does: no session is lost."""

from __future__ import annotations

import contextlib
import os

import pytest

from rekindle import store_start
from rekindle.adapters.daemon_socket.client import is_served
from tests.e2e.daemon import Machine, until

pytestmark = pytest.mark.timeout(240)


@pytest.mark.parametrize("in_use", [True, False])
def test_sessions_are_rebuilt_after_the_file_was_emptied(machine: Machine, *, in_use: bool) -> None:
    session = machine.begin("say I am here")
    machine.until_status(session, "waiting")
    if in_use:
        os.truncate(machine.places.store, 0)
        machine.ok("send", session, "say Still here")
        machine.kill_daemon()
    else:
        machine.ok("serve", "--stop")
        os.truncate(machine.places.store, 0)
    machine.ok("send", session, "say And now")
    machine.until_said(session, "And now")
    assert [one["id"] for one in machine.json("ps", "--all")["sessions"]] == [session]


def test_a_daemon_that_is_killed_while_it_rebuilds_loses_no_session(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = machine.begin("say I am here")
    machine.until_status(session, "waiting")
    machine.ok("stop", session, "--sleep")
    machine.ok("serve", "--stop")
    until(lambda: not is_served(machine.places), "the end of the daemon")
    os.unlink(machine.places.store)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(store_start, "put_back", killed)
    with pytest.raises(KeyboardInterrupt), contextlib.ExitStack() as parts:
        store_start.opened_store(parts, machine.places)  # type: ignore[arg-type]
    told = machine.run("ps")
    assert told.returncode != 0 and session in told.stderr and "not rebuilt yet" in told.stderr
    machine.ok("show", session)
    assert [one["id"] for one in machine.json("ps", "--all")["sessions"]] == [session]


@pytest.mark.parametrize("gone", [True, False])
def test_without_a_daemon_nobody_is_told_that_there_are_no_sessions(machine: Machine, *, gone: bool) -> None:
    session = machine.begin("say I am here")
    machine.until_status(session, "waiting")
    machine.ok("stop", session, "--sleep")
    machine.ok("serve", "--stop")
    until(lambda: not is_served(machine.places), "the end of the daemon")
    os.unlink(machine.places.store) if gone else os.truncate(machine.places.store, 0)
    for words in (["ps"], ["ps", "--all", "--json"], ["resume", "--explain"], []):
        told = machine.run(*words)
        assert told.returncode != 0, words
        said = told.stdout + told.stderr
        assert session in said and "rebuilds it" in said, words
    machine.ok("show", session)
    assert [one["id"] for one in machine.json("ps", "--all")["sessions"]] == [session]


def test_why_the_daemon_did_not_start_is_said(machine: Machine) -> None:
    os.makedirs(machine.places.store)
    told = machine.run("run", "--detach", "say I am here")
    assert told.returncode != 0
    assert "the daemon did not start: " in told.stderr and machine.places.store in told.stderr
    os.rmdir(machine.places.store)
