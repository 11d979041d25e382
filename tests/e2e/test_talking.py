"""Watching an agent and talking to it, on a terminal emulator: what one types has a line of its own."""

from __future__ import annotations

import re

import pytest

from tests.e2e.daemon import Machine, until
from tests.e2e.emulator import CTRL_C, CTRL_D, Emulated
from tests.e2e.test_questions import another_question, open_question

pytestmark = pytest.mark.timeout(240)
CLEAR = "\x15"


def input_row(person: Emulated) -> str:
    """The row that the cursor is in."""
    return person.window[person.cursor[0]].rstrip()


def until_typed(person: Emulated, row: str) -> None:
    until(lambda: input_row(person) == row, f"{row!r} in the row of the cursor of\n{person.screen}\n")


def test_what_is_typed_while_the_agent_speaks_stays_in_its_own_line_and_is_delivered_once(machine: Machine) -> None:
    with Emulated(machine, "run", "stream 40 0.05 tick") as person:
        person.until_shown("tick3 ")
        for key in "say typed":
            person.press(key)
        until_typed(person, "› say typed")
        person.until_shown("tick20 ")
        assert input_row(person) == "› say typed"
        person.type(" meanwhile")
        person.until_shown("1 prompt queued")
        assert person.leave() == 0
        shown = person.screen
    told = " ".join(shown.split())
    assert " ".join(f"tick{number}" for number in range(1, 41)) in told, "no key is mixed into the stream"
    assert shown.count("you say typed meanwhile") == 1
    assert shown.count("typed meanwhile") == 2, "as a prompt and as the answer"
    assert shown.count("you stream 40") == 1
    assert "›" not in shown, "the input line is taken away at the end"


def test_a_question_puts_aside_what_is_half_typed_and_only_its_options_answer_it(machine: Machine) -> None:
    with Emulated(machine, "run", "stream 20 0.05 tick\nask May I list files?\nstream 30 0.05 tock") as person:
        person.until_shown("tick3 ")
        person.press("say 1")
        asked = open_question(machine)
        person.until_shown("3. Reject [reject_once]")
        until_typed(person, f"answer {asked['id']} (1-3) ›")
        person.type("yes please")
        person.until_shown("not sent: the agent waits for an answer")
        assert open_question(machine)["id"] == asked["id"]
        person.type("1")
        person.until_shown(f"answered {asked['id']}: Allow once")
        until_typed(person, "› say 1")
        person.until_shown("tock5 ")
        person.press(CLEAR)
        assert person.leave() == 0
        assert person.screen.count("May I list files?") == 3, "in the prompt, as a tool call, as a question"
    assert len(machine.show(asked["session"])["session"]["prompts"]) == 1


def test_who_was_too_late_approves_neither_that_question_nor_the_next_one(machine: Machine) -> None:
    session = machine.begin("ask One?", "ask May I DROP DATABASE?", "ask Three?", "say the end")
    first = open_question(machine)
    with Emulated(machine, "attach", session) as person:
        until_typed(person, f"answer {first['id']} (1-3) ›")
        person.press("1")
        until_typed(person, f"answer {first['id']} (1-3) › 1")
        machine.ok("answer", first["id"], "allow")
        second = another_question(machine, first["id"])
        until_typed(person, f"answer {second['id']} (1-3) ›")
        person.type("1")
        person.until_shown("answered elsewhere, so your line was not used")
        assert open_question(machine)["id"] == second["id"]
        until_typed(person, f"answer {second['id']} (1-3) ›")
        person.type("3")
        person.until_shown(f"answered {second['id']}: Reject")
        machine.until_status(session, "waiting")
        person.press(CTRL_D)
        assert person.leave() == 0
        assert "Its turn is over." in person.screen
    assert "reject_once" in machine.said(session)


def test_a_question_that_somebody_else_answered_gives_the_line_back(machine: Machine) -> None:
    session = machine.begin("stream 20 0.05 tick", "ask One?", "say the end", "sleep 600")
    with Emulated(machine, "attach", session) as person:
        person.until_shown("tick3 ")
        person.press("say later")
        asked = open_question(machine)
        until_typed(person, f"answer {asked['id']} (1-3) ›")
        machine.ok("answer", asked["id"], "allow")
        until_typed(person, "› say later")
        person.press(CLEAR)
        person.press(CTRL_C)
        assert person.leave() == 0
        assert f"Still running. Reattach: rekindle attach {session}" in person.screen
    assert len(machine.show(session)["session"]["prompts"]) == 1


