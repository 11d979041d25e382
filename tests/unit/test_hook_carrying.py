"""The daemon writes for a hook only while somebody waits for it, and only for somebody with the same settings."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from rekindle.adapters.machine import ancestry
from rekindle.adapters.skill_folder import holder, pointer
from rekindle.doors.socket import hook_door
from rekindle.doors.socket.hook_door import VARIABLES, HookDoor, _watched
from rekindle.hooks.carrying import carry_out
from rekindle.hooks.open_journals import OpenJournals

CALL = b'{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Read","tool_input":{"file_path":"a"}}'


PINGED = b"rekindle-hook 1 ping 0\n" + b"".join(f"{name}=\n".encode() for name in VARIABLES) + b"\n"


class Tool:
    """What the script calls with, as a test wants it."""

    def __init__(self, *, can: bool) -> None:
        self.can = can
        self.version = 1
        self.tries = 0

    def as_installed(self) -> object:
        return self.version

    async def can_call(self, path: str, ping: str, pong: str, hush: str) -> bool:
        self.tries += 1
        return self.can


def carry(
    folder: Path, waits: bool = True, variables: dict[str, str] | None = None, journals: OpenJournals | None = None
) -> str:
    given = {name: os.environ.get(name, "") for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    return carry_out(
        CALL,
        "call-1",
        {**given, "PWD": str(folder), **(variables or {})},
        journals or OpenJournals(),
        parent=os.getpid(),
        is_inside=lambda: False,
        is_waited_for=lambda: waits,
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    subprocess.run(["git", "init", "-q", "-b", "feature/auth", str(tmp_path / "repo")], check=True)
    return tmp_path / "repo"


def lines(folder: Path) -> int:
    path = folder / ".claude" / "progress" / "auth" / "events.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_an_event_is_written_for_somebody_who_waits(folder: Path) -> None:
    assert carry(folder) == ""
    assert lines(folder) == 1


def test_a_state_file_that_nobody_can_read_costs_the_journal_nothing(folder: Path) -> None:
    """Whoever works in a tree can write its state file: one that is nested too deeply ended the whole call."""
    state, session = str(folder.parent / ".local" / "state" / "rekindle"), folder / "sessions" / "x"
    session.mkdir(parents=True)
    pid = holder.worker_pid(os.getpid())
    pointer.point(state, pid, str(session))
    for deep in (900, 100_000):
        text = f'{{"pid": {pid}, "deep": {"[" * deep}{"]" * deep}}}'
        (session / ".state.json").write_text(text)
        assert carry(folder) == ""
    assert lines(folder) == 2


def test_nothing_is_written_once_nobody_waits(folder: Path) -> None:
    with pytest.raises(Exception, match="nobody waits"):
        carry(folder, waits=False)
    assert lines(folder) == 0


def test_a_journal_that_is_kept_open_serves_one_call_at_a_time_and_any_number_in_turn(folder: Path) -> None:
    journals = OpenJournals(most=1)
    carry(folder, journals=journals)
    with pytest.raises(Exception, match="nobody waits"):
        carry(folder, waits=False, journals=journals)
    place = (str(folder / ".claude" / "progress" / "auth" / "events.jsonl"), str(folder), str(folder.parent))
    held = journals.take(*place, 0.1, lambda: True)
    with pytest.raises(TimeoutError):
        carry(folder, journals=journals)
    journals.give_back(held)
    os.rename(folder / ".claude", folder / "moved")
    carry(folder, journals=journals)
    assert lines(folder) == 1, "the journal in its place, not the one that was open"
    journals.close()


@pytest.mark.parametrize("name", ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"])
def test_somebody_with_other_settings_is_turned_away(folder: Path, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        carry(folder, variables={name: "/elsewhere"})
    assert lines(folder) == 0


def test_one_who_has_only_stopped_sending_still_waits() -> None:
    ours, caller = socket.socketpair()
    is_waited_for = _watched(ours)
    seen = [is_waited_for()]
    caller.shutdown(socket.SHUT_WR)
    seen.append(is_waited_for())
    caller.close()
    seen.append(is_waited_for())
    ours.close()
    assert seen == [True, True, False]


def test_calls_are_served_while_the_event_loop_is_held_up_and_others_say_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "h.sock")

    def call(given: bytes) -> bytes:
        with socket.socket(socket.AF_UNIX) as caller:
            caller.settimeout(20)
            caller.connect(path)
            caller.sendall(given)
            return caller.recv(100)

    async def look() -> list[bytes]:
        door = HookDoor(path, str(tmp_path / "name"), ancestry, Tool(can=False))
        attending = asyncio.ensure_future(door.attend())
        await asyncio.sleep(0)
        silent = [socket.socket(socket.AF_UNIX) for _ in range(5)]
        for one in silent:
            one.connect(path)
        answers = [call(PINGED) for _ in range(3)]  # in the loop's own thread, which can do nothing else meanwhile
        answers.append(call(b"something else\n"))
        for one in silent:
            one.close()
        attending.cancel()
        await door.close()
        with pytest.raises(OSError):
            call(PINGED)
        return answers

    assert asyncio.run(look()) == [b"ok pong\n"] * 3 + [b"no\n"]


class Short:
    """A listener of a process that has no descriptor left, for one call."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._short = [OSError(errno.EMFILE, "Too many open files"), OSError(errno.ECONNABORTED, "gone")]

    def accept(self) -> tuple[socket.socket, object]:
        if self._short:
            raise self._short.pop()
        return self._listener.accept()


