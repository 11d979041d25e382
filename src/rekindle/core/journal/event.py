"""The vocabulary of the journal: envelope, event types, and how a value in `data` is read.

Only vocabulary lives here. decode.py decides which bytes are an event; run_events.py and fold.py decide what events
add up to. No imports at all: the hook client reads this on every tool call.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

VERSION: Final = 1

SESSION_START: Final = "session.start"
SESSION_END: Final = "session.end"
PLAN_CREATED: Final = "plan.created"
PLAN_UPDATED: Final = "plan.updated"
CHECKPOINT: Final = "checkpoint"
TASK_STARTED: Final = "task.started"
TASK_COMPLETED: Final = "task.completed"
TASK_FAILED: Final = "task.failed"
TASK_SKIPPED: Final = "task.skipped"
AGENT_SPAWNED: Final = "agent.spawned"
AGENT_COMPLETED: Final = "agent.completed"
AGENT_ERROR: Final = "agent.error"
ERROR_ENCOUNTERED: Final = "error.encountered"
BLOCKER_REPORTED: Final = "blocker.reported"
WARNING_LOGGED: Final = "warning.logged"
RESUME_DECIDED: Final = "resume.decided"

#: Fields that the journal's own table gives to `data`; used for help texts and to warn about misspellings.
FIELDS: Final[dict[str, tuple[str, ...]]] = {
    SESSION_START: ("command", "feature", "branch", "mode"),
    SESSION_END: ("reason", "duration_s", "tasks_completed"),
    PLAN_CREATED: ("tasks", "waves", "dependencies"),
    PLAN_UPDATED: ("change", "reason"),
    CHECKPOINT: ("label", "branch", "plan_step", "resumable"),
    TASK_STARTED: ("taskId", "summary", "agent", "files"),
    TASK_COMPLETED: ("taskId", "summary", "files_changed"),
    TASK_FAILED: ("taskId", "error", "attempts"),
    TASK_SKIPPED: ("taskId", "reason"),
    AGENT_SPAWNED: ("name", "role", "task", "branch"),
    AGENT_COMPLETED: ("name", "result"),
    AGENT_ERROR: ("name", "error", "file", "line", "resolved"),
    "file.created": ("path", "reason"),
    "file.modified": ("path", "reason"),
    "branch.created": ("name", "parent"),
    "branch.merged": ("name", "target", "conflicts"),
    "branch.pulled": ("branch", "behind", "ahead"),
    "branch.rebased": ("branch", "onto", "conflicts"),
    "worktree.created": ("path", "branch"),
    "worktree.removed": ("path",),
    "qa.started": ("taskId", "round", "reviewer"),
    "qa.passed": ("taskId", "round", "summary"),
    "qa.failed": ("taskId", "round", "issues"),
    "check.ran": ("command", "result", "output_summary"),
    ERROR_ENCOUNTERED: ("file", "line", "error", "attempts", "resolved"),
    BLOCKER_REPORTED: ("description", "agent", "task"),
    WARNING_LOGGED: ("message", "context"),
    "tool.invoked": ("tool", "target", "duration_ms"),
    "context.usage": ("agent", "tokens_used", "tokens_limit", "percent"),
    RESUME_DECIDED: ("choice", "issues", "tasks", "commits"),
}

#: What `plan.updated` can say was changed.
PLAN_CHANGES: Final = ("task_added", "task_removed", "dependency_changed", "wave_reordered", "agent_reassigned")

#: What makes a sid a run if its `session.start` was lost: these prefixes, or a checkpoint.
_RUN_PREFIXES: Final = ("plan.", "task.", "agent.")


def makes_run(type_: str) -> bool:
    """Whether an event of this type proves that its sid is a run and not a hook's invention."""
    return type_ in (SESSION_START, CHECKPOINT) or type_.startswith(_RUN_PREFIXES)


#: What an interruption must not lose is synced at once; what only describes progress may wait and be synced together.
_SYNCED: Final = ("session.", "plan.", "task.", "checkpoint", "resume.", "receipt.")


def is_synced_at_once(type_: str) -> bool:
    """Whether an event of this type has to be on disk before it is acknowledged, unless somebody chose otherwise."""
    return type_.startswith(_SYNCED)


class Event:
    """One usable line. `sid` is None if the line had none; then `seq` is None too."""

    __slots__ = ("data", "eid", "feature", "seq", "sid", "ts", "type")

    def __init__(
        self,
        type_: str,
        sid: str | None,
        seq: int | None,
        feature: str | None,
        ts: str | None,
        data: dict[str, Any],
        eid: str | None,
    ) -> None:
        self.type = type_
        self.sid = sid
        self.seq = seq
        self.feature = feature
        self.ts = ts
        self.data = data
        self.eid = eid


def task_id(value: object) -> str | None:
    """A task's id as text. Non-empty strings and integers count; anything else is absent."""
    if isinstance(value, str):
        return value or None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return None


def task_of(data: dict[str, Any]) -> str | None:
    """The task that an event names, under any of the three spellings."""
    plain = data.get("taskId")
    if plain and isinstance(plain, str):  # nearly always
        return plain
    for key in ("taskId", "task_id", "task"):
        found = task_id(data.get(key))
        if found is not None:
            return found
    return None


def message_of(data: dict[str, Any]) -> str:
    """What an issue or a warning says."""
    for key in ("error", "description", "message"):
        value = data.get(key)
        if isinstance(value, str):
            return value
    return ""


def commit_id(value: object) -> str | None:
    """The value if it is the full name of a commit, else None: whoever wrote it, git is given nothing else."""
    return value if isinstance(value, str) and len(value) in (40, 64) and not value.strip("0123456789abcdef") else None


def text(value: object) -> str | None:
    """The value if it is text, else None."""
    return value if isinstance(value, str) else None
