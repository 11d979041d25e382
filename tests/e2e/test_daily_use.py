"""What somebody relies on who uses rekindle every day, and which test shows each promise."""

from __future__ import annotations

import ast
import time
from dataclasses import replace
from pathlib import Path

import pytest

from rekindle.adapters.daemon_socket.client import is_served
from tests.e2e.daemon import Machine
from tests.e2e.emulator import CTRL_C, Emulated
from tests.e2e.features import FEATURE, Shop, task
from tests.journals import SIDS, line

pytestmark = pytest.mark.timeout(240)
HERE = Path(__file__).parent

#: Each promise, and the tests that show it, as file and beginning of a name.
PROMISES = {
    "nothing is approved that was not on the screen": [
        "test_questions: test_a_prompt_that_went_stale_approves_no_other_question",
        "test_talking: test_who_was_too_late_approves_neither_that_question_nor_the_next_one",
        "../unit/test_typed: test_a_question_takes_no_answer_in_the_moment_in_which_it_appears",
    ],
    "a feature that failed is never called fine": [
        "test_screens: test_a_failed_feature_is_named_with_its_reason",
        "test_commands: test_features_never_calls_a_run_that_failed_fine",
    ],
    "what needs a person is named first, with the reason and the next command": [
        "test_terminal_screens: test_a_screen_is_as_it_was_agreed",
        "test_screens: test_ps_can_be_asked_for_what_is_here",
        "../golden/test_screens: test_what_needs_a_person_comes_first",
    ],
    "questions are answered where the agent is watched, and what one types is kept apart": [
        "test_questions: test_attach_answers_by_options_and_queues_nothing_while_a_question_is_open",
        "test_talking: test_a_question_puts_aside_what_is_half_typed",
        "test_talking: test_what_is_typed_while_the_agent_speaks",
    ],
    "an agent that is not installed is named at once, with the remedy, and its session stays": [
        "test_starts: test_a_run_whose_agent_is_not_there_says_so_and_its_prompt_is_kept",
        "test_starts: test_an_error_on_a_terminal_breaks_between_words",
    ],
    "nothing is shown twice": [
        "test_questions: test_what_was_said_is_shown_once_however_often_a_question_is_answered",
        "test_questions: test_send_follow_shows_what_came_of_the_prompt",
    ],
    "the practice agent says what it is, and defaults can be set": [
        "test_first_run: test_without_a_terminal_nothing_is_asked_and_the_practice_agent_says_what_it_is",
        "test_first_run: test_in_a_terminal_the_installed_agents_are_offered",
        "test_config: test_settings_are_defaults_of_run",
    ],
    "a finished plan is not paid for again unasked, and a task that rightly changes nothing is done": [
        "test_plans: test_a_finished_plan_is_not_run_again_unasked",
        "test_plans: test_tasks_that_were_done_before_are_not_paid_for_again_unasked",
        "test_plans: test_a_task_that_rightly_changes_nothing_is_done",
    ],
    "nothing is cut without a mark and a way to see the rest": [
        "test_daily_use: test_a_long_entry_is_cut_with_a_mark_and_logs_has_all_of_it",
        "../unit/test_session_page: test_",
    ],
    "Ctrl-C says what goes on": [
        "test_daily_use: test_ctrl_c_while_a_plan_is_being_started_says_what_goes_on",
        "test_daily_use: test_ctrl_c_twice_leaves_the_agent_working_says_so",
        "test_talking: test_who_leaves_is_told_what_goes_on_and_how_to_come_back",
    ],
    "explaining starts nothing, and what comes back by itself says so": [
        "test_starts: test_without_a_daemon_it_is_said_that_one_goes_on_when_there_is_one_and_explaining",
        "test_starts: test_explaining_asks_a_daemon_that_runs_and_changes_nothing",
        "test_starts: test_a_resume_of_one_that_has_come_back_by_itself_says_so_and_is_no_failure",
    ],
    "the README works to its end": ["test_readme: test_the_readme_does_what_it_says_block_by_block"],
    "what a screen says was done is what was done": [
        "test_features: test_a_failed_task_can_be_skipped_and_who_needs_it_is_named",
        "test_daily_use: test_a_run_that_was_not_cut_has_no_agents_at_work",
    ],
    "commits have the name and the environment of whoever runs the plan": [
        "test_plans: test_agents_checks_and_commits_have_the_name_and_the_environment_of_whoever_runs_the_plan",
    ],
    "a plan whose agent is missing is refused before anything begins": [
        "test_plans: test_a_plan_that_cannot_be_worked_is_refused_before_anything_is_written",
    ],
    "colours, empty lists and idle commands are as one expects": [
        "test_screens: test_nobody_who_wants_no_colours_gets_any",
        "test_commands: test_outside_of_a_repository_it_says_so",
        "test_daily_use: test_outside_of_a_repository_finished_sessions_are_no_reason_to_be_silent",
        "test_daily_use: test_ctrl_c_on_the_board_shows_its_headline_once",
        "test_daily_use: test_finished_sessions_are_not_called_no_sessions",
        "test_daily_use: test_stopping_everything_starts_no_daemon",
    ],
}


