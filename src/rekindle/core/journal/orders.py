"""Which events decide what a resume does: what they say gets done, so it matters who wrote them.

Everything else in a journal describes what happened. No imports at all: the hook client reads this on every tool call.
"""

from __future__ import annotations

#: Runs and how strictly they check, plans, points to resume at, answers, and the progress of tasks, branches, checks.
_PREFIXES = ("session.start", "plan.", "checkpoint", "resume.", "task.", "branch.", "worktree.", "qa.")
#: In a run that rekindle drives these count only if that run wrote them: the above, how it ends, what its checks found
#: and which agents work on which branches.
_DECIDING = ("session.", *_PREFIXES[1:], "check.", "agent.spawned", "agent.completed")
#: `driver` in the `session.start` of a run that rekindle drives.
DRIVER = "rekindle"
#: The prefix of the type of an event that somebody else wrote into such a run: kept and shown, but decides nothing.
CLAIMED = "claimed."
#: Those of the first that say what agents are told, which commands run, and whose work is good enough to merge.
_WORK = ("plan.", "resume.", "qa.")


def bears_orders(type_: str) -> bool:
    """Whether an event of this type affects what a resume does."""
    return type_.startswith(_PREFIXES)


def decides(type_: str) -> bool:
    """Whether an event of this type decides about the tasks of a run: then it matters who wrote it."""
    return type_.startswith(_DECIDING)


def gives_work(type_: str) -> bool:
    """Whether it says what agents do, which commands run, or what passed. From an agent that is only data."""
    return type_.startswith(_WORK)
