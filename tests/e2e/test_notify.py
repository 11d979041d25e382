"""Notifications with the real daemon and real receivers: told once, through kills, and only as the user's file says."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.daemon import Machine, until

pytestmark = pytest.mark.timeout(240)


class Bell:
    """A command that notes what it gets, after waiting while a file is there."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.got, self.hold = machine.home / "got", machine.home / "hold"
        script = machine.home / "bell.py"
        script.write_text(
            "import os, sys, time\n"
            "data = sys.stdin.read()\n"
            f"open({str(machine.home / 'rang')!r}, 'a').write('x')\n"
            f"open({str(machine.home / 'bell.pid')!r}, 'w').write(str(os.getpid()))\n"
            f"while os.path.exists({str(self.hold)!r}): time.sleep(0.02)\n"
            f"open({str(self.got)!r}, 'a').write(data)\n"
        )
        self.words = f"{sys.executable} {script}"

    def install(self, dwell: str = "1s", **more: str) -> None:
        for key, value in {"notify_command": self.words, "notify_dwell": dwell, **more}.items():
            self.machine.ok("config", "set", key, value)

    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.got.read_text().splitlines()] if self.got.exists() else []

    def has_rung(self) -> int:
        file = self.machine.home / "rang"
        return len(file.read_text()) if file.exists() else 0


@pytest.fixture
def bell(machine: Machine) -> Bell:
    return Bell(machine)


def test_a_question_is_told_once_with_the_command_that_answers_it_and_not_again_by_the_next_daemon(
    machine: Machine, bell: Bell
) -> None:
    bell.install()
    session = machine.begin("ask May I use sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789?", "say done")
    [told] = until(bell.messages, "the message")
    [asked] = machine.questions()
    assert (told["about"], told["link"], told["text"]) == ("question", f"rekindle answer {asked['id']}", "")
    assert "sk-ant-api03-AbCdEf" not in json.dumps(told)
    machine.kill_daemon()
    machine.ok("answer", asked["id"], "allow")
    machine.until_said(session, "done")
    second = machine.begin("ask Another?")
    until(lambda: len(bell.messages()) == 2, "the second message")
    assert second in {one["session"] for one in machine.questions()}
    assert bell.has_rung() == 2
    assert not any(one["may_be_repeated"] for one in bell.messages())


def test_what_resolves_itself_before_the_dwell_time_is_over_is_not_told(machine: Machine, bell: Bell) -> None:
    bell.install(dwell="3s")
    first = machine.begin("ask One?", "say done")
    [asked] = until(machine.questions, "the question")
    machine.ok("answer", asked["id"], "allow")
    machine.until_said(first, "done")
    machine.begin("ask Two?")
    until(bell.messages, "the other message")
    assert ["Two?" in one["title"] for one in bell.messages()] == [True]


def test_a_daemon_that_is_killed_while_a_message_is_sent_sends_it_again_and_says_so(
    machine: Machine, bell: Bell
) -> None:
    bell.hold.write_text("")
    bell.install()
    machine.begin("ask May I?")
    until(lambda: bell.has_rung() == 1, "the command")
    machine.kill_daemon()
    assert machine.questions()  # starts the next daemon
    until(lambda: bell.has_rung() == 2, "the command again")
    bell.hold.unlink()
    until(lambda: len(bell.messages()) == 2, "both")
    assert sorted(one["may_be_repeated"] for one in bell.messages()) == [False, True]
    assert len({one["id"] for one in bell.messages()}) == 1, "a receiver can recognise it"
    until(lambda: "1 may have come twice" in machine.run("doctor").stdout, "the note of the doctor")


def test_a_receiver_that_is_killed_may_have_told_it_so_the_next_try_says_that_it_may_be_a_repetition(
    machine: Machine, bell: Bell
) -> None:
    bell.hold.write_text("")
    bell.install()
    machine.begin("ask May I?")
    pid = machine.home / "bell.pid"
    os.kill(int(until(lambda: pid.exists() and pid.read_text(), "the command")), signal.SIGKILL)
    bell.hold.unlink()
    [told] = until(bell.messages, "the command again")
    assert told["may_be_repeated"] is True
    assert bell.has_rung() == 2


