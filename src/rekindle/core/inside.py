"""What may be asked from inside an agent: it may report and ask, but decides nothing. Pure, standard library only.

If an agent could answer its own questions, raise its own limits or have another agent do so, asking would be
pointless. Whatever is not named here is for a person to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

#: Operations of the daemon. `list` shows states only, see `harmless`.
OPERATIONS: Final = frozenset({"ping", "list", "journal_append", "feature_state"})
#: Commands. Those that ask the daemon are subject to its operations as well.
COMMANDS: Final = frozenset(
    {
        *("status", "ps", "doctor", "agent", "completion", "runbook", "session"),
        *("track", "checkpoint", "features", "history", "follow", "analyze"),
        *("snapshots", "diff"),
    }
)
#: Events that settle what a person was asked.
_DECISIONS: Final = frozenset({"resume.decided"})
#: The names under which guards and keepers run. Nobody else's process can change them.
KEEPERS: Final = frozenset({"rekindle-guard", "rekindle-keeper"})
#: Variables that are set for agents, and for the checks that run what agents wrote.
MARKS: Final = ("REKINDLE_STAMP", "REKINDLE_CHECK")
#: Variables that agents set for the commands that they run, also where rekindle does not run the agent.
AGENT_MARKS: Final = ("CLAUDECODE", "GEMINI_CLI", "CODEX_SANDBOX", "CODEX_CI", "OPENCODE", "QWEN_CODE")
#: What an agent is told about a session, its own or another: its state, not what was said in it.
_HARMLESS: Final = frozenset(
    {
        *("id", "agent", "terminal", "feature", "state", "task_state", "status", "is_running", "needs_resume"),
        *("is_resumable", "attempt", "queued", "waits_until", "created_at", "changed_at", "generation"),
    }
)
Standing = Literal["inside", "outside", "unknown"]
ALLOWED: Final = "an agent may use track, checkpoint and session, and read states (ps, status, analyze, history)"


class Ancestor(NamedTuple):
    """A process on the way from the asker up to the first process. `marked`: its environment has one of MARKS."""

    pid: int
    started: int
    name: str
    marked: bool


def standing(line: Sequence[Ancestor] | None, daemon: int | None = None) -> Standing:
    """Where a process is, by its chain of ancestors, itself first. None: it is gone, or nobody can tell.

    What the daemon runs itself (checks, terminals) is what agents wrote or asked for.
    """
    if not line:
        return "unknown"
    inside = any(one.marked or one.name in KEEPERS or one.pid == daemon for one in line)
    return "inside" if inside else "outside"


def is_marked(environment: object) -> bool:
    """Whether an agent has started a command with this environment."""
    return isinstance(environment, Mapping) and any(environment.get(name) for name in AGENT_MARKS)


def may_ask(operation: str, type_: object = None) -> bool:
    """Whether an agent may ask the daemon for this. `type_` is the type of the event, if it is about one."""
    return operation in OPERATIONS and type_ not in _DECISIONS


def may_track(type_: str) -> bool:
    """Whether an agent may write an event of this type."""
    return type_ not in _DECISIONS


def harmless(shown: dict[str, object]) -> dict[str, object]:
    """A session as an agent may see it. Every field stays; those that reveal its conversation are empty."""
    return {name: value if name in _HARMLESS else _empty(value) for name, value in shown.items()}


def _empty(value: object) -> object:
    return type(value)() if isinstance(value, str | list) else None
