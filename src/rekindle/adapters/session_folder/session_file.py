"""How a session was started, kept where its keepers are, and the facts that it came with: both outlive the store."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rekindle import files
from rekindle.adapters.session_folder import handovers
from rekindle.adapters.session_folder.layout import SessionFolder
from rekindle.adapters.sql_store.codec import Unreadable, decode_fact, encode_fact
from rekindle.agents.base.kind import AgentKind
from rekindle.agents.base.terminal import in_terminal
from rekindle.agents.registry import AGENTS, DEFAULT
from rekindle.core.session.facts import AnyFact, Created


def write_session_file(folder: Path, created: Created) -> None:
    """Keep the beginning of a session where its keepers are. On disk when this returns; call it at creation."""
    files.make_folder(str(folder.parent))
    folder.mkdir(mode=0o700, exist_ok=True)
    files.sync_folder(str(folder.parent))
    files.replace(SessionFolder(folder).session_file, encode_fact(created).encode(), mode=0o600, durable=True)


def read_session_file(folder: Path) -> Created | str:
    """The first fact, or why there is none."""
    path = SessionFolder(folder).session_file
    try:
        fact = decode_fact(files.read(path).decode())
    except (OSError, Unreadable, UnicodeDecodeError) as error:
        return f"{os.path.basename(path)} cannot be read ({error})"
    if not isinstance(fact, Created) or fact.session != folder.name:
        return f"{os.path.basename(path)} is not about it"
    return fact


def read_imported(folder: Path) -> list[AnyFact]:
    """The facts that a session came with from another machine; none if it was started here, or they cannot be read."""
    try:
        return [
            decode_fact(line.decode("utf-8", "surrogatepass"))
            for line in files.read(SessionFolder(folder).imported).splitlines()
        ]
    except (OSError, Unreadable, UnicodeDecodeError):
        return []


def agent_of(folder: str) -> str:
    """The agent that a session was started with."""
    agent = _members(folder).get("agent")
    return agent if isinstance(agent, str) and agent in AGENTS else DEFAULT


def is_in_terminal(folder: str) -> bool:
    """Whether the session's agent is used as an interactive program."""
    return _members(folder).get("terminal") is True


def kind_of(folder: str, attempt: int) -> AgentKind:
    """Whose language an attempt's spools are in."""
    kind = AGENTS.get(handovers.agent_of(folder, attempt, agent_of(folder)), AGENTS[DEFAULT])
    return in_terminal(kind) if kind.terminal is not None and is_in_terminal(folder) else kind


def _members(folder: str) -> dict[str, Any]:
    """What the file says, also where it is not a fact that is understood here."""
    try:
        found = json.loads(files.read(SessionFolder(folder).session_file))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
