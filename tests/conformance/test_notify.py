"""The promises of every receiver of notifications, real and fake: a message arrives, or the sender is told why."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import http.server
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rekindle.adapters.notify.apprise_service import AppriseReceiver
from rekindle.adapters.notify.command import CommandReceiver
from rekindle.adapters.notify.desktop import DesktopReceiver
from rekindle.adapters.notify.ntfy import NtfyReceiver
from rekindle.adapters.notify.webhook import WebhookReceiver
from rekindle.core.inbox.news import DigestItem, Message
from rekindle.ports.notify import NotDelivered, Receiver
from tests.fakes.receiver import FakeReceiver

SECRET = "do-not-show-this"
MESSAGE = Message(
    id="n1",
    about="digest",
    title="--two “things” to <look> at",
    link="rekindle inbox",
    at=1000.0,
    count=2,
    items=(DigestItem("one\\n", "rekindle answer q1"), DigestItem("ü", "rekindle answer q2")),
)


@dataclass
class Place:
    """Where messages arrive, and how it behaves: `status` is what it answers, `hangs` whether it answers at all."""

    path: Path
    status: int = 200
    hangs: bool = False
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    server: http.server.ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        assert self.server is not None
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def program(self) -> list[str]:
        """A command that notes its arguments and its input, and does as it is told."""
        text = (
            "import json, sys, time\n"
            f"data = sys.stdin.read(); open({str(self.path / 'got')!r}, 'a').write("
            "json.dumps([sys.argv[1:], data]) + '\\n')\n"
            f"time.sleep({60 if self.hangs else 0})\n"
            f"print('the reason'); sys.exit({0 if self.status == 200 else 3})\n"
        )
        script = self.path / "notify-send"
        script.write_text(f"#!{sys.executable}\n{text}")
        script.chmod(0o755)
        return [str(script)]

    def got(self) -> list[Any]:
        file = self.path / "got"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    found = Place(tmp_path)
    free = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.requests.append((self.path, dict(self.headers), body))
            if found.hangs:
                free.wait(30)
            self.send_response(found.status)
            self.send_header("Location", f"{found.url}/elsewhere")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    found.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=found.server.serve_forever, daemon=True)
    thread.start()
    yield found
    free.set()
    found.server.shutdown()
    found.server.server_close()
    thread.join()


def command(place: Place) -> Receiver:
    return CommandReceiver(place.program(), os.environ)


def webhook(place: Place) -> Receiver:
    return WebhookReceiver(f"{place.url}/hook?key={SECRET}", SECRET)


def ntfy(place: Place) -> Receiver:
    return NtfyReceiver(f"{place.url}/topic", SECRET)


def desktop(place: Place) -> Receiver:
    place.program()
    return DesktopReceiver({**os.environ, "PATH": f"{place.path}:{os.environ['PATH']}"})


def fake(place: Place) -> Receiver:
    found = FakeReceiver("fake", *([NotDelivered("the reason")] if place.status != 200 else []))
    if place.hangs:
        found.free.clear()
    return found


REAL: list[Callable[[Place], Receiver]] = [command, webhook, ntfy, desktop]
every = pytest.mark.parametrize("make", [*REAL, fake], ids=lambda one: one.__name__)
over_http = pytest.mark.parametrize("make", [webhook, ntfy], ids=lambda one: one.__name__)


def arrived(place: Place, receiver: Receiver) -> int:
    return len(receiver.taken) if isinstance(receiver, FakeReceiver) else len(place.got()) + len(place.requests)


@every
def test_a_message_that_is_taken_arrives_once(make: Callable[[Place], Receiver], place: Place) -> None:
    receiver = make(place)
    assert receiver.name == make.__name__
    receiver.send(MESSAGE, 20.0)
    assert arrived(place, receiver) == 1


@every
def test_who_does_not_take_it_is_named_with_a_reason_and_no_secret(
    make: Callable[[Place], Receiver], place: Place
) -> None:
    place.status = 500
    with pytest.raises(NotDelivered) as error:
        make(place).send(MESSAGE, 20.0)
    assert error.value.message
    assert SECRET not in error.value.message + error.value.hint


@every
def test_who_is_slow_is_left_in_time_and_may_have_got_it(make: Callable[[Place], Receiver], place: Place) -> None:
    place.hangs = True
    receiver, began = make(place), time.monotonic()
    with pytest.raises(NotDelivered) as error:
        receiver.send(MESSAGE, 1.0)
    assert error.value.unsure
    assert time.monotonic() - began < 10.0


def test_a_command_gets_everything_as_json_on_its_input_and_nothing_as_words(place: Place) -> None:
    command(place).send(MESSAGE, 20.0)
    [[words, data]] = place.got()
    assert words == []
    assert json.loads(data)["title"] == MESSAGE.title
    assert [one["link"] for one in json.loads(data)["items"]] == ["rekindle answer q1", "rekindle answer q2"]


def test_a_command_that_is_not_there_is_named() -> None:
    with pytest.raises(NotDelivered, match="/nowhere/at-all cannot be started: No such file"):
        CommandReceiver(["/nowhere/at-all"], os.environ).send(MESSAGE, 5.0)


def test_the_desktop_gets_words_and_no_markup(place: Place) -> None:
    desktop(place).send(MESSAGE, 20.0)
    [[words, _]] = place.got()
    assert words[:3] == ["--app-name=rekindle", "--", MESSAGE.title]
    assert "<" not in words[3].replace("&lt;", "")


def test_a_machine_without_notify_send_says_so(place: Place) -> None:
    with pytest.raises(NotDelivered, match="notify-send is not installed") as error:
        DesktopReceiver({"PATH": str(place.path)}).send(MESSAGE, 5.0)
    assert error.value.final


def test_a_webhook_is_signed_over_its_time_and_its_body(place: Place) -> None:
    webhook(place).send(MESSAGE, 20.0)
    [(path, headers, body)] = place.requests
    assert path == f"/hook?key={SECRET}"
    signed = headers["X-Rekindle-Timestamp"].encode() + b"." + body
    assert headers["X-Rekindle-Signature"] == "sha256=" + hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
    assert abs(time.time() - int(headers["X-Rekindle-Timestamp"])) < 60
    assert (headers["X-Rekindle-Id"], json.loads(body)["count"]) == ("n1", 2)


def test_ntfy_gets_title_and_command_in_its_topic(place: Place) -> None:
    ntfy(place).send(MESSAGE, 20.0)
    [(path, headers, body)] = place.requests
    told = json.loads(body)
    assert (path, told["topic"], told["title"]) == ("/", "topic", MESSAGE.title)
    assert "rekindle answer q2" in told["message"]
    assert headers["Authorization"] == f"Bearer {SECRET}"


@over_http
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_no_redirect_is_followed(make: Callable[[Place], Receiver], place: Place, status: int) -> None:
    place.status = status
    with pytest.raises(NotDelivered, match=f"status {status}"):
        make(place).send(MESSAGE, 20.0)
    assert len(place.requests) == 1


@over_http
def test_what_the_receiver_refuses_for_good_is_not_tried_again(make: Callable[[Place], Receiver], place: Place) -> None:
    for status, final in ((403, True), (429, False), (503, False)):
        place.status = status
        with pytest.raises(NotDelivered) as error:
            make(place).send(MESSAGE, 20.0)
        assert error.value.final is final


def test_plain_http_to_another_machine_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(NotDelivered, match="neither https nor http to this machine"):
        WebhookReceiver("http://example.invalid/hook", SECRET).send(MESSAGE, 1.0)


def test_nobody_listening_is_certain() -> None:
    with socket.socket() as unused:  # bound and not listening, so that nobody else takes its port
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        _refused(url)


def _refused(url: str) -> None:
    with pytest.raises(NotDelivered, match="cannot be reached") as error:
        WebhookReceiver(url, SECRET).send(MESSAGE, 5.0)
    assert not error.value.unsure


def test_apprise_that_is_not_installed_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    receiver = AppriseReceiver("json://localhost")
    assert receiver.name == "apprise"
    with pytest.raises(NotDelivered, match="not installed") as error:
        receiver.send(MESSAGE, 1.0)
    assert "rekindle[apprise]" in error.value.hint


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # those of Apprise itself
def test_apprise_delivers_and_says_when_it_could_not(place: Place) -> None:
    receiver = AppriseReceiver(place.url.replace("http://", "json://"))
    receiver.send(MESSAGE, 20.0)
    [(_, _, body)] = place.requests
    told = json.loads(body)
    assert told["title"] == MESSAGE.title
    assert "rekindle answer q2" in told["message"]
    place.status = 503
    with pytest.raises(NotDelivered, match="could not deliver"):
        receiver.send(MESSAGE, 20.0)
    with pytest.raises(NotDelivered, match="does not understand") as error:
        AppriseReceiver("nonsense").send(MESSAGE, 1.0)
    assert error.value.final


def test_a_command_that_floods_is_left_in_time_and_costs_no_memory() -> None:
    import tracemalloc

    tracemalloc.start()
    try:
        with pytest.raises(NotDelivered, match="took longer"):
            CommandReceiver([sys.executable, "-c", "while True: print('x' * 65536)"], os.environ).send(MESSAGE, 1.0)
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


def test_a_command_that_leaves_something_in_the_background_has_taken_the_message() -> None:
    CommandReceiver(["/bin/sh", "-c", "sleep 60 & exit 0"], os.environ).send(MESSAGE, 20.0)
    with pytest.raises(NotDelivered, match="ended with 3: the reason"):
        CommandReceiver(["/bin/sh", "-c", "sleep 60 & echo the reason; exit 3"], os.environ).send(MESSAGE, 20.0)


def test_a_command_may_leave_its_input_unread() -> None:
    long = Message(id="n2", about="test", title="x", link="y", at=1.0, text="z" * 1_000_000)
    CommandReceiver(["/bin/true"], os.environ).send(long, 20.0)
    CommandReceiver([sys.executable, "-c", "import sys; sys.exit(len(sys.stdin.read()) < 1000000)"], os.environ).send(
        long, 20.0
    )


@pytest.mark.parametrize("piece", [b"HTTP/1.1 100 Continue\r\n\r\n" * 100, b"H"], ids=["flood", "trickle"])
def test_who_answers_without_end_is_left_in_time(piece: bytes) -> None:
    server, over = socket.create_server(("127.0.0.1", 0)), threading.Event()

    def serve() -> None:
        peer, _ = server.accept()
        with peer, contextlib.suppress(OSError):
            while not over.wait(0.05 if len(piece) == 1 else 0):
                peer.sendall(piece)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    url, began = f"http://127.0.0.1:{server.getsockname()[1]}/hook", time.monotonic()
    try:
        with pytest.raises(NotDelivered, match="took longer") as error:
            WebhookReceiver(url, SECRET).send(MESSAGE, 1.0)
        assert error.value.unsure
        assert time.monotonic() - began < 10.0
    finally:
        over.set()
        server.close()
        thread.join()


def test_a_token_that_cannot_be_sent_is_not_shown(place: Place) -> None:
    with pytest.raises(NotDelivered, match="characters that cannot be sent") as error:
        NtfyReceiver(f"{place.url}/topic", f"{SECRET}\nX-More: 1").send(MESSAGE, 20.0)
    assert SECRET not in error.value.message + error.value.hint
    assert error.value.final
    assert place.requests == []
