"""A real systemd of a user: the unit that `boot install` writes, agents in scopes of their own, and a killed daemon.

The systemd lives in a mount namespace and a control group of its own, so that nothing of this machine's is touched.
Where that cannot be (no systemd, not root), the tests are skipped.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.daemon import Machine, is_running, until

pytestmark = pytest.mark.timeout(240)
SYSTEMD = "/usr/lib/systemd/systemd"
#: Where the control groups of this machine are, whichever version it has.
_HIERARCHIES = ("/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup")
_START = """\
for group in "$@"; do echo $$ > "$group/cgroup.procs" || exit 1; done
mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system || exit 1
exec /usr/lib/systemd/systemd --user --log-target=null
"""


@dataclass(frozen=True)
class UserSystemd:
    """A machine on which a systemd runs for the user."""

    machine: Machine

    def ask(self, *words: str) -> str:
        done = subprocess.run(
            ["systemctl", "--user", *words],
            env=self.machine.environment(),
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        return done.stdout + done.stderr

    def daemon(self) -> int:
        return int(self.ask("show", "--property=MainPID", "--value", "rekindle.service").strip() or 0)

    def group(self, pid: int) -> str:
        """The control groups of a process."""
        return Path(f"/proc/{pid}/cgroup").read_text()


@pytest.fixture
def systemd() -> Iterator[UserSystemd]:
    tools = (SYSTEMD, "systemctl", "systemd-run", "unshare")
    if os.getuid() != 0 or not all(shutil.which(one) for one in tools):
        pytest.skip("no systemd can be started here")
    with tempfile.TemporaryDirectory(prefix="rk-", dir="/tmp", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for inner in ("home", "work", "run"):
            (folder / inner).mkdir(mode=0o700)
        groups = _own_groups(folder.name)
        variables = {"XDG_RUNTIME_DIR": str(folder / "run")}
        machine = Machine(folder / "home", folder / "work", variables=variables, is_quick=False)
        running = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", _START, "sh", *groups],
            env={**machine.environment(), "HOME": str(folder / "home")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        found = UserSystemd(machine)
        try:
            until(lambda: running.poll() is not None or "Version=" in found.ask("show", "--property=Version"))
            if running.poll() is not None:
                pytest.skip("a systemd of a user does not start here")
            yield found
            machine.ok("boot", "remove")
            machine.clean_up()
        finally:
            running.send_signal(signal.SIGTERM)
            running.wait(30)
            for group in groups:
                _remove(Path(group))


def _own_groups(name: str) -> list[str]:
    found = []
    for hierarchy in _HIERARCHIES:
        if os.path.exists(f"{hierarchy}/cgroup.procs") and os.access(hierarchy, os.W_OK):
            os.makedirs(f"{hierarchy}/{name}", exist_ok=True)
            found.append(f"{hierarchy}/{name}")
    return found


def _remove(group: Path) -> None:
    for folder in sorted((one for one in group.rglob("*") if one.is_dir()), reverse=True):
        until(partial(_gone, folder), f"the end of {folder}")
    until(partial(_gone, group), f"the end of {group}")


def _gone(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def test_the_unit_runs_agents_live_in_scopes_and_stopping_the_service_ends_none_of_them(systemd: UserSystemd) -> None:
    machine = systemd.machine
    assert "rekindle.service" in machine.ok("boot", "install", "--with", "systemd")
    assert systemd.ask("is-active", "rekindle.service").strip() == "active"
    session = machine.begin("say begin", "once a sleep 600", "say the end", options=("--policy", "continue"))
    machine.until_said(session, "sleep: 600")
    pids, daemon = machine.pids(session), systemd.daemon()
    assert f"rekindle-{session}-" in systemd.group(pids["agent"])
    assert "rekindle.service" in systemd.group(daemon)
    assert f"rekindle-{session}-" in systemd.ask("list-units", "--type=scope", "--plain", "--full")
    systemd.ask("stop", "rekindle.service")
    until(lambda: not is_running(daemon), "the end of the daemon")
    assert all(is_running(pid) for pid in pids.values()), "the agent keeps working"
    systemd.ask("start", "rekindle.service")
    until(lambda: machine.status(session) == "working", "the session is followed again")
    assert machine.pids(session) == pids, "nothing was interrupted"


def test_a_daemon_that_is_killed_with_all_its_agents_is_started_by_systemd_and_they_come_back(
    systemd: UserSystemd,
) -> None:
    machine = systemd.machine
    machine.ok("boot", "install", "--with", "systemd")
    session = machine.begin("say begin", "once a sleep 600", "say the end", options=("--policy", "continue"))
    machine.until_said(session, "sleep: 600")
    pids = machine.pids(session)
    for pid in (systemd.daemon(), pids["guard"], pids["keeper"], pids["agent"]):
        os.kill(pid, signal.SIGKILL)
    transcript = Path(machine.places.sessions, session)
    until(lambda: (transcript / "2").is_dir(), "a second attempt, without any command", 90.0)
    until(lambda: "the end" in machine.said(session).splitlines(), "the end")
    second = machine.pids(session, 2)
    assert f"rekindle-{session}-" in systemd.group(second["agent"])
