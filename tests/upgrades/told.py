"""What rekindle says of an edition: recorded when it is made, and held against what every later version says."""

from __future__ import annotations

from typing import Any

from tests.e2e.daemon import Machine
from tests.e2e.features import FEATURE

#: What is told of a session, without the words for people, which may change.
_LISTED = ("agent", "title", "cwd", "feature", "state", "status", "needs_you", "waits_until")
_SHOWN = ("repository", "worktree", "branch", "attempt", "queued", "usage", "limits", "created_at")
_PROMPT = ("id", "text", "state", "by")
_EXPLAINED = ("branch", "run", "case", "checkpoint", "next_step", "issues", "has_plan", "orders", "unapproved")


def tell(machine: Machine) -> dict[str, Any]:
    """Everything, asked by the commands that a user types. The first ones find no daemon, the last ones start it."""
    rows = machine.json("ps", "--all")["sessions"]
    explained = machine.json("resume", FEATURE, "--explain")
    return {
        "sessions": {row["id"]: _picked(row, _LISTED) for row in rows},
        "said": {row["id"]: machine.json("logs", row["id"])["entries"] for row in rows},
        "analysis": machine.json("analyze", FEATURE),
        "explained": {
            **_picked(explained, _EXPLAINED),
            "tasks": {one["name"]: one["action"] for one in explained["tasks"]},
        },
        "shown": {row["id"]: _shown(machine.show(row["id"])) for row in rows},
    }


def _shown(about: dict[str, Any]) -> dict[str, Any]:
    receipts = [attempt["receipt"] for attempt in about["session"]["attempts"]]
    return {
        **_picked(about, _SHOWN),
        "prompts": [_picked(one, _PROMPT) for one in about["session"]["prompts"]],
        "receipts": [one and one["kind"] for one in receipts],
    }


def _picked(value: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value[name] for name in names}


def missing(recorded: Any, told: Any, at: str = "") -> list[str]:
    """What was recorded and is not told any more, or otherwise. What a later version tells in addition is its own.

    A note of rekindle's in a conversation is for people: it may have other words.
    """
    match recorded, told:
        case dict(), dict():
            own = {"text"} if recorded.get("kind") == "note" and told.get("kind") == "note" else set[str]()
            return [
                one
                for key, value in recorded.items()
                if key not in own
                for one in (missing(value, told[key], f"{at}.{key}") if key in told else [f"{at}.{key} is not told"])
            ]
        case list(), list() if len(recorded) == len(told):
            pairs = enumerate(zip(recorded, told, strict=True))
            return [one for number, (a, b) in pairs for one in missing(a, b, f"{at}[{number}]")]
        case _:
            return [] if recorded == told else [f"{at}: {recorded!r} was recorded, {told!r} is told"]
