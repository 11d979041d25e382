"""Runbooks of stories, by name: what a session's rules do by themselves while nobody watches."""

from __future__ import annotations

from typing import Any

import msgspec

from rekindle.core.runbook.limits import Limits
from rekindle.core.runbook.runbook_file import parse
from rekindle.core.session.rules import Rules

BOOKS = {
    "nudges": 'on_idle = { action = "nudge", attempts = 2, cooldown = "30s", message = "go on" }',
    "done": 'on_idle = { action = "done", cooldown = "20s" }',
    "gated": 'on_idle = { action = "gate", run = "true", cooldown = "5s" }',
    "refused": 'on_idle = { action = "gate", run = "false", cooldown = "5s" }',
    "asks": 'on_idle = { action = "escalate", cooldown = "10s" }',
    "revived": 'on_dead = { action = "resume", attempts = 2, cooldown = [0, 40], append = true, message = "go on" }',
    "dead-gated": 'on_dead = { action = "gate", run = "true" }',
    "given-up": 'on_dead = "fail"',
    "patient": 'on_error = [{ action = "resume", attempts = 2, cooldown = "60s", append = true, message = "go on" }]',
    "allows": 'on_ask = [{ action = "allow" }]',
    "all": """\
on_idle = { action = "nudge", attempts = 1, cooldown = "30s", message = "go on" }
on_dead = { action = "resume", attempts = 1, cooldown = "20s", append = true, message = "go on" }
on_error = [{ match = "overloaded", action = "wait", attempts = 3, cooldown = [5, 60] }, { action = "escalate" }]
on_ask = [{ action = "deny" }]
""",
    "stall-nudged": """
limits = { stall = "40s" }
on_stall = { action = "nudge", attempts = 1, message = "go on" }""",
    "stall-resumed": """
limits = { stall = "40s" }
on_stall = { action = "resume", attempts = 1 }""",
    "stall-asked": 'limits = { stall = "40s" }\non_stall = "escalate"',
    "stall-failed": 'limits = { stall = "40s" }\non_stall = "fail"',
    "limit-stops": 'limits = { max_tokens = 150 }\non_limit = "stop"',
    "limit-asks": 'limits = { max_tokens = 150 }\non_limit = "escalate"',
    "limit-fails": 'limits = { max_tokens = 150 }\non_limit = "fail"',
}
#: Books that answer the agent's questions, and books that end a session.
ANSWERING = ("allows", "all")
ENDING = ("done", "gated", "refused", "dead-gated", "given-up", "stall-failed", "limit-fails")


def rules_of(book: str) -> dict[str, Any]:
    """The rules as a client sends them."""
    found = parse(f'[agent.worker]\nrun = "scripted"\n{BOOKS[book]}\n'.encode(), book, ("scripted",))
    worker = found.agents["worker"]
    rules = Rules(reactions=worker.reactions, limits=Limits(**worker.limits))  # type: ignore[arg-type]
    sent: dict[str, Any] = msgspec.to_builtins(rules)
    return sent
