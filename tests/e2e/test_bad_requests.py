"""Whatever somebody writes to the daemon's socket, he is told what is wrong with it, and nobody else is harmed."""

from __future__ import annotations

import itertools
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.daemon import Machine

pytestmark = pytest.mark.timeout(240)


def tell(machine: Machine, line: str) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(machine.places.socket)
        connection.sendall(line.encode() + b"\n")
        with connection.makefile("rb") as file:
            return dict(json.loads(file.readline()))


@pytest.mark.parametrize("seconds", ["NaN", "Infinity", "9" * 5000])
def test_what_is_no_number_is_refused_before_a_timer_is_set_to_it(machine: Machine, seconds: str) -> None:
    session = machine.begin("sleep 600")
    answer = tell(machine, f'{{"op": "wait", "session": "{session}", "seconds": {seconds}}}')
    assert answer["error"]["code"] == "usage", answer
    assert "bad request" in answer["error"]["message"]


def test_a_session_that_cannot_be_started_keeps_no_daemon_from_starting(machine: Machine) -> None:
    good = machine.begin("say I am here")
    machine.until_said(good, "I am here")
    request = {
        "op": "run",
        "session": "0123456789",
        "prompt_id": "p",
        "agent": "scripted",
        "prompt": "hello",
        "cwd": str(machine.work),
        "env": {},
        "arguments": ["\ud800"],
    }
    answer = tell(machine, json.dumps(request))
    assert answer["ok"], answer
    assert "surrogates" in machine.ok("ps")
    machine.kill_daemon()
    machine.ok("send", good, "say And I still am")
    machine.until_said(good, "And I still am")


@pytest.mark.parametrize("path", ["/tmp/a\0b", "/tmp/\ud800"])
def test_what_can_be_no_path_is_refused_and_not_called_a_fault_of_the_daemon(machine: Machine, path: str) -> None:
    machine.begin("say I am here")
    for op, more in (
        ("feature_state", {"cwd": path, "feature": "a"}),
        ("feature_stop", {"cwd": path, "feature": "a"}),
        ("feature_resume", {"cwd": path, "feature": "a", "env": {}}),
        ("repository_seen", {"cwd": path}),
        ("adopt", {"session": "0123456789", "staged": path, "env": {}}),
        ("feature_begin", {"cwd": str(machine.work), "plan": "\ud800", "name": "a", "env": {}}),
    ):
        answer = tell(machine, json.dumps({"op": op, **more}))
        assert answer["error"]["code"] == "usage", (op, answer)
    assert "Traceback" not in Path(machine.places.daemon_log).read_text()


def test_nobody_who_asks_over_the_socket_is_taken_for_rekindle_itself(machine: Machine) -> None:
    session = machine.begin("fail rate_limited 3600")
    own = ["rekindle", "a prompt", "the settings", "feature shop", "unknown", "", "  Rekindle "]
    asked: list[tuple[str, dict[str, str]]] = [
        ("resume", {"session": session}),
        ("resume_all", {}),
        ("agent_resume", {"agent_id": session}),
        ("hold", {"session": session}),
        ("hurry", {"session": session}),
        ("stop", {"session": session, "to": "asleep"}),
        ("answer", {"question": "q", "option": "x"}),
        ("restarts_go_on", {}),
        ("job_retry", {"job": "j"}),
        ("job_cancel", {"job": "j"}),
    ]
    for by, (op, more) in itertools.product(own, asked):
        answer = tell(machine, json.dumps({"op": op, "by": by, **more}))
        assert answer["error"]["code"] == "usage", (op, answer)
        assert "signs" in answer["error"]["message"] or "nobody says" in answer["error"]["message"], (op, answer)
