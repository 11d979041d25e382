"""A door in front of a server: it speaks TLS, lets in only who shows a certificate, and passes on what they say."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class TlsDoor:
    """`port` is where it listens on loopback. `names` has the clients that were let in."""

    port: int
    names: list[str] = field(default_factory=list)
    #: what is to be ended when the door is closed
    open: list[socket.socket] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


@contextlib.contextmanager
def tls_door(behind: int, certificate: tuple[str, str], clients: str) -> Iterator[TlsDoor]:
    """A door to the port `behind`. It shows `certificate`, and lets in who is signed by `clients`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    context.load_verify_locations(clients)
    context.verify_mode = ssl.CERT_REQUIRED
    context.set_alpn_protocols(["h2"])
    with socket.create_server(("127.0.0.1", 0)) as listening:
        door = TlsDoor(listening.getsockname()[1])
        accepting = threading.Thread(target=_accept, args=(listening, context, behind, door), daemon=True)
        accepting.start()
        try:
            yield door
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for one in list(door.open):
                _end(one)


def _accept(listening: socket.socket, context: ssl.SSLContext, behind: int, door: TlsDoor) -> None:
    with contextlib.suppress(OSError):
        while True:
            outer, _ = listening.accept()
            threading.Thread(target=_greet, args=(outer, context, behind, door), daemon=True).start()


def _greet(outer: socket.socket, context: ssl.SSLContext, behind: int, door: TlsDoor) -> None:
    door.open.append(outer)
    try:
        talk = context.wrap_socket(outer, server_side=True, do_handshake_on_connect=False)
        door.open.append(talk)
        talk.do_handshake()
    except OSError:
        _listen_to_the_end(talk)
        return
    certificate = talk.getpeercert()
    assert certificate is not None
    [name] = [value for [(key, value)] in certificate["subject"] if key == "commonName"]  # type: ignore[misc,str-unpack]
    door.names.append(name)
    inner = socket.create_connection(("127.0.0.1", behind))
    door.open.append(inner)
    _carry(talk, inner)


def _listen_to_the_end(talk: ssl.SSLSocket) -> None:
    """Whoever is not let in is told why; to hang up at once would take that back."""
    with contextlib.suppress(OSError):
        raw = socket.socket(fileno=talk.detach())
        with raw:
            raw.shutdown(socket.SHUT_WR)
            raw.settimeout(5)
            while raw.recv(65536):
                pass


def _carry(talk: ssl.SSLSocket, inner: socket.socket) -> None:
    """Pass on what each says, in one thread: TLS of a connection is not for two."""
    others = {talk: inner, inner: talk}
    with contextlib.suppress(OSError, ValueError):
        while True:
            ready = [talk] if talk.pending() else select.select([talk, inner], [], [])[0]
            for one in ready:
                said = one.recv(65536)
                if not said:
                    raise OSError
                others[one].sendall(said)
    for one in others:
        _end(one)


def _end(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    with contextlib.suppress(OSError):
        one.close()
