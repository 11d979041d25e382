"""One suite for the workplace port: this machine and the fake keep the same promises."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from rekindle.adapters.snapshots.tree_snapshots import TreeSnapshots
from rekindle.adapters.workplace.workplace import LocalWorkplace
from rekindle.agents.base.dialect import CallbackRefused, CallbackResult
from rekindle.agents.base.exchange import SpooledMessage
from rekindle.agents.base.observation import CallbackAsked
from rekindle.core.session import facts as f
from rekindle.core.session.history import Turn
from rekindle.core.session.state import Session
from rekindle.keeper import kernel
from rekindle.ports.errors import UsageError, WorktreeLost
from rekindle.ports.workplace import SessionPlaces, Workplace
from tests.fakes.conversations import FakeAttempt
from tests.fakes.workplace import FakeWorkplace
from tests.keeper.keeper_bench import reap_all, until
from tests.sessions import folded
from tests.spooled import ClaudeTalk, put_spools

T = TypeVar("T")
NAME = "abcdef0123"


class World(ABC):
    """A session's place, and what happens to it."""

    place: Workplace
    cwd: str

    @abstractmethod
    def another(self) -> Workplace:
        """The workplace of the next daemon."""

    @abstractmethod
    def write(self, name: str, text: str) -> None:
        """The agent, or a person, writes a file in the session's folder."""

    @abstractmethod
    def link(self, name: str, target: str) -> None: ...

    @abstractmethod
    def end_turn(self) -> None:
        """From now on files can differ from how they were when the last turn ended."""

    @abstractmethod
    def remove_worktree(self) -> None: ...

    @abstractmethod
    def remove_folder(self) -> Session:
        """A session whose folder was no worktree and is gone."""

    @abstractmethod
    def talk(self, talk: ClaudeTalk, attempt: int) -> None:
        """What was said in an attempt, with Claude Code."""

    def session(self, agent: str = "claude", **changes: Any) -> Session:
        facts: list[f.AnyFact] = [
            f.Created(at=1.0, session=NAME, agent=agent, cwd=self.cwd, **changes),
            f.LaunchIntended(at=3.0, attempt=1, generation=1, how="new"),
            f.Launched(at=4.0, attempt=1, folder="/keep/1", pid=42),
        ]
        return folded(facts)


class FakeWorld(World):
    def __init__(self) -> None:
        self.place = self._fake = FakeWorkplace()
        self._fake.begun_in = {"HOME": "/home/somebody", "KEY": "secret"}
        self.cwd = "/work"

    def another(self) -> Workplace:
        return self._fake

    def write(self, name: str, text: str) -> None:
        self._fake.files[f"/work/{name}"] = text
        if NAME in self._fake.differing:
            self._fake.differing[NAME].add(name)

    def link(self, name: str, target: str) -> None:
        self._fake.links[f"/work/{name}"] = target

    def end_turn(self) -> None:
        self._fake.differing[NAME] = set()

    def remove_worktree(self) -> None:
        self._fake.missing.add("/work")

    def remove_folder(self) -> Session:
        self._fake.lost.add("/nowhere")
        return replace(self.session(), cwd="/nowhere")

    def talk(self, talk: ClaudeTalk, attempt: int) -> None:
        messages = [SpooledMessage(number, *one) for number, one in enumerate(talk.sent, start=1)]
        self._fake.spools.setdefault(NAME, {})[attempt] = FakeAttempt(messages, b"".join(talk.lines))