@pytest.mark.parametrize("promise", PROMISES)
def test_every_promise_has_a_test(promise: str) -> None:
    for named in PROMISES[promise]:
        file, _, name = named.partition(": ")
        tree = ast.parse((HERE / f"{file}.py").read_text())
        found = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        assert any(one.startswith(name) for one in found), named


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_a_long_entry_is_cut_with_a_mark_and_logs_has_all_of_it(machine: Machine, term: str) -> None:
    prompt = "\n".join(["say done", *(f"line {number} of a long prompt" for number in range(1, 61))])
    with Emulated(machine, "run", "--agent", "scripted", prompt, rows=100, env={"TERM": term}) as person:
        assert person.leave() == 0
        [row] = machine.json("ps", "--all")["sessions"]
        assert f"… 42 more lines: rekindle logs {row['id']}" in person.screen
        assert "line 60 of a long prompt" not in person.screen
    assert "line 60 of a long prompt" in machine.ok("logs", row["id"])


@pytest.mark.parametrize("seconds", [0.5, 1.0, 2.0])
def test_ctrl_c_while_a_plan_is_being_started_says_what_goes_on(shop: Shop, seconds: float) -> None:
    plan = shop.plan(task("a", "say begun", "sleep 600"))
    with Emulated(shop.machine, "run", "--plan", plan) as person:
        time.sleep(seconds)  # when somebody changes their mind: not synchronisation but what is tried
        person.press(CTRL_C)
        assert person.leave() in (130, -2), "where Python has only just been started it is ended by the signal"
        told = " ".join(person.screen.split())
    if shop.events("session.start"):
        assert "Still running. Reattach: rekindle attach " in told, told
    assert "Traceback" not in told


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_ctrl_c_twice_leaves_the_agent_working_says_so_and_takes_no_line_that_is_typed_next(
    machine: Machine, term: str
) -> None:
    words = ("run", "--agent", "scripted", "say begun\nsleep 600")
    with Emulated(machine, *words, env={"TERM": term}) as person:
        person.until_shown("begun\n" if term != "dumb" else "begun")
        person.press(CTRL_C + CTRL_C + "ls\r")
        assert person.leave() == 130
        [row] = machine.json("ps")["sessions"]
        assert f"Still running. Reattach: rekindle attach {row['id']}" in person.lines
        assert f"Stop it: rekindle stop {row['id']}" in person.lines
    assert row["status"] == "working"


def test_a_run_that_was_not_cut_has_no_agents_at_work(shop: Shop) -> None:
    assert shop.machine.run("run", "--plan", shop.plan(task("a"), task("b", checks=["false"]))).returncode == 1
    told = shop.machine.ok("analyze", FEATURE)
    assert "failed" in told.lower()
    assert "at work when it was interrupted" not in told
    begun = [line("session.start", SIDS[0], 0, command="implement"), line("agent.spawned", SIDS[0], 1, name="eng")]
    shop.put_journal(*begun, line("session.end", SIDS[0], 2, reason="error"))
    assert "Agents at work when it ended:\n  - eng" in shop.machine.ok("analyze", FEATURE)
    shop.put_journal(*begun)
    assert "Agents at work when it was interrupted:\n  - eng" in shop.machine.ok("analyze", FEATURE)


def test_ctrl_c_on_the_board_shows_its_headline_once(shop: Shop) -> None:
    plan = shop.plan(task("a", "say begun", "sleep 600"))
    with Emulated(shop.machine, "run", "--plan", plan) as person:
        person.until_shown("working")
        person.press(CTRL_C)
        assert person.leave() == 130
        assert person.screen.count("0 of 1 task merged") == 1, person.screen
        assert f"Still running. Reattach: rekindle attach {FEATURE}" in person.screen


def test_finished_sessions_are_not_called_no_sessions(machine: Machine) -> None:
    session = machine.begin("say hello")
    machine.until_status(session, "waiting")
    machine.ok("stop", "--completed", session)
    assert "No open sessions (rekindle ps --all lists the finished ones)." in machine.ok("ps")
    assert session in machine.ok("ps", "--all")


def test_outside_of_a_repository_finished_sessions_are_no_reason_to_be_silent(machine: Machine) -> None:
    session = machine.begin("say hello")
    machine.until_status(session, "waiting")
    machine.ok("stop", "--completed", session)
    told = replace(machine, work=machine.home).ok()
    assert "No open sessions (rekindle ps --all lists the finished ones)." in told
    assert "is not in a git repository" in told


def test_stopping_everything_starts_no_daemon(machine: Machine) -> None:
    assert machine.ok("stop", "--all") == "Stopped: nothing was running.\n"
    assert not is_served(machine.places)
    session = machine.begin("say begun", "sleep 600")
    machine.until_said(session, "sleep: 600")
    machine.kill_daemon()
    assert session in machine.ok("stop", "--all"), "a live agent is found without one"
