"""The heartbeat: tool calls since the last entry in the log. Pure; imports next to nothing, since a hook
reads this.

An agent that works without writing its log leaves nothing to come back to. It is reminded after some calls, and after
some more its calls are refused until it has written an entry.
"""

from __future__ import annotations

from rekindle.core.names import why_not

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Tool calls without a log entry until the agent is reminded, and until its calls are refused.
WARN, BLOCK = 10, 20
#: Words of a command that brings the counter down, or is needed to do so: it is never refused.
_ALWAYS = "rekindle session "
_HARMLESS = ("AskUserQuestion", "TodoWrite", "ExitPlanMode")


def limits(state: dict[str, Any]) -> tuple[int, int]:
    """After how many calls to remind, and to refuse; 0 means never."""
    rules = state.get("rules")
    rules = rules if isinstance(rules, dict) else {}
    return _number(rules.get("warn"), WARN), _number(rules.get("block"), BLOCK)


def counts(state: dict[str, Any]) -> bool:
    """Whether tool calls are counted now: while the skill is at work, and not while it is still loading."""
    return state.get("lifecycle", "active") == "active" and state.get("loading") is not True


def beaten(state: dict[str, Any], at: str, tool: str) -> tuple[dict[str, Any], str]:
    """The state after a finished tool call, and what to tell the agent ("" if nothing)."""
    if not counts(state) or tool in _HARMLESS:
        return {**state, "lastHeartbeat": at}, ""
    calls = _number(state.get("toolCallsSinceLastLog"), 0) + 1
    after = {**state, "toolCallsSinceLastLog": calls, "lastHeartbeat": at}
    warn, block = limits(state)
    if warn and calls >= warn and (calls - warn) % 5 == 0:
        left = f" After {block} your tool calls are refused." if block > calls else ""
        return after, f"{calls} tool calls since the last entry in your log.{left} {_how(state)}"
    return after, ""


def refusal(state: dict[str, Any], tool: str, command: str) -> str | None:
    """Why the next tool call is refused; None if it is not."""
    _, block = limits(state)
    calls = _number(state.get("toolCallsSinceLastLog"), 0)
    if not block or calls < block or not counts(state) or tool in _HARMLESS:
        return None
    if tool == "Bash" and _ALWAYS in command:
        return None
    return f"{calls} tool calls since the last entry in your log: write one before you go on. {_how(state)}"


def _how(state: dict[str, Any]) -> str:
    rules = state.get("rules")
    log = rules.get("log") if isinstance(rules, dict) else None
    is_name = isinstance(log, str) and why_not(log) is None  # the state file may have come with the repository
    name = log if is_name else "your skill's log"
    return f"Write what you did and found: rekindle session log DIR/{name} <<'EOF' ... EOF"


def _number(value: object, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default
