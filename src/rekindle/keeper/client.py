"""A blocking client of one keeper, for the CLI's attach and for tests.

The daemon has its own over `frames`. One request at a time, every wait has a limit. It only
speaks the protocol; the caller decides what to do about a refusal.
"""

import socket
from dataclasses import dataclass
from types import TracebackType

from rekindle.keeper import fields
from rekindle.keeper.errors import FrameError, KeeperGone
from rekindle.keeper.frames import PROTO_MAX, PROTO_MIN, Decoder, Frame, Header, encode
from rekindle.keeper.identity import read_identity
from rekindle.keeper.refusals import from_header


@dataclass(frozen=True, slots=True)
class Sent:
    n: int
    duplicate: bool


class Client:
    """`generation` None makes an observer, who may ask for the status and nothing else."""

    def __init__(self, path: str, generation: int | None = None, *, timeout: float = 10.0) -> None:
        self._path = path
        self._generation = generation
        self._decoder = Decoder()
        self._sequence = 0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        try:
            self._socket.connect(path)
            self.hello = self._hello(PROTO_MIN, PROTO_MAX)
        except OSError as error:
            self._socket.close()
            raise KeeperGone(f"No keeper answers at {path}: {error}. Probe with is_alive.") from error
        except BaseException:
            self._socket.close()
            raise

    @classmethod
    def for_folder(cls, folder: str, generation: int | None = None, *, timeout: float = 10.0) -> "Client":
        identity = read_identity(folder)
        if identity is None:
            raise KeeperGone(f"No agent was ever started in {folder}. Spawn one.")
        return cls(identity.socket, generation, timeout=timeout)

    def status(self) -> Header:
        return self.request({"op": "status"})

    def send(self, prompt: str, payload: bytes, *, generation: int | None = None) -> Sent:
        """Returns when the message is on the keeper's disk; sending it again with the same id is safe."""
        given = self._generation if generation is None else generation
        answer = self.request({"op": "send", "id": prompt, "generation": given}, payload)
        return Sent(fields.integer(answer, "n"), fields.flag(answer, "duplicate"))

    def signal(self, name: str) -> None:
        """To the agent's process group."""
        self.request({"op": "signal", "name": name})

    def stop(self, reason: str, *, grace: float | None = None) -> None:
        """Returns when the agent has begun to end; `wait_closed` waits until it has ended."""
        header: Header = {"op": "stop", "reason": reason}
        self.request(header if grace is None else {**header, "grace": grace})

    def punch(self, upto: int) -> int:
        """Reclaim the blocks of `out` below this offset; returns the offset reached."""
        return fields.integer(self.request({"op": "punch", "upto": upto}), "upto")

    def renew(self, until: float) -> float:
        """Put the deadline off (see `deadline.clock`); returns the seconds that are left."""
        return fields.number(self.request({"op": "renew", "until": until}), "left")

    def wait_closed(self, timeout: float) -> bool:
        """Wait for the keeper's end, which comes after the exit record; False if the time runs out first."""
        self._socket.settimeout(timeout)
        try:
            while self._socket.recv(65536):
                pass
        except TimeoutError:
            return False
        except OSError:
            pass
        return True

    def request(self, header: Header, payload: bytes = b"") -> Header:
        """One operation; Refused, KeeperGone or FrameError if it was not done (or not known to be)."""
        self._sequence += 1
        data = encode(Frame({**header, "seq": self._sequence}, payload))
        try:
            self._socket.sendall(data)
            answer = self._receive()
        except OSError as error:
            raise KeeperGone(f"The keeper at {self._path} went away: {error}. Probe with is_alive.") from error
        if answer.get("ok") is not True:
            raise from_header(answer)
        return answer

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _hello(self, low: int, high: int) -> Header:
        return self.request({"op": "hello", "proto_min": low, "proto_max": high, "generation": self._generation})

    def _receive(self) -> Header:
        while True:
            frame = self._decoder.next_frame()
            if frame is not None:
                if frame.header.get("re") in (None, self._sequence):
                    return frame.header
                raise FrameError("An answer to another request came. Connect again.")
            data = self._socket.recv(65536)
            if not data:
                raise KeeperGone(f"The keeper at {self._path} closed the connection. Probe with is_alive.")
            self._decoder.feed(data)
