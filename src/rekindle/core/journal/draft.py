"""Turns what a person or an agent types into an event: short names, where the message goes, what is required."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Any

from rekindle.core.journal import event as ev
from rekindle.core.journal.event import FIELDS

SHORT = {
    "started": ev.TASK_STARTED,
    "done": ev.TASK_COMPLETED,
    "failed": ev.TASK_FAILED,
    "skipped": ev.TASK_SKIPPED,
    "error": ev.ERROR_ENCOUNTERED,
    "blocker": ev.BLOCKER_REPORTED,
    "warning": ev.WARNING_LOGGED,
    "qa-passed": "qa.passed",
    "qa-failed": "qa.failed",
}

_MESSAGE_FIELD = {
    ev.TASK_STARTED: "summary",
    ev.TASK_COMPLETED: "summary",
    ev.TASK_FAILED: "error",
    ev.TASK_SKIPPED: "reason",
    ev.ERROR_ENCOUNTERED: "error",
    ev.AGENT_ERROR: "error",
    ev.BLOCKER_REPORTED: "description",
    ev.WARNING_LOGGED: "message",
    ev.PLAN_UPDATED: "reason",
    ev.SESSION_END: "reason",
    ev.CHECKPOINT: "label",
    "qa.passed": "summary",
    "file.created": "path",
    "file.modified": "path",
    "check.ran": "command",
    "tool.invoked": "tool",
}
_NEEDS_TASK = frozenset(
    (
        ev.TASK_STARTED,
        ev.TASK_COMPLETED,
        ev.TASK_FAILED,
        ev.TASK_SKIPPED,
        "qa.started",
        "qa.passed",
        "qa.failed",
    )
)
_TYPE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+\Z")
_SUMMARY_LENGTH = 200


@dataclass(frozen=True)
class Draft:
    """An event that is ready to be written. `known` is False for a type that no analysis looks at."""

    type: str
    data: dict[str, Any]
    known: bool


class CannotDraft(ValueError):
    """The words do not make an event. Says why, and what would."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


def draft(
    type_: str,
    *,
    task: str | None,
    message: str | None,
    files: tuple[str, ...],
    data: dict[str, Any],
    agent: str | None = None,
) -> Draft:
    """Make an event from the words of a command. `data` overrides what the other words say."""
    full = SHORT.get(type_, type_)
    known = full in FIELDS
    if not known and not _TYPE.match(full):
        near = difflib.get_close_matches(full, [*SHORT, *FIELDS], n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "a type is a dotted name such as task.started"
        raise CannotDraft(f"{type_!r} is not a valid event type", hint)
    made: dict[str, Any] = {}
    if task is not None:
        made["task" if full in (ev.BLOCKER_REPORTED, ev.AGENT_SPAWNED) else "taskId"] = task
    if message is not None:
        if full == "qa.failed":
            made["issues"] = [message]
        else:
            made[_MESSAGE_FIELD.get(full, "message")] = message
    if agent is not None and full.startswith("agent."):
        made["name"] = agent
    elif agent is not None and full in (ev.TASK_STARTED, ev.BLOCKER_REPORTED):
        made["agent"] = agent
    if files:
        made["files_changed" if full == ev.TASK_COMPLETED else "files"] = list(files)
    made.update(data)
    if full in _NEEDS_TASK and ev.task_of(made) is None:
        raise CannotDraft(f"{full} needs a task", "give its id with --task")
    if full == ev.PLAN_UPDATED and made.get("change") not in (None, *ev.PLAN_CHANGES):
        raise CannotDraft(f"{made['change']!r} is not a change of a plan", f"use {_either(ev.PLAN_CHANGES)}")
    if isinstance(made.get("output_summary"), str):
        made["output_summary"] = made["output_summary"][:_SUMMARY_LENGTH]
    return Draft(full, made, known)


def _either(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def names_in(made: Draft) -> list[tuple[str, str]]:
    """The names of tasks and agents in an event, as (what it is, name): these come from outside too."""
    data = made.data
    found = [("task", value) for key in ("taskId", "task_id", "task") if isinstance(value := data.get(key), str)]
    if made.type.startswith("agent.") and isinstance(data.get("name"), str):
        found.append(("agent", data["name"]))
    planned = data.get("tasks")
    if made.type.startswith("plan.") and isinstance(planned, list):
        found += [
            ("task", item["id"]) for item in planned if isinstance(item, dict) and isinstance(item.get("id"), str)
        ]
    return found
