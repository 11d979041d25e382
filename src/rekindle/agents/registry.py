"""All agents, by name: every folder of `rekindle.agents` that has a `kind` module."""

from __future__ import annotations

import importlib
import pkgutil

from rekindle import agents
from rekindle.agents.base.kind import AgentKind


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
