"""Jobs with the real commands, a real daemon and the scripted agent: each ends once, whatever is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from rekindle.adapters.boot.due_check import is_due
from tests.e2e.daemon import Machine, until

pytestmark = pytest.mark.timeout(240)
PIPELINE = """\
[agent.worker]
run = "scripted"

[[step]]
name = "ship"
agent = "worker"
prompt = "put shipped.txt yes"
needs = ["build"]

[[step]]
name = "build"
agent = "worker"
prompt = "put built.txt yes\\nstream 60 0.05 thinking"
"""


def submit(machine: Machine, *words: str) -> str:
    told = machine.json("job", "submit", "--agent", "scripted", *words)
    return str(told["job"]["id"])


def shown(machine: Machine, job: str) -> dict[str, Any]:
    found: dict[str, Any] = machine.json("job", "show", job)["job"]
    return found


def until_status(machine: Machine, job: str, *wanted: str) -> dict[str, Any]:
    found: dict[str, Any] = until(
        lambda: (told := shown(machine, job))["status"] in wanted and told, f"{job} {wanted}", 120.0
    )
    return found


def session_in_turn(machine: Machine, job: str) -> str:
    """The session of a job whose agent has begun its turn."""
    name = str(until(lambda: shown(machine, job)["session"], "a session"))
    until(
        lambda: [one for one in machine.json("show", name)["session"]["prompts"] if one["state"] == "began"], "a turn"
    )
    return name


def pid_of(machine: Machine, session: str) -> int:
    return int(machine.json("show", session)["session"]["attempts"][-1]["pid"])


def prompts_of(machine: Machine, session: str) -> list[str]:
    """Everything that its agents were told, in order."""
    return [str(one["text"]) for one in machine.json("show", session)["session"]["prompts"]]


def test_a_job_is_submitted_worked_and_done_and_its_record_has_every_field(machine: Machine) -> None:
    before = time.time()
    job = submit(machine, "--title", "greet", "--retries", "2", "--timeout", "10m", "say hello")
    waited = machine.run("wait", job, "--json")
    told = json.loads(waited.stdout)["job"]
    assert (waited.returncode, told["status"], told["title"]) == (0, "done", "greet")
    assert (told["prompt"], told["agent"], told["timeout"]) == ("say hello", "scripted", 600.0)
    assert (told["retries_left"], told["resume_count"], told["next_at"]) == (2, 0, None)
    assert told["claude_session_id"]
    assert before * 1000 <= told["claude_session_saved_at"] <= time.time() * 1000
    assert [one["status"] for one in told["steps"]] == ["done"]
    assert machine.json("show", told["session"])["session"]["state"] == "COMPLETED"
    assert "hello" in machine.ok("job", "logs", job)
    assert [one["id"] for one in machine.json("job", "list", "--all")["jobs"]] == [job]
    assert machine.json("job", "list")["jobs"] == []
    again = machine.run("job", "retry", job, "--json")
    assert (again.returncode, "is done" in json.loads(again.stdout)["error"]["message"]) == (2, True)


def test_a_prompt_comes_from_a_file_or_from_standard_input_too(machine: Machine) -> None:
    (machine.work / "prompt.txt").write_text("say from a file")
    job = submit(machine, "--file", "prompt.txt")
    until_status(machine, job, "done")
    assert shown(machine, job)["prompt"] == "say from a file"
    done = machine.run("job", "submit", "--agent", "scripted", "--json", "-", stdin="say from a pipe")
    assert json.loads(done.stdout)["job"]["prompt"] == "say from a pipe"
    assert machine.run("job", "submit", "--agent", "scripted").returncode == 2


def test_a_job_that_timed_out_queues_its_own_retry_and_goes_on_in_the_same_conversation(machine: Machine) -> None:
    job = submit(machine, "--timeout", "2s", "say one\nonce slept sleep 60")
    told = until_status(machine, job, "done", "failed")
    assert (told["status"], told["resume_count"], told["retries_left"]) == ("done", 1, 2)
    assert told["receipt"]["kind"] == "same"


def test_an_expired_token_is_not_used_and_the_fresh_start_is_made_once_and_said(machine: Machine) -> None:
    job = submit(machine, "--max-age", "1s", "say one\nstream 600 0.05 thinking")
    session = session_in_turn(machine, job)
    opened = machine.json("show", session)["session"]["attempts"][0]["opened_at"]
    until(lambda: time.time() > opened + 1.2, "a token that is too old")
    os.kill(pid_of(machine, session), signal.SIGKILL)
    until(lambda: len(machine.json("show", session)["session"]["attempts"]) == 2, "a second attempt")
    until(lambda: shown(machine, job)["receipt"], "a receipt")
    told = shown(machine, job)
    assert (told["receipt"]["kind"], told["resume_count"]) == ("fresh", 0)
    assert "may be resumed for 1 s" in told["receipt"]["reason"]
    assert prompts_of(machine, session) == ["say one\nstream 600 0.05 thinking"] * 2, "the original prompt, as it was"
    opened = machine.json("show", session)["session"]["attempts"][-1]["opened_at"]
    until(lambda: time.time() > opened + 1.2, "a token that is too old")
    os.kill(pid_of(machine, session), signal.SIGKILL)
    told = until_status(machine, job, "failed")
    assert "it was started fresh once already" in told["why"]
    assert len(machine.json("show", session)["session"]["attempts"]) == 2, "never a loop"


def test_a_conversation_is_not_resumed_more_often_than_it_may(machine: Machine) -> None:
    job = submit(machine, "--max-resumes", "0", "say one\nstream 100 0.05 thinking")
    session = session_in_turn(machine, job)
    os.kill(pid_of(machine, session), signal.SIGKILL)
    told = until_status(machine, job, "done", "failed")
    assert (told["status"], told["resume_count"], told["receipt"]["kind"]) == ("done", 0, "fresh")
    assert "may be resumed 0 times" in told["receipt"]["reason"]


def test_a_job_whose_agent_always_dies_fails_when_its_retries_are_used_up(machine: Machine) -> None:
    job = submit(machine, "--retries", "1", "--fresh", "say one\ndie SIGKILL")
    told = until_status(machine, job, "failed")
    assert (told["retries_left"], told["needs_you"]) == (0, True)
    assert told["next"] == f"rekindle job retry {job}"
    assert len(prompts_of(machine, told["session"])) == 2
    waited = machine.run("wait", job)
    assert (waited.returncode, "tried again once" in waited.stderr) == (1, True)


@pytest.mark.parametrize("how", ["--resume", "--fresh"])
def test_a_person_retries_a_failed_job_in_the_way_they_name(machine: Machine, how: str) -> None:
    job = submit(machine, "--retries", "0", "say one\nstream 80 0.05 thinking")
    session = session_in_turn(machine, job)
    os.kill(pid_of(machine, session), signal.SIGKILL)
    until_status(machine, job, "failed")
    machine.ok("job", "retry", job, how)
    told = until_status(machine, job, "done", "failed")
    assert (told["status"], told["resume_count"]) == ("done", 1 if how == "--resume" else 0)
    assert told["receipt"]["kind"] == ("same" if how == "--resume" else "fresh")


def in_line(machine: Machine) -> tuple[str, str, str]:
    """A job whose retry waits because another session has the only place. Returns job, session, the other session."""
    machine.ok("config", "set", "max_agents", "1")
    job = submit(machine, "say one\nstream 240 0.05 thinking\nsay two")
    session = session_in_turn(machine, job)
    urgent = machine.begin("sleep 600", options=("--priority", "high"))
    machine.kill(pid_of(machine, session))
    machine.until_said(urgent, "sleep: 600")
    until(lambda: machine.show(session)["session"]["resume_asked"], "a retry that is on its way")
    return job, session, urgent


def test_a_fresh_start_that_is_asked_for_while_a_retry_is_in_line_is_one(machine: Machine) -> None:
    job, session, urgent = in_line(machine)
    machine.ok("job", "retry", job, "--fresh")
    machine.ok("stop", urgent)
    told = until_status(machine, job, "done", "failed")
    assert (told["status"], told["receipt"]["kind"], told["resume_count"]) == ("done", "fresh", 0)
    _, *others = [one["text"] for one in machine.show(session)["session"]["prompts"]]
    assert len(others) == 1, "the original prompt, and nothing to go on with"
    used = {one["token"] for one in machine.show(session)["session"]["attempts"] if one["opened"]}
    assert len(used) == 2


def test_a_job_that_is_cancelled_while_its_retry_is_in_line_starts_nothing_any_more(machine: Machine) -> None:
    job, session, urgent = in_line(machine)
    told = machine.json("job", "cancel", job)["job"]
    machine.ok("stop", urgent)
    assert told["status"] == "cancelled" and shown(machine, job)["status"] == "cancelled"
    assert len(machine.show(session)["session"]["attempts"]) == 1


def test_a_pipeline_runs_its_steps_in_order_and_is_followed_to_its_end(machine: Machine) -> None:
    (machine.work / "pipe.toml").write_text(PIPELINE)
    done = machine.run("run", "--runbook", "pipe.toml")
    assert done.returncode == 0, done.stderr
    assert done.stderr.index("Step build") < done.stderr.index("Step ship")
    assert (machine.work / "shipped.txt").read_text().strip() == "yes"
    [told] = machine.json("job", "list", "--all")["jobs"]
    assert [(one["name"], one["status"]) for one in told["steps"]] == [("build", "done"), ("ship", "done")]
    assert len({one["session"] for one in told["steps"]}) == 2


def test_a_daemon_and_an_agent_that_are_killed_change_no_outcome_and_later_steps_follow(machine: Machine) -> None:
    (machine.work / "pipe.toml").write_text(PIPELINE)
    job = machine.ok("run", "--runbook", "pipe.toml", "--detach").strip()
    session = session_in_turn(machine, job)
    pid = pid_of(machine, session)
    machine.kill_daemon()
    os.kill(pid, signal.SIGKILL)
    told = until_status(machine, job, "done", "failed")
    assert (told["status"], told["steps"][0]["resume_count"]) == ("done", 1)
    assert (machine.work / "shipped.txt").exists()
    assert len(machine.sessions()) == 2


def test_a_retry_that_waits_for_its_time_survives_the_daemon(machine: Machine) -> None:
    job = submit(machine, "--fresh", "--retries", "2", "say one\ndie SIGKILL")
    waits = until(
        lambda: (one := shown(machine, job))["retries_left"] == 0 and one["retry"] and one, "the second retry", 60.0
    )
    machine.kill_daemon()
    told = until_status(machine, job, "done", "failed")
    assert (told["status"], told["session"]) == ("failed", waits["session"])
    attempts = machine.json("show", told["session"])["session"]["attempts"]
    assert len(attempts) == 3, "the retry that waited was made once"
    assert attempts[-1]["opened_at"] >= waits["next_at"], "and not before its time"


def test_a_failed_step_fails_the_job_and_names_what_was_not_run(machine: Machine) -> None:
    (machine.work / "pipe.toml").write_text(PIPELINE.replace("put built.txt yes", "fail unauthorized"))
    done = machine.run("run", "--runbook", "pipe.toml")
    assert done.returncode == 1
    assert "not run: ship" in done.stderr
    assert not (machine.work / "shipped.txt").exists()


def test_a_cancelled_job_ends_its_agent_and_can_be_retried(machine: Machine) -> None:
    job = submit(machine, "say one\nstream 400 0.05 thinking")
    session = session_in_turn(machine, job)
    machine.ok("job", "cancel", job)
    told = shown(machine, job)
    assert (told["status"], machine.status(session)) == ("cancelled", "cancelled")
    assert machine.run("job", "cancel", job).returncode == 2


def test_a_job_starts_at_its_time_and_a_wrong_time_is_refused(machine: Machine) -> None:
    job = submit(machine, "--at", "3s", "say late")
    told = shown(machine, job)
    assert (told["status"], told["session"]) == ("queued", None)
    told = until_status(machine, job, "done")
    assert told["over_at"] - told["submitted_at"] >= 2.5
    mars = ["--every", "0 * * * *", "--zone", "Mars/Olympus"]
    for wrong in (
        ["--at", "yesterday"],
        ["--at", ""],
        ["--at", "99999999d"],
        ["--every", "* * *"],
        ["--every", ""],
        mars,
    ):
        done = machine.run("job", "submit", "--agent", "scripted", *wrong, "say x", "--json")
        assert (done.returncode, set(json.loads(done.stdout))) == (2, {"error"})


def test_whoever_submits_a_schedule_is_told_when_it_first_comes(machine: Machine) -> None:
    words = ["job", "submit", "--agent", "scripted", "--every", "0 3 * * *", "--zone", "Asia/Tbilisi", "say x"]
    told = json.loads(machine.ok(*words, "--json"))["job"]
    first = datetime.fromtimestamp(told["next_at"], ZoneInfo("Asia/Tbilisi"))
    assert (first.hour, first.minute, told["next_at"] > told["submitted_at"]) == (3, 0, True)
    assert shown(machine, told["id"])["next_at"] == told["next_at"]
    said = machine.run(*words).stderr
    assert f"It starts at {datetime.fromtimestamp(told['next_at'], UTC).astimezone():%Y-%m-%d %H:%M:%S}." in said


def test_times_that_were_missed_while_no_daemon_ran_start_one_job(machine: Machine) -> None:
    schedule = submit(machine, "--every", "* * * * * *", "--zone", "UTC", "say tick")
    until(lambda: shown(machine, schedule)["runs"], "the first job")
    machine.kill_daemon()
    known = set(_runs_in_store(machine))
    gone = time.time() + 5.0
    until(lambda: time.time() > gone, "five missed times")
    machine.ok("job", "cancel", schedule)
    new = [one for one in machine.json("job", "list", "--all")["jobs"] if one["of"] == schedule]
    missed = [one for one in new if one["id"] not in known and one["due"] < gone - 1.0]
    assert len(missed) <= 1, "a missed time runs once, not ten times"
    assert len({one["due"] for one in new}) == len(new)


def test_a_failed_job_goes_on_from_a_snapshot_in_one_command(machine: Machine) -> None:
    subprocess.run(["git", "init", "-q"], cwd=machine.work, check=True)
    job = submit(machine, "--retries", "0", "put built.txt yes\nonce broken fail unauthorized\nread built.txt")
    told = until_status(machine, job, "failed")
    kept = until(lambda: machine.json("job", "show", job)["snapshots"], "a snapshot")
    assert [one["session"] for one in kept] == [told["session"]] * len(kept)
    said = machine.ok("job", "show", job)
    assert kept[-1]["id"][:10] in said
    assert f"rekindle job retry {job} --from {kept[-1]['id'][:10]}" in said
    (machine.work / "built.txt").write_text("somebody else's")
    machine.ok("job", "retry", job, "--from", kept[-1]["id"][:10], "--resume")
    assert until_status(machine, job, "done")["resume_count"] == 1
    assert (machine.work / "built.txt").read_text().strip() == "yes"
    refused = machine.run("job", "retry", job, "--from", kept[-1]["id"])
    assert (refused.returncode, "is done" in refused.stderr) == (2, True)


def test_an_open_job_is_something_that_is_due_for_a_machine_that_starts(machine: Machine) -> None:
    assert not is_due(machine.places.store)
    job = submit(machine, "--at", "2d", "say late")
    assert is_due(machine.places.store)
    machine.ok("job", "cancel", job)
    assert not is_due(machine.places.store)


def _runs_in_store(machine: Machine) -> list[str]:
    import sqlite3

    with sqlite3.connect(machine.places.store) as store:
        rows = store.execute("SELECT subject FROM facts WHERE stream = 'job' AND kind = 'job_submitted'")
        return [str(row[0]) for row in rows]


def test_a_job_takes_the_users_settings_but_is_tried_again_whatever_run_would_do(machine: Machine) -> None:
    machine.ok("config", "set", "agent", "scripted")
    machine.ok("config", "set", "policy", "ask")
    machine.ok("config", "set", "permission", "deny")
    done = machine.run("job", "submit", "--at", "2020-01-01", "say hi")
    assert done.returncode == 0 and "No agent is set" not in done.stderr
    assert "That time is over" in done.stderr and "it starts now" in done.stderr
    found = until_status(machine, done.stdout.strip(), "done")
    assert (found["agent"], found["permission"], found["policy"]) == ("scripted", "deny", "continue")


def test_a_lost_store_loses_no_job_and_no_schedule_and_no_step_is_worked_twice(machine: Machine) -> None:
    steps = PIPELINE.replace("put built.txt yes", "run sh -c 'echo built >> built.txt'").replace(
        "put shipped.txt yes", "run sh -c 'echo shipped >> shipped.txt'"
    )
    (machine.work / "pipe.toml").write_text(steps)
    schedule = submit(machine, "--every", "0 3 * * *", "--zone", "UTC", "say night")
    due = shown(machine, schedule)["next_at"]
    job = machine.ok("run", "--runbook", "pipe.toml", "--permission", "all", "--detach").strip()
    session_in_turn(machine, job)
    machine.kill_daemon()
    for file in Path(machine.places.state).glob("store.db*"):
        file.unlink()
    assert shown(machine, schedule)["next_at"] == due
    told = until_status(machine, job, "done", "failed")
    assert [(one["name"], one["status"]) for one in told["steps"]] == [("build", "done"), ("ship", "done")]
    assert (machine.work / "built.txt").read_text() + (machine.work / "shipped.txt").read_text() == "built\nshipped\n"
    assert "2 jobs and schedules" in machine.run("doctor").stdout
