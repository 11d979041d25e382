"""One request, one answer, blocking. Starts the daemon if there is none. See `rekindle.ports.daemon.Daemon`."""

from __future__ import annotations

import json
import os
import sys
import time

from rekindle import files
from rekindle.adapters.machine import process_identity
from rekindle.places import Places
from rekindle.ports.daemon import DaemonSilent, NoDaemon
from rekindle.ports.errors import OwnedError, UsageError
from rekindle.ports.told_errors import from_told

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    import subprocess
    from typing import Any

_START_SECONDS = 30.0
#: How often to check, while waiting for an answer, whether the daemon can answer at all.
_LOOK_SECONDS = 1.0
LONGEST_REQUEST = 16 << 20
#: Safe to ask again after the daemon died in the middle: what they create has an id chosen by us.
_SAFE_TO_REPEAT = (
    *("ping", "list", "show", "wait", "feed", "questions"),
    *("run", "fork", "send", "answer", "cancel", "stop", "stop_all"),
)


#: The pauses before they are asked again: who was killed may accept connections until its last thread has ended.
_PAUSES = (0.0, 0.1, 0.5)


class DaemonClient:
    """A connection to the daemon of one store."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._socket: socket.socket | None = None
        self._buffer = b""

    def ask(self, op: str, *, start: bool = True, **values: Any) -> dict[str, Any]:
        """Ask the daemon, and wait for its answer as long as it takes. `start`: start one if there is none."""
        request = json.dumps({"op": op, **values}).encode() + b"\n"
        if len(request) > LONGEST_REQUEST:
            raise UsageError(
                f"the request is too long ({len(request)} bytes of {LONGEST_REQUEST})", "put it into a file"
            )
        answer = self._exchange(request, start=start)
        for pause in _PAUSES if op in _SAFE_TO_REPEAT else ():
            if answer is None:
                time.sleep(pause)
                answer = self._exchange(request, start=start)
        if answer is None:
            raise NoDaemon(
                "the daemon went away while it was asked; it may have heard",
                f"see `rekindle ps` before you ask again, and {self._places.daemon_log}",
            )
        if answer.get("ok") is not True:
            raise from_told(answer.get("error") or {})
        return {key: value for key, value in answer.items() if key not in ("ok", "re")}

    def is_served(self) -> bool:
        """Whether a daemon holds the store."""
        return is_served(self._places)

    def holder(self) -> int | None:
        """The pid of the daemon that holds the store."""
        return int(files.read(self._places.daemon_lock)) if self.is_served() else None  # it holds the lock: it lives

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connect(self, *, start: bool) -> None:
        if self._socket is not None:
            return
        if (pid := stopped_daemon(self._places)) is not None:
            raise DaemonSilent(pid, asked=False)
        try:
            connection = _connected(self._places.socket)
        except OSError:
            if not start:
                raise NoDaemon("no daemon is running", "`rekindle serve` starts one") from None
            start_daemon(self._places)
            try:
                connection = _connected(self._places.socket)
            except OSError as error:
                raise NoDaemon(
                    f"the daemon does not answer ({error.strerror})", f"see {self._places.daemon_log}"
                ) from error
        if not _is_ours(connection):
            connection.close()
            raise NoDaemon(
                f"{self._places.socket} belongs to somebody else", "set XDG_RUNTIME_DIR to a folder of yours"
            )
        connection.settimeout(_LOOK_SECONDS)
        self._socket, self._buffer = connection, b""

    def _exchange(self, request: bytes, *, start: bool) -> dict[str, Any] | None:
        self._connect(start=start)
        try:
            self._send(request)
            return self._line()
        except NoDaemon:
            self.close()
            return None

    def _send(self, request: bytes) -> None:
        assert self._socket is not None
        rest = memoryview(request)
        try:
            while rest:
                try:
                    rest = rest[self._socket.send(rest) :]
                except TimeoutError:
                    self._refuse_to_wait()
        except OSError as error:
            raise NoDaemon("the daemon went away", f"see {self._places.daemon_log}") from error

    def _line(self) -> dict[str, Any] | None:
        assert self._socket is not None
        pieces = [self._buffer]
        while b"\n" not in pieces[-1]:  # a list of very many sessions comes in very many pieces
            try:
                data = self._socket.recv(1 << 18)
            except TimeoutError:
                self._refuse_to_wait()
                continue
            except OSError:
                data = b""
            if not data:
                self.close()
                return None
            pieces.append(data)
        line, _, self._buffer = b"".join(pieces).partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _refuse_to_wait(self) -> None:
        """An answer may take its time, but we do not wait for one that cannot come."""
        if (pid := stopped_daemon(self._places)) is not None:
            self.close()
            raise DaemonSilent(pid, asked=True)


def stopped_daemon(places: Places) -> int | None:
    """The pid of the daemon of this store, if somebody has stopped it (SIGSTOP)."""
    try:
        pid = int(files.read(places.daemon_lock))
    except (OSError, ValueError):
        return None
    return pid if process_identity.is_stopped(pid) and is_served(places) else None


def is_served(places: Places) -> bool:
    """Whether a daemon holds the store."""
    return files.is_locked(places.daemon_lock)


def start_daemon(places: Places) -> None:
    """Start the daemon and wait until one listens: ours, or that of somebody who was faster.

    One that is just leaving holds the store a moment longer than its socket. Then ours is refused, and started again.
    """
    from rekindle.adapters.machine import ancestry

    ancestry.refuse_inside("start the daemon, which would end with it", "rekindle serve")
    places.make()
    log = os.open(places.daemon_log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        before = os.fstat(log).st_size
        process, is_ready = _started(log)
        deadline = time.monotonic() + _START_SECONDS
        while not is_ready and not _answers(places.socket):
            if (status := process.poll()) not in (None, OwnedError.exit_status):
                raise _not_started(places, process, before)
            if status is not None and not is_served(places):
                process, is_ready = _started(log)
            elif time.monotonic() > deadline:
                raise _not_started(places, process, before)
            else:
                time.sleep(0.02)
    finally:
        os.close(log)


def _started(log: int) -> tuple[subprocess.Popen[bytes], bool]:
    """A new process of the daemon, and whether it listens. False: it does not yet, or has ended."""
    import select

    listens, says = os.pipe()
    try:
        process = launched(log, says)
        os.close(says)
        says = -1
        ready, _, _ = select.select([listens], [], [], _START_SECONDS)
        return process, bool(os.read(listens, 200)) if ready else False
    finally:
        os.close(listens)
        if says >= 0:
            os.close(says)


def _not_started(places: Places, process: subprocess.Popen[bytes], before: int) -> NoDaemon:
    if process.poll() is None:
        return NoDaemon(
            f"the daemon (pid {process.pid}) is still starting", f"ask again; its log is {places.daemon_log}"
        )
    why, _, remedy = _last_word(places.daemon_log, before).partition(" — ")
    log = f"its log is {places.daemon_log}"
    return NoDaemon(f"the daemon did not start{why}", f"{remedy.rstrip('.')}; {log}" if remedy else log)


def launched(log: int, says: int) -> subprocess.Popen[bytes]:
    """A new process of the daemon, in a session of its own. It logs to `log`, and tells `says` that it listens."""
    import subprocess

    return subprocess.Popen(
        [sys.executable, "-m", "rekindle.entry", "serve", "--on-demand"],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        cwd="/",
        env={**os.environ, "REKINDLE_READY_FD": str(says)},
        pass_fds=(says,),
        start_new_session=True,
    )


def _last_word(log: str, before: int) -> str:
    """What a daemon that was started since then logged when it gave up; empty: nothing."""
    try:
        lines = files.read(log)[before:].decode(errors="replace").splitlines()
    except OSError:
        return ""
    said = [line.removeprefix("rekindle: ") for line in lines if line.startswith("rekindle: ")]
    return f": {said[-1]}" if said else ""


def _connected(path: str) -> socket.socket:
    """A connection to whoever listens there. Raises OSError, and loads nothing if there is nobody."""
    os.stat(path)
    import socket

    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        raise
    return connection


def _answers(path: str) -> bool:
    try:
        _connected(path).close()
    except OSError:
        return False
    return True


def _is_ours(connection: socket.socket) -> bool:
    """Whether the listener is this user: we are about to send our environment."""
    from socket import SO_PEERCRED, SOL_SOCKET

    credentials = connection.getsockopt(SOL_SOCKET, SO_PEERCRED, 12)
    return int.from_bytes(credentials[4:8], sys.byteorder) == os.getuid()
