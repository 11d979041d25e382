"""The heartbeat of a skill session, from an agent's hooks: counts its tool calls, reminds it, refuses, counts turns.

Runs before and after every tool call of an agent, so that an agent without a skill session costs one look for a file.
Light standard library only, imported where it is needed.
"""

from __future__ import annotations

import os

#: The hook events that this listens to.
EVENTS = ("PreToolUse", "PostToolUse", "Stop")
_LOCK_SECONDS = 0.5


def beat(call: dict[str, object], state_dir: str, parent: int, replaced: list[int] | None = None) -> str:
    """What a hook call does to the skill session that its agent holds; returns what the hook prints.

    `parent` is the process that started the hook. `replaced`: see `state_file.put`. Raises OSError, ValueError.
    """
    name = call.get("hook_event_name")
    shortcuts = os.path.join(state_dir, "skill", "by-pid")
    if name not in EVENTS or not os.path.isdir(shortcuts):
        return ""
    from rekindle.adapters.skill_folder import holder

    pid = holder.worker_pid(parent)
    if not os.path.exists(os.path.join(shortcuts, str(pid))):
        return ""
    from rekindle.adapters.skill_folder import pointer, state_file
    from rekindle.core import lean_json

    folder = pointer.pointed(state_dir, pid)
    if folder is None:
        return ""
    with state_file.StateLock(folder, _LOCK_SECONDS):
        content = state_file.content(folder)
        state = lean_json.loads(content) if content is not None else None
        if not isinstance(state, dict) or state.get("pid") != pid or state.get("version", 1) != 1:
            return ""
        after, said = _after(call, str(name), state)
        if after != state:
            state_file.put(folder, _written(after), durable=False, replaced=replaced)
    return lean_json.compact({"hookSpecificOutput": {"hookEventName": name, **said}}) if said else ""


def _written(state: dict[str, object]) -> bytes:
    """The content of a state file, one field in a line. The next command of the session writes it as usual."""
    from rekindle.core.lean_json import compact

    fields = [f"  {compact(key)}: {compact(value)}" for key, value in state.items()]
    return ("{\n" + ",\n".join(fields) + "\n}\n").encode()


def _after(call: dict[str, object], name: str, state: dict[str, object]) -> tuple[dict[str, object], dict[str, str]]:
    """The state after a hook call, and what the agent is told."""
    from rekindle.core.skill import heartbeat

    tool = call.get("tool_name")
    tool = tool if isinstance(tool, str) else ""
    if name == "Stop":
        turns = state.get("turnsSinceResume")
        return {**state, "turnsSinceResume": turns + 1 if isinstance(turns, int) else 1}, {}
    if name == "PreToolUse":
        given = call.get("tool_input")
        command = given.get("command") if isinstance(given, dict) else None
        why = heartbeat.refusal(state, tool, command if isinstance(command, str) else "")
        return state, {"permissionDecision": "deny", "permissionDecisionReason": why} if why else {}
    import time

    from rekindle.adapters.journal_file.append import timestamp

    session = call.get("session_id")
    if isinstance(session, str) and session:
        state = {**state, "sessionId": session}
    after, words = heartbeat.beaten(state, timestamp(time.time()), tool)
    return after, {"additionalContext": words} if words else {}