def test_a_receiver_that_hangs_holds_up_no_session_and_a_failing_one_is_named_by_the_doctor(
    machine: Machine, bell: Bell
) -> None:
    bell.hold.write_text("")
    bell.install(notify_webhook="http://127.0.0.1:9/hook")
    told = machine.run("config", "set", "notify_webhook_secret", "-", stdin="s3cr3t\n")
    assert (told.returncode, "s3cr3t" in told.stdout) == (0, False)
    machine.begin("ask May I?")
    until(lambda: bell.has_rung() == 1, "the command")
    began = time.monotonic()
    assert "quick" in machine.ok("run", "say quick")
    assert time.monotonic() - began < 30
    bell.hold.unlink()
    found = until(
        lambda: [line for line in machine.run("doctor").stdout.splitlines() if "webhook does not take" in line],
        "doctor",
    )
    assert "127.0.0.1 cannot be reached" in found[0]


def test_a_dead_agent_a_failed_session_and_the_text_are_told_as_the_settings_say(machine: Machine, bell: Bell) -> None:
    bell.install(notify_about="failed, question", notify_text="on")
    session = machine.begin("say one", "stream 900 0.05 thinking")
    machine.until_said(session, "thinking3")
    os.kill(machine.pids(session)["agent"], signal.SIGKILL)
    [told] = until(bell.messages, "the question about the dead agent")
    assert "SIGKILL" in told["title"]
    assert "resume: Start the agent again" in told["text"]
    [asked] = machine.questions()
    machine.ok("answer", asked["id"], "fail")
    until(lambda: len(bell.messages()) == 2, "the failure")
    assert bell.messages()[1]["about"] == "failed"
    assert bell.messages()[1]["link"].startswith("rekindle resume ")


def test_a_test_message_goes_to_every_receiver_and_says_who_did_not_take_it(machine: Machine, bell: Bell) -> None:
    none = machine.run("notify", "test", "--json")
    assert (none.returncode, "notify_desktop on" in json.loads(none.stdout)["error"]["hint"]) == (2, True)
    bell.install(notify_ntfy="http://127.0.0.1:9/topic")
    done = machine.run("notify", "test", "--json")
    found = {one["receiver"]: one["taken"] for one in json.loads(done.stdout)["receivers"]}
    assert (done.returncode, found) == (1, {"command": True, "ntfy": False})
    assert [one["about"] for one in bell.messages()] == ["test"]
    machine.ok("config", "unset", "notify_ntfy")
    assert machine.ok("notify", "test") == "command: sent\n"


def test_a_repository_cannot_have_anybody_told_and_secrets_are_not_shown(machine: Machine) -> None:
    (machine.work / ".rekindle.toml").write_text('notify_command = "touch owned"\n')
    secret = "tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2"
    machine.ok("config", "set", "notify_ntfy", "https://ntfy.sh/my-secret-topic")
    machine.ok("config", "set", "notify_ntfy_token", secret)
    file = Path(machine.ok("config", "path").strip())
    assert file.stat().st_mode & 0o777 == 0o600
    for words in (("config", "list"), ("config", "list", "--json"), ("config", "get", "notify_ntfy_token")):
        shown = machine.ok(*words)
        assert secret not in shown
        assert "my-secret-topic" not in shown
    for key, value in (
        ("notify_webhook", "http://example.com/hook"),
        ("notify_webhook", "https://user:pass@example.com/"),
        ("notify_ntfy", "https://ntfy.sh/a/b"),
        ("notify_quiet", "25:00-07:00"),
        ("notify_about", "everything"),
        ("notify_command", "'open"),
        ("notify_hourly", "0"),
    ):
        refused = machine.run("config", "set", key, value)
        assert (refused.returncode, key in refused.stderr) == (2, True), refused.stderr
    file.chmod(0o644)
    assert "others can read the secrets" in machine.run("doctor").stdout
