"""The promises of a line to the daemon.

There is no fake: it would have to be a second daemon, one that answers as the real one does and can be killed as well.
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from rekindle.adapters.daemon_socket.client import DaemonClient
from rekindle.adapters.machine.daemon_presence import take_lock
from rekindle.places import Places
from rekindle.ports.daemon import Daemon, DaemonSilent, NoDaemon
from rekindle.ports.errors import RekindleError, UsageError
from rekindle.settings import load
from tests.e2e.daemon import is_running, until

#: A daemon outlives whoever started it, also a test that has not waited for its end.
pytestmark = pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")


class Line:
    """Lines to the daemon of one store, and what may happen to its process."""

    def __init__(self, home: Path) -> None:
        self.places = Places(load({"HOME": str(home)}, None))
        self._open: list[Daemon] = []

    def another(self) -> Daemon:
        self._open.append(DaemonClient(self.places))
        return self._open[-1]

    def kill(self) -> None:
        pid = self.another().holder()
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        until(lambda: not is_running(pid), "the end of the daemon")
        until(lambda: not self.another().is_served(), "that its last thread lets go")

    @contextmanager
    def stopped(self) -> Iterator[int]:
        """Somebody has stopped the daemon's process."""
        pid = self.another().holder()
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T", "that it stops")
        try:
            yield pid
        finally:
            os.kill(pid, signal.SIGCONT)

    def clean_up(self) -> None:
        for one in self._open:
            one.close()
        daemon = DaemonClient(self.places)
        pid = daemon.holder()
        if pid is not None:
            daemon.ask("shutdown", start=False)
            until(lambda: not is_running(pid), "the end of the daemon")
        daemon.close()


def _read(path: str) -> str:
    return Path(path).read_text() if os.path.exists(path) else ""


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Iterator[Line]:
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:  # the path of a socket has to be short
        for name in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", folder)
        made = Line(Path(folder))
        yield made
        made.clean_up()


def test_where_nobody_serves_that_is_said_and_looking_starts_nobody(line: Line) -> None:
    daemon = line.another()
    for _ in range(2):
        assert (daemon.is_served(), daemon.holder()) == (False, None)
        with pytest.raises(NoDaemon) as raised:
            daemon.ask("ping", start=False)
        assert raised.value.hint
    daemon.close()


def test_whoever_asks_starts_the_one_daemon_and_all_reach_the_same(line: Line) -> None:
    one, other = line.another(), line.another()
    pid = one.ask("ping")["pid"]
    assert is_running(pid)
    assert (one.is_served(), one.holder()) == (True, pid)
    assert other.ask("ping", start=False) == {"pid": pid}
    assert (other.is_served(), other.holder()) == (True, pid)


def test_what_the_daemon_refuses_is_raised_as_what_it_is_and_the_line_stays(line: Line) -> None:
    daemon = line.another()
    with pytest.raises(UsageError) as raised:
        daemon.ask("no such thing")
    assert (raised.value.exit_status, bool(raised.value.hint)) == (2, True)
    with pytest.raises(RekindleError) as found:
        daemon.ask("show", session="nobody")
    assert found.value.code not in ("internal", NoDaemon.code)
    assert daemon.ask("list", start=False)["sessions"] == []  # the answer says more: what holds for all sessions


def test_who_has_hung_up_can_ask_again(line: Line) -> None:
    daemon = line.another()
    pid = daemon.ask("ping")["pid"]
    for _ in range(2):
        daemon.close()
        daemon.close()
        assert daemon.ask("ping", start=False)["pid"] == pid


def test_a_daemon_that_died_is_started_again_only_for_what_may_be_asked_twice(line: Line) -> None:
    daemon = line.another()
    first = daemon.ask("ping")["pid"]
    line.kill()
    assert (daemon.is_served(), daemon.holder()) == (False, None)
    with pytest.raises(NoDaemon) as raised:
        daemon.ask("resume_all")
    assert "may have heard" in raised.value.message
    with pytest.raises(NoDaemon):
        daemon.ask("ping", start=False)
    second = daemon.ask("ping")["pid"]
    assert second != first
    line.kill()
    assert daemon.ask("ping")["pid"] not in (first, second)


def test_a_daemon_that_leaves_is_followed_by_another_one_for_whoever_asks_meanwhile(line: Line) -> None:
    """Its socket is gone before it lets go of the store: one that starts then is refused, and must be tried again."""
    line.places.make()
    leaving = take_lock(line.places)

    def let_go() -> None:
        until(lambda: "already serves" in _read(line.places.daemon_log), "a daemon that is refused")
        os.close(leaving)

    with ThreadPoolExecutor(1) as somebody:
        gone = somebody.submit(let_go)
        assert line.another().ask("ping")["pid"] == line.another().holder()
        gone.result()


def test_a_daemon_that_is_stopped_is_not_waited_for_and_is_named_with_what_it_may_have_heard(line: Line) -> None:
    asked, new = line.another(), line.another()
    pid = asked.ask("ping")["pid"]
    with line.stopped() as stopped:
        assert stopped == pid
        with pytest.raises(DaemonSilent) as on_the_way:
            asked.ask("ping")
        with pytest.raises(DaemonSilent) as before:
            new.ask("ping")
        assert (new.is_served(), new.holder()) == (True, pid)
    for raised, heard in ((on_the_way, "may still be carried out"), (before, "no request was sent")):
        assert heard in raised.value.message
        assert f"kill -CONT {pid}" in raised.value.hint
    assert new.ask("ping")["pid"] == asked.ask("ping")["pid"] == pid
