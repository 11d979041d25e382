"""What an agent was given, by its own record, on whichever host it worked: the other side of what rekindle says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rekindle.core.session.prompt_marks import mark
from tests.fleet.yard import Yard

Line = dict[str, Any]


def record_of(yard: Yard, host: str, token: str) -> list[Line]:
    """The scripted agent's own record of a conversation on a host: what it was told, did and said, in order."""
    path = Path(yard[host].home) / ".local/state/rekindle/scripted" / f"{token}.jsonl"
    found = []
    for line in path.read_bytes().split(b"\n") if path.exists() else ():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue  # it is being written
    return found


def prompts_in(record: list[Line]) -> list[str]:
    """What it was told, in order, as rekindle's own record names it: long texts by their beginning and a hash."""
    return [mark(one["text"]) for one in record if one["kind"] == "user"]


def is_doing(record: list[Line], directive: str) -> bool:
    """Whether the newest step that was started is this one, and it has not ended."""
    steps = [one for one in record if one["kind"] in ("step-started", "step-finished")]
    return bool(steps) and steps[-1]["kind"] == "step-started" and steps[-1]["directive"].startswith(directive)


def agrees(yard: Yard, session: str, host: str) -> list[Line]:
    """The agent's record on the host that has the session has exactly what rekindle says that it was given.

    One conversation, from its first prompt on, and each prompt once. No other host has a conversation of its own.
    """
    told = yard.stored(session)
    tokens = {one["token"] for one in told["attempts"] if one.get("token") and one.get("opened")}
    assert len(tokens) == 1, f"one conversation: {tokens}"
    [token] = tokens
    record = record_of(yard, host, token)
    sent = [mark(one["text"]) for one in told["prompts"] if one.get("attempt") and one["state"] != "queued"]
    assert prompts_in(record) == sent, "what the agent was given is what rekindle says it was"
    assert [one["kind"] for one in record].count("session") == 1, "begun once"
    for name in yard.workers:
        others = prompts_in(record_of(yard, name, token))
        assert others == sent[: len(others)], f"{name} was given nothing that {host} does not know of"
    return record