def test_a_daemon_that_is_killed_while_somebody_is_attached_is_replaced_by_the_next_line(machine: Machine) -> None:
    session = machine.begin("say hello")
    machine.until_status(session, "waiting")
    with Emulated(machine, "attach", session) as person:
        person.until_shown("turn finished")
        machine.kill_daemon()
        person.until_shown("no daemon")
        person.type("say only once")
        until(lambda: "only once" in person.lines, f"the answer on\n{person.screen}\n")
        person.press(CTRL_D)
        assert person.leave() == 0
        assert person.screen.count("you say only once") == 1
    prompts = machine.show(session)["session"]["prompts"]
    assert [one["text"] for one in prompts] == ["say hello", "say only once"]


def test_the_line_stays_whole_when_the_window_changes_its_size(machine: Machine) -> None:
    with Emulated(machine, "run", "stream 200 0.05 tick") as person:
        person.until_shown("tick3 ")
        person.press("something to say")
        until_typed(person, "› something to say")
        for columns, rows in ((44, 12), (120, 40), (60, 20)):
            person.resize(columns, rows)
            until(lambda: re.search(r"working · .*Ctrl-C leaves", person.window[person.cursor[0] + 1]), "the last line")
            until_typed(person, "› something to say")
            assert all(len(line.rstrip()) <= columns for line in person.window)
        person.press(CTRL_C)
        assert person.leave() == 130


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D], ids=["ctrl-c", "ctrl-d"])
def test_who_leaves_is_told_what_goes_on_and_how_to_come_back(machine: Machine, key: str) -> None:
    with Emulated(machine, "run", "say begun\nsleep 600") as person:
        person.until_shown("begun\n")
        person.press(key)
        assert person.leave() == 130
        [row] = machine.json("ps")["sessions"]
        told = [f"Still running. Reattach: rekindle attach {row['id']}", f"Stop it: rekindle stop {row['id']}"]
        assert person.lines[-2:] == told
    assert row["status"] == "working"
    machine.ok(*told[1].partition(": rekindle ")[2].split())
    assert machine.json("ps", "--all")["sessions"][0]["status"] == "cancelled"


def test_a_limit_says_what_it_waits_for_and_until_when(machine: Machine) -> None:
    with Emulated(machine, "run", "say begun\nfail rate_limited 3030") as person:
        until(lambda: "waiting until" in person.window[person.cursor[0] + 1], f"the limit on\n{person.screen}\n")
        note = re.compile(r"note: waiting until (\S+ )?\d\d:\d\d:\d\d \(in (50|49) min")
        until(lambda: note.search(person.screen), f"the note on\n{person.screen}\n")
        person.press(CTRL_D)
        assert person.leave() == 130
        assert "Still running, waiting until" in person.screen


@pytest.mark.parametrize("word", ["run", "attach"])
def test_a_question_of_rekindle_itself_is_shown_and_answered_where_the_session_is_watched(
    machine: Machine, word: str
) -> None:
    script = "say one\nstream 900 0.05 thinking"
    session = machine.begin(script) if word == "attach" else ""
    with Emulated(machine, *(("attach", session) if session else ("run", script))) as person:
        person.until_shown("thinking3 ")
        session = session or machine.json("ps")["sessions"][0]["id"]
        machine.kill(machine.pids(session)["agent"])
        asked = open_question(machine)
        assert (asked["kind"], asked["session"]) == ("dead", session)
        until_typed(person, f"answer {asked['id']} (1-4) ›")
        person.type("1")
        person.until_shown(f"answered {asked['id']}: Start the agent again")
        until(lambda: machine.json("show", session)["attempt"] == 2, "the second attempt")
        person.press(CTRL_C)
        person.leave()
        machine.ok("stop", session)
    assert machine.questions() == []


def test_a_script_is_told_the_question_of_rekindle_itself_and_does_not_hang(machine: Machine) -> None:
    running = machine.start("run", "say one\nstream 900 0.05 thinking")
    until(lambda: machine.sessions() and "thinking3" in machine.said(machine.sessions()[0]["id"]), "the turn")
    machine.kill(machine.pids(machine.sessions()[0]["id"])["agent"])
    output, _ = running.communicate(timeout=60)
    assert running.returncode == 1
    [asked] = machine.questions()
    assert f"or answer: rekindle answer {asked['id']}" in output
