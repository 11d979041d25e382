"""The promises of entries that start the daemon with the machine, over tools that keep a record instead of obeying."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekindle.adapters.boot.cron_entry import CronEntry
from rekindle.adapters.boot.systemd_unit import SystemdUnit
from rekindle.core.boot import BootStart
from rekindle.ports.boot import BootEntry, BootFailed

SYSTEMCTL = """#!/bin/sh
echo "$*" >> "$HOME/told"
test ! -e "$HOME/refuses" || { echo "Failed to connect to bus" >&2; exit 1; }
case "$2" in
  show) echo Version=252;;
  restart) touch "$HOME/active";;
  is-active) test -e "$HOME/active" && echo active || { echo inactive; exit 3; };;
esac
"""
LOGINCTL = '#!/bin/sh\necho "Linger=$(cat "$HOME/linger" 2>/dev/null || echo no)"\n'
CRONTAB = """#!/bin/sh
test ! -e "$HOME/refuses" || { echo "you are not allowed to use this program" >&2; exit 1; }
case "$1" in
  -l) cat "$HOME/table" 2>/dev/null || { echo "no crontab for me" >&2; exit 1; };;
  -) cat > "$HOME/table";;
esac
"""
START = BootStart(("/opt/python", "serve"), ("/opt/python", "check"), {"XDG_STATE_HOME": "/srv/state"})
LATER = BootStart(("/new/python", "serve"), ("/new/python", "check"), {})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name, text in {"systemctl": SYSTEMCTL, "loginctl": LOGINCTL, "crontab": CRONTAB}.items():
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(text)
        program.chmod(0o755)
    return tmp_path


@pytest.fixture(params=[SystemdUnit, CronEntry])
def way(request: pytest.FixtureRequest, home: Path) -> BootEntry:
    made: BootEntry = request.param({"HOME": str(home), "PATH": f"{home}/bin:/usr/bin:/bin"})
    return made


def test_what_is_installed_is_seen_is_renewed_and_can_be_taken_out(way: BootEntry) -> None:
    before = way.state(START)
    assert (before.usable, before.installed) == (True, False)
    way.install(START)
    way.install(START)
    state = way.state(START)
    assert (state.installed, state.current) == (True, True)
    assert way.state(LATER).current is False
    way.install(LATER)
    assert way.state(LATER).current is True
    assert way.remove() is True
    assert way.state(LATER).installed is False
    assert way.remove() is False


def test_a_tool_that_refuses_is_told_and_nothing_is_lost(way: BootEntry, home: Path) -> None:
    way.install(START)
    kept = {path.name: path.read_bytes() for path in home.rglob("*") if path.is_file() and path.name != "told"}
    (home / "refuses").touch()
    if isinstance(way, CronEntry):
        with pytest.raises(BootFailed, match="not allowed"):
            way.state(START)
    else:
        state = way.state(START)
        assert (state.usable, state.installed) == (False, True)
    with pytest.raises(BootFailed):
        way.install(LATER)
    (home / "refuses").unlink()
    if isinstance(way, CronEntry):
        assert kept["table"] == (home / "table").read_bytes()


def test_without_its_tool_a_way_says_so(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": str(tmp_path)}
    for way in (SystemdUnit(environment), CronEntry(environment)):
        state = way.state(START)
        assert (state.usable, state.installed) == (False, False)
        assert "not installed" in state.why
        assert way.remove() is False


def test_a_crontab_of_the_users_own_is_kept(home: Path) -> None:
    (home / "table").write_text("MAILTO=me\n# mine\n5 4 * * * backup\n")
    cron = CronEntry({"HOME": str(home), "PATH": f"{home}/bin:/usr/bin:/bin"})
    cron.install(START)
    assert (home / "table").read_text().startswith("MAILTO=me\n# mine\n5 4 * * * backup\n*/3 * * * * ")
    cron.remove()
    assert (home / "table").read_text() == "MAILTO=me\n# mine\n5 4 * * * backup\n"


def test_systemd_is_told_in_order_and_a_missing_linger_is_said(home: Path) -> None:
    way = SystemdUnit({"HOME": str(home), "PATH": f"{home}/bin:/usr/bin:/bin"})
    way.install(START)
    told = (home / "told").read_text().splitlines()
    assert [one.split()[1] for one in told if "show" not in one] == ["daemon-reload", "enable", "restart"]
    assert any("enable-linger" in note for note in way.state(START).notes)
    (home / "linger").write_text("yes")
    state = way.state(START)
    assert (state.active, state.notes) == (True, [])
