"""Hook calls that the daemon carries out for a script: none is lost and none is written twice, whoever dies when."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.daemon import BIN, Machine, until

#: A stand-in for `nc -U -w 1 PATH`, which tests can have die or kill at a chosen moment.
NC = f"""#!{sys.executable}
import os, signal, socket, sys
mode = os.environ.get("NC_MODE", "")
with socket.socket(socket.AF_UNIX) as line:
    line.settimeout(1)
    line.connect(sys.argv[-1])
    line.sendall(sys.stdin.buffer.read())
    if mode == "hang up":
        os._exit(0)
    if mode == "kill at once":
        os.kill(int(os.environ["NC_KILLS"]), signal.SIGKILL)
        os._exit(0)
    told = b""
    try:
        while more := line.recv(4096):
            told += more
    except (TimeoutError, ConnectionError):
        sys.exit(1)
    if mode == "kill before it is told":
        os.kill(int(os.environ["NC_KILLS"]), signal.SIGKILL)
        os._exit(0)
    sys.stdout.buffer.write(told)
"""
EDIT = {"hook_event_name": "PostToolUse", "tool_name": "Edit", "tool_response": {}}


@dataclass(frozen=True)
class Desk:
    """A machine with a repository, a daemon that serves hooks, and an agent that calls them."""

    machine: Machine
    served: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def journal(self) -> Path:
        return self.machine.work / ".claude" / "progress" / "auth" / "events.jsonl"

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.journal.read_bytes().splitlines()]

    def serve(self) -> int:
        """Start a daemon and wait until its hook socket is announced."""
        words = [str(BIN / "rekindle"), "serve"]
        quiet = subprocess.DEVNULL
        environment = self.machine.environment()
        self.served.append(
            subprocess.Popen(words, cwd=self.machine.work, env=environment, stdin=quiet, stdout=quiet, stderr=quiet)
        )
        places = self.machine.places
        until(lambda: os.path.exists(places.hook_name) and Path(places.daemon_lock).read_text(), "a hook socket")
        return self.machine.daemon()

    def call(self, given: dict[str, Any], **env: str) -> None:
        given = {"session_id": "s-1", "cwd": str(self.machine.work), **given}
        done = subprocess.run(
            [str(BIN / "rekindle-hook")],
            cwd=self.machine.work,
            env=self.machine.environment(**env),
            input=json.dumps(given).encode(),
            capture_output=True,
            timeout=30,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")

    def edit(self, file: str, **env: str) -> None:
        self.call({**EDIT, "tool_input": {"file_path": str(self.machine.work / file)}}, **env)

    def edited(self) -> list[str]:
        """What the journal says, in its order."""
        return [str(one["data"].get("target") or one["data"].get("path")) for one in self.lines()]

    @property
    def log(self) -> str:
        file = Path(self.machine.places.state, "hook.log")
        return file.read_text() if file.exists() else ""


@pytest.fixture(params=["stand-in", "nc"])
def desk(request: pytest.FixtureRequest) -> Iterator[Desk]:
    with _desk(real=request.param == "nc") as made:
        yield made


@pytest.fixture
def staged() -> Iterator[Desk]:
    """One whose `nc` does what a test says."""
    with _desk(real=False) as made:
        yield made


@contextlib.contextmanager
def _desk(*, real: bool) -> Iterator[Desk]:
    found = shutil.which("nc")
    if real and found is None:
        pytest.skip("nc is not installed")
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        bin_ = Path(folder, "bin")
        bin_.mkdir()
        if found is not None and real:
            (bin_ / "nc").symlink_to(found)
        else:
            (bin_ / "nc").write_text(NC)
            (bin_ / "nc").chmod(0o755)
        machine = Machine(Path(folder, "home"), Path(folder, "work"), variables={"PATH": str(bin_)})
        machine.home.mkdir()
        machine.work.mkdir()
        who = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
        for words in (("init", "-q", "-b", "feature/auth"), (*who, "commit", "-q", "--allow-empty", "-m", "x")):
            subprocess.run(["git", *words], cwd=machine.work, env=machine.environment(), check=True)
        made = Desk(machine)
        yield made
        machine.clean_up()
        for daemon in made.served:
            daemon.wait(30)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Somebody else writes, and takes long."""
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_the_daemon_carries_out_what_a_hook_is_called_for(desk: Desk) -> None:
    desk.serve()
    desk.call({"hook_event_name": "SessionStart", "source": "startup"})
    desk.edit("a.py", REKINDLE_AGENT="alpha", TMUX_PANE="%7")
    desk.call({"hook_event_name": "Stop"})
    owner = json.loads((desk.journal.parent / "owner.json").read_text())
    assert owner["pid"] == os.getpid(), "the agent is who called the hook, not nc and not a shell"
    desk.call({"hook_event_name": "SessionEnd", "reason": "other"})
    types = ["session.start", "tool.invoked", "file.modified", "turn.finished", "session.end"]
    assert [one["type"] for one in desk.lines()] == types
    assert all("call" in one for one in desk.lines()), "the daemon wrote all of them"
    assert (desk.lines()[1]["agent"], desk.lines()[1]["pane_id"]) == ("alpha", "%7")
    assert [one["seq"] for one in desk.lines()] == [0, 1, 2, 3, 4]
    state = desk.machine.json("analyze", "auth")
    assert (state["interrupted"], state.get("damaged", [])) == (False, [])


