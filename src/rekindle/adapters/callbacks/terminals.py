"""The terminals of an agent: each command in a keeper of its own, so that it and its output outlive the daemon.

    <session folder>/terminals/<id>/order.json   what was asked
                                    lock         held while it runs
                                    keeper-<n>/  the incarnation that ran; n is 1 unless a start was cut off
                                    released     the agent gave it up; the output is kept

The id is derived from the request, so that a request that is served again finds the terminal that it made. The
environment is stamped with the session's stamp *and the id*: a keeper ends, at its start, all processes with its own
stamp, and with the session's that would be the agent. So the start of the next attempt does not see terminals: ending
a session must call `end_all`.
"""

from __future__ import annotations

import codecs
import hashlib
import itertools
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from rekindle import files
from rekindle.adapters.callbacks.confined import ConfinedFolder, Outside
from rekindle.adapters.callbacks.refusal import (
    BadParams,
    integer_param,
    invalid,
    text_param,
)
from rekindle.adapters.session_folder.layout import SessionFolder
from rekindle.agents.base import fields
from rekindle.agents.base.dialect import CallbackRefused, CallbackResult
from rekindle.agents.base.observation import RequestId
from rekindle.keeper.client import Client
from rekindle.keeper.errors import KeeperError, KeeperGone, LockHeld, SpecError
from rekindle.keeper.launch import is_alive, read_exit, read_identity, spawn, wait_until_gone
from rekindle.keeper.outcome import EndedBy
from rekindle.keeper.spec import Background, Layout, Spec

#: An argument list all the same: the command comes in as "$@" and is never parsed. No input, one stream of output.
_MERGED: Final = ("/bin/sh", "-c", 'exec "$@" </dev/null 2>&1', "sh")
_ID: Final = re.compile(r"term-[0-9a-f]{24}")
#: The most that one answer holds, whatever the agent asks for.
MOST_OUTPUT: Final = 4 * 1024 * 1024
_LOOK_AGAIN: Final = 0.02
_START_SECONDS: Final = 30.0


class TerminalOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What the agent asked for, recorded before anything is started."""

    command: str
    args: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    output_byte_limit: int | None


class CallbackTerminals:
    def __init__(
        self,
        session_folder: str,
        folder: ConfinedFolder,
        *,
        stamp: str,
        generation: int,
        socket_dir: str,
        env: Mapping[str, str],
        grace_seconds: float = 2.0,
    ) -> None:
        self._home = SessionFolder(os.path.abspath(session_folder)).terminals
        self._folder = folder
        self._stamp = stamp
        self._generation = generation
        self._socket_dir = socket_dir
        self._env = dict(env)
        self._grace = grace_seconds

    def create(self, params: dict[str, Any], request_id: RequestId) -> CallbackResult:
        """Start the command once per request, however often the request is repeated."""
        key = f"{self._generation} {fields.key(request_id)}"
        terminal = "term-" + hashlib.blake2b(key.encode(errors="replace"), digest_size=12).hexdigest()
        home = os.path.join(self._home, terminal)
        order = _read_order(home)
        try:
            if order is None:
                order = self._order(params)
                os.makedirs(home, mode=0o700, exist_ok=True)
                files.replace(os.path.join(home, "order.json"), msgspec.json.encode(order), mode=0o600, durable=True)
            refusal = self._start(terminal, home, order)
        except Outside as error:
            return invalid(str(error))
        except SpecError as error:
            return invalid(f"The command cannot be run: {error}")
        except (KeeperError, OSError) as error:
            return CallbackRefused("failed", f"The terminal could not be started: {error}")
        return refusal or {"terminalId": terminal}

    def output(self, params: dict[str, Any]) -> CallbackResult:
        """The command's output; only the last bytes if it exceeds the limit."""
        home = self._home_of(params)
        if isinstance(home, CallbackRefused):
            return home
        status = _exit_status(home)  # first: what is written before the end must not be missed
        order = _read_order(home)
        asked = order.output_byte_limit if order else None
        limit = MOST_OUTPUT if asked is None else min(asked, MOST_OUTPUT)
        try:
            text, truncated = _tail(home, limit, ended=status is not None)
        except OSError as error:
            return CallbackRefused("failed", f"The output cannot be read: {error}")
        answer: dict[str, Any] = {"output": text, "truncated": truncated}
        return answer if status is None else {**answer, "exitStatus": status}

    def wait_for_exit(self, params: dict[str, Any]) -> CallbackResult | None:
        """The exit status; None while the command runs."""
        home = self._home_of(params)
        return home if isinstance(home, CallbackRefused) else _exit_status(home)

    def kill(self, params: dict[str, Any]) -> CallbackResult:
        """End the command and everything that it started; the terminal can still be read."""
        home = self._home_of(params)
        return home if isinstance(home, CallbackRefused) else self._end(home, "terminal/kill") or {}

    def release(self, params: dict[str, Any]) -> CallbackResult:
        """Kill and give up. Asking again is harmless; any other use is refused from then on."""
        home = self._home_of(params, released=True)
        if isinstance(home, CallbackRefused):
            return home
        refusal = self._end(home, "terminal/release")
        if refusal is None:
            files.replace(os.path.join(home, "released"), b"", mode=0o600)
        return refusal or {}

    def alive(self) -> list[str]:
        """The ids of the terminals that run, of every generation of the session."""
        try:
            names = sorted(name for name in os.listdir(self._home) if _ID.fullmatch(name))
        except FileNotFoundError:
            return []
        return [name for name in names if is_alive(os.path.join(self._home, name, "lock"))]

    def end_all(self, reason: str, *, timeout: float = 10.0) -> list[str]:
        """End every terminal of the session; returns the ids of those that are still running."""
        running = self.alive()
        for name in running:
            self._end(os.path.join(self._home, name), reason)
        return [name for name in running if not wait_until_gone(os.path.join(self._home, name, "lock"), timeout)]

    def _order(self, params: dict[str, Any]) -> TerminalOrder:
        args = params.get("args") or []
        if not isinstance(args, list) or not all(isinstance(one, str) for one in args):
            raise BadParams("args must be a list of texts.")
        cwd = params.get("cwd")
        real = self._folder.root if cwd is None else self._folder.resolve(text_param(params, "cwd"))
        if not os.path.isdir(real):
            raise Outside(f"{real} is no folder.")
        return TerminalOrder(
            command=text_param(params, "command"),
            args=tuple(args),
            cwd=real,
            env={**self._env, **dict(_variables(params.get("env")))},
            output_byte_limit=integer_param(params, "outputByteLimit"),
        )

    def _start(self, terminal: str, home: str, order: TerminalOrder) -> CallbackRefused | None:
        """None when it runs or ran. A start that was cut off before its guard had the lock is repeated in a new folder.

        If that guard should still come to life, the lock lets one of the two run, so the command runs once.
        """
        if _has_run(home):
            return None
        used = [folder for folder in _incarnations(home) if os.path.exists(Layout(folder).spec)]
        for record in map(read_exit, used):
            if record is not None and record.ended_by is EndedBy.START_FAILED:
                return CallbackRefused("failed", f"The terminal could not be started: {record.reason}")
        folder = os.path.join(home, f"keeper-{len(used) + 1}")
        try:
            spawn(self._spec(terminal, home, folder, order), timeout=_START_SECONDS)
        except LockHeld:
            if not _has_run(home):
                raise
        return None

    def _spec(self, terminal: str, home: str, folder: str, order: TerminalOrder) -> Spec:
        return Spec(
            session=terminal,
            attempt=1,
            generation=self._generation,
            argv=(*_MERGED, order.command, *order.args),
            cwd=order.cwd,
            env=order.env,
            folder=folder,
            lock=os.path.join(home, "lock"),
            socket_dir=self._socket_dir,
            stamp=f"{self._stamp}/{terminal}",
            grace_seconds=self._grace,
            reserve_bytes=1 << 20,
            background=Background.END,
        )

    def _home_of(self, params: dict[str, Any], *, released: bool = False) -> str | CallbackRefused:
        terminal = text_param(params, "terminalId")
        home = os.path.join(self._home, terminal)
        if not _ID.fullmatch(terminal) or not os.path.isdir(home):
            return CallbackRefused("not_found", f"There is no terminal {terminal}.")
        if not released and os.path.exists(os.path.join(home, "released")):
            return CallbackRefused("not_found", f"The terminal {terminal} was released.")
        return home

    def _end(self, home: str, reason: str) -> CallbackRefused | None:
        folder = _last_run(home)
        if folder is None or _exit_status(home) is not None:
            return None
        try:
            with Client.for_folder(folder, self._generation) as client:
                client.stop(reason)
        except KeeperGone as error:
            # The keeper ended while we asked, or only its guard is left, which ends the tree by itself.
            if wait_until_gone(os.path.join(home, "lock"), self._grace + 5.0):
                return None
            return CallbackRefused("failed", f"The terminal could not be ended: {error}")
        except (KeeperError, OSError) as error:
            return CallbackRefused("failed", f"The terminal could not be ended: {error}")
        return None


