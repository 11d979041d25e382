"""The promises of entries that start the daemon with the machine, over tools that keep a record instead of obeying."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rekindle.adapters.boot.cron_entry import CronEntry
from rekindle.adapters.boot.systemd_unit import SystemdUnit
from rekindle.app.booting import Booting
from rekindle.core.boot import BootStart, BootWay
from rekindle.ports.boot import BootEntry, BootFailed
from rekindle.ports.daemon import NoDaemon

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
START = BootStart(("/bin/sh", "serve"), ("/bin/sh", "check"), {"XDG_STATE_HOME": "/srv/state"})
LATER = BootStart(("/new/python", "serve"), ("/new/python", "check"), {})


class Nobody:
    """A store that no daemon serves."""

    def ask(self, op: str, *, start: bool = True, **_values: Any) -> dict[str, Any]:
        raise NoDaemon(f"nobody can be asked for {op} (start: {start})")

    def is_served(self) -> bool:
        return False

    def holder(self) -> int | None:
        return None

    def close(self) -> None: ...


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


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_a_program_that_has_moved_is_named_by_systemd_itself(home: Path) -> None:
    way = SystemdUnit({"HOME": str(home), "PATH": f"{home}/bin:/usr/bin:/bin", "XDG_RUNTIME_DIR": str(home)})
    way.install(LATER)
    notes = way.state(LATER).notes
    assert any("systemd-analyze says" in note and "/new/python" in note for note in notes), notes


def test_a_crontab_in_another_encoding_is_kept_to_the_byte(home: Path) -> None:
    mine = b"# caf\xe9\r\n5 4 * * * backup \xff\n"
    (home / "table").write_bytes(mine)
    cron = CronEntry({"HOME": str(home), "PATH": f"{home}/bin:/usr/bin:/bin"})
    cron.install(START)
    assert (home / "table").read_bytes().startswith(mine + b"*/3 * * * * ")
    cron.remove()
    assert (home / "table").read_bytes() == mine


@pytest.mark.parametrize("kind", ["masked", "folder"])
def test_what_is_in_the_place_of_the_unit_is_named_and_stays(home: Path, kind: str) -> None:
    way = SystemdUnit({"HOME": str(home), "PATH": f"{home}/bin:/usr/bin:/bin"})
    place = home / ".config/systemd/user/rekindle.service"
    place.parent.mkdir(parents=True)
    place.symlink_to("/dev/null") if kind == "masked" else place.mkdir()
    uses: list[Callable[[], object]] = [lambda: way.state(START), way.remove]
    for use in uses:
        with pytest.raises(BootFailed, match=r"rekindle\.service (is a symbolic link|cannot be read)"):
            use()
    assert place.is_symlink() or place.is_dir()


def test_a_way_that_refuses_does_not_stand_in_the_way_of_the_other(home: Path) -> None:
    environment = {"HOME": str(home), "PATH": f"{home}/bin:/usr/bin:/bin"}
    (home / "bin/crontab").write_text("#!/bin/sh\necho 'you are not allowed' >&2; exit 1\n")
    ways: dict[BootWay, BootEntry] = {"systemd": SystemdUnit(environment), "cron": CronEntry(environment)}
    booting = Booting(ways, START, Nobody(), sleep=lambda _seconds: None)
    assert booting.install().way == "systemd"
    systemd, cron = booting.status()
    assert (systemd.installed, cron.usable) == (True, False)
    assert "not allowed" in cron.why


def test_a_unit_is_installed_when_its_daemon_serves(home: Path) -> None:
    served, slept = iter([False, False, True, True]), list[float]()

    class Coming(Nobody):
        def is_served(self) -> bool:
            return next(served)

    ways: dict[BootWay, BootEntry] = {"systemd": SystemdUnit({"HOME": str(home), "PATH": f"{home}/bin:/usr/bin:/bin"})}
    Booting(ways, START, Coming(), sleep=slept.append).install()
    assert len(slept) == 2
