"""Somebody empties the store's file, as `> store.db` or a file system after a crash does: no session is lost."""

from __future__ import annotations

import os

import pytest

from tests.e2e.daemon import Machine

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
