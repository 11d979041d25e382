"""After a reboot nobody types anything: the crontab's check brings back what goes on by itself, and nothing else."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rekindle.adapters.boot import due_check
from rekindle.adapters.daemon_socket.client import is_served
from rekindle.core.boot import MARK, BootStart, entry, needed
from tests.e2e.daemon import Machine, until

pytestmark = pytest.mark.timeout(240)


def look(machine: Machine) -> subprocess.CompletedProcess[str]:
    """What cron does: a shell, and next to no environment."""
    start = BootStart((), (sys.executable, "-m", due_check.__name__), needed(machine.environment()))
    line = entry(start).split(" ", 5)[5].removesuffix(MARK).replace("\\%", "%")
    short = {name: machine.environment()[name] for name in ("HOME", "REKINDLE_TEST_RUN")}
    return subprocess.run(
        ["/bin/sh", "-c", line],
        env={**short, "PATH": "/usr/bin:/bin", "SHELL": "/bin/sh", "LOGNAME": "me"},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )


def kill_everything(machine: Machine, session: str) -> None:
    """As a machine that loses its power: nobody can clean up."""
    pids = machine.pids(session)
    machine.kill_daemon()
    for name in ("guard", "keeper", "agent"):
        machine.kill(pids[name])


def test_a_session_that_goes_on_by_itself_comes_back_without_a_command(machine: Machine) -> None:
    session = machine.begin("say begin", "once a sleep 600", "say the end", options=("--policy", "continue"))
    machine.until_said(session, "sleep: 600")
    kill_everything(machine, session)
    done = look(machine)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    until(lambda: "the end" in machine.said(session).splitlines(), "the end")
    again = look(machine)
    assert (again.returncode, again.stderr) == (0, ""), "a daemon runs: nothing to do, nothing to say"


def test_what_waits_for_a_person_starts_no_daemon(machine: Machine) -> None:
    assert look(machine).returncode == 0, "no store yet"
    assert not is_served(machine.places)
    machine.ok("run", "say hello")
    session = machine.json("ps")["sessions"][0]["id"]
    machine.until_status(session, "asleep")
    machine.ok("serve", "--stop")
    until(lambda: not is_served(machine.places), "the end of the daemon")
    done = look(machine)
    assert (done.returncode, done.stderr) == (0, "")
    assert not is_served(machine.places)


def test_a_runtime_folder_that_is_not_there_yet_is_said(machine: Machine) -> None:
    gone = {**machine.environment(), "XDG_RUNTIME_DIR": str(machine.home / "gone")}
    assert due_check.main(gone) == 1
    assert not is_served(machine.places)


def test_where_nothing_is_installed_a_policy_that_needs_it_says_so(machine: Machine) -> None:
    told = machine.run("run", "--detach", "--agent", "scripted", "--policy", "continue", "say hello")
    assert told.returncode == 0
    assert "after a reboot" in told.stderr
    plain = machine.run("run", "--detach", "--agent", "scripted", "say hello")
    assert "boot" not in plain.stderr
    for words in (("--at", "2h"), ("--every", "0 3 * * *"), ("--policy", "continue")):
        told = machine.run("job", "submit", "--agent", "scripted", *words, "say hello")
        assert "after a reboot" in told.stderr, words
        job = told.stdout.strip()
        machine.ok(*(("wait", job) if "continue" in words else ("job", "cancel", job)))
    plain = machine.run("job", "submit", "--agent", "scripted", "say hello")
    assert "boot" not in plain.stderr
    machine.ok("wait", plain.stdout.strip())
