"""The team of a feature's agents, `~/.claude/teams/<team>/config.json`: reused if it fits, written anew if not."""

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
    """Reuse the team, or write it anew with its tasks, their states and their dependencies; an old file is kept."""
    found = look(home, team, list(agents))
    if found == "reused":
        return found
    target = path(home, team)
    os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
    if os.path.exists(target):
        os.replace(target, f"{target}.before")
    members = [{"name": name, "agentType": kind} for name, kind in agents.items()]
    content = {"name": team, "members": members, "tasks": list(tasks)}
    files.replace(target, json.dumps(content, indent=2).encode() + b"\n", mode=0o600)
    return "written anew"
