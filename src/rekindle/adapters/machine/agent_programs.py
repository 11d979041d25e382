"""The agents' programs on this machine: whether they are there, which version, and whether they would work."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from itertools import chain
from typing import IO

import msgspec

from rekindle.agents.base import observation as o
from rekindle.agents.base.dialect import Outgoing
from rekindle.agents.base.framing import Framer, Line
from rekindle.agents.base.kind import AgentKind, AgentStart
from rekindle.keeper.launch import end_leftovers
from rekindle.keeper.spec import STAMP_VARIABLE
from rekindle.ports.agent_programs import DryStart

_VERSION_SECONDS = 20.0
_START_SECONDS = 60.0
_NUMBER = re.compile(r"\d+\.\d+\.\d+(?:[-+]\w+(?:\.\w+)*)?")
_MOST = 4000


def path_of(kind: AgentKind, environment: Mapping[str, str]) -> str | None:
    """Where the agent's program is; None if it is not on the PATH, or built in."""
    return shutil.which(kind.program, path=environment.get("PATH")) if kind.program else None


def version_of(kind: AgentKind, path: str, environment: Mapping[str, str]) -> str:
    """The version that the program tells; empty if it tells none in time."""
    stamp = f"rekindle-version-{secrets.token_hex(8)}"
    with tempfile.TemporaryFile() as told:
        try:
            process = _start((path, *kind.version), environment, stamp, tempfile.gettempdir(), subprocess.DEVNULL, told)
        except OSError:
            return ""  # it is there and cannot be executed: one broken program does not spoil the list
        try:
            process.wait(_VERSION_SECONDS)
        except subprocess.TimeoutExpired:
            return ""
        finally:
            _end(process, stamp)
        told.seek(0)
        found = _NUMBER.search(told.read(_MOST).decode(errors="replace"))
    return found[0] if found is not None else ""


def account_of(kind: AgentKind, environment: Mapping[str, str]) -> str:
    """The name of a variable or a file that shows a key or a login; empty if none is seen. No content is read."""
    home = environment.get("HOME") or os.path.expanduser("~")
    variables = (name for name in kind.account.variables if environment.get(name))
    files = (f"~/{name}" for name in kind.account.files if os.path.isfile(os.path.join(home, name)))
    return next(chain(variables, files), "")


def old_node(kind: AgentKind, environment: Mapping[str, str]) -> str:
    """Which Node the agent asks for where the one on the PATH is older, or there is none; else empty."""
    if not kind.node:
        return ""
    wanted = f"{kind.title} asks for Node {kind.node} or newer"
    path = shutil.which("node", path=environment.get("PATH"))
    if path is None:
        return f"{wanted}, and there is none on the PATH"
    try:
        told = subprocess.run(
            (path, "--version"), env=dict(environment), capture_output=True, timeout=_VERSION_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return f"{wanted}, and {path} does not tell its version"
    found = _NUMBER.search(told.stdout[:_MOST].decode(errors="replace"))
    if found is None:
        return f"{wanted}, and {path} does not tell its version"
    return "" if int(found[0].partition(".")[0]) >= kind.node else f"{wanted}, and {path} is Node {found[0]}"


def check(kind: AgentKind, environment: Mapping[str, str], *, seconds: float = _START_SECONDS) -> DryStart:
    """Start the agent in an empty folder and ask it for a conversation, without a prompt. Leaves no process behind."""
    if kind.program and path_of(kind, environment) is None:
        return DryStart(state="not installed", problem=kind.missing)
    stamp = f"rekindle-check-{secrets.token_hex(8)}"
    token = kind.mint(stamp, 1) if kind.mint is not None else None
    start = AgentStart(how="new", token=token, model=kind.model(dict(environment)))
    env = {**environment, **kind.variables(start, environment)}
    with tempfile.TemporaryDirectory(prefix="rekindle-check-") as folder, tempfile.TemporaryFile() as errors:
        folder = os.path.realpath(folder)
        process = _start(kind.argv(start), env, stamp, folder, subprocess.PIPE, subprocess.PIPE, errors)
        try:
            found = _Dry(kind, folder, token, process, seconds).run(lambda: _last_words(errors))
            return msgspec.structs.replace(found, old_node=old_node(kind, environment))
        finally:
            _end(process, stamp)


class _Dry:
    """One dry start."""

    def __init__(
        self, kind: AgentKind, cwd: str, token: str | None, process: subprocess.Popen[bytes], seconds: float
    ) -> None:
        self._wire = kind.dialect(1, cwd, token)
        self._token = token
        self._process = process
        self._deadline = time.monotonic() + seconds
        self._seconds = seconds
        self._can: o.Initialized | None = None

    def run(self, last_words: Callable[[], str]) -> DryStart:
        framer = Framer()
        self._send(self._wire.begin("new", self._token))
        while (data := self._read()) is not None:
            if not data:
                return self._told("ended", last_words() or "it ended before it had opened a conversation")
            for framed in framer.feed(data):
                for seen in self._wire.received(framed.data) if isinstance(framed, Line) else ():
                    verdict = self._take(seen)
                    if verdict is not None:
                        return verdict
        if self._wire.silence(self._seconds, None, None) == "ready":
            return self._told("ready")
        return self._told("silent", f"it had not opened a conversation after {self._seconds:g} s")

    def _take(self, seen: o.Observation) -> DryStart | None:
        self._send(self._wire.follow_up(seen))
        match seen:
            case o.Initialized():
                self._can = seen
            case o.ConversationOpened():
                return self._told("ready")
            case o.AgentRefusedToOpen(problem="unauthorized", message=message):
                return self._told("no account", message)
            case o.AgentRefusedToOpen(message=message):
                return self._told("refused", message)
        return None

    def _told(self, state: str, problem: str = "") -> DryStart:
        can = self._can or self._wire.open.initialized
        if can is None:
            return DryStart(state=state, problem=problem)
        return DryStart(
            state=state,
            problem=problem,
            can_load=can.can_load,
            can_resume=can.can_resume,
            can_list=can.can_list,
            auth_methods=can.auth_methods,
            version=can.agent_version,
        )

    def _send(self, messages: list[Outgoing]) -> None:
        assert self._process.stdin is not None
        for message in messages:
            self._wire.sent(message.message_id, message.line)
            try:
                self._process.stdin.write(message.line)
                self._process.stdin.flush()
            except BrokenPipeError:
                return  # its end is read from its output

    def _read(self) -> bytes | None:
        """Some bytes; none at all when it has ended; None when the time runs out."""
        assert self._process.stdout is not None
        left = self._deadline - time.monotonic()
        if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
            return None
        return os.read(self._process.stdout.fileno(), 1 << 16)


def _start(
    argv: tuple[str, ...],
    environment: Mapping[str, str],
    stamp: str,
    cwd: str,
    stdin: int,
    stdout: int | IO[bytes],
    stderr: int | IO[bytes] = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    program = shutil.which(argv[0], path=environment.get("PATH")) or argv[0]
    env = {**environment, STAMP_VARIABLE: stamp, "PWD": cwd}
    return subprocess.Popen(
        (program, *argv[1:]), cwd=cwd, env=env, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True
    )


def _end(process: subprocess.Popen[bytes], stamp: str) -> None:
    """End it with its whole tree: launchers leave children behind."""
    process.poll()
    if process.returncode is None:
        process.terminate()
    end_leftovers(stamp)
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):  # what it never read
                stream.close()


def _last_words(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = [line.strip() for line in errors.read().decode(errors="replace").splitlines() if line.strip()]
    return lines[-1][:_MOST] if lines else ""
