"""Jobs with the real Claude Code: each edge case of a retry, from the agent's own words and its own record."""

from __future__ import annotations

import os
import shutil
import signal
import time
from typing import Any

import pytest

from tests.e2e.daemon import until
from tests.real.models.server import Request
from tests.real.models.steps import Hang, Reply
from tests.real.stage import ClaudeStage, called

pytestmark = pytest.mark.timeout(300)
PIPELINE = """\
[agent.worker]
run = "claude"
permission = "all"

[[step]]
name = "build"
agent = "worker"
prompt = "This is about the build."

[[step]]
name = "ship"
agent = "worker"
prompt = "This is about shipping."
needs = ["build"]
"""


def submit(claude: ClaudeStage, name: str, *options: str) -> str:
    words = ("--agent", "claude", "--permission", "all", "--model", "mock-model", *options, called(name))
    return str(claude.machine.json("job", "submit", *words)["job"]["id"])


def shown(claude: ClaudeStage, job: str) -> dict[str, Any]:
    found: dict[str, Any] = claude.machine.json("job", "show", job)["job"]
    return found


def until_over(claude: ClaudeStage, job: str) -> dict[str, Any]:
    found: dict[str, Any] = until(
        lambda: (told := shown(claude, job))["status"] in ("done", "failed", "cancelled") and told, f"the end of {job}"
    )
    return found


