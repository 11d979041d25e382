"""Where an agent keeps its own record of a conversation, on the machine that an environment describes."""

from __future__ import annotations

from collections.abc import Mapping

from rekindle.agents.base.transcript import NoPlace
from rekindle.agents.registry import AGENTS


def record_place(agent: str, environment: Mapping[str, str], cwd: str, token: str) -> str | None:
    """The path of the agent's record; None for an agent, or a token, of which that is not known."""
    dialect = AGENTS[agent].transcript if agent in AGENTS else None
    try:
        return dialect.place(environment, cwd, token) if dialect is not None else None
    except NoPlace:
        return None
