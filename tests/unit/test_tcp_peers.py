"""Who is at the other end of a TCP connection: whoever cannot be named is not let in."""

from __future__ import annotations

import ctypes
import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from rekindle.adapters.http_door import tcp_peers
from rekindle.core.inside import Standing

_CLONE_FILES = 0x400
Ends = tuple[socket.socket, socket.socket]


@dataclass
class Line:
    """Says of every process what it is told to, and remembers of which it was asked."""

    says: Standing = "outside"
    asked: list[int] = field(default_factory=list)

    def standing_of(self, pid: int, started: int | None = None, *, daemon: int | None = None) -> Standing:
        self.asked.append(pid)
        return self.says

    def began(self, pid: int) -> int | None:
        return 1

    def is_inside(self) -> bool:
        return False

    def refuse_inside(self, what: str, again: str) -> None:
        return


@pytest.fixture
def ends() -> Iterator[Ends]:
    """The client's end and the door's."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        client = socket.create_connection(listening.getsockname())
        server, _ = listening.accept()
        with client, server:
            yield client, server


def inside(server: socket.socket, line: Line) -> bool:
    return tcp_peers.is_inside(server.getpeername(), server.getsockname(), line, os.getpid())


def test_the_holder_is_asked_for(ends: Ends) -> None:
    line = Line()
    assert not inside(ends[1], line)
    assert line.asked == [os.getpid()]
    assert inside(ends[1], Line("inside"))


def test_a_holder_of_whom_nobody_knows_counts_as_inside(ends: Ends) -> None:
    assert inside(ends[1], Line("unknown"))


def test_one_that_has_sent_its_request_and_has_gone_is_not_let_in(ends: Ends) -> None:
    ends[0].sendall(b"POST / HTTP/1.1\r\n\r\n")
    ends[0].close()
    assert inside(ends[1], Line())


def test_one_that_has_gone_without_a_trace_is_not_let_in(ends: Ends) -> None:
    client, server = ends
    where = client.getsockname()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    client.close()  # resets the connection: no table has it any more
    assert tcp_peers.is_inside(where, server.getsockname(), Line(), os.getpid())


def test_a_socket_on_its_way_through_another_one_is_nobodys(ends: Ends) -> None:
    client, server = ends
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with one, other:
        socket.send_fds(one, [b"x"], [client.fileno()])
        client.close()
        assert inside(server, Line())


def test_a_thread_with_descriptors_of_its_own_is_found() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    found: list[tuple[tuple[str, int], tuple[str, int]]] = []
    ready, done = threading.Event(), threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def apart() -> None:
            if libc.unshare(_CLONE_FILES) == 0:
                with socket.create_connection(listening.getsockname()) as client:
                    found.append((client.getsockname(), client.getpeername()))
                    ready.set()
                    done.wait()
            ready.set()

        thread = threading.Thread(target=apart)
        thread.start()
        try:
            ready.wait()
            if not found:
                pytest.skip("a thread cannot have descriptors of its own here")
            line = Line("inside")
            assert tcp_peers.is_inside(*found[0], line, os.getpid()) and os.getpid() in line.asked
            assert not tcp_peers.is_inside(*found[0], Line(), os.getpid())
        finally:
            done.set()
            thread.join()


def test_another_machine_has_no_agents_of_ours_and_this_one_has_under_every_address(
    monkeypatch: pytest.MonkeyPatch, tmp_path: os.PathLike[str]
) -> None:
    table = os.path.join(tmp_path, "fib_trie")
    with open(table, "w", encoding="ascii") as file:
        file.write("Local:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 192.0.2.7\n        /32 host LOCAL\n")
        file.write("     |-- 192.0.2.255\n        /32 link BROADCAST\n")
    monkeypatch.setattr(tcp_peers, "_LOCAL_V4", table)
    door = ("192.0.2.9", 8400)
    assert not tcp_peers.is_inside(("198.51.100.1", 5000), door, Line(), os.getpid())
    assert not tcp_peers.is_inside(("192.0.2.255", 5000), door, Line(), os.getpid())
    for own in ("192.0.2.7", "192.0.2.9", "::ffff:192.0.2.7", "127.0.0.2", "::1"):
        assert tcp_peers.is_inside((own, 5000), door, Line(), os.getpid()), own
