"""Runbooks with the real Claude Code: each trouble costs one conversation nothing, and no prompt is given twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.e2e.daemon import until
from tests.real.models.server import Request
from tests.real.models.steps import Drop, Refuse, Reply
from tests.real.stage import ClaudeStage, called

pytestmark = pytest.mark.timeout(240)
BOOK = """\
[agent.worker]
run = "claude"
permission = "all"
on_dead = { action = "resume", attempts = 3 }
on_error = [
  { match = "rate_limited", action = "wait", attempts = 3, cooldown = "1s" },
  { match = "overloaded", action = "resume", attempts = 8, cooldown = "1s" },
  { match = "no_internet", action = "resume", attempts = "forever", cooldown = "1s" },
  { match = "context_overflow", action = "renew" },
  { match = "unauthorized", action = "escalate" },
]
"""


def begin(claude: ClaudeStage, prompt: str) -> str:
    book = claude.machine.work.parent / "book.toml"
    book.write_text(BOOK)
    return claude.machine.ok("run", "--detach", "--runbook", str(book), "worker", prompt).strip()


def with_a_subscription(claude: ClaudeStage) -> None:
    """From now on Claude Code believes that it has a subscription, whose limits end at a time."""
    kept = {name: value for name, value in claude.machine.variables.items() if name != "ANTHROPIC_API_KEY"}
    claude.machine = replace(claude.machine, variables={**kept, "CLAUDE_CODE_OAUTH_TOKEN": "fake-token-of-a-test"})


def limited(seconds: float, claim: str = "five_hour") -> tuple[Callable[[Request], bool], Refuse]:
    """Refuses everything for that long, as the service does for a subscription whose window is used up."""
    ends = round(time.time() + seconds)
    headers = {
        "retry-after": str(round(seconds)),
        "x-should-retry": "false",
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": str(ends),
        "anthropic-ratelimit-unified-representative-claim": claim,
    }
    return lambda _: time.time() < ends, Refuse(429, "rate_limit_error", "This would exceed your limit.", headers)


def heard_once(claude: ClaudeStage, session: str, name: str) -> None:
    """One conversation, and the prompt is in it once."""
    assert claude.has_heard(session, name) == 1
    assert len({one.headers["x-claude-code-session-id"] for one in claude.model.turns()}) == 1


@pytest.mark.parametrize(("claim", "zone"), [("five_hour", "Asia/Tbilisi"), ("seven_day", "UTC")])
def test_a_session_limit_is_waited_for_to_its_end_and_the_time_is_shown_meanwhile(
    claude: ClaudeStage, claim: str, zone: str
) -> None:
    with_a_subscription(claude)
    claude.machine = replace(claude.machine, variables={**claude.machine.variables, "TZ": zone})
    holds, step = limited(12, claim)
    claude.model.when(holds, step)
    claude.model.default = Reply("the answer at last")
    session = begin(claude, called("the thing"))
    until(lambda: "limit" in claude.machine.show(session)["message"], "the limit")
    message = claude.machine.show(session)["message"]
    assert "resets" in message and f"({zone})" in message, "Claude Code's own words, with its zone"
    [row] = [one for one in claude.machine.json("ps")["sessions"] if one["id"] == session]
    ends = float(step.headers["anthropic-ratelimit-unified-reset"])
    shown = row["waits_until"]
    shown = shown if isinstance(shown, int | float) else datetime.fromisoformat(str(shown)).astimezone(UTC).timestamp()
    assert ends <= shown <= ends + 60, "the end that the service named"
    claude.until_said(session, "the answer at last")
    assert time.time() >= ends
    assert sum(one.step == step for one in claude.turns(session)) == 1, "nobody knocked before the time"
    heard_once(claude, session, "the thing")


def test_a_storm_of_overload_ends_when_the_service_is_back(claude: ClaudeStage) -> None:
    claude.retrying(0)
    claude.model.when(lambda _: True, Refuse(529, "overloaded_error", "Overloaded"), 5)
    claude.model.default = Reply("the answer at last")
    session = begin(claude, called("the thing"))
    claude.until_said(session, "the answer at last")
    assert len(claude.turns(session)) == 6, "five refusals, one answer"
    heard_once(claude, session, "the thing")


def test_a_network_that_goes_away_and_comes_back_costs_nothing(claude: ClaudeStage) -> None:
    claude.retrying(0)
    session = begin(claude, claude.answering("the first thing", "answer one"))
    claude.until_said(session, "answer one")
    claude.model.when(lambda _: True, Drop(), 3)
    claude.model.default = Reply("answer two")
    claude.machine.ok("send", session, called("the second thing"))
    claude.until_said(session, "answer two")
    assert claude.remembered(session)[0] == "answer one", "the conversation is kept"
    heard_once(claude, session, "the second thing")


def test_a_refused_key_asks_one_question_and_is_not_tried_again(claude: ClaudeStage) -> None:
    claude.retrying(0)
    rule = claude.model.when(lambda _: True, Refuse(401, "authentication_error", "invalid x-api-key"))
    session = begin(claude, called("the thing"))
    [question] = until(lambda: claude.machine.json("inbox")["questions"], "a question")
    assert question["session"] == session
    asked = len(claude.turns(session))
    claude.model.withdraw(rule)
    claude.model.default = Reply("the answer at last")
    claude.machine.kill_daemon()
    [again] = claude.machine.json("inbox")["questions"]
    assert (again["id"], len(claude.turns(session))) == (question["id"], asked), "the same question, and no request"
    claude.machine.ok("answer", question["id"], question["recommended"])
    claude.until_said(session, "the answer at last")
    heard_once(claude, session, "the thing")


def test_a_conversation_that_became_too_long_is_not_opened_again_but_renewed(claude: ClaudeStage) -> None:
    session = begin(claude, claude.answering("the first thing", "answer one"))
    claude.until_said(session, "answer one")
    first = claude.token(session)
    claude.machine.ok("send", session, claude.overflowing("the second thing", "answer two"))
    claude.until_said(session, "answer two")
    renewed = claude.token(session)
    assert renewed != first
    told = [text for text in claude.heard(session) if called("the second thing") in text]
    assert len(told) == 1, "once, behind the history that the new conversation is told"
    assert "answer one" in told[0]
    last = [one for one in claude.model.turns() if one.headers["x-claude-code-session-id"] == first][-1]
    assert last.number < claude.turns(session)[0].number, "the long one was not asked again"
    assert claude.machine.receipt(session)["kind"] in ("rebuilt", "fresh")


def test_an_agent_that_dies_at_once_every_time_spends_its_budget_and_asks_once(claude: ClaudeStage) -> None:
    prompt = claude.speaking("the thing")
    claude.model.when(lambda _: True, Reply("not before I was killed"))
    session = begin(claude, prompt)
    killed = 0

    def has_asked() -> list[dict[str, object]]:
        nonlocal killed
        attempt = claude.machine.show(session)["attempt"]
        if attempt > killed:
            claude.machine.kill(claude.machine.pids(session, attempt)["agent"])
            killed = attempt
        return list(claude.machine.json("inbox")["questions"])

    [question] = until(has_asked, "a question")
    assert killed == 4, "the first start, and three restarts"
    claude.machine.kill_daemon()
    assert [one["id"] for one in claude.machine.json("inbox")["questions"]] == [question["id"]]
    assert claude.machine.show(session)["attempt"] == killed, "nothing was started again"
    assert len({one.headers["x-claude-code-session-id"] for one in claude.model.turns()}) <= 1
