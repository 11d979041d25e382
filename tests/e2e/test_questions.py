"""Questions have an identity, and prompts an id: nothing is approved that was not shown, nothing is said twice."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from typing import Any

import pytest

from tests.e2e.daemon import Machine, until
from tests.e2e.typist import Typist
from tests.soaking import only_in_soak

pytestmark = pytest.mark.timeout(240)


def open_question(machine: Machine) -> dict[str, Any]:
    [asked] = until(machine.questions, "a question")
    return dict(asked)


def another_question(machine: Machine, before: str) -> dict[str, Any]:
    found = until(lambda: [one for one in machine.questions() if one["id"] != before], "the next one")
    return dict(found[0])


def test_a_prompt_that_went_stale_approves_no_other_question(machine: Machine) -> None:
    with Typist(machine, "run", "ask May I list files?\nask May I DROP DATABASE?\nsay after") as person:
        person.until_shown("Your choice")
        first = open_question(machine)
        machine.ok("answer", first["id"], "allow")
        second = another_question(machine, first["id"])
        assert "DROP DATABASE" in second["title"]
        assert second["id"] not in person.screen
        person.type("1")
        person.until_shown("Your choice", 2)
        assert open_question(machine)["id"] == second["id"], "still open"
        assert "was already answered" in person.screen
        assert f"Question {second['id']} (permission): ask: May I DROP DATABASE?" in person.screen, (
            "the current one is shown"
        )
        person.type("3")
        assert person.leave() == 0
    assert "reject_once" in machine.said(second["session"])


def test_what_was_said_is_shown_once_however_often_a_question_is_answered(machine: Machine) -> None:
    with Typist(machine, "run", "say the beginning\nask One?\nask Two?\nsay the end") as person:
        for number in (1, 2):
            person.until_shown("Your choice", number)
            person.type("1")
        assert person.leave() == 0
    assert person.screen.count("\nthe beginning") == 1
    assert person.screen.count("the end") == 2, "in the prompt and once as an answer"


@pytest.mark.parametrize("seconds", [0.05, 0.3, *only_in_soak(0.1, 0.2, 0.4)])
def test_a_line_typed_while_the_daemon_dies_is_delivered_once(machine: Machine, seconds: float) -> None:
    machine.ok("run", "say hello")
    session = machine.json("ps")["sessions"][0]["id"]
    assert machine.status(session) == "asleep"
    daemon = machine.daemon()
    with Typist(machine, "attach", session) as person:
        person.until_shown("hello", 2)
        person.type("say only once")
        time.sleep(seconds)  # how long the daemon lives on: not synchronisation but what is tried
        machine.kill(daemon)
        machine.until_said(session, "\nonly once")
        machine.until_status(session, "waiting", "asleep")
    prompts = machine.show(session)["session"]["prompts"]
    assert [one["text"] for one in prompts].count("say only once") == 1
    assert machine.said(session).count("\nonly once") == 1


def test_an_answer_names_a_question_and_reaches_no_other_one(machine: Machine) -> None:
    session = machine.begin("ask One?", "ask Two?", "say the end")
    first = open_question(machine)
    assert {name: first[name] for name in ("session", "feature", "kind", "title", "recommended", "expires_at")} == {
        "session": session,
        "feature": None,
        "kind": "permission",
        "title": "ask: One?",
        "recommended": "reject_once",
        "expires_at": None,
    }
    assert [one["kind"] for one in first["options"]] == ["allow_once", "allow_always", "reject_once"]
    assert machine.run("answer", first["id"], "nonsense").returncode == 2
    assert machine.run("answer", "q0123456789", "allow").returncode == 2
    told = machine.json("answer", first["id"][:7], "allow_always")
    assert told == {"question": first["id"], "session": session, "option": "allow_always", "told": []}
    second = another_question(machine, first["id"])
    late = machine.run("answer", first["id"], "allow", "--json")
    error = json.loads(late.stdout)["error"]
    assert (late.returncode, error["code"], error["option"]) == (4, "answered_already", "allow_always")
    assert error["by"].startswith("pid ")
    assert error["by"] in error["message"]
    assert open_question(machine)["id"] == second["id"], "no answer has reached the second one"
    machine.kill_daemon()
    assert open_question(machine)["id"] == second["id"], "an id is derived, so that it outlives the daemon"
    assert machine.run("answer", first["id"], "allow").returncode == 4
    machine.ok("cancel", session)
    machine.until_status(session, "waiting")
    gone = machine.run("answer", second["id"], "allow", "--json")
    assert (gone.returncode, json.loads(gone.stdout)["error"]["code"]) == (2, "question_expired")
    assert machine.json("inbox")["questions"] == []


def test_a_session_alone_is_no_answer_where_nobody_can_be_shown_the_question(machine: Machine) -> None:
    session = machine.begin("ask May I?", "say thank you")
    asked = open_question(machine)
    for option in ((), ("allow",)):
        done = machine.run("answer", session, *option, "--json")
        assert done.returncode == 3
        error = json.loads(done.stdout)["error"]
        assert (error["code"], error["question"]) == ("question", asked)
    plain = machine.run("answer", session, "allow")
    assert (plain.returncode, plain.stdout) == (3, "")
    assert asked["id"] in plain.stderr
    assert "May I?" in plain.stderr
    assert open_question(machine)["id"] == asked["id"]


def test_a_session_alone_shows_the_question_on_a_terminal_before_an_option_is_accepted(machine: Machine) -> None:
    session = machine.begin("ask May I?", "say thank you")
    asked = open_question(machine)
    with Typist(machine, "answer", session, "allow") as person:
        person.until_shown("Your choice")
        assert f"Question {asked['id']} (permission): ask: May I?" in person.screen
        assert open_question(machine)["id"] == asked["id"]
        person.type("")
        assert person.leave() == 0
    machine.until_said(session, "\nthank you")


def test_attach_answers_by_options_and_queues_nothing_while_a_question_is_open(machine: Machine) -> None:
    session = machine.begin("ask One?", "ask Two?", "ask Three?", "say the end")
    with Typist(machine, "attach", session) as person:
        first = open_question(machine)
        person.until_shown(f"Question {first['id']}")
        person.until_shown("3. Reject [reject_once]")
        person.type("please do")
        person.until_shown("not sent: the agent waits for an answer")
        assert open_question(machine)["id"] == first["id"]
        person.type("1")
        second = another_question(machine, first["id"])
        person.until_shown(f"Question {second['id']}")
        machine.ok("answer", second["id"], "allow")
        third = another_question(machine, second["id"])
        person.until_shown(f"Question {third['id']}")
        person.type("1")  # may have been meant for the second one, which is over
        person.until_shown("answered elsewhere")
        person.until_shown(f"Question {third['id']}", 2)
        assert open_question(machine)["id"] == third["id"]
        person.type("allow_always")
        person.until_shown("\nthe end")
        machine.until_status(session, "waiting")
        person.type("say a prompt now")
        person.until_shown("\na prompt now")
    prompts = [one["text"] for one in machine.show(session)["session"]["prompts"]]
    assert len(prompts) == 2
    assert prompts[1] == "say a prompt now"
    assert person.screen.count("asks: ask: One?") == 1, "nothing is shown twice"


def test_a_line_for_a_question_that_somebody_else_answered_becomes_no_prompt(machine: Machine) -> None:
    session = machine.begin("ask One?", "say the end")
    with Typist(machine, "attach", session) as person:
        asked = open_question(machine)
        person.until_shown(f"Question {asked['id']}")
        machine.ok("answer", asked["id"], "allow")
        person.until_shown("\nthe end")
        person.type("2")
        person.until_shown(f"question {asked['id']} was already answered: allow_once, by pid")
    assert len(machine.show(session)["session"]["prompts"]) == 1


def test_a_question_cannot_steer_the_terminal(machine: Machine) -> None:
    session = machine.begin("ask \x1b]0;owned\x07\x1b[2J\u202eMay I?", "say x")
    asked = open_question(machine)
    for words in (("inbox",), ("show", session), ("answer", session)):
        done = machine.run(*words)
        assert "\x1b" not in done.stdout + done.stderr
        assert "\u202e" not in done.stdout + done.stderr
    with Typist(machine, "answer", session) as person:
        person.until_shown("Your choice")
        assert b"owned" in person.raw
        assert b"\x1b]0" not in person.raw
        assert b"\x1b[2J" not in person.raw
    assert open_question(machine)["id"] == asked["id"]


def _asked(machine: Machine, *lines: bytes) -> list[Any]:
    with socket.socket(socket.AF_UNIX) as connection, connection.makefile("rb") as answers:
        connection.connect(machine.places.socket)
        connection.settimeout(60)
        found = []
        for line in lines:
            connection.sendall(line + b"\n")
            found.append(json.loads(answers.readline()))
        return found


def test_every_bad_request_is_answered_and_spoils_nothing_for_the_next_one(machine: Machine) -> None:
    env = {"GIT_CONFIG_GLOBAL": "/dev/null", **machine.environment()}
    subprocess.run(["git", "init", "-q", "-b", "feature/shop"], cwd=machine.work, env=env, check=True)
    machine.ok("track", "session.start")
    machine.ok("run", "say x")

    def append(**changed: Any) -> bytes:
        event = {"op": "journal_append", "cwd": str(machine.work), "feature": "shop", "type": "warning.logged"}
        return json.dumps({**event, "data": {"message": "fine"}, **changed}).encode()

    bad = [
        append(cwd=f"{machine.work}\0x"),
        append(cwd=f"{machine.work}/\ud800"),
        append(cwd="/no/such/folder"),
        append(cwd=""),
        append(feature="a\0b"),
        append(feature="\ud800"),
        append(feature="../up"),
        append(type="a\0b"),
        append(sid="\0"),
        append(sid="\ud800"),
        append(agent={"no": "text"}),
        append(data=[1]),
        b'{"op": "journal_append"}',
        b'{"op": "feed", "after": 1000000000000000000000000000000}',
        b'{"op": "show", "session": "\\ud800\\u0000"}',
        b'{"op": "answer", "question": "q\\ud800", "option": "\\u0000", "by": "x"}',
        b'{"op": ["\\ud800"]}',
        b"\xff\xfe",
        b"[" * 100_000,
        b"nonsense",
    ]
    for line, told in zip(bad, _asked(machine, *bad), strict=True):
        assert told["ok"] is False, (line[:200], told)
        assert told["error"]["code"] != "internal", (line[:200], told)
    odd = [append(data={"message": "\ud800\0"}), append(event_id="\ud800"), append(agent="\0"), append()]
    assert [told["ok"] in (True, False) for told in _asked(machine, *odd)] == [True] * len(odd), "each is answered"
    assert _asked(machine, append())[0]["ok"] is True
    follow = b'{"op": "follow_feed", "after": 1000000000000000000000000000000}'
    assert _asked(machine, follow)[0]["ok"] is True
    assert machine.json("ps")["sessions"], "the daemon goes on"


def test_an_option_can_be_named_by_the_number_that_the_inbox_shows(machine: Machine) -> None:
    machine.begin("ask May I list files?")
    asked = open_question(machine)
    assert "  3. Reject [reject_once]" in machine.ok("inbox")
    for wrong in ("0", "4"):
        refused = machine.run("answer", asked["id"], wrong)
        assert (refused.returncode, f"{wrong!r} is not an option" in refused.stderr) == (2, True), refused
    assert machine.ok("answer", asked["id"], "3") == f"{asked['id']}: answered with reject_once.\n"


def test_send_follow_shows_what_came_of_the_prompt_and_not_the_whole_conversation(machine: Machine) -> None:
    session = machine.begin("say the first answer")
    machine.until_status(session, "waiting")
    shown = machine.ok("send", "--follow", session, "say the second answer")
    assert "the second answer" in shown
    assert "the first answer" not in shown
