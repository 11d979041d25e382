"""All agents, by name."""

from __future__ import annotations

from rekindle.agents.claude.agent import CLAUDE
from rekindle.agents.kind import AgentKind
from rekindle.agents.scripted import SCRIPTED

AGENTS: dict[str, AgentKind] = {kind.name: kind for kind in (CLAUDE, SCRIPTED)}
DEFAULT = SCRIPTED.name
