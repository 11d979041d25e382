"""The socket: garbage costs only who sent it, other users are refused, a deleted file comes back."""

import os
import random
import signal
import socket
from pathlib import Path

import pytest

from rekindle.keeper.client import Client
from rekindle.keeper.errors import KeeperGone, ProtocolMismatch, Refused
from rekindle.keeper.frames import Decoder, Frame, encode
from rekindle.keeper.processes import send_signal
from tests.keeper.keeper_bench import Bench, status, until

NOBODY = 65534


def raw(path: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.settimeout(5)
    made.connect(path)
    return made


def test_garbage_closes_that_client_only(bench: Bench) -> None:
    session = bench.start(("cat",))
    chance = random.Random(7)
    with session.client() as good:
        for _ in range(40):
            with raw(session.started.socket) as bad:
                bad.sendall(b"\xff" + chance.randbytes(chance.randint(8, 400)))
                answer = b""
                while data := bad.recv(4096):
                    answer += data
                decoder = Decoder()
                decoder.feed(answer)
                frame = decoder.next_frame()
                assert frame and frame.header["code"] == "bad_frame"
        assert status(good)["state"] == "running"


def test_half_a_frame_and_a_hangup_disturb_nobody(bench: Bench) -> None:
    session = bench.start(("cat",))
    whole = encode(Frame({"op": "hello", "proto_min": 1, "proto_max": 1, "generation": 1}))
    with session.client() as good:
        for cut in range(len(whole)):
            with raw(session.started.socket) as torn:
                torn.sendall(whole[:cut])
        assert status(good)["state"] == "running"


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ({"op": "status"}, "hello_first"),
        ({"op": "hello"}, "bad_request"),
        ({"op": "hello", "proto_min": "1", "proto_max": 1}, "bad_request"),
        ({"op": "hello", "proto_min": 1, "proto_max": 1, "generation": -1}, "bad_request"),
        ({}, "hello_first"),
    ],
)
def test_a_bad_first_request_is_refused_with_a_code(bench: Bench, header: dict[str, object], code: str) -> None:
    session = bench.start(("cat",))
    with raw(session.started.socket) as client:
        client.sendall(encode(Frame(header)))
        decoder = Decoder()
        decoder.feed(client.recv(4096))
        frame = decoder.next_frame()
        assert frame and frame.header["code"] == code


def test_bad_requests_are_refused_with_a_code_and_the_connection_stays(bench: Bench) -> None:
    session = bench.start(("cat",))
    cases: list[tuple[dict[str, object], str]] = [
        ({"op": "dance"}, "unknown_op"),
        ({"op": ["status"]}, "unknown_op"),
        ({"op": "send", "id": 7, "generation": 1}, "bad_request"),
        ({"op": "send", "id": "", "generation": 1}, "bad_request"),
        ({"op": "send", "id": "x" * 2000, "generation": 1}, "bad_request"),
        ({"op": "send", "id": "\ud800", "generation": 1}, "bad_request"),
        ({"op": "send", "id": "x", "generation": True}, "bad_request"),
        ({"op": "stop", "grace": -1, "reason": "x"}, "bad_request"),
        ({"op": "stop", "grace": 1e400, "reason": "x"}, "bad_request"),
        ({"op": "stop"}, "bad_request"),
        ({"op": "punch", "upto": -4}, "bad_request"),
    ]
    with session.client() as client:
        for header, code in cases:
            with pytest.raises(Refused) as refused:
                client.request(header)
            assert refused.value.code == code, header
        assert status(client)["state"] == "running"


def test_a_client_of_another_protocol_is_told_both_versions(bench: Bench) -> None:
    session = bench.start(("cat",))
    with session.client() as client:
        with pytest.raises(ProtocolMismatch, match="speaks protocol 1 to 1, the client 7 to 9") as refused:
            client.request({"op": "hello", "proto_min": 7, "proto_max": 9, "generation": 1})
        assert refused.value.details == {"keeper": [1, 1], "client": [7, 9]}
        # A newer client that still speaks the old protocol is served.
        assert client.request({"op": "hello", "proto_min": 1, "proto_max": 9, "generation": 1})["proto"] == 1


def as_nobody(path: str) -> str:
    """What another user gets: the word it hears, or why it could not even knock."""
    hears, says = os.pipe()
    child = os.fork()
    if child == 0:
        word = "?"
        try:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            with raw(path) as client:
                decoder = Decoder()
                decoder.feed(client.recv(4096))
                frame = decoder.next_frame()
                word = str(frame.header["code"]) if frame else "silence"
        except OSError as error:
            word = type(error).__name__
        finally:
            os.write(says, word.encode())
            os._exit(0)
    os.close(says)
    with open(hears) as answer:
        word = answer.read()
    os.waitpid(child, 0)
    return word


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_refused_by_the_folder_and_by_the_uid(bench: Bench) -> None:
    session = bench.start(("cat",))
    assert as_nobody(session.started.socket) == "PermissionError"
    for path in (bench.root, Path(session.spec.socket_dir)):
        path.chmod(0o755)
    Path(session.started.socket).chmod(0o666)
    assert as_nobody(session.started.socket) == "foreign_uid"
    with session.client() as client:
        assert status(client)["state"] == "running"


@pytest.mark.parametrize("whole_folder", [False, True])
def test_a_deleted_socket_comes_back_and_connected_clients_stay(bench: Bench, whole_folder: bool) -> None:
    session = bench.start(("cat",))
    path = Path(session.started.socket)
    with session.client() as before:
        path.unlink()
        if whole_folder:
            path.parent.rmdir()
        with pytest.raises(KeeperGone):
            session.client()
        assert send_signal(session.keeper, signal.SIGHUP)
        until(path.exists)
        until(lambda: _connects(session.started.socket))
        assert before.send("p", b"x\n").n == 1
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_deleted_socket_comes_back_by_itself(bench: Bench) -> None:
    session = bench.start(("cat",))
    with session.client() as client:
        client.send("p", b"x\n")  # from now on the tick is the fast one
    Path(session.started.socket).unlink()
    until(lambda: _connects(session.started.socket))


def _connects(path: str) -> bool:
    try:
        Client(path).close()
    except KeeperGone:
        return False
    return True


def test_many_clients_are_served_at_once_and_too_many_do_no_harm(bench: Bench) -> None:
    session = bench.start(("cat",))
    clients = [session.client() for _ in range(60)]
    try:
        assert {client.send("same", b"once\n").n for client in clients} == {1}
        extra = [raw(session.started.socket) for _ in range(20)]
        assert status(clients[0])["state"] == "running"
        for one in extra:
            one.close()
    finally:
        for client in clients:
            client.close()
    until(lambda: session.out() == b"once\n")
    until(lambda: _connects(session.started.socket))
