"""What a conversation with an agent needs next: to begin, to be waited for, a restart, another try, or a rest."""

from __future__ import annotations

from rekindle.core.feature import effects as e
from rekindle.core.feature.evidence import TalkState
from rekindle.core.feature.situation import Situation

#: How often an agent is brought back in one run of the feature, and how often a failed turn is tried again.
REVIVALS = 3
TRIES = 2
STOPPED_HINT = "bring that back with `rekindle resume`, then resume the feature"


def converse(
    now: Situation, name: str, with_: TalkState, say: e.Assign, *, may_start: bool
) -> e.Effect | e.Waiting | None:
    """What a conversation needs; None when it has ended and the agent's process is gone."""
    match with_.phase:
        case "absent" | "unsaid":
            return say if may_start else "waiting"
        case "working" | "asking":
            return wait(now, name, with_)
        case "cut":
            if now.memory.revived.get(with_.session, 0) >= REVIVALS:
                return e.Fail(name, with_.message or "its agent died repeatedly", REVIVALS)
            return e.Revive(name, with_.session)
        case "failed":
            if with_.tries >= TRIES:
                return e.Fail(name, with_.message or "its agent's turns failed", with_.tries + 1)
            if with_.retry_at is not None and with_.retry_at > now.now:
                return e.WaitUntil(name, with_.retry_at)
            return say
        case "stopped":
            return e.Block(name, f"somebody stopped its session {with_.session}: {STOPPED_HINT}")
        case "done":
            return e.Rest(name, with_.session) if with_.up else None


def wait(now: Situation, name: str, with_: TalkState) -> e.Effect | e.Waiting:
    """Wait for an agent; what it asks a person is reported once."""
    if with_.phase == "asking" and (with_.session, with_.question) not in now.memory.asked:
        return e.Report(name, with_.session, with_.question)
    return "waiting"