def test_a_door_that_could_not_open_for_one_call_opens_for_the_next(tmp_path: Path) -> None:
    """With nobody left to accept it, every call of every agent would wait for a second, until the daemon ends."""
    door = HookDoor(str(tmp_path / "h.sock"), str(tmp_path / "name"), ancestry, Tool(can=False))
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as caller:
        listener.bind(str(tmp_path / "h.sock"))
        listener.listen()
        door._begin(Short(listener))  # type: ignore[arg-type]
        caller.settimeout(20)
        caller.connect(str(tmp_path / "h.sock"))
        caller.sendall(PINGED)
        assert caller.recv(100) == b"ok pong\n"
        listener.shutdown(socket.SHUT_RDWR)


def test_a_door_is_there_again_whatever_took_its_place_or_its_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook_door, "_LOOK_AGAIN", 0.001)
    path, start = tmp_path / "h.sock", threading.Thread.start

    def no_thread(thread: threading.Thread) -> None:
        if thread.name == "hooks":
            raise RuntimeError("can't start new thread")
        start(thread)

    async def answered() -> None:
        async with asyncio.timeout(30):
            while True:
                with contextlib.suppress(OSError):
                    reader, writer = await asyncio.open_unix_connection(str(path))
                    writer.write(PINGED)
                    assert await reader.read(100) == b"ok pong\n"
                    writer.close()
                    return
                await asyncio.sleep(0.001)

    async def look() -> None:
        path.mkdir()  # nothing of ours
        door = HookDoor(str(path), str(tmp_path / "name"), ancestry, Tool(can=False))
        attending = asyncio.ensure_future(door.attend())
        await asyncio.sleep(0.01)
        assert not attending.done(), "it is no reason to end the daemon"
        path.rmdir()
        await answered()
        path.unlink()
        os.mkfifo(path)
        await answered()
        path.unlink()
        monkeypatch.setattr(threading.Thread, "start", no_thread)
        async with asyncio.timeout(30):
            while door._made is None or not path.is_socket():
                await asyncio.sleep(0.001)
        monkeypatch.setattr(threading.Thread, "start", start)
        await answered()
        attending.cancel()
        await door.close()

    asyncio.run(look())


def test_replaced_files_are_closed_once_the_agent_has_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, write = os.pipe()

    def carried(*_given: object, replaced: list[int], **_more: object) -> str:
        replaced.append(write)
        return "told"

    monkeypatch.setattr(hook_door, "carry_out", carried)
    door = HookDoor(str(tmp_path / "h.sock"), str(tmp_path / "name"), ancestry, Tool(can=False))
    ours, caller = socket.socketpair()
    with caller:
        caller.sendall(PINGED.replace(b"ping", b"call"))
        door._serve(ours)
        assert caller.recv(100) == b"ok told\n"
    assert os.read(read, 1) == b"", "nobody has it open any more"
    os.close(read)


def test_the_door_is_announced_only_while_the_tool_is_the_one_that_was_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook_door, "_LOOK_AGAIN", 0.001)
    name = tmp_path / "name"

    async def until(condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not condition():
                await asyncio.sleep(0.001)

    async def look() -> None:
        tool = Tool(can=True)
        door = HookDoor(str(tmp_path / "h.sock"), str(name), ancestry, tool)
        attending = asyncio.ensure_future(door.attend())
        await until(name.exists)
        assert tool.tries == 1
        tool.can, tool.version = False, 2
        await until(lambda: tool.tries == 2 and not os.path.lexists(name))
        tool.can, tool.version = True, 3
        await until(name.exists)
        assert tool.tries == 3
        attending.cancel()
        await door.close()
        assert not os.path.lexists(name)

    asyncio.run(look())