def attempts(claude: ClaudeStage, session: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = claude.machine.show(session)["session"]["attempts"]
    return found


def conversations(claude: ClaudeStage) -> list[str]:
    """The names of all conversations that the model has heard of, in order."""
    return list(dict.fromkeys(one.headers["x-claude-code-session-id"] for one in claude.model.turns()))


def cut(claude: ClaudeStage, job: str, number: int = 1) -> str:
    """Kill the agent of a job in the middle of its sentence, when its own record has the prompt; its session."""
    session = str(until(lambda: shown(claude, job)["session"], "a session"))
    until(lambda: len(attempts(claude, session)) == number and attempts(claude, session)[-1]["pid"], "an attempt")
    until(lambda: sum(isinstance(one.step, Hang) for one in claude.model.turns()) >= number, "the sentence")
    claude.until_recorded(session, "This is about")
    os.kill(attempts(claude, session)[-1]["pid"], signal.SIGKILL)
    until(lambda: attempts(claude, session)[number - 1]["status"] == "gone", "its end")
    return session


def sentences(claude: ClaudeStage, name: str, times: int) -> None:
    """The model begins to speak and does not come to an end, so many times; then it answers."""
    claude.model.when(lambda one: _asks(claude, one, name), Hang(claude.half), times)
    claude.model.default = Reply("the answer at last")


def _asks(claude: ClaudeStage, request: Request, name: str) -> bool:
    return any(called(name) in text for text in claude.model.user_texts(request))


def test_a_job_that_times_out_is_tried_again_in_the_same_conversation_with_the_same_flags_and_ends(
    claude: ClaudeStage,
) -> None:
    sentences(claude, "the thing", 1)
    job = submit(claude, "the thing", "--timeout", "6s")
    told = until_over(claude, job)
    assert (told["status"], told["resume_count"], told["retries_left"]) == ("done", 1, 2)
    session = told["session"]
    assert "6 s" in attempts(claude, session)[0]["given_up"]
    assert claude.machine.receipt(session)["kind"] == "same"
    assert conversations(claude) == [told["claude_session_id"]]
    assert claude.has_heard(session, "the thing") == 1, "the prompt was given once"
    assert {one.body["model"] for one in claude.turns(session)} == {"mock-model"}
    assert told["permission"] == "all"
    assert abs(told["claude_session_saved_at"] / 1000 - attempts(claude, session)[1]["opened_at"]) < 1


def test_an_expired_token_is_not_used_the_fresh_start_is_made_once_and_said(claude: ClaudeStage) -> None:
    sentences(claude, "the thing", 2)
    job = submit(claude, "the thing", "--max-age", "1s")
    session = str(until(lambda: shown(claude, job)["session"], "a session"))
    opened = float(until(lambda: (one := attempts(claude, session)) and one[0]["opened_at"], "a conversation"))
    until(lambda: time.time() > opened + 1.5, "a token that is too old")
    cut(claude, job)
    told = until(lambda: (one := shown(claude, job))["receipt"] and one, "a receipt")
    assert (told["receipt"]["kind"], told["resume_count"]) == ("fresh", 0)
    assert "may be resumed for 1 s" in told["receipt"]["reason"]
    until(lambda: len(conversations(claude)) == 2, "a new conversation")
    opened = float(attempts(claude, session)[1]["opened_at"])
    until(lambda: time.time() > opened + 1.5, "a token that is too old")
    cut(claude, job, 2)
    told = until_over(claude, job)
    assert (told["status"], len(attempts(claude, session))) == ("failed", 2), "never a loop"
    assert "it was started fresh once already" in told["why"]
    assert [claude.model.user_texts(one)[-1] for one in claude.model.turns()] == [called("the thing")] * 2


def test_a_conversation_whose_record_is_garbage_is_restored_from_the_vault_and_resumed(claude: ClaudeStage) -> None:
    sentences(claude, "the thing", 1)
    job = submit(claude, "the thing", "--retries", "0")
    session = cut(claude, job)
    assert until_over(claude, job)["status"] == "failed"
    claude.transcript(session).write_bytes(b"\x00\xff garbage {{{\n" * 20)
    claude.machine.ok("job", "retry", job)
    told = until_over(claude, job)
    assert (told["status"], told["resume_count"]) == ("done", 1)
    assert claude.has_heard(session, "the thing") == 1
    assert claude.machine.receipt(session)["kind"] == "same"


def test_a_conversation_that_nobody_can_restore_is_left_and_the_job_starts_fresh_once_and_says_so(
    claude: ClaudeStage,
) -> None:
    sentences(claude, "the thing", 1)
    job = submit(claude, "the thing", "--retries", "2")
    session = str(until(lambda: shown(claude, job)["session"], "a session"))
    until(lambda: any(isinstance(one.step, Hang) for one in claude.model.turns()), "the sentence")
    claude.until_recorded(session, "This is about")
    first = claude.token(session)
    claude.machine.kill_daemon()
    os.kill(int(claude.machine.pids(session)["agent"]), signal.SIGKILL)
    claude.transcript(session).write_bytes(b"\x00\xff garbage {{{\n" * 20)
    shutil.rmtree(os.path.join(claude.machine.places.sessions, session, "vault"))
    told = until_over(claude, job)
    assert told["status"] == "done"
    assert told["claude_session_id"] != first
    assert (told["receipt"]["kind"], told["resume_count"]) == ("fresh", 0)
    assert told["receipt"]["reason"]
    new = [one for one in claude.model.turns() if one.headers["x-claude-code-session-id"] != first]
    assert [claude.model.user_texts(one) for one in new] == [[called("the thing")]], "the original prompt, and no more"


def test_a_conversation_is_resumed_as_often_as_it_may_and_then_the_job_starts_fresh(claude: ClaudeStage) -> None:
    sentences(claude, "the thing", 2)
    job = submit(claude, "the thing", "--max-resumes", "1")
    session = cut(claude, job)
    cut(claude, job, 2)
    told = until_over(claude, job)
    assert (told["status"], told["resume_count"]) == ("done", 0)
    assert [one["how"] for one in attempts(claude, session)] == ["new", "load", "new"]
    assert told["receipt"]["kind"] == "fresh"
    assert "was resumed 1 times, and may be resumed 1 times" in told["receipt"]["reason"]
    assert len(conversations(claude)) == 2


def test_the_later_steps_of_a_pipeline_follow_a_resumed_one(claude: ClaudeStage) -> None:
    (claude.machine.work / "pipe.toml").write_text(PIPELINE)
    sentences(claude, "the build", 1)
    job = claude.machine.ok("run", "--runbook", "pipe.toml", "--detach").strip()
    cut(claude, job)
    told = until_over(claude, job)
    assert [(one["name"], one["status"], one["resume_count"]) for one in told["steps"]] == [
        ("build", "done", 1),
        ("ship", "done", 0),
    ]
    last = claude.model.turns()[-1]
    assert called("shipping") in claude.model.user_texts(last)[-1]
    assert len(conversations(claude)) == 2, "each step has one conversation"
