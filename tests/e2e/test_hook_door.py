"""Hook calls that the daemon carries out for a script: none is lost and none is written twice, whoever dies when."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rekindle.adapters.machine.hook_script import PERL, SCRIPT
from rekindle.hooks.install import command_of
from tests.e2e.daemon import BIN, Machine, until

#: What tests have the script do at a chosen moment: lines of it, and what they become.
STAGES = {
    'my $told = "";\n': (
        'return "" if $ENV{STAGE} eq "hang up";\n'
        '$ENV{STAGE} eq "kill at once" && $ENV{KILLS} =~ /(.+)/ && kill 9, $1;\n'
        'my $told = "";\n'
    ),
    "close $line;\n": (
        'if ($ENV{STAGE} eq "kill before it is told") { kill 9, $ENV{KILLS} =~ /(.+)/; $answer = ""; }\nclose $line;\n'
    ),
}
EDIT = {"hook_event_name": "PostToolUse", "tool_name": "Edit", "tool_response": {}}


@dataclass(frozen=True)
class Desk:
    """A machine with a repository, a daemon that serves hooks, and an agent that calls them."""

    machine: Machine
    program: Path
    #: how the agent calls it
    words: tuple[str, ...]
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
        assert self.told(given, **env) == b""

    def told(self, given: dict[str, Any], **env: str) -> bytes:
        """What the hook tells the agent."""
        given = {"session_id": "s-1", "cwd": str(self.machine.work), **given}
        done = subprocess.run(
            self.words,
            cwd=self.machine.work,
            env=self.machine.environment(**env),
            input=json.dumps(given).encode(),
            capture_output=True,
            timeout=30,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout

    def edit(self, file: str, **env: str) -> None:
        self.call({**EDIT, "tool_input": {"file_path": str(self.machine.work / file)}}, **env)

    def edited(self) -> list[str]:
        """What the journal says, in its order."""
        return [str(one["data"].get("target") or one["data"].get("path")) for one in self.lines()]

    @property
    def log(self) -> str:
        file = Path(self.machine.places.state, "hook.log")
        return file.read_text() if file.exists() else ""


@pytest.fixture
def desk() -> Iterator[Desk]:
    with _desk({}) as made:
        yield made


@pytest.fixture
def staged() -> Iterator[Desk]:
    """One whose script does what a test says."""
    with _desk(STAGES) as made:
        yield made


def script_for(folder: Path, changes: dict[str, str], client: str | None = None) -> Path:
    """The scripts in a folder of their own, with other lines in them and another client beside them."""
    texts = {one.name: one.read_text() for one in (SCRIPT.with_name("rekindle-hook"), SCRIPT)}
    for old, new in changes.items():
        assert "".join(texts.values()).count(old) == 1, old
        texts = {name: text.replace(old, new) for name, text in texts.items()}
    texts["rekindle-hook-client"] = client or (BIN / "rekindle-hook-client").read_text()
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder / "rekindle-hook"


@contextlib.contextmanager
def _desk(changes: dict[str, str]) -> Iterator[Desk]:
    if not os.access(PERL, os.X_OK):
        pytest.skip("perl is not installed")
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        machine = Machine(Path(folder, "home"), Path(folder, "work"))
        machine.home.mkdir()
        machine.work.mkdir()
        who = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
        for words in (("init", "-q", "-b", "feature/auth"), (*who, "commit", "-q", "--allow-empty", "-m", "x")):
            subprocess.run(["git", *words], cwd=machine.work, env=machine.environment(), check=True)
        program = script_for(Path(folder, "bin"), changes)
        made = Desk(machine, program, (str(program),))
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
    assert owner["pid"] == os.getpid(), "the agent is who called the hook, not perl and not a shell"
    desk.call({"hook_event_name": "SessionEnd", "reason": "other"})
    types = ["session.start", "tool.invoked", "file.modified", "turn.finished", "session.end"]
    assert [one["type"] for one in desk.lines()] == types
    assert all("call" in one for one in desk.lines()), "the daemon wrote all of them"
    assert (desk.lines()[1]["agent"], desk.lines()[1]["pane_id"]) == ("alpha", "%7")
    assert [one["seq"] for one in desk.lines()] == [0, 1, 2, 3, 4]
    state = desk.machine.json("analyze", "auth")
    assert (state["interrupted"], state.get("damaged", [])) == (False, [])


def test_the_daemon_gives_a_fresh_conversation_what_its_skill_session_left(desk: Desk) -> None:
    desk.serve()
    folder = desk.machine.work / "sessions" / "login"
    folder.mkdir(parents=True)
    long = {"summary": "Größe 🙂 of the pool, " * 1000, "nextSteps": ["fix it"]}
    state = {"skill": "report", "currentPhase": "1: Research", "paneId": "screen-1", "dehydratedContext": long}
    (folder / ".state.json").write_text(json.dumps(state))
    start = {"hook_event_name": "SessionStart", "source": "startup"}
    desk.call(start, TMUX_PANE="%9")
    said = json.loads(desk.told(start, STY="screen-1"))["hookSpecificOutput"]["additionalContext"]
    assert said.startswith("## Session Recovery (Dehydrated Context)\n") and "| Größe 🙂 of the pool" in said
    assert said.endswith("leave out no step.") and len(said.encode("utf-16-le")) // 2 <= 9_500
    assert all("call" in one for one in desk.lines()), "the daemon did all of it"


def test_the_installed_command_spares_a_shell_while_a_daemon_serves_hooks(desk: Desk) -> None:
    command = command_of(str(desk.program))
    through = dataclasses.replace(desk, words=("/bin/sh", "-c", command))
    through.edit("alone.py")
    desk.serve()
    other = desk.program.rename(desk.program.with_name("away"))
    through.call({"hook_event_name": "SessionStart", "source": "startup"})
    through.edit("served.py", LANG="xx_YY.UTF-8")
    owner = json.loads((desk.journal.parent / "owner.json").read_text())
    assert owner["pid"] == os.getpid(), "the agent is who called the hook, not perl and not a shell"
    other.rename(desk.program)
    desk.machine.ok("serve", "--stop")
    through.edit("alone again.py")
    assert [name for name in desk.edited() if name.endswith(".py")] == [
        name for name in ("alone.py", "served.py", "alone again.py") for _ in range(2)
    ]
    assert ["call" in one for one in desk.lines()] == [False] * 2 + [True] * 3 + [False] * 2
    assert desk.log == ""


def test_the_hook_socket_is_for_this_user_only(staged: Desk) -> None:
    staged.serve()
    found = os.stat(staged.machine.places.hook_socket)
    assert (stat.S_ISSOCK(found.st_mode), stat.S_IMODE(found.st_mode)) == (True, 0o600)
    assert stat.S_IMODE(os.stat(staged.machine.places.runtime).st_mode) == 0o700
    staged.machine.ok("serve", "--stop")
    until(lambda: not os.path.lexists(staged.machine.places.hook_name), "the end of its name")


def test_what_cannot_go_through_the_daemon_is_written_all_the_same(staged: Desk) -> None:
    staged.serve()
    staged.edit("other settings.py", XDG_CONFIG_HOME=str(staged.machine.home / "elsewhere"))
    staged.call({**EDIT, "tool_input": {"file_path": "long.py", "new_string": "ä" * 600_000}})
    staged.edit("override.py", GIT_DIR=str(staged.machine.work / ".git"), GIT_WORK_TREE=str(staged.machine.work))
    assert staged.edited()[::2] == ["other settings.py", "long.py", "override.py"]
    assert staged.edited()[1::2] == staged.edited()[::2], "each of the two events of a call, once"


def test_a_call_of_nearly_a_megabyte_goes_through_the_daemon(desk: Desk) -> None:
    desk.serve()
    desk.call({**EDIT, "tool_input": {"file_path": "big.py", "new_string": "x" * 990_000}})
    assert desk.edited() == ["big.py"] * 2
    assert all("call" in one for one in desk.lines()) and desk.log == ""


def test_a_hundred_calls_at_once_are_each_written_once(desk: Desk) -> None:
    desk.serve()
    desk.edit("first.py")
    calls = []
    for number in range(100):
        given = {**EDIT, "session_id": "s-1", "tool_input": {"file_path": f"{number}.py"}}
        calls.append(
            subprocess.Popen(
                [str(desk.program)],
                cwd=desk.machine.work,
                env=desk.machine.environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        )
        standard = calls[-1].stdin
        assert standard is not None
        standard.write(json.dumps(given).encode())
        standard.flush()
    said = [one.communicate(timeout=120) for one in calls]
    assert [(one.returncode, *words) for one, words in zip(calls, said, strict=True)] == [(0, b"", b"")] * 100
    assert sorted(desk.edited()) == sorted(["first.py", *(f"{number}.py" for number in range(100))] * 2)
    assert len({one["call"] for one in desk.lines()}) == 202
    assert desk.log == ""


def test_a_script_that_stops_waiting_has_its_events_written_once(staged: Desk) -> None:
    staged.serve()
    staged.edit("first.py")
    for number in range(10):
        staged.edit(f"{number}.py", STAGE="hang up")
    staged.edit("last.py")
    names = ["first.py", *(f"{number}.py" for number in range(10)), "last.py"]
    assert staged.edited() == [name for name in names for _ in range(2)]
    assert staged.log == ""


def test_a_daemon_killed_before_it_confirmed_leaves_each_event_once(staged: Desk) -> None:
    pid = staged.serve()
    staged.edit("first.py")
    with locked(staged.journal):
        waiting = subprocess.Popen(
            [str(staged.program)],
            cwd=staged.machine.work,
            env=staged.machine.environment(STAGE="kill at once", KILLS=str(pid)),
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
    staged.edit("told.py", STAGE="kill before it is told", KILLS=str(pid))
    assert staged.edited()[4:] == ["told.py"] * 2, "killed after it wrote"
    assert staged.lines()[4]["call"].removesuffix("/0") == staged.lines()[5]["call"].removesuffix("/1")
    staged.edit("alone.py")
    assert staged.edited()[6:] == ["alone.py"] * 2
    assert staged.log == ""


def test_a_start_that_was_not_confirmed_begins_one_run(staged: Desk) -> None:
    pid = staged.serve()
    start = {"hook_event_name": "SessionStart", "source": "startup"}
    staged.call(start, STAGE="kill before it is told", KILLS=str(pid))
    owner = json.loads((staged.journal.parent / "owner.json").read_text())
    assert [(one["type"], one["sid"]) for one in staged.lines()] == [("session.start", owner["sid"])]


def _is_zombie(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