def _variables(value: object) -> Iterator[tuple[str, str]]:
    if value is None:
        return
    if not isinstance(value, list):
        raise BadParams("env must be a list of {name, value}.")
    for one in value:
        match one:
            case {"name": str(name), "value": str(text)}:
                yield name, text
            case _:
                raise BadParams("env must be a list of {name, value}.")


def _read_order(home: str) -> TerminalOrder | None:
    try:
        return msgspec.json.decode(files.read(os.path.join(home, "order.json")), type=TerminalOrder)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _incarnations(home: str) -> Iterator[str]:
    for n in itertools.count(1):
        folder = os.path.join(home, f"keeper-{n}")
        if not os.path.exists(folder):
            return
        yield folder


def _last_run(home: str) -> str | None:
    """The folder of the incarnation that ran; at most one did."""
    return next((folder for folder in _incarnations(home) if read_identity(folder) is not None), None)


def _has_run(home: str) -> bool:
    """Whether the command runs or ran; waits for a guard that has the lock and is about to start it."""
    lock = os.path.join(home, "lock")
    while _last_run(home) is None:
        if wait_until_gone(lock, _LOOK_AGAIN):
            return _last_run(home) is not None
    return True


def _exit_status(home: str) -> dict[str, Any] | None:
    """None while it runs. If the keeper was killed with the command, nothing in the status is known."""
    alive = is_alive(os.path.join(home, "lock"))  # asked first: the record is written with the lock held
    folder = _last_run(home)
    record = read_exit(folder) if folder else None
    if record is not None:
        return {"exitCode": record.code, "signal": record.signal}
    return None if alive else {"exitCode": None, "signal": None}


def _tail(home: str, limit: int, *, ended: bool) -> tuple[str, bool]:
    """The last `limit` bytes of the output as text, and whether more was there."""
    folder = _last_run(home)
    if folder is None:
        return "", False
    with open(Layout(folder).out, "rb") as out:
        size = out.seek(0, os.SEEK_END)
        start = max(0, size - limit)
        out.seek(start)
        data = out.read(size - start)
    if start:
        data = _from_boundary(data)
    # While it runs, the last character may be half written: it is shown once complete.
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data, ended)
    encoded = text.encode()
    if len(encoded) <= limit:
        return text, start > 0
    # Bytes that are not text take more room as "�" than as themselves.
    return _from_boundary(encoded[len(encoded) - limit :]).decode(), True


def _from_boundary(data: bytes) -> bytes:
    """Without the rest of a character that was cut; at most three bytes, so that other bytes are kept."""
    cut = 0
    while cut < min(3, len(data)) and data[cut] & 0xC0 == 0x80:
        cut += 1
    return data[cut:]