class LocalWorld(World):
    """A worktree of a repository of its own, below a folder with a short name because of the keepers' sockets."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._repository = root / "repo"
        self._repository.mkdir()
        self._sessions = root / "sessions"
        self._git("init", "-q", "-b", "main")
        (self._repository / "tracked").write_text("one")
        self._git("add", "-A")
        self._git("commit", "-q", "-m", "begin")
        self._git("worktree", "add", "-q", "-b", "work", str(root / "work"))
        self.cwd = str(root / "work")
        self.place = made = LocalWorkplace(str(self._sessions), str(root / "k"))
        created = f.Created(at=1.0, session=NAME, agent="scripted", cwd=self.cwd)
        made.prepare(created, {"HOME": "/home/somebody", "KEY": "secret", "PATH": os.environ["PATH"]})

    def another(self) -> Workplace:
        return LocalWorkplace(str(self._sessions), str(self._root / "k"))

    def session(self, agent: str = "claude", **changes: Any) -> Session:
        place = {"worktree": self.cwd, "branch": "work", "repository": str(self._repository)}
        return super().session(agent, **{**place, **changes})

    def write(self, name: str, text: str) -> None:
        Path(self.cwd, name).write_text(text)

    def link(self, name: str, target: str) -> None:
        Path(self.cwd, name).symlink_to(target)

    def end_turn(self) -> None:
        TreeSnapshots(str(self._sessions)).take(self.session(), "turn 1 has ended", time.time())

    def remove_worktree(self) -> None:
        shutil.rmtree(self.cwd)

    def remove_folder(self) -> Session:
        return replace(self.session(), cwd=str(self._root / "nowhere"), worktree=None, branch=None, repository=None)

    def talk(self, talk: ClaudeTalk, attempt: int) -> None:
        put_spools(self._sessions / NAME / str(attempt), talk.sent, b"".join(talk.lines))

    def _git(self, *words: str) -> None:
        settings = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
        subprocess.run(["git", *settings, *words], cwd=self._repository, check=True, capture_output=True)


@pytest.fixture(params=["machine", "fake"])
def world(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    if request.param == "fake":
        yield FakeWorld()
        return
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    kernel.become_subreaper()  # the keepers of terminals come to us when they are orphans
    try:
        with tempfile.TemporaryDirectory(prefix="rk-") as folder:
            made = LocalWorld(Path(os.path.realpath(folder)))
            yield made
            run(made.place.end_terminals(made.session()))
            until(reap_all, "all children reaped", 60)
    finally:
        kernel.become_subreaper(False)


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def test_the_environment_is_what_the_session_was_begun_in_and_says_whose_it_is(world: World) -> None:
    for place in (world.place, world.another()):
        env = place.environment(world.session())
        assert (env["HOME"], env["KEY"]) == ("/home/somebody", "secret")
        assert (env["PWD"], env["REKINDLE_SESSION"]) == (world.cwd, NAME)
        assert "REKINDLE_FEATURE" not in env
        assert place.environment(world.session(feature="shop"))["REKINDLE_FEATURE"] == "shop"


def test_paths_become_absolute_and_links_are_followed(world: World) -> None:
    world.link("there", "/usr")
    asked = ["a", "./b/../c", "/x/y", "there/z", f"{world.cwd}/d"]
    expected = [f"{world.cwd}/a", f"{world.cwd}/c", "/x/y", "/usr/z", f"{world.cwd}/d"]
    assert world.place.resolve(world.cwd, asked) == expected
    assert world.place.resolve(world.cwd, []) == []


def test_a_folder_that_is_there_is_ready(world: World) -> None:
    assert run(world.place.ready(world.session())) == []


def test_a_worktree_that_is_gone_is_built_again_and_that_is_told_once(world: World) -> None:
    world.remove_worktree()
    [told] = run(world.place.ready(world.session()))
    assert world.cwd in told
    assert "built again" in told
    assert run(world.another().ready(world.session())) == []


def test_a_folder_that_is_gone_for_good_is_told_by_an_error(world: World) -> None:
    lost = world.remove_folder()
    for place in (world.place, world.another()):
        with pytest.raises(WorktreeLost, match=lost.cwd):
            run(place.ready(lost))


def test_what_differs_from_the_end_of_the_last_turn_is_named_in_order(world: World) -> None:
    assert run(world.place.changed(world.session())) == [], "nobody knows"
    world.write("a", "one")
    world.end_turn()
    assert run(world.place.changed(world.session())) == []
    names = [f"new{number}" for number in range(7, 0, -1)]
    for name in names:
        world.write(name, "new")
    world.write("a", "two")
    assert run(world.place.changed(world.session())) == ["a", *sorted(names)]
    assert run(world.another().changed(world.session())) == ["a", *sorted(names)]


def test_what_was_said_is_told_over_all_attempts(world: World) -> None:
    one, two = ClaudeTalk(1), ClaudeTalk(2)
    one.say("p1", "one", ["first", " and more"])
    one.say("p2", "two", ["second"])
    two.say("p3", "three", ["third"], ends=False)
    world.talk(one, 1)
    world.talk(two, 2)
    session = world.session()
    world.place.note_agent(session)
    assert run(world.place.history(session)) == [
        Turn("user", "one"),
        Turn("assistant", "first and more"),
        Turn("user", "two"),
        Turn("assistant", "second"),
        Turn("user", "three"),
        Turn("assistant", "third"),
    ]
    assert run(world.place.last_turns(session, [1, 2])) == {1: "second", 2: "third"}
    assert run(world.place.last_turns(session, [2])) == {2: "third"}
    assert run(world.place.last_turns(session, [])) == {}
    assert run(world.place.last_turns(session, [7])) == {}


def test_an_attempt_is_read_in_the_language_of_the_agent_that_had_it(world: World) -> None:
    begun = world.session("scripted")
    world.place.note_agent(replace(begun, agent="claude"))
    world.place.note_agent(replace(begun, agent="claude"))
    talk = ClaudeTalk(1)
    talk.say("p1", "one", ["first"])
    world.talk(talk, 1)
    assert run(world.place.history(begun)) == [Turn("user", "one"), Turn("assistant", "first")]


def asked(method: str, request: str = "r1", **params: Any) -> CallbackAsked:
    return CallbackAsked(request_id=request, method=method, params={"sessionId": "t", **params})


def refusal(result: CallbackResult) -> str:
    assert isinstance(result, CallbackRefused)
    assert result.message
    return result.reason


def test_an_agent_reads_and_writes_files_of_its_folder_and_no_others(world: World) -> None:
    def serve(method: str, **params: Any) -> CallbackResult:
        return run(world.place.serve(world.session(), 1, asked(method, **params)))

    path = f"{world.cwd}/new"
    assert refusal(serve("fs/read_text_file", path=path)) == "not_found"
    for _ in range(2):
        assert serve("fs/write_text_file", path=path, content="caf\u00e9\n") == {}
    assert serve("fs/read_text_file", path=path) == {"content": "caf\u00e9\n"}
    world.link("out", "/usr")
    for outside in ("/etc/passwd", f"{world.cwd}/../x", f"{world.cwd}/out/x"):
        assert refusal(serve("fs/write_text_file", path=outside, content="x")) == "bad_request"
        assert refusal(serve("fs/read_text_file", path=outside)) == "bad_request"


def test_what_nobody_serves_is_refused(world: World) -> None:
    assert refusal(run(world.place.serve(world.session(), 1, asked("fs/format_disk")))) == "not_served"


def test_an_agent_that_may_change_nothing_may_read(world: World) -> None:
    session = world.session(permission="deny")
    world.write("a", "one")

    def serve(method: str, **params: Any) -> CallbackResult:
        return run(world.place.serve(session, 1, asked(method, **params)))

    assert refusal(serve("fs/write_text_file", path=f"{world.cwd}/a", content="two")) == "not_allowed"
    assert refusal(serve("terminal/create", command="echo", args=["hi"])) == "not_allowed"
    assert serve("fs/read_text_file", path=f"{world.cwd}/a") == {"content": "one"}


def commands(world: World) -> Callable[..., dict[str, Any]]:
    def serve(method: str, request: str = "r1", **params: Any) -> dict[str, Any]:
        result = run(world.place.serve(world.session(), 1, asked(method, request, **params)))
        assert isinstance(result, dict), result
        return result

    return serve


def test_a_command_is_run_once_for_a_request_and_its_end_is_waited_for(world: World) -> None:
    serve = commands(world)
    [terminal] = {serve("terminal/create", command="echo", args=["hi"])["terminalId"] for _ in range(2)}
    assert serve("terminal/wait_for_exit", terminalId=terminal)["exitCode"] == 0
    told = serve("terminal/output", terminalId=terminal)
    assert (told["output"], told["truncated"], told["exitStatus"]["exitCode"]) == ("hi\n", False, 0)
    assert serve("terminal/create", "r2", command="echo", args=["hi"])["terminalId"] != terminal
    assert serve("terminal/release", terminalId=terminal) == {}
    again = run(world.place.serve(world.session(), 1, asked("terminal/output", terminalId=terminal)))
    assert refusal(again) == "not_found"


def test_commands_do_not_outlive_the_agent_that_had_us_run_them(world: World) -> None:
    serve = commands(world)
    terminal = serve("terminal/create", command="sleep", args=["1000"])["terminalId"]
    assert "exitStatus" not in serve("terminal/output", terminalId=terminal)
    run(world.another().end_terminals(world.session()))
    assert serve("terminal/wait_for_exit", terminalId=terminal)["signal"] == "SIGTERM"
    run(world.place.end_terminals(world.session()))


def test_the_command_of_a_gate_says_whether_it_passed_and_what_it_said(world: World) -> None:
    assert run(world.place.run_gate(world.session(), ["true"])).passed
    failed = run(world.place.run_gate(world.session(), ["false"]))
    assert not failed.passed
    assert failed.output


def test_a_command_can_be_ended_and_read_afterwards(world: World) -> None:
    serve = commands(world)
    terminal = serve("terminal/create", command="sleep", args=["1000"])["terminalId"]
    assert serve("terminal/kill", terminalId=terminal) == {}
    assert serve("terminal/wait_for_exit", terminalId=terminal)["signal"] == "SIGTERM"
    assert serve("terminal/output", terminalId=terminal)["output"] == ""


# Places that are made and moved: on this machine alone, since nobody plays that in memory.


@pytest.fixture
def places(tmp_path: Path) -> SessionPlaces:
    return LocalWorkplace(str(tmp_path / "sessions"), str(tmp_path / "k"))


def begun(cwd: str = "/work", name: str = NAME) -> f.Created:
    return f.Created(at=1.0, session=name, agent="scripted", cwd=cwd)


def test_a_place_keeps_the_environment_that_its_session_is_begun_in_until_it_gets_another(
    places: SessionPlaces, tmp_path: Path
) -> None:
    session = folded([begun()])
    places.prepare(begun(), {"KEY": "one"})
    places.prepare(begun(), {"KEY": "one"})
    later = LocalWorkplace(str(tmp_path / "sessions"), str(tmp_path / "k"))
    assert later.environment(session)["KEY"] == "one"
    places.change_environment(session, {"KEY": "two"})
    assert later.environment(session)["KEY"] == "two"
    for path in (tmp_path / "sessions" / NAME).iterdir():
        assert path.stat().st_mode & 0o077 == 0, "it may hold keys"


def test_a_session_that_was_moved_is_known_where_it_is(places: SessionPlaces, tmp_path: Path) -> None:
    places.prepare(begun(), {})
    places.note_place(replace(folded([begun()]), cwd="/moved", repository="/moved"))
    kept = (tmp_path / "sessions" / NAME / "session.json").read_text()
    assert "/moved" in kept
    assert "/work" not in kept


def test_what_is_no_imported_session_is_not_taken_over(places: SessionPlaces, tmp_path: Path) -> None:
    (tmp_path / "sessions").mkdir()
    staged = tmp_path / "sessions" / ".staged"
    staged.mkdir()
    with pytest.raises(UsageError):
        places.take_over(NAME, str(staged), {})
    assert staged.exists()
    assert not (tmp_path / "sessions" / NAME).exists()
