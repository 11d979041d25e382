"""All agents, by name: every folder of `rekindle.agents` that has a `kind` module."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping

from rekindle import agents
from rekindle.agents.base.kind import AgentKind
from rekindle.agents.base.transcript import NoPlace


def found() -> dict[str, AgentKind]:
    """Look at what folders there are now."""
    folders = sorted(one.name for one in pkgutil.iter_modules(agents.__path__) if one.ispkg)
    every = [_kind(f"{agents.__name__}.{name}") for name in folders if name not in _NO_AGENTS]
    return {kind.name: kind for kind in every}


def _kind(package: str) -> AgentKind:
    kind: AgentKind = importlib.import_module(f"{package}.kind").KIND
    return kind


#: Folders that agents share.
_NO_AGENTS = frozenset({"acp", "base"})
AGENTS: dict[str, AgentKind] = found()
DEFAULT = "scripted"


def record_place(agent: str, environment: Mapping[str, str], cwd: str, token: str) -> str | None:
    """Where an agent keeps its record of a conversation, on the machine that an environment describes.

    None for an agent, or a token, of which that is not known.
    """
    dialect = AGENTS[agent].transcript if agent in AGENTS else None
    try:
        return dialect.place(environment, cwd, token) if dialect is not None else None
    except NoPlace:
        return None