def test_the_hook_socket_is_for_this_user_only(staged: Desk) -> None:
    staged.serve()
    found = os.stat(staged.machine.places.hook_socket)
    assert (stat.S_ISSOCK(found.st_mode), stat.S_IMODE(found.st_mode)) == (True, 0o600)
    assert stat.S_IMODE(os.stat(staged.machine.places.runtime).st_mode) == 0o700
    staged.machine.ok("serve", "--stop")
    until(lambda: not os.path.lexists(staged.machine.places.hook_name), "the end of its name")


def path_without_nc(folder: Path) -> str:
    """A PATH with everything that is installed, but no nc."""
    folder.mkdir()
    for tool in [*Path("/bin").iterdir(), *Path("/usr/bin").iterdir()]:
        if not tool.name.startswith("nc") and not os.path.lexists(folder / tool.name):
            (folder / tool.name).symlink_to(tool)
    return f"{BIN}:{folder}"


def test_what_cannot_go_through_the_daemon_is_written_all_the_same(staged: Desk) -> None:
    staged.serve()
    staged.edit("other settings.py", XDG_CONFIG_HOME=str(staged.machine.home / "elsewhere"))
    staged.call({**EDIT, "tool_input": {"file_path": "long.py", "new_string": "ä" * 600_000}})
    staged.edit("override.py", GIT_DIR=str(staged.machine.work / ".git"), GIT_WORK_TREE=str(staged.machine.work))
    staged.edit("no nc.py", PATH=path_without_nc(staged.machine.home / "tools"))
    assert staged.edited()[::2] == ["other settings.py", "long.py", "override.py", "no nc.py"]
    assert staged.edited()[1::2] == staged.edited()[::2], "each of the two events of a call, once"


def test_a_script_that_stops_waiting_has_its_events_written_once(staged: Desk) -> None:
    staged.serve()
    staged.edit("first.py")
    for number in range(10):
        staged.edit(f"{number}.py", NC_MODE="hang up")
    staged.edit("last.py")
    names = ["first.py", *(f"{number}.py" for number in range(10)), "last.py"]
    assert staged.edited() == [name for name in names for _ in range(2)]
    assert staged.log == ""


def test_a_daemon_killed_before_it_confirmed_leaves_each_event_once(staged: Desk) -> None:
    pid = staged.serve()
    staged.edit("first.py")
    with locked(staged.journal):
        waiting = subprocess.Popen(
            [str(BIN / "rekindle-hook")],
            cwd=staged.machine.work,
            env=staged.machine.environment(NC_MODE="kill at once", NC_KILLS=str(pid)),
            stdin=subprocess.PIPE,
        )
        given = {**EDIT, "cwd": str(staged.machine.work), "session_id": "s-1", "tool_input": {"file_path": "cut.py"}}
        assert waiting.stdin is not None
        waiting.stdin.write(json.dumps(given).encode())
        waiting.stdin.close()
        until(lambda: not os.path.exists(f"/proc/{pid}") or _is_zombie(pid), "the daemon's end")
    assert waiting.wait(30) == 0
    assert staged.edited() == ["first.py"] * 2 + ["cut.py"] * 2, "killed before it wrote"

    assert not os.path.lexists(staged.machine.places.hook_name), "nobody tries a dead daemon again"
    pid = staged.serve()
    staged.edit("told.py", NC_MODE="kill before it is told", NC_KILLS=str(pid))
    assert staged.edited()[4:] == ["told.py"] * 2, "killed after it wrote"
    assert staged.lines()[4]["call"].removesuffix("/0") == staged.lines()[5]["call"].removesuffix("/1")
    staged.edit("alone.py")
    assert staged.edited()[6:] == ["alone.py"] * 2
    assert staged.log == ""


def test_a_start_that_was_not_confirmed_begins_one_run(staged: Desk) -> None:
    pid = staged.serve()
    start = {"hook_event_name": "SessionStart", "source": "startup"}
    staged.call(start, NC_MODE="kill before it is told", NC_KILLS=str(pid))
    owner = json.loads((staged.journal.parent / "owner.json").read_text())
    assert [(one["type"], one["sid"]) for one in staged.lines()] == [("session.start", owner["sid"])]


def _is_zombie(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
