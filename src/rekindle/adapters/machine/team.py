"""The team of a feature's agents, as Claude Code keeps teams and tasks below `~/.claude`.

`teams/<team>/config.json` has the members, `tasks/<team>/<n>.json` the tasks: who starts Claude Code with
`CLAUDE_CODE_TASK_LIST_ID=<team>` sees them. A team is reused if it fits, and rewritten if not.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from rekindle import files
from rekindle.core.feature.naming import branch_word
from rekindle.ports.teams import TeamVerdict


def path(home: str, team: str) -> str:
    """Where a team's configuration is."""
    return os.path.join(home, ".claude", "teams", branch_word(team), "config.json")


def tasks_folder(home: str, team: str) -> str:
    """Where Claude Code looks for the list of tasks with the team's name."""
    return os.path.join(home, ".claude", "tasks", branch_word(team))


def look(home: str, team: str, needed: Sequence[str]) -> TeamVerdict:
    """Whether the team is there and lists everybody who is needed."""
    try:
        kept = json.loads(files.read(path(home, team)))
        members = kept["members"]
        names = {member.get("name") for member in members if isinstance(member, dict)}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "missing"
    return "reused" if names.issuperset(needed) else "lacks agents"


def ensure(home: str, team: str, agents: Mapping[str, str], tasks: Sequence[dict[str, Any]]) -> TeamVerdict:
    """Reuse the team, or rewrite it with its tasks, their states and their dependencies; an old file is kept."""
    found = look(home, team, list(agents))
    if found == "reused":
        return found
    target = path(home, team)
    leader = _leader(target)
    os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
    if os.path.exists(target):
        os.replace(target, f"{target}.before")
    members = [{"name": name, "agentType": kind} for name, kind in agents.items()]
    content: dict[str, Any] = {"name": team, "members": members, "tasks": list(tasks)}
    if leader is not None:
        members += [leader] if leader["name"] not in agents else []
        content["leader"] = leader["name"]
    files.replace(target, json.dumps(content, indent=2).encode() + b"\n", mode=0o600)
    _write_tasks(tasks_folder(home, team), tasks)
    return "written anew"


def _leader(target: str) -> dict[str, str] | None:
    """The leader that the old file names, as a member: whoever leads a team still does after it was written anew."""
    try:
        kept = json.loads(files.read(target))
        name = kept.get("leader")
        listed = [one for one in kept["members"] if isinstance(one, dict) and one.get("name") == name]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    if not isinstance(name, str) or not name or not listed:
        return None
    kind = listed[0].get("agentType")
    return {"name": name, "agentType": kind if isinstance(kind, str) else ""}


#: What Claude Code calls the states of a task. It knows three: what failed or was skipped is not to be done by it.
_STATUS = {"PENDING": "pending", "IN_PROGRESS": "in_progress", "COMPLETE": "completed", "SKIPPED": "completed"}


def _write_tasks(folder: str, tasks: Sequence[dict[str, Any]]) -> None:
    """One file for each task, by its number. What a person or an agent has put there stays: beside it, or as it is."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    numbers = {task["id"]: str(number) for number, task in enumerate(tasks, start=1)}
    needed = {task["id"]: [one for one in task.get("blockedBy", ()) if one in numbers] for task in tasks}
    for task in tasks:
        name = task["id"]
        content = {
            "id": numbers[name],
            "subject": f"{name}: {task.get('subject', '')}",
            "description": "",
            "status": _STATUS.get(task.get("status", "PENDING"), "pending"),
            "blocks": [numbers[other] for other, before in needed.items() if name in before],
            "blockedBy": [numbers[one] for one in needed[name]],
        }
        raw = json.dumps(content, indent=2).encode() + b"\n"
        target = os.path.join(folder, f"{numbers[name]}.json")
        if os.path.exists(target):
            os.replace(target, f"{target}.before")
        files.replace(target, raw, mode=0o600)
