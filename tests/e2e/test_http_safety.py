"""Who does not get in through the HTTP door, and what cannot be done with it."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from rekindle.doors.http import guard, live, server
from tests.e2e.daemon import Machine, until
from tests.e2e.door import SECONDS, Door, opened
from tests.patience import FACTOR

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def door(machine: Machine) -> Iterator[Door]:
    with opened(machine) as found:
        yield found


def raw(door: Door, sent: bytes, seconds: float = SECONDS) -> bytes:
    """What the door answers to some bytes, up to its end."""
    host, _, port = door.host.partition(":")
    with socket.create_connection((host, int(port)), timeout=seconds) as connection:
        connection.sendall(sent)
        found = b""
        while more := connection.recv(65536):
            found += more
        return found


def test_nothing_is_told_without_the_secret_and_wrong_ones_are_counted(door: Door) -> None:
    for secret in ("", "wrong", door.secret[:-1], door.secret + "x", "\u00e9"):
        told = door.ask("/api/v1/sessions", secret=secret)
        assert told.status == 401 and told.headers["content-type"] == "application/problem+json"
    assert door.ask("/api/v1/sessions").status == 200
    assert door.ask("/api/v1/sessions", Cookie=f"secret={door.secret}", secret="").status == 401
    statuses = [door.ask("/api/v1/sessions", secret="wrong").status for _ in range(40)]
    assert statuses[-1] == 429, "guessing is slowed down"
    assert door.ask("/api/v1/sessions").status == 200, "and nobody else is"


def test_a_new_link_works_although_an_old_page_keeps_asking(machine: Machine, door: Door) -> None:
    """A page that is open with an old secret asks again and again: that keeps nobody else out."""
    code = json.loads(machine.ok("open", "--json"))["link"].partition("#code=")[2]
    assert [door.ask("/api/v1/sessions", secret="old").status for _ in range(40)][-1] == 429
    assert door.ask("/api/v1/pair", {"code": code}, secret="").json["secret"] == door.secret
    assert 429 in [door.ask("/api/v1/pair", {"code": "x"}, secret="").status for _ in range(5)], "guesses are slow"


def test_what_is_nested_too_deeply_is_a_bad_request_to_anybody(door: Door) -> None:
    for path, secret in (("/api/v1/pair", ""), ("/api/v1/runbooks/check", door.secret)):
        told = door.ask(path, b'{"x": ' + b"[" * 3000, secret=secret)
        assert told.status == 400 and "deep" in told.json["detail"]

    async def over_websocket() -> None:
        deep = '{"payload": {"x": ' + "[" * 100_000
        async with connect(door.url.replace("http", "ws") + "api/v1/ws") as one:
            await one.send(deep[:4000])
            with pytest.raises(ConnectionClosed):
                await asyncio.wait_for(one.recv(), SECONDS)
            assert one.close_code == live.UNKNOWN
        async with door.live() as two:
            await two.socket.send(deep)
            assert "deep" in (await two.heard())["error"]["detail"]
            assert (await two.ask("subscribe"))["ok"]

    asyncio.run(over_websocket())


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.test"},
        {"Host": "127.0.0.1:1"},
        {"Origin": "https://evil.test"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_page_gets_nothing_even_with_the_secret(door: Door, headers: dict[str, str]) -> None:
    """A page on another port of this machine is same-site: its origin tells it from ours."""
    told = door.ask("/api/v1/sessions", **headers)
    assert told.status == 403 and b"sessions" not in told.body


def test_every_answer_forbids_what_the_page_does_not_need(door: Door) -> None:
    for path in ("/", "/s/anything", "/api/v1/sessions", "/api/v1/openapi.json", "/assets/none.js"):
        told = door.ask(path)
        policy = told.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert told.headers["x-content-type-options"] == "nosniff"
        assert told.headers["referrer-policy"] == "no-referrer"
        assert not any(name.startswith("access-control") or name == "set-cookie" for name in told.headers)


def test_paths_lead_nowhere_else(door: Door) -> None:
    for path in (
        "/../../etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/assets/../../places.py",
        "/%2e%2e/secret",
        "//etc/passwd",
    ):
        sent = f"GET {path} HTTP/1.1\r\nHost: {door.host}\r\nConnection: close\r\n\r\n".encode()
        assert b"root:" not in (found := raw(door, sent)) and b"import" not in found
    assert door.ask("/%2fapi/v1/sessions").status == door.ask("///api/v1/sessions").status == 404
    assert door.ask("/api/v1/features/..%2F..%2Fx?repository=/").status in (400, 404)
    assert door.ask("/api/v1/features/x?repository=/etc").status == 404


def test_an_address_that_ends_with_a_slash_joined_with_a_path_is_the_same_place(door: Door) -> None:
    assert door.ask("//api/v1/openapi.json", secret="").status == 200
    assert door.ask("//api/v1/sessions", secret="").status == 401
    assert door.ask("//api/v1/sessions").json["sessions"] == door.get("/sessions")["sessions"]


def test_bodies_that_are_too_long_or_too_slow_are_cut_off(door: Door) -> None:
    assert door.ask("/api/v1/runbooks/check", b'{"text": "' + b"x" * guard.LONGEST_BODY + b'"}').status == 413
    head = (
        f"POST /api/v1/runbooks/check HTTP/1.1\r\nHost: {door.host}\r\nAuthorization: Bearer {door.secret}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    began = time.monotonic()
    assert raw(door, head.encode()).startswith(b"HTTP/1.1 408")
    assert time.monotonic() - began < guard.BODY_SECONDS + 10
    assert raw(door, f"GET / HTTP/1.1\r\nHost: {door.host}\r\n".encode()) == b"", "half a head is not waited for"
    assert raw(door, b"GET / HTTP/1.1\r\nX: " + b"y" * 100_000 + b"\r\n\r\n").startswith(b"HTTP/1.1 4")


def test_a_websocket_is_checked_like_everything_else(door: Door) -> None:
    url = door.url.replace("http", "ws") + "api/v1/ws"

    async def refused() -> None:
        with pytest.raises(InvalidStatus):
            async with connect(url, origin="http://127.0.0.1:1"):  # type: ignore[arg-type]
                pass
        for first in (json.dumps({"type": "auth", "secret": "wrong"}), "{", json.dumps({"action": "subscribe"})):
            async with connect(url) as one:
                await one.send(first)
                with contextlib.suppress(ConnectionClosed):
                    while True:
                        assert "sessions" not in str(await asyncio.wait_for(one.recv(), SECONDS))
                assert one.close_code == live.UNKNOWN

    asyncio.run(refused())


def test_an_agent_that_reads_the_secret_is_not_let_in(machine: Machine, door: Door) -> None:
    """It has the same user, so that it can read the file; the door looks at who is at the other end."""
    thief = machine.work / "thief.py"
    thief.write_text(
        "import sys, urllib.request, urllib.error\n"
        f"request = urllib.request.Request({door.url + 'api/v1/sessions'!r})\n"
        f"request.add_header('Authorization', 'Bearer ' + open({door.secret_file!r}).read().strip())\n"
        "try:\n    print('IN', urllib.request.urlopen(request).status)\n"
        "except urllib.error.HTTPError as error:\n    print('OUT', error.code, error.read().decode())\n"
    )
    outside = subprocess.run([sys.executable, str(thief)], capture_output=True, text=True, check=True)
    assert outside.stdout.startswith("IN 200")
    session = machine.begin(f"run {sys.executable} {thief}")
    machine.until_said(session, "OUT 403")
    assert "inside_agent" in machine.said(session)


_HIDING = {
    "on its way through another socket": (
        "one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
        "mine = asked()\n"
        "socket.send_fds(one, [b'x'], [mine.fileno()])\n"
        "mine.close()\n"
        "go_on()\n"
        "print('HEARD', socket.socket(fileno=socket.recv_fds(other, 1, 1)[1][0]).recv(65536))\n"
    ),
    "in a thread's own table": (
        "def apart():\n"
        "    ctypes.CDLL(None).unshare(0x400)\n"
        "    mine = asked()\n"
        "    go_on()\n"
        "    print('HEARD', mine.recv(65536))\n"
        "import ctypes, threading\n"
        "thread = threading.Thread(target=apart)\n"
        "thread.start()\n"
        "thread.join()\n"
    ),
}


@pytest.mark.parametrize("how", _HIDING)
def test_an_agent_that_hides_its_connection_approves_nothing(machine: Machine, door: Door, how: str) -> None:
    """It halts the daemon, so that its request is looked at only when no process is seen to hold its socket."""
    asking = machine.begin("ask may I?", "say done")
    question = until(lambda: [one for one in machine.questions() if one["session"] == asking], "the question")[0]
    host, _, port = door.host.partition(":")
    body = json.dumps({"option": "allow"})
    head = f"POST /api/v1/questions/{question['id']}/answer HTTP/1.1\r\nHost: {door.host}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nAuthorization: Bearer "
    thief = machine.work / "thief.py"
    thief.write_text(
        "import os, signal, socket, time\n"
        f"secret = open({door.secret_file!r}).read().strip()\n"
        "def asked():\n"
        f"    os.kill({door.process.pid}, signal.SIGSTOP)\n"
        f"    made = socket.create_connection(({host!r}, {port}))\n"
        f"    made.sendall(({head!r} + secret + '\\r\\n\\r\\n' + {body!r}).encode())\n"
        "    return made\n"
        "def go_on():\n"
        f"    os.kill({door.process.pid}, signal.SIGCONT)\n"
        f"    time.sleep({2 * FACTOR})  # meanwhile nobody holds it\n"
        f"{_HIDING[how]}"
    )
    session = machine.begin(f"run {sys.executable} {thief}", "say the end")
    machine.until_said(session, "the end")
    assert "HTTP/1.1 403" in machine.said(session) and "inside_agent" in machine.said(session)
    assert [one["id"] for one in machine.questions()] == [question["id"]], "nobody has answered"
    assert door.ask(f"/api/v1/questions/{question['id']}/answer", {"option": "deny"}).status == 200


def test_script_in_texts_is_plain_data(machine: Machine, door: Door) -> None:
    evil = "<script>alert(1)</script>"
    session = machine.begin(f"say {evil}")
    machine.until_said(session, evil)
    for path in (
        f"/api/v1/sessions/{session}/conversation",
        "/api/v1/sessions",
        "/api/v1/search?q=script",
        "/api/v1/feed",
    ):
        told = door.ask(path)
        assert told.status == 200 and told.headers["content-type"].startswith("application/json")
    assert evil.encode() not in door.ask(f"/{evil}").body


def test_a_reader_that_takes_nothing_is_cut_off_and_costs_no_memory(machine: Machine, door: Door) -> None:
    session = machine.begin("big 4000000", "say the end")
    machine.until_status(session, "waiting")

    def used() -> int:
        text = Path(f"/proc/{door.process.pid}/status").read_text()
        return int(text.partition("VmRSS:")[2].split()[0])

    door.get(f"/sessions/{session}/conversation")
    before = used()
    host, _, port = door.host.partition(":")
    with socket.create_connection((host, int(port)), timeout=SECONDS) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(
            f"GET /api/v1/ws HTTP/1.1\r\nHost: {door.host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        assert b"101" in slow.recv(1000)
        for said in (
            {"type": "auth", "secret": door.secret},
            {"id": 1, "action": "subscribe", "payload": {"after": 0}},
            {"id": 2, "action": "task.session.watch", "payload": {"session": session, "from": 0}},
        ):
            slow.sendall(_frame(json.dumps(said).encode()))

        def is_cut() -> bool:
            listed = subprocess.run(["ss", "-Htn", f"sport = :{port}"], capture_output=True, text=True, check=False)
            return "ESTAB" not in listed.stdout if listed.returncode == 0 else False

        if subprocess.run(["which", "ss"], capture_output=True, check=False).returncode == 0:
            until(is_cut, "the end of the slow reader", live.TAKE_SECONDS + 60)
        else:
            time.sleep(live.TAKE_SECONDS + 3)
        assert used() - before < 40_000, "kilobytes"
    assert door.ask("/api/v1/me").status == 200


def test_strangers_take_neither_the_sessions_descriptors_nor_the_place_of_who_has_the_secret(machine: Machine) -> None:
    command = ("prlimit", "--nofile=256:256", *machine.command)
    with opened(replace(machine, command=command)) as door:
        host, _, port = door.host.partition(":")
        mine = http.client.HTTPConnection(host, int(port), timeout=SECONDS)

        def me() -> int:
            mine.request("GET", "/api/v1/me", headers={"Authorization": f"Bearer {door.secret}"})
            answer = mine.getresponse()
            answer.read()
            return answer.status

        assert me() == 200
        with contextlib.ExitStack() as strangers:
            taken = 0
            for _ in range(400):
                strangers.enter_context(socket.create_connection((host, int(port)), timeout=SECONDS))
                taken = max(taken, len(os.listdir(f"/proc/{door.process.pid}/fd")))
            assert taken < 220, "a quarter, a queue of new ones, and the daemon's own"
            assert me() == 200, "an old connection stays"
            assert door.ask("/api/v1/me").status == 200, "and a new one is let in"
            session = machine.begin("say it works")
            machine.until_said(session, "it works")
        mine.close()


def _frame(text: bytes) -> bytes:
    """A masked text frame, masked with zeros."""
    size = bytes([0x80 | len(text)]) if len(text) < 126 else bytes([0x80 | 126]) + len(text).to_bytes(2, "big")
    return b"\x81" + size + b"\0\0\0\0" + text


def test_beyond_this_machine_only_with_tls_or_behind_a_named_proxy(machine: Machine) -> None:
    told = machine.run("serve", "--http", "0.0.0.0:0", "--json")
    assert told.returncode == 2 and "--cert" in told.stdout
    told = machine.run("open", "--pair")
    assert told.returncode == 2 and "--behind" in told.stderr


def test_a_phone_comes_in_through_a_tls_proxy_with_a_pairing_link(machine: Machine, tmp_path: Path) -> None:
    """The recipe of docs/http.md: a proxy that ends TLS, and passes everything on to the door on this machine."""
    cert, key = _certificate(tmp_path)
    with opened(machine, "--behind", "phone.test") as door:
        code = json.loads(machine.ok("open", "--json"))["link"].partition("#code=")[2]
        assert code
        pairing = machine.ok("open", "--pair")
        assert "https://phone.test/#code=" in pairing and any(char in pairing for char in "█▀▄")
        code = pairing.partition("#code=")[2].split()[0]
        with _proxy(door, cert, key) as port:
            body = json.dumps({"code": code})
            head = (
                "POST /api/v1/pair HTTP/1.1\r\nHost: phone.test\r\nOrigin: https://phone.test\r\nConnection: close\r\n"
            )
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
            answer = _over_tls(port, cert, head.encode())
            assert answer.startswith(b"HTTP/1.1 200") and door.secret.encode() in answer
            foreign = "GET /api/v1/me HTTP/1.1\r\nHost: other.test\r\nConnection: close\r\n\r\n"
            assert _over_tls(port, cert, foreign.encode()).startswith(b"HTTP/1.1 403")


def test_a_door_with_a_certificate_speaks_tls_itself(machine: Machine, tmp_path: Path) -> None:
    cert, key = _certificate(tmp_path)
    with opened(machine, "--cert", str(cert), "--key", str(key)) as door:
        assert door.url.startswith("https://127.0.0.1:")
        asked = f"GET /api/v1/me HTTP/1.1\r\nHost: {door.host}\r\nAuthorization: Bearer {door.secret}\r\n"
        answer = _over_tls(int(door.host.partition(":")[2]), cert, f"{asked}Connection: close\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 200")
        assert not raw(door, f"{asked}Connection: close\r\n\r\n".encode()).startswith(b"HTTP/1.1 200")
    told = machine.run("serve", "--http", "127.0.0.1:0", "--cert", str(key), "--key", str(key))
    assert told.returncode == 2 and "certificate" in told.stderr


def _certificate(folder: Path) -> tuple[Path, Path]:
    cert, key = folder / "cert.pem", folder / "key.pem"
    made = subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=phone.test"),
            *("-addext", "subjectAltName=DNS:phone.test", "-keyout", str(key), "-out", str(cert)),
        ],
        capture_output=True,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip("openssl cannot make a certificate here")
    return cert, key


def test_a_new_secret_shuts_out_the_old_one_and_leaves_the_door_where_it_is(machine: Machine) -> None:
    """Its proxy goes on finding it."""
    with opened(machine, "--behind", "phone.test") as door:
        told = json.loads(machine.ok("open", "--new-secret", "--json"))
        assert told["url"] == door.url
        assert door.ask("/api/v1/me").status == 401
        fresh = Path(told["secret_file"]).read_text().strip()
        assert door.ask("/api/v1/me", secret=fresh, Host="phone.test").status == 200


def _over_tls(port: int, cert: Path, sent: bytes) -> bytes:
    context = ssl.create_default_context(cafile=str(cert))
    with (
        socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as plain,
        context.wrap_socket(plain, server_hostname="phone.test") as secure,
    ):
        secure.sendall(sent)
        found = b""
        while more := secure.recv(65536):
            found += more
        return found


class _proxy:
    """Ends TLS and passes bytes on, in both directions, for one connection after the other."""

    def __init__(self, door: Door, cert: Path, key: Path) -> None:
        host, _, port = door.host.partition(":")
        self._there = (host, int(port))
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(cert, key)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> int:
        self._thread.start()
        found: int = self._listening.getsockname()[1]
        return found

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                plain, _ = self._listening.accept()
            except OSError:
                return
            with (
                self._context.wrap_socket(plain, server_side=True) as client,
                socket.create_connection(self._there, timeout=SECONDS) as server,
            ):
                server.sendall(client.recv(65536))
                while more := server.recv(65536):
                    client.sendall(more)


def test_who_has_not_shown_the_secret_says_little(door: Door) -> None:
    """Any user of this machine can connect: what they send before their secret must not fill the daemon's memory."""
    url = door.url.replace("http", "ws") + "api/v1/ws"

    async def heard() -> None:
        async with connect(url) as one:
            with contextlib.suppress(ConnectionClosed):
                await one.send(json.dumps({"type": "auth", "secret": "x" * server.LONGEST_GREETING}))
                await asyncio.wait_for(one.recv(), SECONDS)
            assert one.close_code == 1009
        async with door.live() as two:
            await two.socket.send(json.dumps({"id": 1, "action": "x" * (guard.LONGEST_BODY // 2)}))
            assert (await two.heard())["re"] == 1

    asyncio.run(heard())


def test_what_the_machine_refuses_is_the_requests_fault_not_the_daemons(machine: Machine, door: Door) -> None:
    subprocess.run(["git", "init", "-q", str(machine.work)], check=True)
    session = machine.begin("write a.txt one", "say done")
    machine.until_said(session, "done")
    machine.until_status(session, "waiting")
    told = door.ask(f"/api/v1/sessions/{session}/restore", {"to": "/proc/nowhere/x"})
    assert told.status == 409 and told.json["code"] == "system" and "/proc/nowhere" in told.json["detail"]
    for path, body in (("/sessions", {"prompt": "say x"}), ("/jobs", {"prompt": "say x"})):
        told = door.ask(f"/api/v1{path}", {**body, "agent": "scripted", "cwd": "/tmp/\0x"})
        assert told.status == 400, told


def test_a_door_that_has_to_move_has_new_secrets(machine: Machine) -> None:
    """Who listens where it was hears what open pages send there, and that must not let anybody in at the new place."""
    with opened(machine) as door:
        old, there = door.secret, door.host.partition(":")
        door.process.kill()
        door.process.wait(SECONDS)
    with socket.create_server((there[0], int(there[2]))):
        told = json.loads(machine.ok("open", "--print", "--json"))
        assert told["url"] != door.url
        secret = Path(told["secret_file"]).read_text().strip()
        moved = replace(door, url=told["url"], secret=secret)
        assert moved.ask("/api/v1/me", secret=old).status == 401
        assert moved.ask("/api/v1/me").status == 200
    machine.ok("open", "--close")
